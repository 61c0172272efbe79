//! Output types against enumeration, and that no sizes make inference panic.

use proptest::prelude::*;
use smallvec::SmallVec;

use super::*;
use crate::dtype::DType;
use crate::graph::Op;

fn f32s(shape: &[usize]) -> TensorType {
    TensorType { dtype: DType::F32, shape: Shape::from_slice(shape) }
}

fn shape_of(op: &Op, inputs: &[&TensorType]) -> Result<Vec<usize>, String> {
    let inputs: Vec<_> = inputs.iter().map(|&ty| Some(ty)).collect();
    infer(op, &inputs).map(|types| types[0].shape.to_vec())
}

/// How many first taps keep every tap of the window inside the padded axis, by trying them all.
fn enumerated(size: usize, pads: (usize, usize), kernel: usize, stride: usize, dilation: usize) -> usize {
    let padded = size + pads.0 + pads.1;
    (0..padded).step_by(stride).filter(|start| (0..kernel).all(|tap| start + tap * dilation < padded)).count()
}

/// One spatial axis: size, padding, kernel, stride, dilation.
type Axis = (usize, (usize, usize), usize, usize, usize);

fn axis() -> impl Strategy<Value = Axis> {
    (1usize..12, (0usize..4, 0usize..4), 1usize..5, 1usize..5, 1usize..4)
}

type Sizes = SmallVec<[usize; 3]>;

proptest! {
    #[test]
    fn windows_are_counted((size, pads, kernel, stride, dilation) in axis()) {
        let expected = enumerated(size, pads, kernel, stride, dilation);
        match window_count(size, pads, kernel, stride, dilation) {
            Ok(count) => prop_assert_eq!(count, expected),
            Err(_) => prop_assert_eq!(expected, 0),
        }
    }

    #[test]
    fn convolutions_have_a_window_an_element(
        axes in prop::collection::vec(axis(), 1..4), n in 1usize..3, groups in 1usize..4, c in 1usize..4, k in 1usize..4
    ) {
        let each = |of: fn(&Axis) -> usize| axes.iter().map(of).collect::<Sizes>();
        let conv = Conv { strides: each(|a| a.3), dilations: each(|a| a.4), pads_begin: each(|a| a.1.0), pads_end: each(|a| a.1.1), groups };
        let x: Vec<_> = [n, c * groups].into_iter().chain(each(|a| a.0)).collect();
        let w: Vec<_> = [k * groups, c].into_iter().chain(each(|a| a.2)).collect();
        let windows = axes.iter().map(|&(size, pads, kernel, stride, dilation)| enumerated(size, pads, kernel, stride, dilation));
        let expected: Vec<_> = [n, k * groups].into_iter().chain(windows).collect();
        match shape_of(&Op::Conv(conv), &[&f32s(&x), &f32s(&w)]) {
            Ok(shape) => prop_assert_eq!(shape, expected),
            Err(_) => prop_assert!(expected.contains(&0)),
        }
    }

    /// A pool's every window must touch the operand; then its output is that of a convolution.
    #[test]
    fn pools_have_a_window_an_element(axes in prop::collection::vec(axis(), 1..4)) {
        let each = |of: fn(&Axis) -> usize| axes.iter().map(of).collect::<Sizes>();
        let pool = Pool {
            kind: PoolKind::Max,
            kernel: each(|a| a.2),
            strides: each(|a| a.3),
            dilations: each(|a| a.4),
            pads_begin: each(|a| a.1.0),
            pads_end: each(|a| a.1.1),
        };
        let x: Vec<_> = [1, 2].into_iter().chain(each(|a| a.0)).collect();
        // A window lies wholly before the operand, or begins behind it.
        let misses = axes.iter().any(|&(size, pads, kernel, stride, dilation)| {
            let count = enumerated(size, pads, kernel, stride, dilation);
            (0..count).any(|p| (kernel - 1) * dilation + p * stride < pads.0 || p * stride >= pads.0 + size)
        });
        let windows = axes.iter().map(|&(size, pads, kernel, stride, dilation)| enumerated(size, pads, kernel, stride, dilation));
        let expected: Vec<_> = [1, 2].into_iter().chain(windows).collect();
        match shape_of(&Op::Pool(pool), &[&f32s(&x)]) {
            Ok(shape) => {
                prop_assert!(!misses);
                prop_assert_eq!(shape, expected);
            }
            Err(_) => prop_assert!(misses || expected.contains(&0)),
        }
    }

    /// The batch axes of a product are those of adding two tensors of the batch shapes.
    #[test]
    fn products_broadcast_their_batches(
        a in prop::collection::vec(1usize..3, 0..3), b in prop::collection::vec(1usize..3, 0..3), m in 1usize..4, k in 1usize..4, n in 1usize..4
    ) {
        let rank = a.len().max(b.len());
        let at = |s: &[usize], i: usize| if i + s.len() < rank { 1 } else { s[i + s.len() - rank] };
        let fits = (0..rank).all(|i| at(&a, i) == at(&b, i) || at(&a, i) == 1 || at(&b, i) == 1);
        let expected: Vec<_> = (0..rank).map(|i| at(&a, i).max(at(&b, i))).chain([m, n]).collect();
        let left: Vec<_> = a.iter().copied().chain([m, k]).collect();
        let right: Vec<_> = b.iter().copied().chain([k, n]).collect();
        match shape_of(&Op::MatMul, &[&f32s(&left), &f32s(&right)]) {
            Ok(shape) => {
                prop_assert!(fits);
                prop_assert_eq!(shape, expected);
            }
            Err(_) => prop_assert!(!fits),
        }
    }

    /// A transposed shape lists the sizes that the axes have; only permutations are orders.
    #[test]
    fn transposes_permute(shape in prop::collection::vec(1usize..5, 0..5), order in prop::collection::vec(0usize..6, 0..5)) {
        let is_order = order.len() == shape.len() && (0..shape.len()).all(|axis| order.contains(&axis));
        match shape_of(&Op::View(View::Transpose(SmallVec::from_slice(&order))), &[&f32s(&shape)]) {
            Ok(result) => {
                prop_assert!(is_order);
                prop_assert!(result.iter().enumerate().all(|(i, &size)| size == shape[order[i]]));
            }
            Err(_) => prop_assert!(!is_order),
        }
    }

    /// Any sizes, however large or small, give a type or a sentence.
    #[test]
    fn no_sizes_make_inference_panic(
        x in prop::collection::vec(size(), 0..6), w in prop::collection::vec(size(), 0..6), numbers in prop::collection::vec(size(), 12)
    ) {
        let take = |i: usize| Sizes::from_slice(&numbers[2 * i..2 * i + 2]);
        let window = |kind| Pool { kind, kernel: take(0), strides: take(1), dilations: take(2), pads_begin: take(3), pads_end: take(4) };
        let conv = Conv { strides: take(1), dilations: take(2), pads_begin: take(3), pads_end: take(4), groups: numbers[10] };
        let ops = [
            Op::Conv(conv),
            Op::Pool(window(PoolKind::Max)),
            Op::Pool(window(PoolKind::Average { count_pad: true })),
            Op::Pool(window(PoolKind::AdaptiveAverage)),
            Op::BatchNorm { epsilon: 1e-5 },
            Op::MatMul,
            Op::Softmax { axis: numbers[11], log: numbers[11] % 2 == 0 },
            Op::View(View::Reshape(Shape::from_slice(&w))),
            Op::View(View::Broadcast(Shape::from_slice(&w))),
            Op::View(View::Transpose(Shape::from_slice(&w))),
        ];
        let (x, w) = (f32s(&x), f32s(&w));
        for op in &ops {
            for inputs in [&[][..], &[Some(&x)], &[Some(&x), Some(&w)], &[Some(&x), Some(&w), None, Some(&w), Some(&w)], &[None, Some(&x)]] {
                if let Err(message) = infer(op, inputs) {
                    prop_assert!(!message.is_empty() && !message.ends_with('.'));
                }
            }
        }
    }
}

