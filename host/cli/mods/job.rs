//! Installing on a thread that may wait: for the network, for other processes, for the user.

use std::{
    cell::RefCell,
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::Ordering::Relaxed,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use indicatif::ProgressBar;
use registry::{
    HostFacts, Installer,
    fetch::FetchOptions,
    install::{Allowed, Offer, Step},
    settings::Signing,
};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{
    Context,
    trial::{self, Trial, Trials},
};
use crate::{
    cli::{args::Fetching, output::one_line},
    settings::{Loaded, Places, Scope, Settings, SigningMode},
};

/// How often it is looked whether the user wants to go on, while they are asked.
const LOOK: Duration = Duration::from_millis(20);

/// All that an installation into a scope needs.
#[derive(Clone)]
pub(super) struct Job {
    scope_root: PathBuf,
    allowed: Allowed,
    asked: Asked,
    tried: bool,
    facts: HostFacts,
    signing: Signing,
    fetching: FetchOptions,
    wait: bool,
    exe: PathBuf,
    cwd: PathBuf,
    limit: Duration,
    cancel: CancellationToken,
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Nobody: it was said before.
    NoNeed,
    /// The user at the terminal.
    User,
    /// The user, who is not there.
    Missing,
}

impl Context<'_> {
    /// An installation into a scope. Whether packages must be signed is the stricter of what both scopes say.
    pub(super) fn job(&self, places: &Places, loaded: &Loaded, scope: Scope, fetching: &Fetching) -> Job {
        let settings = loaded.merge(true);
        let options =
            FetchOptions { offline: fetching.offline || self.process.offline, ..FetchOptions::default() };
        Job {
            scope_root: places.folder(scope).to_owned(),
            allowed: Allowed::default(),
            asked: Asked::NoNeed,
            tried: true,
            facts: self.facts.clone(),
            signing: signing(&settings),
            fetching: match &self.process.git_protocols {
                Some(protocols) => FetchOptions { git_protocols: protocols.clone(), ..options },
                None => options,
            },
            wait: !fetching.no_wait,
            exe: self.process.exe.clone(),
            cwd: places.cwd.clone(),
            limit: loaded.merge(false).mods.load_timeout(),
            cancel: self.cancel.clone(),
        }
    }
}

fn signing(settings: &Settings) -> Signing {
    let mut keys = settings.mods.user.signing.keys.clone();
    for (pattern, more) in &settings.mods.project.signing.keys {
        // Who may sign is the user's to say; a project can name keys for packages that the user does not.
        keys.entry(pattern.clone()).or_insert_with(|| more.clone());
    }
    let mode = match settings.mods.signing_mode() {
        SigningMode::Off => registry::settings::SigningMode::Off,
        SigningMode::Tofu => registry::settings::SigningMode::Tofu,
        SigningMode::Require => registry::settings::SigningMode::Require,
    };
    Signing { mode, keys }
}

impl Job {
    /// Who is asked before a package is installed: nobody, unless this is given.
    pub(super) fn asking(self, asked: Asked) -> Self {
        Self { asked, ..self }
    }

    /// Takes what would be refused otherwise.
    pub(super) fn allowing(self, allowed: Allowed) -> Self {
        Self { allowed, ..self }
    }

    /// Whether the mods are loaded once before they count.
    pub(super) fn trying(self, tried: bool) -> Self {
        Self { tried, ..self }
    }

    /// Does `work` with an installer, and gives the trials of the mods that it let through too. Must be
    /// called on a tokio runtime.
    pub(super) async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce(&Installer<'_>) -> T + Send + 'static,
    ) -> anyhow::Result<(T, Vec<Trial>)> {
        let handle = Handle::current();
        let (cancel, interrupted) = (self.cancel.clone(), Arc::clone(&self.fetching.interrupted));
        tokio::spawn(async move {
            cancel.cancelled().await;
            interrupted.store(true, Relaxed);
        });
        Ok(tokio::task::spawn_blocking(move || self.work(&handle, work)).await?)
    }

    pub(super) fn signing(&self) -> &Signing {
        &self.signing
    }

    fn work<T>(&self, handle: &Handle, work: impl FnOnce(&Installer<'_>) -> T) -> (T, Vec<Trial>) {
        let bar = ProgressBar::new_spinner();
        let tried = RefCell::new(Vec::new());
        let progress = |step| show(&bar, step);
        let review = |offer: &Offer<'_>| {
            bar.suspend(|| self.ask(offer))?;
            if self.tried {
                bar.set_message("loading its mods once");
                tried.borrow_mut().extend(handle.block_on(self.try_all(offer.root))?);
            }
            Ok(())
        };
        let installer = Installer::new(&self.scope_root, &self.facts)
            .signing(self.signing.clone())
            .allow(self.allowed)
            .fetching(self.fetching.clone())
            .progress(&progress)
            .review(&review);
        let installer = if self.wait { installer } else { installer.no_wait() };
        bar.enable_steady_tick(Duration::from_millis(100));
        bar.set_message("fetching");
        let outcome = work(&installer);
        drop(installer);
        bar.finish_and_clear();
        (outcome, tried.into_inner())
    }

