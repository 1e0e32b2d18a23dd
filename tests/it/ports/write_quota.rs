use std::fs;

use host::harness::{Earlier, Recording};
use serde_json::{Value, json};

use crate::support::{
    scene::{Scene, Seen},
    session::Folders,
};

/// A batch of writes, all at once.
fn writes(paths: &[&str]) -> Value {
    let call = |(index, path): (usize, &&str)| {
        let input = json!({ "file_path": path, "content": path });
        json!({ "id": format!("c{}", index + 1), "name": "write_file", "input": input })
    };
    json!({ "tool_calls": paths.iter().enumerate().map(call).collect::<Vec<_>>() })
}

async fn session(folders: &Folders, record: Recording, paths: &[&str]) -> Seen {
    Scene {
        mods: &["write-quota"],
        options: &[("write-quota.root", "docs"), ("write-quota.max", "3")],
        turns: json!([writes(paths), { "text": "done" }]),
        allow: &["write_file"],
        parallel: true,
        record,
        ..Scene::default()
    }
    .play_in(folders)
    .await
}

fn written(folders: &Folders) -> Vec<String> {
    let files = fs::read_dir(folders.work().join("docs")).unwrap();
    let mut names: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_parallel_batch_never_exceeds_the_quota_which_survives_a_resume() {
    let folders = Folders::new();
    let docs = folders.work().canonicalize().unwrap().join("docs");
    fs::create_dir(&docs).unwrap();
    let first = session(&folders, Recording::New, &["docs/a", "docs/../b", "docs/c"]).await;
    let outside = format!("tool_hook_blocked c2: Only files in {} may be written.", docs.display());
    assert_eq!(first.only(&["tool_hook_blocked"]), [outside]);
    assert_eq!(first.told(), ["notice write-quota: end_turn after 2 turns, 2 of 3 writes used"]);
    assert_eq!(written(&folders), ["a", "c"]);

    let again = session(&folders, Recording::Resume(Earlier::Latest), &["docs/d", "docs/e", "docs/f"]).await;
    let used =
        ["c2", "c3"].map(|call| format!("tool_hook_blocked {call}: All 3 writes of this session are used."));
    assert_eq!(again.only(&["tool_hook_blocked"]), used);
    assert_eq!(again.only(&["tool_running", "tool_errored"]), ["tool_running c1"]);
    assert_eq!(again.told(), ["notice write-quota: end_turn after 2 turns, 3 of 3 writes used"]);
    assert_eq!(written(&folders), ["a", "c", "d"]);

    // Another session has its own.
    let other = session(&folders, Recording::New, &["docs/g"]).await;
    assert_eq!(other.told(), ["notice write-quota: end_turn after 2 turns, 1 of 3 writes used"]);
}
