use crate::{
    cli::figures::{columns, duration},
    mod_host::HookTiming,
};

/// The lines of the table of what the hooks took.
pub(super) fn table(rows: &[HookTiming]) -> Vec<String> {
    if rows.is_empty() {
        return vec!["no mod has a hook".to_owned()];
    }
    let head = ["MOD", "HOOK", "CALLS", "PENDING", "FAULTS", "TIME", "LONGEST"].map(str::to_owned);
    let cells = rows.iter().map(|row| {
        let [calls, pending, faults] = [row.calls, row.pending, row.faults].map(|count| count.to_string());
        let [total, max] = [row.total, row.max].map(duration);
        [row.mod_id.to_string(), row.hook.to_string(), calls, pending, faults, total, max]
    });
    columns(&std::iter::once(head).chain(cells).collect::<Vec<_>>(), 2)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mod_interface::types::Hook;

    use super::*;

    #[test]
    fn a_hook_is_a_row() {
        let row = |hook, calls, total, max| HookTiming {
            mod_id: "mod:guard".into(),
            hook,
            calls,
            pending: calls / 2,
            faults: 1,
            total: Duration::from_nanos(total),
            max: Duration::from_nanos(max),
        };
        let rows =
            [row(Hook::BeforeToolCall, 12, 1_234_567, 45_600), row(Hook::OnStop, 1, 2_500_000_000, 999)];
        let expected = "\
MOD        HOOK            CALLS  PENDING  FAULTS     TIME  LONGEST
mod:guard  beforeToolCall     12        6       1  1.23 ms  45.6 µs
mod:guard  onStop              1        0       1   2.50 s   999 ns";
        assert_eq!(table(&rows).join("\n"), expected);
        assert_eq!(table(&[]), ["no mod has a hook"]);
    }
}
