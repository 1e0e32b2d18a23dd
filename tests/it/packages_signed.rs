//! Who packages are from, as the program asks and tells: signatures and their keys, the question before the first
//! installation, and what is refused until the user says otherwise.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use minisign::KeyPair;
use serde_json::{Value, json};

use crate::support::{
    git_server::GitServer,
    packages::{archive, mod_folder_at, mods, states, versioned},
    run::{Program, Ran, says},
    session::Folders,
};

const ID: &str = "git:github.com/owner/repo";

/// A key of minisign: the file, and its public half.
struct Key {
    path: PathBuf,
    public: String,
}

impl Key {
    fn new(folders: &Folders, name: &str, password: Option<&str>) -> Self {
        let pair = match password {
            Some(password) => KeyPair::generate_encrypted_keypair(Some(password.to_owned())),
            None => KeyPair::generate_unencrypted_keypair(),
        };
        let (pair, path) = (pair.unwrap(), folders.dir().join(name));
        fs::write(&path, pair.sk.to_box(None).unwrap().into_string()).unwrap();
        Self { path, public: pair.pk.to_base64() }
    }

    /// Packs a version of `numbered-001`, signed.
    fn pack(&self, folders: &Folders, version: &str) -> PathBuf {
        let ran = self.packing(folders, version).run();
        let expected = format!("\nsigned by {}\n", self.public);
        assert!(ran.code() == 0 && ran.stdout.ends_with(&expected), "{ran:?}");
        folders.dir().join(format!("numbered-001-{version}.tgz"))
    }

    fn packing(&self, folders: &Folders, version: &str) -> Program {
        let library = versioned(1, version).write(&folders.dir().join("library.so"));
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mods/numbered");
        let args = ["mods", "pack", source, "--library", library.to_str().unwrap(), "--out"];
        let args =
            [&args[..], &[folders.dir().to_str().unwrap(), "--sign-with", self.path.to_str().unwrap()]];
        folders.cmd(&args.concat()).with_cargo()
    }
}

fn add(folders: &Folders, archive: &Path) -> Ran {
    folders.cmd(&["mods", "add", "-g", archive.to_str().unwrap()]).run()
}

/// Ends with a code of an error, which is all that counts here.
#[track_caller]
fn refused(ran: &Ran, code: &str) {
    let text = if ran.stderr.is_empty() { &ran.stdout } else { &ran.stderr };
    assert!(ran.code() == 1 && text.ends_with(&format!("[{code}]\n")), "{ran:?}");
}

#[test]
fn a_key_that_changed_is_refused_until_it_is_trusted() {
    let folders = Folders::new();
    let [ours, other] = ["ours", "other"].map(|name| Key::new(&folders, name, None));
    assert_eq!(add(&folders, &ours.pack(&folders, "0.3.7")).code(), 0);
    let verified = |key: &Key| {
        format!(
            "file:numbered-001  numbered-001  user  ok, signed by {}, seen first with this package\n",
            key.public
        )
    };
    assert_eq!(mods(&folders, &["verify"]).stdout, verified(&ours));
    let second = other.pack(&folders, "0.3.8");
    let told = format!(
        "error: file:numbered-001 was signed by another key before, ask its author why, then run cmd mods trust \
         file:numbered-001, expected {}, got: {} [E_SIGNER_CHANGED]\n",
        ours.public, other.public
    );
    assert_eq!(add(&folders, &second).told(), (1, "", &*told));
    refused(&add(&folders, &archive(folders.dir(), 1, "0.3.9", None)), "E_SIGNER_CHANGED");
    assert_eq!(mods(&folders, &["verify"]).stdout, verified(&ours), "what is there stays");
    let told =
        "file:numbered-001  user  the key of its next archive is trusted, add that with cmd mods add\n";
    assert_eq!(mods(&folders, &["trust", "file:numbered-001"]).stdout, told);
    assert_eq!(add(&folders, &other.pack(&folders, "0.3.8")).code(), 0);
    assert_eq!(mods(&folders, &["verify"]).stdout, verified(&other));
    refused(&add(&folders, &ours.pack(&folders, "0.3.8")), "E_SIGNER_CHANGED");
}

