//! The chart: two bars a hook, on a logarithmic scale.

use std::{fmt::Write, time::Duration};

use super::{Benched, HookRow, Opened, answers};
use crate::{cli::figures::duration, mod_host::Beside};

/// Where the bars begin, how long the scale is, and what stands beside it.
const LEFT: f64 = 190.0;
const SCALE: f64 = 480.0;
const RIGHT: f64 = 150.0;
/// The heights of a line of text, and of a hook.
const LINE: f64 = 24.0;
const HOOK: f64 = 34.0;
const BAR: f64 = 10.0;

/// From the shortest to the longest time of the scale, as powers of ten.
struct Scale {
    from: i32,
    to: i32,
}

impl Scale {
    /// Whole decades that hold all `times`.
    fn of(times: impl Iterator<Item = u64>) -> Self {
        let decades: Vec<_> = times.map(|nanos| (nanos.max(1) as f64).log10()).collect();
        let lowest = decades.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = decades.iter().copied().fold(0.0, f64::max);
        let from = if lowest.is_finite() { lowest.floor() as i32 } else { 0 };
        Self { from, to: (highest.ceil() as i32).max(from + 1) }
    }

    /// Where a time lies.
    fn at(&self, nanos: u64) -> f64 {
        let share = ((nanos.max(1) as f64).log10() - f64::from(self.from)) / f64::from(self.to - self.from);
        LEFT + SCALE * share.clamp(0.0, 1.0)
    }
}

/// The chart of all hooks that were measured.
pub(super) fn svg(benched: &Benched) -> String {
    let groups: Vec<(&Opened, Vec<_>)> = benched
        .mods
        .iter()
        .filter_map(|row| Some((row.opened.as_ref()?, row.measured.iter().flat_map(answers).collect())))
        .collect();
    let all = groups.iter().flat_map(|(_, rows)| rows.iter().map(|(_, _, beside)| *beside));
    let times = all.flat_map(|beside| [beside.took.p50_ns, beside.took.p99_ns, beside.empty.p50_ns]);
    let scale = Scale::of(times);
    let (mut body, mut y) = (String::new(), 2.0 * LINE);
    for (opened, rows) in &groups {
        y += LINE;
        text(&mut body, 10.0, y - 8.0, "m", &format!("{} {}", opened.name, opened.version));
        for (row, answer, beside) in rows {
            bars(&mut body, &scale, y, row, answer, beside);
            y += HOOK;
        }
    }
    let (width, bottom) = (LEFT + SCALE + RIGHT, y);
    let height = bottom + LINE;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<style>.m{{font-weight:bold}}.e{{text-anchor:end}}.c{{text-anchor:middle;fill:#666}}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{}{}{body}</svg>\n",
        legend(benched.messages),
        grid(&scale, bottom)
    )
}

fn legend(messages: usize) -> String {
    let mut legend = String::new();
    let said =
        format!("Time of a call with {messages} messages: median, and a line to what 1 in 100 exceeds");
    text(&mut legend, 10.0, 16.0, "", &said);
    for (x, colour, said) in [(10.0, MOD, "the mod's hook"), (140.0, EMPTY, "a hook that does nothing")] {
        bar(&mut legend, x, 26.0, BAR, colour);
        text(&mut legend, x + 16.0, 35.0, "", said);
    }
    legend
}

const MOD: &str = "#2b6cb0";
const EMPTY: &str = "#a0aec0";

/// A line for each power of ten.
fn grid(scale: &Scale, bottom: f64) -> String {
    let mut grid = String::new();
    for decade in scale.from..=scale.to {
        let nanos = 10_u64.saturating_pow(decade.unsigned_abs());
        let x = scale.at(nanos);
        let top = 2.0 * LINE;
        line(&mut grid, (x, top), (x, bottom), "#ddd");
        text(&mut grid, x, bottom + 15.0, "c", &duration(Duration::from_nanos(nanos)));
    }
    grid
}

fn bars(out: &mut String, scale: &Scale, y: f64, row: &HookRow, answer: &str, beside: &Beside) {
    text(out, LEFT - 8.0, y + 15.0, "e", &format!("{}, {answer}", row.hook));
    let (p50, p99) = (scale.at(beside.took.p50_ns), scale.at(beside.took.p99_ns));
    bar(out, LEFT, y + 3.0, p50 - LEFT, MOD);
    line(out, (p50, y + 8.0), (p99, y + 8.0), MOD);
    bar(out, LEFT, y + 16.0, scale.at(beside.empty.p50_ns) - LEFT, EMPTY);
    let failed =
        if row.measured.as_ref().is_some_and(|measured| measured.faults > 0) { ", fails" } else { "" };
    let said = format!("{}{failed}", duration(Duration::from_nanos(beside.took.p50_ns)));
    text(out, p99.max(p50) + 6.0, y + 12.0, "", &said);
}

// Writing into a string does not fail.
fn bar(out: &mut String, x: f64, y: f64, width: f64, colour: &str) {
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{colour}\"/>"
    );
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(
        out,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\"/>"
    );
}

fn text(out: &mut String, x: f64, y: f64, class: &str, said: &str) {
    let said = said.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{said}</text>");
}
