//! builtin
