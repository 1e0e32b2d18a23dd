//! The entries of a session as a tree, and the branch of it on which the session goes on.

use std::{collections::BTreeMap, sync::Arc};

use mod_interface::types::{AgentState, Message, TreeNode};
use serde_json::Value;

use super::{
    branch::{Branch, Change},
    entry::{Body, Entry, Standing, entry_id, entry_number},
};

pub(super) struct Tree {
    session_id: Arc<str>,
    /// The entries that hold, all branches, in the order of the file.
    entries: Vec<Held>,
    /// The number of the last entry.
    last: u64,
    /// Where the session goes on: behind this entry, or at the root.
    leaf: Option<usize>,
    labels: BTreeMap<String, String>,
    name: Option<Arc<str>>,
    branch: Branch,
}

struct Held {
    number: u64,
    /// The entry that this one follows, or the root.
    parent: Option<usize>,
    body: Body,
}

impl Tree {
    pub(super) fn new(session_id: Arc<str>) -> Self {
        Self {
            session_id,
            entries: Vec::new(),
            last: 0,
            leaf: None,
            labels: BTreeMap::new(),
            name: None,
            branch: Branch::default(),
        }
    }

    /// Takes over the entries of a file that hold together: those of a turn, or one. Nothing looks at the
    /// branch until [`Tree::settle`].
    ///
    /// # Errors
    /// Which of them stands where it cannot, and why.
    pub(super) fn read(&mut self, entries: impl Iterator<Item = Entry>) -> Result<(), (usize, String)> {
        let mut before = None;
        for (index, entry) in entries.enumerate() {
            self.read_one(entry, &mut before).map_err(|reason| (index, reason))?;
        }
        Ok(())
    }

    fn read_one(&mut self, entry: Entry, before: &mut Option<usize>) -> Result<(), String> {
        let number = entry_number(&entry.id).filter(|number| *number > self.last);
        let number = number.ok_or_else(|| format!("ids are hex numbers that grow, got: {}", entry.id))?;
        let parent = match (entry.body.standing(), entry.parent_id) {
            (Standing::Aside, _) => return self.read_aside(number, entry.body),
            // What is about the session as a whole follows nothing, also where a later version wrote it.
            (_, None) if entry.body == Body::Other && self.leaf.is_some() => {
                return self.read_aside(number, entry.body);
            }
            (_, None) => None,
            (_, Some(id)) => Some(self.find(&id).ok_or_else(|| format!("it follows no entry: {id}"))?),
        };
        let follows =
            before.map_or_else(|| parent.is_none_or(|it| self.is_node(it)), |it| Some(it) == parent);
        if !follows {
            return Err("it follows an entry that nothing can follow".to_owned());
        }
        self.last = number;
        self.leaf = Some(self.entries.len());
        *before = self.leaf;
        self.entries.push(Held { number, parent, body: entry.body });
        Ok(())
    }

    fn read_aside(&mut self, number: u64, body: Body) -> Result<(), String> {
        let target = match &body {
            Body::Leaf { target_id } | Body::Label { target_id, .. } => self.target(target_id).map(drop),
            _ => Some(()),
        };
        target.ok_or("it is about an entry that is no node of the tree")?;
        self.last = number;
        self.take_aside(body);
        Ok(())
    }

    /// Makes the branch what its entries say.
    pub(super) fn settle(&mut self) {
        self.branch = self.branch_to(self.leaf);
    }

    fn branch_to(&self, leaf: Option<usize>) -> Branch {
        let parent = |index: &usize| self.entries[*index].parent;
        let mut path: Vec<_> = std::iter::successors(leaf, parent).collect();
        path.reverse();
        let mut branch = Branch::default();
        path.into_iter().for_each(|index| branch.apply(index, &self.entries[index].body));
        branch
    }

    /// The ids that `bodies` get behind the leaf: an entry's own, and that of the one that it follows.
    pub(super) fn ids(&self, bodies: &[Body]) -> Vec<(String, Option<String>)> {
        let mut parent = self.leaf.map(|leaf| self.entries[leaf].number);
        let numbered = bodies.iter().zip(self.last + 1..);
        let ids = numbered.map(|(body, number)| match body.standing() {
            Standing::Aside => (entry_id(number), None),
            _ => (entry_id(number), parent.replace(number).map(entry_id)),
        });
        ids.collect()
    }

    /// Takes over entries that were written under [`Tree::ids`].
    pub(super) fn take(&mut self, bodies: Vec<Body>) {
        for body in bodies {
            self.branch.apply(self.entries.len(), &body);
            self.hold(body);
        }
    }

