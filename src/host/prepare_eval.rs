//! Elements for `prepare`: plain loops with torch's semantics on the CPU.
//!
//! Arithmetic is done in f32 (f64 for f64 weights) and rounded after each operation; a Python scalar
//! is rounded to the arithmetic's type first. Only f32 and f64 are computed: 16-bit floats and
//! integers are moved and cast.

use std::borrow::Cow;
use std::ops::{Add, Div, Mul, Sub};

use super::prepare::{Arithmetic, Number, Operand, Prepare, PrepareOp, PrepareStep};
use crate::diag::{self, Diagnostic, codes};
use crate::dtype::DType;
use crate::shape::{self, Strides};
use crate::tensor::{Storage, Tensor, lanes, strided};

/// The tensors that `prepare` returns, given each weight by name. Steps that none of them needs are
/// passed over, and a step's elements are dropped after their last use.
///
/// # Errors
/// What `weight` gives; H001 for arithmetic in a dtype that is not computed here.
pub fn evaluate<'w>(
    prepare: &Prepare,
    mut weight: impl FnMut(&str) -> diag::Result<Cow<'w, Tensor>>,
) -> diag::Result<Vec<Tensor>> {
    let last = last_uses(prepare);
    let mut values: Values<'w> = vec![None; prepare.steps.len()];
    for (at, step) in prepare.steps.iter().enumerate().filter(|&(at, _)| last[at].is_some()) {
        let value = match &step.op {
            PrepareOp::Weight(name) => weight(name)?,
            _ => Cow::Owned(compute(step, &values)?),
        };
        values[at] = Some(value);
        for operand in operands(&step.op).into_iter().filter(|&operand| last[operand] == Some(at)) {
            values[operand] = None;
        }
    }
    let mut left = prepare.returned.iter().fold(vec![0; values.len()], |mut left, &at| {
        left[at] += 1;
        left
    });
    let mut take = |at: usize| {
        left[at] -= 1;
        let value = if left[at] == 0 { values[at].take() } else { values[at].clone() };
        value.expect("invariant: what is returned was computed").into_owned()
    };
    Ok(prepare.returned.iter().map(|&at| take(at)).collect())
}

type Values<'w> = Vec<Option<Cow<'w, Tensor>>>;

/// The last step that reads each step, the number of steps for what is returned; `None` for steps that nothing needs.
fn last_uses(prepare: &Prepare) -> Vec<Option<usize>> {
    let end = prepare.steps.len();
    let mut last = vec![None; end];
    prepare.returned.iter().for_each(|&at| last[at] = Some(end));
    for (at, step) in prepare.steps.iter().enumerate().rev() {
        if last[at].is_some() {
            operands(&step.op).into_iter().for_each(|operand| last[operand] = last[operand].max(Some(at)));
        }
    }
    last
}

/// The steps that an operation reads.
pub fn operands(op: &PrepareOp) -> Vec<usize> {
    match op {
        PrepareOp::Weight(_) => Vec::new(),
        PrepareOp::Arithmetic(_, a, b) => {
            let step = |operand: &Operand| match *operand {
                Operand::Step(at) => Some(at),
                Operand::Scalar(_) => None,
            };
            [a, b].into_iter().filter_map(step).collect()
        }
        PrepareOp::Sqrt(at)
        | PrepareOp::Rsqrt(at)
        | PrepareOp::Reshape(at)
        | PrepareOp::Permute(at, _)
        | PrepareOp::Contiguous(at)
        | PrepareOp::To(at)
        | PrepareOp::Bits(at)
        | PrepareOp::Pad(at, ..) => vec![*at],
        PrepareOp::Cat(parts, _) => parts.clone(),
        PrepareOp::Constant(_) | PrepareOp::Full(_) => Vec::new(),
    }
}

