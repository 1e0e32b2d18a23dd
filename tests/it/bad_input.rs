//! Libraries that must not be loaded, or cannot be: each gives one clear line, the other mods load and
//! act, the exit code tells. What a static check refuses never runs, not even its constructors.

use std::{fs, path::Path, process::Command};

use host::mod_host::host_facts;
use serde_json::json;

use crate::support::{
    cmd::Start,
    fixtures::{Library, STATIC_TLS, tag},
};

/// A start with this library beside the good mods.
fn with_library(make: impl FnOnce(Library) -> Library) -> Start {
    with_bytes(make(Library::built("misbehaving")).bytes())
}

fn with_bytes(bytes: &[u8]) -> Start {
    let start = Start::new();
    let path = start.path("bad.so");
    fs::write(&path, bytes).unwrap();
    start.with_mod(&path)
}

/// The line for `--mod DIR/bad.so`.
fn bad(code: &str, reason: &str) -> String {
    format!("mod not loaded [{code}] from --mod DIR/bad.so: {reason}")
}

/// The line for a library that a static check refuses.
fn refused(code: &str, reason: &str) -> String {
    bad(code, &format!("DIR/bad.so: {reason}"))
}

fn no_library(found: &str) -> String {
    let expected = "the .so, .dylib or .dll of a crate with crate-type = [\"cdylib\"]";
    refused("E_NOT_A_LIBRARY", &format!("not a shared library, expected {expected}, got: {found}"))
}

#[test]
fn a_constructor_leaves_its_mark_where_nothing_is_refused() {
    let start = with_library(|library| library).misbehaves();
    let ran = start.run();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"));
    assert!(start.mark().exists());
}

#[test]
fn a_library_that_is_not_there() {
    let start = Start::new();
    let path = start.path("none.so");
    start.with_mod(&path).refuses(
        "mod not loaded [E_UNREADABLE] from --mod DIR/none.so: cannot read the library, check its path and who \
         may read it: No such file or directory (os error 2): DIR/none.so",
    );
}

#[test]
fn a_text_file() {
    with_bytes(b"just a text").refuses(&no_library("a text file"));
}

#[test]
fn an_empty_file() {
    with_bytes(b"").refuses(&no_library("an empty file"));
}

#[test]
fn a_program() {
    let start = Start::new();
    let path = start.path("bad.so");
    compile(start.folders.dir(), "int main(void) { return 0; }", &["-o", "bad.so"]);
    start.with_mod(&path).refuses(&no_library("a program"));
}

#[test]
fn a_static_library() {
    let start = Start::new();
    let path = start.path("bad.so");
    compile(start.folders.dir(), "int answer(void) { return 42; }", &["-c", "-o", "answer.o"]);
    let made =
        Command::new("ar").args(["rcs", "bad.so", "answer.o"]).current_dir(start.folders.dir()).status();
    assert!(made.unwrap().success());
    start.with_mod(&path).refuses(&no_library("a static library"));
}

