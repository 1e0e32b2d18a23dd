//! The command line: arguments, print mode, and the `mods` commands.
//!
//! [`run`] is the whole program: it takes what the process was given, and gives the exit code.

mod args;
mod figures;
mod interrupt;
mod mods;
mod output;
mod print;
mod process;
mod prompt;
mod request;
mod session;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeSet,
    io::{self, IsTerminal},
    sync::{Arc, atomic::AtomicBool},
};

use clap::Parser;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use self::{
    args::{Cli, Command, RunArgs, Workspace},
    output::{Exit, Streams, Usage},
    print::Printing,
    request::RunRequest,
};
use crate::{
    mod_host::host_facts,
    settings::{self, Loaded, Places, Trust},
};

pub use process::{Hidden, Process};

/// Threads for sessions. Two, so that a mod that never returns leaves one for everybody else.
const WORKERS: usize = 2;

/// Does what the command line says, and gives the exit code: 0 for a run that came to its own end or a
/// command that worked, 2 for a wrong command line, 1 for everything else.
///
/// It is the whole program, so it is run once, and the process ends after it: child processes that still run are
/// killed, and no harness of this process can start another one.
pub fn run(process: &Process) -> u8 {
    let cli = match Cli::try_parse_from(&process.args) {
        Ok(cli) => cli,
        Err(error) => {
            // Where it cannot be printed, the code still tells.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(Exit::Usage.code());
        }
    };
    let (mut out, mut err) = (anstream::stdout(), anstream::stderr());
    let is_json = matches!(&cli.command, Some(Command::Mods { command }) if command.is_json());
    let exit = match cli.command {
        Some(Command::Mods { command }) => in_runtime(|runtime| {
            let cancel = CancellationToken::new();
            if command.waits_for_others() {
                let begun = Arc::new(AtomicBool::new(true));
                interrupt::interrupt_on_signal("the command", cancel.clone(), begun)?;
            }
            let streams = Streams { out: &mut out, err: &mut err };
            runtime.block_on(mods::Context { process, facts: host_facts(), streams, cancel }.run(&command))
        }),
        None => print(process, &cli.run),
    };
    let failed = |error: anyhow::Error| {
        let mut streams = Streams { out: &mut out, err: &mut err };
        if is_json {
            // Where nobody reads it, the code still tells.
            let _ = streams.failed_report(&error);
        }
        streams.failure(&error)
    };
    exit.unwrap_or_else(failed).code()
}

/// Runs one prompt. There is print mode alone so far.
fn print(process: &Process, args: &RunArgs) -> anyhow::Result<Exit> {
    let Some(typed) = &args.print else {
        let text = "the interactive interface is not built yet; run one prompt with: cmd -p \"PROMPT\"";
        return Err(Usage(text.to_owned()).into());
    };
    let piped = read_piped(typed)?;
    let prompt = prompt::compose(typed, piped.as_deref())?;
    let printing = Printing {
        format: args.output_format,
        verbose: args.verbose,
        terminal: io::stdout().is_terminal(),
        out: io::stdout(),
        err: anstream::stderr(),
    };
    // A signal that comes until here ends the program by itself.
    let request = request(process, args, prompt);
    let (cancel, begun) = (CancellationToken::new(), Arc::new(AtomicBool::new(false)));
    interrupt::interrupt_on_signal("the run", cancel.clone(), Arc::clone(&begun))?;
    let run_prompt = session::prompts(process.model_access.clone(), begun);
    in_runtime(|runtime| runtime.block_on(printing.run(&*run_prompt, request, cancel)))
}

/// What stands on standard input: all of it where it is piped, or where nothing else is the prompt.
fn read_piped(typed: &str) -> anyhow::Result<Option<String>> {
    if io::stdin().is_terminal() && typed != "-" {
        return Ok(None);
    }
    let waiting = || anstream::eprintln!("reading the prompt from standard input; < /dev/null leaves it out");
    Ok(Some(prompt::read(io::stdin(), waiting)?))
}

/// What the arguments and the settings ask for.
fn request(process: &Process, args: &RunArgs, prompt: String) -> anyhow::Result<RunRequest> {
    let places = workspace(process, &args.workspace)?;
    let mut settings = settings::load(&places)?;
    settings.warnings.extend(gated(&settings, &places, args)?);
    Ok(RunRequest {
        settings,
        places,
        prompt,
        model: args.model.clone(),
        mods: args.mods.iter().map(|path| process.cwd.join(path)).collect(),
        mod_options: args.mod_options.clone(),
        no_mods: args.no_mods,
        max_turns: args.max_turns,
        permission_mode: args.permission_mode,
        skip_permissions: args.dangerously_skip_permissions,
        allow: args.allow.clone(),
        deny: args.deny.clone(),
        record: args.record(),
        mod_timing: args.mod_timing,
    })
}

/// What is said of the settings of a project that is not trusted: which of them do not count.
fn gated(settings: &Loaded, places: &Places, args: &RunArgs) -> settings::Result<Option<String>> {
    let mut keys = settings.gated();
    keys.retain(|key| *key != "model" || args.model.is_none());
    let counts = args.dangerously_skip_permissions
        || keys.is_empty()
        || Trust::load(places)?.is_trusted(&places.cwd, &BTreeSet::new());
    let keys = keys.join(", ");
    Ok((!counts).then(|| {
        format!("the workspace is not trusted (see cmd mods trust), so what its settings say does not count of: {keys}")
    }))
}

/// The places for the workspace that was typed.
fn workspace(process: &Process, typed: &Workspace) -> anyhow::Result<Places> {
    let cwd = typed.resolve(&process.cwd).map_err(|error| {
        let typed = typed.cwd.as_deref().unwrap_or(&process.cwd);
        Usage(format!("the folder to work in cannot be used: {}: {error}", typed.display()))
    })?;
    let places = Places::new(cwd, process.home_override.clone(), process.user_home.clone())?;
    Ok(Places { cargo_target: process.cargo_target.clone(), ..places })
}

/// Makes a runtime for `work`. It is not waited for at the end: a mod may never return. What its tasks
/// have started is ended.
fn in_runtime(work: impl FnOnce(&Runtime) -> anyhow::Result<Exit>) -> anyhow::Result<Exit> {
    let runtime = Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()?;
    let exit = work(&runtime);
    runtime.shutdown_background();
    crate::process::end_all();
    exit
}
