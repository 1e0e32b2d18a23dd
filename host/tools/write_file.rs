use schemars::JsonSchema;
use serde::Deserialize;

use super::{Access, Error, ToolContext, file, path, typed};

pub(super) struct WriteFile {
    pub(super) writing: file::Writing,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
pub(super) struct Input {
    /// The file, absolute or relative to the workspace.
    file_path: String,
    /// The whole new content.
    content: String,
}

impl typed::Typed for WriteFile {
    type Input = Input;
    const NAME: &'static str = "write_file";
    const DESCRIPTION: &'static str = "Writes a file: makes it, with the folders that it needs, or replaces \
        all that is in it. To change a part of a file, edit_file is better.";
    const ACCESS: Access = Access::Edit;

    fn subjects(input: &Input) -> Vec<String> {
        vec![input.file_path.clone()]
    }

    fn describe(input: &Input) -> String {
        format!("write {}", input.file_path)
    }

    async fn run(&self, input: Input, ctx: ToolContext) -> Result<String, Error> {
        let path = path::resolve(&ctx.cwd, &input.file_path)?;
        let shown = path::shown(&ctx.cwd, &path);
        let writing = self.writing.clone();
        typed::writing(&ctx, move |stop| {
            let _writing = writing.begin();
            let verb = if path.exists() { "replaced" } else { "made" };
            file::write(&path, &shown, input.content.as_bytes(), stop)?;
            Ok(format!(
                "{verb} {shown}: {} lines, {} bytes",
                input.content.lines().count(),
                input.content.len()
            ))
        })
        .await
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
