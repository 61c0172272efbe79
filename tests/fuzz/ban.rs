//! The ban on falling back to PyTorch: files with a `ModelNew`, by grammar and damaged.
//!
//! The grammar knows whether it wrote something that computes in torch, so that what is found must say the same: nothing
//! of a forward that only asks, allocates and launches, and something of one with a single computation anywhere in it.

use std::collections::BTreeSet;
use std::path::Path;

use decompose::diag::{Severity, render::render};
use decompose::lint::ban::{Ban, Mode, check};
use decompose::source::SourceFile;
use decompose::syntax::parse_module;

use crate::choices::Choices;
use crate::mutate::damaged;
use crate::run;
use crate::runner::{begin, cases};

const HEAD: &str = "\
import functools
import operator
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def launch(a, b):
    kernel[(1,)](a, b, a.numel(), BLOCK=64)
    return b


def double(v):
    return v * 2


def again(v, n):
    return v if n > 8 else again(v, n)


class Inner(nn.Module):
    def forward(self, v):
        return launch(v, torch.empty_like(v))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.inner = Inner()
        self.width = 4

    def own(self, v):
        return launch(v, self.linear.weight)

    def forward(self, x, n: int):
        kernel[(1,)](x, x, n, BLOCK=64)
";

/// Values that are tensors, of `T`, a tensor, and `N`, a number.
const TENSORS: [&str; 18] = [
    "T",
    "torch.empty_like(T)",
    "torch.zeros((N, N), dtype=T.dtype, device=T.device)",
    "T.view(-1)",
    "T.permute(1, 0)",
    "T.transpose(0, 1)",
    "launch(T, T)",
    "self.inner(T)",
    "self.own(T)",
    "(lambda v: v)(T)",
    "(T if N > 1 else T)",
    "[T, T][0]",
    "dict(a=T)['a']",
    "dict([('a', T)])['a']",
    "{'a': T}.get('a')",
    "[T, T].pop()",
    "list({'a': T}.values())[0]",
    "functools.partial(launch, T)(T)",
];

const NUMBERS: [&str; 10] = [
    "N",
    "3",
    "T.numel()",
    "T.shape[0]",
    "T.size(0) // 2",
    "(N + N * 2)",
    "max(N, 1)",
    "triton.cdiv(N, 64)",
    "self.width",
    "len(T.shape)",
];

/// What computes in torch, or may.
const COMPUTATIONS: [&str; 26] = [
    "torch.relu(T)",
    "F.relu(T)",
    "T + 1",
    "N * T",
    "-T",
    "T @ T",
    "T > N",
    "T[0]",
    "T.T",
    "T.sum()",
    "abs(T)",
    "sum([T, T])",
    "self.linear(T)",
    "double(T)",
    "again(T, N)",
    "getattr(torch, 'relu')(T)",
    "[torch.relu][0](T)",
    "(lambda v: v * 2)(T)",
    "(T if N > 1 else T * 2)",
    "list(map(torch.relu, [T]))",
    "operator.add(T, T)",
    "functools.reduce(torch.add, [T, T])",
    "functools.partial(double, T)()",
    "torch.ops.aten.relu(T)",
    "torch.compile(launch)(T, T)",
    "[v for v in (T, T)]",
];

/// A file, and whether its forward computes in torch.
struct Written {
    text: String,
    computes: bool,
}

struct Writer<'c, 't> {
    choices: &'c mut Choices<'t>,
    text: String,
    tensors: Vec<String>,
    numbers: Vec<String>,
    /// Statements left to write.
    left: usize,
    /// Where among them the computation stands.
    computation: Option<usize>,
}

impl Writer<'_, '_> {
    /// A form with names for its `T` and `N`.
    fn filled(&mut self, form: &str) -> String {
        let mut text = String::new();
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.');
        for (at, c) in form.char_indices() {
            let apart =
                !is_word(form[..at].chars().last()) && !form[at + c.len_utf8()..].starts_with(|c: char| c.is_alphanumeric());
            match c {
                'T' if apart => text += &self.choices.of(&self.tensors),
                'N' if apart => text += &self.choices.of(&self.numbers),
                c => text.push(c),
            }
        }
        text
    }

    fn line(&mut self, level: usize, text: &str) {
        self.text += &"    ".repeat(level);
        self.text += text;
        self.text.push('\n');
    }

    fn name(&mut self, kind: &str) -> String {
        format!("{kind}{}", self.left)
    }

    fn block(&mut self, level: usize) {
        let (tensors, numbers) = (self.tensors.len(), self.numbers.len());
        self.statement(level);
        while self.left > 0 && !self.choices.at_end() && self.choices.below(3) > 0 {
            self.statement(level);
        }
        // What a body binds is not there where it did not run.
        self.tensors.truncate(tensors);
        self.numbers.truncate(numbers);
    }

