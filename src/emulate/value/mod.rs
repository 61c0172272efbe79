//! What a cell of a running program holds: scalars, and blocks in lazy or dense form.
//!
//! A block whose lanes are all equal may be held as a scalar (a *uniform* block); the type in the
//! IR says which it is. One-axis integers may be affine (`base + step·i`), one-axis masks may be a
//! range of lanes. Blocks of more axes are dense here; their separable forms (a sum of one-axis
//! terms, a conjunction of one-axis masks and bands) are found when the kernel is compiled
//! (`tape::split`), so that only the terms ever live in cells.
//!
//! Integers are held exactly in `i64`: sums and products of narrower types may leave the type's
//! range and are wrapped (and tainted) only where something other than `+ − ·` uses them.

pub mod eight;
pub mod int;
pub mod layout;
pub mod mask;
pub mod pool;
pub mod round;
pub mod taint;

use std::hash::Hasher;
use std::sync::Arc;

pub use int::{IntBlock, IntLanes};
pub use layout::Layout;
pub use mask::{MaskBlock, MaskLanes};
pub use pool::Pool;
pub use taint::Taints;

/// One number with its taint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scalar<T> {
    pub value: T,
    pub taint: u8,
}

/// Where a pointer came from: an argument of the launch, an argument seen as another type, or an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Offsets count the argument's own elements.
    Argument(usize),
    /// Offsets count elements of a type (by its number in `tape::provenance::Uses::pointees`), from the start of the
    /// argument's buffer or, without one, from address zero.
    Cast { arg: Option<usize>, pointee: usize },
}

/// No argument.
const NOWHERE: u32 = 0xffff;

impl Origin {
    pub fn of(packed: u32) -> Origin {
        let arg = packed & 0xffff;
        match packed >> 16 {
            0 => Origin::Argument(arg as usize),
            pointee => Origin::Cast { arg: (arg != NOWHERE).then_some(arg as usize), pointee: pointee as usize - 1 },
        }
    }

    pub fn packed(self) -> u32 {
        match self {
            Origin::Argument(arg) => arg as u32,
            Origin::Cast { arg, pointee } => arg.map_or(NOWHERE, |arg| arg as u32) | (pointee as u32 + 1) << 16,
        }
    }
}

/// A pointer: where it came from, and where it points from there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pointer {
    /// The provenance: an [`Origin`], packed; an argument of the launch is its index.
    pub arg: u32,
    /// Element of the buffer.
    pub offset: i64,
    pub taint: u8,
}

/// A block of pointers of one provenance.
#[derive(Clone, Debug)]
pub struct PtrBlock {
    pub arg: u32,
    pub offsets: IntBlock,
}

/// Float lanes by carrier (f16 and bf16 live as f32).
#[derive(Clone, Debug)]
pub enum Floats {
    F32(Arc<Vec<f32>>),
    F64(Arc<Vec<f64>>),
}

#[derive(Clone, Debug)]
pub struct FloatBlock {
    pub layout: Layout,
    pub lanes: Floats,
    pub taints: Taints,
}

#[derive(Clone, Debug, Default)]
pub enum Cell {
    #[default]
    Empty,
    /// Any integer type; an i1 holds 0 or 1.
    Int(Scalar<i64>),
    /// Any float type; lanes of narrower types are exact in f64.
    Float(Scalar<f64>),
    Ptr(Pointer),
    /// i8 to i64.
    Ints(IntBlock),
    /// i1.
    Mask(MaskBlock),
    Floats(FloatBlock),
    Ptrs(PtrBlock),
}

/// Ends the process where a cell is of another kind than its value's type in the verified kernel says:
/// only a fault of the tape compiler leads here.
#[cold]
#[inline(never)]
#[track_caller]
pub fn misfit(cell: &Cell, wanted: &str) -> ! {
    unreachable!("invariant: a verified kernel has {wanted} here, not {}", cell.kind())
}

impl Cell {
    pub fn int(value: i64) -> Cell {
        Cell::Int(Scalar { value, taint: 0 })
    }

    pub fn float(value: f64) -> Cell {
        Cell::Float(Scalar { value, taint: 0 })
    }

    pub fn f32_block(layout: Layout, lanes: Vec<f32>, taints: Taints) -> Cell {
        Cell::Floats(FloatBlock { layout, lanes: Floats::F32(Arc::new(lanes)), taints })
    }

