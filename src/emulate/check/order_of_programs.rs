//! Results that depend on the order in which programs run (A021).
//!
//! A launch whose programs see each other (atomics, volatile loads) runs a second time, from the same memory, the last
//! program of the grid first. Integers must come out equal; floats may differ as sums in another order do: by a
//! thousandth of the value plus a hundred-thousandth of the greatest one. Launches without atomics and volatile loads are
//! free of races or told as such, and their order does not matter.
//!
//! Misses: orders that only more than two interleavings show; what two orders change by less than that.

use crate::diag::{Diagnostic, codes};
use crate::emulate::launch::{Arg, BufferId, Memory};
use crate::emulate::tape::Program;
use crate::tensor::Storage;

/// The first element of a stored buffer that differs.
pub fn first_difference(
    program: &Program,
    forwards: &Memory,
    backwards: &Memory,
    args: &[Arg],
    stored: &[BufferId],
) -> Option<Diagnostic> {
    for &id in stored {
        let (a, b) = (forwards.lanes(id), backwards.lanes(id));
        let Some(at) = differs(a, b) else { continue };
        let param = args.iter().zip(&program.kernel.params).find_map(|(arg, param)| match arg {
            Arg::Pointer(view) if view.buffer == id => Some((view.pointer, param)),
            Arg::Pointer(_) | Arg::Int(_) | Arg::Float(_) => None,
        });
        let name = &forwards.buffers[id.0].name;
        let element = at as i64 - param.map_or(0, |(pointer, _)| pointer as i64);
        let what = format!(
            "{name}[{element}] is {} when programs run in the order of the grid, and {} in the reverse",
            a.get_f64(at),
            b.get_f64(at)
        );
        let diagnostic = Diagnostic::new(&codes::ORDER_DEPENDENT, what)
            .help("nothing orders programs: what an atomic operation returns, or who comes last, is another thing each time");
        return Some(match param {
            Some((_, param)) => diagnostic.at(&program.kernel.source, param.span),
            None => diagnostic,
        });
    }
    None
}

fn differs(a: &Storage, b: &Storage) -> Option<usize> {
    let floats = |n: usize, a: &dyn Fn(usize) -> f64, b: &dyn Fn(usize) -> f64| {
        let greatest = (0..n).map(a).filter(|x| x.is_finite()).fold(0.0f64, |most, x| most.max(x.abs()));
        (0..n).find(|&i| {
            let (x, y) = (a(i), b(i));
            let close = (x - y).abs() <= 1e-3 * x.abs().max(y.abs()) + 1e-5 * greatest;
            !(close || x == y || x.is_nan() && y.is_nan())
        })
    };
    match (a, b) {
        (Storage::F32(x), Storage::F32(y)) => floats(x.len(), &|i| x[i].into(), &|i| y[i].into()),
        (Storage::F64(x), Storage::F64(y)) => floats(x.len(), &|i| x[i], &|i| y[i]),
        (Storage::I64(x), Storage::I64(y)) => x.iter().zip(y).position(|(x, y)| x != y),
        (Storage::Bool(x), Storage::Bool(y)) => x.iter().zip(y).position(|(x, y)| x != y),
        (Storage::F32(_) | Storage::F64(_) | Storage::I64(_) | Storage::Bool(_), _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_may_differ_by_their_rounding() {
        let f32s = |v: &[f32]| Storage::F32(v.to_vec());
        assert_eq!(differs(&f32s(&[1.0, 1e-7]), &f32s(&[1.0001, 2e-7])), None);
        assert_eq!(differs(&f32s(&[1.0, f32::NAN, 3.0]), &f32s(&[1.0, f32::NAN, 3.1])), Some(2));
        assert_eq!(differs(&f32s(&[f32::INFINITY]), &f32s(&[f32::INFINITY])), None);
        assert_eq!(differs(&Storage::I64(vec![1, 2]), &Storage::I64(vec![1, 3])), Some(1));
    }
}
