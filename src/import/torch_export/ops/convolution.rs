//! Convolutions, plain and transposed, of one to three spatial axes. An operand without a batch axis gets one.

use smallvec::SmallVec;

use crate::graph::op::{Conv, ConvTranspose};
use crate::graph::{Op, Role};
use crate::import::build::{Failure, Operand};
use crate::import::torch_export::call::{Call, Outs};
use crate::shape::display;

type Sizes = SmallVec<[usize; 3]>;

/// The sizes of an argument, one a spatial axis.
fn spatial(call: &Call, name: &str, rank: usize) -> Result<Sizes, Failure> {
    let sizes = call.sizes(name)?;
    match sizes.len() {
        n if n == rank => Ok(sizes.iter().copied().collect()),
        1 => Ok(SmallVec::from_elem(sizes[0], rank)),
        n => Err(Failure::invalid(format!("argument `{name}` has {n} entries for {rank} spatial axes"))),
    }
}

struct Operands {
    x: Operand,
    w: Operand,
    bias: Option<Operand>,
    rank: usize,
    groups: usize,
    /// The operand came without a batch axis.
    bare: bool,
}

fn operands(call: &mut Call, transposed: bool) -> Result<Operands, Failure> {
    let (x, w) = (call.tensor("input")?, call.tensor("weight")?);
    let (x_shape, w_shape) = (call.shape(&x), call.shape(&w));
    let rank = w_shape.len().saturating_sub(2);
    if !(1..=3).contains(&rank) {
        return Err(Failure::unsupported(format!("{rank} spatial axes")));
    }
    let bare = x_shape.len() == rank + 1;
    let x = match bare {
        true => call.reshape(x, &[&[1], x_shape.as_slice()].concat())?,
        false => x,
    };
    let groups = usize::try_from(call.int("groups")?).ok().filter(|&g| g > 0);
    let groups = groups.ok_or_else(|| Failure::invalid("argument `groups` must be at least 1"))?;
    if w_shape.contains(&0) {
        return Err(Failure::shapes(format!("weight is {}: its kernel is empty", display(&w_shape))));
    }
    // Products summed into one output element; a transposed kernel spreads them over its strides, which only makes fewer.
    let fan_in = match transposed {
        false => call.product(&w_shape[1..])?,
        true => call.product(&[w_shape[0] / groups, call.product(&w_shape[2..])?])?,
    };
    let w = call.set_role(&w, Role::Weight { fan_in });
    let bias = call.optional("bias").map(|bias| call.set_role(&bias, Role::Bias));
    Ok(Operands { x, w, bias, rank, groups, bare })
}

fn finished(call: &mut Call, op: Op, operands: Operands) -> Result<Outs, Failure> {
    let Operands { x, w, bias, bare, .. } = operands;
    let all: Vec<Operand> = [x, w].into_iter().chain(bias).collect();
    let y = call.emit(op, &all)?;
    if !bare {
        return Ok(y.into());
    }
    let shape = call.shape(&y);
    Ok(call.reshape(y, &shape[1..])?.into())
}

/// conv1d, conv2d, conv3d, with numbers or a word for the padding.
pub fn conv(call: &mut Call) -> Result<Outs, Failure> {
    let operands = operands(call, false)?;
    let rank = operands.rank;
    let (strides, dilations) = (spatial(call, "stride", rank)?, spatial(call, "dilation", rank)?);
    let (pads_begin, pads_end) = match call.text("padding").map(str::to_owned) {
        Err(_) => {
            let pads = spatial(call, "padding", rank)?;
            (pads.clone(), pads)
        }
        Ok(word) if word == "valid" => (SmallVec::from_elem(0, rank), SmallVec::from_elem(0, rank)),
        Ok(word) if word == "same" => {
            let kernel = call.shape(&operands.w);
            let total = |axis: usize| dilations[axis].saturating_mul(kernel[axis + 2] - 1);
            ((0..rank).map(|axis| total(axis) / 2).collect(), (0..rank).map(|axis| total(axis) - total(axis) / 2).collect())
        }
        Ok(word) => return Err(Failure::invalid(format!("argument `padding` is `{word}`"))),
    };
    let conv = Conv { strides, dilations, pads_begin, pads_end, groups: operands.groups };
    finished(call, Op::Conv(conv), operands)
}

/// conv_transpose1d, 2d, 3d.
pub fn transposed(call: &mut Call) -> Result<Outs, Failure> {
    let operands = operands(call, true)?;
    let rank = operands.rank;
    let pads = spatial(call, "padding", rank)?;
    let conv = ConvTranspose {
        strides: spatial(call, "stride", rank)?,
        dilations: spatial(call, "dilation", rank)?,
        pads_begin: pads.clone(),
        pads_end: pads,
        output_padding: spatial(call, "output_padding", rank)?,
        groups: operands.groups,
    };
    finished(call, Op::ConvTranspose(conv), operands)
}

/// The decomposed form of all of them.
pub fn convolution(call: &mut Call) -> Result<Outs, Failure> {
    if call.flag("transposed")? { transposed(call) } else { conv(call) }
}
