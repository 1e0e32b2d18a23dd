//! Runs the commands of the tour and tells of them.

use std::{
    cell::Cell,
    env, fs,
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Why the tour cannot go on.
pub(crate) struct Failure(pub(crate) String);

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Where the tour takes place.
pub(crate) struct Tour {
    /// The folder of everything that it makes.
    pub(crate) dir: PathBuf,
    /// The folder of the workspace's Cargo.toml.
    root: PathBuf,
    /// Where cargo puts programs and libraries: this program is one of them.
    built: PathBuf,
    steps: Cell<usize>,
    colour: bool,
}

/// What a command printed, on both streams, and how it ended.
pub(crate) struct Told {
    pub(crate) text: String,
    code: Option<i32>,
}

impl Tour {
    /// Clears away what an earlier tour left.
    pub(crate) fn begin() -> Result<Self, Failure> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let built = env::current_exe()?.with_file_name("");
        let dir = built.with_file_name("quickstart");
        remove(&dir)?;
        fs::create_dir_all(dir.join("home"))?;
        let colour = io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
        Ok(Self { dir, root, built, steps: Cell::new(0), colour })
    }

    /// Tells what comes next, and why.
    pub(crate) fn step(&self, title: &str, why: &str) {
        self.steps.update(|steps| steps + 1);
        println!("\n{}", self.paint("1", &format!("{}. {title}", self.steps.get())));
        for line in wrap(why, 97) {
            println!("   {line}");
        }
    }

    /// Tells that something is as it should be, or fails.
    pub(crate) fn check(&self, holds: bool, what: &str) -> Result<(), Failure> {
        if !holds {
            return Err(Failure(format!("this does not hold: {what}")));
        }
        println!("   {} {what}", self.paint("32", "✓"));
        Ok(())
    }

    /// Runs cargo, which tells itself how far it is.
    pub(crate) fn cargo(&self, args: &[&str]) -> Result<(), Failure> {
        self.tell_command("cargo", args);
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let profile = if cfg!(debug_assertions) { &[][..] } else { &["--release"] };
        let status = cargo.args(args).args(profile).current_dir(&self.root).status()?;
        if status.success() { Ok(()) } else { Err(Failure(format!("cargo ended with {status}"))) }
    }

    /// Runs `cmd` in the folder of the sources.
    pub(crate) fn cmd(&self, args: &[&str]) -> Result<Told, Failure> {
        self.cmd_in(&self.root, args)
    }

    /// Runs `cmd` in `folder`, and repeats what it prints.
    pub(crate) fn cmd_in(&self, folder: &Path, args: &[&str]) -> Result<Told, Failure> {
        self.tell_command("cmd", args);
        let (mut reader, writer) = io::pipe()?;
        let mut cmd = Command::new(self.cmd_file());
        cmd.args(args).current_dir(folder).env("COMMANDCODE_HOME", self.dir.join("home"));
        cmd.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let mut child = cmd.spawn()?;
        // Its writing ends must go, or the pipe never comes to its end.
        drop(cmd);
        let mut text = String::new();
        reader.read_to_string(&mut text)?;
        let code = child.wait()?.code();
        text.lines().for_each(|line| println!("     {}", self.paint("2", line)));
        Ok(Told { text, code })
    }

    fn cmd_file(&self) -> PathBuf {
        self.built.join(format!("cmd{}", env::consts::EXE_SUFFIX))
    }

    fn tell_command(&self, program: &str, args: &[&str]) {
        let quoted =
            |arg: &&str| if arg.contains([' ', '(', '*']) { format!("\"{arg}\"") } else { (*arg).to_owned() };
        let args: Vec<_> = args.iter().map(quoted).collect();
        println!("   {}", self.paint("36", &format!("$ {program} {}", args.join(" "))));
    }

    /// A path in the folder of the tour, seen from the sources.
    pub(crate) fn path(&self, name: &str) -> String {
        self.shown(&self.dir.join(name))
    }

    /// The program, seen from the sources.
    pub(crate) fn program(&self) -> String {
        self.shown(&self.cmd_file())
    }

    /// The library of a mod, seen from the sources.
    pub(crate) fn library(&self, name: &str) -> String {
        self.shown(&self.built.join(library(name)))
    }

    /// A path as it is shown and typed: seen from the sources where it lies below them.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }

    /// A small project to work in, made anew.
    pub(crate) fn workspace(&self) -> Result<PathBuf, Failure> {
        let workspace = self.dir.join("workspace");
        remove(&workspace)?;
        fs::create_dir_all(workspace.join("src"))?;
        fs::create_dir_all(workspace.join("build"))?;
        let source = "// TODO: greet by name\nfn main() {\n    println!(\"hello\"); // TODO: translate\n}\n";
        fs::write(workspace.join("src/main.rs"), source)?;
        fs::write(workspace.join("build/output.txt"), "something that took long to make\n")?;
        fs::copy(self.root.join("examples/quickstart/scenario.json"), workspace.join("scenario.json"))?;
        println!("   {}", self.paint("36", &format!("$ cd {}", self.shown(&workspace))));
        Ok(workspace)
    }

    /// Changes the last byte of a mod's installed library.
    pub(crate) fn flip_a_byte_of(&self, name: &str) -> Result<(), Failure> {
        let file = library(name);
        let found = find(&self.dir.join("home/mods/.registry/store"), &file)?;
        let path = found.ok_or_else(|| Failure(format!("the store has no {file}")))?;
        println!("   One bit of the last byte of {}", self.shown(&path));
        make_writable(&path)?;
        let mut bytes = fs::read(&path)?;
        bytes.last_mut().into_iter().for_each(|byte| *byte ^= 1);
        Ok(fs::write(&path, bytes)?)
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

impl Told {
    /// Fails unless it said `text`.
    pub(crate) fn says(&self, text: &str) -> Result<&Self, Failure> {
        if self.text.contains(text) { Ok(self) } else { Err(Failure(format!("expected it to say: {text}"))) }
    }

    /// Fails unless it ended with this exit code.
    pub(crate) fn exits(&self, code: i32) -> Result<(), Failure> {
        if self.code == Some(code) {
            return Ok(());
        }
        Err(Failure(format!("expected the exit code {code}, got: {:?}", self.code)))
    }
}

/// The file name of a mod's library.
fn library(name: &str) -> String {
    format!("{}{}{}", env::consts::DLL_PREFIX, name.replace('-', "_"), env::consts::DLL_SUFFIX)
}

fn find(folder: &Path, name: &str) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let found = if path.is_dir() { find(&path, name)? } else { path.ends_with(name).then_some(path) };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Removes a folder, if it is there. What is in the store is read-only.
fn remove(folder: &Path) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        make_writable(&folder)?;
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    fs::remove_dir_all(folder)
}

fn make_writable(path: &Path) -> io::Result<()> {
    let mut permissions = fs::metadata(path)?.permissions();
    #[cfg(unix)]
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o700);
    #[cfg(not(unix))]
    permissions.set_readonly(false);
    fs::set_permissions(path, permissions)
}

/// Breaks a text into lines of at most `width` characters.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
