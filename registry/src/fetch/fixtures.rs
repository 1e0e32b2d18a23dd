//! A registry and repositories on this machine, for the real `npm` and `git`.

use super::FetchOptions;
use crate::{fixtures::Mod, hash::integrity_sha512};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex},
    thread,
};

type Published = Arc<Mutex<BTreeMap<String, BTreeMap<String, Vec<u8>>>>>;

/// An npm registry that answers what `npm pack` asks: a package's versions, and their archives.
pub(crate) struct Registry {
    published: Published,
    asked: Arc<Mutex<usize>>,
    pub(crate) url: String,
    home: tempfile::TempDir,
}

impl Registry {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let published = Published::default();
        let asked = Arc::new(Mutex::new(0));
        let (known, count, own) = (published.clone(), asked.clone(), url.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                *count.lock().unwrap() += 1;
                answer(stream, &known, &own);
            }
        });
        Self { published, asked, url, home: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn publish(&self, name: &str, version: &str, archive: Vec<u8>) {
        self.published
            .lock()
            .unwrap()
            .entry(name.to_owned())
            .or_default()
            .insert(version.to_owned(), archive);
    }

    /// Packs a mod under a package name and publishes it.
    pub(crate) fn publish_mod(&self, name: &str, packed: &Mod) {
        let dir = tempfile::tempdir().unwrap();
        let mut input = packed.input(dir.path(), &packed.library());
        input.package = Some(name.to_owned());
        self.publish(name, packed.version, fs::read(crate::pack(&input).unwrap()).unwrap());
    }

    pub(crate) fn asked(&self) -> usize {
        *self.asked.lock().unwrap()
    }

    /// npm with this registry, and nothing of this machine's user.
    pub(crate) fn options(&self) -> FetchOptions {
        let rc = self.home.path().join("npmrc");
        fs::write(&rc, format!("registry={}\nfetch-retries=0\nupdate-notifier=false\n", self.url)).unwrap();
        let env = [("NPM_CONFIG_USERCONFIG", rc), ("NPM_CONFIG_CACHE", self.home.path().join("cache"))];
        FetchOptions {
            env: env.map(|(name, value)| (name.into(), value.into())).into(),
            ..FetchOptions::default()
        }
    }
}

fn answer(stream: TcpStream, published: &Published, url: &str) {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request).unwrap_or_default();
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|count| count > 2) {
        line.clear();
    }
    let path = request.split(' ').nth(1).unwrap_or("/").trim_start_matches('/');
    let path = path.replace("%2f", "/").replace("%2F", "/").replace("%40", "@");
    let (kind, body) = match response(&path, published, url) {
        Some(found) => found,
        None => {
            let _ = reader
                .get_mut()
                .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
            return;
        }
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = reader.get_mut().write_all(head.as_bytes()).and_then(|()| reader.get_mut().write_all(&body));
}

fn response(path: &str, published: &Published, url: &str) -> Option<(&'static str, Vec<u8>)> {
    let published = published.lock().unwrap();
    if let Some((name, file)) = path.split_once("/-/") {
        let mut archive = published.get(name)?.get(file.strip_suffix(".tgz")?)?.clone();
        if name.contains("corrupt") {
            *archive.last_mut()? ^= 1;
        }
        return Some(("application/octet-stream", archive));
    }
    let versions = published.get(path)?;
    let documents: serde_json::Map<String, serde_json::Value> = versions
        .iter()
        .map(|(version, archive)| {
            let dist = serde_json::json!({"tarball": format!("{url}{path}/-/{version}.tgz"), "integrity": integrity_sha512(archive)});
            (version.clone(), serde_json::json!({"name": path, "version": version, "dist": dist}))
        })
        .collect();
    let latest = versions.keys().last()?;
    let document = serde_json::json!({"name": path, "dist-tags": {"latest": latest}, "versions": documents});
    Some(("application/json", serde_json::to_vec(&document).unwrap()))
}

/// A repository that `https://github.com/owner/repo` leads to.
pub(crate) struct Repository {
    dir: tempfile::TempDir,
}

impl Repository {
    pub(crate) fn new() -> Self {
        let repository = Self { dir: tempfile::tempdir().unwrap() };
        fs::create_dir_all(repository.work()).unwrap();
        let config = format!(
            "[url \"file://{}/\"]\n\tinsteadOf = https://github.com/\n[user]\n\tname = a\n\temail = a@example.com\n[init]\n\tdefaultBranch = main\n",
            repository.dir.path().join("srv").display()
        );
        fs::write(repository.config(), config).unwrap();
        repository.git(&["init", "-q"]);
        repository
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("srv/owner/repo")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.dir.path().join("gitconfig")
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(self.work())
            .args(["-c", "core.hooksPath=/dev/null"])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", self.config())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn write(&self, path: &str, content: &[u8]) {
        let path = self.work().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Commits everything, and gives the commit.
    pub(crate) fn commit(&self) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Commits a mod.
    pub(crate) fn commit_mod(&self, packed: &Mod) -> String {
        let dir = tempfile::tempdir().unwrap();
        let archive = fs::read(packed.pack(dir.path())).unwrap();
        let root = dir.path().join("package");
        let files = crate::archive::unpack(&archive, &root).unwrap();
        for path in files.keys() {
            self.write(path, &fs::read(root.join(path)).unwrap());
        }
        self.commit()
    }

    pub(crate) fn options(&self) -> FetchOptions {
        let env: Vec<(OsString, OsString)> = vec![
            ("GIT_CONFIG_GLOBAL".into(), self.config().into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ];
        FetchOptions { git_protocols: "https:file".to_owned(), env, ..FetchOptions::default() }
    }
}

/// Whether a program is there; a test that needs it says so when it is not.
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}