/// Compiles C in a folder.
fn compile(folder: &Path, source: &str, args: &[&str]) {
    fs::write(folder.join("source.c"), source).unwrap();
    let output = Command::new("cc").args(args).arg("source.c").current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_library_that_is_cut_off() {
    let library = Library::built("misbehaving");
    let ran = with_bytes(&library.bytes()[..library.bytes().len() / 2]).run();
    let line = no_library("a damaged ELF file (");
    assert!(ran.stderr.contains(&line), "{}", ran.stderr);
    assert_eq!(ran.code, Some(1));
}

#[test]
fn a_shared_library_that_is_no_mod() {
    let reason =
        "a shared library, but not a mod: it has no .cmdmod section, export the mod with export_mod!";
    with_library(Library::without_metadata).refuses(&refused("E_NO_METADATA", reason));
}

#[test]
fn metadata_that_cannot_be_read() {
    let reason = "the .cmdmod section cannot be read, rebuild the mod with a current mod-interface, or update cmd: its \
                  schema is 2, this version of cmd reads 1";
    with_library(|library| library.metadata(r#""schema":1"#, r#""schema":2"#))
        .refuses(&refused("E_METADATA", reason));
}

#[test]
fn another_machine() {
    const S390X: u16 = 22;
    let expected = std::env::consts::ARCH;
    let reason = format!(
        "built for another machine, install a build for this one, expected {expected} ELF, got: s390x ELF"
    );
    with_library(|library| library.machine(S390X)).refuses(&refused("E_MACHINE", &reason));
}

#[test]
fn another_target_of_the_same_machine() {
    let target = host_facts().target;
    let other = target.replace("-gnu", "-foo");
    let reason =
        format!("built for another target, install a build for this one, expected {target}, got: {other}");
    with_library(|library| library.metadata("-gnu", "-foo")).refuses(&refused("E_TARGET", &reason));
}

const INTERFACE: &str = r#""interface":"1.0""#;

#[test]
fn another_major_version_of_the_interface() {
    let reason = "built for another major version of the interface, rebuild the mod or update it (cmd mods update \
                  --latest), expected 1.x, got: 2.0";
    with_library(|library| library.metadata(INTERFACE, r#""interface":"2.0""#))
        .refuses(&refused("E_INTERFACE_MAJOR", reason));
}

#[test]
fn a_newer_minor_version_of_the_interface() {
    let reason = "needs a newer cmd: built for a newer interface, update cmd or install an older version of the \
                  mod, expected at most 1.0, got: 1.9";
    with_library(|library| library.metadata(INTERFACE, r#""interface":"1.9""#))
        .refuses(&refused("E_INTERFACE_MINOR", reason));
}

/// The line for a library that ends the program with a panic.
fn panics_abort(found: &str) -> String {
    let reason = "built so that a panic ends the whole program, remove panic = \"abort\" from the profile and rebuild, \
                  expected unwind, got: ";
    refused("E_PANIC_ABORT", &format!("{reason}{found}"))
}

#[test]
fn built_with_panic_abort_by_its_own_word() {
    with_library(|library| library.metadata(r#""panic":"unwind"}"#, r#""panic":"abort"}"#))
        .refuses(&panics_abort("abort"));
}

#[test]
fn built_with_panic_abort_by_its_symbols() {
    with_library(|library| library.replace(".dynstr", "_Unwind_RaiseException", "_Unwind_RaiseNothing"))
        .refuses(&panics_abort("no unwind symbol"));
}

#[test]
fn a_newer_glibc() {
    let (major, minor) = host_facts().glibc.unwrap();
    let reason = format!(
        "needs a newer glibc, build it on an older system or update this one, expected at most {major}.{minor}, got: 99.1"
    );
    with_library(|library| library.replace(".dynstr", "GLIBC_2.3.4", "GLIBC_99.1"))
        .refuses(&refused("E_GLIBC", &reason));
}

#[test]
fn a_library_search_path() {
    let reason = "has a library search path of its own, link it without -rpath, got: DT_RUNPATH";
    with_library(|library| library.dynamic(tag::RELACOUNT, |_| (tag::RUNPATH, 1)))
        .refuses(&refused("E_RPATH", reason));
}

#[test]
fn a_needed_library_that_not_every_machine_has() {
    let reason = "needs a shared library beside those of the system, link it statically, expected the C library and \
                  libgcc_s only, got: libxyz_s.so.1";
    with_library(|library| library.replace(".dynstr", "libgcc_s.so.1", "libxyz_s.so.1"))
        .refuses(&refused("E_NEEDED", reason));
}

#[test]
fn static_thread_local_storage() {
    let reason = "uses static thread-local storage (DF_STATIC_TLS), rebuild it with -C tls-model=global-dynamic or \
                  without initial-exec C code";
    with_library(|library| library.dynamic(tag::FLAGS, |flags| (tag::FLAGS, flags | STATIC_TLS)))
        .refuses(&refused("E_STATIC_TLS", reason));
}

#[test]
fn relocations_in_the_code() {
    let reason = "has relocations in its code (DT_TEXTREL), rebuild it as position-independent code";
    with_library(|library| library.dynamic(tag::RELACOUNT, |_| (tag::TEXTREL, 0)))
        .refuses(&refused("E_TEXTREL", reason));
}

#[test]
fn an_executable_stack() {
    let reason = "wants an executable stack, link it with -z noexecstack";
    with_library(Library::executable_stack).refuses(&refused("E_EXEC_STACK", reason));
}

#[test]
fn a_library_that_watches_the_loader() {
    let reason = "makes the loader load an audit or filter library, link it without it, got: DT_AUDIT";
    with_library(|library| library.dynamic(tag::RELACOUNT, |_| (tag::AUDIT, 1)))
        .refuses(&refused("E_AUDIT", reason));
}

#[test]
fn a_library_that_the_system_cannot_load() {
    let reason = "the system cannot load the library: undefined symbol: _Unwind_GetIPNone, version GCC_4.2.0: DIR/bad.so";
    with_library(|library| library.replace(".dynstr", "_Unwind_GetIPInfo", "_Unwind_GetIPNone"))
        .tells(&bad("E_DLOPEN", reason));
}

#[test]
fn a_library_without_a_root_module() {
    let reason = "the library has no root module that can be used, export the mod with export_mod!(factory), got none: \
                  misbehaving";
    with_library(|library| library.replace(".dynstr", "_1as_0lib_1header", "_1as_0lib_2header"))
        .tells(&bad("E_NO_ROOT_MODULE", reason));
}

#[test]
fn a_library_that_is_another_mod_than_it_says() {
    let start = Start::new();
    let library = Library::built("numbered").replace(".rodata", "numbered-000", "numbered-001");
    let path = library.write(&start.path("bad.so"));
    start.with_mod(&path).tells(&bad(
        "E_IDENTITY",
        "the library says that it is numbered-000 0.3.7 before it runs, and numbered-001 0.3.7 once it does; build it \
         anew with export_mod!",
    ));
}

#[test]
fn a_library_of_another_layout_than_it_says() {
    let start = Start::new();
    let library = Library::built("numbered").replace(".rodata", "register;", "registeR;");
    let path = library.write(&start.path("bad.so"));
    start.with_mod(&path).tells(&bad(
        "E_LAYOUT",
        "does not have the layout of the interface that it names; build it again, unchanged: unexpected field, the mod has \
         field_name:registeR, this cmd has field_name:register: numbered-000",
    ));
}

#[test]
fn a_library_of_another_interface_than_it_says() {
    let start = Start::new();
    let library = Library::built("numbered").replace(".rodata", "1.0.0", "1.7.0");
    let path = library.write(&start.path("bad.so"));
    start.with_mod(&path).tells(&bad(
        "E_INTERFACE",
        "built against interface 1.7, this cmd has 1.0; build the mod again, or update cmd: numbered-000",
    ));
}

#[test]
fn a_factory_that_returns_an_error() {
    with_library(|library| library)
        .with(["--mod-option", "misbehaving.at=factory", "--mod-option", "misbehaving.how=error"])
        .tells(&bad("E_FACTORY", "its factory failed, nothing of it is registered: went wrong"));
}

#[test]
fn a_factory_that_panics() {
    let source = include_str!("../mods/misbehaving/src/bad.rs");
    let line = source.lines().position(|line| line.contains("panic!(\"called\")")).unwrap() + 1;
    let reason = format!(
        "its factory failed, nothing of it is registered: panicked: called at tests/mods/misbehaving/src/bad.rs:{line}"
    );
    with_library(|library| library)
        .with(["--mod-option", "misbehaving.at=factory", "--mod-option", "misbehaving.how=panic-called"])
        .tells(&bad("E_FACTORY", &reason));
}

#[test]
fn a_factory_that_never_returns() {
    for how in ["hang", "spin"] {
        let start = with_library(|library| library);
        start.settings(&json!({ "mods": { "loadTimeoutMs": 300 } }));
        let how = format!("misbehaving.how={how}");
        start.with(["--mod-option", "misbehaving.at=factory", "--mod-option", &how]).tells(&bad(
            "E_STUCK",
            "did not load within 300ms, stuck in its factory; start without it: take it out of `--mod`, or put its name \
             into `mods.disabled`: misbehaving",
        ));
    }
}

#[test]
fn two_mods_of_a_name() {
    let start = with_library(|library| library);
    let other = start.path("other.so");
    Library::built("misbehaving").write(&other);
    start.with_mod(&other).misbehaves().tells(
        "mod not loaded [E_DUPLICATE] from --mod DIR/other.so: another mod of that name comes before it, from \
         --mod DIR/bad.so; take one of them out or rename it: misbehaving",
    );
}
