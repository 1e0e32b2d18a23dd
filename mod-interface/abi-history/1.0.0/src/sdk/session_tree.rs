use std::collections::HashMap;

use super::{Error, Result};
use crate::types::TreeNode;

/// The tree of a session, as it was when it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionTree {
    /// Parents before their children, the root first.
    nodes: Vec<TreeNode>,
    parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
    index: HashMap<String, usize>,
}

/// A node of a [`SessionTree`]. A session is as deep as it is long: walk it with a loop, not with a function that
/// calls itself.
#[derive(Clone, Copy)]
pub struct SessionNode<'a> {
    tree: &'a SessionTree,
    at: usize,
}

impl SessionTree {
    pub(super) fn new(nodes: Vec<TreeNode>) -> Result<Self> {
        let mut index: HashMap<String, usize> = HashMap::new();
        let (mut parents, mut children) = (Vec::new(), vec![Vec::new(); nodes.len()]);
        for (at, node) in nodes.iter().enumerate() {
            let known = |id: &String| index.get(id).copied();
            let parent = node.parent_id.as_ref().and_then(known);
            if parent.is_none() != (at == 0) {
                return Err(Error::msg(format!(
                    "the host's tree has a node without its parent: {}",
                    node.id
                )));
            }
            if let Some(parent) = parent {
                children[parent].push(at);
            }
            parents.push(parent);
            index.insert(node.id.clone(), at);
        }
        if nodes.is_empty() {
            return Err(Error::msg("the host's tree has no root"));
        }
        Ok(Self { nodes, parents, children, index })
    }

    /// The beginning of the session, before anything was said.
    pub fn root(&self) -> SessionNode<'_> {
        SessionNode { tree: self, at: 0 }
    }

    /// The node of that id.
    pub fn node(&self, id: &str) -> Option<SessionNode<'_>> {
        self.index.get(id).map(|at| SessionNode { tree: self, at: *at })
    }

    /// All nodes, parents before their children, in the order in which they came to be.
    pub fn nodes(&self) -> impl Iterator<Item = SessionNode<'_>> {
        (0..self.nodes.len()).map(|at| SessionNode { tree: self, at })
    }
}

impl<'a> SessionNode<'a> {
    /// Its id, which stays. The root's is the session's.
    pub fn id(&self) -> &'a str {
        &self.tree.nodes[self.at].id
    }

    /// The name that somebody gave it.
    pub fn label(&self) -> Option<&'a str> {
        self.tree.nodes[self.at].label.as_deref()
    }

    /// What it is: `session` (the root), `turn`, `custom`, `custom_message`, or what a later host has.
    pub fn kind(&self) -> &'a str {
        &self.tree.nodes[self.at].kind
    }

    /// The node that it follows; `None` for the root.
    pub fn parent(&self) -> Option<SessionNode<'a>> {
        self.tree.parents[self.at].map(|at| SessionNode { tree: self.tree, at })
    }

    /// The nodes that follow it, the first branch first.
    pub fn children(&self) -> impl Iterator<Item = SessionNode<'a>> + use<'a> {
        let tree = self.tree;
        tree.children[self.at].iter().map(move |at| SessionNode { tree, at: *at })
    }
}
