//! Fresh Python names: none that the kernel, the wrapper or Python itself uses already.

use std::collections::BTreeSet;

/// Words that a bound name must not be: Python's, and those that kernels and wrappers rely on.
const RESERVED: &[&str] = &[
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "abs",
    "bool",
    "float",
    "int",
    "len",
    "max",
    "min",
    "range",
    "sum",
    "tuple",
    "launch",
    "prepare",
    "reference",
    "test",
    "tl",
    "torch",
    "triton",
];

#[derive(Clone, Debug)]
pub struct Names {
    taken: BTreeSet<String>,
}

impl Names {
    pub fn new(taken: &BTreeSet<String>) -> Names {
        Names { taken: taken.iter().cloned().chain(RESERVED.iter().map(|s| (*s).to_owned())).collect() }
    }

    pub fn is_free(&self, name: &str) -> bool {
        !self.taken.contains(name)
    }

    /// `base`, or `base2`, `base3`, …; taken from now on.
    pub fn fresh(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        let mut n = 1;
        while !self.taken.insert(name.clone()) {
            n += 1;
            name = format!("{base}{n}");
        }
        name
    }

    /// A fresh operand stem: `stem`, `stem_ptr` and every `stem_stride_…` are free.
    pub fn stem(&mut self, base: &str) -> String {
        let mut n = 1;
        loop {
            let stem = if n == 1 { base.to_owned() } else { format!("{base}{n}") };
            let prefixes = [format!("{stem}_ptr"), format!("{stem}_stride_"), format!("{stem}_offset")];
            if self.is_free(&stem) && !self.taken.iter().any(|t| prefixes.iter().any(|p| t.starts_with(p.as_str()))) {
                self.taken.insert(stem.clone());
                self.taken.insert(format!("{stem}_ptr"));
                return stem;
            }
            n += 1;
        }
    }
}

/// A Python identifier from any label: other characters become underscores.
pub fn identifier(label: &str) -> String {
    let text: String = label.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    let text = text.trim_matches('_');
    match text.chars().next() {
        None => "value".to_owned(),
        Some(c) if c.is_ascii_digit() => format!("value_{text}"),
        Some(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_avoid_what_is_taken() {
        let taken: BTreeSet<String> = ["x_ptr", "acc"].into_iter().map(str::to_owned).collect();
        let mut names = Names::new(&taken);
        assert_eq!(names.stem("x"), "x2");
        assert_eq!(names.fresh("acc"), "acc2");
        assert_eq!(names.fresh("sum"), "sum2");
        assert_eq!(identifier("Add+Relu"), "add_relu");
    }
}
