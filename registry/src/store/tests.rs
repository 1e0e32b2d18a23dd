use super::*;
use crate::lock::Lock;

const TREE: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn package(id: &str, tree: &str) -> lock::Package {
    lock::Package { tree: tree.to_owned(), ..lock::Package::new(id.to_owned(), String::new()) }
}

fn staged(held: &Held<'_>, content: &str) -> (TempDir, PathBuf, BTreeMap<String, FileHash>) {
    let stage = held.stage().unwrap();
    let root = stage.path().join("package");
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::write(root.join("bin/a"), content).unwrap();
    let files = tree_files(&root).unwrap();
    (stage, root, files)
}

#[test]
fn pointers_are_where_the_documentation_says() {
    let path =
        |id: &str| pointer_path(id).map(|path| path.display().to_string()).map_err(|error| error.code());
    assert_eq!(path("npm:@team/review-mod"), Ok("npm/@team/review-mod/current".to_owned()));
    assert_eq!(path("git:github.com/owner/repo"), Ok("git/github.com/owner/repo/current".to_owned()));
    assert_eq!(path("file:review-mod"), Ok("file/review-mod/current".to_owned()));
    for id in ["", "npm:", "npm", "path:x", "npm:../x", "git:/etc", "file:a\\b", "store:x"] {
        assert_eq!(path(id), Err("E_NAME"), "{id}");
    }
}

#[test]
fn a_pointer_is_read_back_and_goes_away_with_its_folders() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    let held = store.hold(None).unwrap();
    let pointer = Pointer { current: package("npm:@team/a", TREE), previous: None };
    held.write_pointer("npm:@team/a", &pointer).unwrap();
    held.write_pointer("npm:@team/b", &pointer).unwrap();
    assert_eq!(store.pointer("npm:@team/a").unwrap(), Some(pointer));
    let ids: Vec<String> = store.pointers().into_iter().map(|(id, _)| id).collect();
    assert_eq!(
        BTreeSet::from_iter(ids),
        BTreeSet::from(["npm:@team/a".to_owned(), "npm:@team/b".to_owned()])
    );
    held.remove_pointer("npm:@team/a").unwrap();
    assert!(store.root().join("npm/@team/b/current").exists());
    held.remove_pointer("npm:@team/b").unwrap();
    held.remove_pointer("npm:@team/b").unwrap();
    assert!(!store.root().join("npm").exists());
}

#[test]
fn the_store_is_private_ignored_by_git_and_swept() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    drop(store.hold(None).unwrap());
    assert_eq!(fs::read_to_string(store.root().join(".gitignore")).unwrap(), "*\n");
    fs::create_dir_all(store.root().join("tmp/1-left/package")).unwrap();
    let unfinished = [dir.path().join(".tmp-a1b2c3"), store.root().join(".tmp-a1b2c3")];
    unfinished.iter().for_each(|path| fs::write(path, "half").unwrap());
    // Of that name, and none of its making.
    let folders = [dir.path().join(".tmp-x/mine"), store.root().join(".tmp-y/mine")];
    folders.iter().for_each(|path| fs::create_dir_all(path).unwrap());
    let held = store.hold(None).unwrap();
    assert_eq!(fs::read_dir(store.root().join("tmp")).unwrap().count(), 0);
    assert!(unfinished.iter().all(|path| !path.exists()));
    assert!(folders.iter().all(|path| path.is_dir()));
    assert!(store.check_permissions().is_ok());
    assert!(held.stage().unwrap().path().starts_with(store.root().join("tmp")));
}

#[cfg(unix)]
#[test]
fn threat_14_a_store_that_others_may_write_to_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    drop(store.hold(None).unwrap());
    disk::set_mode(store.root(), 0o770).unwrap();
    assert_eq!(store.check_permissions().unwrap_err().code(), "E_PERMISSIONS");
    fs::rename(store.root(), dir.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), store.root()).unwrap();
    assert_eq!(store.check_permissions().unwrap_err().code(), "E_PERMISSIONS");
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_folder_leads_nowhere() {
    for link in ["", "store", "file", "file/review-mod"] {
        let dir = tempfile::tempdir().unwrap();
        let precious = dir.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("letter"), "dear").unwrap();
        let store = Store::at(dir.path());
        let place = if link.is_empty() { store.root().to_owned() } else { store.root().join(link) };
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&precious, &place).unwrap();
        let attempt = || {
            let held = store.hold(None)?;
            let pointer = Pointer { current: package("file:review-mod", TREE), previous: None };
            held.write_pointer("file:review-mod", &pointer)?;
            held.collect_garbage(&Lock::default())
        };
        assert_eq!(attempt().unwrap_err().code(), "E_PERMISSIONS", "{link}");
        assert_eq!(fs::read_dir(&precious).unwrap().count(), 1, "{link}");
    }
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    fs::create_dir_all(store.root()).unwrap();
    fs::create_dir(dir.path().join("precious")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("precious"), store.root().join("tmp")).unwrap();
    drop(store.hold(None).unwrap());
    assert!(dir.path().join("precious").is_dir());
    assert!(store.root().join("tmp").symlink_metadata().unwrap().is_dir());
}

