//! What this process has started and what still runs: it ends with the process, whoever started it.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError, RwLock, TryLockError, Weak,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use process_wrap::tokio::{ChildWrapper, CommandWrap};

use super::family::{self, Family};

/// A family, for the run that started it and for the end of the process.
pub(super) type Shared = Arc<Mutex<Family>>;

/// How long a child that is just being started may hold up the end of the process.
const PATIENCE: Duration = Duration::from_millis(500);

// Statics, for they say what the system says: which children this process has. A mod's own tasks start
// some too, and nobody is asked before the process ends.
static FAMILIES: Mutex<Vec<Weak<Mutex<Family>>>> = Mutex::new(Vec::new());
static STARTING: RwLock<()> = RwLock::new(());
static OVER: AtomicBool = AtomicBool::new(false);

/// Starts a child as the first of a family.
pub(super) fn start(mut command: CommandWrap) -> io::Result<(Box<dyn ChildWrapper>, Shared)> {
    let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    if OVER.load(SeqCst) {
        return Err(io::Error::other("the program is ending"));
    }
    family::found(&mut command);
    let child = command.spawn()?;
    let family = Arc::new(Mutex::new(Family::of(&*child)));
    let mut families = FAMILIES.lock().unwrap_or_else(PoisonError::into_inner);
    families.retain(|family| family.strong_count() > 0);
    families.push(Arc::downgrade(&family));
    Ok((child, family))
}

/// Kills all that was started and still runs; nothing starts after it. For the end of the process.
pub fn end_all() {
    OVER.store(true, SeqCst);
    let start = Instant::now();
    while let Err(TryLockError::WouldBlock) = STARTING.try_write()
        && start.elapsed() < PATIENCE
    {
        thread::sleep(Duration::from_millis(5));
    }
    let families = std::mem::take(&mut *FAMILIES.lock().unwrap_or_else(PoisonError::into_inner));
    for family in families.iter().filter_map(Weak::upgrade) {
        lock(&family).kill();
    }
}

/// A family, for as long as something is done with it.
pub(super) fn lock(family: &Shared) -> std::sync::MutexGuard<'_, Family> {
    family.lock().unwrap_or_else(PoisonError::into_inner)
}
