//! Mutations that change nothing a kernel promises, with the argument: what the same simplified kernel
//! does not show.
//!
//! `equivalent.txt` holds blocks: a line `[subject]`, then mutations as [`Key`] prints them, each with an
//! indented line that argues. A test fails on an entry that is no longer generated, and on one that
//! is in fact caught.

use std::collections::BTreeMap;

use super::mutation::Key;

const TEXT: &str = include_str!("equivalent.txt");

/// The arguments by subject and mutation.
pub struct Listed {
    arguments: BTreeMap<(String, String), String>,
}

impl Listed {
    /// The list in the binary.
    pub fn embedded() -> Listed {
        Listed::read(TEXT)
    }

    /// Blank lines and lines that begin with `#` are skipped; a mutation without an argument has an
    /// empty one.
    pub fn read(text: &str) -> Listed {
        let mut arguments = BTreeMap::new();
        let (mut subject, mut open) = (String::new(), Vec::new());
        let mut argued = true;
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                subject = name.to_owned();
                open.clear();
            } else if line.starts_with(' ') {
                for key in &open {
                    arguments.insert((subject.clone(), String::clone(key)), line.trim().to_owned());
                }
                argued = true;
            } else {
                // Mutations in a row share the argument behind them.
                if argued {
                    open.clear();
                    argued = false;
                }
                open.push(line.to_owned());
                arguments.insert((subject.clone(), line.to_owned()), String::new());
            }
        }
        Listed { arguments }
    }

    pub fn argument(&self, subject: &str, key: &Key) -> Option<&str> {
        self.arguments.get(&(subject.to_owned(), key.to_string())).map(String::as_str)
    }

    /// (subject, mutation, argument), sorted.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.arguments.iter().map(|((subject, key), argument)| (subject.as_str(), key.as_str(), argument.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_in_a_row_share_an_argument() {
        let listed =
            Listed::read("# why\n[relu]\nf | a | b\ng | c | d\n  no matter\nh | e | f\n\n[add]\nf | a | b\n  nor here\n");
        let entries: Vec<_> = listed.entries().collect();
        assert_eq!(
            entries,
            [
                ("add", "f | a | b", "nor here"),
                ("relu", "f | a | b", "no matter"),
                ("relu", "g | c | d", "no matter"),
                ("relu", "h | e | f", "")
            ]
        );
    }
}
