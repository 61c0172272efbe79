//! G007: the 8-bit float e4m3 where the target's compiler lacks it.
//!
//! Why: compute capability 8.9 brought it; sm_80's compiler refuses it ("type fp8e4nv not supported in this
//! architecture"). Source: `supported_fp8_dtypes` of Triton's back ends.

use crate::dtype::DType;
use crate::kernel::ir::Elem;
use crate::lint::live::each;
use crate::lint::rule::Found;
use crate::lint::specialise::Lowered;
use crate::target::Target;

pub fn check(lowered: &Lowered<'_>, target: &Target, found: &mut Found<'_>) {
    if target.fp8_e4m3 {
        return;
    }
    let mut told = false;
    each(&lowered.kernel, &mut |inst| {
        let has = inst.results.iter().any(|v| matches!(lowered.kernel.ty(*v).elem, Elem::F8E4M3 | Elem::Ptr(DType::F8E4M3)));
        if has && !told {
            told = true;
            found.at(inst.span, format!("float8e4nv, which {} lacks", target.name)).help("take float8e5, or 16 bits");
        }
    });
}
