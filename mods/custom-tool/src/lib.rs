//! A tool for the model: `count_todos` counts the TODO markers of a folder, file by file.
#![forbid(unsafe_code)]

use mod_interface::prelude::*;

export_mod!(custom_tool);

async fn custom_tool(cmd: ModApi) -> Result<()> {
    let exec = cmd.clone();
    let count_todos = Tool::new("count_todos", "Counts the TODO markers of a folder, file by file")
        .input_schema(json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "The folder; the workspace root if left out" },
            },
        }))
        .read_only()
        .run(move |call| {
            let exec = exec.clone();
            async move {
                let path = call.input_str("path").unwrap_or_else(|| ".".to_owned());
                let args = ["-rcI", "--exclude-dir=.git", "--exclude-dir=target", "-e", "TODO", "--", &path];
                let grep = exec.exec("grep").args(args).await?;
                // grep exits with 1 when nothing matches, with more when it failed.
                match grep.code {
                    Some(0 | 1) => Ok(summary(&grep.stdout)),
                    _ => Err(Error::msg(format!("grep failed: {}", grep.stderr.trim()))),
                }
            }
        });
    cmd.add_tool(count_todos)?;
    Ok(())
}

/// From grep's `path:count` lines to a summary, files without a marker left out.
fn summary(counts: &str) -> String {
    let counted = counts.lines().filter_map(|line| line.rsplit_once(':'));
    let counted = counted.filter_map(|(path, count)| Some((path, count.parse::<u64>().ok()?)));
    let mut found: Vec<_> = counted.filter(|(_, count)| *count > 0).collect();
    found.sort_unstable();
    let total: u64 = found.iter().map(|(_, count)| count).sum();
    let lines = found.iter().map(|(path, count)| format!("\n{count} in {path}"));
    format!("{total} TODO markers in {} files{}", found.len(), lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use mod_interface::{
        prelude::*,
        testing::{TestHost, block_on},
    };

    use super::custom_tool;

    const GREP: &str = "grep -rcI --exclude-dir=.git --exclude-dir=target -e TODO --";

    #[test]
    fn the_model_gets_the_markers_of_the_folder_or_why_not() -> Result<()> {
        block_on(async {
            let failed = ExecOutput { stdout: String::new(), stderr: "no such folder".into(), code: Some(2) };
            let host = TestHost::new().exec(&format!("{GREP} src"), "src/a.rs:2\nsrc/b.rs:0\n");
            let counter = host.exec(&format!("{GREP} ."), failed).load(custom_tool).await?;
            let counted = counter.call_tool("count_todos", json!({ "path": "src" })).await?;
            assert_eq!(counted, ToolOutput::text("2 TODO markers in 1 files\n2 in src/a.rs"));
            let refused = counter.call_tool("count_todos", json!({})).await?;
            assert_eq!(refused, ToolOutput::error("grep failed: no such folder"));
            Ok(())
        })
    }

    #[test]
    fn files_without_a_marker_are_left_out() {
        let counts = "./b.rs:2\n./a:b.rs:1\n./c.rs:0\n";
        assert_eq!(super::summary(counts), "3 TODO markers in 2 files\n1 in ./a:b.rs\n2 in ./b.rs");
    }
}
