//! The exit status: one number for all that was found.

use crate::diag::{Class, Diagnostic};

/// Everything asked for was verified.
pub const OK: u8 = 0;
/// Stopped by Ctrl-C.
pub const INTERRUPTED: u8 = 130;

/// The status of one outcome class.
pub fn status(class: Class) -> u8 {
    match class {
        Class::Bug => 1,
        Class::Usage => 2,
        Class::Unsupported => 3,
        Class::Limit => 4,
        Class::Internal => 70,
    }
}

/// The status of several findings: 70 before 1 before 4 before 3 before 2. Warnings and advice count for none.
pub fn combined<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> u8 {
    const ORDER: [Class; 5] = [Class::Internal, Class::Bug, Class::Limit, Class::Unsupported, Class::Usage];
    let classes: Vec<Class> = diagnostics.into_iter().filter(|d| d.is_error()).map(Diagnostic::class).collect();
    ORDER.into_iter().find(|class| classes.contains(class)).map_or(OK, status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::codes;

    #[test]
    fn the_gravest_class_decides() {
        let of =
            |codes: &[&'static crate::diag::Code]| combined(&codes.iter().map(|c| Diagnostic::new(c, "")).collect::<Vec<_>>());
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[&codes::OP_UNSUPPORTED]), 3);
        assert_eq!(of(&[&codes::OP_UNSUPPORTED, &codes::FUEL]), 4);
        assert_eq!(of(&[&codes::FUEL, &codes::VALUE_MISMATCH]), 1);
        assert_eq!(of(&[&codes::VALUE_MISMATCH, &codes::INTERNAL]), 70);
        assert_eq!(of(&[&codes::SUITE_INVALID, &codes::VALUE_MISMATCH]), 1);
        assert_eq!(of(&[&codes::SUITE_INVALID]), 2);
        assert_eq!(combined(&[Diagnostic::new(&codes::VALUE_MISMATCH, "").severity(crate::diag::Severity::Warning)]), 0);
    }
}
