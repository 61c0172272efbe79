//! Simplifications that keep every value and every fault: constant folding, common subexpressions, dead
//! code.
//!
//! | pass | what | in |
//! | --- | --- | --- |
//! | `fold` | integer arithmetic on constants, `x + 0`, `x * 1`, shapes of constants, known `if`s | [`fold`] |
//! | `share` | equal pure instructions become one | [`share`] |
//! | `drop` | pure instructions whose results nobody uses disappear | [`drop_dead`] |
//!
//! Float arithmetic is left alone, loads and stores too. A division by something that may be zero
//! is neither dropped nor made, since it is a fault. Code is not moved: the emulator hoists for
//! itself. The IR before these passes is what compares with Triton's, operation by operation.
//!
//! [`addresses()`] is another kind of pass: it keeps the accesses of a kernel and drops its values. [`combine()`] is a
//! third: what Triton's compiler does to values, and users do not expect; [`Version`] says where versions of it differ.

mod addresses;
mod combine;
mod drop_dead;
mod fold;
mod share;
mod version;

use std::collections::HashMap;

pub use addresses::addresses;
pub use combine::combine;
pub use version::{Version, negations};

use super::ir::{Inst, InstKind, IntBinary, Kernel, Literal, Value};
use super::verify::{Verified, verify};
use super::walk;
use crate::diag::Result;

/// Runs the passes once, in order. The result computes the same and faults the same, but for lanes that exchange values
/// across an operation which is dropped or shared: it is no barrier any more (A016).
pub fn simplify(kernel: Verified<Kernel>) -> Result<Verified<Kernel>> {
    let mut kernel = kernel.into_inner();
    fold::fold(&mut kernel);
    share::share(&mut kernel);
    drop_dead::drop_dead(&mut kernel);
    verify(kernel)
}

/// Values whose lanes all equal a known literal.
type Constants = HashMap<Value, Literal>;

fn constants(kernel: &Kernel) -> Constants {
    let mut known = Constants::new();
    for block in &kernel.blocks {
        walk::each_inst(&block.insts, &mut |inst| {
            if let InstKind::Constant(literal) = inst.kind {
                known.insert(inst.results[0], literal);
            }
        });
    }
    known
}

/// Whether an instruction may be shared or dropped: it is pure, or a division that cannot fault.
fn is_movable(inst: &Inst, constants: &Constants) -> bool {
    match &inst.kind {
        InstKind::Int(IntBinary::DivS | IntBinary::DivU | IntBinary::RemS | IntBinary::RemU, _, divisor) => {
            // The quotient of the least integer by -1 overflows, which is undefined too.
            !matches!(constants.get(divisor), None | Some(Literal::Int(0 | -1) | Literal::Float(_)))
        }
        kind => walk::is_pure(kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::parse;
    use crate::source::SourceFile;

    fn simplified(text: &str) -> String {
        let kernel = parse(&SourceFile::new("k.ttir", text)).unwrap();
        simplify(kernel).unwrap().to_string()
    }

    #[test]
    fn constants_fold_and_dead_code_goes() {
        let text = "
tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %twelve = arith.muli %c3, %c4 : i32
  %same = arith.addi %n, %c0 : i32
  %also = arith.muli %same, %c1 : i32
  %row = tt.splat %twelve : i32 -> tensor<8xi32>
  %range = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %sum = arith.addi %range, %row : tensor<8xi32>
  %again = arith.addi %range, %row : tensor<8xi32>
  %fault = arith.divsi %n, %c0 : i32
  %fine = arith.divsi %n, %c4 : i32
  %known = arith.cmpi slt, %c3, %c4 : i32
  %picked = scf.if %known -> (i32) {
    scf.yield %also : i32
  } else {
    %x = arith.subi %c0, %n : i32
    scf.yield %x : i32
  }
  %b = tt.splat %p : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
  %at = tt.addptr %b, %again : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
  tt.store %at, %sum : tensor<8x!tt.ptr<i32>>
  tt.store %p, %picked : !tt.ptr<i32>
  tt.return
}
";
        expect_test::expect![[r#"
            tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
              %c0 = arith.constant 0 : i32
              %row = arith.constant dense<12> : tensor<8xi32>
              %range = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
              %sum = arith.addi %range, %row : tensor<8xi32>
              %fault = arith.divsi %n, %c0 : i32
              %b = tt.splat %p : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
              %at = tt.addptr %b, %sum : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
              tt.store %at, %sum : tensor<8x!tt.ptr<i32>>
              tt.store %p, %n : !tt.ptr<i32>
              tt.return
            }
        "#]]
        .assert_eq(&simplified(text));
    }

    #[test]
    fn regions_share_what_stands_before_them_only() {
        let text = "
tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %a = arith.addi %n, %n : i32
  %total = scf.for %i = %c1 to %n step %c1 iter_args(%t = %c1) -> (i32) : i32 {
    %b = arith.addi %n, %n : i32
    %c = arith.muli %i, %b : i32
    %u = arith.addi %t, %c : i32
    scf.yield %u : i32
  }
  %d = arith.muli %total, %a : i32
  tt.store %p, %d : !tt.ptr<i32>
  tt.return
}
";
        expect_test::expect![[r#"
            tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
              %c1 = arith.constant 1 : i32
              %a = arith.addi %n, %n : i32
              %total = scf.for %i = %c1 to %n step %c1 iter_args(%t = %c1) -> (i32) : i32 {
                %c = arith.muli %i, %a : i32
                %u = arith.addi %t, %c : i32
                scf.yield %u : i32
              }
              %d = arith.muli %total, %a : i32
              tt.store %p, %d : !tt.ptr<i32>
              tt.return
            }
        "#]]
        .assert_eq(&simplified(text));
    }

    /// A branch on a quotient by zero is a fault, whatever it decides.
    #[test]
    fn an_empty_branch_asks_its_condition() {
        let text = "tt.func public @k(%n: i32) {
  %zero = arith.constant 0 : i32
  %id = tt.get_program_id x : i32
  %quotient = arith.divsi %n, %id : i32
  %asked = arith.cmpi ne, %quotient, %zero : i32
  scf.if %asked {
  }
  tt.return
}
";
        assert_eq!(simplified(text), text);
    }
}
