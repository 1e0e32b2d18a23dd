use super::*;
use crate::{
    State,
    fetch::{
        FetchOptions,
        fixtures::{Registry, Repository, has},
    },
    fixtures::{Mod, host},
    install::Allowed,
    install_archive, installed,
    store::Store,
};
use std::fs;

const NPM: &str = "npm:@team/review-mod";
const GIT: &str = "git:github.com/owner/repo";

fn at_version(version: &'static str) -> Mod {
    Mod { version, ..Mod::default() }
}

fn run(
    scope: &Path,
    sources: &[&str],
    fetching: &FetchOptions,
    options: &UpdateOptions,
    allowed: Allowed,
) -> Vec<String> {
    let host = host();
    let installer = Installer::new(scope, &host).fetching(fetching.clone()).allow(allowed);
    let said = |updated: Updated| match updated.outcome {
        Outcome::Installed(version) => format!("installed {version}"),
        Outcome::Restored => "restored".to_owned(),
        Outcome::Unchanged => "unchanged".to_owned(),
        Outcome::Changed(from, to) => format!("{from} -> {to}"),
        Outcome::Failed(error) => error.code().to_owned(),
    };
    update(&installer, sources, scope, None, options).into_iter().map(said).collect()
}

fn plain(scope: &Path, source: &str, fetching: &FetchOptions) -> String {
    run(scope, &[source], fetching, &UpdateOptions::default(), Allowed::default()).remove(0)
}

fn latest(scope: &Path, source: &str, fetching: &FetchOptions, allowed: Allowed) -> String {
    let options = UpdateOptions { latest: true, ..UpdateOptions::default() };
    run(scope, &[source], fetching, &options, allowed).remove(0)
}

fn version_of(scope: &Path) -> String {
    match installed(scope, &host()).remove(0).state {
        State::Ok(found) => found.version.to_string(),
        State::Problem(error) => error.code().to_owned(),
    }
}

fn damage(scope: &Path, id: &str) {
    let lock = Lock::read(scope).unwrap();
    let path = Store::at(scope).tree_dir(&lock.get(id).unwrap().tree).join("package.json");
    fs::remove_file(&path).unwrap();
    fs::write(&path, "{}").unwrap();
}

#[test]
fn a_package_of_npm_is_installed_restored_and_moved_only_when_asked() {
    if !has("npm") {
        return;
    }
    let (registry, dir) = (Registry::start(), tempfile::tempdir().unwrap());
    let (scope, options) = (dir.path(), registry.options());
    let source = "npm:@team/review-mod@^1.0";
    registry.publish_mod("@team/review-mod", &at_version("1.0.0"));
    assert_eq!(plain(scope, source, &options), "installed 1.0.0");
    assert_eq!(plain(scope, source, &options), "unchanged");
    registry.publish_mod("@team/review-mod", &at_version("1.1.0"));
    assert_eq!(plain(scope, source, &options), "unchanged");
    crate::disk::remove_tree(Store::at(scope).root()).unwrap();
    assert_eq!(plain(scope, source, &options), "restored");
    assert_eq!(version_of(scope), "1.0.0");
    damage(scope, NPM);
    assert_eq!(plain(scope, source, &options), "restored");
    assert_eq!(latest(scope, source, &options, Allowed::default()), "1.0.0 -> 1.1.0");
    assert_eq!(latest(scope, source, &options, Allowed::default()), "unchanged");
    assert_eq!(latest(scope, "npm:@team/review-mod@1.0.0", &options, Allowed::default()), "1.1.0 -> 1.0.0");
    assert_eq!(version_of(scope), "1.0.0");
}