fn compute(step: &PrepareStep, values: &Values) -> diag::Result<Tensor> {
    let values = |at: usize| values[at].as_deref().expect("invariant: operands are kept until their last use");
    let shape = &step.ty.shape;
    let refuse = |dtype: DType| {
        Box::new(Diagnostic::new(&codes::HOST_SYNTAX, format!("weight preparation that computes in {dtype} is not offered yet")))
    };
    let result = match &step.op {
        PrepareOp::Weight(_) => unreachable!("invariant: weights are given"),
        PrepareOp::Arithmetic(op, a, b) => {
            if !matches!(step.ty.dtype, DType::F32 | DType::F64) {
                return Err(refuse(step.ty.dtype));
            }
            let strides = |operand: &Operand| match *operand {
                Operand::Scalar(_) => Strides::from_elem(0, shape.len()),
                Operand::Step(at) => broadcast_strides(values(at).shape(), shape),
            };
            let (x, y) = (strides(a), strides(b));
            let out = if step.ty.dtype == DType::F64 {
                let lanes = |operand: &Operand| match *operand {
                    Operand::Scalar(v) => Cow::Owned(vec![v]),
                    Operand::Step(at) => wide(values(at).storage()),
                };
                Storage::F64(strided::zip(shape, (&lanes(a), &x), (&lanes(b), &y), |a, b| arithmetic(*op, a, b)))
            } else {
                let lanes = |operand: &Operand| match *operand {
                    Operand::Scalar(v) => Cow::Owned(vec![v as f32]),
                    Operand::Step(at) => narrow(values(at).storage()),
                };
                Storage::F32(strided::zip(shape, (&lanes(a), &x), (&lanes(b), &y), |a, b| arithmetic(*op, a, b)))
            };
            Tensor::new(step.ty.dtype, shape.clone(), out)
        }
        PrepareOp::Sqrt(at) | PrepareOp::Rsqrt(at) => {
            let reciprocal = matches!(step.op, PrepareOp::Rsqrt(_));
            let storage = match values(*at).storage() {
                Storage::F32(v) if step.ty.dtype == DType::F32 => {
                    Storage::F32(v.iter().map(|x| if reciprocal { 1.0 / x.sqrt() } else { x.sqrt() }).collect())
                }
                Storage::F64(v) => Storage::F64(v.iter().map(|x| if reciprocal { 1.0 / x.sqrt() } else { x.sqrt() }).collect()),
                Storage::F32(_) | Storage::I64(_) | Storage::Bool(_) => return Err(refuse(step.ty.dtype)),
            };
            Tensor::new(step.ty.dtype, shape.clone(), storage)
        }
        PrepareOp::Reshape(at) | PrepareOp::Contiguous(at) => {
            Tensor::new(step.ty.dtype, shape.clone(), values(*at).storage().clone())
        }
        PrepareOp::To(at) => cast(values(*at), step.ty.dtype).ok_or_else(|| refuse(step.ty.dtype))?,
        PrepareOp::Bits(at) => {
            let from = values(*at);
            let bits = (0..from.len()).map(|i| bits16(from.dtype(), from.storage().get_f64(i)));
            Tensor::new(step.ty.dtype, shape.clone(), Storage::I64(bits.collect()))
        }
        PrepareOp::Full(value) => {
            Tensor::new(step.ty.dtype, shape.clone(), filled(step.ty.dtype, shape::numel(shape).unwrap_or(0), *value))
        }
        PrepareOp::Constant(numbers) => {
            let storage = match Storage::zeros(step.ty.dtype.carrier(), 0) {
                Storage::F64(_) => Storage::F64(numbers.iter().map(|n| step.ty.dtype.round(float(*n))).collect()),
                Storage::F32(_) => Storage::F32(numbers.iter().map(|n| step.ty.dtype.round(float(*n)) as f32).collect()),
                Storage::I64(_) => Storage::I64(numbers.iter().map(|n| step.ty.dtype.wrap(int(*n))).collect()),
                Storage::Bool(_) => Storage::Bool(numbers.iter().map(|n| u8::from(float(*n) != 0.0)).collect()),
            };
            Tensor::new(step.ty.dtype, shape.clone(), storage)
        }
        PrepareOp::Permute(at, order) => {
            let dense = shape::contiguous_strides(values(*at).shape());
            let strides: Strides = order.iter().map(|&i| dense[i]).collect();
            let mut out = Storage::zeros(step.ty.dtype.carrier(), values(*at).len());
            let rows = shape::contiguous_strides(shape);
            strided::copy(shape, (&mut out, 0, &rows), (values(*at).storage(), &strides));
            Tensor::new(step.ty.dtype, shape.clone(), out)
        }
        PrepareOp::Cat(parts, axis) => {
            let mut out = Storage::zeros(step.ty.dtype.carrier(), shape::numel(shape).unwrap_or(0));
            let strides = shape::contiguous_strides(shape);
            let mut start = 0;
            for &part in parts {
                let from = values(part);
                let base = start * strides[*axis] as usize;
                let dense = shape::contiguous_strides(from.shape());
                strided::copy(from.shape(), (&mut out, base, &strides), (from.storage(), &dense));
                start += from.shape()[*axis];
            }
            Tensor::new(step.ty.dtype, shape.clone(), out)
        }
        PrepareOp::Pad(at, pads, value) => {
            let mut out = filled(step.ty.dtype, shape::numel(shape).unwrap_or(0), *value);
            let strides = shape::contiguous_strides(shape);
            let base: usize = pads.iter().zip(&strides).map(|(pad, &stride)| pad.0 * stride as usize).sum();
            let from = values(*at);
            let dense = shape::contiguous_strides(from.shape());
            strided::copy(from.shape(), (&mut out, base, &strides), (from.storage(), &dense));
            Tensor::new(step.ty.dtype, shape.clone(), out)
        }
    };
    Ok(result)
}

