//! Where in a session of two turns, of which the first calls `echo` once, each hook is asked.

use mod_interface::types::Hook;

/// Before which events a hook is asked: their kind, and the how manieth of it.
fn asked(hook: Hook) -> (&'static str, &'static [usize]) {
    match hook {
        Hook::OnSessionStart | Hook::TransformInput => ("run_start", &[0]),
        Hook::OnTurnStart => ("turn_start", &[0, 1]),
        Hook::AppendSystemPrompt | Hook::TransformContext => ("message_start", &[0, 1]),
        Hook::BeforeToolCall => ("tool_running", &[0]),
        Hook::AfterToolCall => ("tool_completed", &[0]),
        Hook::OnTurnEnd => ("turn_end", &[0, 1]),
        // Behind the first turn, and behind the last.
        Hook::ShouldStopAfterTurn => ("turn_start", &[1, 2]),
        Hook::PrepareNextTurn => ("turn_start", &[1]),
        Hook::OnStop | Hook::OnRunEnd => ("run_end", &[0]),
        Hook::OnSessionEnd => ("session_shutdown", &[0]),
    }
}

fn find(lines: &[String], kind: &str, nth: usize) -> usize {
    let places = lines.iter().enumerate().filter(|(_, line)| line.starts_with(kind)).map(|(at, _)| at);
    // Behind the last turn comes the end of the run.
    places.chain(lines.iter().position(|line| line.starts_with("run_end"))).nth(nth).unwrap()
}

/// How often a hook is asked.
pub(crate) fn times(hook: Hook) -> u32 {
    u32::try_from(asked(hook).1.len()).unwrap()
}

/// The events of a session in which `each` is told whenever `hook` is asked.
pub(crate) fn each_time(without: &[String], hook: Hook, each: &[String]) -> Vec<String> {
    let (kind, times) = asked(hook);
    let mut lines = without.to_vec();
    for nth in times.iter().rev() {
        let at = find(without, kind, *nth);
        lines.splice(at..at, each.iter().cloned());
    }
    lines
}

/// The events of a session in which `line` is told when `hook` is asked for the first time.
pub(crate) fn first_time(without: &[String], hook: Hook, line: &str) -> Vec<String> {
    let (kind, times) = asked(hook);
    let mut lines = without.to_vec();
    lines.insert(find(without, kind, times[0]), line.to_owned());
    lines
}

/// The events of a session in which `hook` of `mod_id` fails with `error` each time that it is asked: it is told
/// once, and counted.
pub(crate) fn with_fault(without: &[String], mod_id: &str, hook: Hook, error: &str) -> Vec<String> {
    let (kind, times) = asked(hook);
    let mut lines = without.to_vec();
    if times.len() > 1 {
        let end = find(without, "run_end", 0);
        lines.insert(end, format!("notice {mod_id} failed once more at {hook}"));
    }
    lines.insert(find(without, kind, times[0]), format!("mod_error {mod_id} {hook}: {error}"));
    lines
}