    /// Takes over the entries of a commit of `state`, of which the branch has `keep` messages.
    pub(super) fn take_commit(&mut self, bodies: Vec<Body>, keep: usize, state: &AgentState) {
        bodies.into_iter().for_each(|body| self.hold(body));
        self.branch.advance(keep, state);
    }

    fn hold(&mut self, body: Body) {
        self.last += 1;
        match body.standing() {
            Standing::Aside => self.take_aside(body),
            _ => {
                let parent = self.leaf.replace(self.entries.len());
                self.entries.push(Held { number: self.last, parent, body });
            }
        }
    }

    /// Goes on behind another node.
    pub(super) fn go_to(&mut self, target: Option<usize>) {
        self.last += 1;
        self.leaf = target;
        self.settle();
    }

    fn take_aside(&mut self, body: Body) {
        match body {
            Body::Leaf { target_id } => self.leaf = self.target(&target_id).flatten(),
            Body::Label { target_id, label: Some(label) } => drop(self.labels.insert(target_id, label)),
            Body::Label { target_id, label: None } => drop(self.labels.remove(&target_id)),
            Body::SessionInfo { name } => self.name = Some(name.into()),
            _ => {}
        }
    }

    /// The node of that id: an entry, or the root.
    pub(super) fn target(&self, id: &str) -> Option<Option<usize>> {
        if *id == *self.session_id {
            return Some(None);
        }
        self.find(id).filter(|index| self.is_node(*index)).map(Some)
    }

    fn find(&self, id: &str) -> Option<usize> {
        let number = entry_number(id)?;
        let is_last = self.entries.last().is_some_and(|last| last.number == number);
        if is_last {
            return Some(self.entries.len() - 1);
        }
        self.entries.binary_search_by_key(&number, |held| held.number).ok()
    }

    fn is_node(&self, index: usize) -> bool {
        self.entries[index].body.standing() == Standing::Node
    }

    /// The nodes, parents before their children.
    pub(super) fn nodes(&self) -> Vec<TreeNode> {
        let label = |id: &str| self.labels.get(id).cloned();
        let id = self.session_id.to_string();
        let root = TreeNode { label: label(&id), id, parent_id: None, kind: "session".to_owned() };
        let nodes = self.entries.iter().filter(|held| held.body.standing() == Standing::Node).map(|held| {
            let mut parent = held.parent;
            while let Some(index) = parent.filter(|index| !self.is_node(*index)) {
                parent = self.entries[index].parent;
            }
            let id = entry_id(held.number);
            let kind = held.body.kind().to_owned();
            TreeNode { label: label(&id), id, parent_id: Some(self.node_id(parent)), kind }
        });
        std::iter::once(root).chain(nodes).collect()
    }

    pub(super) fn node_id(&self, node: Option<usize>) -> String {
        node.map_or_else(|| self.session_id.to_string(), |index| entry_id(self.entries[index].number))
    }

    pub(super) fn leaf_id(&self) -> String {
        self.node_id(self.leaf)
    }

    pub(super) fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }

    /// What was said on the branch of the leaf, and was not on the one that ends at `target`.
    pub(super) fn left_behind(&self, target: Option<usize>) -> &[Arc<Message>] {
        let (here, there) = (self.branch.messages(), self.branch_to(target));
        let shared = here.iter().zip(there.messages()).take_while(|(ours, theirs)| Arc::ptr_eq(ours, theirs));
        &here[shared.count()..]
    }

    /// The ids and data of the entries of this owner and type on the branch, in the order of the file.
    pub(super) fn custom(&self, owner: &str, custom_type: &str) -> Vec<(String, Arc<Value>)> {
        let held = self.branch.custom(owner, custom_type).iter().map(|index| &self.entries[*index]);
        let kept = held.filter_map(|held| match &held.body {
            Body::Custom { data, .. } => Some((entry_id(held.number), Arc::clone(data))),
            _ => None,
        });
        kept.collect()
    }

    pub(super) fn branch(&self) -> &Branch {
        &self.branch
    }

    pub(super) fn branch_mut(&mut self) -> &mut Branch {
        &mut self.branch
    }

    pub(super) fn change_to<'a>(&self, state: &'a AgentState) -> Change<'a> {
        self.branch.change_to(state)
    }

    pub(super) fn state(&self) -> AgentState {
        self.branch.state(Arc::clone(&self.session_id))
    }
}
