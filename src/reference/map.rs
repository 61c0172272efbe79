//! `Map`: an expression over the elements that its accesses read, a block of output lanes at a time.
//!
//! Every node of the expression is evaluated for a whole block before the next one (a register a
//! node). Floats are carried as f64; in fp32 each result is rounded to f32, which for + − · ÷ √ is
//! the correctly rounded f32 result, since f64 has more than twice its digits.
//!
//! A lane without a value (an integer divided by zero, a float that does not fit the integer type it is
//! cast to) is noted beside the registers and is an error only when it reaches the output: a `select`
//! may choose the other side.

use std::ops::Range;

use rayon::prelude::*;

use super::Math;
use super::access::Reader;
use super::bridge::hold;
use crate::diag::{Diagnostic, Result, codes};
use crate::dtype::{Carrier, DType, FloatFormat};
use crate::expr::{Constant, Expr, ExprId, Node, operands, scalar};
use crate::graph::op::Map;
use crate::shape;
use crate::tensor::{Storage, Tensor};

/// Output lanes evaluated at once: registers stay in the cache.
pub const BLOCK: usize = 2048;

pub(super) fn evaluate(map: &Map, operands: &[Option<&Tensor>], math: Math) -> Result<Tensor> {
    let reader = Reader::new(map, operands)?;
    let len = shape::numel(&map.dims).expect("invariant: sizes are checked at import");
    let dtype = map.body.dtype();
    let blocks = (0..len.div_ceil(BLOCK)).into_par_iter().map(|block| {
        let range = block * BLOCK..((block + 1) * BLOCK).min(len);
        registers(map, &reader, range, math).map(|mut registers| registers.pop())
    });
    let blocks: Vec<Storage> = blocks.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    Ok(match dtype.carrier() {
        Carrier::F64 | Carrier::F32 => hold(concatenate(blocks, Lanes::floats), dtype, &map.dims, math),
        Carrier::I64 => Tensor::new(dtype, map.dims.clone(), Storage::I64(concatenate(blocks, Lanes::integers))),
        Carrier::Bool => Tensor::new(dtype, map.dims.clone(), Storage::Bool(concatenate(blocks, Lanes::bools))),
    })
}

fn concatenate<T: Clone>(blocks: Vec<Storage>, lanes: impl Fn(&Storage) -> &[T]) -> Vec<T> {
    let mut all = Vec::with_capacity(blocks.iter().map(Storage::len).sum());
    blocks.iter().for_each(|block| all.extend_from_slice(lanes(block)));
    all
}

/// Lanes of a register by carrier. The carriers of an expression's nodes follow from their dtypes, so
/// a wrong one is our fault.
pub struct Lanes;

impl Lanes {
    pub fn floats(register: &Storage) -> &[f64] {
        match register {
            Storage::F64(lanes) => lanes,
            Storage::F32(_) | Storage::I64(_) | Storage::Bool(_) => unreachable!("invariant: a float register holds f64"),
        }
    }

    pub fn integers(register: &Storage) -> &[i64] {
        match register {
            Storage::I64(lanes) => lanes,
            Storage::F32(_) | Storage::F64(_) | Storage::Bool(_) => unreachable!("invariant: an integer register holds i64"),
        }
    }

    pub fn bools(register: &Storage) -> &[u8] {
        match register {
            Storage::Bool(lanes) => lanes,
            Storage::F32(_) | Storage::I64(_) | Storage::F64(_) => unreachable!("invariant: a bool register holds u8"),
        }
    }
}

