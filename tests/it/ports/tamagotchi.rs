use host::harness::{Earlier, Recording};
use serde_json::json;

use crate::support::{behaving::echoes, scene::Scene, session::Folders};

#[tokio::test]
async fn it_is_busy_before_a_tool_frets_about_one_that_fails_cheers_at_green_tests_and_knows_you_again() {
    let folders = Folders::new();
    let statuses = async |record| {
        let turns = json!([echoes(&["x", "fail", "8 passed, 0 failed"]), { "text": "done" }]);
        let seen = Scene { mods: &["tamagotchi"], turns, record, ..Scene::default() }.play_in(&folders).await;
        assert_eq!(seen.told(), [""; 0]);
        seen.statuses.concat()
    };
    let busy = "(>.<) is busy with echo";
    let tools =
        [busy, "(o.o) looks on", busy, "(;.;) frets about echo", busy, "\\(^o^)/ the tests are green"];
    assert_eq!(statuses(Recording::New).await, [&["(o.o) hatched"], &tools[..]].concat());
    let again = statuses(Recording::Resume(Earlier::Latest)).await;
    assert_eq!(again, [&["(^.^) is happy to see you again"], &tools[..]].concat());
}
