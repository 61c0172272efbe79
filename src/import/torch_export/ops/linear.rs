//! Products of matrices: linear, matmul and their narrow forms, einsum of two operands.
//!
//! A batch of rows before one matrix is one matrix of more rows, as torch's own decompositions have it.

use crate::expr::Binary;
use crate::graph::{Op, Role};
use crate::import::build::activation::scaled;
use crate::import::build::{Failure, Operand};
use crate::import::torch_export::call::{Call, Outs};
use crate::shape::{Shape, display};

/// A [m, k] · B [k, n], whichever of them is learned.
fn product(call: &mut Call, a: Operand, b: Operand) -> Result<Operand, Failure> {
    let inner = call.shape(&a).last().copied().unwrap_or(1);
    let [a, b] = [a, b].map(|operand| call.set_role(&operand, Role::Weight { fan_in: inner }));
    call.emit(Op::MatMul, &[a, b])
}

/// x + bias.
fn biased(call: &mut Call, x: Operand, bias: Operand) -> Result<Operand, Failure> {
    let bias = call.with_role(bias, Role::Bias);
    call.binary("add", &[x, bias], |b, l, r| b.binary(Binary::Add, l, r))
}

fn times(call: &mut Call, x: Operand, factor: f64) -> Result<Operand, Failure> {
    if factor == 1.0 { Ok(x) } else { call.unary("mul_scalar", &x, |b, x| scaled(b, x, factor)) }
}

/// x · weightᵀ + bias; weight [n, k].
pub fn linear(call: &mut Call) -> Result<Outs, Failure> {
    let (x, weight, bias) = (call.tensor("input")?, call.tensor("weight")?, call.optional("bias"));
    let (shape, kept) = (call.shape(&x), call.shape(&weight));
    let (&[n, k], Some((&inner, rows))) = (kept.as_slice(), shape.split_last()) else {
        return Err(Failure::shapes(format!("weight {} is no matrix, or input a scalar", display(&kept))));
    };
    if inner != k {
        return Err(Failure::shapes(format!("input {} and weight {} do not fit", display(&shape), display(&kept))));
    }
    let weight = call.permute(weight, &[1, 0])?;
    let count = call.product(rows)?;
    let x = call.reshape(x, &[count, k])?;
    let mut y = product(call, x, weight)?;
    if let Some(bias) = bias {
        y = biased(call, y, bias)?;
    }
    let shape: Shape = rows.iter().copied().chain([n]).collect();
    Ok(call.reshape(y, &shape)?.into())
}

/// numpy's product.
pub fn matmul(call: &mut Call) -> Result<Outs, Failure> {
    let (a, b) = (call.tensor("self")?, call.tensor("other")?);
    Ok(multiplied(call, a, b)?.into())
}

pub fn multiplied(call: &mut Call, mut a: Operand, mut b: Operand) -> Result<Operand, Failure> {
    let (a_shape, b_shape) = (call.shape(&a), call.shape(&b));
    let (Some((&inner, rows)), false) = (a_shape.split_last(), b_shape.is_empty()) else {
        return Err(Failure::shapes("a scalar is no matrix"));
    };
    let column = b_shape.len() == 1;
    if column {
        b = call.reshape(b, &[b_shape[0], 1])?;
    }
    let columns = if column { None } else { b_shape.last().copied() };
    if b_shape.len() <= 2 {
        let count = call.product(rows)?;
        a = call.reshape(a, &[count, inner])?;
        let y = product(call, a, b)?;
        let shape: Shape = rows.iter().copied().chain(columns).collect();
        return call.reshape(y, &shape);
    }
    let row = a_shape.len() == 1;
    if row {
        a = call.reshape(a, &[1, inner])?;
    }
    let y = product(call, a, b)?;
    if !row {
        return Ok(y);
    }
    let mut shape = call.shape(&y);
    shape.remove(shape.len() - 2);
    call.reshape(y, &shape)
}

/// mm, bmm, mv, dot: operands of fixed ranks.
pub fn narrow(call: &mut Call) -> Result<Outs, Failure> {
    let a = call.tensor("self")?;
    let second = ["mat2", "vec", "tensor"].into_iter().find(|name| call.has(name));
    let b = call.tensor(second.expect("invariant: products have a second operand"))?;
    Ok(multiplied(call, a, b)?.into())
}

