//! A provider with a model for each thing that can go wrong.
#![forbid(unsafe_code)]

mod models;

use mod_interface::prelude::*;

export_mod!(faulty_provider);

async fn faulty_provider(cmd: ModApi) -> Result<()> {
    models::add(&cmd)
}
