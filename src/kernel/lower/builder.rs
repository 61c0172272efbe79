//! Appends instructions: values, the open regions, top-level blocks, and the place in the source
//! that each instruction comes from.
//!
//! A splat of a constant becomes a constant block, as MLIR's builder folds it; nothing else is
//! simplified here. [`Builder::discard`] undoes everything since a mark: loop-carried variables are
//! found by lowering a body once on trial.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::kernel::ir::{Block, BlockId, Elem, Hint, Inst, InstKind, Literal, Region, Terminator, Type, Value, ValueData};
use crate::source::Span;

/// A place to come back to with [`Builder::discard`].
pub struct Mark {
    values: usize,
    blocks: usize,
    open: usize,
    current: Option<usize>,
    insts: usize,
}

pub struct Builder {
    pub values: Vec<ValueData>,
    /// Top-level blocks; `None` terminators are filled before the kernel is finished.
    blocks: Vec<OpenBlock>,
    current: Option<usize>,
    /// Instructions of the regions being built, outermost first.
    open: Vec<Vec<Inst>>,
    constants: HashMap<Value, Literal>,
    /// Integers that are meant to wrap.
    pub wraps: HashSet<Value>,
    /// Given to instructions as they are appended.
    pub span: Span,
}

struct OpenBlock {
    args: Vec<Value>,
    insts: Vec<Inst>,
    terminator: Option<Terminator>,
}

impl Builder {
    pub fn new() -> Builder {
        let entry = OpenBlock { args: Vec::new(), insts: Vec::new(), terminator: None };
        Builder {
            values: Vec::new(),
            blocks: vec![entry],
            current: Some(0),
            open: Vec::new(),
            constants: HashMap::new(),
            wraps: HashSet::new(),
            span: Span::default(),
        }
    }

