//! Entry of `cmd`: asks the system what it was given, and does what the command line says.

use std::{env, process::ExitCode};

use host::{
    cli::{self, Live, Process},
    harness::ModelAccess,
    providers::openai::OpenAiConfig,
};

fn main() -> ExitCode {
    let process = match Process::current() {
        Ok(process) => process,
        Err(error) => {
            anstream::eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    let openai =
        OpenAiConfig { base_url: env::var("OPENAI_BASE_URL").ok(), api_key: env::var("OPENAI_API_KEY").ok() };
    cli::run(&process, &Live { access: ModelAccess { openai } }).into()
}
