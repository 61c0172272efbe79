//! The command that repeats a trial, for the message that it failed.
//!
//! Not caught: another shell than POSIX's may read the words otherwise.

use crate::diag::Diagnostic;

use super::seeds::Seeds;

/// The messages of a trial that does not hold, with its seed and the command that repeats it; `only` is
/// the kernel that it was about.
pub fn told(mut found: Vec<Diagnostic>, suite: &str, only: Option<&str>, seed: u64, seeds: Seeds) -> Vec<Diagnostic> {
    if let Some(first) = found.first_mut() {
        let trial =
            if seeds.count() > 1 { format!(", trial {} of {}", seed - seeds.first() + 1, seeds.count()) } else { String::new() };
        let only = only.map(|kernel| format!(" --only {}", quoted(kernel))).unwrap_or_default();
        first.notes.push(format!("inputs: seed {seed}{trial}"));
        first.notes.push(format!("to repeat: decompose verify {}{only} --seed {seed}", quoted(suite)));
    }
    found
}

/// A word as a POSIX shell reads it back.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '=' | ',' | ':' | '+');
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::codes;

    #[test]
    fn the_first_message_says_how_to_repeat_the_trial() {
        let found = || vec![Diagnostic::new(&codes::VALUE_MISMATCH, "a"), Diagnostic::new(&codes::GRID_MISMATCH, "b")];
        let notes = |only, seeds| told(found(), "my suite", only, 9, seeds).into_iter().map(|d| d.notes).collect::<Vec<_>>();
        let all = notes(Some("relu__01"), Seeds::new(7, 5));
        assert_eq!(all[0], ["inputs: seed 9, trial 3 of 5", "to repeat: decompose verify 'my suite' --only relu__01 --seed 9"]);
        assert_eq!(all[1], Vec::<String>::new());
        assert_eq!(notes(None, Seeds::new(9, 1))[0], ["inputs: seed 9", "to repeat: decompose verify 'my suite' --seed 9"]);
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("--shape=x=1x3"), "--shape=x=1x3");
        assert_eq!(quoted("X * 2"), "'X * 2'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
