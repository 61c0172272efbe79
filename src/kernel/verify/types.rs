//! The types that each instruction demands of its operands and results.

use super::{Check, Verifier, check};
use crate::kernel::ir::{AtomicOp, CastKind, Elem, FloatBinary, Inst, InstKind, Literal, Type, Value};
use crate::kernel::lower;
use crate::source::Span;

impl Verifier<'_> {
    pub(super) fn inst(&mut self, inst: &Inst) -> Check {
        let span = inst.span;
        let result_types: Vec<Type> = inst.results.iter().map(|&r| self.ty(r).clone()).collect();
        let results = |count: usize| {
            check(result_types.len() == count, span, || format!("{} results instead of {count}", result_types.len()))
        };
        let is = |ty: &Type| {
            results(1)?;
            check(result_types[0] == *ty, span, || format!("the result is {} instead of {ty}", result_types[0]))
        };
        match &inst.kind {
            InstKind::ProgramId { axis } | InstKind::NumPrograms { axis } => {
                check(*axis < 3, span, || format!("grid axis {axis}"))?;
                is(&Type::scalar(Elem::I32))
            }
            InstKind::Constant(literal) => {
                results(1)?;
                let elem = result_types[0].elem;
                let fits = match literal {
                    Literal::Int(int) => elem.is_integer() && lower::wrap(*int, elem) == *int,
                    Literal::Float(_) => elem.is_float(),
                };
                check(fits, span, || format!("the constant {literal:?} is no {elem}"))
            }
            InstKind::MakeRange { start, end } => {
                let size = i64::from(*end) - i64::from(*start);
                check(size > 0, span, || format!("an empty range {start} to {end}"))?;
                is(&Type::block(Elem::I32, &[size as usize]))
            }
            InstKind::Splat(v) => {
                results(1)?;
                check(self.ty(*v).is_scalar() && !result_types[0].is_scalar(), span, || {
                    "splat takes a scalar to a block".to_owned()
                })?;
                is(&result_types[0].with_elem(self.ty(*v).elem))
            }
            InstKind::ExpandDims { value, axis } => {
                let mut ty = self.ty(*value).clone();
                check(!ty.is_scalar() && *axis as usize <= ty.shape.len(), span, || format!("expand_dims of {ty} at {axis}"))?;
                ty.shape.insert(*axis as usize, 1);
                is(&ty)
            }
            InstKind::Broadcast(v) => {
                results(1)?;
                let from = self.ty(*v);
                let grows = from.shape.len() == result_types[0].shape.len()
                    && !from.is_scalar()
                    && from.elem == result_types[0].elem
                    && from.shape.iter().zip(&result_types[0].shape).all(|(&a, &b)| a == b || a == 1);
                check(grows, span, || format!("a broadcast of {from} to {}", result_types[0]))
            }
            InstKind::Trans { value, order } => {
                let from = self.ty(*value);
                let mut sorted: Vec<usize> = order.iter().map(|&axis| axis as usize).collect();
                sorted.sort_unstable();
                let whole = sorted == (0..from.shape.len()).collect::<Vec<_>>();
                check(whole && !from.is_scalar(), span, || format!("trans of {from} in the order {order:?}"))?;
                is(&Type { elem: from.elem, shape: order.iter().map(|&axis| from.shape[axis as usize]).collect() })
            }
            InstKind::Reshape(v) => {
                results(1)?;
                let from = self.ty(*v);
                let fits = from.numel() == result_types[0].numel()
                    && from.elem == result_types[0].elem
                    && from.is_scalar() == result_types[0].is_scalar();
                check(fits, span, || format!("a reshape of {from} to {}", result_types[0]))
            }
            InstKind::AddPtr { ptr, offset } => {
                let (p, o) = (self.ty(*ptr), self.ty(*offset));
                let fits = matches!(p.elem, Elem::Ptr(_)) && o.elem.is_integer() && p.shape == o.shape;
                check(fits, span, || format!("addptr of {p} and {o}"))?;
                is(p)
            }
            InstKind::Load { ptr, mask, other } | InstKind::VolatileLoad { ptr, mask, other } => {
                let element = self.pointee(*ptr, span)?;
                self.mask(*ptr, *mask, span)?;
                if let Some(other) = other {
                    check(mask.is_some(), span, || "`other` without a mask".to_owned())?;
                    check(*self.ty(*other) == element, span, || format!("`other` is {} instead of {element}", self.ty(*other)))?;
                }
                is(&element)
            }
            InstKind::Store { ptr, value, mask } => {
                let element = self.pointee(*ptr, span)?;
                self.mask(*ptr, *mask, span)?;
                check(*self.ty(*value) == element, span, || format!("a store of {} as {element}", self.ty(*value)))?;
                results(0)
            }
            InstKind::Int(_, a, b) => {
                let (x, y) = (self.ty(*a), self.ty(*b));
                check(x == y && x.elem.is_integer(), span, || format!("integer arithmetic on {x} and {y}"))?;
                is(x)
            }
            InstKind::Float(op, a, b) => {
                let (x, y) = (self.ty(*a), self.ty(*b));
                check(x == y && x.elem.is_float(), span, || format!("float arithmetic on {x} and {y}"))?;
                let fp8 = x.elem.is_fp8();
                check(!fp8 || *op != FloatBinary::Rem, span, || format!("a remainder of {x}"))?;
                is(x)
            }
            InstKind::Unary(_, v) => {
                let x = self.ty(*v);
                check(x.elem.is_float(), span, || format!("a float function of {x}"))?;
                is(x)
            }
            InstKind::Fma(a, b, c) => {
                let x = self.ty(*a);
                check(x.elem.is_float() && self.ty(*b) == x && self.ty(*c) == x, span, || {
                    "operands of fma differ in type".to_owned()
                })?;
                is(x)
            }
            InstKind::CompareInt(_, a, b) => {
                let (x, y) = (self.ty(*a), self.ty(*b));
                check(x == y && x.elem.is_integer(), span, || format!("an integer comparison of {x} and {y}"))?;
                is(&x.with_elem(Elem::I1))
            }
            InstKind::CompareFloat(_, a, b) => {
                let (x, y) = (self.ty(*a), self.ty(*b));
                check(x == y && x.elem.is_float(), span, || format!("a float comparison of {x} and {y}"))?;
                is(&x.with_elem(Elem::I1))
            }
            InstKind::Select { condition, then, other } => {
                let (c, x, y) = (self.ty(*condition), self.ty(*then), self.ty(*other));
                check(c.elem == Elem::I1 && (c.is_scalar() || c.shape == x.shape), span, || format!("a select of {x} by {c}"))?;
                check(x == y, span, || format!("a select of {x} and {y}"))?;
                is(x)
            }
            InstKind::Cast(kind, v) => {
                results(1)?;
                self.cast(*kind, self.ty(*v), &result_types[0], span)
            }
            InstKind::Dot { a, b, acc, precision: _ } => {
                let (x, y, z) = (self.ty(*a), self.ty(*b), self.ty(*acc));
                let rank = x.shape.len();
                let fits = (rank == 2 || rank == 3) && y.shape.len() == rank && x.shape[rank - 1] == y.shape[rank - 2];
                check(fits && x.shape[..rank - 2] == y.shape[..rank - 2], span, || format!("a dot of {x} and {y}"))?;
                let mut shape = x.shape.clone();
                shape[rank - 1] = y.shape[rank - 1];
                check(z.shape == shape, span, || format!("an accumulator of {z}"))?;
                let arithmetic = x.elem.is_float() == z.elem.is_float() && x.elem.is_float() == y.elem.is_float();
                check(arithmetic && x.elem.bits() == y.elem.bits(), span, || format!("a dot of {x} and {y} into {z}"))?;
                is(z)
            }
            InstKind::DotScaled(dot) => self.dot_scaled(dot, &result_types, span),
            InstKind::Scan { operands, axis, reverse: _, combine } => self.scan(operands, *axis, combine, &result_types, span),
            InstKind::Gather { source, index, axis } => self.gather(*source, *index, *axis, &result_types, span),
            InstKind::Histogram { value, mask } => self.histogram(*value, *mask, &result_types, span),
            InstKind::Join(a, b) => self.join(*a, *b, &result_types, span),
            InstKind::Split(v) => self.split(*v, &result_types, span),
            InstKind::Cat(a, b) => self.cat(*a, *b, &result_types, span),
            InstKind::Unsplat(v) => self.unsplat(*v, &result_types, span),
            InstKind::ClampFloat { value, min, max, keeps_nan: _ } => self.clamp([*value, *min, *max], &result_types, span),
            InstKind::AbsInt(v) => self.abs_int(*v, &result_types, span),
            InstKind::Extern { symbol, operands } => self.extern_call(*symbol, operands, &result_types, span),
            InstKind::InlineAsm { asm, operands } => self.inline_asm(asm, operands, &result_types, span),
            InstKind::Reduce { operands, axis, combine } => {
                let Some(first) = operands.first() else { return Err((span, "a reduction of nothing".to_owned())) };
                let shape = self.ty(*first).shape.clone();
                check((*axis as usize) < shape.len(), span, || format!("a reduction of {} along {axis}", self.ty(*first)))?;
                let mut rest = shape.clone();
                rest.remove(*axis as usize);
                results(operands.len())?;
                let mut lanes = Vec::new();
                for (&operand, result) in operands.iter().zip(&result_types) {
                    let ty = self.ty(operand);
                    check(ty.shape == shape, span, || "operands of a reduction differ in shape".to_owned())?;
                    let want = Type { elem: ty.elem, shape: rest.clone() };
                    check(*result == want, span, || format!("a reduction gives {result} instead of {want}"))?;
                    lanes.push(Type::scalar(ty.elem));
                }
                self.no_effects(combine, span)?;
                let args = [lanes.clone(), lanes.clone()].concat();
                self.region(combine, &args, &lanes, span)
            }
            InstKind::For { lower, upper, step, init, body } => {
                let counter = self.ty(*lower).clone();
                let integer = counter.is_scalar() && counter.elem.is_integer();
                check(integer && *self.ty(*upper) == counter && *self.ty(*step) == counter, span, || {
                    format!("loop bounds of {counter}, {} and {}", self.ty(*upper), self.ty(*step))
                })?;
                let carried: Vec<Type> = init.iter().map(|&v| self.ty(v).clone()).collect();
                check(carried == result_types, span, || "a loop's results differ from its initial values in type".to_owned())?;
                let mut args = vec![counter];
                args.extend(carried.iter().cloned());
                self.region(body, &args, &carried, span)
            }
            InstKind::If { condition, then, otherwise } => {
                check(*self.ty(*condition) == Type::scalar(Elem::I1), span, || "an if on something other than an i1".to_owned())?;
                self.region(then, &[], &result_types, span)?;
                self.region(otherwise, &[], &result_types, span)
            }
            InstKind::While { init, before, after } => {
                let carried: Vec<Type> = init.iter().map(|&v| self.ty(v).clone()).collect();
                let mut yields = vec![Type::scalar(Elem::I1)];
                yields.extend(result_types.iter().cloned());
                self.region(before, &carried, &yields, span)?;
                self.region(after, &result_types, &carried, span)
            }
            InstKind::Assert { condition, message: _ } => {
                check(self.ty(*condition).elem == Elem::I1, span, || format!("an assertion of {}", self.ty(*condition)))?;
                results(0)
            }
            InstKind::AtomicRmw { op, order: _, scope: _, ptr, value, mask } => {
                let element = self.pointee(*ptr, span)?;
                self.mask(*ptr, *mask, span)?;
                check(*self.ty(*value) == element, span, || format!("an atomic of {} on {element}", self.ty(*value)))?;
                let (elem, bits) = (element.elem, element.elem.bits());
                let fits = match op {
                    AtomicOp::FAdd => elem.is_float() && bits >= 16,
                    // Of a float they take the bits.
                    AtomicOp::Exchange | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor => bits >= 32,
                    AtomicOp::Add | AtomicOp::Max | AtomicOp::Min | AtomicOp::UMax | AtomicOp::UMin => {
                        elem.is_integer() && bits >= 32
                    }
                };
                check(fits, span, || format!("an atomic {op:?} on {elem}"))?;
                is(&element)
            }
            InstKind::AtomicCas { order: _, scope: _, ptr, expected, value } => {
                let element = self.pointee(*ptr, span)?;
                for operand in [expected, value] {
                    check(*self.ty(*operand) == element, span, || {
                        format!("a compare-and-swap of {} on {element}", self.ty(*operand))
                    })?;
                }
                check(element.elem.bits() >= 16, span, || format!("a compare-and-swap on {}", element.elem))?;
                is(&element)
            }
            InstKind::Barrier => results(0),
            InstKind::Assume(condition) => {
                let want = Type::scalar(Elem::I1);
                check(*self.ty(*condition) == want, span, || format!("an assumption of {}", self.ty(*condition)))?;
                results(0)
            }
        }
    }

    /// What a pointer points at, in the pointer's shape.
    fn pointee(&self, ptr: Value, span: Span) -> std::result::Result<Type, (Span, String)> {
        let ty = self.ty(ptr);
        match ty.elem {
            Elem::Ptr(to) => Ok(ty.with_elem(Elem::of(to))),
            _ => Err((span, format!("a memory access through {ty}"))),
        }
    }

    fn mask(&self, ptr: Value, mask: Option<Value>, span: Span) -> Check {
        let Some(mask) = mask else { return Ok(()) };
        let want = self.ty(ptr).with_elem(Elem::I1);
        check(*self.ty(mask) == want, span, || format!("a mask of {} instead of {want}", self.ty(mask)))
    }

    fn cast(&self, kind: CastKind, from: &Type, to: &Type, span: Span) -> Check {
        let (a, b) = (from.elem, to.elem);
        let narrower = b.bits() < a.bits();
        let wider = b.bits() > a.bits();
        let fits = match kind {
            CastKind::Trunc => a.is_integer() && b.is_integer() && narrower,
            CastKind::ExtS | CastKind::ExtU => a.is_integer() && b.is_integer() && wider,
            CastKind::IntToFloatS | CastKind::IntToFloatU => a.is_integer() && b.is_float(),
            CastKind::FloatToIntS | CastKind::FloatToIntU => a.is_float() && b.is_integer(),
            CastKind::FloatExt => a.is_float() && b.is_float() && wider,
            CastKind::FloatTrunc | CastKind::FloatTruncZero => a.is_float() && b.is_float() && a != b && !wider,
            CastKind::PtrToInt => matches!(a, Elem::Ptr(_)) && b == Elem::I64,
            CastKind::IntToPtr => a == Elem::I64 && matches!(b, Elem::Ptr(_)),
            CastKind::Bitcast => a != b && a.bits() == b.bits() && matches!(a, Elem::Ptr(_)) == matches!(b, Elem::Ptr(_)),
        };
        check(fits && from.shape == to.shape, span, || format!("a {kind:?} of {from} to {to}"))
    }
}
