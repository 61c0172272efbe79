//! The kernel IR: typed, signless, SSA, blocks of values; printed in TTIR's syntax.
//!
//! # Shape of a kernel
//! A [`Kernel`] is one `tt.func public` after specialisation: constexprs are gone, jit helpers are
//! inlined, every loop variable is an explicit region argument. Its top level is a list of
//! [`Block`]s ended by `tt.return`, `cf.br` or `cf.cond_br` (an early `return` in Python is the only
//! source of more than one block). `scf.for`, `scf.if`, `scf.while` and the combine function of
//! `tt.reduce` hold a [`Region`] of exactly one block, ended by a yield.
//!
//! # Types
//! Scalars and tensors of `i1 i8 i16 i32 i64`, floats, and pointers to them. Integers carry no
//! sign: signedness is in the operation (`arith.divsi`, `arith.divui`). A pointer is a provenance
//! plus a 64-bit offset in elements; `tt.addptr` is the only arithmetic on it.
//!
//! # Semantics in one place
//! * Integer division truncates (`-7 // 2` is −3 at run time, as compiled); divisor zero is a fault.
//! * A masked-off lane of a load without `other` is poison. `arith.select` passes only the chosen
//!   lane's poison on.
//! * `arith.maxnumf` drops a NaN operand, `arith.maximumf` keeps it.
//! * `tt.dot` accumulates in the accumulator's type; operands are rounded to the precision class.
//!
//! * An atomic returns the value that the element had before. Lanes of one instruction that meet at one
//!   element are applied in row-major order, one after the other.
//! * `tt.divisibility`, `tt.contiguity`, `tt.constancy` on an instruction and `llvm.intr.assume` are promises
//!   of the program: they change no value, and a run may find them false.
//!
//! Not in here: memory spaces, layouts. The IR describes values, not a machine.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use super::libdevice::Symbol;
use crate::dtype::DType;
use crate::source::{SourceFile, Span};

/// A scalar's type, or a tensor's element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elem {
    I1,
    I8,
    I16,
    I32,
    I64,
    F8E4M3,
    F8E5M2,
    F8E4M3Fnuz,
    F8E5M2Fnuz,
    F16,
    BF16,
    F32,
    F64,
    /// A pointer to elements of a dtype. The pointee keeps its sign only for messages and for
    /// widening loads of unsigned data. A bool element is loaded and stored as an i1.
    Ptr(DType),
}

impl Elem {
    pub fn of(dtype: DType) -> Elem {
        match dtype {
            DType::F64 => Elem::F64,
            DType::F32 => Elem::F32,
            DType::F16 => Elem::F16,
            DType::BF16 => Elem::BF16,
            DType::F8E4M3 => Elem::F8E4M3,
            DType::F8E5M2 => Elem::F8E5M2,
            DType::F8E4M3Fnuz => Elem::F8E4M3Fnuz,
            DType::F8E5M2Fnuz => Elem::F8E5M2Fnuz,
            DType::I64 | DType::U64 => Elem::I64,
            DType::I32 | DType::U32 => Elem::I32,
            DType::I16 | DType::U16 => Elem::I16,
            DType::I8 | DType::U8 => Elem::I8,
            DType::Bool => Elem::I1,
        }
    }

    pub fn is_float(self) -> bool {
        self.is_fp8() || matches!(self, Elem::F16 | Elem::BF16 | Elem::F32 | Elem::F64)
    }

    /// A float of 8 bits.
    pub fn is_fp8(self) -> bool {
        matches!(self, Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz)
    }

    pub fn is_integer(self) -> bool {
        matches!(self, Elem::I1 | Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64)
    }

    /// Width in bits of an integer or float; 64 for a pointer.
    pub fn bits(self) -> u32 {
        match self {
            Elem::I1 => 1,
            Elem::I8 | Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz => 8,
            Elem::I16 | Elem::F16 | Elem::BF16 => 16,
            Elem::I32 | Elem::F32 => 32,
            Elem::I64 | Elem::F64 | Elem::Ptr(_) => 64,
        }
    }
}

/// Sizes of a block's axes, outermost first. Never empty in a tensor type.
pub type BlockShape = SmallVec<[usize; 4]>;

/// A scalar when `shape` is empty, else a block of that shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    pub elem: Elem,
    pub shape: BlockShape,
}

impl Type {
    pub fn scalar(elem: Elem) -> Type {
        Type { elem, shape: BlockShape::new() }
    }

    pub fn block(elem: Elem, shape: &[usize]) -> Type {
        Type { elem, shape: SmallVec::from_slice(shape) }
    }

