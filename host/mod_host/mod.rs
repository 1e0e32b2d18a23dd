//! mod_host
