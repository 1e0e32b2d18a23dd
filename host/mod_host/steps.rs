use std::{
    ops::AddAssign,
    time::{Duration, Instant},
};

/// How long the steps of loads took, in all. The first three are taken for several mods at once, so their sum may
/// exceed the time that passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadSteps {
    /// Copying the library to where nobody can change it.
    pub read: Duration,
    /// Its hash.
    pub hash: Duration,
    /// What is in it.
    pub checks: Duration,
    /// The system's loader, with the library's constructors.
    pub dlopen: Duration,
    /// Whether its layout is the one that this host knows.
    pub layout: Duration,
    /// The factory.
    pub register: Duration,
}

impl AddAssign for LoadSteps {
    fn add_assign(&mut self, other: Self) {
        self.read += other.read;
        self.hash += other.hash;
        self.checks += other.checks;
        self.dlopen += other.dlopen;
        self.layout += other.layout;
        self.register += other.register;
    }
}

/// Does `work`, and notes how long it took.
pub(super) fn timed<T>(took: &mut Duration, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let done = work();
    *took = began.elapsed();
    done
}
