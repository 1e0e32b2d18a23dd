//! Makes interface 1.1 of today's: its sources, with one more slot at the end of the table of hooks.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

const TODAY: &str = "../../mod-interface/src";

/// In `abi/callable.rs`: what stands there, and what comes behind it.
const SLOT: [(&str, &str); 2] = [
    (
        "pub $last: Option<unsafe extern \"C\" fn(this: This<'_>, frame: &Frame, reply: &mut Reply) -> u32>,",
        "/// The slot of a hook that 1.0 has not.\n\
         pub on_later: Option<unsafe extern \"C\" fn(this: This<'_>, frame: &Frame, reply: &mut Reply) -> u32>,",
    ),
    (
        "$last: hooks.contains(Hook::$last_hook).then_some(enter_hook::<{ Hook::$last_hook as usize }>),",
        "on_later: Some(enter_hook::<{ Hook::$last_hook as usize }>),",
    ),
];

/// Behind all of `abi/callable.rs`: how a host of 1.1 asks for it.
const ASK: &str = "
impl HookObject {
    /// Whether there is a hook in the new slot.
    pub fn has_later(&self) -> bool {
        self.0.vtable().on_later().flatten().is_some()
    }
}
";

fn main() {
    let interface = PathBuf::from(env::var("OUT_DIR").unwrap()).join("interface");
    copy(Path::new(TODAY), &interface);
    edit(&interface.join("abi/callable.rs"), |text| SLOT.iter().fold(text, append) + ASK);
    // What is included has no attributes of its own, and names none of its own macros.
    edit(&interface.join("lib.rs"), |text| {
        let lines = text.lines().filter(|line| !line.starts_with("//!") && !line.starts_with("#!["));
        lines.map(|line| line.replace("{export_mod, ", "{") + "\n").collect()
    });
    let rustc = Command::new(env::var("RUSTC").unwrap()).arg("--version").output().unwrap();
    println!("cargo::rustc-env=CARGO_PKG_NAME=mod-interface");
    println!("cargo::rustc-env=MOD_INTERFACE_TARGET={}", env::var("TARGET").unwrap());
    println!("cargo::rustc-env=MOD_INTERFACE_RUSTC={}", String::from_utf8(rustc.stdout).unwrap().trim());
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={TODAY}");
}

fn append(text: String, (before, more): &(&str, &str)) -> String {
    assert_eq!(text.matches(before).count(), 1, "abi/callable.rs has changed, and so must this: {before}");
    text.replace(before, &format!("{before}\n{more}"))
}

fn edit(path: &Path, change: impl FnOnce(String) -> String) {
    fs::write(path, change(fs::read_to_string(path).unwrap())).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            // Today's unit tests need what this package does not depend on.
            let text = fs::read_to_string(entry.path()).unwrap();
            fs::write(to, text.replace("#[cfg(test)]", "#[cfg(any())]")).unwrap();
        }
    }
}