    /// What it holds, in words.
    fn kind(&self) -> &'static str {
        match self {
            Cell::Empty => "nothing",
            Cell::Int(_) => "an integer",
            Cell::Float(_) => "a float",
            Cell::Ptr(_) => "a pointer",
            Cell::Ints(_) => "integers",
            Cell::Mask(_) => "a mask",
            Cell::Floats(_) => "floats",
            Cell::Ptrs(_) => "pointers",
        }
    }

    /// The layout of a block; `None` for a scalar or uniform block.
    pub fn layout(&self) -> Option<&Layout> {
        match self {
            Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) => None,
            Cell::Ints(block) => Some(&block.layout),
            Cell::Mask(block) => Some(&block.layout),
            Cell::Floats(block) => Some(&block.layout),
            Cell::Ptrs(block) => Some(&block.offsets.layout),
        }
    }

    pub fn taints(&self) -> &Taints {
        match self {
            Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) => &None,
            Cell::Ints(block) => &block.taints,
            Cell::Mask(block) => &block.taints,
            Cell::Floats(block) => &block.taints,
            Cell::Ptrs(block) => &block.offsets.taints,
        }
    }

    /// The taint of a scalar; zero for a block.
    pub fn scalar_taint(&self) -> u8 {
        match self {
            Cell::Int(s) => s.taint,
            Cell::Float(s) => s.taint,
            Cell::Ptr(p) => p.taint,
            Cell::Empty | Cell::Ints(_) | Cell::Mask(_) | Cell::Floats(_) | Cell::Ptrs(_) => 0,
        }
    }

    /// Bytes of its lanes and taints.
    pub fn bytes(&self) -> usize {
        let ints = |block: &IntBlock| match &block.lanes {
            IntLanes::Affine { .. } => 0,
            IntLanes::Dense(lanes) => lanes.len() * 8,
        };
        let lanes = match self {
            Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) => 0,
            Cell::Ints(block) => ints(block),
            Cell::Ptrs(block) => ints(&block.offsets),
            Cell::Mask(block) => match &block.lanes {
                MaskLanes::Range { .. } => 0,
                MaskLanes::Dense(lanes) => lanes.len(),
            },
            Cell::Floats(block) => match &block.lanes {
                Floats::F32(lanes) => lanes.len() * 4,
                Floats::F64(lanes) => lanes.len() * 8,
            },
        };
        lanes + self.taints().as_ref().map_or(0, |t| t.len())
    }

    /// Its lanes and taints, as bits.
    pub fn hash_lanes(&self, hasher: &mut impl Hasher) {
        let mut ints = |block: &IntBlock| block.values().iter().for_each(|&v| hasher.write_i64(v));
        match self {
            Cell::Empty => {}
            Cell::Int(s) => hasher.write_i64(s.value),
            Cell::Float(s) => hasher.write_u64(s.value.to_bits()),
            Cell::Ptr(p) => {
                hasher.write_u32(p.arg);
                hasher.write_i64(p.offset);
            }
            Cell::Ints(block) => ints(block),
            Cell::Ptrs(block) => ints(&block.offsets),
            Cell::Mask(block) => hasher.write(&block.values()),
            Cell::Floats(block) => match &block.lanes {
                Floats::F32(lanes) => lanes.iter().for_each(|v| hasher.write_u32(v.to_bits())),
                Floats::F64(lanes) => lanes.iter().for_each(|v| hasher.write_u64(v.to_bits())),
            },
        }
        hasher.write_u8(self.scalar_taint());
        if let Some(taints) = self.taints() {
            hasher.write(taints);
        }
    }

    /// The same block with its axes seen differently.
    pub fn with_layout(&self, layout: Layout, pool: &mut Pool) -> Cell {
        match self {
            Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) => self.clone(),
            Cell::Ints(block) => Cell::Ints(block.with_layout(layout, pool)),
            Cell::Mask(block) => Cell::Mask(block.with_layout(layout, pool)),
            Cell::Floats(block) => Cell::Floats(FloatBlock { layout, ..block.clone() }),
            Cell::Ptrs(block) => Cell::Ptrs(PtrBlock { arg: block.arg, offsets: block.offsets.with_layout(layout, pool) }),
        }
    }
}