#[test]
fn threat_7_an_archive_that_was_published_anew_is_refused_and_the_old_one_stays() {
    if !has("npm") {
        return;
    }
    let (registry, dir) = (Registry::start(), tempfile::tempdir().unwrap());
    let scope = dir.path();
    registry.publish_mod("@team/review-mod", &at_version("1.0.0"));
    assert_eq!(plain(scope, NPM, &registry.options()), "installed 1.0.0");
    registry.publish_mod("@team/review-mod", &Mod { name: "other", ..at_version("1.0.0") });
    let fresh = FetchOptions { env: registry.options().env, ..registry.options() };
    fs::remove_dir_all(
        fresh.env.iter().find(|(name, _)| name == "NPM_CONFIG_CACHE").map(|(_, path)| path).unwrap(),
    )
    .unwrap();
    assert_eq!(latest(scope, NPM, &fresh, Allowed::default()), "E_INTEGRITY");
    assert_eq!(version_of(scope), "1.0.0");
    damage(scope, NPM);
    assert_eq!(plain(scope, NPM, &fresh), "E_INTEGRITY");
}

#[test]
fn threat_6_an_older_version_than_one_seen_is_refused() {
    if !has("npm") {
        return;
    }
    let (registry, dir) = (Registry::start(), tempfile::tempdir().unwrap());
    let scope = dir.path();
    registry.publish_mod("@team/review-mod", &at_version("1.0.0"));
    assert_eq!(plain(scope, NPM, &registry.options()), "installed 1.0.0");
    let mut lock = Lock::read(scope).unwrap();
    let mut entry = lock.get(NPM).unwrap().clone();
    entry.highest = Some("1.5.0".to_owned());
    lock.insert(entry);
    lock.write(scope).unwrap();
    assert_eq!(latest(scope, NPM, &registry.options(), Allowed::default()), "E_DOWNGRADE");
    let allowed = Allowed { downgrade: true, ..Allowed::default() };
    assert_eq!(latest(scope, NPM, &registry.options(), allowed), "unchanged");
}

#[test]
fn threat_7_a_moved_tag_is_refused_until_it_is_accepted() {
    let (repository, dir) = (Repository::new(), tempfile::tempdir().unwrap());
    let (scope, options) = (dir.path(), repository.options());
    let first = repository.commit_mod(&at_version("1.0.0"));
    repository.git(&["tag", "v1"]);
    assert_eq!(plain(scope, "owner/repo@v1", &options), "installed 1.0.0");
    assert_eq!(plain(scope, "owner/repo@v1", &options), "unchanged");
    let second = repository.commit_mod(&at_version("1.1.0"));
    repository.git(&["tag", "-f", "v1"]);
    assert_eq!(plain(scope, "owner/repo@v1", &options), "E_TAG_MOVED");
    assert_eq!(version_of(scope), "1.0.0");
    damage(scope, GIT);
    assert_eq!(plain(scope, "owner/repo@v1", &options), "E_TAG_MOVED");
    assert_eq!(version_of(scope), "1.0.0");
    let allowed = Allowed { moved_tag: true, ..Allowed::default() };
    let moved = run(scope, &["owner/repo@v1"], &options, &UpdateOptions::default(), allowed);
    assert_eq!(moved, [format!("1.0.0 ({}) -> 1.1.0 ({})", &first[..12], &second[..12])]);
    repository.git(&["tag", "-d", "v1"]);
    assert_eq!(plain(scope, "owner/repo@v1", &options), "E_TAG_MOVED");
}

#[test]
fn a_branch_stays_until_latest_and_another_ref_in_the_settings_is_followed() {
    let (repository, dir) = (Repository::new(), tempfile::tempdir().unwrap());
    let (scope, options) = (dir.path(), repository.options());
    let first = repository.commit_mod(&at_version("1.0.0"));
    repository.git(&["tag", "v1"]);
    assert_eq!(plain(scope, "owner/repo", &options), "installed 1.0.0");
    let second = repository.commit_mod(&at_version("1.1.0"));
    assert_eq!(plain(scope, "https://github.com/owner/repo", &options), "unchanged");
    damage(scope, GIT);
    assert_eq!(plain(scope, "owner/repo", &options), "restored");
    assert_eq!(version_of(scope), "1.0.0");
    let forward = format!("1.0.0 ({}) -> 1.1.0 ({})", &first[..12], &second[..12]);
    assert_eq!(latest(scope, "owner/repo", &options, Allowed::default()), forward);
    let back = format!("1.1.0 ({}) -> 1.0.0 ({})", &second[..12], &first[..12]);
    assert_eq!(plain(scope, "owner/repo@v1", &options), back);
    assert_eq!(version_of(scope), "1.0.0");
}

