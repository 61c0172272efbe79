//! The part of a kernel that decides which elements it touches: every load and store with its address and
//! mask, and the control flow around them. Stores write zeros; what only computes values is gone. Where
//! programs see one another's stores while they run (atomics, volatile loads), stored values stay.
//!
//! Backwards from the roots (addresses, masks, branches, loop bounds, assertions) along operands, carried
//! values and yields, as a mark and sweep (the executable slice of Weiser 1981). Every load is kept, so that
//! its bounds are checked, and its result is used where it makes an address.
//!
//! The slice makes the accesses of the whole kernel unless a load that makes an address or branch reads what
//! the same launch stores: the caller must know that it does not. What it does not have any more: faults of
//! values (poison, wrapped integers and quotients by zero that only reach a store).

use std::collections::{HashMap, HashSet};

use smallvec::{SmallVec, smallvec};

use crate::diag::Result;
use crate::kernel::ir::{Inst, InstKind, Kernel, Literal, Region, Terminator, Value, ValueData};
use crate::kernel::verify::{Verified, verify};
use crate::kernel::walk;

/// The slice of a kernel.
pub fn addresses(kernel: &Verified<Kernel>) -> Result<Verified<Kernel>> {
    let mut kernel = Kernel::clone(kernel);
    let mut marks = Marks { whole: programs_talk(&kernel), ..Marks::default() };
    for block in &kernel.blocks {
        marks.insts(&block.insts);
        match &block.terminator {
            Terminator::Return => {}
            Terminator::Branch { to, args } => marks.flow(&kernel.blocks[to.0 as usize].args, args),
            Terminator::CondBranch { condition, then, otherwise } => {
                marks.roots.push(*condition);
                for (to, args) in [then, otherwise] {
                    marks.flow(&kernel.blocks[to.0 as usize].args, args);
                }
            }
        }
    }
    let whole = marks.whole;
    let live = marks.live();
    let kept = |args: &[Value]| args.iter().map(|arg| live.contains(arg)).collect::<Vec<bool>>();
    let kept: Vec<Vec<bool>> = kernel.blocks.iter().map(|block| kept(&block.args)).collect();
    for (block, own) in kernel.blocks.iter_mut().zip(&kept) {
        retain(&mut block.args, own);
        match &mut block.terminator {
            Terminator::Return => {}
            Terminator::Branch { to, args } => retain(args, &kept[to.0 as usize]),
            Terminator::CondBranch { condition: _, then, otherwise } => {
                for (to, args) in [then, otherwise] {
                    retain(args, &kept[to.0 as usize]);
                }
            }
        }
        sweep(&mut block.insts, &live, whole, &mut kernel.values);
    }
    verify(kernel)
}

/// Whether programs of one launch can see what others do while they run: what is stored then decides who
/// goes on.
fn programs_talk(kernel: &Kernel) -> bool {
    let mut talk = false;
    for block in &kernel.blocks {
        walk::each_inst(&block.insts, &mut |inst| {
            talk |= matches!(
                inst.kind,
                InstKind::VolatileLoad { ptr: _, mask: _, other: _ }
                    | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr: _, value: _, mask: _ }
                    | InstKind::AtomicCas { order: _, scope: _, ptr: _, expected: _, value: _ }
            );
        });
    }
    talk
}

/// What each value is made from, and what must stay.
#[derive(Default)]
struct Marks {
    /// Stored values stay.
    whole: bool,
    needs: HashMap<Value, Vec<Value>>,
    roots: Vec<Value>,
}

impl Marks {
    fn need(&mut self, value: Value, from: impl IntoIterator<Item = Value>) {
        self.needs.entry(value).or_default().extend(from);
    }

    /// Each target is made from its source.
    fn flow(&mut self, targets: &[Value], sources: &[Value]) {
        for (&target, &source) in targets.iter().zip(sources) {
            self.need(target, [source]);
        }
    }

    fn insts(&mut self, insts: &[Inst]) {
        for inst in insts {
            self.inst(inst);
            for region in walk::regions(&inst.kind) {
                self.insts(&region.insts);
            }
        }
    }

