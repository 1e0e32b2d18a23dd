//! A real npm registry on loopback: the npm package `verdaccio`.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use tempfile::TempDir;

use super::{npm, run::Program, session::Folders};

const START_LIMIT: Duration = Duration::from_secs(60);

const CONFIG: &str = "\
storage: ./storage
uplinks: {}
packages:
  '**': {access: $all, publish: $all, unpublish: $all}
web: {enable: false}
log: {type: stdout, format: json, level: info}
";

/// A running registry with nothing in it. It ends when this is dropped.
pub(crate) struct Verdaccio {
    process: Child,
    url: String,
    dir: TempDir,
}

impl Verdaccio {
    /// Starts a registry. `None` where there is no npm; the test `name` is then said to be skipped.
    pub(crate) fn start(name: &str) -> Option<Self> {
        let Some(modules) = npm::install("verdaccio") else { return npm::skip(name) };
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("config.yaml"), CONFIG).unwrap();
        let port = free_port();
        let url = format!("http://127.0.0.1:{port}/");
        // Any token will do.
        let settings = format!("registry={url}\n//127.0.0.1:{port}/:_authToken=any\n");
        fs::write(dir.path().join("npmrc"), settings).unwrap();
        let mut process = Command::new("node")
            .arg(modules.join("verdaccio/bin/verdaccio"))
            .args(["--config", "config.yaml", "--listen", &format!("127.0.0.1:{port}")])
            .current_dir(dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, listening) = mpsc::channel();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        // What it prints later is read and dropped.
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok).filter(|line| line.contains("http address")) {
                let _ = sender.send(line);
            }
        });
        let registry = Self { process, url, dir };
        assert!(
            listening.recv_timeout(START_LIMIT).is_ok(),
            "verdaccio did not start within {START_LIMIT:?}"
        );
        Some(registry)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Publishes an archive or a folder.
    pub(crate) fn publish(&self, package: &Path) {
        let output = Command::new("npm")
            .args(["publish", "--ignore-scripts"])
            .arg(package)
            .current_dir(self.dir.path())
            .envs(self.variables())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// The program, with this registry as the user's.
    pub(crate) fn cmd(&self, folders: &Folders, args: &[&str]) -> Program {
        let variables = self.variables().into_iter();
        variables.fold(folders.cmd(args), |program, (name, value)| program.env(name, value))
    }

    /// The archive of a published version.
    pub(crate) fn stored(&self, package: &str, version: &str) -> PathBuf {
        let last = package.rsplit('/').next().unwrap();
        self.dir.path().join("storage").join(package).join(format!("{last}-{version}.tgz"))
    }

    fn variables(&self) -> [(&'static str, PathBuf); 2] {
        let path = |name| self.dir.path().join(name);
        [("NPM_CONFIG_USERCONFIG", path("npmrc")), ("NPM_CONFIG_CACHE", path("cache"))]
    }
}

impl Drop for Verdaccio {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that nobody listens on.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
