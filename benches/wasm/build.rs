//! Builds the guest for WebAssembly.

use std::{env, path::PathBuf, process::Command};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let status = Command::new(env::var_os("CARGO").expect("cargo sets it"))
        .args([
            "build",
            "--release",
            "--target",
            "wasm32-unknown-unknown",
            "--manifest-path",
            "guest/Cargo.toml",
        ])
        .arg("--target-dir")
        .arg(&out)
        // What is set for this machine's code is not meant for the guest's.
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the guest does not build; rustup target add wasm32-unknown-unknown");
    let guest = out.join("wasm32-unknown-unknown/release/guest.wasm");
    println!("cargo::rustc-env=GUEST={}", guest.display());
    println!("cargo::rerun-if-changed=guest/src/lib.rs");
    println!("cargo::rerun-if-changed=guest/Cargo.toml");
}