    fn inst(&mut self, inst: &Inst) {
        match &inst.kind {
            InstKind::Load { ptr, mask, other } => {
                self.roots.extend([Some(*ptr), *mask].into_iter().flatten());
                self.need(inst.results[0], *other);
            }
            InstKind::Store { ptr, value, mask } => {
                self.roots.extend([Some(*ptr), *mask].into_iter().flatten());
                if self.whole {
                    self.roots.push(*value);
                }
            }
            InstKind::Assert { condition, message: _ } => self.roots.push(*condition),
            InstKind::VolatileLoad { ptr: _, mask: _, other: _ }
            | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr: _, value: _, mask: _ }
            | InstKind::AtomicCas { order: _, scope: _, ptr: _, expected: _, value: _ }
            | InstKind::Barrier
            | InstKind::Assume(_) => self.roots.extend(walk::operands(&inst.kind)),
            InstKind::For { lower, upper, step, init, body } => {
                self.roots.extend([*lower, *upper, *step]);
                self.flow(&inst.results, init);
                self.flow(&inst.results, &body.yields);
                self.flow(&body.args[1..], init);
                self.flow(&body.args[1..], &body.yields);
                // A carried value that is used inside alone has a result as well, which must stay with it.
                self.flow(&inst.results, &body.args[1..]);
                self.flow(&body.args[1..], &inst.results);
            }
            InstKind::If { condition, then, otherwise } => {
                self.roots.push(*condition);
                self.flow(&inst.results, &then.yields);
                self.flow(&inst.results, &otherwise.yields);
            }
            InstKind::While { init, before, after } => {
                self.roots.extend(init.iter().chain(&before.yields).chain(&after.yields).copied());
                self.roots.extend(inst.results.iter().copied());
            }
            InstKind::Reduce { operands, axis: _, combine } | InstKind::Scan { operands, axis: _, reverse: _, combine } => {
                for &result in &inst.results {
                    self.need(result, operands.iter().chain(&combine.yields).copied());
                }
            }
            InstKind::ProgramId { axis: _ }
            | InstKind::NumPrograms { axis: _ }
            | InstKind::Constant(_)
            | InstKind::MakeRange { start: _, end: _ }
            | InstKind::Splat(_)
            | InstKind::ExpandDims { value: _, axis: _ }
            | InstKind::Broadcast(_)
            | InstKind::Trans { value: _, order: _ }
            | InstKind::Reshape(_)
            | InstKind::AddPtr { ptr: _, offset: _ }
            | InstKind::Int(..)
            | InstKind::Float(..)
            | InstKind::Unary(..)
            | InstKind::Fma(..)
            | InstKind::CompareInt(..)
            | InstKind::CompareFloat(..)
            | InstKind::Select { condition: _, then: _, other: _ }
            | InstKind::Cast(..)
            | InstKind::Dot { a: _, b: _, acc: _, precision: _ }
            | InstKind::DotScaled(_)
            | InstKind::Gather { source: _, index: _, axis: _ }
            | InstKind::Histogram { value: _, mask: _ }
            | InstKind::Join(..)
            | InstKind::Split(_)
            | InstKind::Cat(..)
            | InstKind::Unsplat(_)
            | InstKind::ClampFloat { value: _, min: _, max: _, keeps_nan: _ }
            | InstKind::AbsInt(_)
            | InstKind::Extern { symbol: _, operands: _ }
            | InstKind::InlineAsm { asm: _, operands: _ } => {
                for &result in &inst.results {
                    self.need(result, walk::operands(&inst.kind));
                }
            }
        }
    }

    fn live(mut self) -> HashSet<Value> {
        let mut live = HashSet::new();
        while let Some(value) = self.roots.pop() {
            if live.insert(value) {
                self.roots.extend(self.needs.remove(&value).unwrap_or_default());
            }
        }
        live
    }
}