fn float(number: Number) -> f64 {
    match number {
        Number::Int(v) => v as f64,
        Number::Float(v) => v,
    }
}

fn int(number: Number) -> i64 {
    match number {
        Number::Int(v) => v,
        Number::Float(v) => v as i64,
    }
}

/// The bits of a 16-bit float as torch's int16.
fn bits16(dtype: DType, value: f64) -> i64 {
    let bits = match dtype {
        DType::BF16 => half::bf16::from_f64(value).to_bits(),
        _ => half::f16::from_f64(value).to_bits(),
    };
    i64::from(bits as i16)
}

/// The 16-bit floats whose bits torch holds as int16.
pub fn halves(dtype: DType, bits: &Storage) -> Storage {
    let bytes: Vec<u8> = (0..bits.len()).flat_map(|i| (bits.get_f64(i) as i16).to_le_bytes()).collect();
    lanes::from_le_bytes(dtype, &bytes)
}

fn arithmetic<T: Add<Output = T> + Sub<Output = T> + Mul<Output = T> + Div<Output = T>>(op: Arithmetic, a: T, b: T) -> T {
    match op {
        Arithmetic::Add => a + b,
        Arithmetic::Sub => a - b,
        Arithmetic::Mul => a * b,
        Arithmetic::Div => a / b,
    }
}

/// Lanes for arithmetic in f64.
fn wide(lanes: &Storage) -> Cow<'_, [f64]> {
    match lanes {
        Storage::F64(v) => Cow::Borrowed(v),
        other => Cow::Owned((0..other.len()).map(|i| other.get_f64(i)).collect()),
    }
}

/// Lanes for arithmetic in f32.
fn narrow(lanes: &Storage) -> Cow<'_, [f32]> {
    match lanes {
        Storage::F32(v) => Cow::Borrowed(v),
        other => Cow::Owned((0..other.len()).map(|i| other.get_f64(i) as f32).collect()),
    }
}

fn cast(from: &Tensor, to: DType) -> Option<Tensor> {
    let storage = match (from.storage(), to) {
        (same, _) if from.dtype() == to => same.clone(),
        (Storage::F64(v), DType::F32 | DType::F16 | DType::BF16) => Storage::F32(v.iter().map(|&x| to.round(x) as f32).collect()),
        (Storage::F32(v), DType::F64) => Storage::F64(v.iter().map(|&x| f64::from(x)).collect()),
        (Storage::F32(v), DType::F32) => Storage::F32(v.clone()),
        (Storage::F32(v), DType::F16 | DType::BF16) => Storage::F32(v.iter().map(|&x| to.round(f64::from(x)) as f32).collect()),
        (Storage::I64(v), DType::F32) => Storage::F32(v.iter().map(|&x| x as f32).collect()),
        (Storage::I64(v), DType::F64) => Storage::F64(v.iter().map(|&x| x as f64).collect()),
        _ => return None,
    };
    Some(Tensor::new(to, from.shape(), storage))
}

