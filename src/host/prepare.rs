//! `prepare(weights)` as data: what is computed from weights before the first launch.
//!
//! The host evaluator runs the function over weights that have no elements and records each
//! operation as a step. Scalars stay Python floats; tensors broadcast as in torch. A step's layout
//! in memory is followed only so far as to know that what is returned is contiguous.

use smallvec::SmallVec;

use super::HostArg;
use super::call::Args;
use super::eval::Evaluator;
use super::frame::Frame;
use super::modules::Modules;
use super::value::Value;
use super::view;
use crate::diag;
use crate::dtype::DType;
use crate::graph::TensorType;
use crate::shape::{self, Shape};
use crate::source::Span;
use crate::syntax::ast::BinaryOp;
use crate::syntax::constant::binary_symbol;

/// What `prepare` computes: steps in order, and which of them it returns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepare {
    pub steps: Vec<PrepareStep>,
    /// Into `steps`.
    pub returned: Vec<usize>,
}

/// One tensor computed from weights.
#[derive(Clone, Debug, PartialEq)]
pub struct PrepareStep {
    pub op: PrepareOp,
    pub ty: TensorType,
    /// Whether torch is sure to lay it out in row-major order.
    pub contiguous: bool,
    pub span: Span,
}

/// An operand: an earlier step, or a Python number (rounded to the tensor's dtype).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    Step(usize),
    Scalar(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
}

/// Operations on weights; `usize` operands are earlier steps.
#[derive(Clone, Debug, PartialEq)]
pub enum PrepareOp {
    Weight(String),
    /// Broadcasts; the operands have one dtype.
    Arithmetic(Arithmetic, Operand, Operand),
    Sqrt(usize),
    /// 1 / √x, each rounded.
    Rsqrt(usize),
    /// Row-major elements under the step's shape.
    Reshape(usize),
    /// Result axis i is operand axis `order[i]`.
    Permute(usize, Vec<usize>),
    Contiguous(usize),
    /// To the step's dtype.
    To(usize),
    Cat(Vec<usize>, usize),
    /// Elements before and after each axis.
    Pad(usize, Vec<(usize, usize)>, f64),
    /// The bits of a 16-bit float as an integer.
    Bits(usize),
    /// One number everywhere.
    Full(f64),
    /// `torch.tensor([…])`: elements, of which integers are exact up to 64 bits.
    Constant(Vec<Number>),
}

/// An element of a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Int(i64),
    Float(f64),
}

/// What `module.prepare(weights)` computes and returns (a tensor, or a tuple of tensors).
///
/// # Errors
/// As [`super::trace_launch`]; H001 also when a returned tensor may not be contiguous.
pub fn prepare(modules: &Modules, module: &str, weights: &[(String, TensorType)]) -> diag::Result<Prepare> {
    let mut evaluator = Evaluator::new(modules);
    evaluator.steps = Some(Vec::new());
    let (module, def) = evaluator.entry(module, "prepare")?;
    let argument = evaluator.argument(&HostArg::Mapping(weights.to_vec()), "weights".to_owned());
    let returned = evaluator.call_function(module, def, vec![argument], Vec::new())?;
    let steps = evaluator.steps.unwrap_or_default();
    let frame = Frame::new(module, def);
    let items = match returned {
        Value::Tuple(items) => items,
        one => vec![one],
    };
    let returned = items
        .iter()
        .map(|item| match item {
            Value::Prepared(step) if steps[*step].contiguous => Ok(*step),
            Value::Prepared(step) => {
                Err(frame.unsupported(steps[*step].span, "returning a tensor that is not contiguous from prepare"))
            }
            other => Err(frame.unsupported(def.name_span, &format!("returning {} from prepare", other.kind()))),
        })
        .collect::<diag::Result<Vec<usize>>>()?;
    Ok(Prepare { steps, returned })
}

