//! Where values hang on the version of Triton that compiles a kernel: what two versions make of one text.
//!
//! | text | up to 3.7 | since 3.8 | nothing said |
//! | --- | --- | --- | --- |
//! | a sum of products that becomes a dot ([`combine()`](super::combine())) | in tf32 | in fp32 | in tf32, which loses more |
//! | `-x` of floats | `0 − x`, which gives +0 for +0 | `arith.negf` | `arith.negf` |
//!
//! Read in the texts and seen in the IR of Triton 3.2 to 3.9. Kernels are rewritten before they are compiled for the
//! emulator; IR that Triton itself made says what it means, and stays as it is. Not here: what a version refuses.

use crate::kernel::ir::{DotPrecision, FloatBinary, FloatUnary, Inst, InstKind, Kernel, Literal, Value, ValueData};
use crate::kernel::walk;

/// Which Triton is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Version {
    #[default]
    Unsaid,
    UpTo37,
    Since38,
}

impl Version {
    /// By a version as Triton writes its own: `3.9.0`.
    pub fn of(text: &str) -> Option<Version> {
        let mut parts = text.split('.').map(|part| part.parse::<u32>().ok());
        let version = (parts.next()??, parts.next()??);
        Some(if version < (3, 8) { Version::UpTo37 } else { Version::Since38 })
    }

    /// What a sum of products in fp32 becomes a dot in.
    pub fn summed_products(self) -> DotPrecision {
        match self {
            Version::Unsaid | Version::UpTo37 => DotPrecision::Tf32,
            Version::Since38 => DotPrecision::Ieee,
        }
    }

    fn negates_by_difference(self) -> bool {
        match self {
            Version::Unsaid | Version::Since38 => false,
            Version::UpTo37 => true,
        }
    }
}

/// Negations as a version makes them.
pub fn negations(kernel: &mut Kernel, version: Version) {
    if version.negates_by_difference() {
        for block in &mut kernel.blocks {
            differences(&mut block.insts, &mut kernel.values);
        }
    }
}

fn differences(insts: &mut Vec<Inst>, values: &mut Vec<ValueData>) {
    for mut inst in std::mem::take(insts) {
        for region in walk::regions_mut(&mut inst.kind) {
            differences(&mut region.insts, values);
        }
        if let InstKind::Unary(FloatUnary::Neg, value) = inst.kind {
            let zero = Value(values.len() as u32);
            let ty = values[value.0 as usize].ty.clone();
            values.push(ValueData { ty, name: None, hints: Vec::new() });
            let kind = InstKind::Constant(Literal::Float(0.0));
            insts.push(Inst { kind, results: [zero].into_iter().collect(), span: inst.span });
            inst.kind = InstKind::Float(FloatBinary::Sub, zero, value);
        }
        insts.push(inst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{parse, verify::verify};
    use crate::source::SourceFile;

    #[test]
    fn versions_are_read_as_triton_writes_them() {
        let [older, newer] = [Version::UpTo37, Version::Since38].map(Some);
        let versions = ["3.2.0", "3.7.1", "3.8.0", "3.10.0+cu13", "3", "main"];
        assert_eq!(versions.map(Version::of), [older, older, newer, newer, None, None]);
    }

    #[test]
    fn a_negation_was_a_difference() {
        let text = "tt.func public @k(%p: !tt.ptr<f32>, %n: i1) {
  %v = tt.load %p : !tt.ptr<f32>
  scf.if %n {
    %w = arith.negf %v : f32
    tt.store %p, %w : !tt.ptr<f32>
    scf.yield
  } else {
    scf.yield
  }
  tt.return
}
";
        let made = |version| {
            let mut kernel = parse(&SourceFile::new("k.ttir", text)).unwrap_or_else(|e| panic!("{e}")).into_inner();
            negations(&mut kernel, version);
            verify(kernel).unwrap().to_string()
        };
        assert_eq!(made(Version::Unsaid), made(Version::Since38));
        let [older, newer] = [Version::UpTo37, Version::Since38].map(made);
        assert!(newer.contains("%w = arith.negf %v : f32"), "{newer}");
        let zero = "%0 = arith.constant 0.000000e+00 : f32";
        assert!(older.contains(zero) && older.contains("%w = arith.subf %0, %v : f32"), "{older}");
    }
}
