//! The record of the session, in memory: what the mod keeps in it, its tree, and where it goes on.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{TestMod, core::Core};
use crate::types::{AgentState, CustomMessage, EventPayload, Message, MessageSource, SessionInfo, TreeNode};

const UNBOUND: &str = "no session is bound yet; ask in a hook, an event or a command, not in the factory";
const RUNNING: &str =
    "a run goes on, and the session cannot go elsewhere under it; wait for its end, or ask in a command";

pub(super) struct Record {
    bound: bool,
    running: bool,
    /// The root first.
    nodes: Vec<Node>,
    leaf: usize,
    labels: BTreeMap<String, String>,
    name: Option<String>,
    /// The state of where the session went, until somebody takes it.
    moved: Option<AgentState>,
}

struct Node {
    id: String,
    parent: Option<usize>,
    kind: &'static str,
    /// The type and the data of what was kept.
    kept: Option<(String, Value)>,
    /// What the conversation was at the last commit on the way here, and what the model was not told yet.
    state: AgentState,
    unsaid: Vec<Message>,
}

impl Record {
    pub(super) fn new(session_id: &Arc<str>) -> Self {
        let root = Node {
            id: session_id.to_string(),
            parent: None,
            kind: "session",
            kept: None,
            state: AgentState::new(Arc::clone(session_id)),
            unsaid: Vec::new(),
        };
        let (labels, nodes) = (BTreeMap::new(), vec![root]);
        Self { bound: false, running: false, nodes, leaf: 0, labels, name: None, moved: None }
    }

    pub(super) fn bind(&mut self) {
        self.bound = true;
    }

    pub(super) fn run(&mut self, running: bool) {
        self.running = running;
    }

    pub(super) fn take_moved(&mut self) -> Option<AgentState> {
        self.moved.take()
    }

    /// Keeps something behind the leaf, and gives its id.
    pub(super) fn keep(&mut self, custom_type: &str, data: Value) -> String {
        self.add("custom", Some((custom_type.to_owned(), data)), |_| ())
    }

    pub(super) fn commit(&mut self, state: &AgentState) {
        let unsaid = self.unsaid(state);
        self.add("turn", None, |node| (node.state, node.unsaid) = (state.clone(), unsaid));
    }

    /// What the model was not told, neither by a commit nor by `state`.
    pub(super) fn unsaid(&self, state: &AgentState) -> Vec<Message> {
        let leaf = &self.nodes[self.leaf];
        let mut unsaid = leaf.unsaid.clone();
        for message in state.messages.iter().skip(leaf.state.messages.len()) {
            if let Some(at) = unsaid.iter().position(|unsaid| *unsaid == **message) {
                unsaid.remove(at);
            }
        }
        unsaid
    }

    /// What was kept on the active branch, in order: ids and data.
    fn kept(&self, custom_type: &str) -> Vec<(&str, &Value)> {
        let path = std::iter::successors(Some(self.leaf), |at| self.nodes[*at].parent);
        let kept = path.filter_map(|at| {
            let node = &self.nodes[at];
            let (of, data) = node.kept.as_ref()?;
            (of == custom_type).then_some((node.id.as_str(), data))
        });
        let mut kept: Vec<_> = kept.collect();
        kept.reverse();
        kept
    }

    fn add(
        &mut self,
        kind: &'static str,
        kept: Option<(String, Value)>,
        change: impl FnOnce(&mut Node),
    ) -> String {
        let leaf = &self.nodes[self.leaf];
        let id = format!("{:08x}", self.nodes.len());
        let (parent, state, unsaid) = (Some(self.leaf), leaf.state.clone(), leaf.unsaid.clone());
        let mut node = Node { id: id.clone(), parent, kind, kept, state, unsaid };
        change(&mut node);
        self.leaf = self.nodes.len();
        self.nodes.push(node);
        id
    }

    fn find(&self, id: &str) -> Result<usize, String> {
        let found = self.nodes.iter().position(|node| node.id == id);
        found.ok_or_else(|| {
            format!("the session has no such node, its tree lists those that there are, got: {id}")
        })
    }

