//! Collects what is wrong and what is not supported, so that one bad node never hides the others.

use super::lower::Value;
use crate::diag::{Class, Code, Diagnostic, codes};
use crate::import::build::{Groups, NAMED};

pub(super) struct Report {
    file: String,
    errors: Vec<Diagnostic>,
    /// What is wrong with elements in other files: the message, and the initializers.
    external: Vec<(String, Vec<String>)>,
    unsupported: Groups,
    /// Nodes behind an unsupported node, by its label.
    unreachable: Groups,
}

impl Report {
    pub fn new(file: &str) -> Report {
        Report {
            file: file.to_owned(),
            errors: Vec::new(),
            external: Vec::new(),
            unsupported: Groups::default(),
            unreachable: Groups::default(),
        }
    }

    /// A node that is wrong.
    pub fn error(&mut self, code: &'static Code, message: String, node: &str) {
        self.errors.push(Diagnostic::new(code, message).at_node(&self.file, node));
    }

    /// Something wrong with the model as a whole.
    pub fn file(&mut self, code: &'static Code, message: String) {
        self.errors.push(Diagnostic::new(code, message).in_file(&self.file));
    }

    /// A node that is not supported.
    pub fn unsupported(&mut self, code: &'static Code, message: String, node: &str) {
        self.unsupported.node(code, message, node);
    }

    /// A node that would be supported, but for what stands before it.
    pub fn unreachable(&mut self, cause: &str, node: &str) {
        let message = format!("nodes behind {cause} cannot be decomposed");
        self.unreachable.node(&codes::OP_UNSUPPORTED, message, node);
    }

    /// An initializer that cannot be used; gives what its name stands for.
    pub fn tensor(&mut self, code: &'static Code, name: &str, message: &str) -> Value {
        if code == &codes::EXTERNAL_DATA {
            match self.external.iter_mut().find(|(known, _)| known == message) {
                Some((_, names)) => names.push(name.to_owned()),
                None => self.external.push((message.to_owned(), vec![name.to_owned()])),
            }
            return Value::Wrong;
        }
        self.value(code, format!("initializer `{name}`: {message}"), format!("initializer `{name}`"))
    }

    /// An input that cannot be used; gives what its name stands for.
    pub fn input(&mut self, code: &'static Code, name: &str, message: &str) -> Value {
        self.value(code, format!("input `{name}` {message}"), format!("input `{name}`"))
    }

    /// An output that cannot be given.
    pub fn output(&mut self, code: &'static Code, name: &str, message: &str) {
        self.value(code, format!("output `{name}` {message}"), String::new());
    }

    fn value(&mut self, code: &'static Code, message: String, cause: String) -> Value {
        if code.class == Class::Unsupported {
            self.unsupported.message(code, message);
            return Value::Unsupported(cause);
        }
        self.errors.push(Diagnostic::new(code, message).in_file(&self.file));
        Value::Wrong
    }

    /// The errors so far and some more.
    pub fn into_errors(mut self, more: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let left_out = self.external.len().saturating_sub(NAMED);
        for (at, (message, names)) in self.external.into_iter().take(NAMED).enumerate() {
            let others = match names.len() {
                1 => String::new(),
                count => format!(" (the same for {} more)", count - 1),
            };
            let message = format!("initializer `{}`: {message}{others}", names[0]);
            let mut diagnostic = Diagnostic::new(&codes::EXTERNAL_DATA, message).in_file(&self.file);
            if at + 1 == NAMED && left_out > 0 {
                diagnostic = diagnostic.note(format!("{left_out} more messages about external data are left out"));
            }
            self.errors.push(diagnostic.help("keep the model's data files beside it as they were written, or write one file: onnx.save(onnx.load(path), \"one.onnx\")"));
        }
        self.errors.extend(more);
        self.errors
    }

    /// The unsupported things, when nothing is wrong.
    pub fn finish(self) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        if !self.errors.is_empty() || !self.external.is_empty() {
            return Err(self.into_errors(Vec::new()));
        }
        let behind = self.unreachable.diagnostics(&self.file).map(|d| {
            d.help(
                "if the file gave the types of what is not supported, they could be: \
                 onnx.save(onnx.shape_inference.infer_shapes(onnx.load(path)), path)",
            )
        });
        Ok(self.unsupported.diagnostics(&self.file).chain(behind).collect())
    }
}
