use std::{fs, os::unix::fs::PermissionsExt};

use super::*;

const LIMIT: Duration = Duration::from_secs(10);

/// A program that stands in for this one: a shell script.
fn program(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("cmd");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

fn tried_all(script: &str, limit: Duration, mods: &[&str]) -> Vec<Result<Trial, String>> {
    let folder = tempfile::tempdir().unwrap();
    let exe = program(folder.path(), script);
    let cancel = CancellationToken::new();
    let trials = Trials { exe: &exe, cwd: folder.path(), limit, cancel: &cancel };
    let mods: Vec<_> = mods.iter().map(|name| ((*name).to_owned(), Path::new("/a").join(name))).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let told = runtime.block_on(trials.run(&mods)).into_iter();
    told.map(|told| told.map_err(|error| error.to_string())).collect()
}

fn tried(script: &str, limit: Duration) -> Result<Trial, String> {
    tried_all(script, limit, &["guard"]).remove(0)
}

fn guard(name: &str) -> Trial {
    let registered = BTreeMap::from([("hooks".into(), vec!["onStop".into()])]);
    Trial { name: name.into(), version: "1.0.0".into(), registered, warnings: Vec::new() }
}

const ANSWERS: &str = r#"number=0
    loaded() { echo "{\"number\":$number,\"loaded\":{\"name\":\"$1\",\"version\":\"1.0.0\",\"registered\":{\"hooks\":[\"onStop\"]},\"warnings\":[]}}"; number=$((number+1)); }"#;

#[test]
fn what_a_mod_registered_is_an_answer_among_what_it_prints() {
    let script = format!(
        "{ANSWERS}\n[ \"$*\" = 'mods trial-load --limit-ms 10000 /a/guard' ] || exit 9\n\
         echo hello from the mod; echo '{{}}'; loaded guard; echo bye"
    );
    assert_eq!(tried(&script, LIMIT), Ok(guard("guard")));
}

#[test]
fn what_mods_print_that_looks_like_an_answer_is_taken_for_none_of_another() {
    let forged = r#"{"name":"forged","version":"0.0.0","registered":{},"warnings":[]}"#;
    let script = format!(
        "{ANSWERS}\nshift 4; for path; do echo '{{\"number\":2,\"loaded\":{forged}}}'; \
         echo '{{\"loaded\":{forged}}}'; echo '{{\"refused\":\"me\"}}'; loaded ${{path#/a/}}; done"
    );
    assert_eq!(tried_all(&script, LIMIT, &["a", "b"]), ["a", "b"].map(|name| Ok(guard(name))));
}

#[test]
fn a_line_that_is_too_long_to_be_an_answer_is_not_kept_until_its_end() {
    let long = format!("head -c {MAX_LINE} /dev/zero | tr '\\0' x");
    let script =
        format!("{ANSWERS}\nprintf '{{\"number\":0,\"refused\":\"'; {long}; echo '\"}}'; loaded guard");
    assert_eq!(tried(&script, LIMIT), Ok(guard("guard")));
}

#[test]
fn a_mod_that_does_not_load_is_named_with_the_reason() {
    let cases = [
        (
            r#"echo '{"number":0,"refused":"its factory failed: no key"}'"#,
            "the mod guard does not load: its factory failed: no key",
        ),
        ("exit 0", "the mod guard ended the process while it was loaded: exit status: 0"),
        ("exit 7", "the mod guard ended the process while it was loaded: exit status: 7"),
        (
            "kill -SEGV $$",
            "the mod guard ended the process while it was loaded: signal: 11 (SIGSEGV) (core dumped)",
        ),
    ];
    for (script, expected) in cases {
        let told = tried(script, LIMIT).unwrap_err();
        assert_eq!(told.replace(" (core dumped)", ""), expected.replace(" (core dumped)", ""), "{script}");
    }
}

#[test]
fn mods_are_loaded_in_one_child_unless_that_ends_early_and_then_it_is_known_which_one_it_was() {
    let all = ["a", "b", "c"];
    let each = format!("{ANSWERS}\nshift 4; for path; do loaded ${{path#/a/}}; done; [ $# = 3 ] || exit 5");
    assert_eq!(tried_all(&each, LIMIT, &all), all.map(|name| Ok(guard(name))));
    let crashes =
        format!("{ANSWERS}\nshift 4; for path; do [ $path != /a/b ] || exit 7; loaded ${{path#/a/}}; done");
    let ended = "the mod b ended the process while it was loaded: exit status: 7";
    assert_eq!(tried_all(&crashes, LIMIT, &all), [Ok(guard("a")), Err(ended.to_owned()), Ok(guard("c"))]);
    // One that takes the process with it after all have answered.
    let late =
        format!("{ANSWERS}\nshift 4; for path; do loaded ${{path#/a/}}; done; [ $path != /a/c ] || exit 8");
    let ended = "the mod c ended the process while it was loaded: exit status: 8";
    assert_eq!(tried_all(&late, LIMIT, &all), [Ok(guard("a")), Ok(guard("b")), Err(ended.to_owned())]);
}

#[test]
fn a_trial_that_is_interrupted_ends_with_its_child() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let exe = program(folder.path(), &format!("echo $$ > {}; exec sleep 600", pid_file.display()));
    let cancel = CancellationToken::new();
    let trials = Trials { exe: &exe, cwd: folder.path(), limit: LIMIT, cancel: &cancel };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let told = runtime.block_on(async {
        let started = async {
            while fs::read_to_string(&pid_file).unwrap_or_default().is_empty() {
                tokio::task::yield_now().await;
            }
            cancel.cancel();
        };
        let mods = [("guard".to_owned(), PathBuf::from("/a/mod"))];
        tokio::join!(trials.run(&mods), started).0
    });
    assert!(matches!(told[..], [Err(Error::Interrupted)]), "{told:?}");
    assert!(ends(&pid_file), "the child is still there");
}

#[test]
fn a_mod_that_never_returns_is_killed_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let script = format!("echo $$ > {}; exec sleep 600", pid_file.display());
    let told = tried(&script, Duration::from_secs(1)).unwrap_err();
    assert_eq!(told, "the mod guard did not load within 1s: its constructor or its factory never returns");
    assert!(ends(&pid_file), "the child is still there");
}

/// Whether the process ends. It was killed with the future that was dropped, and is gone when its parent has waited
/// for it.
fn ends(pid_file: &Path) -> bool {
    let pid: i32 = fs::read_to_string(pid_file).unwrap().trim().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    (0..100_000).any(|_| {
        std::thread::yield_now();
        rustix::process::test_kill_process(pid).is_err() || is_dead(pid)
    })
}

fn is_dead(pid: rustix::process::Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

#[test]
fn a_program_that_cannot_be_started_is_told() {
    let cancel = CancellationToken::new();
    let (exe, cwd) = (Path::new("/nowhere/cmd"), Path::new("/"));
    let trials = Trials { exe, cwd, limit: LIMIT, cancel: &cancel };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let told = runtime.block_on(trials.run(&[("guard".to_owned(), PathBuf::from("/a/mod"))]));
    let error = told.into_iter().next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the mod guard could not be tried: No such file or directory (os error 2)");
}
