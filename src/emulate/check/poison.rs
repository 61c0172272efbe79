//! Tainted lanes that reach a store or an atomic (A003), an address (A004) or a branch (A005); those of a division
//! by zero have a code of their own (A009), and so have wrapped integers (A011) pointers between the elements of
//! their type (A020) and shifts by the width of the type or more (A023).
//!
//! Taints travel with values (`value::taint`) and are looked at only here: a lane that is masked off
//! again, or not chosen by a select, raises no alarm, whatever produced it.
//!
//! Misses: nothing is asked of values that never leave the program. A wrap that a later sum undoes
//! (`a + b - b`) is not a wrap, as the value is right.

use crate::diag::{Code, Diagnostic, codes};
use crate::emulate::exec::Machine;
use crate::emulate::launch::Checks;
use crate::emulate::tape::Instruction;
use crate::emulate::value::taint;

/// Whether a lane with this taint is a fault where it is used.
#[inline]
pub fn matters(checks: Checks, flags: u8) -> bool {
    flags & watched(checks) != 0
}

/// The taint flags that the checks look at.
#[inline]
pub fn watched(checks: Checks) -> u8 {
    let mut flags = 0;
    if checks.poison {
        flags |= taint::MASKED | taint::FLOAT_RANGE | taint::INDEX;
    }
    if checks.shift {
        flags |= taint::SHIFT;
    }
    if checks.division {
        flags |= taint::DIVIDED_BY_ZERO;
    }
    if checks.wrapped {
        flags |= taint::WRAPPED;
    }
    if checks.alignment {
        flags |= taint::MISALIGNED;
    }
    flags
}

fn diagnose(machine: &Machine<'_>, flags: u8, by_use: &'static Code, what: String, at: &Instruction) -> Diagnostic {
    let stored = by_use == &codes::POISON_STORED;
    let flags = flags & watched(machine.launch.checks);
    let (code, help) = if flags & taint::DIVIDED_BY_ZERO != 0 {
        (&codes::DIVISION_BY_ZERO, "make the divisor non-zero in every lane whose result is used, or mask those lanes off")
    } else if flags & taint::MISALIGNED != 0 {
        (&codes::MISALIGNED, "a pointer to wider elements must point at a multiple of their size")
    } else if flags & taint::POISON == taint::SHIFT {
        (&codes::SHIFT_RANGE, "keep the distance below the width of the type: mask the lanes off, or shift in a wider type")
    } else if flags & taint::POISON != 0 {
        (by_use, "give the load an `other` value, or use the same mask where its lanes are used")
    } else if stored {
        (
            &codes::INTEGER_WRAPPED,
            "compute the value in 64 bits: cast an operand with `.to(tl.int64)`, and do not narrow it before the store",
        )
    } else {
        (&codes::INTEGER_WRAPPED, "compute the offset in 64 bits: cast a factor with `.to(tl.int64)`")
    };
    machine.message(code, format!("{what} depends on {}", taint::reason(flags)), at).help(help)
}

pub fn in_store(machine: &Machine<'_>, flags: u8, lane: &str, tensor: &str, at: &Instruction) -> Diagnostic {
    diagnose(machine, flags, &codes::POISON_STORED, format!("the value that {lane} stores to {tensor}"), at)
}

pub fn in_atomic(machine: &Machine<'_>, flags: u8, lane: &str, tensor: &str, at: &Instruction) -> Diagnostic {
    diagnose(machine, flags, &codes::POISON_STORED, format!("what {lane} gives an atomic operation on {tensor}"), at)
}

pub fn in_address(machine: &Machine<'_>, flags: u8, lane: &str, tensor: &str, at: &Instruction) -> Diagnostic {
    diagnose(machine, flags, &codes::POISON_ADDRESS, format!("the address of {lane} in {tensor}"), at)
}

pub fn in_mask(machine: &Machine<'_>, flags: u8, lane: &str, tensor: &str, at: &Instruction) -> Diagnostic {
    diagnose(machine, flags, &codes::POISON_ADDRESS, format!("the mask of {lane} of an access to {tensor}"), at)
}

pub fn in_branch(machine: &Machine<'_>, flags: u8, what: &str, at: &Instruction) -> Diagnostic {
    diagnose(machine, flags, &codes::POISON_BRANCH, what.to_owned(), at)
}
