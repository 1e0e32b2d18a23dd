//! Puts something on the screen.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use mod_interface::prelude::*;
use serde::Deserialize;

use crate::registering::{at_call, undo};

#[derive(Deserialize)]
struct Note {
    text: String,
}

/// Does `what`, if it is of that.
pub(crate) fn add(cmd: &ModApi, me: &str, what: &str) -> Result<bool> {
    let (api, me) = (cmd.clone(), me.to_owned());
    match what {
        "entries" => {
            let by = me.clone();
            cmd.show_entry("note", &json!({ "text": "shown before its renderer is there" }))?;
            cmd.add_renderer("note", move |note: Note| vec![format!("{by} draws: {}", note.text)])?;
            cmd.show_entry("note", &json!({ "text": "one\r\ntwo\u{7}\ton" }))?;
            cmd.show_entry("other", &json!({ "a": [1] }))?;
            cmd.show_entry("note", &json!("no note"))?;
            at_call(cmd, move || drop(api.show_entry("note", &json!({ "text": "from a call" }))))?;
        }
        "renderer-until-called" => {
            let renderer = cmd.add_renderer("brief", |_: Value| vec!["brief".to_owned()])?;
            cmd.show_entry("brief", &1)?;
            at_call(cmd, move || {
                undo(&renderer);
                drop(api.show_entry("brief", &2));
            })?;
        }
        "renderer-panics" => {
            cmd.add_renderer("bad", |_: Value| panic!("cannot draw"))?;
            cmd.show_entry("bad", &json!({ "a": 1 }))?;
        }
        "renderer-loops" | "renderer-loops-at-call" => {
            let again = cmd.clone();
            cmd.add_renderer("loop", move |depth: u32| {
                drop(again.show_entry("loop", &(depth + 1)));
                vec![format!("depth {depth}")]
            })?;
            match what {
                "renderer-loops" => cmd.show_entry("loop", &1)?,
                _ => at_call(cmd, move || drop(api.show_entry("loop", &1)))?,
            }
        }
        "entry-nameless" => {
            let renderer = cmd.add_renderer(" ", |_: Value| Vec::new())?;
            let refused = cmd.show_entry("", &1).err().map(|refused| refused.to_string());
            cmd.ui().notify(&format!("{me}: {} {refused:?}", renderer.is_active()));
        }
        _ => return keeps(cmd, me, what),
    }
    Ok(true)
}

/// What stays there.
fn keeps(cmd: &ModApi, me: String, what: &str) -> Result<bool> {
    let api = cmd.clone();
    match what {
        "status" => {
            cmd.ui().set_status("replaced")?;
            cmd.ui().set_status(&format!(" {me} is\nready "))?;
        }
        "status-until-called" => {
            let before = cmd.ui().set_status("before")?;
            let status = cmd.ui().set_status(&format!("{me} waits"))?;
            undo(&before);
            at_call(cmd, move || undo(&status))?;
        }
        "status-blank-at-call" => {
            cmd.ui().set_status(&format!("{me} is there"))?;
            at_call(cmd, move || drop(api.ui().set_status("  ")))?;
        }
        "widget" => {
            let painted = AtomicU32::new(0);
            let paint = move || {
                let painted = painted.fetch_add(1, Relaxed) + 1;
                vec![format!("{me} painted {painted}"), "below".to_owned()]
            };
            cmd.ui().widget(Placement::AboveEditor, paint)?;
            cmd.ui().refresh_widgets();
        }
        "widget-panics" => drop(cmd.ui().widget(Placement::AboveEditor, || panic!("cannot paint"))?),
        "widget-until-called" => {
            let widget = cmd.ui().widget(Placement::BelowEditor, move || vec![format!("{me} below")])?;
            at_call(cmd, move || undo(&widget))?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
