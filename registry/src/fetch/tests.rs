use super::{
    FetchOptions,
    fixtures::{Registry, Repository, has},
};
use crate::{
    Error, Installed, Installer, State,
    fixtures::{Mod, host},
    installed,
    lock::{Lock, RefKind},
};
use std::{fs, path::Path, time::Duration};

fn add(scope: &Path, text: &str, options: &FetchOptions) -> Result<Installed, Error> {
    Installer::new(scope, &host()).fetching(options.clone()).add(text)
}

fn code(result: Result<Installed, Error>) -> &'static str {
    result.map_or_else(|error| error.code(), |_| "ok")
}

fn mods(scope: &Path) -> Vec<String> {
    let said = |state| match state {
        State::Ok(found) => format!("{} {}", found.name, found.version),
        State::Problem(error) => error.code().to_owned(),
    };
    installed(scope, &host()).into_iter().map(|candidate| said(candidate.state)).collect()
}

fn at_version(version: &'static str) -> Mod {
    Mod { version, ..Mod::default() }
}

#[test]
fn a_package_of_npm_is_installed_and_locked() {
    if !has("npm") {
        return;
    }
    let (registry, scope) = (Registry::start(), tempfile::tempdir().unwrap());
    registry.publish_mod("@team/review-mod", &at_version("1.2.0"));
    registry.publish_mod("@team/review-mod", &at_version("1.3.0"));
    registry.publish_mod("@team/review-mod", &at_version("2.0.0"));
    let done = add(scope.path(), "npm:@team/review-mod@^1.2", &registry.options()).unwrap();
    assert_eq!((done.id.as_str(), done.resolved.as_deref()), ("npm:@team/review-mod", Some("1.3.0")));
    assert_eq!(mods(scope.path()), ["review-guard 1.3.0"]);
    let lock = Lock::read(scope.path()).unwrap();
    let entry = lock.get("npm:@team/review-mod").unwrap();
    assert_eq!(entry.source, "npm:@team/review-mod@^1.2");
    assert_eq!(entry.registry.as_deref(), Some(registry.url.as_str()));
    assert_eq!(entry.highest.as_deref(), Some("1.3.0"));
    assert!(entry.integrity.as_deref().is_some_and(|text| text.starts_with("sha512-")));
    let asked = registry.asked();
    mods(scope.path());
    assert_eq!(registry.asked(), asked, "a start asked the registry");
}

#[test]
fn threat_16_no_script_of_a_package_is_run() {
    if !has("npm") {
        return;
    }
    let (registry, dir) = (Registry::start(), tempfile::tempdir().unwrap());
    let marker = dir.path().join("PWNED");
    let names = ["preinstall", "install", "postinstall", "prepack", "prepare", "postpack", "prepublish"];
    let scripts: serde_json::Map<_, _> =
        names.iter().map(|name| ((*name).to_owned(), format!("touch {}", marker.display()).into())).collect();
    let json = serde_json::json!({"name": "scripted", "version": "1.0.0", "scripts": scripts});
    let packed = Mod::default().pack(dir.path());
    let root = dir.path().join("out");
    let mut files: std::collections::BTreeMap<String, Vec<u8>> =
        crate::archive::unpack(&fs::read(packed).unwrap(), &root)
            .unwrap()
            .into_keys()
            .map(|path| (path.clone(), fs::read(root.join(path)).unwrap()))
            .collect();
    files.insert("package.json".to_owned(), serde_json::to_vec(&json).unwrap());
    registry.publish("scripted", "1.0.0", crate::archive::pack(&files).unwrap());
    assert_eq!(code(add(&dir.path().join("scope"), "scripted", &registry.options())), "ok");
    assert!(!marker.exists());
}

#[test]
fn threat_8_the_settings_of_a_project_do_not_choose_the_registry() {
    if !has("npm") {
        return;
    }
    let (registry, project) = (Registry::start(), tempfile::tempdir().unwrap());
    registry.publish_mod("review-mod", &at_version("1.2.0"));
    fs::write(project.path().join(".npmrc"), "registry=http://127.0.0.1:9/\n").unwrap();
    fs::write(project.path().join("package.json"), "{}").unwrap();
    let scope = project.path().join(".commandcode");
    assert_eq!(code(add(&scope, "npm:review-mod", &registry.options())), "ok");
    let elsewhere = Registry::start();
    elsewhere.publish_mod("review-mod", &at_version("1.3.0"));
    assert_eq!(code(add(&scope, "npm:review-mod", &elsewhere.options())), "E_REGISTRY_CHANGED");
    assert_eq!(mods(&scope), ["review-guard 1.2.0"]);
}

