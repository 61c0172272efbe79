//! How a kernel divides its work, in words: tiles from its template's `work`, loops from its text.

use std::collections::BTreeMap;

use crate::source::SourceFile;
use crate::syntax::ast::{Expr, ExprKind, StmtKind};
use crate::syntax::walk::{each_expr, each_stmt};
use crate::syntax::{Constant, eval, parse_module};
use crate::template::{ArgumentValue, Blocks, BoundKernel, BoundLaunch, Library};

/// Numbers by name, as a launch has them.
type Known = BTreeMap<String, Constant>;

fn known(launch: &BoundLaunch, blocks: &Blocks) -> Known {
    let args = launch.args.iter().filter_map(|argument| match &argument.value {
        ArgumentValue::Int(int) | ArgumentValue::Constexpr(int) => Some((argument.param.clone(), int.value)),
        ArgumentValue::Pointer(_) | ArgumentValue::ConstexprFloat(_) | ArgumentValue::ConstexprStr(_) => None,
    });
    let locals = launch.locals.iter().map(|(name, int)| (name.clone(), int.value));
    args.chain(locals).chain(blocks.iter().cloned()).map(|(name, value)| (name, Constant::Int(value))).collect()
}

/// A line for each block: what it divides, or that it is a program's own.
pub fn tiles(kernel: &BoundKernel, blocks: &Blocks, library: &Library) -> Vec<String> {
    let Some(launch) = kernel.launches.last() else { return Vec::new() };
    let known = known(launch, blocks);
    let spec = library.find(&kernel.template).and_then(|template| {
        let own = |name: &str| launch.function == name || launch.function == format!("{name}_loop");
        template.manifest.launches.iter().find(|spec| own(&spec.kernel)).cloned()
    });
    let mut divided: BTreeMap<&str, (String, Option<i64>)> = BTreeMap::new();
    if let Some(spec) = &spec {
        each_expr(&spec.work.ast, &mut |expr| {
            let ExprKind::Call { func, args, .. } = &expr.kind else { return };
            if let (Some("cdiv"), [size, block]) = (func.as_name(), &args[..])
                && let Some(block) = block.as_name()
            {
                let value = eval::evaluate(&spec.work.file, size, &known).ok().and_then(|value| value.as_int());
                divided.insert(block, (spec.work.file.slice(size.span).to_owned(), value));
            }
        });
    }
    let sizes = blocks.iter().filter(|(name, _)| name != "num_warps" && name != "num_stages");
    sizes
        .map(|(name, value)| match divided.get(name.as_str()) {
            Some((size, Some(all))) => {
                let tiles = (all + value - 1) / value.max(&1);
                format!("`{name}` = {value} of `{size}` = {all}: {tiles} {}", if tiles == 1 { "tile" } else { "tiles" })
            }
            Some((size, None)) => format!("`{name}` = {value} of `{size}`"),
            None => format!("`{name}` = {value}, inside a program"),
        })
        .collect()
}

/// A line for each loop of a kernel's text, in its order.
pub fn loops(kernel: &BoundKernel, blocks: &Blocks) -> Vec<String> {
    let Some(launch) = kernel.launches.last() else { return Vec::new() };
    let file = SourceFile::new("kernel", kernel.text.as_str());
    let Ok(module) = parse_module(&file) else { return Vec::new() };
    let known = known(launch, blocks);
    let mut lines = Vec::new();
    each_stmt(&module.body, &mut |stmt| {
        let StmtKind::For { target, iter, .. } = &stmt.kind else { return };
        let text = format!("`for {} in {}`", file.slice(target.span), one_line(file.slice(iter.span)));
        lines.push(match turns(&file, iter, &known) {
            Some((1, _)) => format!("{text}: 1 turn"),
            Some((turns, step)) => format!("{text}: {turns} turns in steps of {step}"),
            None => text,
        });
    });
    lines
}

/// How often a `range` of known numbers turns, and its step.
fn turns(file: &std::sync::Arc<SourceFile>, iter: &Expr, known: &Known) -> Option<(i64, i64)> {
    let ExprKind::Call { func, args, .. } = &iter.kind else { return None };
    let name = file.slice(func.span);
    if !matches!(name, "range" | "tl.range" | "tl.static_range") {
        return None;
    }
    let numbers: Vec<i64> = args.iter().map(|arg| eval::evaluate(file, arg, known).ok()?.as_int()).collect::<Option<_>>()?;
    let (start, end, step) = match numbers[..] {
        [end] => (0, end, 1),
        [start, end] => (start, end, 1),
        [start, end, step] => (start, end, step),
        _ => return None,
    };
    (step > 0).then(|| (((end - start).max(0) + step - 1) / step, step))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
