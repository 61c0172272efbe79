//! `compile.py`: every kernel through Triton's own compiler.

use crate::target::{Precision, Target, Vendor};

/// Targets that Triton compiles for, by our names, with its own: backend and architecture.
const TARGETS: [(&str, &str); 3] = [("sm_80", "\"cuda\", 80"), ("sm_90", "\"cuda\", 90"), ("gfx942", "\"hip\", \"gfx942\"")];

/// The whole text.
pub fn text() -> String {
    let mut table = String::from("TARGETS = {\n");
    for (name, theirs) in TARGETS {
        let target = Target::find(name).expect("invariant: the table of targets has these");
        debug_assert!(target.vendor != Vendor::Ascend, "invariant: Triton's own compiler has no Ascend backend");
        let precisions: Vec<String> = target.precisions.iter().map(|p: &Precision| format!("\"{p}\"")).collect();
        let (warp, shared) = (target.warp_size, target.shared_memory);
        table += &format!("    \"{name}\": ({theirs}, {warp}, {shared}, ({})),\n", precisions.join(", "));
    }
    include_str!("text/compile.py").replace("TARGETS = {}\n", &(table + "}\n"))
}
