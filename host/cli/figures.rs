//! Tables of figures, for people.

use std::time::Duration;

/// The rows as lines: the first `texts` columns stand to the left, figures to the right.
pub(super) fn columns<const N: usize>(rows: &[[String; N]], texts: usize) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| {
            if column < texts { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A duration in three digits and its unit.
pub(super) fn duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    if nanos < 1000 {
        return format!("{nanos} ns");
    }
    let (value, unit) = match duration.as_secs_f64() {
        seconds if seconds < 1e-3 => (seconds * 1e6, "µs"),
        seconds if seconds < 1.0 => (seconds * 1e3, "ms"),
        seconds => (seconds, "s"),
    };
    let digits = match value {
        value if value < 10.0 => 2,
        value if value < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_three_digits() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (45_600, "45.6 µs"),
            (999_400, "999 µs"),
            (1_234_567, "1.23 ms"),
            (2_500_000_000, "2.50 s"),
            (90_000_000_000, "90.0 s"),
        ];
        for (nanos, text) in cases {
            assert_eq!(duration(Duration::from_nanos(nanos)), text);
        }
    }

    #[test]
    fn texts_stand_to_the_left_and_figures_to_the_right() {
        let rows = [["A", "N", "X"], ["µµµ", "10", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(columns(&rows, 1), ["A     N  X", "µµµ  10"]);
    }
}
