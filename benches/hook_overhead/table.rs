//! What was measured, beside the boxed future of the same group.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde_json::Value;

use super::{
    chart::Bar,
    promises::{BOXED, BOXED_PENDING, Promise, promises},
    ways::Form,
};

/// The least that a call can be.
pub(crate) const FLOOR: &str = "a an indirect call and an atomic";

/// What a mod of that form is compared with.
pub(crate) const fn boxed(form: Form) -> &'static str {
    match form {
        Form::Sync | Form::Ready => BOXED,
        Form::Pending => BOXED_PENDING,
        Form::Waiting => "c boxed future, waiting",
    }
}

/// What a row is compared with.
fn base(way: &str) -> &'static str {
    let like = |form: &Form| way.ends_with(form.name());
    boxed([Form::Pending, Form::Waiting].into_iter().find(like).unwrap_or(Form::Ready))
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

    /// What earlier runs measured that left it in `folder`.
    pub(crate) fn earlier(folder: &str) -> Self {
        Self { began: SystemTime::UNIX_EPOCH, folder: folder.into(), rows: Vec::new() }
    }

    /// Where criterion leaves what it measured.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A row that this run measures.
    pub(crate) fn expect(&mut self, group: &str, way: &str) {
        self.rows.push((group.to_owned(), way.to_owned()));
    }

    /// Prints the table.
    pub(crate) fn print(&self) -> io::Result<()> {
        let mut last = String::new();
        for bar in self.bars()? {
            if bar.group != last {
                println!("\n{:<46} {:>12}  {:>9} {:>9}", bar.group, "median", "x boxed", "x floor");
                last.clone_from(&bar.group);
            }
            println!("  {:<44} {}", bar.way, bar.said);
        }
        println!();
        Ok(())
    }

    /// Says of each promise whether it is kept, and whether all are.
    pub(crate) fn keeps_promises(&self) -> bool {
        let promises = promises(|group, way| self.median(group, way).ok().flatten());
        promises.iter().for_each(|promise| println!("{promise}"));
        promises.iter().all(Promise::is_kept)
    }

    /// The rows that this run measured.
    pub(crate) fn bars(&self) -> io::Result<Vec<Bar>> {
        let mut bars = Vec::new();
        for (group, way) in &self.rows {
            let Some(nanos) = self.median(group, way)? else { continue };
            let ratio = |by| -> io::Result<String> {
                Ok(self.median(group, by)?.map(|by| format!("{:.2}", nanos / by)).unwrap_or_default())
            };
            let said = format!("{:>12}  {:>9} {:>9}", shown(nanos), ratio(base(way))?, ratio(FLOOR)?);
            bars.push(Bar { group: group.clone(), way: way.clone(), nanos, said });
        }
        Ok(bars)
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

fn shown(nanos: f64) -> String {
    match nanos {
        nanos if nanos < 1e3 => format!("{nanos:.1} ns"),
        nanos if nanos < 1e6 => format!("{:.2} µs", nanos / 1e3),
        nanos => format!("{:.2} ms", nanos / 1e6),
    }
}