    fn tree(&self) -> Vec<TreeNode> {
        let node = |node: &Node| TreeNode {
            id: node.id.clone(),
            parent_id: node.parent.map(|at| self.nodes[at].id.clone()),
            label: self.labels.get(&node.id).cloned(),
            kind: node.kind.to_owned(),
        };
        self.nodes.iter().map(node).collect()
    }

    fn info(&self) -> SessionInfo {
        let messages = &self.nodes[self.leaf].state.messages;
        let first = messages.iter().find(|message| message.source == MessageSource::User);
        SessionInfo {
            id: self.nodes[0].id.clone(),
            name: self.name.clone(),
            first_prompt: first.map(|message| message.text()),
            recorded: true,
        }
    }

    fn label(&mut self, id: &str, label: &str) -> Result<Value, String> {
        self.find(id)?;
        match label.trim() {
            "" => self.labels.remove(id),
            label => self.labels.insert(id.to_owned(), label.to_owned()),
        };
        Ok(Value::Null)
    }

    fn navigate(&mut self, id: &str) -> Result<Value, String> {
        if self.running {
            return Err(RUNNING.to_owned());
        }
        self.leaf = self.find(id)?;
        self.moved = Some(self.nodes[self.leaf].state.clone());
        Ok(Value::Null)
    }

    fn say(&mut self, said: &CustomMessage) -> Result<Value, String> {
        if said.content.trim().is_empty() {
            return Err("a message to the model needs a text, got none".to_owned());
        }
        let message = Message::user_from(MessageSource::Mod, said.content.as_str());
        let entry_id = self.add("custom_message", None, |node| node.unsaid.push(message.clone()));
        Ok(json!({ "entryId": entry_id, "message": message }))
    }
}

/// Answers a service that is about the record; `None` where it is another.
pub(super) fn answer(core: &Core, service: &str, args: &Value) -> Option<Result<Value, String>> {
    let text = |field: &str| args[field].as_str().unwrap_or_default();
    if service == "set_session_name" {
        return Some(Ok(set_name(core, text("name"))));
    }
    if service == "session.append_message" && args["display"] == true {
        let data = json!({ "content": args["content"], "details": args["details"] });
        core.note("show_entry", json!({ "customType": args["customType"], "data": data }));
    }
    let mut record = core.record();
    if service == "session.bound" {
        return Some(Ok(json!(record.bound)));
    }
    let is_ours = service.starts_with("session.") || service.starts_with("sessions.");
    if is_ours && !record.bound {
        return Some(Err(UNBOUND.to_owned()));
    }
    Some(match service {
        "session.append" => Ok(json!(record.keep(text("customType"), args["data"].clone()))),
        "session.append_message" => match serde_json::from_value(args.clone()) {
            Ok(said) => record.say(&said),
            Err(error) => Err(format!("bad arguments for {service}: {error}")),
        },
        "session.entries" => {
            let kept = record.kept(text("customType")).into_iter();
            Ok(kept.map(|(id, data)| json!({ "id": id, "data": data })).collect())
        }
        "session.info" => Ok(json!(record.info())),
        "sessions.tree" => Ok(json!(record.tree())),
        "sessions.leaf_id" => Ok(json!(record.nodes[record.leaf].id)),
        "sessions.set_label" => record.label(text("targetId"), text("label")),
        "sessions.navigate_tree" => record.navigate(text("targetId")),
        _ => return None,
    })
}

fn set_name(core: &Core, name: &str) -> Value {
    let title = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let named = !title.is_empty() && core.record().name.replace(title.clone()).as_ref() != Some(&title);
    if named {
        core.emit(EventPayload::SessionTitled { title });
    }
    Value::Null
}

impl TestMod {
    /// What it kept in the session's record under this type, on the branch that is active, in order.
    pub fn kept(&self, custom_type: &str) -> Vec<Value> {
        self.core.record().kept(custom_type).into_iter().map(|(_, data)| data.clone()).collect()
    }

    /// The session's name.
    pub fn session_name(&self) -> Option<String> {
        self.core.record().name.clone()
    }
}
