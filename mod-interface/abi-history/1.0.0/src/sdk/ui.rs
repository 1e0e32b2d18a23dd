use std::{future::IntoFuture, pin::Pin};

use serde_json::{Value, json};

use super::{Registration, Result, entry::SyncEntry, runtime::RuntimeHandle, services};
use crate::{
    abi::{Callable, Frame},
    types::Placement,
};

/// The person at the keyboard, or nobody.
///
/// With nobody there (print mode) every question has its fixed answer: `confirm` is `false`, `select`
/// and `input` are `None`. Nothing is ever approved by default. Status and widgets are then shown nowhere.
pub struct Ui<'a> {
    frame: &'a Frame,
    runtime: RuntimeHandle,
}

type Answer<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// A yes-no question, from [`Ui::confirm`]; `.await` asks it.
#[must_use = "nothing is asked until it is awaited"]
pub struct Confirm {
    frame: Frame,
    ask: Value,
}

/// A question for a line of text, from [`Ui::input`]; `.await` asks it.
#[must_use = "nothing is asked until it is awaited"]
pub struct Input {
    frame: Frame,
    ask: Value,
}

impl<'a> Ui<'a> {
    pub(super) fn new(frame: &'a Frame, runtime: RuntimeHandle) -> Self {
        Self { frame, runtime }
    }

    /// Whether somebody is there to answer. Questions need not ask for it: it is for what should be said or done in
    /// another way where nobody is.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn rings(cmd: ModApi) -> Result<()> {
    ///     cmd.on(EventKind::RunEnd, |event| {
    ///         if event.ctx().ui().is_interactive() {
    ///             event.ctx().ui().notify("Done.");
    ///         }
    ///     })?;
    ///     Ok(())
    /// }
    /// ```
    pub fn is_interactive(&self) -> bool {
        // Where the host is gone, nobody is there either.
        services::now(self.frame, "ui.interactive", &Value::Null).is_ok_and(|answer| answer == true)
    }

    /// Shows a notice.
    pub fn notify(&self, message: &str) {
        // A host that cannot show it has lost its terminal: nothing that a mod could mend.
        let _lost = services::now(self.frame, "ui.notify", &json!({ "message": message }));
    }

    /// Asks a yes-no question. Dialogs of all mods queue up, one at a time; the hook's clock stands meanwhile.
    /// It fails when the host is going away.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn may_deploy(cmd: &ModApi) -> Result<bool> {
    ///     cmd.ui().confirm("Deploy?").message("It goes to production.").await
    /// }
    /// ```
    pub fn confirm(&self, title: &str) -> Confirm {
        Confirm { frame: self.frame.clone(), ask: json!({ "title": title }) }
    }

    /// Asks for one of `options`, as [`Self::confirm`] does.
    ///
    /// # Errors
    /// The host is going away.
    pub fn select(
        &self,
        title: &str,
        options: &[&str],
    ) -> impl Future<Output = Result<Option<String>>> + Send + 'static + use<> {
        let asked = services::later(self.frame, "ui.select", &json!({ "title": title, "options": options }));
        async move { Ok(serde_json::from_value(asked.await?)?) }
    }

    /// Asks for a line of text, as [`Self::confirm`] does.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn ask_branch(cmd: &ModApi) -> Result<Option<String>> {
    ///     cmd.ui().input("Which branch?").placeholder("main").await
    /// }
    /// ```
    pub fn input(&self, title: &str) -> Input {
        Input { frame: self.frame.clone(), ask: json!({ "title": title }) }
    }

    /// Shows `text` in the mod's segment of the line below the editor, in place of the one before. Each mod has one
    /// segment; they stand in load order. A blank text clears it, as does the registration's `dispose`, and the end
    /// of the mod.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// async fn count_turns(cmd: ModApi) -> Result<()> {
    ///     let turns = std::sync::atomic::AtomicU32::new(0);
    ///     cmd.on(EventKind::TurnEnd, move |event| {
    ///         let turns = turns.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
    ///         event.ctx().ui().set_status(&format!("{turns} turns"))
    ///     })?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// The harness is gone, or the mod did not load.
    pub fn set_status(&self, text: &str) -> Result<Registration> {
        Registration::asked(self.frame, "ui.set_status", &json!({ "text": text }))
    }

    /// Draws lines above or below the editor, each time that the screen is painted, in load order. They are shown as
    /// they are, as those of [`add_renderer`](super::ModApi::add_renderer). Where it panics it is left out, which is
    /// told as a `mod_error`; the other widgets stay.
    ///
    /// ```
    /// # use mod_interface::prelude::*;
    /// use std::sync::{Arc, atomic::{AtomicU32, Ordering::Relaxed}};
    ///
    /// async fn count_calls(cmd: ModApi) -> Result<()> {
    ///     let calls = Arc::new(AtomicU32::new(0));
    ///     let drawn = Arc::clone(&calls);
    ///     cmd.ui().widget(Placement::AboveEditor, move || vec![format!("{} calls", drawn.load(Relaxed))])?;
    ///     let api = cmd.clone();
    ///     cmd.on(EventKind::ToolCompleted, move |_| {
    ///         calls.fetch_add(1, Relaxed);
    ///         api.ui().refresh_widgets();
    ///     })?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// The harness is gone, or the mod did not load.
    pub fn widget<F>(&self, placement: Placement, render: F) -> Result<Registration>
    where
        F: Fn() -> Vec<String> + Send + Sync + 'static,
    {
        let call = move |_: &Frame| Ok(render());
        let callable = Callable::new(Box::new(SyncEntry::new(call, self.runtime.clone())));
        let spec = json!({ "placement": placement }).to_string();
        Registration::added(self.frame, self.frame.add("widget", &spec, callable))
    }

    /// Asks for the screen to be painted again: what a widget draws has changed.
    pub fn refresh_widgets(&self) {
        // A host without a screen has nothing to paint.
        let _lost = services::now(self.frame, "ui.refresh_widgets", &Value::Null);
    }
}

impl Confirm {
    /// Says more below the question.
    pub fn message(mut self, message: &str) -> Self {
        self.ask["message"] = message.into();
        self
    }
}

impl Input {
    /// What stands in the field while nothing is typed.
    pub fn placeholder(mut self, placeholder: &str) -> Self {
        self.ask["placeholder"] = placeholder.into();
        self
    }
}

impl IntoFuture for Confirm {
    type Output = Result<bool>;
    type IntoFuture = Answer<bool>;

    fn into_future(self) -> Self::IntoFuture {
        let asked = services::later(&self.frame, "ui.confirm", &self.ask);
        Box::pin(async move { Ok(serde_json::from_value(asked.await?)?) })
    }
}

impl IntoFuture for Input {
    type Output = Result<Option<String>>;
    type IntoFuture = Answer<Option<String>>;

    fn into_future(self) -> Self::IntoFuture {
        let asked = services::later(&self.frame, "ui.input", &self.ask);
        Box::pin(async move { Ok(serde_json::from_value(asked.await?)?) })
    }
}
