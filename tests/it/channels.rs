//! The bus between mods: synchronous, in load order, isolated, and without end.

use serde_json::{Value, json};

use crate::support::behaving::{both, only};

fn one_turn() -> Value {
    json!([{ "text": "done" }])
}

/// What of the events of one turn is about the bus, up to `turn_start`.
async fn heard(does: &[(&'static str, &str)]) -> Vec<String> {
    let told = both(one_turn(), does).await;
    assert!(told.contains(&"run_end end_turn 1".to_owned()), "{told:?}");
    only(&told, &["mod_event", "mod_error", "notice"]).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn what_one_mod_says_the_others_hear_at_once_and_in_load_order() {
    let does = [("a", "hear"), ("b", "speak,hear"), ("c", "hear")];
    let said = "hears on greetings: {\"from\":\"b\",\"turn\":1}";
    assert_eq!(
        heard(&does).await,
        [
            format!("notice a {said}"),
            format!("notice b {said}"),
            format!("notice c {said}"),
            "mod_event mod:behaving-b/spoken {\"Ok\":null}".to_owned(),
        ]
    );
}

#[tokio::test]
async fn nobody_need_listen_and_who_comes_later_hears_nothing_of_before() {
    let does = [("a", "speak-at-start"), ("b", "speak-at-start,hear"), ("c", "speak-at-start")];
    assert_eq!(heard(&does).await, ["notice b hears on greetings: {\"from\":\"c\",\"turn\":0}"]);
}

#[tokio::test]
async fn a_listener_that_panics_is_told_and_the_others_still_hear() {
    let told = heard(&[("a", "hear-and-panic"), ("b", "speak"), ("c", "hear")]).await;
    let [error, rest @ ..] = &told[..] else { panic!("nothing told") };
    assert!(error.starts_with("mod_error mod:behaving-a bus:greetings: panicked: cannot hear"), "{error}");
    assert_eq!(
        rest,
        [
            "notice c hears on greetings: {\"from\":\"b\",\"turn\":1}",
            "mod_event mod:behaving-b/spoken {\"Ok\":null}",
        ]
    );
}

#[tokio::test]
async fn what_a_listener_says_is_heard_before_the_speaker_goes_on() {
    let does = [("a", "answer"), ("b", "hear"), ("c", "hear-answers,speak")];
    assert_eq!(
        heard(&does).await,
        [
            "notice c hears the answer \"a\"",
            "notice b hears on greetings: {\"from\":\"c\",\"turn\":1}",
            "mod_event mod:behaving-c/spoken {\"Ok\":null}",
        ]
    );
}

#[tokio::test]
async fn mods_that_answer_each_other_for_ever_are_stopped_told_of_and_loaded_still() {
    let loops = "answered something invalid: mods answer each other in a loop, 8 deep";
    assert_eq!(
        heard(&[("a", "echo"), ("b", "speak")]).await,
        [
            format!("mod_error mod:behaving-a bus:greetings: {loops}"),
            "mod_event mod:behaving-b/spoken {\"Ok\":null}".to_owned(),
        ]
    );
    // Each hears what each says: not deep, but long.
    let does = [("a", "echo,echo,echo"), ("b", "echo,echo,echo"), ("c", "speak")];
    let flood = "answered something invalid: mods answer each other in a flood, 1024 times";
    let error = |letter, error| format!("mod_error mod:behaving-{letter} bus:greetings: {error}");
    assert_eq!(
        heard(&does).await,
        [
            error("a", loops),
            error("b", loops),
            error("a", flood),
            error("b", flood),
            "mod_event mod:behaving-c/spoken {\"Ok\":null}".to_owned(),
            "notice mod:behaving-a failed 2626 times more at bus:greetings".to_owned(),
            "notice mod:behaving-b failed 2626 times more at bus:greetings".to_owned(),
        ],
        "each cause once, and at the end of the run how often it came again"
    );
}