/// The lanes of every node of a Map's body for a range of output elements: `F64`, `I64` or `Bool`
/// storage by the node's carrier. Lanes without a value hold zero.
///
/// # Errors
/// When the last node has a lane without a value, or an operator is not one of its operands' type.
pub fn registers(map: &Map, reader: &Reader, range: Range<usize>, math: Math) -> Result<Vec<Storage>> {
    let mut registers: Vec<Storage> = Vec::with_capacity(map.body.nodes().len());
    let mut missing: Vec<Missing> = Vec::with_capacity(map.body.nodes().len());
    for &(node, dtype) in map.body.nodes() {
        let mut holes = inherited(node, &registers, &missing);
        let lanes = match node {
            Node::Read(k) => reader.fetch(k as usize, range.clone(), None)?,
            Node::Coordinate(k) => coordinate(map, k as usize, range.clone(), dtype),
            Node::Constant(constant) => splat(constant, dtype, range.len()),
            Node::Unary(..) | Node::Binary(..) | Node::Compare(..) | Node::Select(..) | Node::Cast(_) => {
                compute(&map.body, node, dtype, &registers, math, &mut holes).ok_or_else(|| undefined(map, node, dtype))?
            }
        };
        if !holds(&lanes, dtype) {
            let message = format!("{}: a {dtype} node of the expression gets lanes of another kind", map.label);
            return Err(Box::new(Diagnostic::new(&codes::GRAPH_INVALID, message)));
        }
        registers.push(lanes);
        missing.push(holes);
    }
    match missing.pop().flatten().and_then(|holes| holes.iter().position(|&hole| hole != 0)) {
        Some(lane) => Err(no_value(map, range.start + lane)),
        None => Ok(registers),
    }
}

/// One byte a lane: whether it lacks a value; `None` when every lane has one.
type Missing = Option<Vec<u8>>;

/// The lanes that lack a value because their operands do.
fn inherited(node: Node, registers: &[Storage], missing: &[Missing]) -> Missing {
    let of = |id: ExprId| missing[id.0 as usize].as_ref();
    if let Node::Select(c, a, b) = node {
        if [c, a, b].into_iter().all(|id| of(id).is_none()) {
            return None;
        }
        let hole = |id: ExprId, i: usize| of(id).map_or(0, |holes| holes[i]);
        let chosen = |(i, &side): (usize, &u8)| hole(c, i) | if side != 0 { hole(a, i) } else { hole(b, i) };
        return Some(Lanes::bools(&registers[c.0 as usize]).iter().enumerate().map(chosen).collect());
    }
    let mut all: Missing = None;
    operands(node, |id| match (&mut all, of(id)) {
        (_, None) => {}
        (None, Some(holes)) => all = Some(holes.clone()),
        (Some(all), Some(holes)) => all.iter_mut().zip(holes).for_each(|(lane, hole)| *lane |= hole),
    });
    all
}

fn no_value(map: &Map, element: usize) -> Box<Diagnostic> {
    let message = format!("{}: element {element} of the output has no value", map.label);
    let note = "an integer was divided by zero, or a float was cast to an integer type that it does not fit";
    Box::new(Diagnostic::new(&codes::DTYPE_UNSUPPORTED, message).note(note))
}

/// Lanes that may lack a value; where one does, it is marked and the lane is zero.
fn filled(lanes: impl Iterator<Item = Option<i64>>, missing: &mut Missing) -> Vec<i64> {
    let len = lanes.size_hint().0;
    let mark = |(i, lane): (usize, Option<i64>)| {
        lane.unwrap_or_else(|| {
            missing.get_or_insert_with(|| vec![0; len])[i] = 1;
            0
        })
    };
    lanes.enumerate().map(mark).collect()
}

/// Whether lanes are those of a dtype's carrier.
fn holds(lanes: &Storage, dtype: DType) -> bool {
    match dtype.carrier() {
        Carrier::F64 | Carrier::F32 => matches!(lanes, Storage::F64(_)),
        Carrier::I64 => matches!(lanes, Storage::I64(_)),
        Carrier::Bool => matches!(lanes, Storage::Bool(_)),
    }
}

fn undefined(map: &Map, node: Node, dtype: DType) -> Box<Diagnostic> {
    let operator = match node {
        Node::Unary(op, _) => format!("{op:?}"),
        Node::Binary(op, ..) => format!("{op:?}"),
        Node::Compare(op, ..) => format!("{op:?}"),
        Node::Read(_) | Node::Coordinate(_) | Node::Constant(_) | Node::Select(..) | Node::Cast(_) => format!("{node:?}"),
    };
    let message = format!("{}: {operator} is not defined on these {dtype} elements", map.label);
    Box::new(Diagnostic::new(&codes::DTYPE_UNSUPPORTED, message))
}

