use std::fs;

use serde_json::{Value, json};

use crate::support::{
    behaving::echoes,
    scene::{Scene, Seen},
    session::Folders,
};

/// A call of a tool and an answer, in which the cache has a part.
fn turns() -> Value {
    let mut call = echoes(&["x"]);
    call["usage"] = json!({ "input_tokens": 100, "output_tokens": 7, "cache_write_tokens": 300 });
    let usage = json!({ "input_tokens": 50, "output_tokens": 9, "cache_read_tokens": 350 });
    json!([call, { "text": "done", "usage": usage }])
}

async fn session(folders: &Folders, mods: &[&str], prompts: &[&str]) -> Seen {
    let options: &[_] = if mods.is_empty() { &[] } else { &[("cache-tracker.log", "cache.jsonl")] };
    Scene { mods, options, turns: turns(), prompts, ..Scene::default() }.play_in(folders).await
}

#[tokio::test]
async fn the_hit_rate_is_shown_and_logged_and_the_model_is_sent_the_same_bytes_as_without() {
    let folders = Folders::new();
    let seen = session(&folders, &["cache-tracker"], &["/cache", "go", "/cache"]).await;
    let said = [
        "0%: 0 of 0 tokens from the cache, 0 put into it",
        "done",
        "44%: 350 of 800 tokens from the cache, 300 put into it",
    ];
    assert_eq!(seen.came, said);
    assert_eq!(seen.statuses, [vec![], vec!["cache 0%".to_owned()], vec!["cache 44%".to_owned()]]);
    assert_eq!(seen.told(), [""; 0]);

    let log = fs::read_to_string(folders.work().join("cache.jsonl")).unwrap();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let model = format!("kept/{}", folders.dir().join("scenario.json").display());
    let line = |input, output, read, written, rate| {
        let usage = json!({
            "inputTokens": input, "outputTokens": output, "cacheReadTokens": read, "cacheWriteTokens": written,
        });
        json!({ "model": model, "usage": usage, "hitRate": rate })
    };
    assert_eq!(lines, [line(100, 7, 0, 300, 0), line(50, 9, 350, 0, 88)]);

    let registered = &seen.registered[0];
    assert_eq!((&registered.hooks, &registered.events), (&vec![], &vec!["model_request_end"]));
    let without = session(&folders, &[], &["go"]).await;
    let sent = |seen: &Seen| format!("{:?}", seen.requests);
    assert_eq!(sent(&seen), sent(&without));
}