    pub fn is_scalar(&self) -> bool {
        self.shape.is_empty()
    }

    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn with_elem(&self, elem: Elem) -> Type {
        Type { elem, shape: self.shape.clone() }
    }
}

/// An SSA value: an index into [`Kernel::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// A top-level block: an index into [`Kernel::blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// What is known of a value besides its definition.
#[derive(Clone, Debug)]
pub struct ValueData {
    pub ty: Type,
    /// The Python variable it was bound to, for messages and `--show`.
    pub name: Option<Arc<str>>,
    /// What the program promises of it.
    pub hints: Vec<Hint>,
}

/// A promise about the lanes of a value, one number an axis (one for a scalar): an attribute of the
/// instruction that defines it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    pub kind: HintKind,
    pub values: SmallVec<[i64; 2]>,
    /// Where it is given.
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HintKind {
    /// `tt.constancy`: groups of that many lanes are equal.
    Constancy,
    /// `tt.contiguity`: in groups of that many lanes each is one more than the one before.
    Contiguity,
    /// `tt.divisibility`: the first lane of every contiguous group is a multiple.
    Divisibility,
}

/// A run-time parameter of the kernel.
#[derive(Clone, Debug)]
pub struct Param {
    pub name: Arc<str>,
    pub value: Value,
    pub span: Span,
}

/// Values carried by one lane. Integers are sign-extended from the element's width; an i1 is 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    Int(i64),
    Float(f64),
}

/// Signless integer arithmetic; both operands and the result have one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntBinary {
    Add,
    Sub,
    Mul,
    DivS,
    DivU,
    RemS,
    RemU,
    And,
    Or,
    Xor,
    Shl,
    ShrS,
    ShrU,
    MinS,
    MinU,
    MaxS,
    MaxU,
    /// The upper half of the unsigned product (`tt.mulhiui`).
    MulHiU,
}

/// IEEE arithmetic, rounded to the element type after each operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatBinary {
    Add,
    Sub,
    Mul,
    Div,
    /// C's `fmod`.
    Rem,
    /// Drops a NaN operand (`arith.minnumf`).
    MinNum,
    MaxNum,
    /// Keeps a NaN operand (`arith.minimumf`).
    Minimum,
    Maximum,
}

/// `arith.cmpi` predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntPredicate {
    Eq,
    Ne,
    LtS,
    LeS,
    GtS,
    GeS,
    LtU,
    LeU,
    GtU,
    GeU,
}

/// `arith.cmpf` predicates: ordered ones are false on NaN, `une` is true on NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatPredicate {
    Oeq,
    One,
    Olt,
    Ole,
    Ogt,
    Oge,
    Une,
}

/// Unary functions of one float.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatUnary {
    Neg,
    Abs,
    Exp,
    Exp2,
    Log,
    Log2,
    Sqrt,
    /// Correctly rounded (`tt.precise_sqrt`).
    SqrtRn,
    Rsqrt,
    Sin,
    Cos,
    Erf,
    Floor,
    Ceil,
}

/// Conversions; the result type says to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CastKind {
    /// Integer to a narrower integer: keeps the low bits.
    Trunc,
    ExtS,
    ExtU,
    IntToFloatS,
    IntToFloatU,
    /// Towards zero; out of range is poison.
    FloatToIntS,
    FloatToIntU,
    FloatExt,
    /// Round to nearest even; also between two formats of one width (bf16 and f16, the fp8 formats).
    FloatTrunc,
    /// As `FloatTrunc`, towards zero.
    FloatTruncZero,
    Bitcast,
    /// A pointer as its address, an i64.
    PtrToInt,
    /// An i64 as the address that it is.
    IntToPtr,
}

/// What an atomic operation puts in place of the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    Add,
    FAdd,
    Max,
    Min,
    UMax,
    UMin,
    And,
    Or,
    Xor,
    Exchange,
}

/// How an atomic operation orders the accesses around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryOrder {
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
}

/// Among whom an atomic operation is atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryScope {
    Cta,
    Gpu,
    System,
}

/// The precision class of a dot with fp32 operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DotPrecision {
    Ieee,
    Tf32,
    Tf32x3,
    Bf16x3,
    Bf16x6,
}

/// The format of an operand of [`DotScaled`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScaledFormat {
    E2M1,
    E4M3,
    E5M2,
    BF16,
    F16,
}

/// `tt.dot_scaled`: a dot of blocks that share a scale of 2^(s − 127) among 32 elements along K (16 for scales
/// in e4m3, which are factors themselves).
///
/// E2M1 operands are bytes of two elements, the low half first, along K or, without `k_pack`, along M or N.
/// Scales have the shape [M, K/32] of A and [N, K/32] of B.
#[derive(Clone, Debug)]
pub struct DotScaled {
    pub a: Value,
    pub a_scale: Option<Value>,
    pub a_format: ScaledFormat,
    pub b: Value,
    pub b_scale: Option<Value>,
    pub b_format: ScaledFormat,
    pub acc: Value,
    pub fast_math: bool,
    pub a_k_pack: bool,
    pub b_k_pack: bool,
}

