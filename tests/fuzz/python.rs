//! Kernels in Python, by grammar: helpers, loops, branches, loads and stores, atomics.

use crate::choices::Choices;
use crate::python_expr::{Expressions, Kind, Variable};

/// A file with one kernel `k(x_ptr, i_ptr, y_ptr, z_ptr, n, BLOCK)`.
pub struct Kernel {
    pub text: String,
    pub block: usize,
}

/// Statements of one kernel.
const STATEMENTS: usize = 12;
const DEEP: usize = 3;

pub fn kernel(choices: &mut Choices<'_>) -> Kernel {
    let block = choices.of(&[4, 1, 2, 8, 16, 16, 32]);
    let mut text = "import triton\nimport triton.language as tl\n\n\n".to_owned();
    let mut helpers = Vec::new();
    for n in 0..choices.below(3) {
        let name = format!("h{n}");
        let body = choices.of(&["a + b", "a * b - a", "tl.where(a > b, a, b)", "(a, b)[0]"]);
        text += &format!("@triton.jit\ndef {name}(a, b):\n    return {body}\n\n\n");
        helpers.push(name);
    }
    text += "@triton.jit\ndef k(x_ptr, i_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):\n";
    let expressions = Expressions { choices, variables: Vec::new(), helpers, block };
    let mut writer = Writer { expressions, text, level: 1, names: 0, left: STATEMENTS };
    writer.body();
    Kernel { text: writer.text, block }
}

struct Writer<'c, 't> {
    expressions: Expressions<'c, 't>,
    text: String,
    level: usize,
    names: usize,
    left: usize,
}

impl Writer<'_, '_> {
    fn line(&mut self, text: &str) {
        self.text += &"    ".repeat(self.level);
        self.text += text;
        self.text += "\n";
    }

    fn below(&mut self, n: usize) -> usize {
        self.expressions.choices.below(n)
    }

    fn expression(&mut self, kind: Kind, rank: usize) -> String {
        self.expressions.of(kind, rank, DEEP)
    }

    /// Statements, at least one.
    fn body(&mut self) {
        let mut written = 0;
        while self.left > 0 && !self.expressions.choices.at_end() && (written == 0 || self.below(8) != 0) {
            self.left -= 1;
            written += 1;
            self.statement();
        }
        if written == 0 || self.level == 1 {
            self.store();
        }
    }

    fn kind(&mut self) -> (Kind, usize) {
        let kind = self.expressions.choices.of(&[Kind::Int, Kind::Float, Kind::Float, Kind::Mask]);
        (kind, self.expressions.choices.of(&[0, 1, 1, 2]))
    }

    fn statement(&mut self) {
        match self.below(16) {
            0..=4 => self.assign(),
            5 | 6 => self.change(),
            7..=9 => self.store(),
            10 => {
                let condition = self.expression(Kind::Mask, 0);
                self.line(&format!("if {condition}:"));
                self.inside();
                if self.below(2) == 0 {
                    self.line("else:");
                    self.inside();
                }
            }
            11 => {
                let upper = self.expressions.choices.of(&["3", "n", "4", "BLOCK", "tl.program_id(0)"]);
                let range = self.expressions.choices.of(&["range", "tl.static_range", "tl.range"]);
                let name = self.name();
                let lower = if self.below(3) == 0 { "1, " } else { "" };
                self.line(&format!("for {name} in {range}({lower}{upper}):"));
                self.expressions.variables.push(Variable { name, kind: Kind::Int, rank: 0 });
                self.inside();
            }
            12 => {
                let name = self.name();
                let first = self.expressions.choices.of(&["0", "n", "tl.program_id(0)"]);
                let last = self.expressions.choices.of(&["3", "n", "5"]);
                let step = self.expressions.choices.of(&["1", "2", "n"]);
                self.line(&format!("{name} = {first}"));
                self.line(&format!("while {name} < {last}:"));
                self.expressions.variables.push(Variable { name: name.clone(), kind: Kind::Int, rank: 0 });
                self.level += 1;
                self.line(&format!("{name} += {step}"));
                self.level -= 1;
                self.inside();
            }
            13 => {
                let (offset, value) = (self.expressions.offset(1, 1), self.expression(Kind::Float, 1));
                let name = self.expressions.choices.of(&["add", "max", "min", "xchg"]);
                self.line(&format!("tl.atomic_{name}(z_ptr + {offset}, {value})"));
            }
            14 => self.line("tl.debug_barrier()"),
            _ => {
                let condition = self.expression(Kind::Mask, 1);
                let text = self.expressions.choices.of(&[
                    "tl.device_assert(C, 'it holds')",
                    "tl.assume(n >= 0)",
                    "tl.device_print('v', n)",
                ]);
                self.line(&text.replace('C', &condition));
            }
        }
    }

    fn inside(&mut self) {
        if self.level > 3 {
            self.level += 1;
            self.store();
            self.level -= 1;
            return;
        }
        // What is first assigned inside is gone behind it, half of the time.
        let known = self.expressions.variables.len();
        self.level += 1;
        self.body();
        self.level -= 1;
        if self.below(2) == 0 {
            self.expressions.variables.truncate(known);
        }
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    fn assign(&mut self) {
        let (kind, rank) = self.kind();
        let value = self.expression(kind, rank);
        let name = self.name();
        self.line(&format!("{name} = {value}"));
        self.expressions.variables.push(Variable { name, kind, rank });
    }

    /// A known variable gets another value of its kind.
    fn change(&mut self) {
        if self.expressions.variables.is_empty() {
            return self.assign();
        }
        let known = self.expressions.variables.clone();
        let Variable { name, kind, rank } = self.expressions.choices.of(&known);
        let value = self.expression(kind, rank);
        let op = match kind {
            Kind::Mask => "=",
            Kind::Int | Kind::Float => self.expressions.choices.of(&["=", "+=", "*=", "-="]),
        };
        self.line(&format!("{name} {op} {value}"));
    }

    fn store(&mut self) {
        let kind = self.expressions.choices.of(&[Kind::Float, Kind::Int, Kind::Mask]);
        let rank = self.expressions.choices.of(&[1, 1, 0, 2]);
        let pointer = self.expressions.choices.of(&["y_ptr", "y_ptr", "z_ptr", "x_ptr"]);
        let offset = self.expressions.offset(rank, 1);
        let value = self.expression(kind, rank);
        let mask = if self.below(2) == 0 { String::new() } else { format!(", mask={}", self.expression(Kind::Mask, rank)) };
        self.line(&format!("tl.store({pointer} + {offset}, {value}{mask})"));
    }
}
