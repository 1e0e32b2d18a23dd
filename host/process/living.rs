//! What this process has started and what still runs: it ends with the process, whoever started it.

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use process_wrap::tokio::{ChildWrapper, CommandWrap};

use super::family::{self, Family};

/// A family that somebody looks after. What is left of it is killed when this is dropped.
pub(super) struct Living(Arc<Mutex<Family>>);

/// How long a child that is just being started, or one that the kernel holds, may hold up the end.
const PATIENCE: Duration = Duration::from_millis(500);
const LOOK: Duration = Duration::from_millis(5);

// Statics, for they say what the system says: which children this process has. A mod's own tasks start
// some too, and nobody is asked before the process ends.
static FAMILIES: Mutex<Vec<Arc<Mutex<Family>>>> = Mutex::new(Vec::new());
static STARTING: RwLock<()> = RwLock::new(());
static OVER: AtomicBool = AtomicBool::new(false);

/// Starts a child as the first of a family.
pub(super) fn start(mut command: CommandWrap) -> io::Result<(Box<dyn ChildWrapper>, Living)> {
    let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    if OVER.load(SeqCst) {
        return Err(io::Error::other("the program is ending"));
    }
    family::found(&mut command);
    let child = command.spawn()?;
    let family = Arc::new(Mutex::new(Family::of(&*child)));
    families().push(Arc::clone(&family));
    Ok((child, Living(family)))
}

impl Living {
    /// The family, for as long as something is done with it.
    pub(super) fn lock(&self) -> MutexGuard<'_, Family> {
        lock(&self.0)
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        self.lock().kill();
        // Not before: the process may be ending, and would not wait for this.
        families().retain(|family| !Arc::ptr_eq(family, &self.0));
    }
}

/// Kills all that was started and still runs; nothing starts after it, for no harness of this process. For the end
/// of the process, and so the program's own.
pub(crate) fn end_all() {
    OVER.store(true, SeqCst);
    wait_until(|| !matches!(STARTING.try_write(), Err(TryLockError::WouldBlock)));
    let families = families().clone();
    families.iter().for_each(|family| lock(family).kill());
    wait_until(|| families.iter().all(|family| lock(family).is_gone()));
}

/// Waits until something holds, for a while at most.
fn wait_until(mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() && start.elapsed() < PATIENCE {
        thread::sleep(LOOK);
    }
}

fn families() -> MutexGuard<'static, Vec<Arc<Mutex<Family>>>> {
    FAMILIES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn lock(family: &Mutex<Family>) -> MutexGuard<'_, Family> {
    family.lock().unwrap_or_else(PoisonError::into_inner)
}