/// The text of a `tt.elementwise_inline_asm`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InlineAsm {
    pub text: String,
    /// LLVM's constraint string: outputs, then inputs.
    pub constraints: String,
    /// Elements that one run of the text takes.
    pub pack: u32,
    pub pure: bool,
}

/// A region of one block: arguments, instructions, and the values it yields.
#[derive(Clone, Debug, Default)]
pub struct Region {
    pub args: Vec<Value>,
    pub insts: Vec<Inst>,
    pub yields: Vec<Value>,
}

/// One instruction: what it does, what it defines, where it came from.
#[derive(Clone, Debug)]
pub struct Inst {
    pub kind: InstKind,
    pub results: SmallVec<[Value; 1]>,
    pub span: Span,
}

/// Operands are in the order in which TTIR prints them.
#[derive(Clone, Debug)]
pub enum InstKind {
    /// `tt.get_program_id {x,y,z}`: i32.
    ProgramId {
        axis: u8,
    },
    /// `tt.get_num_programs {x,y,z}`: i32.
    NumPrograms {
        axis: u8,
    },
    /// `arith.constant`: a scalar, or a block whose lanes are all equal.
    Constant(Literal),
    /// `tt.make_range {start, end}`: i32 block of one axis.
    MakeRange {
        start: i32,
        end: i32,
    },
    /// `tt.splat`: a scalar to a block.
    Splat(Value),
    /// `tt.expand_dims {axis}`: a new axis of size 1.
    ExpandDims {
        value: Value,
        axis: u8,
    },
    /// `tt.broadcast`: axes of size 1 grow.
    Broadcast(Value),
    /// `tt.trans {order}`: result axis i is operand axis `order[i]`.
    Trans {
        value: Value,
        order: SmallVec<[u8; 4]>,
    },
    /// `tt.reshape`: row-major order is kept.
    Reshape(Value),
    /// `tt.addptr ptr, offset`: the offset counts elements.
    AddPtr {
        ptr: Value,
        offset: Value,
    },
    /// `tt.load ptr, mask?, other?`.
    Load {
        ptr: Value,
        mask: Option<Value>,
        other: Option<Value>,
    },
    /// `tt.store ptr, value, mask?`.
    Store {
        ptr: Value,
        value: Value,
        mask: Option<Value>,
    },
    Int(IntBinary, Value, Value),
    Float(FloatBinary, Value, Value),
    Unary(FloatUnary, Value),
    /// `math.fma a, b, c`: one rounding.
    Fma(Value, Value, Value),
    CompareInt(IntPredicate, Value, Value),
    CompareFloat(FloatPredicate, Value, Value),
    /// `arith.select condition, then, else`: the condition has the operands' shape or is a scalar.
    Select {
        condition: Value,
        then: Value,
        other: Value,
    },
    Cast(CastKind, Value),
    /// `tt.dot a, b, acc`: a is [m, k], b is [k, n], acc and result are [m, n].
    Dot {
        a: Value,
        b: Value,
        acc: Value,
        precision: DotPrecision,
    },
    /// `tt.reduce {axis}`: combines lanes along an axis, pairwise, in the fixed tree of the
    /// emulator. The region has two arguments an operand and yields one value an operand.
    Reduce {
        operands: SmallVec<[Value; 1]>,
        axis: u8,
        combine: Region,
    },
    /// `tt.dot_scaled`.
    DotScaled(Box<DotScaled>),
    /// `tt.scan {axis, reverse}`: lane i becomes the combination of lanes 0 to i along an axis (of i to the last
    /// one when reversed), one after the other. The region is that of a reduce.
    Scan {
        operands: SmallVec<[Value; 1]>,
        axis: u8,
        reverse: bool,
        combine: Region,
    },
    /// `tt.gather source[index] {axis}`: the lane that the index names along an axis.
    Gather {
        source: Value,
        index: Value,
        axis: u8,
    },
    /// `tt.histogram value, mask?`: how often 0, 1, … occur, i32.
    Histogram {
        value: Value,
        mask: Option<Value>,
    },
    /// `tt.join a, b`: a new last axis of size 2.
    Join(Value, Value),
    /// `tt.split`: two results, the halves of a last axis of size 2.
    Split(Value),
    /// `tt.cat a, b`: one behind the other along the first axis.
    Cat(Value, Value),
    /// `tt.unsplat`: the only lane.
    Unsplat(Value),
    /// `tt.clampf value, min, max`: NaN is kept, or gives `min`.
    ClampFloat {
        value: Value,
        min: Value,
        max: Value,
        keeps_nan: bool,
    },
    /// `math.absi`.
    AbsInt(Value),
    /// `tt.extern_elementwise`: a function of libdevice.
    Extern {
        symbol: Symbol,
        operands: SmallVec<[Value; 2]>,
    },
    /// `tt.elementwise_inline_asm`.
    InlineAsm {
        asm: Arc<InlineAsm>,
        operands: Vec<Value>,
    },
    /// `scf.for i = lower to upper step s iter_args`: the region's first argument is `i`, the
    /// others are the carried values; it yields the next carried values.
    For {
        lower: Value,
        upper: Value,
        step: Value,
        init: Vec<Value>,
        body: Region,
    },
    /// `scf.if`: both regions yield the results.
    If {
        condition: Value,
        then: Region,
        otherwise: Region,
    },
    /// `scf.while`: `before` takes the carried values and yields the condition followed by the
    /// values handed to `after` (and to the results when the condition is false).
    While {
        init: Vec<Value>,
        before: Region,
        after: Region,
    },
    /// `tt.assert condition, message`.
    Assert {
        condition: Value,
        message: Arc<str>,
    },
    /// `tt.load … {isVolatile = true}`: reads memory as it is at that moment, whoever else writes it.
    VolatileLoad {
        ptr: Value,
        mask: Option<Value>,
        other: Option<Value>,
    },
    /// `tt.atomic_rmw op, order, scope, ptr, value, mask?`.
    AtomicRmw {
        op: AtomicOp,
        order: MemoryOrder,
        scope: MemoryScope,
        ptr: Value,
        value: Value,
        mask: Option<Value>,
    },
    /// `tt.atomic_cas order, scope, ptr, expected, value`.
    AtomicCas {
        order: MemoryOrder,
        scope: MemoryScope,
        ptr: Value,
        expected: Value,
        value: Value,
    },
    /// `ttg.barrier all`: orders the accesses of all lanes of the program before it and after it.
    Barrier,
    /// `llvm.intr.assume condition`.
    Assume(Value),
}