#[test]
fn what_must_be_signed_must_be_signed_by_a_key_that_the_user_named() {
    let folders = Folders::new();
    let [ours, other] = ["ours", "other"].map(|name| Key::new(&folders, name, None));
    let signing = json!({ "mode": "require", "keys": { "file:*": [ours.public] } });
    folders.settings(&json!({ "mods": { "signing": signing } }));
    refused(&add(&folders, &archive(folders.dir(), 1, "0.3.7", None)), "E_UNSIGNED");
    refused(&add(&folders, &other.pack(&folders, "0.3.7")), "E_SIGNATURE");
    assert_eq!(add(&folders, &ours.pack(&folders, "0.3.7")).code(), 0);
    let verified = format!(
        "file:numbered-001  numbered-001  user  ok, signed by {}, named in the settings\n",
        ours.public
    );
    assert_eq!(mods(&folders, &["verify"]).stdout, verified);
}

#[test]
fn a_key_with_a_password_takes_it_from_the_environment_or_says_so() {
    let folders = Folders::new();
    let key = Key::new(&folders, "key", Some("secret"));
    let ran = key.packing(&folders, "0.3.7").run();
    let told = "error: the secret key has a password and nobody is here to be asked, set COMMANDCODE_SIGN_PASSWORD: \
                DIR/key\n";
    assert_eq!(ran.told(), (2, "", told));
    let ran = key.packing(&folders, "0.3.7").env("COMMANDCODE_SIGN_PASSWORD", "wrong").run();
    assert!(ran.code() == 1 && ran.stderr.contains("Wrong password"), "{ran:?}");
    let ran = key.packing(&folders, "0.3.7").env("COMMANDCODE_SIGN_PASSWORD", "secret").run();
    assert_eq!(ran.code(), 0, "{ran:?}");
}

#[test]
fn the_key_of_a_repository_is_followed_by_its_update_once_it_is_trusted() {
    let (server, folders) = (GitServer::start(), Folders::new());
    let cmd = |args: &[&str]| server.cmd(&folders, &[&["mods"], args].concat()).run();
    let publish = |key: &Key, version: &str| {
        let archive = key.pack(&folders, version);
        server.commit("owner/repo", |tree| {
            let mut tar = Command::new("tar");
            // Touched: in an archive all times are the same, so git would take a file of the same
            // size, written in the same second, for unchanged.
            tar.args(["--overwrite", "--touch", "--strip-components=1", "-xzf"]);
            tar.arg(&archive).arg("-C").arg(tree);
            assert!(tar.status().unwrap().success());
        });
    };
    let [ours, other] = ["ours", "other"].map(|name| Key::new(&folders, name, None));
    publish(&ours, "0.3.7");
    assert_eq!(cmd(&["add", "-g", "-y", "owner/repo"]).code(), 0);
    publish(&other, "0.3.8");
    refused(&cmd(&["update", "--latest"]), "E_SIGNER_CHANGED");
    assert_eq!(folders.play(&says("hi"), &[]).run().told(), (0, "hi\n", ""), "what is there loads");
    let ran = cmd(&["trust", ID]);
    assert!(ran.code() == 0 && ran.stdout.contains(" -> 0.3.8 ("), "{ran:?}");
    assert!(cmd(&["verify"]).stdout.contains(&other.public));
}

/// Runs a program at a terminal, with this typed into it.
fn at_a_terminal(program: Program, typed: &str) -> Ran {
    // No word of the command has a space in it.
    let script = ["-c", "exec script -qefc \"stty -echo; exec $*\" /dev/null", "sh"];
    program.wrapped("sh", &script).env("TERM", "xterm").input(typed).run()
}

