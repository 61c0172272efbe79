//! Expressions of kernels, by kind and rank. Most are well typed, so that they reach the emulator; one in forty takes the
//! place of another kind.

use crate::choices::Choices;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Float,
    Mask,
}

#[derive(Clone, Debug)]
pub struct Variable {
    pub name: String,
    pub kind: Kind,
    pub rank: usize,
}

/// Makes expressions over the variables that are there.
pub struct Expressions<'c, 't> {
    pub choices: &'c mut Choices<'t>,
    pub variables: Vec<Variable>,
    /// Names of helpers of two arguments.
    pub helpers: Vec<String>,
    /// The length of a block's axis.
    pub block: usize,
}

const INTS: [&str; 14] =
    ["0", "1", "2", "3", "7", "-1", "-5", "31", "32", "100", "2147483647", "-2147483648", "4294967296", "9223372036854775807"];
const FLOATS: [&str; 9] = ["0.0", "1.0", "-1.5", "0.1", "1e30", "-1e-30", "65504.0", "float('inf')", "float('nan')"];
const INT_TYPES: [&str; 8] = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"];
const FLOAT_TYPES: [&str; 6] = ["float16", "bfloat16", "float32", "float64", "float8e4nv", "float8e5"];

impl Expressions<'_, '_> {
    pub fn of(&mut self, kind: Kind, rank: usize, depth: usize) -> String {
        if self.choices.one_in(40) {
            let (kind, rank) = (self.choices.of(&[Kind::Int, Kind::Float, Kind::Mask]), self.choices.below(3));
            return self.well_typed(kind, rank, depth);
        }
        self.well_typed(kind, rank, depth)
    }

    fn well_typed(&mut self, kind: Kind, rank: usize, depth: usize) -> String {
        if depth == 0 || self.choices.at_end() {
            return self.leaf(kind, rank);
        }
        match kind {
            Kind::Int => self.int(rank, depth - 1),
            Kind::Float => self.float(rank, depth - 1),
            Kind::Mask => self.mask(rank, depth - 1),
        }
    }

    fn variable(&mut self, kind: Kind, rank: usize) -> Option<String> {
        let fitting: Vec<String> =
            self.variables.iter().filter(|v| v.kind == kind && v.rank == rank).map(|v| v.name.clone()).collect();
        if fitting.is_empty() { None } else { Some(self.choices.of(&fitting)) }
    }

    fn leaf(&mut self, kind: Kind, rank: usize) -> String {
        let wants = self.choices.below(4) != 0;
        if let Some(name) = Some(()).filter(|()| wants).and_then(|()| self.variable(kind, rank)) {
            return name;
        }
        let range = || "tl.arange(0, BLOCK)".to_owned();
        match (kind, rank) {
            (Kind::Int, 0) => match self.choices.below(4) {
                0 => self.choices.of(&INTS).to_owned(),
                1 => "n".to_owned(),
                2 => format!("tl.program_id({})", self.choices.below(2)),
                _ => "tl.num_programs(0)".to_owned(),
            },
            (Kind::Int, 1) => range(),
            (Kind::Int, _) => self.choices.of(&["tl.arange(0, BLOCK)[:, None]", "tl.arange(0, BLOCK)[None, :]"]).to_owned(),
            (Kind::Float, 0) => self.choices.of(&FLOATS).to_owned(),
            (Kind::Float, 1) => self.choices.of(&["(tl.arange(0, BLOCK) * 0.5)", "tl.zeros([BLOCK], tl.float32)"]).to_owned(),
            (Kind::Float, _) => {
                self.choices.of(&["tl.zeros([BLOCK, BLOCK], tl.float32)", "tl.full([BLOCK, BLOCK], 2.0, tl.float16)"]).to_owned()
            }
            (Kind::Mask, 0) => self.choices.of(&["(n > 3)", "(tl.program_id(0) == 0)"]).to_owned(),
            (Kind::Mask, 1) => "(tl.arange(0, BLOCK) < n)".to_owned(),
            (Kind::Mask, _) => "(tl.arange(0, BLOCK)[:, None] < tl.arange(0, BLOCK)[None, :])".to_owned(),
        }
    }

