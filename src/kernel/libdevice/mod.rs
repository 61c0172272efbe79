//! The functions of NVIDIA's libdevice: what a kernel calls them, and the symbol for each list of types.
//!
//! A function (`libdevice.pow`) is chosen by name, its symbol (`__nv_powf`) by the types of its
//! arguments, which must be one of its lists as they are: nothing is promoted. What a symbol computes
//! is the emulator's to say.

mod table;

use std::fmt;

use super::ir::Elem;
use crate::dtype::DType;
pub use table::Symbol;

/// One row of the table.
pub struct Row {
    /// Under `triton.language.extra.libdevice`.
    pub function: &'static str,
    pub symbol: &'static str,
    pub args: &'static [DType],
    pub result: DType,
}

impl Symbol {
    /// The symbol of a function for these argument types.
    pub fn of(function: &str, args: &[DType]) -> Option<Symbol> {
        Symbol::ALL.iter().copied().find(|symbol| symbol.row().function == function && symbol.row().args == args)
    }

    /// By the name that TTIR prints.
    pub fn named(name: &str) -> Option<Symbol> {
        Symbol::ALL.iter().copied().find(|symbol| symbol.row().symbol == name)
    }

    /// The lists of types that a function takes.
    pub fn overloads(function: &str) -> impl Iterator<Item = &'static [DType]> {
        Symbol::ALL.iter().map(|symbol| symbol.row()).filter(move |row| row.function == function).map(|row| row.args)
    }

    /// Whether the operands' types are those of the symbol, which carry no sign in the IR.
    pub fn takes(self, operands: &[Elem]) -> bool {
        let args = self.row().args;
        args.len() == operands.len() && args.iter().zip(operands).all(|(&arg, &operand)| Elem::of(arg) == operand)
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().symbol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_and_overloads_are_distinct() {
        for (i, a) in Symbol::ALL.iter().enumerate() {
            for b in &Symbol::ALL[i + 1..] {
                assert_ne!(a.row().symbol, b.row().symbol);
                assert!(a.row().function != b.row().function || a.row().args != b.row().args, "{a} {b}");
            }
            assert_eq!(Symbol::named(a.row().symbol), Some(*a));
            assert_eq!(Symbol::of(a.row().function, a.row().args), Some(*a));
        }
    }

    #[test]
    fn types_choose_the_symbol() {
        let named = |function, args: &[DType]| Symbol::of(function, args).map(|s| s.row().symbol);
        assert_eq!(named("pow", &[DType::F32, DType::I32]), Some("__nv_powif"));
        assert_eq!(named("mulhi", &[DType::U32, DType::U32]), Some("__nv_umulhi"));
        assert_eq!(named("tanh", &[DType::F16]), None);
    }
}
