use super::*;

fn parse(text: &str) -> Source {
    Source::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn identity(text: &str) -> String {
    parse(text).identity(Path::new("/home/me/project"), Some(Path::new("/home/me"))).unwrap()
}

fn git(text: &str) -> (String, Option<String>) {
    match parse(text) {
        Source::Git(git) => (git.url, git.reference),
        other => panic!("{other:?}"),
    }
}

fn npm(name: &str, version: Option<&str>) -> Source {
    Source::Npm(NpmSource { name: name.to_owned(), version: version.map(str::to_owned) })
}

#[test]
fn npm_packages_have_a_name_and_perhaps_a_version() {
    assert_eq!(parse("npm:@team/review-mod@1.2.0"), npm("@team/review-mod", Some("1.2.0")));
    assert_eq!(parse("npm:review-mod"), npm("review-mod", None));
    assert_eq!(parse("review-mod"), npm("review-mod", None));
    assert_eq!(parse("review-mod@next"), npm("review-mod", Some("next")));
    assert_eq!(parse("@team/review-mod@^1.2"), npm("@team/review-mod", Some("^1.2")));
    assert_eq!(parse("npm:a@>=1 <2 || 3.x"), npm("a", Some(">=1 <2 || 3.x")));
    assert_eq!(identity("npm:@team/review-mod@1.2.0"), "npm:@team/review-mod");
    let pinned = |text| matches!(parse(text), Source::Npm(npm) if npm.is_pinned());
    assert_eq!(
        [pinned("a@1.2.0"), pinned("a@^1.2.0"), pinned("a@next"), pinned("a")],
        [true, false, false, false]
    );
}

#[test]
fn conformance_10_all_ways_to_write_a_repository_are_one_identity() {
    for text in [
        "owner/repo",
        "owner/repo@v1",
        "Owner/Repo",
        "owner/repo.git",
        "git:github.com/owner/repo@main",
        "git:GitHub.com/owner/repo.git",
        "https://github.com/owner/repo",
        "https://github.com/owner/repo/",
        "https://github.com:443/owner/repo.git@v2",
        "git:https://github.com/owner/repo",
        "ssh://git@github.com/owner/repo.git",
        "ssh://git@github.com:22/owner/repo",
        "git@github.com:owner/repo.git@feature/x",
        "git:git@github.com:owner/repo",
    ] {
        assert_eq!(identity(text), "git:github.com/owner/repo", "{text}");
    }
}

#[test]
fn conformance_10_different_repositories_stay_apart() {
    let texts = [
        "owner/repo",
        "owner/repo2",
        "other/repo",
        "git:gitlab.com/owner/repo",
        "git:gitlab.com/Owner/repo",
        "git:gitlab.com/group/owner/repo",
        "https://git.example.com:8443/owner/repo",
        "https://git.example.com/owner/repo",
        "npm:repo",
        "file:repo",
        "./owner/repo",
    ];
    let identities: std::collections::BTreeSet<String> = texts.iter().map(|text| identity(text)).collect();
    assert_eq!(identities.len(), texts.len());
    assert_eq!(identity("https://git.example.com:8443/o/r"), "git:git.example.com+8443/o/r");
}

#[test]
fn git_gets_an_address_and_a_ref() {
    let of = |url: &str, reference: Option<&str>| (url.to_owned(), reference.map(str::to_owned));
    assert_eq!(git("owner/repo@v1"), of("https://github.com/owner/repo", Some("v1")));
    assert_eq!(git("git:host.example/a/b/c"), of("https://host.example/a/b/c", None));
    assert_eq!(
        git("https://Host.example:8443/a/b.git@feature/x"),
        of("https://host.example:8443/a/b.git", Some("feature/x"))
    );
    assert_eq!(git("ssh://me@host.example:2222/a/b"), of("ssh://me@host.example:2222/a/b", None));
    assert_eq!(git("git@host.example:a/b.git@v1.0"), of("git@host.example:a/b.git", Some("v1.0")));
}

#[test]
fn paths_are_told_by_how_they_start() {
    assert_eq!(parse("./tools/local-mod"), Source::Path("./tools/local-mod".into()));
    assert_eq!(parse("/abs/x.tgz"), Source::Archive("/abs/x.tgz".into()));
    assert_eq!(parse("C:\\mods\\x"), Source::Path("C:\\mods\\x".into()));
    assert_eq!(identity("./tools/./a/../local-mod/"), "path:/home/me/project/tools/local-mod");
    assert_eq!(identity("../other"), "path:/home/me/other");
    assert_eq!(identity("~/mods/x"), "path:/home/me/mods/x");
    assert_eq!(parse("./x.tgz").identity(Path::new("/"), None), None);
    assert_eq!(parse("file:review-mod"), Source::File("review-mod".to_owned()));
}

#[test]
fn what_is_written_back_is_read_the_same() {
    for text in ["npm:@team/a@^1", "npm:a", "https://github.com/o/r@v1", "git@h.example:a/b", "./x", "file:a"]
    {
        assert_eq!(parse(text).to_string(), text);
        assert_eq!(parse(&parse(text).to_string()), parse(text));
    }
}

#[test]
fn threat_16_and_17_options_and_other_transports_are_refused() {
    for text in [
        "",
        "-x",
        "npm:-x",
        "npm:--ignore-scripts=false",
        "npm:a@-x",
        "npm:a@file:../p",
        "npm:a@https://x/y.tgz",
        "npm:a@npm:b",
        "npm:a@../p",
        "npm:A",
        "npm:",
        "npm:@team",
        "npm:a@",
        "@team",
        "a b",
        "--upload-pack=x",
        "ext::sh -c x",
        "git:ext::sh%20-c%20x",
        "file:///etc",
        "file:../x",
        "http://h/o/r",
        "git://h/o/r",
        "git:-oProxyCommand=x/y",
        "ssh://-oProxyCommand=x/y",
        "owner/repo@--upload-pack=x",
        "owner/-repo",
        "owner/..",
        "../../x:y/z@@\n",
        "git:h",
        "owner/repo@a..b",
        "owner/repo@a b",
        "owner/repo@x.lock",
        "owner/repo@@{1}",
        "owner/repo@",
        "a/b/c",
        "git:h/a//b",
        "https://h/a?x=1",
        "https://h/a#x",
        "https://h:x/a",
        "git@h:-x",
        "-u@h:a",
        "h:a",
        "git:h/é",
    ] {
        assert_eq!(Source::parse(text).map_err(|error| error.code()), Err("E_SOURCE"), "{text}");
    }
}

#[test]
fn threat_19_secrets_in_addresses_are_refused_and_not_repeated() {
    for text in [
        "https://user:hunter2@host/r",
        "https://hunter2@host/r",
        "ssh://git:hunter2@host/r",
        "https://h/r?token=hunter2",
    ] {
        let message = Source::parse(text).unwrap_err().to_string();
        assert!(!message.contains("hunter2"), "{message}");
    }
    assert_eq!(
        Source::parse("https://user:hunter2@host/r").unwrap_err().to_string(),
        "the package source is not usable, a user name or password does not belong in it, use a git credential helper, expected npm:NAME[@VERSION], OWNER/REPO[@REF], git:HOST/PATH[@REF], https://HOST/PATH, or ./PATH, got: https://…@host/r"
    );
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused_and_an_identity_has_a_place(text in r"[-@:/.~a-zA-Z0-9^ é\\]{0,40}") {
        if let Ok(source) = Source::parse(&text)
            && let Source::Npm(_) | Source::Git(_) | Source::File(_) = source
        {
            let id = source.identity(Path::new("/"), None).unwrap();
            crate::store::pointer_path(&id).unwrap();
        }
    }
}
