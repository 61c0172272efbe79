//! What a kernel's file launches, against what the manifest says of it.
//!
//! A file that nobody touched must launch what the manifest says, to the last argument: else the
//! manifest was changed. An edited wrapper may launch whatever is right, another block size with its
//! own grid among it; but where its kernel fails and it launches the planned kernel with the planned
//! numbers on another grid, the grid is named ([`short_grid`]).

use serde_json::Value;

use super::consistent::invalid;
use super::diagnose::grid_mismatch;
use super::subject::{Launch, Operand, Subject, module_name};
use crate::diag::{Diagnostic, Result, codes};
use crate::emit::manifest::{AccessEntry, KernelEntry, KernelLaunchEntry, OperandEntry, SlotEntry};
use crate::host::{self, Event, HostArg, KernelArg, KernelLaunch, Trace};

/// Refuses a manifest that says something else of an untouched file than it launches. `trace` is of the
/// wrapper alone, with the launch's operands as storages 0, 1, 2, ….
pub fn agree(subject: &Subject, launch: &Launch, trace: &Trace) -> Result<()> {
    let kernel = &subject.manifest.kernels[launch.kernel];
    if !subject.is_pristine(&kernel.file) {
        return Ok(());
    }
    let differs = |what: String| {
        invalid(&subject.name, format!("kernels[{}]: {what}, but {} is as it was emitted", launch.kernel, kernel.file))
    };
    let allocated: Vec<(&str, usize)> = trace.events.iter().filter_map(allocation).collect();
    let scratch: Vec<(&str, usize)> =
        kernel.operands.iter().filter(|o| o.access == AccessEntry::Scratch).map(|o| (o.dtype.as_str(), o.storage)).collect();
    if allocated != scratch {
        return Err(differs(format!("its scratch is {scratch:?}, the file allocates {allocated:?}")));
    }
    let launched: Vec<&KernelLaunch> = trace.launches().collect();
    if launched.len() != kernel.launches.len() {
        return Err(differs(format!("it has {} launches, the file {}", kernel.launches.len(), launched.len())));
    }
    for (i, (planned, launched)) in kernel.launches.iter().zip(launched).enumerate() {
        let difference = difference(kernel, planned, launched);
        difference.map_or(Ok(()), |what| Err(differs(format!("launch {i}: {what}"))))?;
    }
    Ok(())
}

fn allocation(event: &Event) -> Option<(&str, usize)> {
    match event {
        Event::Alloc { dtype, len, .. } => Some((dtype.name(), *len)),
        Event::Launch(_) => None,
    }
}

/// The first difference between a launch and what is planned.
fn difference(kernel: &KernelEntry, planned: &KernelLaunchEntry, launched: &KernelLaunch) -> Option<String> {
    let differ = |key: &str, is: &dyn std::fmt::Debug, file: &dyn std::fmt::Debug| {
        Some(format!("its {key} is {is:?}, the file has {file:?}"))
    };
    if planned.function != launched.function {
        return differ("function", &planned.function, &launched.function);
    }
    if planned.grid != launched.grid.map(i64::from) {
        return differ("grid", &planned.grid, &launched.grid);
    }
    for (key, planned, launched) in
        [("num_warps", planned.num_warps, launched.num_warps), ("num_stages", planned.num_stages, launched.num_stages)]
    {
        if Some(planned) != launched {
            return differ(key, &planned, &launched.unwrap_or(0));
        }
    }
    if planned.args.len() != launched.args.len() {
        return differ("number of arguments", &planned.args.len(), &launched.args.len());
    }
    for (name, value) in &launched.args {
        match planned.args.get(name) {
            Some(planned) if same(kernel, planned, value) => {}
            planned => return differ(&format!("argument {name}"), &planned.unwrap_or(&Value::Null).to_string(), value),
        }
    }
    None
}

/// Whether an argument is the planned one; a tensor, whether it is the operand's storage.
pub fn same(kernel: &KernelEntry, planned: &Value, value: &KernelArg) -> bool {
    match value {
        KernelArg::Int(v) => planned.as_i64() == Some(*v),
        KernelArg::Float(v) if !v.is_finite() => planned.is_null(),
        KernelArg::Float(v) => planned.is_f64() && planned.as_f64() == Some(*v),
        KernelArg::Str(v) => planned.as_str() == Some(v),
        KernelArg::Tensor(tensor) => planned.as_str().and_then(|name| storage(kernel, name)) == Some(tensor.storage.0),
        KernelArg::Bool(v) => planned.as_bool() == Some(*v),
        KernelArg::None => planned.is_null(),
    }
}

