//! A quota: the model may write so many times a session, and in one folder alone. It holds in a parallel batch, and
//! when the session is resumed.
//!
//! `--mod-option write-quota.root=src --mod-option write-quota.max=5`
#![forbid(unsafe_code)]

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use mod_interface::prelude::*;

export_mod!(write_quota);

struct Quota {
    root: PathBuf,
    max: u64,
    /// Of the session so far. The session's state has it too, from the end of each turn on.
    used: AtomicU64,
}

async fn write_quota(cmd: ModApi) -> Result<()> {
    let root =
        cmd.flag(Flag::string("root").default(".").description("The folder that may be written to"))?;
    let max = cmd.flag(Flag::number("max").default(20).description("How many writes a session has"))?;
    let quota = Arc::new(Quota { root: cmd.place(root), max, used: AtomicU64::new(0) });
    let hooks = Hooks::sharing(&quota)
        // What it cannot judge is blocked.
        .fail_closed()
        .on_session_start_sync(|quota, session, _| {
            // What was kept, if the session goes on.
            quota.used.store(session.state().mod_state()?.unwrap_or_default(), Relaxed);
            Ok(())
        })
        // Asked one call after the other, also when the tools then run at once.
        .before_tool_call_sync(|quota, call, _| Ok(quota.objects_to(call).map(BeforeToolCall::block)))
        .on_turn_end_sync(|quota, _, _| Ok(StatePatch::mod_state(json!(quota.used.load(Relaxed)))))
        .on_run_end_sync(|quota, run, ctx| {
            let (used, result) = (quota.used.load(Relaxed), run.result()?);
            let ended = format!("{} after {} turns", result.stop_reason.as_str(), result.turn_count);
            ctx.ui().notify(&format!("write-quota: {ended}, {used} of {} writes used", quota.max));
            Ok(())
        });
    cmd.hooks(hooks)?;
    Ok(())
}

impl Quota {
    /// Why the model may not write there, or counts the write.
    fn objects_to(&self, call: &ToolCall) -> Option<String> {
        if !["write_file", "edit_file"].contains(&call.tool_name()) {
            return None;
        }
        if !call.input_place("file_path").is_some_and(|file| file.starts_with(&self.root)) {
            return Some(format!("Only files in {} may be written.", self.root.display()));
        }
        let counted = self.used.fetch_update(Relaxed, Relaxed, |used| (used < self.max).then_some(used + 1));
        counted.err().map(|_| format!("All {} writes of this session are used.", self.max))
    }
}

#[cfg(test)]
mod tests {
    use mod_interface::{
        prelude::*,
        testing::{Script, TestHost, TestMod, block_on},
    };

    use super::write_quota;

    async fn loaded() -> Result<TestMod> {
        let host = TestHost::new().option("root", "src").option("max", "2");
        Ok(host.load(write_quota).await?)
    }

    fn file(path: &str) -> Value {
        json!({ "file_path": path })
    }

    #[test]
    fn only_files_in_the_folder_are_written_however_their_paths_are_put() -> Result<()> {
        block_on(async {
            let quota = loaded().await?;
            let only = Some(BeforeToolCall::block("Only files in /project/src may be written."));
            for outside in ["a.txt", "src/../a.txt", "/etc/passwd", "srcs/a.txt"] {
                assert_eq!(quota.before_tool_call("write_file", file(outside)).await?, only, "{outside}");
            }
            assert_eq!(quota.before_tool_call("edit_file", json!({})).await?, only);
            assert_eq!(quota.before_tool_call("read_file", file("a.txt")).await?, None);
            assert_eq!(quota.before_tool_call("write_file", file("./docs/../src/a.txt")).await?, None);
            Ok(())
        })
    }

    #[test]
    fn writes_are_counted_until_there_are_none_left() -> Result<()> {
        block_on(async {
            let quota = loaded().await?;
            let script = Script::new("go").tool("write_file", "written").tool("read_file", "read");
            let script = script.calls("write_file", file("src/a")).and_calls("read_file", file("src/a"));
            let script = script.and_calls("write_file", file("src/b")).and_calls("write_file", file("src/c"));
            let ran = quota.run(script.says("Done.")).await?;
            let used = "All 2 writes of this session are used.";
            assert_eq!(ran.results(), ["written", "read", "written", used]);
            assert_eq!(quota.mod_state(), Some(json!(2)));
            assert_eq!(quota.notices(), ["write-quota: end_turn after 2 turns, 2 of 2 writes used"]);
            Ok(())
        })
    }
}