/// beta·self + alpha·(A · B).
fn added(call: &mut Call, first: &str, second: &str) -> Result<Outs, Failure> {
    let (addend, a, b) = (call.tensor("self")?, call.tensor(first)?, call.tensor(second)?);
    let (alpha, beta) = (call.number("alpha")?, call.number("beta")?);
    let y = product(call, a, b)?;
    let y = times(call, y, alpha)?;
    if beta == 0.0 {
        return Ok(y.into());
    }
    let addend = times(call, addend, beta)?;
    Ok(biased(call, y, addend)?.into())
}

pub fn addmm(call: &mut Call) -> Result<Outs, Failure> {
    added(call, "mat1", "mat2")
}

pub fn baddbmm(call: &mut Call) -> Result<Outs, Failure> {
    added(call, "batch1", "batch2")
}

/// Two operands: axes that both have and the result too are batches, those that only the operands have are summed.
pub fn einsum(call: &mut Call) -> Result<Outs, Failure> {
    let equation: String = call.text("equation")?.chars().filter(|c| !c.is_whitespace()).collect();
    let operands = call.tensors("tensors")?;
    let refuse = || Failure::unsupported(format!("equation `{equation}`"));
    let (inputs, output) = equation.split_once("->").ok_or_else(refuse)?;
    let letters = |text: &str| -> Option<Vec<char>> {
        let letters: Vec<char> = text.chars().collect();
        let distinct = (0..letters.len()).all(|i| !letters[..i].contains(&letters[i]));
        (distinct && letters.iter().all(char::is_ascii_alphabetic)).then_some(letters)
    };
    let output = letters(output).ok_or_else(refuse)?;
    let inputs: Vec<Vec<char>> = inputs.split(',').map(letters).collect::<Option<_>>().ok_or_else(refuse)?;
    let ([a, b], [left, right]) = (operands.as_slice(), inputs.as_slice()) else { return Err(refuse()) };
    let (a_shape, b_shape) = (call.shape(a), call.shape(b));
    if a_shape.len() != left.len() || b_shape.len() != right.len() {
        return Err(Failure::shapes(format!("equation `{equation}` for {} and {}", display(&a_shape), display(&b_shape))));
    }
    let of = |keep: &dyn Fn(&char) -> bool, letters: &[char]| letters.iter().copied().filter(keep).collect::<Vec<char>>();
    let batch = of(&|c| right.contains(c) && output.contains(c), left);
    let summed = of(&|c| right.contains(c) && !output.contains(c), left);
    let rows = of(&|c| !right.contains(c), left);
    let columns = of(&|c| !left.contains(c), right);
    if summed.is_empty()
        || rows.iter().chain(&columns).any(|c| !output.contains(c))
        || output.iter().any(|c| !left.contains(c) && !right.contains(c))
    {
        return Err(refuse());
    }
    let size = |c: &char| match left.iter().position(|l| l == c) {
        Some(axis) => a_shape[axis],
        None => b_shape[right.iter().position(|r| r == c).expect("invariant: every letter stands in an operand")],
    };
    let arranged = |call: &mut Call, x: &Operand, own: &[char], groups: [&[char]; 3]| {
        let order: Vec<usize> = groups.concat().iter().filter_map(|c| own.iter().position(|o| o == c)).collect();
        let x = call.permute(x.clone(), &order)?;
        let sizes = groups.map(|group| group.iter().map(size).product::<usize>());
        let shape = if batch.is_empty() { sizes[1..].to_vec() } else { sizes.to_vec() };
        call.reshape(x, &shape)
    };
    let a = arranged(call, a, left, [&batch, &rows, &summed])?;
    let b = arranged(call, b, right, [&batch, &summed, &columns])?;
    let y = product(call, a, b)?;
    let made: Vec<char> = [batch.as_slice(), &rows, &columns].concat();
    let y = call.reshape(y, &made.iter().map(size).collect::<Vec<_>>())?;
    let order: Vec<usize> = output.iter().filter_map(|c| made.iter().position(|m| m == c)).collect();
    Ok(call.permute(y, &order)?.into())
}
