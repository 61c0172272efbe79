//! What Triton's `combine` pass rewrites though the result rounds differently, by the pass's own names.
//!
//! | pattern | what becomes what | in |
//! | --- | --- | --- |
//! | `CombineBroadcastMulReducePattern` | `sum(a[:, :, None] * b[None, :, :], 1)` of fp32 becomes `dot(a, b)` in **tf32**, since 3.8 in fp32 ([`Version`]) | here |
//! | `CombineDotAddFPattern`, `…IPattern` and their mirrored forms | a sum with a dot that begins at zero becomes that dot's accumulator | the emulator's tape |
//!
//! The others (`CombineSelectMaskedLoadPattern`, `CombineAddPtrPattern`) change no value. The product of a row and a
//! column must be written in that order, and M and N must be 16 at least; of fp16 and bf16 the same text makes
//! Triton's pass fail, and there is no kernel (observed with Triton 3.2 to 3.9). IR that Triton has passed through names the
//! precision, and is taken at its word.

use std::collections::HashMap;

use super::version::Version;
use crate::diag::{Diagnostic, Result, codes};
use crate::kernel::ir::{DotPrecision, Elem, FloatBinary, Inst, InstKind, Kernel, Literal, Region, Type, Value, ValueData};
use crate::kernel::walk;
use crate::source::Span;

/// What fewer rows or columns are left alone.
const LEAST: usize = 16;

/// Rewrites a kernel as the pass does.
///
/// # Errors
/// K002 where Triton's pass fails.
pub fn combine(kernel: &mut Kernel, version: Version) -> Result<()> {
    let products = products(kernel);
    if products.is_empty() {
        return Ok(());
    }
    let precision = version.summed_products();
    let mut rewriter = Rewriter { values: &mut kernel.values, products: &products, precision, refused: None, changed: false };
    for block in &mut kernel.blocks {
        rewriter.insts(&mut block.insts);
    }
    let Rewriter { values: _, products: _, precision: _, refused, changed } = rewriter;
    if let Some((elem, span)) = refused {
        let message = format!("a product of rows and columns that is summed along axis 1 in {elem}");
        let error = Diagnostic::new(&codes::KERNEL_REJECTED, message).at(&kernel.source, span);
        let error = error.note("Triton makes a dot of it (CombineBroadcastMulReducePattern), and fails for any type but fp32");
        return Err(Box::new(error.help("multiply in fp32, or write `tl.dot`")));
    }
    if changed {
        super::drop_dead::drop_dead(kernel);
    }
    Ok(())
}

/// Products `a[:, :, None] * b[None, :, :]` by their result, with a and b.
fn products(kernel: &Kernel) -> HashMap<Value, [Value; 2]> {
    let mut outer: HashMap<Value, (u8, Value)> = HashMap::new();
    let mut products = HashMap::new();
    for block in &kernel.blocks {
        let mut expanded: HashMap<Value, (u8, Value)> = HashMap::new();
        walk::each_inst(&block.insts, &mut |inst| match &inst.kind {
            InstKind::ExpandDims { value, axis } if kernel.ty(*value).shape.len() == 2 => {
                expanded.insert(inst.results[0], (*axis, *value));
            }
            InstKind::Broadcast(value) => {
                if let Some(&source) = expanded.get(value) {
                    outer.insert(inst.results[0], source);
                }
            }
            InstKind::Float(FloatBinary::Mul, a, b) => {
                if let (Some(&(2, a)), Some(&(0, b))) = (outer.get(a), outer.get(b)) {
                    products.insert(inst.results[0], [a, b]);
                }
            }
            _ => {}
        });
    }
    products
}

struct Rewriter<'k> {
    values: &'k mut Vec<ValueData>,
    products: &'k HashMap<Value, [Value; 2]>,
    precision: DotPrecision,
    refused: Option<(Elem, Span)>,
    changed: bool,
}

impl Rewriter<'_> {
    fn insts(&mut self, insts: &mut Vec<Inst>) {
        for mut inst in std::mem::take(insts) {
            for region in walk::regions_mut(&mut inst.kind) {
                self.insts(&mut region.insts);
            }
            if let Some([a, b]) = self.summed(&inst) {
                let ty = self.values[inst.results[0].0 as usize].ty.clone();
                match ty.elem {
                    Elem::F32 => {
                        let acc = self.zeros(ty, inst.span, insts);
                        inst.kind = InstKind::Dot { a, b, acc, precision: self.precision };
                        self.changed = true;
                    }
                    Elem::F16 | Elem::BF16 => self.refused = self.refused.or(Some((ty.elem, inst.span))),
                    _ => {}
                }
            }
            insts.push(inst);
        }
    }

    /// The factors of a product of which an instruction is the sum along axis 1.
    fn summed(&self, inst: &Inst) -> Option<[Value; 2]> {
        let InstKind::Reduce { operands, axis: 1, combine } = &inst.kind else { return None };
        let [product] = operands[..] else { return None };
        let &[a, b] = self.products.get(&product)?;
        let [rows, _, columns] = self.values[product.0 as usize].ty.shape[..] else { return None };
        (is_sum(combine) && rows >= LEAST && columns >= LEAST).then_some([a, b])
    }

    fn zeros(&mut self, ty: Type, span: Span, insts: &mut Vec<Inst>) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueData { ty, name: None, hints: Vec::new() });
        insts.push(Inst { kind: InstKind::Constant(Literal::Float(0.0)), results: [value].into_iter().collect(), span });
        value
    }
}

