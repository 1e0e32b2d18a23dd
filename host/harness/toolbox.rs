use std::sync::Arc;

use mod_interface::types::ToolSpec;
use serde_json::Value;

use crate::{
    agent::{ToolSource, Toolbox},
    tools::{Registered, Split, Tool, ToolSet},
};

/// The tools of a harness, as the agent sees them.
pub(super) struct Tools(pub(super) Arc<ToolSet>);

impl ToolSource for Tools {
    fn snapshot(&self) -> Arc<dyn Toolbox> {
        Arc::new(Snapshot(self.0.split()))
    }
}

struct Snapshot(Split);

impl Snapshot {
    fn get(&self, name: &str) -> Result<&Registered, String> {
        let Split { active, off } = &self.0;
        let named = |entry: &&Arc<Registered>| entry.tool.spec().name == name;
        active.iter().find(named).map(|entry| &**entry).ok_or_else(|| {
            let names: Vec<_> = active.iter().map(|entry| entry.tool.spec().name.as_str()).collect();
            let what = if off.iter().any(|entry| named(&entry)) {
                "this tool is switched off"
            } else {
                "there is no such tool"
            };
            format!("{what}, only {}, got: {name}", names.join(", "))
        })
    }
}

impl Toolbox for Snapshot {
    fn specs(&self) -> Arc<[ToolSpec]> {
        self.0.active.iter().map(|entry| entry.tool.spec().clone()).collect()
    }

    fn find(&self, name: &str) -> Result<Arc<dyn Tool>, String> {
        Ok(Arc::clone(&self.get(name)?.tool))
    }

    fn check_input(&self, name: &str, input: &Value) -> Result<(), String> {
        self.get(name)?.check_input(input).map_err(|error| error.to_string())
    }
}