impl<'m> Evaluator<'m> {
    fn step(
        &mut self,
        frame: &Frame<'m>,
        op: PrepareOp,
        (dtype, shape): (DType, Shape),
        contiguous: bool,
        span: Span,
    ) -> diag::Result<Value<'m>> {
        let ty = TensorType { dtype, shape };
        self.charge(frame, &ty, span)?;
        let steps = self.steps.as_mut().expect("invariant: weights exist in prepare");
        steps.push(PrepareStep { op, ty, contiguous, span });
        Ok(Value::Prepared(steps.len() - 1))
    }

    fn at(&self, step: usize) -> &PrepareStep {
        &self.steps.as_ref().expect("invariant: weights exist in prepare")[step]
    }

    /// `a op b` where one of them is a weight.
    pub(super) fn prepared_binary(
        &mut self,
        frame: &Frame<'m>,
        op: BinaryOp,
        a: Value<'m>,
        b: Value<'m>,
        span: Span,
    ) -> diag::Result<Value<'m>> {
        let arithmetic = match op {
            BinaryOp::Add => Arithmetic::Add,
            BinaryOp::Sub => Arithmetic::Sub,
            BinaryOp::Mul => Arithmetic::Mul,
            BinaryOp::Div => Arithmetic::Div,
            _ => return Err(frame.unsupported(span, &format!("`{}` on weights", binary_symbol(op)))),
        };
        let mut dtype = None;
        let mut shape = Shape::new();
        let mut contiguous = true;
        let mut operands = [Operand::Scalar(0.0); 2];
        for (operand, value) in operands.iter_mut().zip([&a, &b]) {
            *operand = match value {
                Value::Int(v) => Operand::Scalar(*v as f64),
                Value::Float(v) => Operand::Scalar(*v),
                Value::Prepared(step) => {
                    let step_data = self.at(*step);
                    let ty = &step_data.ty;
                    if !ty.dtype.is_float() || dtype.is_some_and(|d| d != ty.dtype) {
                        return Err(frame.unsupported(span, "arithmetic on weights that are not of one float dtype"));
                    }
                    dtype = Some(ty.dtype);
                    contiguous &= step_data.contiguous;
                    shape = shape::broadcast(&shape, &ty.shape).ok_or_else(|| {
                        let message =
                            format!("shapes {} and {} do not broadcast", shape::display(&shape), shape::display(&ty.shape));
                        frame.raises(span, message)
                    })?;
                    Operand::Step(*step)
                }
                other => return Err(frame.unsupported(span, &format!("arithmetic on a weight and {}", other.kind()))),
            };
        }
        let dtype = dtype.expect("invariant: one operand is a weight");
        self.step(frame, PrepareOp::Arithmetic(arithmetic, operands[0], operands[1]), (dtype, shape), contiguous, span)
    }

    /// A method of a weight.
    pub(super) fn prepared_method(
        &mut self,
        frame: &Frame<'m>,
        step: usize,
        name: &str,
        args: Args<'m>,
    ) -> diag::Result<Value<'m>> {
        let span = args.span;
        args.no_more(frame)?;
        let PrepareStep { ty: TensorType { dtype, shape }, contiguous, .. } = self.at(step).clone();
        if let Some(value) = self.metadata(frame, &shape, name, &args)? {
            return Ok(value);
        }
        let raises = |message: String| frame.raises(span, message);
        match (name, args.positional.as_slice()) {
            ("view", &[Value::DType(DType::I16)]) if matches!(dtype, DType::F16 | DType::BF16) => {
                self.step(frame, PrepareOp::Bits(step), (DType::I16, shape), contiguous, span)
            }
            ("view" | "reshape", sizes) => {
                if name == "view" && !contiguous {
                    return Err(frame.unsupported(span, "`.view()` of a tensor that is not contiguous"));
                }
                let shape = view::resolve(&self.ints(frame, span, sizes)?, &shape).map_err(raises)?;
                self.step(frame, PrepareOp::Reshape(step), (dtype, shape), contiguous, span)
            }
            ("permute", order) => {
                let order = view::permutation(&self.ints(frame, span, order)?, shape.len()).map_err(raises)?;
                self.permuted(frame, step, order, span)
            }
            ("transpose", &[Value::Int(a), Value::Int(b)]) => {
                let mut order: Vec<usize> = (0..shape.len()).collect();
                order.swap(view::axis(a, shape.len()).map_err(raises)?, view::axis(b, shape.len()).map_err(raises)?);
                self.permuted(frame, step, order, span)
            }
            // The same elements: a copy that nothing is written to afterwards, and a tensor without its history.
            ("clone" | "detach", []) => Ok(Value::Prepared(step)),
            ("stride", &[Value::Int(i)]) if contiguous => {
                let at = view::axis(i, shape.len()).map_err(raises)?;
                Ok(Value::Int(shape::contiguous_strides(&shape)[at]))
            }
            ("contiguous", []) => self.step(frame, PrepareOp::Contiguous(step), (dtype, shape), true, span),
            ("to", &[Value::DType(to)]) => self.step(frame, PrepareOp::To(step), (to, shape), contiguous, span),
            _ => Err(frame.unsupported(span, &format!("`.{name}()` of a weight"))),
        }
    }

    fn permuted(&mut self, frame: &Frame<'m>, step: usize, order: Vec<usize>, span: Span) -> diag::Result<Value<'m>> {
        let TensorType { dtype, shape } = self.at(step).ty.clone();
        let moved: Shape = order.iter().map(|&i| shape[i]).collect();
        // Axes of size 1 may move freely.
        let wide = order.iter().copied().filter(|&i| shape[i] != 1);
        let contiguous = self.at(step).contiguous && wide.is_sorted();
        self.step(frame, PrepareOp::Permute(step, order), (dtype, moved), contiguous, span)
    }

    /// `torch.<name>(…)` on weights.
    pub(super) fn prepared_function(&mut self, frame: &Frame<'m>, name: &str, mut args: Args<'m>) -> diag::Result<Value<'m>> {
        let span = args.span;
        let outside = || frame.unsupported(span, &format!("this call of `torch.{name}`"));
        match (name, args.positional.as_slice()) {
            ("sqrt" | "rsqrt", &[Value::Prepared(step)]) => {
                args.no_more(frame)?;
                let PrepareStep { ty: TensorType { dtype, shape }, contiguous, .. } = self.at(step).clone();
                if !dtype.is_float() {
                    return Err(outside());
                }
                let op = if name == "sqrt" { PrepareOp::Sqrt(step) } else { PrepareOp::Rsqrt(step) };
                self.step(frame, op, (dtype, shape), contiguous, span)
            }
            ("full", [sizes @ Value::Tuple(_), value @ (Value::Int(_) | Value::Float(_))]) => {
                let value = match value {
                    Value::Float(v) => *v,
                    Value::Int(v) => *v as f64,
                    _ => return Err(outside()),
                };
                let sizes = self.ints(frame, span, std::slice::from_ref(sizes))?;
                let shape = sizes.iter().map(|&size| usize::try_from(size)).collect::<Result<Shape, _>>();
                let shape = shape.map_err(|_| frame.raises(span, "torch.full with a negative size"))?;
                let dtype = self.dtype_argument(frame, &mut args)?.ok_or_else(outside)?;
                args.no_more(frame)?;
                self.step(frame, PrepareOp::Full(value), (dtype, shape), true, span)
            }
            ("tensor", [Value::Tuple(items)]) => {
                let numbers = items.iter().map(|item| match item {
                    Value::Int(v) => Ok(Number::Int(*v)),
                    Value::Float(v) => Ok(Number::Float(*v)),
                    Value::Bool(v) => Ok(Number::Int(i64::from(*v))),
                    _ => Err(outside()),
                });
                let numbers = numbers.collect::<diag::Result<Vec<Number>>>()?;
                let dtype = self.dtype_argument(frame, &mut args)?.ok_or_else(outside)?;
                args.no_more(frame)?;
                let shape = Shape::from_slice(&[numbers.len()]);
                self.step(frame, PrepareOp::Constant(numbers), (dtype, shape), true, span)
            }
            ("nn.Parameter", &[Value::Prepared(step)]) => {
                args.take("requires_grad");
                args.no_more(frame)?;
                Ok(Value::Prepared(step))
            }
            ("cat", [Value::Tuple(items)]) => {
                let steps: Vec<usize> = items
                    .iter()
                    .map(|item| match item {
                        Value::Prepared(step) => Ok(*step),
                        _ => Err(outside()),
                    })
                    .collect::<Result<_, _>>()?;
                let dim = args.take("dim");
                args.no_more(frame)?;
                match dim {
                    None => self.cat(frame, steps, 0, span),
                    Some(Value::Int(dim)) => self.cat(frame, steps, dim, span),
                    Some(_) => Err(outside()),
                }
            }
            ("nn.functional.pad", [Value::Prepared(step), Value::Tuple(_)]) => {
                let step = *step;
                let amounts = self.ints(frame, span, &args.positional[1..])?;
                let value = match args.take("value") {
                    None => 0.0,
                    Some(Value::Int(v)) => v as f64,
                    Some(Value::Float(v)) => v,
                    Some(_) => return Err(outside()),
                };
                args.no_more(frame)?;
                self.pad(frame, step, &amounts, value, span)
            }
            _ => Err(outside()),
        }
    }

    fn cat(&mut self, frame: &Frame<'m>, steps: Vec<usize>, dim: i64, span: Span) -> diag::Result<Value<'m>> {
        let Some(&first) = steps.first() else { return Err(frame.raises(span, "torch.cat of nothing")) };
        let TensorType { dtype, mut shape } = self.at(first).ty.clone();
        let axis = view::axis(dim, shape.len()).map_err(|message| frame.raises(span, message))?;
        let mut contiguous = true;
        let mut size = 0;
        for &step in &steps {
            let part = self.at(step);
            contiguous &= part.contiguous;
            size = usize::saturating_add(size, part.ty.shape.get(axis).copied().unwrap_or(0));
            let alike = part.ty.shape.len() == shape.len() && (0..shape.len()).all(|i| i == axis || shape[i] == part.ty.shape[i]);
            if !alike || part.ty.dtype != dtype {
                return Err(frame.raises(span, "torch.cat of tensors whose types differ"));
            }
        }
        shape[axis] = size;
        self.step(frame, PrepareOp::Cat(steps, axis), (dtype, shape), contiguous, span)
    }

    /// torch gives amounts in pairs, the last axis first.
    fn pad(&mut self, frame: &Frame<'m>, step: usize, amounts: &[i64], value: f64, span: Span) -> diag::Result<Value<'m>> {
        let PrepareStep { ty: TensorType { dtype, mut shape }, contiguous, .. } = self.at(step).clone();
        let mut pads: SmallVec<[(usize, usize); 6]> = SmallVec::from_elem((0, 0), shape.len());
        if !amounts.len().is_multiple_of(2) || amounts.len() / 2 > shape.len() {
            return Err(frame.raises(span, format!("{} padding amounts for {} axes", amounts.len(), shape.len())));
        }
        for (pair, axis) in amounts.chunks(2).zip((0..shape.len()).rev()) {
            let (Ok(before), Ok(after)) = (usize::try_from(pair[0]), usize::try_from(pair[1])) else {
                return Err(frame.unsupported(span, "negative padding"));
            };
            pads[axis] = (before, after);
            // A sum that saturates is beyond the budget.
            shape[axis] = shape[axis].saturating_add(before).saturating_add(after);
        }
        self.step(frame, PrepareOp::Pad(step, pads.to_vec(), value), (dtype, shape), contiguous, span)
    }
}
