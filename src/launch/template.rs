//! A launch description to start from: what the kernel's own text says of its parameters, and blanks for the rest.
//!
//! Guesses stand in comments of the text; nobody runs them before a user has pasted them.

use super::entry;
use crate::kernel::constexpr_params;
use crate::syntax::ast::{FunctionDef, Module, Param, ParamKind};

/// `# run:` lines for a kernel.
pub fn text(module: &Module, function: &FunctionDef) -> String {
    let constexprs = constexpr_params(module, &function.name).unwrap_or_default();
    let pointers = entry::pointers(function);
    let mut text = format!("# run: {} on a small input\n#   kernel: {}\n#   args:\n", function.name, function.name);
    let mut size = None;
    let mut block = None;
    for param in &function.params {
        let name = param.name.as_str();
        let value = if constexprs.iter().any(|c| c == name) {
            block.get_or_insert(name);
            constexpr(param)
        } else if pointers.contains(name) {
            "f32[1000]".to_owned()
        } else if name.starts_with("stride") || name.ends_with("stride") {
            "1".to_owned()
        } else if param.default.is_some() {
            continue;
        } else {
            size.get_or_insert(name);
            "1000".to_owned()
        };
        if param.kind == ParamKind::Positional || param.kind == ParamKind::KeywordOnly {
            text += &format!("#     {name}: {value}\n");
        }
    }
    let grid = match (size, block) {
        (Some(size), Some(block)) => format!("cdiv({size}, {block})"),
        (_, _) => "1".to_owned(),
    };
    text + &format!("#   grid: {grid}\n")
}

fn constexpr(param: &Param) -> String {
    let name = param.name.to_ascii_uppercase();
    if name.contains("BLOCK") || name.contains("SIZE") || name.contains("TILE") { "64".to_owned() } else { "1".to_owned() }
}
