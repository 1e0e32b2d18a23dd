//! Input that a model got wrong, through the real client, a built-in tool and its schema.

use host::harness::Recording;
use mod_interface::types::EventPayload;
use serde_json::{Value, json};

use crate::support::session::{Folders, play};

/// What is told of one call of `read_file` with this input text, and what the model is shown of it next.
async fn call(input_text: &str, result: &str) -> Vec<EventPayload> {
    let folders = Folders::new();
    std::fs::write(folders.work().join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let scenario = json!({ "turns": [
        { "tool_calls": [{ "id": "c1", "name": "read_file", "input_text": input_text }] },
        { "text": "done", "expect": { "tool_result_contains": { "id": "c1", "text": result } } },
    ] });
    let record = play(&folders, &scenario, |builder| builder.record(Recording::InMemory)).await;
    assert_eq!(record.result.unwrap().final_text, "done");
    let events = record.events.into_iter().map(|event| event.payload);
    events.filter(|event| event.kind().as_str().starts_with("tool_")).collect()
}

fn queued(input: Value) -> EventPayload {
    EventPayload::ToolQueued { tool_call_id: "c1".into(), tool_name: "read_file".into(), input }
}

fn coerced(raw_type: &str, recovered: bool) -> EventPayload {
    EventPayload::ToolInputCoerced { raw_type: raw_type.into(), recovered }
}

#[tokio::test]
async fn what_can_be_mended_runs_as_it_was_meant() {
    let told = call(r#"[{"filePath":"a.txt","limit":"1"}]"#, "one").await;
    let [first, second, third, running, completed] = &told[..] else { panic!("{told:?}") };
    assert_eq!(*first, queued(json!([{ "filePath": "a.txt", "limit": "1" }])));
    assert_eq!(*second, coerced("array", true));
    assert_eq!(
        *third,
        EventPayload::ToolInputRepaired {
            rules_fired: vec!["key_case".into(), "number_in_text".into()],
            hint_count: 0,
            received_keys: vec!["filePath".into(), "limit".into()],
            repaired: true,
        }
    );
    assert_eq!(running.kind().as_str(), "tool_running");
    assert_eq!(completed.kind().as_str(), "tool_completed");
}

#[tokio::test]
async fn what_is_no_json_is_an_error_that_shows_it() {
    let result = "the input must be one JSON object, got string: \"{\\\"file_path\\\":\"";
    let told = call(r#"{"file_path":"#, result).await;
    let error = EventPayload::ToolErrored {
        tool_call_id: "c1".into(),
        tool_name: "read_file".into(),
        error: result.into(),
    };
    assert_eq!(told, [queued(json!("{\"file_path\":")), coerced("string", false), error]);
}
