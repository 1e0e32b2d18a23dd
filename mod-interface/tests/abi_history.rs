//! Every released interface fits the one of today, in both directions.

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
