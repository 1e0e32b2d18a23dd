use super::*;
use crate::fixtures::{Mod, cc, glibc_floor, good, host, inspect, rustc, target, with_metadata};

fn refused(bytes: &[u8], host: &HostFacts) -> (&'static str, String) {
    let refusal = inspect_and_check(bytes, host).unwrap_err();
    (refusal.code(), refusal.to_string())
}

fn inspect_and_check(bytes: &[u8], host: &HostFacts) -> Result<Metadata, Refusal> {
    check(&super::inspect(bytes)?, host)
}

fn not_a_library(bytes: &[u8]) -> String {
    let (code, message) = refused(bytes, &host());
    assert_eq!(code, "E_NOT_A_LIBRARY");
    let start = "not a shared library, expected the .so, .dylib or .dll of a crate with crate-type = [\"cdylib\"], got: ";
    message.strip_prefix(start).unwrap().to_owned()
}

#[test]
fn a_good_library_gives_its_metadata() {
    let expected = Metadata {
        name: "review-guard".to_owned(),
        version: semver::Version::new(1, 2, 0),
        interface: (1, 0),
        hooks: vec!["before_tool_call".to_owned()],
        target: target(),
        panic: "unwind".to_owned(),
        rustc: Some("1.95.0".to_owned()),
    };
    assert_eq!(inspect_and_check(&Mod::default().library(), &host()), Ok(expected));
}

#[test]
fn what_is_not_a_shared_library_is_named() {
    assert_eq!(not_a_library(b""), "an empty file");
    assert_eq!(not_a_library(b"#!/bin/sh\n"), "a script");
    assert_eq!(not_a_library(b"hello"), "a text file");
    assert_eq!(not_a_library(&[0x1f, 0x8b, 8]), "a gzip archive, install it with cmd mods add");
    assert_eq!(not_a_library(&[0xff, 0xfe, 0x80]), "an unknown kind of file");
    assert_eq!(not_a_library(&cc("int f(void) { return 1; }", &["-c"])), "an object file that is not linked");
    assert_eq!(not_a_library(&cc("int main(void) { return 1; }", &["-no-pie"])), "a program");
    assert_eq!(not_a_library(&cc("int main(void) { return 1; }", &["-pie", "-fPIE"])), "a program");
}

#[test]
fn a_truncated_library_is_never_a_panic_and_never_good() {
    let library = Mod::default().library();
    for length in (0..library.len()).step_by(997).chain([library.len() - 1]) {
        assert_eq!(refused(&library[..length], &host()).0, "E_NOT_A_LIBRARY", "{length}");
    }
}

#[test]
fn another_machine_is_refused() {
    let mut arm = Mod::default().library();
    arm[18..20].copy_from_slice(&183u16.to_le_bytes());
    let host = HostFacts { target: "x86_64-unknown-linux-gnu".to_owned(), ..host() };
    let expected =
        "built for another machine, install a build for this one, expected x86_64 ELF, got: aarch64 ELF";
    assert_eq!(refused(&arm, &host), ("E_MACHINE", expected.to_owned()));
    let mac = HostFacts { target: "x86_64-apple-darwin".to_owned(), ..host };
    assert_eq!(refused(&Mod::default().library(), &mac).0, "E_MACHINE");
}

#[test]
fn a_library_without_metadata_is_no_mod() {
    let library = cc("int f(void) { return 1; }", &["-shared", "-fPIC"]);
    assert_eq!(refused(&library, &host()).0, "E_NO_METADATA");
}

