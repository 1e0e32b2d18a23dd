use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use self::members::Members;

/// How often it is looked, after the kill, whether all are gone; one look takes about a millisecond.
const LOOKS: usize = 20;

/// A child and all that it started.
pub(super) struct Family {
    leader: Option<Pid>,
    members: Members,
}

/// Makes the child the first of a family: the leader of a session and of a process group.
pub(super) fn found(command: &mut CommandWrap) {
    command.wrap(ProcessSession);
}

impl Family {
    pub(super) fn of(child: &dyn ChildWrapper) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: id.and_then(Pid::from_raw), members: Members::default() }
    }

    /// Asks all members to end, and says how many there are.
    pub(super) fn ask(&mut self, _child: &mut dyn ChildWrapper) -> usize {
        let count = self.signal(Signal::TERM);
        if count == 0 {
            self.leader = None;
        }
        count
    }

    /// Whether no member runs any more.
    pub(super) fn is_gone(&mut self) -> bool {
        let gone = self.leader.is_none_or(|leader| self.members.look(leader) == 0);
        if gone {
            self.leader = None;
        }
        gone
    }

    /// Kills all members, also those that are born meanwhile.
    pub(super) fn kill(&mut self) {
        for _ in 0..LOOKS {
            if self.is_gone() {
                return;
            }
            self.signal(Signal::KILL);
        }
    }

    /// Members that have left the group get the signal one by one: programs like `timeout` and
    /// shells with job control make groups of their own.
    fn signal(&mut self, signal: Signal) -> usize {
        let Some(leader) = self.leader else { return 0 };
        let count = self.members.look(leader);
        if count > 0 {
            // A member that ended by itself in this moment is no failure.
            let _ = kill_process_group(leader, signal);
            for pid in self.members.outside(leader) {
                let _ = kill_process(pid, signal);
            }
        }
        count
    }
}

#[cfg(target_os = "linux")]
mod members {
    use std::{collections::BTreeMap, fs};

    use rustix::process::Pid;

    /// The members that run, by process id. Once seen, a member stays one, although its parent ends
    /// and it leaves the session.
    #[derive(Default)]
    pub(super) struct Members(BTreeMap<i32, Process>);

    #[derive(Clone, Copy)]
    struct Process {
        parent: i32,
        group: i32,
        session: i32,
        /// Tells a process from a later one of the same id.
        started: u64,
    }

    impl Members {
        /// Looks who is there, and says how many.
        pub(super) fn look(&mut self, leader: Pid) -> usize {
            let leader = leader.as_raw_pid();
            let mut others = running();
            self.0.retain(|pid, seen| others.get(pid).is_some_and(|now| now.started == seen.started));
            loop {
                let found: Vec<(i32, Process)> =
                    others.extract_if(.., |pid, process| self.has(leader, *pid, process)).collect();
                if found.is_empty() {
                    return self.0.len();
                }
                self.0.extend(found);
            }
        }

        fn has(&self, leader: i32, pid: i32, process: &Process) -> bool {
            pid == leader
                || process.session == leader
                || process.group == leader
                || self.0.contains_key(&process.parent)
                || self.0.contains_key(&pid)
        }

        /// Those that a signal to the leader's group does not reach.
        pub(super) fn outside(&self, leader: Pid) -> impl Iterator<Item = Pid> {
            let leader = leader.as_raw_pid();
            let outside = self.0.iter().filter(move |(_, process)| process.group != leader);
            outside.filter_map(|(pid, _)| Pid::from_raw(*pid))
        }
    }

    fn running() -> BTreeMap<i32, Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(|pid: i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            Some((pid, Process::parse(&stat)?))
        })
        .collect()
    }

    impl Process {
        /// Reads a line of `/proc/PID/stat`; nothing for a process that has ended and waits to be
        /// fetched. The name, in parentheses, may contain anything.
        fn parse(stat: &str) -> Option<Self> {
            let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
            if matches!(fields.next()?, "Z" | "X") {
                return None;
            }
            let mut number = || fields.next()?.parse().ok();
            let (parent, group, session) = (number()?, number()?, number()?);
            Some(Self { parent, group, session, started: fields.nth(15)?.parse().ok()? })
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod members {
    use rustix::process::{Pid, test_kill_process_group};

    /// Without a list of all processes, the members are the leader's group.
    #[derive(Default)]
    pub(super) struct Members;

    impl Members {
        /// Looks whether anybody is there; how many is not known.
        pub(super) fn look(&mut self, leader: Pid) -> usize {
            usize::from(test_kill_process_group(leader).is_ok())
        }

        pub(super) fn outside(&self, _leader: Pid) -> impl Iterator<Item = Pid> {
            std::iter::empty()
        }
    }
}