#[test]
fn what_npm_cannot_get_has_a_code_of_its_own() {
    if !has("npm") {
        return;
    }
    let (registry, scope) = (Registry::start(), tempfile::tempdir().unwrap());
    let options = registry.options();
    registry.publish_mod("corrupt-mod", &at_version("1.0.0"));
    registry.publish_mod("good-mod", &at_version("1.0.0"));
    assert_eq!(code(add(scope.path(), "npm:none", &options)), "E_FETCH");
    assert_eq!(code(add(scope.path(), "npm:good-mod@9", &options)), "E_FETCH");
    assert_eq!(code(add(scope.path(), "npm:corrupt-mod", &options)), "E_INTEGRITY");
    let slow = FetchOptions { timeout: Duration::ZERO, ..options.clone() };
    assert_eq!(code(add(scope.path(), "npm:good-mod", &slow)), "E_TIMEOUT");
    let none = FetchOptions { env: vec![("PATH".into(), "/nowhere".into())], ..options };
    assert_eq!(code(add(scope.path(), "npm:good-mod", &none)), "E_NPM_MISSING");
    assert_eq!(code(add(scope.path(), "owner/repo", &none)), "E_GIT_MISSING");
    assert!(!Lock::path(scope.path()).exists());
}

#[test]
fn conformance_11_offline_takes_what_is_cached_and_asks_nobody() {
    if !has("npm") {
        return;
    }
    let (registry, scope) = (Registry::start(), tempfile::tempdir().unwrap());
    registry.publish_mod("review-mod", &at_version("1.2.0"));
    let offline = FetchOptions { offline: true, ..registry.options() };
    assert_eq!(code(add(scope.path(), "npm:review-mod", &offline)), "E_OFFLINE");
    assert_eq!(code(add(scope.path(), "owner/repo", &offline)), "E_OFFLINE");
    assert_eq!(registry.asked(), 0);
    add(scope.path(), "npm:review-mod", &registry.options()).unwrap();
    let asked = registry.asked();
    let other = tempfile::tempdir().unwrap();
    assert_eq!(code(add(other.path(), "npm:review-mod", &offline)), "ok");
    assert_eq!(registry.asked(), asked);
}

#[test]
fn a_repository_is_installed_at_its_tag_branch_commit_or_head() {
    let (repository, scope) = (Repository::new(), tempfile::tempdir().unwrap());
    let first = repository.commit_mod(&at_version("1.0.0"));
    repository.git(&["tag", "light"]);
    repository.git(&["tag", "-a", "v1", "-m", "x"]);
    let second = repository.commit_mod(&at_version("1.1.0"));
    repository.git(&["branch", "feature/x"]);
    let third = repository.commit_mod(&at_version("1.2.0"));
    let options = repository.options();
    let installed = |text: &str| {
        let done = add(scope.path(), text, &options).unwrap();
        let entry = Lock::read(scope.path()).unwrap().get("git:github.com/owner/repo").unwrap().clone();
        (done.resolved.unwrap(), entry.ref_kind.unwrap(), entry.commit.unwrap())
    };
    assert_eq!(installed("owner/repo@v1"), ("1.0.0".to_owned(), RefKind::Tag, first.clone()));
    assert_eq!(installed("owner/repo@light"), ("1.0.0".to_owned(), RefKind::Tag, first));
    assert_eq!(
        installed("https://github.com/owner/repo@feature/x"),
        ("1.1.0".to_owned(), RefKind::Branch, second.clone())
    );
    assert_eq!(installed("owner/repo"), ("1.2.0".to_owned(), RefKind::Head, third));
    assert_eq!(
        installed(&format!("git:github.com/owner/repo@{second}")),
        ("1.1.0".to_owned(), RefKind::Commit, second)
    );
    assert_eq!(mods(scope.path()), ["review-guard 1.1.0"]);
    assert_eq!(code(add(scope.path(), "owner/repo@none", &options)), "E_FETCH");
    assert_eq!(code(add(scope.path(), "owner/none", &options)), "E_FETCH");
}

