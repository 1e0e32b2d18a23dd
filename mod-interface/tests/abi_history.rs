//! Every released interface fits the one of today, in both directions: layouts here, what stands in them in
//! [`numbers`] and [`payloads`].

// The lint knows test functions, but not the functions that they share.
#![allow(clippy::unwrap_used)]

#[path = "abi_history/numbers.rs"]
mod numbers;
#[path = "abi_history/payloads.rs"]
mod payloads;

use abi_stable::{
    StableAbi,
    abi_stability::abi_checking::{CheckingGlobals, check_layout_compatibility_with_globals},
    type_layout::TypeLayout,
};

const TODAY: &TypeLayout = <mod_interface::abi::ModRootRef as StableAbi>::LAYOUT;
const V1_0_0: &TypeLayout = <v1_0_0::abi::ModRootRef as StableAbi>::LAYOUT;

/// What breaks when a library of the `older` interface meets a host of the `newer` one.
fn breaks(older: &'static TypeLayout, newer: &'static TypeLayout) -> Option<String> {
    let errors =
        check_layout_compatibility_with_globals(older, newer, &CheckingGlobals::new()).err()?.to_string();
    // The report tells whole trees of types; what differs stands behind them.
    Some(errors.find("Error:").map_or(errors.clone(), |at| errors[at..].to_owned()))
}

#[test]
fn a_mod_of_interface_1_0_0_loads_today() {
    assert_eq!(breaks(V1_0_0, TODAY), None, "an edit broke interface 1.0.0: add at the end, change nothing");
}

/// What the newer host needs and the older interface has not: an addition, which a mod must be able to ask for.
#[test]
fn an_addition_needs_a_new_minor() {
    let added = breaks(TODAY, V1_0_0).into_iter().chain(numbers::added());
    let added: Vec<_> = added.collect();
    let minor = mod_interface::abi::INTERFACE.minor;
    assert!(
        minor > 0 || added.is_empty(),
        "interface 1.{minor} has what 1.0 has not; raise the minor version:\n{}",
        added.join("\n")
    );
}

/// What differs between the two, a line each.
fn differences(was: &[(String, String)], is: &[(String, String)]) -> Vec<String> {
    let now = |name: &str| is.iter().find(|(other, _)| other == name).map_or("gone", |(_, value)| value);
    let changed = was.iter().filter(|(name, value)| now(name) != value);
    changed.map(|(name, value)| format!("{name} was {value}, is {}", now(name))).collect()
}

/// Fails with what an edit broke.
#[track_caller]
fn assert_unchanged(was: &[(String, String)], is: &[(String, String)]) {
    assert!(!was.is_empty());
    let broken = differences(was, is);
    assert!(broken.is_empty(), "an edit broke interface 1.0.0:\n{}", broken.join("\n"));
}

#[test]
fn what_changed_and_what_is_gone_is_told() {
    let pairs = |all: &[(&str, &str)]| {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
    };
    let was = pairs(&[("a", "0"), ("b", "1"), ("c", "2")]);
    let is = pairs(&[("a", "0"), ("c", "3"), ("d", "2")]);
    assert_eq!(differences(&was, &is), ["b was 1, is gone", "c was 2, is 3"]);
}

#[test]
fn the_check_sees_a_break() {
    #[repr(C)]
    #[derive(StableAbi)]
    struct Other {
        field: u64,
    }
    let found = breaks(V1_0_0, <Other as StableAbi>::LAYOUT);
    assert!(found.is_some_and(|found| found.starts_with("Error:")));
}
