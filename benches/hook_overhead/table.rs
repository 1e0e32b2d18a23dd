//! What was measured, beside the boxed future of the same group, and what is promised of it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde_json::Value;

use super::{jobs::NAME, ways::Form};

/// The least that a call can be.
pub(crate) const FLOOR: &str = "a an indirect call and an atomic";

/// What a mod of that form is compared with.
pub(crate) const fn boxed(form: Form) -> &'static str {
    match form {
        Form::Sync | Form::Ready => "c boxed future",
        Form::Pending => "c boxed future, pending",
        Form::Waiting => "c boxed future, waiting",
    }
}

/// What a row is compared with.
fn base(way: &str) -> &'static str {
    let like = |form: &Form| way.ends_with(form.name());
    boxed([Form::Pending, Form::Waiting].into_iter().find(like).unwrap_or(Form::Ready))
}

/// The ways that something is promised of, when their answer is there at once.
const PROMISED: [&str; 4] =
    ["d compiled in, sync", "d compiled in, ready", "e shared library, sync", "e shared library, ready"];
/// How often the boxed future they take at most.
const TIMES_BOXED: f64 = 2.0;
/// How often they take with many messages what they take with few.
const TIMES_FEW: f64 = 1.1;
const FEW: usize = 10;
const MANY: usize = 100_000;

/// The name of a group.
pub(crate) fn group(job: &str, messages: usize, mods: usize) -> String {
    let mods = if mods == 1 { String::new() } else { format!(", {mods} mods") };
    format!("{job}, {messages} messages{mods}")
}

/// What this run measures.
pub(crate) struct Table {
    began: SystemTime,
    folder: PathBuf,
    rows: Vec<(String, String)>,
}

impl Table {
    pub(crate) fn new() -> Self {
        // Beside `release`, as criterion has it.
        let exe = std::env::current_exe().unwrap_or_default();
        let target = exe.ancestors().nth(3).unwrap_or(Path::new("target"));
        Self { began: SystemTime::now(), folder: target.join("criterion"), rows: Vec::new() }
    }

    /// Where criterion leaves what it measured.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A row that this run measures.
    pub(crate) fn expect(&mut self, group: &str, way: &str) {
        self.rows.push((group.to_owned(), way.to_owned()));
    }

    /// Prints the table, and says whether all promises that it is about are kept.
    pub(crate) fn print(&self) -> io::Result<bool> {
        let mut last = "";
        for (group, way) in &self.rows {
            let Some(median) = self.median(group, way)? else { continue };
            if group != last {
                println!("\n{group:<46} {:>12}  {:>9}", "median", "x boxed");
                last = group;
            }
            let ratio = self.median(group, base(way))?.map(|boxed| format!("{:.2}", median / boxed));
            println!("  {way:<44} {:>12}  {:>9}", shown(median), ratio.unwrap_or_default());
        }
        println!();
        self.promises()
    }

    fn promises(&self) -> io::Result<bool> {
        let mut kept = true;
        let mut promise = |what: String, got: Option<f64>, bound: f64| {
            let verdict = match got {
                Some(got) if got <= bound => format!("{got:.2}: met"),
                Some(got) => format!("{got:.2}: MISSED"),
                None => "was not measured".to_owned(),
            };
            kept &= got.is_some_and(|got| got <= bound);
            println!("{what}, at most {bound}: {verdict}");
        };
        for way in PROMISED {
            for messages in [FEW, MANY] {
                let group = group(NAME, messages, 1);
                let got = ratio(self.median(&group, way)?, self.median(&group, base(way))?);
                promise(format!("{way}, {messages} messages, by the boxed future"), got, TIMES_BOXED);
            }
            let [many, few] = [MANY, FEW].map(|messages| self.median(&group(NAME, messages, 1), way));
            promise(format!("{way}, {MANY} messages by {FEW}"), ratio(many?, few?), TIMES_FEW);
        }
        Ok(kept)
    }

    /// The median in nanoseconds, if this run measured it.
    fn median(&self, group: &str, way: &str) -> io::Result<Option<f64>> {
        let path = self.folder.join(group).join(way).join("new/estimates.json");
        let Ok(metadata) = fs::metadata(&path) else { return Ok(None) };
        if metadata.modified()? < self.began {
            return Ok(None);
        }
        let estimates: Value = serde_json::from_slice(&fs::read(path)?)?;
        Ok(estimates["median"]["point_estimate"].as_f64())
    }
}

fn ratio(over: Option<f64>, under: Option<f64>) -> Option<f64> {
    Some(over? / under?)
}

fn shown(nanos: f64) -> String {
    match nanos {
        nanos if nanos < 1e3 => format!("{nanos:.1} ns"),
        nanos if nanos < 1e6 => format!("{:.2} µs", nanos / 1e3),
        nanos => format!("{:.2} ms", nanos / 1e6),
    }
}
