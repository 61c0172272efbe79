//! Class B: an output of the wrong shape, a grid of the wrong size.

use crate::diag::{Diagnostic, codes};
use crate::graph::op::{Op, PoolKind};
use crate::shape::display;

/// One spatial axis of a window: what the output size is computed from.
#[derive(Clone, Copy)]
struct Axis {
    input: usize,
    kernel: usize,
    stride: usize,
    dilation: usize,
    begin: usize,
    end: usize,
}

impl Axis {
    fn output(self) -> Option<usize> {
        let window = self.dilation * (self.kernel - 1) + 1;
        Some((self.input + self.begin + self.end).checked_sub(window)? / self.stride + 1)
    }

    fn formula(self) -> String {
        let Axis { input, kernel, stride, dilation, begin, end } = self;
        format!("⌊({input} + {begin} + {end} − {dilation}·({kernel} − 1) − 1) / {stride}⌋ + 1")
    }

    /// A single slip in the formula that gives `got`.
    fn slip(self, got: usize) -> Option<&'static str> {
        let slips = [
            ("the padding is left out", Axis { begin: 0, end: 0, ..self }.output()),
            ("the padding is counted on one side only", Axis { end: 0, ..self }.output()),
            ("the padding is counted on one side only", Axis { begin: 0, ..self }.output()),
            ("the stride is left out", Axis { stride: 1, ..self }.output()),
            ("the dilation is left out", Axis { dilation: 1, ..self }.output()),
            ("the division rounds up", self.ceiling()),
            ("the final + 1 is left out", self.output().map(|n| n - 1)),
            ("the window is counted one too small", self.output().map(|n| n + 1)),
        ];
        slips.into_iter().find(|&(_, size)| size == Some(got) && size != self.output()).map(|slip| slip.0)
    }

    fn ceiling(self) -> Option<usize> {
        let window = self.dilation * (self.kernel - 1) + 1;
        Some((self.input + self.begin + self.end).checked_sub(window)?.div_ceil(self.stride) + 1)
    }
}

/// The output's shape is not the operator's. `operands` are the shapes of the operator's operands.
pub fn shape_mismatch(operand: &str, op: &Op, operands: &[&[usize]], got: &[usize], expected: &[usize]) -> Diagnostic {
    let message = format!("{operand}: the output is {}, {} gives {}", display(got), op.name(), display(expected));
    let mut diagnostic = Diagnostic::new(&codes::SHAPE_MISMATCH, message);
    if got.len() != expected.len() {
        return diagnostic.help(format!("allocate {} axes", expected.len()));
    }
    let mut slip = None;
    for (axis, (&mine, &right)) in got.iter().zip(expected).enumerate().filter(|(_, (a, b))| a != b) {
        let window = axis.checked_sub(2).and_then(|i| window(op, operands, i));
        diagnostic = match window {
            Some(window) => {
                slip = slip.or(window.slip(mine));
                diagnostic.note(format!("axis {axis}: {} = {right}, got {mine}", window.formula()))
            }
            None => diagnostic.note(format!("axis {axis}: {right}, got {mine}")),
        };
    }
    let swapped = got.iter().rev().eq(expected.iter()) || {
        let sorted = |shape: &[usize]| {
            let mut sizes = shape.to_vec();
            sizes.sort_unstable();
            sizes
        };
        sorted(got) == sorted(expected)
    };
    let help = match slip {
        Some(slip) => format!("check the output-size formula: {slip}"),
        None if swapped => "check the order of the axes".to_owned(),
        None => "check the output-size formula of the wrapper".to_owned(),
    };
    diagnostic.help(help)
}

/// The i-th spatial axis of a windowed operator.
fn window(op: &Op, operands: &[&[usize]], i: usize) -> Option<Axis> {
    let input = *operands.first()?.get(i + 2)?;
    match op {
        Op::Conv(conv) => Some(Axis {
            input,
            kernel: *operands.get(1)?.get(i + 2)?,
            stride: conv.strides[i],
            dilation: conv.dilations[i],
            begin: conv.pads_begin[i],
            end: conv.pads_end[i],
        }),
        Op::Pool(pool) => match pool.kind {
            PoolKind::Max | PoolKind::Average { .. } => Some(Axis {
                input,
                kernel: pool.kernel[i],
                stride: pool.strides[i],
                dilation: pool.dilations[i],
                begin: pool.pads_begin[i],
                end: pool.pads_end[i],
            }),
            PoolKind::AdaptiveAverage => None,
        },
        Op::Map(_) | Op::ConvTranspose(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::MatMul | Op::Softmax { .. } => None,
        Op::Lrn(_) | Op::Reduce(_) | Op::ArgReduce(_) | Op::Scan(_) | Op::View(_) => None,
    }
}

/// A launch whose grid is not the planned one, which its work needs. `written` holds the text of each
/// axis in the wrapper, as far as it is written there.
pub fn grid_mismatch(kernel: &str, got: [u32; 3], needed: [i64; 3], written: &[String]) -> Diagnostic {
    let mine = got.map(i64::from);
    let axes = |grid: [i64; 3]| format!("({}, {}, {})", grid[0], grid[1], grid[2]);
    let message = format!("{kernel}: the grid is {}, its work needs {}", axes(mine), axes(needed));
    let mut diagnostic = Diagnostic::new(&codes::GRID_MISMATCH, message);
    for axis in (0..3).filter(|&axis| mine[axis] != needed[axis]) {
        let text = written.get(axis).map_or(String::new(), |text| format!("{text} = "));
        diagnostic = diagnostic.note(format!("axis {axis}: {text}{}, needed {}", mine[axis], needed[axis]));
    }
    let count = |grid: [i64; 3]| grid.iter().map(|&size| i128::from(size)).product::<i128>();
    let (have, want) = (count(mine), count(needed));
    let help = if have < want {
        format!("{} programs never run: round the division up (triton.cdiv) over every axis of the output", want - have)
    } else if have > want {
        format!("{} programs too many run: they fall outside the output or repeat work", have - want)
    } else {
        "the number of programs is right: check the order of the grid's axes".to_owned()
    };
    diagnostic.help(help)
}