    fn statement(&mut self, level: usize) {
        self.left = self.left.saturating_sub(1);
        if self.computation.is_some_and(|at| at >= self.left) {
            self.computation = None;
            let form = self.choices.of(&COMPUTATIONS);
            let value = self.filled(form);
            return self.line(level, &format!("computed = {value}"));
        }
        let kind = if level > 6 { self.choices.below(5) } else { self.choices.below(9) };
        match kind {
            0 | 1 => {
                let form = self.choices.of(&TENSORS);
                let (value, name) = (self.filled(form), self.name("t"));
                self.line(level, &format!("{name} = {value}"));
                self.tensors.push(name);
            }
            2 => {
                let form = self.choices.of(&NUMBERS);
                let (value, name) = (self.filled(form), self.name("n"));
                self.line(level, &format!("{name} = {value}"));
                self.numbers.push(name);
            }
            3 => {
                let form = self.choices.of(&["kernel[(1,)](T, T, N, BLOCK=64)", "kernel[lambda meta: (N,)](T, T, N, BLOCK=64)"]);
                let value = self.filled(form);
                self.line(level, &value);
            }
            4 => {
                let (value, first, second) = (self.filled("(T, T)"), self.name("a"), self.name("b"));
                self.line(level, &format!("{first}, {second} = {value}"));
                self.tensors.extend([first, second]);
            }
            5 | 6 => {
                let test = self.filled("if N > 1:");
                self.line(level, &test);
                self.block(level + 1);
                if self.choices.below(2) == 0 {
                    self.line(level, "else:");
                    self.block(level + 1);
                }
            }
            7 => {
                let (range, name) = (self.filled("range(N)"), self.name("i"));
                self.line(level, &format!("for {name} in {range}:"));
                self.numbers.push(name);
                self.block(level + 1);
                self.numbers.pop();
            }
            _ => {
                let test = self.filled("while N > 0:");
                self.line(level, &test);
                self.block(level + 1);
            }
        }
    }
}

fn written(choices: &mut Choices<'_>) -> Written {
    let left = 1 + choices.below(16);
    let computation = (choices.below(2) == 0).then(|| choices.below(left));
    let computes = computation.is_some();
    let (tensors, numbers) = (vec!["x".to_owned()], vec!["n".to_owned()]);
    let mut writer = Writer { choices, text: HEAD.to_owned(), tensors, numbers, left, computation };
    while writer.left > 0 {
        writer.statement(2);
    }
    writer.line(2, "return x");
    Written { text: writer.text, computes }
}

/// The errors of the strict ban. What the lenient one says is among them.
fn errors(text: &str, task_computes: bool) -> Option<BTreeSet<String>> {
    let module = match parse_module(&SourceFile::new("m.py", text)) {
        Ok(module) => module,
        Err(error) => {
            run::allow(&error);
            return None;
        }
    };
    let errors = |mode| {
        let found = check(&module, &Ban { mode, task_computes, ..Ban::default() });
        found.iter().for_each(|finding| run::allow(&finding.diagnostic));
        let errors = found.iter().filter(|finding| finding.diagnostic.severity == Severity::Error);
        errors.map(|finding| render(&finding.diagnostic, false)).collect::<BTreeSet<_>>()
    };
    let (strict, lenient) = (errors(Mode::Strict), errors(Mode::Lenient));
    let only = lenient.difference(&strict).next();
    assert_eq!(only, None, "the lenient ban alone says so");
    Some(strict)
}

#[test]
fn forward_by_grammar() {
    cases("ban", 600, 120, |tape| {
        let mut choices = Choices::new(tape);
        let Written { text, computes } = written(&mut choices);
        begin("ban", text.as_bytes());
        let found = errors(&text, false).unwrap_or_else(|| panic!("it is no Python"));
        assert_eq!(!found.is_empty(), computes, "{}", found.into_iter().collect::<String>());
        let text = damaged(&text, &mut choices);
        begin("ban", text.as_bytes());
        errors(&text, choices.below(2) == 0);
    });
}

#[test]
fn forward_of_files_damaged() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lint/ban");
    let (mut open, mut files) = (vec![root], Vec::new());
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "py") {
                files.push((path.clone(), std::fs::read_to_string(&path).expect("it is text")));
            }
        }
    }
    files.sort();
    cases("ban-files", 400, 80, |tape| {
        let mut choices = Choices::new(tape);
        let (_, text) = &files[choices.below(files.len())];
        let text = damaged(text, &mut choices);
        begin("ban-files", text.as_bytes());
        errors(&text, choices.below(2) == 0);
    });
}

/// Nesting of any depth is refused or followed, within the stack of a thread; so are doublings.
#[test]
fn forward_nested() {
    for depth in [20, 190, 2000] {
        let lines = |each: &dyn Fn(usize) -> String| (0..depth).map(each).collect::<String>();
        let blocks = |word: &str| {
            let inside: String = (0..depth).map(|i| format!("{}{word}:\n", " ".repeat(8 + i))).collect();
            format!("{inside}{}x\n", " ".repeat(8 + depth))
        };
        let bodies = [
            blocks("for i in x"),
            blocks("while n"),
            blocks("if n"),
            format!("        if n:\n            x\n{}", lines(&|_| "        elif n:\n            x + 1\n".to_owned())),
            lines(&|_| "        x = [x, x]\n".to_owned()),
            lines(&|_| "        x = x + x\n".to_owned()),
            lines(&|i| format!("        f{i} = lambda v: f{i}(f{}(v))\n", i.saturating_sub(1))) + "        f19(x)\n",
            lines(&|i| format!("        def f{i}(v):\n            return -(f{}(-v))\n", i + 1)) + "        f0(x)\n",
            format!("        {}x\n", "-".repeat(depth)),
        ];
        for body in &bodies {
            let text = format!("{HEAD}{body}");
            begin("ban-nested", text.as_bytes());
            errors(&text, true);
        }
    }
}