/// How a top-level block ends.
#[derive(Clone, Debug)]
pub enum Terminator {
    Return,
    Branch { to: BlockId, args: Vec<Value> },
    CondBranch { condition: Value, then: (BlockId, Vec<Value>), otherwise: (BlockId, Vec<Value>) },
}

/// A top-level block.
#[derive(Clone, Debug)]
pub struct Block {
    pub args: Vec<Value>,
    pub insts: Vec<Inst>,
    pub terminator: Terminator,
}

/// One specialised kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub name: Arc<str>,
    pub params: Vec<Param>,
    pub values: Vec<ValueData>,
    /// The entry comes first and takes no arguments.
    pub blocks: Vec<Block>,
    /// Integers that are meant to wrap (`sanitize_overflow=False`, random numbers): wrapping is no fault of theirs.
    /// The text does not say it: of what is read back it is known of the low halves of wide products alone.
    pub wraps: HashSet<Value>,
    /// What the spans point into: the Python file, or the TTIR text.
    pub source: Arc<SourceFile>,
}

impl Kernel {
    pub fn ty(&self, value: Value) -> &Type {
        &self.values[value.0 as usize].ty
    }

    pub fn value_name(&self, value: Value) -> Option<&str> {
        self.values[value.0 as usize].name.as_deref()
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Elem::I1 => f.write_str("i1"),
            Elem::I8 => f.write_str("i8"),
            Elem::I16 => f.write_str("i16"),
            Elem::I32 => f.write_str("i32"),
            Elem::I64 => f.write_str("i64"),
            Elem::F8E4M3 => f.write_str("f8E4M3FN"),
            Elem::F8E5M2 => f.write_str("f8E5M2"),
            Elem::F8E4M3Fnuz => f.write_str("f8E4M3FNUZ"),
            Elem::F8E5M2Fnuz => f.write_str("f8E5M2FNUZ"),
            Elem::F16 => f.write_str("f16"),
            Elem::BF16 => f.write_str("bf16"),
            Elem::F32 => f.write_str("f32"),
            Elem::F64 => f.write_str("f64"),
            Elem::Ptr(to) => write!(f, "!tt.ptr<{}>", Elem::of(*to)),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_scalar() {
            return self.elem.fmt(f);
        }
        f.write_str("tensor<")?;
        for size in &self.shape {
            write!(f, "{size}x")?;
        }
        write!(f, "{}>", self.elem)
    }
}
