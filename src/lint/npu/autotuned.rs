//! N019 (advice): `@triton.autotune` as it is written for GPUs.
//!
//! Why: tuning runs the kernel again and again on the same tensors, so what it writes must be restored
//! (`restore_value=`); `num_warps` and `num_stages` mean nothing on an NPU and only multiply the configs. Source:
//! triton-ascend's programming guide.

use crate::lint::configs;
use crate::lint::rule::Found;
use crate::lint::subject::Subject;

pub fn check(subject: &Subject<'_>, found: &mut Found<'_>) {
    for function in &subject.functions {
        let Some(autotune) = configs::autotune(subject, function) else { continue };
        let restores = |k: &crate::syntax::ast::Keyword| matches!(k.name.as_deref(), Some("restore_value") | None);
        if !autotune.keywords.iter().any(restores) {
            let message = format!("`{}` is tuned without `restore_value`", function.def.name);
            found.at(autotune.span, message).help("name the tensors that the kernel writes: `restore_value=[\"y_ptr\"]`");
        }
        for config in configs::calls(subject, function) {
            for keyword in config.keywords.iter().filter(|k| matches!(k.name.as_deref(), Some("num_warps" | "num_stages"))) {
                let name = keyword.name.as_deref().unwrap_or_default();
                found
                    .at(keyword.span, format!("`{name}` means nothing on an NPU"))
                    .help("leave it out: configs that differ in it alone are equal");
            }
        }
    }
}
