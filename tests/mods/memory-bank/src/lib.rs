//! A memory: the tool `remember` keeps a note with the session and in `MEMORY.md`, what stands there is told to the model
//! once a session, and `/memory` lists what this session has learnt. A `MEMORY.md` that somebody else wrote is left alone.
//!
//! It shows entries of a mod's own in the record of a session, and a message to the model beside the conversation.
#![forbid(unsafe_code)]

mod file;

use mod_interface::prelude::*;

use file::File;

export_mod!(memory_bank);

/// The types of the entries: a note of this session, and what the model was told of earlier ones.
const NOTE: &str = "memory-bank/note";
const DIGEST: &str = "memory-bank/digest";

async fn memory_bank(cmd: ModApi) -> Result<()> {
    let file = File::at(cmd.place("MEMORY.md"));
    cmd.add_tool(remember(file.clone()))?;
    cmd.add_command(Command::new("memory", "Lists what this session has learnt").run_sync(|call| {
        let notes = notes(call.ctx())?;
        Ok(CommandOutcome::message(if notes.is_empty() {
            "Nothing yet.".to_owned()
        } else {
            notes.join("\n")
        }))
    }))?;
    cmd.hooks(Hooks::new().on_session_start_sync(move |_, ctx| {
        let Some(session) = ctx.session() else { return Ok(()) };
        // One that goes on has been told.
        let told = session.get_custom_entries::<Value>(DIGEST)?;
        let known = file.notes()?.unwrap_or_default();
        if told.is_empty() && !known.is_empty() {
            let text = format!("What you remember of this project:\n{}", known.join("\n"));
            session.append_custom_message_entry(CustomMessage::new(DIGEST, text))?;
            session.append_custom_entry(DIGEST, &known.len())?;
        }
        Ok(())
    }))?;
    Ok(())
}

fn remember(file: File) -> Tool {
    Tool::new("remember", "Keeps one line for later sessions in this project")
        .input_schema(json!({
            "type": "object",
            "properties": { "note": { "type": "string", "description": "What is worth to know later" } },
            "required": ["note"],
        }))
        .run_sync(move |call| {
            let note = call.input_str("note").unwrap_or_default().replace('\n', " ");
            if let Some(session) = call.ctx().session() {
                session.append_custom_entry(NOTE, &note)?;
            }
            Ok(match file.add(&note)? {
                true => "Kept.",
                false => "Kept for this session. MEMORY.md is not mine, so it was not changed.",
            })
        })
}

/// The notes of this session.
fn notes(ctx: &Ctx) -> Result<Vec<String>> {
    let Some(session) = ctx.session() else { return Ok(Vec::new()) };
    Ok(session.get_custom_entries(NOTE)?.into_iter().map(|entry| entry.data).collect())
}