/// Sizes at the edges of what an axis can be.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![0usize..4, Just(7), Just(1 << 31), Just(isize::MAX as usize), Just(usize::MAX)]
}

#[test]
fn messages_name_what_does_not_fit() {
    let conv = |groups| {
        let (ones, zeros) = (Sizes::from_slice(&[1, 1]), Sizes::from_slice(&[0, 0]));
        Op::Conv(Conv { strides: ones.clone(), dilations: ones, pads_begin: zeros.clone(), pads_end: zeros, groups })
    };
    let message = |op: Op, inputs: &[&TensorType]| shape_of(&op, inputs).unwrap_err();
    let (x, w, half) = (f32s(&[1, 4, 8, 8]), f32s(&[6, 2, 3, 3]), TensorType { dtype: DType::F16, ..f32s(&[6, 2, 3, 3]) });
    assert_eq!(message(conv(1), &[&x, &w]), "W 6×2×3×3 expects 2 input channels in 1 group(s), X 1×4×8×8 has 4");
    assert_eq!(message(conv(3), &[&x, &w]), "3 groups do not divide 4 input and 6 output channels");
    assert_eq!(message(conv(2), &[&x, &half]), "X and W have different element types, f32 and f16");
    assert_eq!(message(conv(2), &[&x, &w, &f32s(&[5])]), "B is 5, W has 6 output channels");
    assert_eq!(message(Op::MatMul, &[&f32s(&[2, 3]), &f32s(&[4, 5])]), "A 2×3 has 3 columns, B 4×5 has 4 rows");
    assert_eq!(message(Op::BatchNorm { epsilon: 1e-5 }, &[&x, &f32s(&[3])]), "scale is 3, X 1×4×8×8 has 4 channels");
    assert_eq!(message(Op::View(View::Reshape(Shape::from_slice(&[5]))), &[&x]), "1×4×8×8 cannot be reshaped to 5");
}
