//! The ban on falling back to PyTorch: a static check that `ModelNew.forward` computes nothing in torch.
//!
//! `walk` follows forward as an abstract interpreter would: each call with the values of its arguments, into helpers, methods
//! and modules of the file; names stand for what they were bound to, so that no alias hides a function. `value` is what it
//! knows of a value, `file` what the file defines. What it meets is a list of [`Event`]s; each rule, one a file, says which
//! are its own. *Strict* allows buffers, strides, metadata and launches; *lenient* also copies and small fills.
//!
//! Bodies of `with` and comprehensions are not in the syntax tree: a path of forward through one is reported as not
//! read (F012), never passed over. Does not catch: what `value` lists, code run by attributes that are set outside
//! `__init__` and forward (`setattr`, hooks), and the truth value of a tensor (`if x:`).

mod call;
mod events;
mod file;
mod names;
mod statement;
mod value;
mod walk;

mod bypass;
mod class_body;
mod copy;
mod functional;
mod guarded;
mod indexing;
mod method;
mod module_call;
mod no_kernel;
mod operator;
mod placeholder;
mod torch_function;
mod unlaunched;
mod unread;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::rule::{Finding, Found};
use crate::diag::{Code, Severity, codes};
use crate::syntax::ast::Module;
use events::{Event, Walked};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    #[default]
    Strict,
    Lenient,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::Strict => "strict",
            Mode::Lenient => "lenient",
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Ban {
    pub mode: Mode,
    /// Whether the caller knows that the task computes, so that kernels which only move data do not solve it.
    pub task_computes: bool,
    /// Parameters of `forward` that the caller knows to be no tensors.
    pub numbers: BTreeSet<String>,
    /// Codes of rules that stay silent, for tests.
    pub off: BTreeSet<&'static str>,
}

pub struct BanRule {
    pub code: &'static Code,
    check: fn(&Walked<'_>, &Ban, &mut Found<'_>),
}

/// Every rule, in the order of codes.
pub static RULES: &[BanRule] = &[
    BanRule { code: &codes::BAN_TORCH, check: torch_function::check },
    BanRule { code: &codes::BAN_FUNCTIONAL, check: functional::check },
    BanRule { code: &codes::BAN_METHOD, check: method::check },
    BanRule { code: &codes::BAN_OPERATOR, check: operator::check },
    BanRule { code: &codes::BAN_MODULE, check: module_call::check },
    BanRule { code: &codes::BAN_INDEX, check: indexing::check },
    BanRule { code: &codes::BAN_NO_KERNEL, check: no_kernel::check },
    BanRule { code: &codes::BAN_UNLAUNCHED, check: unlaunched::check },
    BanRule { code: &codes::BAN_PLACEHOLDER, check: placeholder::check },
    BanRule { code: &codes::BAN_GUARDED, check: guarded::check },
    BanRule { code: &codes::BAN_BYPASS, check: bypass::check },
    BanRule { code: &codes::BAN_UNREAD, check: unread::check },
    BanRule { code: &codes::BAN_COPY, check: copy::check },
    BanRule { code: &codes::BAN_CLASS, check: class_body::check },
];

/// What breaks the ban in a file, in the order of the text.
pub fn check(module: &Module, ban: &Ban) -> Vec<Finding> {
    let walked = walk::walk(module, ban);
    let mut list = Vec::new();
    for rule in RULES.iter().filter(|rule| !ban.off.contains(rule.code.id)) {
        (rule.check)(
            &walked,
            ban,
            &mut Found { file: &module.file, code: rule.code, severity: Severity::Error, list: &mut list },
        );
    }
    list.sort_by_key(|finding| super::position(&finding.diagnostic));
    list
}

/// Reports an event, with the way from forward to it.
fn report<'f>(event: &Event<'_>, message: String, found: &'f mut Found<'_>) -> &'f mut Finding {
    let finding = found.at(event.span, message);
    if !event.way.is_empty() {
        let way: Vec<String> = event.way.iter().map(|name| format!("`{name}`")).collect();
        finding.note(format!("reached from forward by way of {}", way.join(", ")));
    }
    finding
}