fn is_sum(combine: &Region) -> bool {
    matches!(&combine.insts[..], [Inst { kind: InstKind::Float(FloatBinary::Add, _, _), .. }])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{parse, verify::verify};
    use crate::source::SourceFile;

    /// A kernel that sums a product; M, K, N and what differs.
    fn text([m, k, n]: [usize; 3], elem: &str, [left, right]: [usize; 2], axis: usize) -> String {
        let sum: Vec<usize> = [m, k, n].into_iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, size)| size).collect();
        let [rows, columns] = sum[..] else { unreachable!() };
        let one = |axis: usize, a: usize, b: usize| {
            let mut shape = vec![a, b];
            shape.insert(axis, 1);
            shape.iter().map(|s| format!("{s}x")).collect::<String>()
        };
        let ((a, b), (c, d)) = if left == 2 { ((m, k), (k, n)) } else { ((k, n), (m, k)) };
        let (wide_left, wide_right) = (one(left, a, b), one(right, c, d));
        format!(
            "tt.func public @k(%p: !tt.ptr<{elem}>) {{
  %s = tt.load %p : !tt.ptr<{elem}>
  %a = tt.splat %s : {elem} -> tensor<{a}x{b}x{elem}>
  %b = tt.splat %s : {elem} -> tensor<{c}x{d}x{elem}>
  %al = tt.expand_dims %a {{axis = {left} : i32}} : tensor<{a}x{b}x{elem}> -> tensor<{wide_left}{elem}>
  %bl = tt.expand_dims %b {{axis = {right} : i32}} : tensor<{c}x{d}x{elem}> -> tensor<{wide_right}{elem}>
  %aw = tt.broadcast %al : tensor<{wide_left}{elem}> -> tensor<{m}x{k}x{n}x{elem}>
  %bw = tt.broadcast %bl : tensor<{wide_right}{elem}> -> tensor<{m}x{k}x{n}x{elem}>
  %ab = arith.mulf %aw, %bw : tensor<{m}x{k}x{n}x{elem}>
  %r = \"tt.reduce\"(%ab) <{{axis = {axis} : i32}}> ({{
  ^bb0(%x: {elem}, %y: {elem}):
    %z = arith.addf %x, %y : {elem}
    tt.reduce.return %z : {elem}
  }}) : (tensor<{m}x{k}x{n}x{elem}>) -> tensor<{rows}x{columns}x{elem}>
  %base = tt.splat %p : !tt.ptr<{elem}> -> tensor<{rows}x{columns}x!tt.ptr<{elem}>>
  tt.store %base, %r : tensor<{rows}x{columns}x!tt.ptr<{elem}>>
  tt.return
}}
"
        )
    }

    fn combined(text: &str) -> std::result::Result<String, Box<Diagnostic>> {
        by(text, Version::Unsaid)
    }

    fn by(text: &str, version: Version) -> std::result::Result<String, Box<Diagnostic>> {
        let mut kernel = parse(&SourceFile::new("k.ttir", text)).unwrap_or_else(|e| panic!("{e}\n{text}")).into_inner();
        combine(&mut kernel, version)?;
        Ok(verify(kernel).unwrap().to_string())
    }

    #[test]
    fn a_summed_product_becomes_a_dot_in_tf32() {
        expect_test::expect![[r#"
            tt.func public @k(%p: !tt.ptr<f32>) {
              %s = tt.load %p : !tt.ptr<f32>
              %a = tt.splat %s : f32 -> tensor<16x8xf32>
              %b = tt.splat %s : f32 -> tensor<8x32xf32>
              %0 = arith.constant dense<0.000000e+00> : tensor<16x32xf32>
              %r = tt.dot %a, %b, %0, inputPrecision = tf32 : tensor<16x8xf32> * tensor<8x32xf32> -> tensor<16x32xf32>
              %base = tt.splat %p : !tt.ptr<f32> -> tensor<16x32x!tt.ptr<f32>>
              tt.store %base, %r : tensor<16x32x!tt.ptr<f32>>
              tt.return
            }
        "#]]
        .assert_eq(&combined(&text([16, 8, 32], "f32", [2, 0], 1)).unwrap());
    }

    #[test]
    fn since_triton_3_8_it_is_one_in_fp32() {
        let text = text([16, 8, 32], "f32", [2, 0], 1);
        let [older, newer] = [Version::UpTo37, Version::Since38].map(|version| by(&text, version).unwrap());
        // What says nothing is in fp32.
        assert_eq!(older.replace(", inputPrecision = tf32", ""), newer);
        assert!(newer.contains("tt.dot %a, %b, %0 :"), "{newer}");
    }

    /// Each was tried with Triton 3.9.
    #[test]
    fn what_triton_leaves_alone_stays() {
        let cases = [
            ([8, 16, 16], "f32", [2, 0], 1),
            ([16, 16, 8], "f32", [2, 0], 1),
            ([16, 16, 16], "f64", [2, 0], 1),
            ([16, 16, 16], "f32", [0, 2], 1),
            ([16, 16, 16], "f32", [2, 0], 0),
            ([16, 16, 16], "f32", [2, 0], 2),
        ];
        for (sizes, elem, axes, axis) in cases {
            let told = combined(&text(sizes, elem, axes, axis)).unwrap();
            assert!(told.contains("tt.reduce") && !told.contains("tt.dot"), "{sizes:?} {elem} {axes:?} {axis}:\n{told}");
        }
    }

    #[test]
    fn of_16_bit_floats_triton_makes_nothing() {
        for elem in ["f16", "bf16"] {
            let error = combined(&text([16, 16, 16], elem, [2, 0], 1)).unwrap_err();
            assert_eq!(error.code.id, "K002");
            assert!(error.message.ends_with(&format!("along axis 1 in {elem}")), "{}", error.message);
        }
    }
}
