//! Nodes with one cause are told together, and names that nobody can read are cut.

use crate::diag::{Code, Diagnostic, Place};

/// How many node names a message lists.
pub const NAMED: usize = 5;
/// Longer words, in characters, are cut to their first [`KEPT`] ones.
const LONG: usize = 100;
const KEPT: usize = 60;

/// Cuts names that nobody can read, which files give to nodes, values and operators.
pub fn shorten(mut diagnostic: Diagnostic) -> Diagnostic {
    if let Some(Place::Node { node, .. }) = &mut diagnostic.place {
        *node = shortened(node);
    }
    for text in diagnostic.notes.iter_mut().chain([&mut diagnostic.message]).chain(&mut diagnostic.help) {
        if text.len() > LONG {
            *text = text.split(' ').map(shortened).collect::<Vec<_>>().join(" ");
        }
    }
    diagnostic
}

fn shortened(word: &str) -> String {
    match word.char_indices().nth(KEPT) {
        Some((end, _)) if word.chars().count() > LONG => format!("{}… ({} characters)", &word[..end], word.chars().count()),
        _ => word.to_owned(),
    }
}

/// Messages with the nodes that each is true of, in order of their first.
#[derive(Default)]
pub struct Groups(Vec<Group>);

struct Group {
    code: &'static Code,
    message: String,
    nodes: Vec<String>,
}

impl Groups {
    /// A message about one node.
    pub fn node(&mut self, code: &'static Code, message: String, node: &str) {
        match self.0.iter_mut().find(|g| g.code == code && g.message == message) {
            Some(group) => group.nodes.push(node.to_owned()),
            None => self.0.push(Group { code, message, nodes: vec![node.to_owned()] }),
        }
    }

    /// A message about no node.
    pub fn message(&mut self, code: &'static Code, message: String) {
        self.0.push(Group { code, message, nodes: Vec::new() });
    }

    /// One diagnostic a message, with its first nodes.
    pub fn diagnostics(&self, file: &str) -> impl Iterator<Item = Diagnostic> {
        self.0.iter().map(move |group| {
            let diagnostic = Diagnostic::new(group.code, group.message.clone()).in_file(file);
            let count = group.nodes.len();
            if count == 0 {
                return diagnostic;
            }
            let more = if count > NAMED { ", …" } else { "" };
            let names = group.nodes[..count.min(NAMED)].join(", ");
            diagnostic.note(format!("{count} node{}: {names}{more}", if count == 1 { "" } else { "s" }))
        })
    }
}
