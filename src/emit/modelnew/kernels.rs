//! The kernels of a plan in one file: each distinct text once, under names that begin with the task's, and for each
//! kernel a function that launches it.

use std::collections::BTreeMap;

use crate::emit::python::Names;
use crate::emit::wrapper;
use crate::select::plan::Plan;
use crate::template::BoundKernel;

/// The suffix that every entry's name has.
const ENTRY: &str = "_kernel";

pub struct Kernels {
    /// `@triton.jit` functions, each distinct text once.
    pub texts: Vec<String>,
    /// A launching function for each kernel of the plan.
    pub launches: Vec<String>,
    /// Their names, by the kernel's place in the plan.
    pub callees: Vec<String>,
}

/// New names of the functions of one text, by the old ones.
type Renamed = BTreeMap<String, String>;

impl Kernels {
    /// Names are new ones of `module`.
    pub fn of(plan: &Plan, op_name: &str, module: &mut Names) -> Kernels {
        let mut distinct: Vec<(&str, Renamed)> = Vec::new();
        let mut kernels = Kernels { texts: Vec::new(), launches: Vec::new(), callees: Vec::new() };
        let all = plan.kernels.iter().map(|kernel| kernel.text.as_str());
        let alone = all.clone().all(|text| Some(text) == all.clone().next());
        for kernel in &plan.kernels {
            let base = if alone { op_name.to_owned() } else { format!("{op_name}_{}", kernel.template) };
            let known = distinct.iter().position(|(text, _)| *text == kernel.text);
            let at = known.unwrap_or_else(|| {
                let renamed = renamed(kernel, &base, module);
                kernels.texts.push(with_names(kernel.text.trim(), &renamed));
                distinct.push((&kernel.text, renamed));
                distinct.len() - 1
            });
            let renamed = &distinct[at].1;
            let name = module.fresh(&format!("launch_{base}"));
            let function = |old: &str| renamed.get(old).cloned().unwrap_or_else(|| old.to_owned());
            kernels.launches.push(wrapper::launch(kernel, &wrapper::Form { name: &name, checks: false, function: &function }));
            kernels.callees.push(name);
        }
        kernels
    }
}

/// New names for the functions of a kernel's text: the entry is `<base>_kernel`, of several each `<base>_<part>_kernel`.
fn renamed(kernel: &BoundKernel, base: &str, module: &mut Names) -> Renamed {
    let entries: Vec<&str> = kernel.launches.iter().map(|launch| launch.function.as_str()).collect();
    let alone = entries.iter().all(|entry| *entry == entries[0]);
    let own = format!("{}_", kernel.template);
    let defined = kernel.text.lines().filter_map(|line| line.strip_prefix("def ")?.split_once('(').map(|(name, _)| name));
    defined
        .map(|old| {
            let part = old.strip_prefix(&own).unwrap_or(old);
            let is_entry = entries.contains(&old);
            let wanted = match part.strip_suffix(ENTRY).unwrap_or(part) {
                _ if is_entry && alone => base.to_owned(),
                "kernel" => base.to_owned(),
                part => format!("{base}_{part}"),
            };
            let suffix = if is_entry { ENTRY } else { "" };
            (old.to_owned(), fresh(module, &wanted, suffix))
        })
        .collect()
}

/// A new name that ends so: `relu_kernel`, then `relu_2_kernel`.
fn fresh(module: &mut Names, wanted: &str, suffix: &str) -> String {
    let mut n = 1;
    loop {
        let name = if n == 1 { format!("{wanted}{suffix}") } else { format!("{wanted}_{n}{suffix}") };
        if module.take(&name) {
            return name;
        }
        n += 1;
    }
}

/// A text with other names: whole words alone.
fn with_names(text: &str, renamed: &Renamed) -> String {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(word) {
        let end = rest[start..].find(|c| !word(c)).map_or(rest.len(), |length| start + length);
        out += &rest[..start];
        let name = &rest[start..end];
        out += renamed.get(name).map_or(name, String::as_str);
        rest = &rest[end..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_are_renamed() {
        let renamed = Renamed::from([("relu".to_owned(), "a_relu".to_owned())]);
        assert_eq!(with_names("relu(x, relu_2) + my_relu - relu", &renamed), "a_relu(x, relu_2) + my_relu - a_relu");
    }

    #[test]
    fn names_that_are_taken_are_numbered_before_the_suffix() {
        let mut names = Names::new(&[]);
        let given: Vec<String> = (0..3).map(|_| fresh(&mut names, "relu", ENTRY)).collect();
        assert_eq!(given, ["relu_kernel", "relu_2_kernel", "relu_3_kernel"]);
    }
}