fn coordinate(map: &Map, k: usize, range: Range<usize>, dtype: DType) -> Storage {
    let inner: usize = map.dims[k + 1..].iter().product();
    let at = move |i: usize| i / inner % map.dims[k];
    match dtype.carrier() {
        Carrier::F64 | Carrier::F32 => Storage::F64(range.map(|i| at(i) as f64).collect()),
        Carrier::I64 => Storage::I64(range.map(|i| dtype.wrap(at(i) as i64)).collect()),
        Carrier::Bool => Storage::Bool(range.map(|i| (at(i) != 0) as u8).collect()),
    }
}

fn splat(constant: Constant, dtype: DType, len: usize) -> Storage {
    let (float, integer) = match constant {
        Constant::Float(bits) => (f64::from_bits(bits), f64::from_bits(bits) as i64),
        Constant::Int(value) => (value as f64, value),
        Constant::Bool(value) => (value as u8 as f64, value as i64),
    };
    match (dtype.carrier(), dtype.computed_in().format()) {
        (Carrier::F64 | Carrier::F32, format) => Storage::F64(vec![format.map_or(float, |f| f.round(float)); len]),
        (Carrier::I64, _) => Storage::I64(vec![dtype.wrap(integer); len]),
        (Carrier::Bool, _) => Storage::Bool(vec![(integer != 0) as u8; len]),
    }
}

/// Rounds a float result of an expression's node.
fn rounding(dtype: DType, math: Math) -> Option<FloatFormat> {
    if math.is_single(dtype) { DType::F32.format() } else { None }
}

/// One operator over whole registers; `None` when it is not one of its operands' type. Adds the lanes
/// that have no value to `missing`.
fn compute(body: &Expr, node: Node, dtype: DType, registers: &[Storage], math: Math, missing: &mut Missing) -> Option<Storage> {
    let lanes = |id: ExprId| &registers[id.0 as usize];
    let of = |id: ExprId| body.nodes()[id.0 as usize].1;
    match node {
        Node::Read(_) | Node::Coordinate(_) | Node::Constant(_) => None,
        Node::Unary(op, a) => match lanes(a) {
            Storage::F64(a) => {
                scalar::unary(op, 1.0)?;
                Some(Storage::F64(float(a.iter().map(|&a| scalar::unary(op, a).unwrap_or(f64::NAN)), dtype, math)))
            }
            Storage::I64(a) => a.iter().map(|&a| scalar::unary_integer(op, a, dtype)).collect::<Option<_>>().map(Storage::I64),
            Storage::Bool(a) => {
                let one = |&a: &u8| scalar::unary_bool(op, a != 0).map(u8::from);
                a.iter().map(one).collect::<Option<_>>().map(Storage::Bool)
            }
            Storage::F32(_) => None,
        },
        Node::Binary(op, a, b) => match (lanes(a), lanes(b)) {
            (Storage::F64(a), Storage::F64(b)) => {
                scalar::binary(op, 1.0, 1.0)?;
                let pairs = a.iter().zip(b);
                Some(Storage::F64(float(pairs.map(|(&a, &b)| scalar::binary(op, a, b).unwrap_or(f64::NAN)), dtype, math)))
            }
            (Storage::I64(a), Storage::I64(b)) => {
                scalar::binary_integer(op, 1, 1, dtype)?;
                let pairs = a.iter().zip(b).map(|(&a, &b)| scalar::binary_integer(op, a, b, dtype));
                Some(Storage::I64(filled(pairs, missing)))
            }
            (Storage::Bool(a), Storage::Bool(b)) => {
                let one = |(&a, &b): (&u8, &u8)| scalar::binary_bool(op, a != 0, b != 0).map(u8::from);
                a.iter().zip(b).map(one).collect::<Option<_>>().map(Storage::Bool)
            }
            (Storage::F64(_) | Storage::I64(_) | Storage::Bool(_) | Storage::F32(_), _) => None,
        },
        Node::Compare(op, a, b) => {
            let lanes = match (lanes(a), lanes(b)) {
                (Storage::F64(a), Storage::F64(b)) => zip(a, b, |a, b| scalar::compare(op, a, b) as u8),
                (Storage::I64(x), Storage::I64(y)) => zip(x, y, |x, y| scalar::compare_integers(op, x, y, of(a)) as u8),
                (Storage::Bool(a), Storage::Bool(b)) => zip(a, b, |a, b| scalar::compare(op, a, b) as u8),
                (Storage::F64(_) | Storage::I64(_) | Storage::Bool(_) | Storage::F32(_), _) => return None,
            };
            Some(Storage::Bool(lanes))
        }
        Node::Select(condition, then, other) => {
            let Storage::Bool(condition) = lanes(condition) else { return None };
            match (lanes(then), lanes(other)) {
                (Storage::F64(a), Storage::F64(b)) => Some(Storage::F64(choose(condition, a, b))),
                (Storage::I64(a), Storage::I64(b)) => Some(Storage::I64(choose(condition, a, b))),
                (Storage::Bool(a), Storage::Bool(b)) => Some(Storage::Bool(choose(condition, a, b))),
                (Storage::F64(_) | Storage::I64(_) | Storage::Bool(_) | Storage::F32(_), _) => None,
            }
        }
        Node::Cast(a) => cast(lanes(a), of(a), dtype, math, missing),
    }
}

