//! `examples/embed.rs`: the harness in a program of one's own.

use std::path::Path;

use crate::support::cargo::cargo;

#[test]
fn a_program_embeds_an_agent_with_a_tool_mods_answers_and_an_ear_of_its_own() {
    let ran = cargo(Path::new(env!("CARGO_MANIFEST_DIR")), &["run", "--quiet", "--example", "embed"]);
    let said = String::from_utf8(ran.stdout).unwrap();
    let errors = String::from_utf8(ran.stderr).unwrap();
    assert_eq!((&*said, &*errors, ran.status.success()), (TOLD, "", true));
}

const TOLD: &str = r#"shorthand 0.1.0, hooks: ["transformInput"]
block-dangerous-commands 1.0.0, hooks: ["beforeToolCall"]
> Close #7
tool_queued: ticket
tool_running: ticket
tool_completed: ticket
tool_queued: shell_command
asked about shell_command {"command":"echo cleaning; rm -rf build"}: Allow
tool_hook_blocked: shell_command
tool_queued: shell_command
asked about shell_command {"command":"echo closed"}: Allow
tool_running: shell_command
tool_completed: shell_command
EndTurn "T-7 is closed; its build folder is still there."
> Write that down
tool_queued: write_file
asked about write_file {"content":"closed","file_path":"T-7"}: Deny { reason: "this program allows nothing but echo" }
tool_denied: write_file
PermissionDenied ""
"#;