/// Drops what is not live; stores get zeros unless the values that they store stay.
fn sweep(insts: &mut Vec<Inst>, live: &HashSet<Value>, whole: bool, values: &mut Vec<ValueData>) {
    let mut kept = Vec::with_capacity(insts.len());
    for mut inst in insts.drain(..) {
        let used = inst.results.iter().any(|result| live.contains(result));
        let joins = walk::joins_lanes(&inst, values);
        match &mut inst.kind {
            InstKind::Load { ptr: _, mask: _, other } => {
                if !used {
                    *other = None;
                }
            }
            InstKind::Store { ptr: _, value: _, mask: _ } if whole => {}
            InstKind::Store { ptr: _, value, mask: _ } => {
                let ty = values[value.0 as usize].ty.clone();
                let zero = Value(values.len() as u32);
                let literal = if ty.elem.is_float() { Literal::Float(0.0) } else { Literal::Int(0) };
                values.push(ValueData { ty, name: None, hints: Vec::new() });
                kept.push(Inst { kind: InstKind::Constant(literal), results: smallvec![zero], span: inst.span });
                *value = zero;
            }
            InstKind::For { lower: _, upper: _, step: _, init, body } => {
                let keep: Vec<bool> = inst.results.iter().map(|result| live.contains(result)).collect();
                let with_counter: Vec<bool> = std::iter::once(true).chain(keep.iter().copied()).collect();
                retain(init, &keep);
                retain(&mut body.args, &with_counter);
                retain(&mut body.yields, &keep);
                let mut keep = keep.into_iter();
                inst.results.retain(|_| keep.next().unwrap_or(true));
                sweep(&mut body.insts, live, whole, values);
                if inst.results.is_empty() && body.insts.is_empty() {
                    continue;
                }
            }
            InstKind::If { condition: _, then, otherwise } => {
                let keep: Vec<bool> = inst.results.iter().map(|result| live.contains(result)).collect();
                for region in [&mut *then, &mut *otherwise] {
                    retain(&mut region.yields, &keep);
                    sweep(&mut region.insts, live, whole, values);
                }
                let empty = |region: &Region| region.insts.is_empty();
                let nothing = empty(then) && empty(otherwise);
                let mut keep = keep.into_iter();
                inst.results.retain(|_| keep.next().unwrap_or(true));
                if inst.results.is_empty() && nothing {
                    continue;
                }
            }
            InstKind::While { init: _, before, after } => {
                sweep(&mut before.insts, live, whole, values);
                sweep(&mut after.insts, live, whole, values);
            }
            InstKind::Assert { condition: _, message: _ }
            | InstKind::VolatileLoad { ptr: _, mask: _, other: _ }
            | InstKind::AtomicRmw { op: _, order: _, scope: _, ptr: _, value: _, mask: _ }
            | InstKind::AtomicCas { order: _, scope: _, ptr: _, expected: _, value: _ }
            | InstKind::Barrier
            | InstKind::Assume(_) => {}
            InstKind::Reduce { operands: _, axis: _, combine: _ }
            | InstKind::ProgramId { axis: _ }
            | InstKind::NumPrograms { axis: _ }
            | InstKind::Constant(_)
            | InstKind::MakeRange { start: _, end: _ }
            | InstKind::Splat(_)
            | InstKind::ExpandDims { value: _, axis: _ }
            | InstKind::Broadcast(_)
            | InstKind::Trans { value: _, order: _ }
            | InstKind::Reshape(_)
            | InstKind::AddPtr { ptr: _, offset: _ }
            | InstKind::Int(..)
            | InstKind::Float(..)
            | InstKind::Unary(..)
            | InstKind::Fma(..)
            | InstKind::CompareInt(..)
            | InstKind::CompareFloat(..)
            | InstKind::Select { condition: _, then: _, other: _ }
            | InstKind::Cast(..)
            | InstKind::Dot { a: _, b: _, acc: _, precision: _ }
            | InstKind::DotScaled(_)
            | InstKind::Gather { source: _, index: _, axis: _ }
            | InstKind::Histogram { value: _, mask: _ }
            | InstKind::Join(..)
            | InstKind::Split(_)
            | InstKind::Cat(..)
            | InstKind::Unsplat(_)
            | InstKind::ClampFloat { value: _, min: _, max: _, keeps_nan: _ }
            | InstKind::AbsInt(_)
            | InstKind::Extern { symbol: _, operands: _ }
            | InstKind::InlineAsm { asm: _, operands: _ }
            | InstKind::Scan { operands: _, axis: _, reverse: _, combine: _ } => {
                if !used {
                    // Where lanes waited for each other they still do.
                    if joins {
                        kept.push(Inst { kind: InstKind::Barrier, results: SmallVec::new(), span: inst.span });
                    }
                    continue;
                }
            }
        }
        kept.push(inst);
    }
    *insts = kept;
}

