use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use serde_json::json;

use crate::tools::testing::Workspace;

#[tokio::test]
async fn a_file_is_made_with_its_folders_and_replaced() {
    let workspace = Workspace::new();
    let input = json!({"file_path": "new/folder/a.txt", "content": "one\ntwo\n"});
    assert_eq!(workspace.ok("write_file", input).await, "made new/folder/a.txt: 2 lines, 8 bytes");
    let input = json!({"file_path": "new/folder/a.txt", "content": ""});
    assert_eq!(workspace.ok("write_file", input).await, "replaced new/folder/a.txt: 0 lines, 0 bytes");
    assert_eq!(workspace.read("new/folder/a.txt"), "");
    assert_eq!(workspace.names("new/folder"), ["a.txt"]);
}

#[tokio::test]
async fn mode_and_owner_stay_and_new_files_get_the_usual_mode() {
    let workspace = Workspace::of(&[("script", "old"), ("usual", "")]);
    fs::set_permissions(workspace.path("script"), fs::Permissions::from_mode(0o751)).unwrap();
    // Only root can give files away; for others the owner is the same anyway.
    let _ = std::os::unix::fs::chown(workspace.path("script"), Some(12_345), Some(54_321));
    let of = |path: &str| {
        let metadata = workspace.path(path).metadata().unwrap();
        (metadata.mode(), metadata.uid(), metadata.gid())
    };
    let before = of("script");
    workspace.ok("write_file", json!({"file_path": "script", "content": "new"})).await;
    workspace.ok("write_file", json!({"file_path": "new", "content": ""})).await;
    assert_eq!(of("script"), before);
    assert_eq!(of("new"), of("usual"));
}

#[tokio::test]
async fn a_link_stays_and_its_target_is_written() {
    let workspace = Workspace::of(&[("folder/target", "old")]);
    symlink("folder/target", workspace.path("link")).unwrap();
    symlink("folder/new", workspace.path("dangling")).unwrap();
    symlink("loop", workspace.path("loop")).unwrap();
    workspace.ok("write_file", json!({"file_path": "link", "content": "a"})).await;
    workspace.ok("write_file", json!({"file_path": "dangling", "content": "b"})).await;
    assert_eq!((workspace.read("folder/target"), workspace.read("folder/new")), ("a".into(), "b".into()));
    assert!(workspace.path("link").is_symlink() && workspace.path("dangling").is_symlink());
    let error = workspace.err("write_file", json!({"file_path": "loop", "content": "b"})).await;
    assert_eq!(error, "cannot write loop: Too many levels of symbolic links (os error 40)");
}

#[tokio::test]
async fn what_cannot_be_written_says_why() {
    let workspace = Workspace::of(&[("folder/a", "a"), ("fixed", "a")]);
    fs::set_permissions(workspace.path("fixed"), fs::Permissions::from_mode(0o444)).unwrap();
    let write =
        async |path: &str| workspace.err("write_file", json!({"file_path": path, "content": "b"})).await;
    let hint = "give a file; list_directory shows what is in it";
    assert_eq!(write("folder").await, format!("folder is a folder: {hint}"));
    assert_eq!(write("fixed").await, "cannot write fixed: it is read-only");
    assert_eq!(write("folder/a/b").await, "cannot write folder/a/b: Not a directory (os error 20)");
    assert_eq!(write("folder/a/b/c").await, "cannot write folder/a/b/c: Not a directory (os error 20)");
    assert_eq!(workspace.names("."), ["fixed", "folder"]);
}

#[tokio::test]
async fn a_cancelled_write_changes_nothing() {
    let workspace = Workspace::of(&[("a.txt", "old")]);
    workspace.cancel.cancel();
    let error = workspace.err("write_file", json!({"file_path": "a.txt", "content": "new"})).await;
    assert_eq!(error, "interrupted before it was done");
    assert_eq!((workspace.read("a.txt"), workspace.names(".")), ("old".to_owned(), vec!["a.txt".to_owned()]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_never_sees_half_a_file() {
    let (a, b) = ("a".repeat(300_000), "b".repeat(200_000));
    let workspace = Workspace::of(&[("file", &a)]);
    let (path, done, reads) = (workspace.path("file"), AtomicBool::new(false), AtomicUsize::new(0));
    let (whole_a, whole_b, is_done, count) = (&a, &b, &done, &reads);
    let handle = tokio::runtime::Handle::current();
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            while !is_done.load(Ordering::Relaxed) {
                let seen = fs::read_to_string(&path).unwrap();
                assert!(seen == *whole_a || seen == *whole_b, "{} bytes of {:?}", seen.len(), seen.get(..1));
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        tokio::task::block_in_place(|| {
            handle.block_on(async {
                for round in 0.. {
                    let content = if round % 2 == 0 { &b } else { &a };
                    workspace.ok("write_file", json!({"file_path": "file", "content": content})).await;
                    if round > 30 && reads.load(Ordering::Relaxed) > 30 || reader.is_finished() {
                        break;
                    }
                }
            });
        });
        done.store(true, Ordering::Relaxed);
    });
}
