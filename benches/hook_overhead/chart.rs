//! The chart: a bar for each row, on a logarithmic scale, with its ratio to the boxed future.

use std::fmt::Write;

/// Where the bars begin, how long a power of ten is, and what stands beside them.
const LEFT: f64 = 270.0;
const DECADE: f64 = 80.0;
const RIGHT: f64 = 160.0;
/// The height of a row.
const LINE: f64 = 18.0;
/// The grey ones are what mods are compared with.
const MOD: &str = "#2b6cb0";
const OTHER: &str = "#a0aec0";

/// What was measured of one way.
pub(crate) struct Bar {
    pub(crate) group: String,
    pub(crate) way: String,
    pub(crate) nanos: f64,
    /// The time and the ratio, as they are printed.
    pub(crate) said: String,
}

/// The chart of all rows, in their order.
pub(crate) fn svg(bars: &[Bar]) -> String {
    let longest = bars.iter().map(|bar| bar.nanos).fold(10.0, f64::max);
    let width = LEFT + DECADE * longest.log10() + RIGHT;
    let (mut body, mut y, mut last) = (String::new(), LINE, "");
    for bar in bars {
        if bar.group != last {
            y += 1.5 * LINE;
            text(&mut body, 10.0, y, "m", &bar.group);
            last = &bar.group;
        }
        y += LINE;
        let length = DECADE * bar.nanos.max(1.0).log10();
        let colour =
            if bar.way.starts_with(['d', 'e']) || bar.way.contains("observer") { MOD } else { OTHER };
        text(&mut body, LEFT - 8.0, y, "e", &bar.way);
        // Writing into a string does not fail.
        let _ = writeln!(
            body,
            "<rect x=\"{LEFT}\" y=\"{:.1}\" width=\"{length:.1}\" height=\"11\" fill=\"{colour}\"/>",
            y - 10.0
        );
        text(&mut body, LEFT + length + 6.0, y, "", &bar.said);
    }
    let height = y + LINE;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<style>.m{{font-weight:bold}}.e{{text-anchor:end}}</style>\n\
         <rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#fff\"/>\n\
         <text x=\"10\" y=\"16\">Median time of a call, each power of ten as long as the next, and how often the \
         boxed future and the least that a call can be that is</text>\n{body}</svg>\n"
    )
}

fn text(out: &mut String, x: f64, y: f64, class: &str, said: &str) {
    let said = said.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{said}</text>");
}