#[test]
fn threat_9_at_a_terminal_the_user_is_asked_and_only_a_yes_installs() {
    if Command::new("script").arg("-V").output().is_err() {
        eprintln!("skipped, because there is no script");
        return;
    }
    let (server, folders) = (GitServer::start(), Folders::new());
    let commit = server.commit("owner/repo", |tree| mod_folder_at(tree, 1, "0.3.7"));
    let add = || server.cmd(&folders, &["mods", "add", "-g", "owner/repo"]);
    let asked = [
        "git:github.com/owner/repo 0.3.7".to_owned(),
        format!("  commit     {commit}"),
        "  signed by  nobody".to_owned(),
        format!("  mod        numbered-001 0.3.7 for {}", mod_interface::abi::TARGET),
        "A mod is code that runs with all of your rights.".to_owned(),
    ];
    let no = at_a_terminal(add(), "n\n");
    let plain = anstream::adapter::strip_str(&no.stdout).to_string().replace("\r\n", "\n");
    assert!(plain.contains(&format!("{}\nInstall it? [y/N] ", asked.join("\n"))), "{plain}");
    assert!(no.code() == 1 && plain.ends_with("nothing was changed: you said no [E_DECLINED]\n"), "{plain}");
    // How far it is stands on a line that is written over, on a terminal alone.
    assert!(no.stdout.contains("fetching"), "{}", no.stdout);
    assert!(!folders.home().join("mods.lock").exists());
    let yes = at_a_terminal(add(), "y\n");
    assert!(yes.code() == 0 && yes.stdout.contains(&format!("installed {ID} 0.3.7 for the user")), "{yes:?}");
    assert_eq!(states(&folders), ["numbered-001 user found"]);
}

#[test]
fn without_the_network_what_is_here_stays_and_what_is_not_is_told() {
    let (server, folders) = (GitServer::start(), Folders::new());
    let cmd = |args: &[&str]| server.cmd(&folders, &[&["mods"], args].concat());
    server.commit("owner/repo", |tree| mod_folder_at(tree, 1, "0.3.7"));
    refused(&cmd(&["add", "-g", "-y", "--offline", "owner/repo"]).run(), "E_OFFLINE");
    refused(&cmd(&["add", "-g", "-y", "owner/repo"]).env("COMMANDCODE_OFFLINE", "1").run(), "E_OFFLINE");
    assert_eq!(cmd(&["add", "-g", "-y", "owner/repo"]).run().code(), 0);
    let unchanged = format!("{ID}  user  unchanged\n");
    assert_eq!(cmd(&["update", "--offline"]).run().told(), (0, &*unchanged, ""));
    refused(&cmd(&["update", "--offline", "--latest"]).run(), "E_OFFLINE");
    assert_eq!(states(&folders), ["numbered-001 user found"]);
}

#[test]
fn threat_6_an_older_version_is_refused_until_it_is_allowed() {
    let (server, folders) = (GitServer::start(), Folders::new());
    let cmd = |args: &[&str]| server.cmd(&folders, &[&["mods"], args].concat()).run();
    server.commit("owner/repo", |tree| mod_folder_at(tree, 1, "0.3.8"));
    assert_eq!(cmd(&["add", "-g", "-y", "owner/repo@main"]).code(), 0);
    server.commit("owner/repo", |tree| mod_folder_at(tree, 1, "0.3.7"));
    refused(&cmd(&["update", "--latest"]), "E_DOWNGRADE");
    let version = || -> Value {
        let list = crate::support::packages::list(&folders);
        list["mods"][0]["version"].clone()
    };
    assert_eq!(version(), "0.3.8");
    let ran = cmd(&["update", "--latest", "--allow-downgrade"]);
    assert!(
        ran.code() == 0 && ran.stdout.contains("  0.3.8 (") && ran.stdout.contains(" -> 0.3.7 ("),
        "{ran:?}"
    );
    assert_eq!(version(), "0.3.7");
}