fn filled(dtype: DType, len: usize, value: f64) -> Storage {
    match Storage::zeros(dtype.carrier(), 0) {
        Storage::F64(_) => Storage::F64(vec![value; len]),
        Storage::F32(_) => Storage::F32(vec![value as f32; len]),
        Storage::I64(_) => Storage::I64(vec![value as i64; len]),
        Storage::Bool(_) => Storage::Bool(vec![u8::from(value != 0.0); len]),
    }
}

/// Strides of a dense tensor read at the coordinates of a larger shape.
fn broadcast_strides(from: &[usize], to: &[usize]) -> Strides {
    let dense = shape::contiguous_strides(from);
    let missing = to.len() - from.len();
    (0..to.len()).map(|i| if i < missing || from[i - missing] == 1 { 0 } else { dense[i - missing] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::TensorType;
    use crate::source::Span;
    use smallvec::smallvec;

    fn step(op: PrepareOp, shape: &[usize]) -> PrepareStep {
        let ty = TensorType { dtype: DType::F32, shape: smallvec::SmallVec::from_slice(shape) };
        PrepareStep { op, ty, contiguous: true, span: Span::default() }
    }

    #[test]
    fn casts_round_to_16_bits_and_arithmetic_in_them_is_refused() {
        let narrow = |op, dtype| {
            let ty = TensorType { dtype, shape: smallvec![2] };
            PrepareStep { op, ty, contiguous: true, span: Span::default() }
        };
        let mut prepare = Prepare {
            steps: vec![
                step(PrepareOp::Weight("w".into()), &[2]),
                narrow(PrepareOp::To(0), DType::BF16),
                step(PrepareOp::To(1), &[2]),
                narrow(PrepareOp::To(0), DType::F16),
            ],
            returned: vec![2, 3],
        };
        let w = Tensor::from_f32(smallvec![2usize], vec![257.0, 2049.0]);
        let out = |prepare: &Prepare| evaluate(prepare, |_| Ok(Cow::Borrowed(&w)));
        let lanes = out(&prepare).unwrap();
        assert_eq!((lanes[0].as_f32().unwrap(), lanes[1].dtype()), ([256.0, 2048.0].as_slice(), DType::F16));
        assert_eq!(lanes[1].as_f32().unwrap(), [257.0, 2048.0]);
        prepare.steps.push(narrow(PrepareOp::Arithmetic(Arithmetic::Add, Operand::Step(1), Operand::Step(1)), DType::BF16));
        prepare.returned.push(4);
        assert_eq!(out(&prepare).unwrap_err().code.id, "H001");
    }

    #[test]
    fn a_batch_norm_is_folded() {
        use Arithmetic::*;
        use Operand::*;
        let prepare = Prepare {
            steps: vec![
                step(PrepareOp::Weight("w".into()), &[2, 2]),
                step(PrepareOp::Weight("var".into()), &[2]),
                step(PrepareOp::Arithmetic(Add, Step(1), Scalar(1.0)), &[2]),
                step(PrepareOp::Rsqrt(2), &[2]),
                step(PrepareOp::Reshape(3), &[2, 1]),
                step(PrepareOp::Arithmetic(Mul, Step(0), Step(4)), &[2, 2]),
                step(PrepareOp::Permute(5, vec![1, 0]), &[2, 2]),
                step(PrepareOp::Pad(6, vec![(0, 1), (1, 0)], 9.0), &[3, 3]),
                step(PrepareOp::Cat(vec![7, 7], 1), &[3, 6]),
            ],
            returned: vec![6, 8],
        };
        let w = Tensor::from_f32(smallvec![2usize, 2], vec![1.0, 2.0, 3.0, 4.0]);
        let var = Tensor::from_f32(smallvec![2usize], vec![3.0, 0.0]);
        let out = evaluate(&prepare, |name| Ok(Cow::Owned(if name == "w" { w.clone() } else { var.clone() }))).unwrap();
        assert_eq!(out[0].as_f32().unwrap(), [0.5, 3.0, 1.0, 4.0]);
        let half = [[9.0, 0.5, 3.0], [9.0, 1.0, 4.0], [9.0, 9.0, 9.0]];
        let want: Vec<f32> = half.iter().flat_map(|row| row.iter().chain(row)).copied().collect();
        assert_eq!(out[1].as_f32().unwrap(), want);
    }
}
