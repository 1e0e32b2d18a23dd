//! The quick start, `cargo quickstart`: builds `cmd` and three mods, packs and installs the mods, and runs
//! a session in which they act. It says what it does, and checks that it happened.
#![expect(clippy::print_stdout, reason = "telling what happens is what it is for")]

mod tour;

use std::{fs, process::ExitCode};

use tour::{Failure, Tour};

/// The mods, and what each is for.
const MODS: [(&str, &str); 3] = [
    ("custom-tool", "adds a tool, count_todos, that the model can call"),
    ("block-dangerous-commands", "blocks shell commands such as rm -rf"),
    ("observe-events", "counts what happens, and changes nothing"),
];

fn main() -> ExitCode {
    match Tour::begin().and_then(|tour| take(&tour)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(text)) => {
            println!("\nThe quick start failed: {text}");
            ExitCode::FAILURE
        }
    }
}

fn take(tour: &Tour) -> Result<(), Failure> {
    println!("The quick start of cmd: native mods change what a coding agent does.");
    println!("It needs no key and no network; what it makes is in {}.", tour.shown(&tour.dir));
    build(tour)?;
    pack(tour)?;
    install(tour)?;
    list(tour)?;
    run(tour)?;
    damage(tour)?;
    println!(
        "\nNext: read mods/custom-tool/src/lib.rs, a whole mod. All of this stays until the next tour; look at it:"
    );
    println!("   $ COMMANDCODE_HOME={} {} mods list", tour.path("home"), tour.program());
    Ok(())
}

fn build(tour: &Tour) -> Result<(), Failure> {
    tour.step(
        "Build cmd and three mods",
        "A mod is a Rust library of its own, built apart from cmd; here one cargo builds them all. The first \
         time takes minutes, later ones seconds.",
    );
    let packages = ["host"].into_iter().chain(MODS.map(|(name, _)| name));
    let packages: Vec<_> = packages.flat_map(|name| ["--package", name]).collect();
    tour.cargo(&[&["build"], &packages[..]].concat())
}

fn pack(tour: &Tour) -> Result<(), Failure> {
    tour.step(
        "Pack the mods",
        "An archive holds a mod's library and a manifest with its hash: that is what you would publish. \
         Without --library, cmd has cargo build the mod first.",
    );
    let out = tour.path("packages");
    for (name, purpose) in MODS {
        println!("\n   {name} {purpose}.");
        let (folder, library) = (format!("mods/{name}"), tour.library(name));
        let packed = tour.cmd(&["mods", "pack", &folder, "--library", &library, "--out", &out])?;
        packed.says(&format!("packed {name} 1.0.0"))?.exits(0)?;
    }
    Ok(())
}

fn install(tour: &Tour) -> Result<(), Failure> {
    tour.step(
        "Install the archives",
        "Each mod is loaded once in a child process, to see that it works. Then it goes into mods/.registry, \
         and its hash into mods.lock. All of it is below COMMANDCODE_HOME, which is a folder of this tour \
         and not your own.",
    );
    for (name, _) in MODS {
        let archive = format!("{}/{name}-1.0.0.tgz", tour.path("packages"));
        let added = tour.cmd(&["mods", "add", "--global", &archive])?;
        added.says(&format!("installed file:{name} 1.0.0 for the user"))?.exits(0)?;
    }
    let lock = fs::read_to_string(tour.dir.join("home/mods.lock"))?;
    let hashes = lock.lines().filter(|line| line.starts_with("sha256 = "));
    tour.check(hashes.count() == MODS.len(), "the lock has the hash of every library")
}

fn list(tour: &Tour) -> Result<(), Failure> {
    tour.step("Look at what is installed", "Every mod, where it comes from, and what it registers.");
    let listed = tour.cmd(&["mods", "list"])?;
    listed.says("tools: count_todos")?.says("hooks: beforeToolCall")?.says("events: ")?.exits(0)?;
    tour.check(true, "all three load")
}

/// The session, once with every mod and once with a damaged one.
const SESSION: [&str; 8] = [
    "-p",
    "Count the TODO markers, then clean up.",
    "--model",
    "scripted/scenario.json",
    "--allow",
    "shell_command(rm *)",
    "--verbose",
    "--no-session",
];

fn run(tour: &Tour) -> Result<(), Failure> {
    tour.step(
        "Run a session",
        "The model is a script: it says what scenario.json says, and fails when it is not answered as that \
         file expects. First it calls the tool that a mod has added; then it wants to run rm -rf. The \
         permissions allow that (--allow), so that a mod alone stands in its way.",
    );
    let workspace = tour.workspace()?;
    let session = tour.cmd_in(&workspace, &SESSION)?;
    session
        .says("count_todos is done")?
        .says("shell_command was blocked: Blocked by block-dangerous-commands")?
        .says("observe-events: 3 turns, 1 tools run, 1 calls blocked")?
        .says("There are 2 TODO markers, both in src/main.rs.")?
        .exits(0)?;
    tour.check(true, "the tool of custom-tool was called, and its answer is right")?;
    tour.check(workspace.join("build/output.txt").is_file(), "rm -rf was blocked, and build is still there")?;
    tour.check(true, "observe-events counted 3 turns, 1 tool and 1 blocked call")
}

fn damage(tour: &Tour) -> Result<(), Failure> {
    tour.step(
        "Change one byte of an installed mod",
        "What runs is what was hashed when it was installed. So this mod does not load any more, the others \
         do, and the exit code is 1: a run without a mod that should be there is no success.",
    );
    tour.flip_a_byte_of("observe-events")?;
    let workspace = tour.workspace()?;
    let session = tour.cmd_in(&workspace, &SESSION)?;
    session
        .says("mod not loaded [E_HASH_MISMATCH] from file:observe-events")?
        .says("shell_command was blocked: Blocked by block-dangerous-commands")?
        .exits(1)?;
    tour.check(!session.text.contains("calls blocked"), "the damaged mod did not run, the others did")
}
