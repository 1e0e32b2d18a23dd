//! `mods new`: the folder of a mod that builds and passes its test as it is made.

mod interface;
#[cfg(test)]
mod tests;

use std::{fs, io::Write, path::Path, path::PathBuf};

use anyhow::Context as _;
use registry::version::show;
use serde::Serialize;

use self::interface::Interface;
use super::Context;
use crate::{
    builtin,
    cli::{
        args::NewArgs,
        output::{Exit, Report, Usage},
    },
};

/// The files of a mod, with what stands for its name and the like in double braces.
const TEMPLATE: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("template/Cargo.toml.in")),
    ("src/lib.rs", include_str!("template/lib.rs.in")),
    ("src/tests.rs", include_str!("template/tests.rs.in")),
    ("README.md", include_str!("template/README.md.in")),
    (".gitignore", include_str!("template/gitignore.in")),
];

/// Names of crates that rustc or cargo gives a meaning of its own.
const TAKEN: [&str; 8] = ["alloc", "core", "mod-interface", "proc-macro", "std", "test", "build", "cmd"];

/// What was made.
#[derive(Debug, Serialize)]
struct Made {
    name: String,
    folder: PathBuf,
    files: Vec<&'static str>,
    interface: Interface,
}

impl Context<'_> {
    /// Makes the folder, whole or not at all.
    pub(super) fn new_mod(&mut self, args: &NewArgs) -> anyhow::Result<Exit> {
        check(&args.name)?;
        let folder = self.typed(args.path.as_deref().unwrap_or(Path::new(&args.name)));
        let folder: PathBuf = folder.components().collect();
        if folder.symlink_metadata().is_ok() {
            let text = "this is there already, remove it, or name another folder with --path or another mod";
            return Err(Usage(format!("{text}: {}", folder.display())).into());
        }
        let version = show(self.facts.interface);
        let interface = match &args.interface {
            Some(typed) => Interface::typed(typed, &self.process.cwd)?,
            // What was installed stands elsewhere than the checkout that it was built in.
            None => Interface::found([&*folder, &*self.process.exe, Path::new(env!("CARGO_MANIFEST_DIR"))])?,
        };
        write(&folder, |template| fill(template, &args.name, &interface, &version))
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let files = TEMPLATE.map(|(file, _)| file).to_vec();
        self.streams.report(&Made { name: args.name.clone(), folder, files, interface }, args.json)?;
        Ok(Exit::Success)
    }
}

/// Checks a name: one that a mod, a crate and a command can have.
fn check(name: &str) -> Result<(), Usage> {
    if builtin::roots().iter().any(|(taken, _)| *taken == name) {
        return Err(Usage(format!("a mod of this name is built in, and comes first; take another: {name}")));
    }
    if is_name(name) && !means_something(name) {
        return Ok(());
    }
    let hint = match meant(name) {
        _ if is_name(name) => ", but this means something to cargo or rustc".to_owned(),
        Some(meant) => format!("; did you mean {meant}?"),
        None => String::new(),
    };
    let expected = "lower-case letters, digits and dashes, a letter first";
    Err(Usage(format!("a mod's name is made of {expected}{hint}: {name}")))
}

fn is_name(name: &str) -> bool {
    registry::portable::check_mod_name(name).is_ok() && name.starts_with(|c: char| c.is_ascii_lowercase())
}

fn means_something(name: &str) -> bool {
    TAKEN.contains(&name) || is_keyword(name)
}

/// A name that the typed one stands for: of a path the last part, in lower case and with dashes.
fn meant(typed: &str) -> Option<String> {
    let last = typed.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next()?;
    let dashed = last.to_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let bare = dashed.trim_matches('-').trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
    (is_name(bare) && !means_something(bare)).then(|| bare.to_owned())
}

fn is_keyword(name: &str) -> bool {
    const KEYWORDS: &str = " abstract as async await become box break const continue crate do dyn else enum extern \
        false final fn for gen if impl in let loop macro match mod move mut override priv pub ref return self static \
        struct super trait true try type typeof unsafe unsized use virtual where while yield ";
    KEYWORDS.contains(&format!(" {name} "))
}

/// A file of the template, for this mod.
fn fill(template: &str, name: &str, interface: &Interface, version: &str) -> String {
    let parts = [
        ("{{dependency}}", &*interface.dependency(version)),
        ("{{origin}}", &interface.origin()),
        ("{{command}}", &format!("{name}-status")),
        ("{{interface}}", version),
        ("{{name}}", name),
    ];
    parts.iter().fold(template.to_owned(), |text, (part, value)| text.replace(part, value))
}

/// Writes the files into a folder beside the new one, which then takes its name.
fn write(folder: &Path, fill: impl Fn(&str) -> String) -> anyhow::Result<()> {
    let parent = folder.parent().context("it has no parent")?;
    fs::create_dir_all(parent)?;
    let made = tempfile::Builder::new().prefix(".new-mod-").tempdir_in(parent)?;
    fs::create_dir(made.path().join("src"))?;
    for (file, template) in TEMPLATE {
        fs::write(made.path().join(file), fill(template))?;
    }
    open_to_others(made.path())?;
    fs::rename(made.path(), folder)?;
    let _moved = made.keep();
    Ok(())
}

/// A temporary folder is for its owner alone; this one is as any other.
#[cfg(unix)]
fn open_to_others(folder: &Path) -> std::io::Result<()> {
    fs::set_permissions(folder, fs::metadata(folder.join("src"))?.permissions())
}

#[cfg(not(unix))]
fn open_to_others(_: &Path) -> std::io::Result<()> {
    Ok(())
}

impl Report for Made {
    fn text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let folder = self.folder.display();
        writeln!(out, "made the mod {} in {folder}", self.name)?;
        writeln!(out, "{}", self.interface.origin())?;
        writeln!(
            out,
            "next, in its folder:\n  cargo test\n  cargo build && cmd --mod . -p \"…\"\n  cmd mods pack"
        )
    }
}
