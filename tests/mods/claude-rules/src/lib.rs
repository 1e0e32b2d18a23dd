//! Tells the model which files of rules stand in `.claude/rules`, folders below it too, so that it reads those that it needs.
//!
//! It shows a part of the system prompt that is made once a session: the same bytes in each round, or the provider's
//! cache would be lost.
#![forbid(unsafe_code)]

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use mod_interface::prelude::*;

export_mod!(claude_rules);

const FOLDER: &str = ".claude/rules";

async fn claude_rules(cmd: ModApi) -> Result<()> {
    let root = cmd.place(".");
    let part = Arc::new(OnceLock::<String>::new());
    let hooks = Hooks::sharing(&part)
        .on_session_start_sync(move |part, _, _| {
            let mut rules = Vec::new();
            find(&root.join(FOLDER), &mut rules)?;
            // A folder's own order is any.
            rules.sort();
            let lines = rules.iter().filter_map(|rule| rule.strip_prefix(&root).ok());
            let lines: String = lines.map(|rule| format!("\n- {}", rule.display())).collect();
            if !lines.is_empty() {
                part.get_or_init(|| {
                    format!("This project has rules. Read those that your work touches:{lines}")
                });
            }
            Ok(())
        })
        .append_system_prompt_sync(|part, _, _| Ok(part.get().cloned()));
    cmd.hooks(hooks)?;
    Ok(())
}

/// Finds the rules in a folder and below it. A folder that is not there has none.
fn find(folder: &Path, rules: &mut Vec<PathBuf>) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        // Links are not followed: they may lead round in a circle.
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() {
            find(&path, rules)?;
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "md") {
            rules.push(path);
        }
    }
    Ok(())
}
