//! Flags: what mods declare, and what `--mod-option` makes of it.

use host::{harness::Error, mod_host::ModHostConfig};
use mod_interface::builtin_mod;
use serde_json::json;

use crate::support::{
    behaving::{both, built_in_and_shared, compiled_in, only},
    mods::{Host, compiled_in as code},
    session::Folders,
};

/// What is told of flags when mods with these options are played.
async fn told(does: &[(&'static str, &str)]) -> Vec<String> {
    let told = both(json!([{ "text": "done" }]), does).await;
    only(&told, &["notice", "mod_error"]).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_flag_has_its_default_and_is_undone_once() {
    let defaults = "notice a: color None Some(\"red\"), loud Some(true) None";
    assert_eq!(told(&[("a", "flags")]).await, [defaults]);
}

#[tokio::test]
async fn a_name_that_is_taken_or_none_is_told_and_the_first_stays() {
    assert_eq!(
        told(&[("a", "flags-taken")]).await,
        [
            "mod_error mod:behaving-a flag:color: a flag of that name is there already; the first stays: color",
            "mod_error mod:behaving-a flag:no name: a flag's name is of a-z, A-Z, 0-9, _ and -, at most 64, got: no name",
            "notice a: [false, false]",
            "notice a: Some(\"red\")",
        ]
    );
}

/// What mods say that have a flag `color` and one `loud`, with these options.
async fn values(options: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let does = ["a", "b"].map(|letter| (format!("behaving-{letter}.does"), "flags".to_owned()));
    let host =
        Host::with(|config: &mut ModHostConfig| config.options = does.into_iter().chain(options).collect());
    let mods = [
        code("behaving-a", builtin_mod!("behaving-a", behaving::behaving)),
        code("behaving-b", builtin_mod!("behaving-b", behaving::behaving)),
    ];
    host.load(mods).await;
    let flags = host.mods.mods().into_iter().map(|(_, registered)| registered.flags).collect::<Vec<_>>();
    assert_eq!(flags, [["color"], ["color"]]);
    let notices = host.take_events().into_iter().filter_map(|event| match event {
        mod_interface::types::EventPayload::Notice { message, .. } => Some(message),
        _ => None,
    });
    (notices.collect(), host.mods.option_faults())
}

#[tokio::test(flavor = "multi_thread")]
async fn decision_31_a_bare_clash_keeps_the_first_and_warns_and_the_mods_own_option_always_works() {
    let clash = |flag| {
        format!(
            "mod:behaving-b has a flag that mod:behaving-a has too, which is the one that --mod-option {flag} sets; \
             use --mod-option behaving-b.{flag}"
        )
    };
    let (notices, faults) = values(&[("color", "blue"), ("behaving-b.loud", "false")]).await;
    let expected = [
        // Nobody had declared it when it was asked for first.
        "a: color Some(\"blue\") Some(\"blue\"), loud Some(true) None".to_owned(),
        clash("color"),
        "b: color Some(\"blue\") Some(\"red\"), loud Some(false) Some(false)".to_owned(),
    ];
    assert_eq!((notices, faults), (expected.to_vec(), vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_boolean_that_is_neither_true_nor_false_is_told_and_has_no_value() {
    let (notices, faults) = values(&[("behaving-a.loud", "maybe")]).await;
    assert_eq!(notices[0], "a: color None Some(\"red\"), loud None None");
    let fault =
        "this flag of mod:behaving-a (in capitals) is true or false, got: --mod-option behaving-a.loud=maybe";
    assert_eq!(faults, [fault]);
}

#[tokio::test]
async fn a_session_does_not_start_with_an_option_that_its_flag_cannot_have() {
    let folders = Folders::new();
    let options = [("behaving-a.does", "flags"), ("loud", "1")];
    let builder = host::harness::Harness::builder()
        .places(folders.places())
        .model(Some(folders.scenario(&json!({ "turns": [] }))))
        .mod_options(options.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let refused = compiled_in(builder, "a").start().await.err().unwrap();
    assert!(matches!(refused, Error::OptionValue(_)));
    assert_eq!(
        refused.to_string(),
        "this flag of mod:behaving-a (in capitals) is true or false, got: --mod-option loud=1"
    );
}

#[tokio::test]
async fn a_flag_of_a_shared_library_is_like_one_that_is_compiled_in() {
    let told = built_in_and_shared(json!([{ "text": "done" }]), ("a", "flags"), ("b", "flags")).await;
    let clash = "notice mod:behaving-b has a flag that mod:behaving-a has too, which is the one that --mod-option color sets; \
                 use --mod-option behaving-b.color";
    assert_eq!(only(&told, &["notice"])[1], clash);
}
