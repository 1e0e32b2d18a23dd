//! Which of a project's mods may run: they are arbitrary code of whoever wrote the repository.

use std::{collections::BTreeSet, path::Path};

use super::{Code, LeftOut, Plan, Planned};
use crate::settings::{ModHash, Trust};

/// Which of a project's mods count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ProjectMods {
    /// None, as long as nobody trusts the workspace.
    #[default]
    None,
    /// Those that are what they were when the workspace was trusted. Of a workspace that is not trusted,
    /// these are none.
    Trusted(Trust),
    /// All of them: somebody said so for this run.
    All,
}

impl ProjectMods {
    /// What the trust store says of a workspace.
    pub fn by(trust: Trust, workspace: &Path) -> Self {
        if trust.is_trusted(workspace, &BTreeSet::new()) { Self::Trusted(trust) } else { Self::None }
    }
}

/// The project's mods of a plan, for the trust store.
pub fn project_hashes(plan: &Plan) -> BTreeSet<ModHash> {
    let project = plan.mods.iter().filter(|planned| planned.origin.is_project());
    project.filter_map(hash).collect()
}

/// Leaves out the project's mods that are not what they were. The load compares the bytes with the hash
/// that is looked at here; a library whose hash could not be told is not trusted.
pub(super) fn sift(plan: &mut Plan, trust: &Trust, workspace: &Path) {
    let trusted = |planned: &Planned| {
        !planned.origin.is_project()
            || hash(planned).is_some_and(|hash| trust.is_trusted(workspace, &BTreeSet::from([hash])))
    };
    let (trusted, others) = std::mem::take(&mut plan.mods).into_iter().partition(trusted);
    plan.mods = trusted;
    plan.left_out.extend(Vec::into_iter(others).map(|planned| (planned, LeftOut::Untrusted)));
}

fn hash(planned: &Planned) -> Option<ModHash> {
    match &planned.code {
        Code::Library { expected: Some(expected), .. } => {
            Some(ModHash { name: expected.name.clone(), sha256: expected.sha256.clone() })
        }
        _ => None,
    }
}
