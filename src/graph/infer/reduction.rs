//! Types of operators over whole lines: reductions, positions, running sums, normalisation.

use super::{at_most, float, operand};
use crate::dtype::DType;
use crate::graph::op::{ArgReduce, Norm, Reduce, ReduceKind, Scan, TensorType};
use crate::shape::display;

/// X without some axes, or with 1 in their places.
pub(super) fn reduce(reduce: &Reduce, inputs: &[Option<&TensorType>]) -> Result<TensorType, String> {
    at_most(inputs, 1)?;
    let x = operand(inputs, 0, "X")?;
    check_axes(&reduce.axes, x)?;
    match reduce.kind {
        ReduceKind::Mean | ReduceKind::LogSumExp => float(x, "X")?,
        ReduceKind::Sum | ReduceKind::Prod if x.dtype == DType::Bool => {
            return Err("X has element type bool, a number is expected".to_owned());
        }
        ReduceKind::Sum | ReduceKind::Prod | ReduceKind::Max | ReduceKind::Min => {}
    }
    Ok(TensorType { dtype: x.dtype, shape: reduce.shape(&x.shape) })
}

/// i64 in the shape of the reduction.
pub(super) fn arg_reduce(arg: &ArgReduce, inputs: &[Option<&TensorType>]) -> Result<TensorType, String> {
    at_most(inputs, 1)?;
    let x = operand(inputs, 0, "X")?;
    check_axes(&[arg.axis], x)?;
    if x.dtype == DType::Bool {
        return Err("X has element type bool, a number is expected".to_owned());
    }
    Ok(TensorType { dtype: DType::I64, shape: arg.shape(&x.shape) })
}

/// X's type; γ and β broadcast to it axis by axis.
pub(super) fn norm(norm: &Norm, inputs: &[Option<&TensorType>]) -> Result<TensorType, String> {
    at_most(inputs, 3)?;
    let x = operand(inputs, 0, "X")?;
    float(x, "X")?;
    check_axes(&norm.axes, x)?;
    if !(norm.epsilon >= 0.0 && norm.epsilon.is_finite()) {
        return Err(format!("epsilon {} is not a non-negative number", norm.epsilon));
    }
    for (i, name) in [(1, "scale"), (2, "bias")] {
        let Some(ty) = inputs.get(i).copied().flatten() else { continue };
        float(ty, name)?;
        let fits = ty.shape.len() == x.shape.len() && ty.shape.iter().zip(&x.shape).all(|(&own, &size)| own == 1 || own == size);
        if !fits {
            return Err(format!(
                "{name} is {}, each of its axes must be 1 or that of X {}",
                display(&ty.shape),
                display(&x.shape)
            ));
        }
    }
    Ok(x.clone())
}

/// X's type.
pub(super) fn scan(scan: &Scan, inputs: &[Option<&TensorType>]) -> Result<TensorType, String> {
    at_most(inputs, 1)?;
    let x = operand(inputs, 0, "X")?;
    check_axes(&[scan.axis], x)?;
    if x.dtype == DType::Bool {
        return Err("X has element type bool, a number is expected".to_owned());
    }
    Ok(x.clone())
}

fn check_axes(axes: &[usize], x: &TensorType) -> Result<(), String> {
    if let Some(axis) = axes.iter().find(|&&axis| axis >= x.shape.len()) {
        return Err(format!("axis {axis} does not exist in X {}", display(&x.shape)));
    }
    if axes.is_empty() || axes.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(format!("axes {axes:?} are not distinct and in order"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::infer::infer;
    use crate::graph::op::{ArgKind, Op, ScanKind};
    use smallvec::smallvec;

    fn of(op: &Op, types: &[(DType, &[usize])]) -> Result<String, String> {
        let types: Vec<TensorType> = types.iter().map(|&(dtype, shape)| TensorType { dtype, shape: shape.into() }).collect();
        let types: Vec<Option<&TensorType>> = types.iter().map(Some).collect();
        infer(op, &types).map(|out| format!("{} {}", out[0].dtype, display(&out[0].shape)))
    }

    #[test]
    fn axes_go_or_stay() {
        let reduce = |kind, axes: &[usize], keep| Op::Reduce(Reduce { kind, axes: axes.into(), keep });
        let x: &[usize] = &[2, 3, 4];
        assert_eq!(of(&reduce(ReduceKind::Sum, &[1], false), &[(DType::I32, x)]).unwrap(), "i32 2×4");
        assert_eq!(of(&reduce(ReduceKind::Max, &[0, 1, 2], true), &[(DType::Bool, x)]).unwrap(), "bool 1×1×1");
        assert_eq!(of(&reduce(ReduceKind::Max, &[0, 1, 2], false), &[(DType::F16, x)]).unwrap(), "f16 scalar");
        let arg = Op::ArgReduce(ArgReduce { kind: ArgKind::Max, axis: 2, keep: true, last: false });
        assert_eq!(of(&arg, &[(DType::F32, x)]).unwrap(), "i64 2×3×1");
        let refused = |op: &Op, dtype| of(op, &[(dtype, x)]).unwrap_err();
        assert_eq!(refused(&reduce(ReduceKind::Mean, &[1], false), DType::I64), "X has element type i64, a float is expected");
        assert_eq!(refused(&reduce(ReduceKind::Sum, &[1], false), DType::Bool), "X has element type bool, a number is expected");
        assert_eq!(refused(&reduce(ReduceKind::Sum, &[3], false), DType::F32), "axis 3 does not exist in X 2×3×4");
        assert_eq!(refused(&reduce(ReduceKind::Sum, &[1, 0], false), DType::F32), "axes [1, 0] are not distinct and in order");
        assert_eq!(refused(&reduce(ReduceKind::Sum, &[], false), DType::F32), "axes [] are not distinct and in order");
        let scan = Op::Scan(Scan { kind: ScanKind::Sum, axis: 3, reverse: false, exclusive: false });
        assert_eq!(refused(&scan, DType::F32), "axis 3 does not exist in X 2×3×4");
    }

    #[test]
    fn parameters_broadcast_axis_by_axis() {
        let norm = |epsilon| Op::Norm(Norm { axes: smallvec![1], epsilon, centred: true });
        let types = |gamma| [(DType::F32, [2, 3].as_slice()), (DType::F32, gamma)];
        assert_eq!(of(&norm(1e-5), &types(&[1, 3])).unwrap(), "f32 2×3");
        let why = of(&norm(1e-5), &types(&[3])).unwrap_err();
        assert_eq!(why, "scale is 3, each of its axes must be 1 or that of X 2×3");
        assert_eq!(of(&norm(-1.0), &types(&[1, 3])).unwrap_err(), "epsilon -1 is not a non-negative number");
    }
}
