//! What mods show: entries of the feed, drawn by renderers, and what stays on the screen, status segments and
//! widgets. It is kept here, for who draws the screen to read; the person's [`Ui`](crate::ui::Ui) is told.

use std::sync::Arc;

use mod_interface::{
    abi::{Callable, OwnFrame, Reply, decode_lines},
    types::{CustomMessage, Placement},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Core,
    adapter::{enter, settle},
    frame::{ModFrame, Question},
    identity::ModIdentity,
    journal::place,
    listener::begin,
    registrations::What,
};
use crate::hooks::HookFault;

const MAX_TYPE: usize = 200;

/// An entry of the feed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    custom_type: String,
    #[serde(default)]
    data: Value,
}

impl Entry {
    /// About how many bytes it is.
    pub(crate) fn size(&self) -> usize {
        self.custom_type.len() + self.data.to_string().len()
    }
}

/// For which entries a renderer is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RendererSpec {
    custom_type: String,
}

/// Where a widget stands.
#[derive(Deserialize)]
pub(crate) struct WidgetSpec {
    pub(crate) placement: Placement,
}

/// Code of a mod that draws lines.
pub(crate) struct Drawing {
    owner: Arc<ModIdentity>,
    /// Where it stands, for people: `renderer:<type>`, `widget`.
    place: String,
    callable: Callable,
}

impl Drawing {
    /// Its lines, each without a line break. A failure is told, and there are none.
    fn lines(&self, core: &Arc<Core>, data: Value) -> Option<Vec<String>> {
        let lines = self.draw(core, data);
        let lines = lines.map_err(|fault| {
            core.listener_faults.tell(&core.bus.main(), &self.owner.id, &self.place, &fault);
        });
        Some(lines.ok()?.iter().flat_map(|line| line.split('\n')).map(printable).collect())
    }

    fn draw(&self, core: &Arc<Core>, data: Value) -> Result<Vec<String>, HookFault> {
        // One that shows an entry of its own type would be drawn for ever.
        let _telling = begin()?;
        let frame = OwnFrame::new(ModFrame::new(core, &self.owner, Question::Draw(Arc::new(data))));
        let mut reply = Reply::default();
        let pending = enter(&core.journal, &self.owner, place::RENDERER, &mut reply, |reply| {
            self.callable.call(frame.frame(), reply)
        });
        match pending {
            None => decode_lines(settle(&reply.completed)?).map_err(HookFault::Invalid),
            Some(_) => Err(HookFault::Invalid("what draws cannot wait".to_owned())),
        }
    }
}

impl Core {
    /// Adds a renderer, the first of its type. One that cannot be added is told, and the mod goes on without it.
    pub(crate) fn add_renderer(
        &self,
        owner: &Arc<ModIdentity>,
        spec: RendererSpec,
        callable: Callable,
    ) -> Result<u64, String> {
        let custom_type = spec.custom_type;
        let place = format!("renderer:{custom_type}");
        if let Err(refused) = check_type(&custom_type) {
            return Ok(self.refuse(owner, &place, &refused));
        }
        let drawing = Drawing { owner: Arc::clone(owner), place: place.clone(), callable };
        let what = What::Renderer(custom_type.as_str().into(), Arc::new(drawing));
        self.register_named(owner, &place, &custom_type, what)
    }

    /// Adds a widget.
    pub(crate) fn add_widget(
        &self,
        owner: &Arc<ModIdentity>,
        spec: &WidgetSpec,
        callable: Callable,
    ) -> Result<u64, String> {
        let drawing = Drawing { owner: Arc::clone(owner), place: "widget".to_owned(), callable };
        let id = self.register(owner, What::Widget(spec.placement, Arc::new(drawing)))?;
        self.ui.repaint();
        Ok(id)
    }

    /// Takes a status text in place of the one before; a blank one clears it.
    pub(crate) fn set_status(&self, owner: &Arc<ModIdentity>, text: &str) -> Result<u64, String> {
        let text = printable(text.trim());
        let registrations = self.registrations();
        let refused = |refusal: super::registrations::Refusal| refusal.to_string();
        registrations.check_open(owner).map_err(refused)?;
        let id = if text.is_empty() {
            drop(registrations.withdraw(owner, |what| matches!(what, What::Status(_))));
            super::core::INERT
        } else {
            registrations.replace(owner, What::Status(text.into())).map_err(refused)?.0
        };
        self.ui.repaint();
        Ok(id)
    }

    /// Shows an entry: what its renderer draws, or its data.
    pub(super) fn show_entry(self: &Arc<Self>, entry: Entry) {
        if !self.ui.interactive() {
            return;
        }
        let as_json = format!("{:#}", entry.data);
        self.show(entry, &as_json);
    }

    /// Shows what a mod says to the model: what its renderer draws of text and details, or its text.
    pub(super) fn show_message(self: &Arc<Self>, said: CustomMessage) {
        if self.ui.interactive() {
            let CustomMessage { custom_type, content, details, .. } = said;
            let data = json!({ "content": content, "details": details });
            self.show(Entry { custom_type, data }, &content);
        }
    }

    fn show(self: &Arc<Self>, Entry { custom_type, data }: Entry, undrawn: &str) {
        let drawn = self.registrations().renderer(&custom_type).and_then(|it| it.lines(self, data));
        let lines = drawn.unwrap_or_else(|| undrawn.lines().map(str::to_owned).collect());
        self.ui.show_entry(&custom_type, &lines);
    }

    /// The lines of the widgets that stand there.
    pub(super) fn widget_lines(self: &Arc<Self>, placement: Placement) -> Vec<String> {
        let widgets = self.registrations().widgets(placement);
        widgets.iter().filter_map(|widget| widget.lines(self, Value::Null)).flatten().collect()
    }
}

impl Entry {
    pub(crate) fn check(self) -> Result<Self, String> {
        check_type(&self.custom_type).map(|()| self)
    }
}

/// A line without what would leave it. Escape sequences stay: they are how it is styled.
fn printable(line: &str) -> String {
    line.trim_end_matches('\r').replace(|c: char| c.is_control() && c != '\u{1b}', " ")
}

pub(super) fn check_type(custom_type: &str) -> Result<(), String> {
    if custom_type.trim().is_empty() || custom_type.len() > MAX_TYPE {
        return Err(format!("the type of an entry has 1 to {MAX_TYPE} bytes, got: {custom_type:?}"));
    }
    Ok(())
}
