//! Entry of `cmd`.
fn main() {}