    /// An operand of this rank or one that broadcasts to it.
    fn operand(&mut self, kind: Kind, rank: usize, depth: usize) -> String {
        let rank = match (rank, self.choices.below(3)) {
            (rank, 0) => rank,
            (1 | 2, 1) => 0,
            (rank, _) => rank,
        };
        self.of(kind, rank, depth)
    }

    fn both(&mut self, kind: Kind, rank: usize, depth: usize) -> (String, String) {
        let a = self.of(kind, rank, depth);
        (a, self.operand(kind, rank, depth))
    }

    /// Functions of any kind that change the rank or move lanes.
    fn moved(&mut self, kind: Kind, rank: usize, depth: usize) -> String {
        match (rank, self.choices.below(6)) {
            (0, _) => {
                let of = self.of(kind, 1, depth);
                format!("tl.{}({of}, axis=0)", self.choices.of(&["sum", "max", "min"]))
            }
            (1, 0) => {
                let of = self.of(kind, 2, depth);
                format!("tl.{}({of}, axis={})", self.choices.of(&["max", "min", "sum"]), self.choices.below(2))
            }
            (1, 1) => format!("tl.flip({})", self.of(kind, 1, depth)),
            (1, 2) => format!("tl.sort({})", self.of(kind, 1, depth)),
            (1, 3) => {
                let (source, index) = (self.of(kind, 1, depth), self.of(Kind::Int, 1, depth));
                format!("tl.gather({source}, {index}, 0)")
            }
            (1, _) => {
                let (of, name) = (self.of(kind, 1, depth), self.choices.of(&["cumsum", "cumprod"]));
                format!("tl.{name}({of}, axis=0)")
            }
            (_, 0) => format!("tl.trans({})", self.of(kind, 2, depth)),
            (_, 1) => format!("{}[None, :]", self.of(kind, 1, depth)),
            (_, 2) => format!("tl.broadcast_to({}[:, None], [BLOCK, BLOCK])", self.of(kind, 1, depth)),
            (_, 3) => format!("tl.reshape({}, [BLOCK, BLOCK])", self.of(kind, 2, depth)),
            (_, 4) => format!("tl.cumsum({}, axis={})", self.of(kind, 2, depth), self.choices.below(2)),
            (..) => format!("{}[:, None]", self.of(kind, 1, depth)),
        }
    }

    fn chosen(&mut self, kind: Kind, rank: usize, depth: usize) -> String {
        let mask = self.operand(Kind::Mask, rank, depth);
        let (a, b) = self.both(kind, rank, depth);
        format!("tl.where({mask}, {a}, {b})")
    }

    /// A load of a tensor whose elements are of this kind.
    fn load(&mut self, pointer: &str, rank: usize, depth: usize) -> String {
        let offset = self.offset(rank, depth);
        let mut text = format!("tl.load({pointer} + {offset}");
        if self.choices.below(3) != 0 {
            text += &format!(", mask={}", self.operand(Kind::Mask, rank, depth));
            if self.choices.below(2) == 0 {
                text += ", other=0";
            }
        }
        text + ")"
    }

    /// An offset that is likely within the tensors.
    pub fn offset(&mut self, rank: usize, depth: usize) -> String {
        match (rank, self.choices.below(6)) {
            (rank, 0) => format!("({})", self.of(Kind::Int, rank, depth)),
            (0, 1) => format!("({} % 16)", self.of(Kind::Int, 0, depth)),
            (0, _) => "tl.program_id(0)".to_owned(),
            (1, 1) => format!("({} & 31)", self.of(Kind::Int, 1, depth)),
            (1, 2) => "(tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))".to_owned(),
            (1, 3) => format!("tl.arange(0, BLOCK) * {}", self.of(Kind::Int, 0, depth)),
            (1, _) => "tl.arange(0, BLOCK)".to_owned(),
            (_, 1) => format!("(tl.arange(0, BLOCK)[:, None] * {} + tl.arange(0, BLOCK)[None, :])", self.of(Kind::Int, 0, depth)),
            (_, 2) => format!("({} // 3)", self.of(Kind::Int, 2, depth)),
            (..) => "(tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :])".to_owned(),
        }
    }

