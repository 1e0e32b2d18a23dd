//! A real git server on loopback, which the program takes for GitHub.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use tempfile::TempDir;

use super::{run::Program, session::Folders, verdaccio::free_port};

/// A running server. It ends when this is dropped.
pub(crate) struct GitServer {
    process: Child,
    port: u16,
    dir: TempDir,
}

impl GitServer {
    pub(crate) fn start() -> Self {
        let dir = TempDir::new().unwrap();
        let served = dir.path().join("served");
        fs::create_dir(&served).unwrap();
        let port = free_port();
        let mut process = Command::new("git")
            .args(["daemon", "--verbose", "--export-all", "--reuseaddr", "--listen=127.0.0.1"])
            .arg(format!("--port={port}"))
            .arg(format!("--base-path={}", served.display()))
            .arg(&served)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("Ready to rumble")), "git daemon did not start");
        thread::spawn(move || lines.for_each(drop));
        Self { process, port, dir }
    }

    /// Commits what `write` puts into the work tree of `owner/name`, and gives the commit.
    pub(crate) fn commit(&self, repository: &str, write: impl FnOnce(&Path)) -> String {
        let tree = self.tree(repository);
        if !tree.exists() {
            fs::create_dir_all(&tree).unwrap();
            self.git(repository, &["init", "-q", "-b", "main"]);
            let served = self.dir.path().join("served").join(repository);
            fs::create_dir_all(served.parent().unwrap()).unwrap();
            // What is served is the work tree's own repository, so that a commit is there at once.
            std::os::unix::fs::symlink(tree.join(".git"), served).unwrap();
        }
        write(&tree);
        self.git(repository, &["add", "-A"]);
        self.git(repository, &["commit", "-q", "-m", "a commit"]);
        self.git(repository, &["rev-parse", "HEAD"])
    }

    /// Runs git in the work tree of a repository.
    pub(crate) fn git(&self, repository: &str, args: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgSign=false"])
            .args(args)
            .current_dir(self.tree(repository))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The program, which reaches this server under GitHub's name.
    pub(crate) fn cmd(&self, folders: &Folders, args: &[&str]) -> Program {
        folders
            .cmd(args)
            .env("GIT_ALLOW_PROTOCOL", "git")
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", format!("url.git://127.0.0.1:{}/.insteadOf", self.port))
            .env("GIT_CONFIG_VALUE_0", "https://github.com/")
    }

    fn tree(&self, repository: &str) -> PathBuf {
        self.dir.path().join("trees").join(repository)
    }
}

impl Drop for GitServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