#[test]
fn broken_metadata_says_what_is_broken() {
    let reason = |json: &str| {
        let (code, message) = refused(&with_metadata(good(), json), &host());
        assert_eq!(code, "E_METADATA");
        let start = "the .cmdmod section cannot be read, rebuild the mod with a current mod-interface, or update cmd: ";
        message.strip_prefix(start).unwrap().to_owned()
    };
    assert_eq!(reason("{"), "EOF while parsing an object at line 1 column 1");
    assert_eq!(reason(r#"{"schema":2}"#), "its schema is 2, this version of cmd reads 1");
    assert_eq!(reason(r#"{"schema":1}"#), "missing field `name` at line 1 column 12");
    let interface = Mod::default().json().replace("\"1.0\"", "\"1\"");
    assert_eq!(reason(&interface).split(" at line").next(), Some("expected a version like \"1.0\", got: 1"));
    let name = Mod { name: "../x", ..Mod::default() }.json();
    assert_eq!(
        reason(&name),
        "the mod name is not usable, expected lower-case letters, digits and dashes, at most 64, and no device name, got: \"../x\""
    );
}

#[test]
fn metadata_over_the_limit_is_not_read() {
    let section = vec![b' '; MAX_METADATA + 1];
    let problem = super::metadata::Metadata::parse(&section).unwrap_err();
    assert_eq!(problem, "it has 65537 bytes, at most 65536 are read");
}

#[test]
fn another_major_version_and_a_newer_minor_one_are_told_apart() {
    let library = |interface| Mod { interface, ..Mod::default() }.library();
    let facts = HostFacts { interface: (1, 2), ..host() };
    for interface in ["1.0", "1.2"] {
        assert!(inspect_and_check(&library(interface), &facts).is_ok());
    }
    assert_eq!(
        refused(&library("1.3"), &facts),
        ("E_INTERFACE_MINOR", "needs a newer cmd: built for a newer interface, update cmd or install an older version of the mod, expected at most 1.2, got: 1.3".to_owned())
    );
    for interface in ["0.9", "2.0"] {
        assert_eq!(
            refused(&library(interface), &facts),
            (
                "E_INTERFACE_MAJOR",
                format!(
                    "built for another major version of the interface, rebuild the mod or update it (cmd mods update --latest), expected 1.x, got: {interface}"
                )
            )
        );
    }
}

#[test]
fn another_target_of_the_same_machine_is_refused() {
    let musl = target().replace("-gnu", "-musl");
    let library = Mod { target: musl.clone(), ..Mod::default() }.library();
    let expected =
        format!("built for another target, install a build for this one, expected {}, got: {musl}", target());
    assert_eq!(refused(&library, &host()), ("E_TARGET", expected));
}

#[test]
fn a_library_that_aborts_on_panic_is_refused_whatever_it_says() {
    let start = "built so that a panic ends the whole program, remove panic = \"abort\" from the profile and rebuild, expected unwind, got: ";
    let says_so = Mod { panic: "abort", ..Mod::default() }.library();
    assert_eq!(refused(&says_so, &host()), ("E_PANIC_ABORT", format!("{start}abort")));
    let lies = with_metadata(&rustc(&["-C", "panic=abort"]), &Mod::default().json());
    assert_eq!(refused(&lies, &host()), ("E_PANIC_ABORT", format!("{start}no unwind symbol")));
}

#[test]
fn a_glibc_that_is_too_old_is_named_before_the_loader_fails() {
    let library = Mod::default().library();
    let floor = glibc_floor();
    assert_eq!(floor.0, 2);
    let at = |glibc| HostFacts { glibc, ..host() };
    assert!(inspect_and_check(&library, &at(Some(floor))).is_ok());
    assert!(inspect_and_check(&library, &at(None)).is_ok());
    assert_eq!(
        refused(&library, &at(Some((2, 1)))),
        (
            "E_GLIBC",
            format!(
                "needs a newer glibc, build it on an older system or update this one, expected at most 2.1, got: {}.{}",
                floor.0, floor.1
            )
        )
    );
}

#[test]
fn threat_20_other_libraries_and_search_paths_are_refused() {
    let other = tempfile::tempdir().unwrap();
    let library = cc("int other(void) { return 1; }", &["-shared", "-fPIC", "-Wl,-soname,libother.so.1"]);
    std::fs::write(other.path().join("libother.so"), library).unwrap();
    let folder = other.path().to_str().unwrap();
    let built = |arguments: &[&str]| with_metadata(&rustc(arguments), &Mod::default().json());
    let needed = built(&["-L", folder, "-C", "link-args=-Wl,--no-as-needed -lother"]);
    let expected = "needs a shared library beside those of the system, link it statically, expected the C library and libgcc_s only, got: libother.so.1";
    assert_eq!(refused(&needed, &host()), ("E_NEEDED", expected.to_owned()));
    let rpath = built(&["-C", "link-args=-Wl,-rpath,/tmp/x -Wl,--disable-new-dtags"]);
    let expected = "has a library search path of its own, link it without -rpath, got: DT_RPATH";
    assert_eq!(refused(&rpath, &host()), ("E_RPATH", expected.to_owned()));
    let runpath = built(&["-C", "link-args=-Wl,-rpath,$ORIGIN -Wl,--enable-new-dtags"]);
    assert_eq!(inspect(&runpath).search_path, Some("DT_RUNPATH"));
    let audit = |option: &str| inspect(&cc("int f(void) { return 1; }", &["-shared", "-fPIC", option])).audit;
    assert_eq!(audit("-Wl,--depaudit=/tmp/a.so"), Some("DT_DEPAUDIT"));
    assert_eq!(audit("-Wl,--filter=liba.so"), Some("DT_FILTER"));
}

#[test]
fn stack_text_relocations_and_static_tls_are_read_from_the_file() {
    let shared = |source: &str, more: &[&str]| inspect(&cc(source, &[&["-shared", "-fPIC"], more].concat()));
    let plain = shared("int f(void) { return 1; }", &[]);
    assert_eq!((plain.executable_stack, plain.text_relocation, plain.static_tls), (false, false, false));
    assert!(shared("int f(void) { return 1; }", &["-Wl,-z,execstack"]).executable_stack);
    let tls =
        "static __thread int x __attribute__((tls_model(\"initial-exec\"))); int f(void) { return x++; }";
    assert!(shared(tls, &[]).static_tls);
    let text = "int x; __asm__(\".text\\n.global y\\ny: .quad x\\n\"); ";
    assert!(shared(text, &["-Wl,-z,notext"]).text_relocation);
}

#[test]
fn each_of_these_is_refused_by_its_own_code() {
    let good = inspect(&Mod::default().library());
    let code = |changed: Inspection| check(&changed, &host()).map_err(|refusal| refusal.code());
    assert_eq!(code(Inspection { text_relocation: true, ..good.clone() }), Err("E_TEXTREL"));
    assert_eq!(code(Inspection { executable_stack: true, ..good.clone() }), Err("E_EXEC_STACK"));
    assert_eq!(code(Inspection { static_tls: true, ..good.clone() }), Err("E_STATIC_TLS"));
    assert_eq!(code(Inspection { audit: Some("DT_AUDIT"), ..good.clone() }), Err("E_AUDIT"));
    for needed in ["/tmp/libc.so.6", "libcrypto.so.3", "libmagic.so.1", "libc++.so.1", "libstdc++.so.6"] {
        assert_eq!(
            code(Inspection { needed: vec![needed.to_owned()], ..good.clone() }),
            Err("E_NEEDED"),
            "{needed}"
        );
    }
    for needed in [
        "libc.so.6",
        "libm.so.6",
        "libgcc_s.so.1",
        "ld-linux-x86-64.so.2",
        "libc.musl-x86_64.so.1",
        "ld-musl-x86_64.so.1",
        "ld64.so.2",
    ] {
        assert!(code(Inspection { needed: vec![needed.to_owned()], ..good.clone() }).is_ok(), "{needed}");
    }
}

#[test]
fn the_first_reason_in_the_documented_order_is_given() {
    let good = inspect(&Mod { interface: "2.0", panic: "abort", ..Mod::default() }.library());
    let bad = Inspection { static_tls: true, needed: vec!["x.so".to_owned()], ..good };
    assert_eq!(check(&bad, &host()).unwrap_err().code(), "E_INTERFACE_MAJOR");
    let machine = HostFacts { target: "aarch64-apple-darwin".to_owned(), ..host() };
    assert_eq!(check(&bad, &machine).unwrap_err().code(), "E_MACHINE");
}