    fn int(&mut self, rank: usize, depth: usize) -> String {
        match self.choices.below(14) {
            0 => self.leaf(Kind::Int, rank),
            1..=4 => {
                let (a, b) = self.both(Kind::Int, rank, depth);
                let op = self.choices.of(&["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"]);
                format!("({a} {op} {b})")
            }
            5 => {
                let (a, b) = self.both(Kind::Int, rank, depth);
                format!("tl.{}({a}, {b})", self.choices.of(&["minimum", "maximum", "cdiv"]))
            }
            6 => self.chosen(Kind::Int, rank, depth),
            7 => format!("({}).to(tl.{})", self.of(Kind::Int, rank, depth), self.choices.of(&INT_TYPES)),
            8 => format!("({}).to(tl.{})", self.of(Kind::Float, rank, depth), self.choices.of(&INT_TYPES)),
            9 | 10 => self.load("i_ptr", rank, depth),
            11 => self.moved(Kind::Int, rank, depth),
            12 => format!("{}({})", self.choices.of(&["-", "~", "tl.abs"]), self.of(Kind::Int, rank, depth)),
            _ if rank == 0 => format!("tl.atomic_add(i_ptr + {}, {})", self.offset(0, depth), self.of(Kind::Int, 0, depth)),
            _ => self.called(Kind::Int, rank, depth),
        }
    }

    fn called(&mut self, kind: Kind, rank: usize, depth: usize) -> String {
        let (a, b) = self.both(kind, rank, depth);
        match self.helpers.as_slice() {
            [] => format!("({a} + {b})"),
            helpers => {
                let helpers = helpers.to_vec();
                format!("{}({a}, {b})", self.choices.of(&helpers))
            }
        }
    }

    fn float(&mut self, rank: usize, depth: usize) -> String {
        match self.choices.below(15) {
            0 => self.leaf(Kind::Float, rank),
            1..=3 => {
                let (a, b) = self.both(Kind::Float, rank, depth);
                format!("({a} {} {b})", self.choices.of(&["+", "-", "*", "/"]))
            }
            4 => {
                let names = ["exp", "log", "sqrt", "rsqrt", "sin", "cos", "abs", "exp2", "log2", "erf", "floor", "sigmoid"];
                format!("tl.{}({})", self.choices.of(&names), self.of(Kind::Float, rank, depth))
            }
            5 => {
                let (a, b) = self.both(Kind::Float, rank, depth);
                format!("tl.{}({a}, {b})", self.choices.of(&["minimum", "maximum"]))
            }
            6 => self.chosen(Kind::Float, rank, depth),
            7 => format!("({}).to(tl.{})", self.of(Kind::Float, rank, depth), self.choices.of(&FLOAT_TYPES)),
            8 => format!("({}).to(tl.{})", self.of(Kind::Int, rank, depth), self.choices.of(&FLOAT_TYPES)),
            9..=11 => self.load("x_ptr", rank, depth),
            12 => self.moved(Kind::Float, rank, depth),
            13 if rank == 2 && self.block >= 16 => {
                let (a, b) = (self.of(Kind::Float, 2, depth), self.of(Kind::Float, 2, depth));
                format!("tl.dot(({a}).to(tl.float32), ({b}).to(tl.float32))")
            }
            13 => format!("tl.fma({0}, {0}, {0})", self.of(Kind::Float, rank, depth)),
            _ => self.called(Kind::Float, rank, depth),
        }
    }

    fn mask(&mut self, rank: usize, depth: usize) -> String {
        match self.choices.below(7) {
            0 => self.leaf(Kind::Mask, rank),
            1..=3 => {
                let kind = self.choices.of(&[Kind::Int, Kind::Int, Kind::Float]);
                let (a, b) = self.both(kind, rank, depth);
                format!("({a} {} {b})", self.choices.of(&["<", "<=", ">", ">=", "==", "!="]))
            }
            4 => {
                let (a, b) = self.both(Kind::Mask, rank, depth);
                format!("({a} {} {b})", self.choices.of(&["&", "|", "^"]))
            }
            5 => format!("(~{})", self.of(Kind::Mask, rank, depth)),
            _ => format!("(({}) != 0)", self.of(Kind::Int, rank, depth)),
        }
    }
}
