//! Hands the target triple and the compiler's version to the crate: mods carry both in their metadata.

use std::{env, process::Command};

fn main() {
    let target = env::var("TARGET").unwrap_or_default();
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    println!("cargo::rustc-env=CARGO_PKG_NAME=mod-interface");
    println!("cargo::rustc-env=MOD_INTERFACE_TARGET={target}");
    println!("cargo::rustc-env=MOD_INTERFACE_RUSTC={}", version.trim());
    println!("cargo::rerun-if-changed=build.rs");
}