/// The storage of an operand where the wrapper runs alone: arguments first, then scratch.
fn storage(kernel: &KernelEntry, name: &str) -> Option<usize> {
    let is_scratch = |o: &&OperandEntry| o.access == AccessEntry::Scratch;
    let given = kernel.operands.iter().filter(|o| !is_scratch(o));
    given.chain(kernel.operands.iter().filter(is_scratch)).position(|o| o.name == name)
}

/// Refuses a `run.py` that hands other storages to the launch than the manifest's operands lie in, or, where nobody
/// touched `run.py`, the manifest. `launched` is what the launch's wrapper did, `storage_of` the storage of a slot.
///
/// In an edited file, whose parameters may have any names, only the storages as a whole are known.
pub fn handed(
    subject: &Subject,
    launch: &Launch,
    launched: &[&KernelLaunch],
    storage_of: &dyn Fn(&SlotEntry) -> Result<usize>,
) -> Result<()> {
    let kernel = &subject.manifest.kernels[launch.kernel];
    let pristine = subject.is_pristine(&kernel.file);
    for operand in &launch.operands {
        let storage = storage_of(&operand.slot)?;
        let mut seen = false;
        for (planned, launched) in kernel.launches.iter().zip(launched) {
            for (name, value) in &launched.args {
                let KernelArg::Tensor(tensor) = value else { continue };
                let named = planned.args.get(name).and_then(Value::as_str) == Some(&operand.entry.name);
                seen |= (named || !pristine) && tensor.storage.0 == storage;
            }
        }
        if !seen {
            let what = format!(
                "launch {}, operand {}: run.py hands another tensor to the kernel than {:?}",
                launch.layer, operand.entry.name, operand.slot
            );
            if subject.is_pristine("run.py") {
                return Err(invalid(&subject.name, what));
            }
            let help = "hand over the tensor that the manifest names, or undo the edit of run.py";
            return Err(Box::new(
                Diagnostic::new(&codes::HOST_LAUNCH, what).in_file(format!("{}/run.py", subject.name)).help(help),
            ));
        }
    }
    Ok(())
}

/// B002 where an edited wrapper launches what is planned on another grid.
pub fn short_grid(subject: &Subject, launch: &Launch) -> Option<Diagnostic> {
    let kernel = &subject.manifest.kernels[launch.kernel];
    if subject.is_pristine(&kernel.file) {
        return None;
    }
    let module = module_name(&kernel.file);
    let args: Vec<HostArg> = launch.operands.iter().map(Operand::host_arg).collect();
    // A wrapper that cannot be read has been reported where it was run.
    let trace = host::trace_launch(&subject.modules, &module, "launch", &args).ok()?;
    let file = &subject.modules.ast(&module)?.file;
    let mut pairs = kernel.launches.iter().zip(trace.launches());
    pairs.find_map(|(planned, launched)| {
        let there = KernelLaunchEntry { grid: launched.grid.map(i64::from), ..planned.clone() };
        if planned.grid == there.grid || difference(kernel, &there, launched).is_some() {
            return None;
        }
        let written = grid_text(file.slice(launched.span));
        Some(grid_mismatch(&launched.function, launched.grid, planned.grid, &written).at(file, launched.span))
    })
}

/// The text of each axis in `kernel[(a, b)](…)`.
fn grid_text(launch: &str) -> Vec<String> {
    let Some(start) = launch.find('[') else { return Vec::new() };
    let (mut depth, mut from, mut axes) = (0, None, Vec::new());
    for (i, c) in launch.char_indices().skip_while(|&(i, _)| i < start) {
        match c {
            '[' | '(' => {
                depth += 1;
                if depth == 2 && from.is_none() {
                    from = Some(i + 1);
                }
            }
            ']' | ')' => depth -= 1,
            _ => {}
        }
        let ends = (depth == 2 && c == ',') || (depth == 1 && c == ')');
        if let (true, Some(begin)) = (ends, from) {
            let text = launch[begin..i].split_whitespace().collect::<Vec<_>>().join(" ");
            axes.extend((!text.is_empty()).then_some(text));
            from = Some(i + 1);
        }
        if depth < 2 && from.is_some() {
            break;
        }
    }
    axes
}

#[cfg(test)]
mod tests {
    use super::grid_text;

    #[test]
    fn the_text_of_a_grid_is_cut_at_its_own_commas() {
        assert_eq!(grid_text("k[(triton.cdiv(N, B) * C,)](x, [1])"), ["triton.cdiv(N, B) * C"]);
        assert_eq!(grid_text("k[(M, min(a,\n        b), 1)](x)"), ["M", "min(a, b)", "1"]);
        assert!(grid_text("k[grid](x)").is_empty());
    }
}