fn float(lanes: impl Iterator<Item = f64>, dtype: DType, math: Math) -> Vec<f64> {
    match rounding(dtype, math) {
        Some(_) => lanes.map(|v| v as f32 as f64).collect(),
        None => lanes.collect(),
    }
}

fn zip<T: Copy, U>(a: &[T], b: &[T], f: impl Fn(T, T) -> U) -> Vec<U> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

fn choose<T: Copy>(condition: &[u8], then: &[T], other: &[T]) -> Vec<T> {
    condition.iter().zip(then.iter().zip(other)).map(|(&c, (&a, &b))| if c != 0 { a } else { b }).collect()
}

/// A conversion. A float cast rounds when its target has fewer digits than its source, in f64 too: a
/// cast is part of the function. Widening rounds nothing.
fn cast(lanes: &Storage, from: DType, to: DType, math: Math, missing: &mut Missing) -> Option<Storage> {
    let narrower = match (from.format(), to.format()) {
        (Some(source), Some(target)) => (math != Math::F64 || target.digits < source.digits).then_some(target),
        (None, _) | (Some(_), None) => None,
    };
    let round = |v: f64| narrower.map_or(v, |format| format.round(v));
    Some(match (to.carrier(), lanes) {
        (Carrier::F64 | Carrier::F32, Storage::F64(a)) => Storage::F64(a.iter().map(|&v| round(v)).collect()),
        (Carrier::F64 | Carrier::F32, Storage::I64(a)) => {
            Storage::F64(a.iter().map(|&v| scalar::integer_to_float(v, from, to)).collect())
        }
        (Carrier::F64 | Carrier::F32, Storage::Bool(a)) => Storage::F64(a.iter().map(|&v| v as f64).collect()),
        (Carrier::I64, Storage::F64(a)) => Storage::I64(filled(a.iter().map(|&v| scalar::float_to_integer(v, to)), missing)),
        (Carrier::I64, Storage::I64(a)) => Storage::I64(a.iter().map(|&v| to.wrap(v)).collect()),
        (Carrier::I64, Storage::Bool(a)) => Storage::I64(a.iter().map(|&v| v as i64).collect()),
        (Carrier::Bool, Storage::F64(a)) => Storage::Bool(a.iter().map(|&v| (v != 0.0) as u8).collect()),
        (Carrier::Bool, Storage::I64(a)) => Storage::Bool(a.iter().map(|&v| (v != 0) as u8).collect()),
        (Carrier::Bool, Storage::Bool(a)) => Storage::Bool(a.clone()),
        (Carrier::F64 | Carrier::F32 | Carrier::I64 | Carrier::Bool, Storage::F32(_)) => return None,
    })
}