#[test]
fn threat_2_links_and_submodules_of_a_repository_are_refused() {
    let scope = tempfile::tempdir().unwrap();
    let linked = Repository::new();
    linked.commit_mod(&Mod::default());
    std::os::unix::fs::symlink("/etc/passwd", linked.work().join("link")).unwrap();
    linked.commit();
    assert_eq!(code(add(scope.path(), "owner/repo", &linked.options())), "E_ENTRY_TYPE");
    let nested = Repository::new();
    let commit = nested.commit_mod(&Mod::default());
    nested.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},sub")]);
    nested.git(&["commit", "-q", "-m", "x"]);
    assert_eq!(code(add(scope.path(), "owner/repo", &nested.options())), "E_ENTRY_TYPE");
    let named = Repository::new();
    named.commit_mod(&Mod::default());
    named.write("a/NUL.txt", b"");
    named.commit();
    assert_eq!(code(add(scope.path(), "owner/repo", &named.options())), "E_ENTRY_PATH");
    assert_eq!(mods(scope.path()), Vec::<String>::new());
}

#[test]
fn files_come_as_they_were_committed_without_filters() {
    let (repository, scope) = (Repository::new(), tempfile::tempdir().unwrap());
    repository.write(".gitattributes", b"text.txt text eol=crlf ident\n");
    repository.write("text.txt", b"one\n$Id$\n");
    repository.commit_mod(&Mod::default());
    let done = add(scope.path(), "owner/repo", &repository.options()).unwrap();
    let tree = crate::store::Store::at(scope.path()).tree_dir(&done.tree);
    assert_eq!(fs::read(tree.join("text.txt")).unwrap(), b"one\n$Id$\n");
}

#[test]
fn a_file_in_large_file_storage_is_named() {
    let (repository, scope) = (Repository::new(), tempfile::tempdir().unwrap());
    repository.write("bin/a.so", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    repository.commit();
    let error = add(scope.path(), "owner/repo", &repository.options()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "could not fetch git:github.com/owner/repo, look at its name and version and at the network: a file is kept in git-lfs, which is not read, its author must commit it: bin/a.so"
    );
}

#[test]
fn threat_18_hooks_and_templates_of_the_user_are_not_run() {
    let (repository, scope) = (Repository::new(), tempfile::tempdir().unwrap());
    repository.commit_mod(&Mod::default());
    let marker = scope.path().join("PWNED");
    let hooks = scope.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    let script = format!("#!/bin/sh\ntouch {}\n", marker.display());
    for hook in ["reference-transaction", "post-checkout", "post-merge"] {
        fs::write(hooks.join(hook), &script).unwrap();
        crate::disk::set_mode(&hooks.join(hook), 0o755).unwrap();
    }
    let template = scope.path().join("template");
    fs::create_dir(&template).unwrap();
    fs::rename(&hooks, template.join("hooks")).unwrap();
    let config = fs::read_to_string(repository.config()).unwrap();
    let more = format!("[core]\n\thooksPath = {0}/hooks\n[init]\n\ttemplateDir = {0}\n", template.display());
    fs::write(repository.config(), config + &more).unwrap();
    assert_eq!(code(add(&scope.path().join("scope"), "owner/repo", &repository.options())), "ok");
    assert!(!marker.exists());
}

#[test]
fn threat_17_transports_that_run_programs_are_not_used() {
    let (repository, scope) = (Repository::new(), tempfile::tempdir().unwrap());
    let marker = scope.path().join("PWNED");
    let config = format!(
        "[url \"ext::touch {} \"]\n\tinsteadOf = https://github.com/\n[protocol \"ext\"]\n\tallow = always\n",
        marker.display()
    );
    fs::write(repository.config(), config).unwrap();
    assert_eq!(code(add(&scope.path().join("scope"), "owner/repo", &repository.options())), "E_FETCH");
    assert!(!marker.exists());
}

#[test]
fn a_folder_and_an_installed_archive_are_nothing_to_fetch() {
    let scope = tempfile::tempdir().unwrap();
    assert_eq!(code(add(scope.path(), "./mods/x", &FetchOptions::default())), "E_SOURCE");
    assert_eq!(code(add(scope.path(), "file:x", &FetchOptions::default())), "E_NOT_INSTALLED");
}