fn retain(values: &mut Vec<Value>, keep: &[bool]) {
    let mut keep = keep.iter().copied();
    values.retain(|_| keep.next().unwrap_or(true));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parse;
    use crate::source::SourceFile;

    fn slice(text: &str) -> String {
        addresses(&parse(&SourceFile::new("k.ttir", text)).unwrap()).unwrap().to_string()
    }

    #[test]
    fn a_contraction_becomes_its_loads_and_one_store_of_zeros() {
        let text = "
tt.func public @k(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %p = tt.splat %a : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %start = tt.addptr %p, %range : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %step = tt.splat %n : i32 -> tensor<16xi32>
  %sum:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %start) -> (tensor<16xf32>, tensor<16x!tt.ptr<f32>>) : i32 {
    %x = tt.load %at : tensor<16x!tt.ptr<f32>>
    %e = math.exp %x : tensor<16xf32>
    %next = arith.addf %acc, %e : tensor<16xf32>
    %further = tt.addptr %at, %step : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    scf.yield %next, %further : tensor<16xf32>, tensor<16x!tt.ptr<f32>>
  }
  %q = tt.splat %y : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %to = tt.addptr %q, %range : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  tt.store %to, %sum#0 : tensor<16x!tt.ptr<f32>>
  tt.return
}
";
        expect_test::expect![[r#"
            tt.func public @k(%a: !tt.ptr<f32>, %b: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
              %c0 = arith.constant 0 : i32
              %c1 = arith.constant 1 : i32
              %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
              %p = tt.splat %a : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
              %start = tt.addptr %p, %range : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
              %step = tt.splat %n : i32 -> tensor<16xi32>
              %sum = scf.for %i = %c0 to %n step %c1 iter_args(%at = %start) -> (tensor<16x!tt.ptr<f32>>) : i32 {
                %x = tt.load %at : tensor<16x!tt.ptr<f32>>
                %further = tt.addptr %at, %step : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
                scf.yield %further : tensor<16x!tt.ptr<f32>>
              }
              %q = tt.splat %y : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
              %to = tt.addptr %q, %range : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
              %0 = arith.constant dense<0.000000e+00> : tensor<16xf32>
              tt.store %to, %0 : tensor<16x!tt.ptr<f32>>
              tt.return
            }
        "#]]
        .assert_eq(&slice(text));
    }

    #[test]
    fn a_load_that_makes_an_address_keeps_what_it_needs() {
        let text = "
tt.func public @k(%index: !tt.ptr<i32>, %x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32, %f: f32) {
  %c7 = arith.constant 7 : i32
  %ok = arith.cmpi slt, %n, %c7 : i32
  %i = tt.load %index, %ok, %c7 : !tt.ptr<i32>
  %p = tt.addptr %x, %i : !tt.ptr<f32>, i32
  %v = tt.load %p, %ok, %f : !tt.ptr<f32>
  %w = scf.if %ok -> (f32) {
    %twice = arith.addf %v, %v : f32
    scf.yield %twice : f32
  } else {
    scf.yield %f : f32
  }
  tt.store %y, %w : !tt.ptr<f32>
  tt.return
}
";
        expect_test::expect![[r#"
            tt.func public @k(%index: !tt.ptr<i32>, %x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32, %f: f32) {
              %c7 = arith.constant 7 : i32
              %ok = arith.cmpi slt, %n, %c7 : i32
              %i = tt.load %index, %ok, %c7 : !tt.ptr<i32>
              %p = tt.addptr %x, %i : !tt.ptr<f32>, i32
              %v = tt.load %p, %ok : !tt.ptr<f32>
              %0 = arith.constant 0.000000e+00 : f32
              tt.store %y, %0 : !tt.ptr<f32>
              tt.return
            }
        "#]]
        .assert_eq(&slice(text));
    }
}
