use super::*;
use crate::{
    builtin,
    mod_host::{BenchConfig, Code, ModHost, ModHostConfig, Origin, Plan, Planned, Spread},
};

fn opened(name: &str, hooks: &[&str]) -> Opened {
    let hooks = hooks.iter().map(|hook| (*hook).to_owned()).collect();
    Opened { name: name.into(), version: "1.0.0".into(), size: 4_200_000, load_ns: 3_100_000, hooks }
}

fn beside(calls: u32, p50_ns: u64) -> Beside {
    Beside {
        calls,
        took: Spread { p50_ns, p99_ns: 780, max_ns: 3_200_000 },
        empty: Spread { p50_ns: 30, p99_ns: 40, max_ns: 5000 },
    }
}

fn measured(faults: u32) -> Measured {
    Measured {
        calls: 1000,
        faults,
        fault: (faults > 0).then(|| "went\nwrong".to_owned()),
        ready: Some(beside(900, 45)),
        pending: Some(beside(100, 450)),
        clock_ns: 24,
    }
}

fn benched() -> Benched {
    let hook = |hook: &str, measured, allocations, error: Option<&str>| HookRow {
        hook: hook.into(),
        measured,
        allocations,
        error: error.map(str::to_owned),
    };
    let rows = vec![
        hook("beforeToolCall", Some(Measured { pending: None, ..measured(0) }), Some(2.0), None),
        hook("onStop", Some(measured(12)), None, None),
        hook("onTurnEnd", None, None, Some("it blocks")),
    ];
    let hooks = ["beforeToolCall", "onStop", "onTurnEnd"];
    let row = |path: &str, opened, error: Option<&str>, measured| Row {
        path: path.into(),
        opened,
        error: error.map(str::to_owned),
        measured,
    };
    let mods = vec![
        row("/a.so", Some(opened("a", &hooks)), None, rows),
        row("/b.so", Some(opened("b", &[])), None, Vec::new()),
        row("/c.so", None, Some("no such file"), Vec::new()),
    ];
    Benched { messages: 100, iterations: 1000, optimized: true, uncounted: None, mods }
}

#[test]
fn the_table_has_a_row_for_each_answer_of_a_hook_and_a_line_for_what_went_wrong() {
    let mut out = Vec::new();
    benched().text(&mut out).unwrap();
    let expected = "\
a 1.0.0: 4.20 MB, loads in 3.10 ms
    HOOK            ANSWER   CALLS     P50     P99      MAX  EMPTY  ALLOCATIONS
    beforeToolCall  ready      900   45 ns  780 ns  3.20 ms  30 ns          2.0
    onStop          ready      900   45 ns  780 ns  3.20 ms  30 ns            -
    onStop          pending    100  450 ns  780 ns  3.20 ms  30 ns            -
    onStop failed 12 of 1000 times: went wrong
    onTurnEnd: it blocks
b 1.0.0: 4.20 MB, loads in 3.10 ms
    has no hooks
/c.so
    does not load: no such file
With 100 messages; EMPTY is the P50 of a compiled-in hook that does nothing, answered alike.
Reading the clock, 24 ns, is taken off.
ALLOCATIONS are those of a call, of the mod and of cmd together.
";
    assert_eq!(String::from_utf8(out).unwrap(), expected);

    let mut out = Vec::new();
    Benched { uncounted: Some(UNCOUNTED), ..benched() }.text(&mut out).unwrap();
    let said = "Allocations are not counted: valgrind counts them, and it is not installed.";
    assert_eq!(String::from_utf8(out).unwrap().lines().last(), Some(said));
}

#[test]
fn a_mod_is_well_when_it_loads_and_no_hook_fails() {
    let mut mods = benched().mods;
    assert!(!mods[0].is_well() && mods[1].is_well() && !mods[2].is_well());
    mods[0].measured.pop();
    assert!(!mods[0].is_well(), "onStop failed");
    mods[0].measured.pop();
    assert!(mods[0].is_well());
}

#[test]
fn the_chart_has_two_bars_for_each_answer_of_a_hook_that_was_measured() {
    let mut benched = benched();
    benched.mods[0].opened = Some(opened("<a&b>", &[]));
    let svg = chart::svg(&benched);
    let texts: Vec<_> =
        svg.split("<text ").skip(1).filter_map(|text| text.split(['>', '<']).nth(1)).collect();
    let expected = [
        "Time of a call with 100 messages: median, and a line to what 1 in 100 exceeds",
        "the mod's hook",
        "a hook that does nothing",
        "10 ns",
        "100 ns",
        "1.00 µs",
        "&lt;a&amp;b> 1.0.0",
        "beforeToolCall, ready",
        "45 ns",
        "onStop, ready",
        "45 ns, fails",
        "onStop, pending",
        "450 ns, fails",
        "b 1.0.0",
    ];
    // What follows an escaped name was split off.
    assert_eq!(texts[..6], expected[..6]);
    assert!(expected.iter().all(|text| svg.contains(&format!(">{text}</text>"))), "{svg}");
    // Two an answer, two in the legend, and what is behind all.
    assert_eq!(svg.matches("<rect ").count(), 3 * 2 + 2 + 1);
    // 45 ns on a scale from 10 to 1000: a third of it.
    assert!(
        svg.contains("<rect x=\"190.0\" y=\"75.0\" width=\"156.8\" height=\"10\" fill=\"#2b6cb0\"/>"),
        "{svg}"
    );
}

#[test]
fn a_chart_of_nothing_is_one_too() {
    let benched = Benched { messages: 1, iterations: 1, optimized: true, uncounted: None, mods: Vec::new() };
    assert_eq!(chart::svg(&benched).matches("<line ").count(), 2);
}

fn config(path: &str) -> BenchConfig {
    let empty = builtin::empty();
    BenchConfig {
        cargo_target: None,
        path: path.into(),
        cwd: "/".into(),
        empty: empty.ready,
        empty_pending: empty.pending,
        options: Default::default(),
        load_timeout: Duration::from_secs(10),
        hook_timeout: None,
        messages: 1,
        iterations: 1,
    }
}

#[tokio::test]
async fn the_empty_mods_have_every_hook() {
    let empty = builtin::empty();
    for (name, root) in [("empty", empty.ready), ("empty-pending", empty.pending)] {
        let host = ModHost::new(ModHostConfig::alone(Path::new("/"), Duration::from_secs(10)));
        let planned = Planned { origin: Origin::BuiltIn, code: Code::BuiltIn { name, root } };
        let plan = Plan { mods: vec![planned], ..Plan::default() };
        assert_eq!(host.load(plan, |_| false).await.unwrap().warnings.len(), 0);
        let hooks = mod_interface::types::Hook::ALL.map(|hook| hook.wire_name());
        assert_eq!(host.mods()[0].1.hooks, hooks);
    }
}

#[tokio::test]
async fn a_library_that_is_not_there_does_not_load() {
    let error = crate::mod_host::Bench::open(config("/nowhere.so")).await.err().unwrap();
    assert_eq!(error.code(), "E_UNREADABLE");
}
