//! Patterns of instructions that become one: a load that only a dot reads, a sum of a dot and its
//! accumulator, an exchange of halves.

use std::collections::{HashMap, HashSet};

use crate::kernel::ir::{FloatBinary, Inst, InstKind, IntBinary, Kernel, Literal, Value};
use crate::kernel::walk;

/// How often each value is read.
pub(super) fn count_uses(insts: &[Inst], uses: &mut HashMap<Value, usize>) {
    for inst in insts {
        walk::operands(&inst.kind).into_iter().for_each(|v| *uses.entry(v).or_default() += 1);
        for region in walk::regions(&inst.kind) {
            count_uses(&region.insts, uses);
            region.yields.iter().for_each(|&v| *uses.entry(v).or_default() += 1);
        }
    }
}

/// Finds dots on a zero accumulator whose only user is a sum of the same region: `acc + dot(a, b, 0)`
/// is `dot(a, b, acc)`, as Triton's combine pass makes it. (It changes the rounding: the products are
/// added to the accumulator one by one.)
pub(super) fn fold_dots<'k>(
    insts: &'k [Inst],
    uses: &HashMap<Value, usize>,
    zeros: &mut HashSet<Value>,
    folded: &mut HashMap<Value, &'k Inst>,
) {
    let region = Order::of(insts);
    for (at, inst) in insts.iter().enumerate() {
        if let InstKind::Constant(Literal::Float(value)) = &inst.kind
            && *value == 0.0
        {
            zeros.extend(&inst.results);
        }
        if let InstKind::Float(FloatBinary::Add, a, b) = &inst.kind {
            for value in [b, a] {
                let Some(&found) = region.made.get(value) else { continue };
                if let InstKind::Dot { a: _, b: _, acc, precision: _ } = &insts[found].kind
                    && uses.get(value) == Some(&1)
                    && zeros.contains(acc)
                    && region.is_quiet(found, at)
                {
                    folded.insert(*value, &insts[found]);
                    break;
                }
            }
        }
        for region in walk::regions(&inst.kind) {
            fold_dots(&region.insts, uses, zeros, folded);
        }
    }
}

/// Where the instructions of a region stand: asked of each of them, so that unrolled loops take linear time.
struct Order {
    /// The instruction that makes a value, by its number.
    made: HashMap<Value, usize>,
    /// How many before each could change or observe memory.
    loud: Vec<usize>,
}

impl Order {
    fn of(insts: &[Inst]) -> Order {
        let results = insts.iter().enumerate();
        let made = results.flat_map(|(at, inst)| inst.results.iter().map(move |&r| (r, at))).collect();
        let mut loud = vec![0];
        for inst in insts {
            let is_loud = !walk::regions(&inst.kind).is_empty() || walk::orders_memory(&inst.kind);
            loud.push(loud[loud.len() - 1] + usize::from(is_loud));
        }
        Order { made, loud }
    }

    /// Nothing from one instruction up to another could change or observe memory.
    fn is_quiet(&self, from: usize, to: usize) -> bool {
        self.loud[from] == self.loud[to]
    }
}

/// Finds `x ^ b` where b is, grown again, the exclusive or of the two halves of x along an axis of size 2: each
/// half becomes the other. Triton's flips and sorts exchange lanes so, since it has no operation for it; done
/// as written, every lane would carry its partner's taint too.
pub(super) fn find_swaps(
    kernel: &Kernel,
    insts: &[Inst],
    uses: &HashMap<Value, usize>,
    swaps: &mut HashMap<Value, usize>,
    skipped: &mut HashSet<Value>,
) {
    let made: HashMap<Value, &Inst> = insts.iter().flat_map(|inst| inst.results.iter().map(move |&r| (r, inst))).collect();
    for inst in insts {
        if let InstKind::Int(IntBinary::Xor, x, grown) = &inst.kind
            && let Some(InstKind::Broadcast(kept)) = made.get(grown).map(|i| &i.kind)
            && let Some(InstKind::ExpandDims { value: sum, axis: back }) = made.get(kept).map(|i| &i.kind)
            && let Some(InstKind::Reduce { operands, axis, combine }) = made.get(sum).map(|i| &i.kind)
            && operands.as_slice() == [*x]
            && axis == back
            && kernel.ty(*x).shape[*axis as usize] == 2
            && let ([a, b], [only]) = (combine.args.as_slice(), combine.insts.as_slice())
            && let InstKind::Int(IntBinary::Xor, p, q) = &only.kind
            && (a, b) == (p, q)
            && combine.yields == only.results.as_slice()
        {
            swaps.insert(inst.results[0], *axis as usize);
            for part in [grown, kept, sum] {
                if uses.get(part) != Some(&1) {
                    break;
                }
                skipped.insert(*part);
            }
        }
        for region in walk::regions(&inst.kind) {
            find_swaps(kernel, &region.insts, uses, swaps, skipped);
        }
    }
}

/// Finds loads whose only user is a dot of the same region, with nothing between that could change
/// or observe memory.
pub(super) fn defer_loads(insts: &[Inst], uses: &HashMap<Value, usize>, deferred: &mut HashSet<Value>) {
    let region = Order::of(insts);
    for (at, inst) in insts.iter().enumerate() {
        if let InstKind::Dot { a, b, acc: _, precision: _ } = &inst.kind {
            for operand in [a, b] {
                if uses.get(operand) != Some(&1) {
                    continue;
                }
                let Some(&found) = region.made.get(operand) else { continue };
                if region.is_quiet(found, at) && matches!(insts[found].kind, InstKind::Load { ptr: _, mask: _, other: _ }) {
                    deferred.insert(*operand);
                }
            }
        }
        for region in walk::regions(&inst.kind) {
            defer_loads(&region.insts, uses, deferred);
        }
    }
}
