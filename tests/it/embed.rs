//! `examples/embed.rs`: the harness in a program of one's own.

use std::path::Path;

use crate::support::cargo::cargo;

#[test]
fn a_program_embeds_an_agent_with_a_tool_mods_answers_and_an_ear_of_its_own() {
    let ran = cargo(Path::new(env!("CARGO_MANIFEST_DIR")), &["run", "--quiet", "--example", "embed"]);
    let said = String::from_utf8(ran.stdout).unwrap();
    assert_eq!((&*said, ran.status.success()), (TOLD, true), "{}", String::from_utf8_lossy(&ran.stderr));
}

const TOLD: &str = "\
";