    pub fn value(&mut self, ty: Type) -> Value {
        self.values.push(ValueData { ty, name: None, hints: Vec::new() });
        Value(self.values.len() as u32 - 1)
    }

    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value.0 as usize].ty
    }

    /// Adds a promise about a value.
    pub fn hint(&mut self, value: Value, hint: Hint) {
        self.values[value.0 as usize].hints.push(hint);
    }

    /// Names a value after the variable it is bound to, unless it has a name already.
    pub fn name(&mut self, value: Value, name: &str) {
        let slot = &mut self.values[value.0 as usize].name;
        if slot.is_none() {
            *slot = Some(Arc::from(name));
        }
    }

    fn insts(&mut self) -> &mut Vec<Inst> {
        match (self.open.last_mut(), self.current) {
            (Some(region), _) => region,
            (None, Some(block)) => &mut self.blocks[block].insts,
            (None, None) => unreachable!("invariant: nothing is lowered after a terminator"),
        }
    }

    /// Appends an instruction without result.
    pub fn effect(&mut self, kind: InstKind) {
        let span = self.span;
        self.insts().push(Inst { kind, results: SmallVec::new(), span });
    }

    /// Appends an instruction with one result.
    pub fn inst(&mut self, kind: InstKind, ty: Type) -> Value {
        let result = self.value(ty);
        let span = self.span;
        self.insts().push(Inst { kind, results: SmallVec::from_elem(result, 1), span });
        result
    }

    /// Appends an instruction with several results.
    pub fn insts_with(&mut self, kind: InstKind, types: &[Type]) -> Vec<Value> {
        let results: Vec<Value> = types.iter().map(|ty| self.value(ty.clone())).collect();
        let span = self.span;
        self.insts().push(Inst { kind, results: SmallVec::from_slice(&results), span });
        results
    }

    pub fn constant(&mut self, literal: Literal, ty: Type) -> Value {
        let value = self.inst(InstKind::Constant(literal), ty);
        self.constants.insert(value, literal);
        value
    }

    /// What a value is known to be, lane by lane.
    pub fn literal(&self, value: Value) -> Option<Literal> {
        self.constants.get(&value).copied()
    }

    pub fn splat(&mut self, value: Value, shape: &[usize]) -> Value {
        let ty = Type::block(self.ty(value).elem, shape);
        match self.literal(value) {
            Some(literal) => self.constant(literal, ty),
            None => self.inst(InstKind::Splat(value), ty),
        }
    }

    /// Starts a region; what is appended goes into it until [`Builder::close`].
    pub fn open(&mut self) {
        self.open.push(Vec::new());
    }

    pub fn close(&mut self, args: Vec<Value>, yields: Vec<Value>) -> Region {
        let insts = self.open.pop().expect("invariant: regions close in the order they open");
        Region { args, insts, yields }
    }

    /// Whether we are inside a structured region.
    pub fn in_region(&self) -> bool {
        !self.open.is_empty()
    }

    /// How many regions are open.
    pub fn depth(&self) -> usize {
        self.open.len()
    }

    /// A new top-level block without arguments; instructions go on where they went.
    pub fn new_block(&mut self) -> BlockId {
        self.blocks.push(OpenBlock { args: Vec::new(), insts: Vec::new(), terminator: None });
        BlockId(self.blocks.len() as u32 - 1)
    }

    pub fn block_arg(&mut self, block: BlockId, ty: Type) -> Value {
        let arg = self.value(ty);
        self.blocks[block.0 as usize].args.push(arg);
        arg
    }

    /// Where instructions go outside regions.
    pub fn go_to(&mut self, block: BlockId) {
        self.current = Some(block.0 as usize);
    }

    pub fn current_block(&self) -> Option<BlockId> {
        self.current.map(|b| BlockId(b as u32))
    }

    /// Ends the current block.
    pub fn terminate(&mut self, terminator: Terminator) {
        if let Some(block) = self.current.take() {
            self.blocks[block].terminator = Some(terminator);
        }
    }

    pub fn mark(&mut self) -> Mark {
        let insts = match (self.open.last(), self.current) {
            (Some(region), _) => region.len(),
            (None, Some(block)) => self.blocks[block].insts.len(),
            (None, None) => 0,
        };
        Mark { values: self.values.len(), blocks: self.blocks.len(), open: self.open.len(), current: self.current, insts }
    }

    /// Forgets everything that was appended since the mark.
    pub fn discard(&mut self, mark: Mark) {
        self.values.truncate(mark.values);
        self.constants.retain(|value, _| (value.0 as usize) < mark.values);
        self.wraps.retain(|value| (value.0 as usize) < mark.values);
        self.blocks.truncate(mark.blocks);
        self.open.truncate(mark.open);
        self.current = mark.current;
        match (self.open.last_mut(), self.current) {
            (Some(region), _) => region.truncate(mark.insts),
            (None, Some(block)) => {
                self.blocks[block].insts.truncate(mark.insts);
                self.blocks[block].terminator = None;
            }
            (None, None) => {}
        }
    }

    /// The finished blocks; one that nothing ended returns.
    pub fn finish(self) -> (Vec<ValueData>, Vec<Block>) {
        let blocks = self
            .blocks
            .into_iter()
            .map(|block| Block {
                args: block.args,
                insts: block.insts,
                terminator: block.terminator.unwrap_or(Terminator::Return),
            })
            .collect();
        (self.values, blocks)
    }
}

/// A number as a literal of an element type: floats are rounded to it, integers wrap to its width
/// and are sign-extended; an i1 is 0 or 1.
pub fn literal_of(value: f64, elem: Elem) -> Literal {
    match elem {
        Elem::F64 => Literal::Float(value),
        Elem::F32 => Literal::Float(f64::from(value as f32)),
        Elem::F16 => Literal::Float(crate::dtype::DType::F16.round(value)),
        Elem::BF16 => Literal::Float(crate::dtype::DType::BF16.round(value)),
        // fp8 literals are made as f32 and converted by an instruction, as Triton does.
        Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz => Literal::Float(f64::from(value as f32)),
        Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => Literal::Int(value as i64),
    }
}

/// Wraps an integer to a width and extends its sign; an i1 is 0 or 1.
pub fn wrap(value: i64, elem: Elem) -> i64 {
    match elem.bits() {
        1 => value & 1,
        bits => {
            let shift = 64 - bits.min(64);
            (value << shift) >> shift
        }
    }
}
