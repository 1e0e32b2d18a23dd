use process_wrap::tokio::{ChildWrapper, CommandWrap, JobObject, KillOnDrop};

/// The processes of the job that the child was started in. The job ends with its last handle, so
/// dropping the child ends them all.
pub(super) struct Family;

/// Makes the child the first of a family.
pub(super) fn found(command: &mut CommandWrap) {
    command.wrap(KillOnDrop).wrap(JobObject);
}

impl Family {
    pub(super) fn of(_child: &dyn ChildWrapper) -> Self {
        Self
    }

    /// Ends them all. A job does not tell how many they were.
    pub(super) fn ask(&mut self, child: &mut dyn ChildWrapper) -> usize {
        // It fails only for a job that has ended.
        let _ = child.start_kill();
        0
    }

    pub(super) fn is_gone(&mut self) -> bool {
        true
    }

    pub(super) fn kill(&mut self) {}
}
