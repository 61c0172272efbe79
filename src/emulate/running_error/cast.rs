//! Conversions: the ends of an interval, converted.

use std::sync::Arc;

use super::float::clean;
use super::lanes::{at, error, values};
use super::rounding::within;
use super::{Errors, Shadow};
use crate::emulate::exec::Machine;
use crate::emulate::tape::Slot;
use crate::emulate::value::round::toward_zero;
use crate::kernel::ir::{CastKind, Elem};

impl Shadow {
    pub(super) fn cast(
        &self,
        machine: &mut Machine<'_>,
        kind: CastKind,
        [from, to]: [Elem; 2],
        a: Slot,
        out: Slot,
    ) -> Option<Errors> {
        if self.exact(&[a]) {
            return None;
        }
        let (x, v, ex) = (values(machine, a), values(machine, out), self.of(a));
        let lane = |i: usize| {
            let (x, v, ex) = (at(&x, i), v[i], error(&ex, i));
            if ex == 0.0 {
                return 0.0;
            }
            clean(match kind {
                CastKind::Trunc
                | CastKind::ExtS
                | CastKind::ExtU
                | CastKind::FloatExt
                | CastKind::PtrToInt
                | CastKind::IntToPtr => ex,
                CastKind::FloatTrunc | CastKind::IntToFloatS | CastKind::IntToFloatU => within(to, v, x, ex),
                CastKind::FloatTruncZero => farthest(v, [toward_zero(to, x - ex), toward_zero(to, x + ex)]),
                CastKind::FloatToIntS | CastKind::FloatToIntU => farthest(v, [(x - ex).trunc(), (x + ex).trunc()]),
                CastKind::Bitcast => bitcast(from, to, x, v, ex),
            })
        };
        Some(Arc::new((0..v.len()).map(lane).collect()))
    }
}

fn farthest(v: f64, ends: [f64; 2]) -> f64 {
    (ends[0] - v).abs().max((ends[1] - v).abs())
}

/// The bits of numbers of one sign are in their order.
fn bitcast(from: Elem, to: Elem, x: f64, v: f64, ex: f64) -> f64 {
    let bits = |x: f64| match from {
        Elem::F32 => Some(f64::from((x as f32).to_bits() as i32)),
        Elem::F16 => Some(f64::from(half::f16::from_f64(x).to_bits() as i16)),
        Elem::BF16 => Some(f64::from(half::bf16::from_f64(x).to_bits() as i16)),
        _ => None,
    };
    let number = |x: f64| match to {
        Elem::F32 => Some(f64::from(f32::from_bits(x as i64 as u32))),
        Elem::F16 => Some(half::f16::from_bits(x as i64 as u16).to_f64()),
        Elem::BF16 => Some(half::bf16::from_bits(x as i64 as u16).to_f64()),
        _ => None,
    };
    let convert: &dyn Fn(f64) -> Option<f64> = if from.is_float() { &bits } else { &number };
    let one_sign = (x - ex < 0.0) == (x + ex < 0.0);
    match (convert(x - ex), convert(x + ex)) {
        (Some(low), Some(high)) if one_sign && ex.is_finite() => farthest(v, [low, high]),
        _ if from.is_float() == to.is_float() => ex,
        _ => f64::INFINITY,
    }
}