#[test]
fn one_package_that_fails_holds_up_no_other() {
    let (repository, dir) = (Repository::new(), tempfile::tempdir().unwrap());
    repository.commit_mod(&at_version("1.0.0"));
    let sources = ["owner/none", "bad source", "file:none", "./none", ".", "owner/repo"];
    let said =
        run(dir.path(), &sources, &repository.options(), &UpdateOptions::default(), Allowed::default());
    assert_eq!(said, ["E_FETCH", "E_SOURCE", "E_NOT_INSTALLED", "E_IO", "unchanged", "installed 1.0.0"]);
    let only = UpdateOptions { only: Some(GIT.to_owned()), ..UpdateOptions::default() };
    assert_eq!(
        run(dir.path(), &sources[2..], &repository.options(), &only, Allowed::default()),
        ["unchanged"]
    );
}

#[test]
fn repair_touches_only_what_is_damaged() {
    let (repository, dir) = (Repository::new(), tempfile::tempdir().unwrap());
    let (scope, options) = (dir.path(), repository.options());
    repository.commit_mod(&at_version("1.0.0"));
    repository.git(&["tag", "v1"]);
    assert_eq!(plain(scope, "owner/repo@v1", &options), "installed 1.0.0");
    let repair = UpdateOptions { repair_only: true, ..UpdateOptions::default() };
    let offline = FetchOptions { offline: true, ..options.clone() };
    let fix = |fetching: &FetchOptions| {
        run(scope, &["owner/repo@v2"], fetching, &repair, Allowed::default()).remove(0)
    };
    assert_eq!(fix(&offline), "unchanged");
    damage(scope, GIT);
    assert_eq!(fix(&offline), "E_OFFLINE");
    assert_eq!(fix(&options), "restored");
    // What is whole in the store needs no network.
    crate::disk::set_mode(Store::at(scope).root(), 0o770).unwrap();
    assert_eq!(fix(&offline), "restored");
}

#[test]
fn an_archive_that_is_gone_from_the_store_must_be_added_again() {
    let dir = tempfile::tempdir().unwrap();
    let scope = dir.path().join("scope");
    let archive = Mod::default().pack(dir.path());
    install_archive(&scope, &archive, &host()).unwrap();
    let file = "file:review-guard";
    assert_eq!(plain(&scope, file, &FetchOptions::default()), "unchanged");
    damage(&scope, file);
    assert_eq!(plain(&scope, file, &FetchOptions::default()), "E_FETCH");
    install_archive(&scope, &archive, &host()).unwrap();
    assert_eq!(plain(&scope, file, &FetchOptions::default()), "unchanged");
}

#[test]
fn the_check_of_the_lock_names_what_differs_and_writes_nothing() {
    let (repository, dir) = (Repository::new(), tempfile::tempdir().unwrap());
    let scope = dir.path();
    repository.commit_mod(&at_version("1.0.0"));
    assert_eq!(plain(scope, "owner/repo", &repository.options()), "installed 1.0.0");
    let check = |sources: &[&str]| -> Vec<String> {
        check_lock(scope, sources, scope, None).iter().map(ToString::to_string).collect()
    };
    assert_eq!(check(&["https://github.com/owner/repo.git", "./local"]), Vec::<String>::new());
    let start = "settings and lock do not agree, run cmd mods update: ";
    assert_eq!(
        check(&["npm:a", "owner/repo@v2"]),
        [
            format!("{start}the lock has no entry for: npm:a"),
            format!("{start}the settings ask for owner/repo@v2, the lock has: owner/repo")
        ]
    );
    assert_eq!(check(&[]), [format!("{start}the settings do not name what the lock has: {GIT}")]);
    damage(scope, GIT);
    assert_eq!(check_lock(scope, &["owner/repo"], scope, None)[0].code(), "E_LOCK_DRIFT");
}