    fn ask(&self, offer: &Offer<'_>) -> Result<(), registry::Error> {
        if self.asked == Asked::NoNeed {
            return Ok(());
        }
        let declined = |reason: &str| registry::Error::Declined { reason: reason.to_owned() };
        let mut err = anstream::stderr();
        let asked = write!(err, "{}", review(offer)).and_then(|()| match self.asked {
            Asked::User => self.confirm(|| line(&mut io::stdin().lock()), &mut err),
            Asked::Missing | Asked::NoNeed => Ok(false),
        });
        match asked {
            Ok(true) => Ok(()),
            Ok(false) if self.cancel.is_cancelled() => Err(registry::Error::Interrupted),
            Ok(false) if self.asked == Asked::Missing => {
                Err(declined("nobody is here to be asked, run it again with --yes if this is what you want"))
            }
            Ok(false) => Err(declined("you said no")),
            Err(error) => Err(declined(&error.to_string())),
        }
    }

    /// Asks, and waits for an answer. Everything but a yes is a no, and so is an interruption. Who reads may not
    /// come back before the process ends.
    fn confirm(
        &self,
        read: impl FnOnce() -> io::Result<String> + Send + 'static,
        out: &mut impl Write,
    ) -> io::Result<bool> {
        write!(out, "Install it? [y/N] ")?;
        out.flush()?;
        let (send, receive) = mpsc::channel();
        thread::Builder::new().name("answer".to_owned()).spawn(move || send.send(read()))?;
        let answer = loop {
            match receive.recv_timeout(LOOK) {
                Ok(answer) => break answer?,
                Err(_) if self.cancel.is_cancelled() => break String::new(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break String::new(),
            }
        };
        Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// Loads the mods of an unpacked package, in a child process.
    pub(super) async fn try_all(&self, root: &Path) -> Result<Vec<Trial>, registry::Error> {
        let trials = Trials { exe: &self.exe, cwd: &self.cwd, limit: self.limit, cancel: &self.cancel };
        let contents = registry::contents(root)?;
        // One without a library for this machine is a warning of the installation.
        let mods = contents.mods.iter().filter_map(|found| {
            let artifact = found.manifest.choose(&self.facts).ok()?;
            Some((found.manifest.name.clone(), found.folder(root).join(&artifact.file)))
        });
        let tried = trials.run(&mods.collect::<Vec<_>>()).await.into_iter();
        let failed = |error| match error {
            trial::Error::Interrupted => registry::Error::Interrupted,
            error => registry::Error::Declined { reason: error.to_string() },
        };
        tried.map(|tried| tried.map_err(failed)).collect()
    }
}

/// What a user must know of a package before it may run.
fn review(offer: &Offer<'_>) -> String {
    let package = offer.package;
    let version = package.resolved.as_deref().unwrap_or("without a version");
    let mut lines = vec![format!("{} {version}", package.id)];
    if let Some(replaces) = offer.replaces {
        lines.push(format!("  replaces   {}", replaces.resolved.as_deref().unwrap_or("what is installed")));
    }
    let rows = [
        ("registry", package.registry.as_deref()),
        ("ref", package.git_ref.as_deref()),
        ("commit", package.commit.as_deref()),
        ("signed by", Some(package.signer.as_deref().unwrap_or("nobody"))),
    ];
    lines.extend(rows.iter().filter_map(|(name, value)| Some(format!("  {name:<9}  {}", (*value)?))));
    for found in offer.mods {
        lines.push(format!("  mod        {} {} for {}", found.name, found.version, found.targets.join(", ")));
    }
    lines.extend(offer.warnings.iter().map(|warning| format!("  warning: {warning}")));
    lines.push("A mod is code that runs with all of your rights.".to_owned());
    lines.iter().map(|line| format!("{}\n", keep_indent(line))).collect()
}

/// One line that cannot trick a terminal, its indent kept.
fn keep_indent(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    format!("{}{}", " ".repeat(indent), one_line(line))
}

fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    input.read_line(&mut line)?;
    Ok(line)
}

/// Tells how far it is, on a terminal; elsewhere only that it waits.
fn show(bar: &ProgressBar, step: Step) {
    let text = match step {
        Step::Waiting => "waiting for another cmd that changes the packages",
        Step::Held => "fetching",
        Step::Fetched => "unpacking",
        Step::Unpacked => "checking",
        Step::Checked => "storing",
        Step::Stored | Step::Locked | Step::Pointed => "finishing",
    };
    if bar.is_hidden() && step == Step::Waiting {
        anstream::eprintln!("{text}");
    }
    bar.set_message(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(cancel: &CancellationToken) -> Job {
        Job {
            scope_root: PathBuf::new(),
            allowed: Allowed::default(),
            asked: Asked::User,
            tried: false,
            facts: HostFacts { interface: (1, 0), target: String::new(), glibc: None },
            signing: Signing::default(),
            fetching: FetchOptions::default(),
            wait: false,
            exe: PathBuf::new(),
            cwd: PathBuf::new(),
            limit: Duration::ZERO,
            cancel: cancel.clone(),
        }
    }

    #[test]
    fn only_a_yes_is_one() {
        for (answer, expected) in
            [("y\n", true), (" YES \n", true), ("n\n", false), ("\n", false), ("", false)]
        {
            let (mut out, job) = (Vec::new(), job(&CancellationToken::new()));
            assert_eq!(
                job.confirm(|| line(&mut answer.as_bytes()), &mut out).unwrap(),
                expected,
                "{answer:?}"
            );
            assert_eq!(String::from_utf8(out).unwrap(), "Install it? [y/N] ");
        }
    }

    #[test]
    fn a_question_that_is_interrupted_is_not_waited_for() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let never = || {
            thread::park();
            Ok("y".to_owned())
        };
        assert!(!job(&cancel).confirm(never, &mut Vec::new()).unwrap());
    }
}
