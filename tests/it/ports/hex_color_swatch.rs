use serde_json::json;

use crate::support::scene::Scene;

#[tokio::test]
async fn a_color_reaches_the_model_with_its_swatch_and_those_of_an_answer_are_one_row() {
    let answer = "Use #0af, not #12345. #00AAFF is the same; #fff goes with it.";
    let turns = json!([{ "text": answer }, { "text": "No colors." }]);
    let prompts = ["What is #0af?", "And #12345?"];
    let seen =
        Scene { mods: &["hex-color-swatch"], turns, prompts: &prompts, ..Scene::default() }.play().await;
    let conversation = [
        "user[user]: What is #0af (■ rgb 0 170 255)?".to_owned(),
        format!("assistant: {answer}"),
        "user[user]: And #12345?".to_owned(),
        "assistant: No colors.".to_owned(),
    ];
    assert_eq!(seen.sent(1), conversation[..3]);
    assert_eq!(seen.conversation, conversation);
    assert_eq!(seen.came, [answer, "No colors."]);
    let swatch = |rgb, hex| format!("\u{1b}[48;2;{rgb}m  \u{1b}[0m #{hex}");
    let row = [swatch("0;170;255", "00aaff"), swatch("255;255;255", "ffffff")].join("  ");
    assert_eq!(seen.shown, [format!("hex-color-swatch/row: {row}")]);
    assert_eq!(seen.told(), [""; 0]);
}