#[cfg(unix)]
#[test]
fn what_stands_in_the_place_of_the_lock_and_is_no_file_is_neither_followed_nor_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    fs::create_dir_all(store.root()).unwrap();
    let (lock, elsewhere) = (store.root().join(".lock"), dir.path().join("elsewhere"));
    let refused = || {
        let told = store.hold(None).map(drop).unwrap_err();
        fs::remove_file(&lock).unwrap();
        (told.code(), told.to_string())
    };
    let reason = "expected a file and no link, remove it and run cmd mods update";
    let expected = ("E_PERMISSIONS", Error::Permissions { path: lock.clone(), reason }.to_string());
    std::os::unix::fs::symlink(&elsewhere, &lock).unwrap();
    assert_eq!(refused(), expected);
    assert!(!elsewhere.exists());
    fs::write(&elsewhere, "dear").unwrap();
    std::os::unix::fs::symlink(&elsewhere, &lock).unwrap();
    assert_eq!(refused(), expected);
    assert!(std::process::Command::new("mkfifo").arg(&lock).status().unwrap().success());
    assert_eq!(refused(), expected);
    assert!(store.hold(None).is_ok());
}

#[test]
fn one_installer_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    let held = store.hold(None).unwrap();
    assert_eq!(store.hold(None).err().map(|error| error.code()), Some("E_BUSY"));
    drop(held);
    assert!(store.hold(None).is_ok());
}

#[test]
fn the_same_package_is_used_again_and_a_damaged_one_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    let held = store.hold(None).unwrap();
    let commit = |content| {
        let (_stage, root, files) = staged(&held, content);
        (held.commit(&root, &files).unwrap(), store.tree_dir(&hash::tree_digest(&files)))
    };
    let (reused, tree) = commit("one");
    assert!(!reused);
    assert!(commit("one").0);
    disk::set_mode(&tree.join("bin/a"), 0o600).unwrap();
    fs::write(tree.join("bin/a"), "two").unwrap();
    assert!(!commit("one").0);
    assert_eq!(fs::read_to_string(tree.join("bin/a")).unwrap(), "one");
}

#[cfg(unix)]
#[test]
fn nothing_in_the_store_is_writable() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    let held = store.hold(None).unwrap();
    let (_stage, root, files) = staged(&held, "one");
    held.commit(&root, &files).unwrap();
    let tree = store.tree_dir(&hash::tree_digest(&files));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode(&tree), mode(&tree.join("bin"))), (0o555, 0o555));
    assert_eq!(mode(store.root()), 0o700);
}

#[test]
fn garbage_is_what_neither_lock_nor_pointer_names() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path());
    let held = store.hold(None).unwrap();
    let mut trees = Vec::new();
    for content in ["locked", "current", "previous", "garbage"] {
        let (_stage, root, files) = staged(&held, content);
        held.commit(&root, &files).unwrap();
        trees.push(hash::tree_digest(&files));
    }
    let mut lock = Lock::default();
    lock.insert(package("file:a", &trees[0]));
    let pointer =
        Pointer { current: package("file:b", &trees[1]), previous: Some(package("file:b", &trees[2])) };
    held.write_pointer("file:b", &pointer).unwrap();
    held.collect_garbage(&lock).unwrap();
    let there: Vec<bool> = trees.iter().map(|tree| store.tree_dir(tree).exists()).collect();
    assert_eq!(there, [true, true, true, false]);
}

#[cfg(unix)]
#[test]
fn a_link_in_an_unpacked_package_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("a")).unwrap();
    assert_eq!(tree_files(dir.path()).unwrap_err().code(), "E_ENTRY_TYPE");
}
