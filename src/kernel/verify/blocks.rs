//! The types of operations on whole blocks and of calls of foreign code.

use super::{Check, Verifier, check};
use crate::kernel::ir::{DotScaled, Elem, InlineAsm, InstKind, Region, ScaledFormat, Type, Value};
use crate::kernel::libdevice::Symbol;
use crate::kernel::walk;
use crate::source::Span;

impl Verifier<'_> {
    pub(super) fn gather(&self, source: Value, index: Value, axis: u8, results: &[Type], span: Span) -> Check {
        let (s, i, axis) = (self.ty(source), self.ty(index), axis as usize);
        let fits = s.shape.len() == i.shape.len() && axis < s.shape.len() && i.elem.is_integer();
        let same = |d: usize| d == axis || s.shape[d] == i.shape[d];
        check(fits && (0..s.shape.len()).all(same), span, || format!("a gather of {s} by {i} along {axis}"))?;
        are(results, &[i.with_elem(s.elem)], span)
    }

    pub(super) fn histogram(&self, value: Value, mask: Option<Value>, results: &[Type], span: Span) -> Check {
        let ty = self.ty(value);
        check(ty.shape.len() == 1 && ty.elem == Elem::I32, span, || format!("a histogram of {ty}"))?;
        if let Some(mask) = mask {
            let want = ty.with_elem(Elem::I1);
            check(*self.ty(mask) == want, span, || format!("a mask of {} instead of {want}", self.ty(mask)))?;
        }
        let bins = matches!(results, [bins] if bins.shape.len() == 1 && bins.elem == Elem::I32);
        check(bins, span, || format!("a histogram into {}", list(results)))
    }

    pub(super) fn join(&self, a: Value, b: Value, results: &[Type], span: Span) -> Check {
        let (x, y) = (self.ty(a), self.ty(b));
        check(x == y && !x.is_scalar(), span, || format!("a join of {x} and {y}"))?;
        let mut ty = x.clone();
        ty.shape.push(2);
        are(results, &[ty], span)
    }

    pub(super) fn split(&self, value: Value, results: &[Type], span: Span) -> Check {
        let mut half = self.ty(value).clone();
        let last = half.shape.pop();
        check(last == Some(2), span, || format!("a split of {}", self.ty(value)))?;
        are(results, &[half.clone(), half], span)
    }

    pub(super) fn cat(&self, a: Value, b: Value, results: &[Type], span: Span) -> Check {
        let (x, y) = (self.ty(a), self.ty(b));
        let fits = !x.is_scalar() && x.elem == y.elem && x.shape.get(1..) == y.shape.get(1..);
        check(fits, span, || format!("a cat of {x} and {y}"))?;
        let mut ty = x.clone();
        ty.shape[0] += y.shape[0];
        are(results, &[ty], span)
    }

    pub(super) fn unsplat(&self, value: Value, results: &[Type], span: Span) -> Check {
        let ty = self.ty(value);
        check(!ty.is_scalar() && ty.numel() == 1, span, || format!("an unsplat of {ty}"))?;
        are(results, &[Type::scalar(ty.elem)], span)
    }

    pub(super) fn clamp(&self, [value, min, max]: [Value; 3], results: &[Type], span: Span) -> Check {
        let ty = self.ty(value);
        let fits = ty.elem.is_float() && self.ty(min) == ty && self.ty(max) == ty;
        check(fits, span, || format!("a clampf of {ty} to {} and {}", self.ty(min), self.ty(max)))?;
        are(results, std::slice::from_ref(ty), span)
    }

    pub(super) fn abs_int(&self, value: Value, results: &[Type], span: Span) -> Check {
        let ty = self.ty(value);
        check(ty.elem.is_integer(), span, || format!("an integer's absolute value of {ty}"))?;
        are(results, std::slice::from_ref(ty), span)
    }

    pub(super) fn extern_call(&self, symbol: Symbol, operands: &[Value], results: &[Type], span: Span) -> Check {
        let elems: Vec<Elem> = operands.iter().map(|&v| self.ty(v).elem).collect();
        check(symbol.takes(&elems), span, || format!("{symbol} of {elems:?}"))?;
        let shape = &self.ty(operands[0]).shape;
        let same = operands.iter().all(|&v| self.ty(v).shape == *shape);
        check(same, span, || format!("operands of {symbol} differ in shape"))?;
        are(results, &[Type { elem: Elem::of(symbol.row().result), shape: shape.clone() }], span)
    }

    pub(super) fn inline_asm(&self, asm: &InlineAsm, operands: &[Value], results: &[Type], span: Span) -> Check {
        check(asm.pack > 0, span, || "inline assembly for no element".to_owned())?;
        let Some(first) = results.first() else { return Err((span, "inline assembly without result".to_owned())) };
        let shape = &first.shape;
        let same = operands.iter().all(|&v| self.ty(v).shape == *shape) && results.iter().all(|ty| ty.shape == *shape);
        check(same, span, || "operands and results of inline assembly differ in shape".to_owned())
    }

    pub(super) fn scan(&mut self, operands: &[Value], axis: u8, combine: &Region, results: &[Type], span: Span) -> Check {
        let Some(first) = operands.first() else { return Err((span, "a scan of nothing".to_owned())) };
        let shape = self.ty(*first).shape.clone();
        check((axis as usize) < shape.len(), span, || format!("a scan of {} along {axis}", self.ty(*first)))?;
        let types: Vec<Type> = operands.iter().map(|&v| self.ty(v).clone()).collect();
        check(types.iter().all(|ty| ty.shape == shape), span, || "operands of a scan differ in shape".to_owned())?;
        check(results == types, span, || "a scan's results differ from its operands in type".to_owned())?;
        self.no_effects(combine, span)?;
        let lanes: Vec<Type> = types.iter().map(|ty| Type::scalar(ty.elem)).collect();
        self.region(combine, &[lanes.clone(), lanes.clone()].concat(), &lanes, span)
    }

    /// A combine function only computes.
    pub(super) fn no_effects(&self, combine: &Region, span: Span) -> Check {
        let mut effects = false;
        walk::each_inst(&combine.insts, &mut |inst| {
            effects |= walk::touches_memory(&inst.kind)
                || walk::orders_memory(&inst.kind)
                || matches!(inst.kind, InstKind::Assert { condition: _, message: _ } | InstKind::Assume(_));
        });
        check(!effects, span, || "a combine function with memory accesses or assertions".to_owned())
    }

    pub(super) fn dot_scaled(&self, dot: &DotScaled, results: &[Type], span: Span) -> Check {
        are(results, std::slice::from_ref(self.ty(dot.acc)), span)?;
        let sides = [(dot.a, dot.a_format), (dot.b, dot.b_format)];
        for (value, format) in sides {
            let elem = self.ty(value).elem;
            check(elem == storage(format), span, || format!("{format:?} elements in {elem}"))?;
        }
        for scale in [dot.a_scale, dot.b_scale].into_iter().flatten() {
            let elem = self.ty(scale).elem;
            check(matches!(elem, Elem::I8 | Elem::F8E4M3), span, || format!("scales of {elem}"))?;
        }
        let (a, b, acc) = (&self.ty(dot.a).shape, &self.ty(dot.b).shape, self.ty(dot.acc));
        let rank = a.len();
        let fits = (rank == 2 || rank == 3) && b.len() == rank && acc.shape.len() == rank && acc.elem == Elem::F32;
        check(fits, span, || format!("a scaled dot of {a:?} and {b:?} into {acc}"))?;
        let pack = |format: ScaledFormat| if format == ScaledFormat::E2M1 { 2 } else { 1 };
        let (pa, pb) = (pack(dot.a_format), pack(dot.b_format));
        let (m, ka) = if dot.a_k_pack { (a[rank - 2], a[rank - 1] * pa) } else { (a[rank - 2] * pa, a[rank - 1]) };
        let (kb, n) = if dot.b_k_pack { (b[rank - 2] * pb, b[rank - 1]) } else { (b[rank - 2], b[rank - 1] * pb) };
        let fits = ka == kb && acc.shape[rank - 2..] == [m, n] && a[..rank - 2] == b[..rank - 2];
        check(fits && a[..rank - 2] == acc.shape[..rank - 2], span, || {
            format!("a scaled dot of {m}×{ka} and {kb}×{n} into {acc}")
        })?;
        for (scale, rows) in [(dot.a_scale, m), (dot.b_scale, n)] {
            let Some(scale) = scale else { continue };
            let shape = &self.ty(scale).shape;
            let groups = shape.last().copied().unwrap_or(0);
            let fits = shape.len() == rank && shape[rank - 2] == rows && groups > 0 && ka.is_multiple_of(groups);
            check(fits, span, || format!("scales of shape {shape:?} for {rows} rows of {ka} elements"))?;
        }
        Ok(())
    }
}

fn list(types: &[Type]) -> String {
    types.iter().map(Type::to_string).collect::<Vec<_>>().join(", ")
}

fn are(results: &[Type], want: &[Type], span: Span) -> Check {
    check(results == want, span, || format!("the results are {} instead of {}", list(results), list(want)))
}

/// The element type that holds a format.
fn storage(format: ScaledFormat) -> Elem {
    match format {
        ScaledFormat::E2M1 => Elem::I8,
        ScaledFormat::E4M3 => Elem::F8E4M3,
        ScaledFormat::E5M2 => Elem::F8E5M2,
        ScaledFormat::BF16 => Elem::BF16,
        ScaledFormat::F16 => Elem::F16,
    }
}
