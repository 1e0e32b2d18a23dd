use super::{add, at_version, code, mods};
use crate::{
    fetch::{FetchOptions, fixtures::Repository},
    fixtures::Mod,
    lock::{Lock, RefKind},
};
use std::fs;

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

#[cfg(unix)]
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

#[test]
fn threat_11_a_repository_that_unpacks_to_very_much_is_refused_before_anything_is_written() {
    let (repository, scope) = (Repository::new(), tempfile::tempdir().unwrap());
    repository.commit_mod(&Mod::default());
    // One file of zeros under many names: small to fetch.
    fs::File::create(repository.work().join("0")).unwrap().set_len(33 << 20).unwrap();
    let blob = repository.git(&["hash-object", "-w", "0"]);
    for name in 1..9 {
        repository.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{name}")]);
    }
    repository.git(&["commit", "-q", "-m", "x"]);
    assert_eq!(code(add(scope.path(), "owner/repo", &repository.options())), "E_TOO_BIG");
    assert_eq!(mods(scope.path()), Vec::<String>::new());
}
