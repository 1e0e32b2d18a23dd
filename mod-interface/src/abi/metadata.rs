/// The JSON that a mod carries in its metadata section, in parts: read before any of its code runs.
pub const fn metadata_parts(name: &'static str, version: &'static str) -> [&'static str; 15] {
    [
        r#"{"schema":1,"name":""#,
        name,
        r#"","version":""#,
        version,
        r#"","interface":""#,
        env!("CARGO_PKG_VERSION_MAJOR"),
        ".",
        env!("CARGO_PKG_VERSION_MINOR"),
        r#"","target":""#,
        env!("MOD_INTERFACE_TARGET"),
        r#"","rustc":""#,
        env!("MOD_INTERFACE_RUSTC"),
        r#"","panic":""#,
        if cfg!(panic = "unwind") { "unwind" } else { "abort" },
        r#""}"#,
    ]
}

/// The length of `parts` one after another.
pub const fn joined_len(parts: &[&str]) -> usize {
    let mut len = 0;
    let mut part = 0;
    while part < parts.len() {
        len += parts[part].len();
        part += 1;
    }
    len
}

/// `parts` one after another, as the bytes of a static: the metadata is put together by the compiler.
pub const fn join<const N: usize>(parts: &[&str]) -> [u8; N] {
    let mut bytes = [0; N];
    let mut at = 0;
    let mut part = 0;
    while part < parts.len() {
        let text = parts[part].as_bytes();
        let mut byte = 0;
        while byte < text.len() {
            bytes[at] = text[byte];
            at += 1;
            byte += 1;
        }
        part += 1;
    }
    bytes
}

/// A crate's name as a mod's name: `_` is read as `-`.
pub const fn dashed<const N: usize>(name: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let mut at = 0;
    while at < N {
        let byte = name.as_bytes()[at];
        bytes[at] = if byte == b'_' { b'-' } else { byte };
        at += 1;
    }
    bytes
}

/// The bytes that [`dashed`] gives, as text.
pub const fn text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::{dashed, join, joined_len, metadata_parts, text};

    #[test]
    fn the_metadata_of_a_mod_is_json() {
        const PARTS: &[&str] = &metadata_parts("a-mod", "1.2.3");
        static METADATA: [u8; joined_len(PARTS)] = join(PARTS);
        let json: serde_json::Value = serde_json::from_slice(&METADATA).unwrap();
        let rustc = json["rustc"].as_str().unwrap();
        assert!(rustc.starts_with("rustc 1."), "{rustc}");
        let expected = serde_json::json!({
            "schema": 1, "name": "a-mod", "version": "1.2.3", "interface": "1.0", "target": crate::abi::TARGET,
            "rustc": rustc, "panic": "unwind",
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn the_name_of_a_crate_becomes_one_of_a_mod() {
        assert_eq!(dashed::<6>("my_mod"), *b"my-mod");
        assert_eq!(text(b"my-mod"), "my-mod");
        assert_eq!(text(b"\xff"), "");
    }
}
