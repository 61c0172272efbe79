//! Which launches `--only` names.
//!
//! In order: a name as it stands (a kernel's file, with or without `kernels/` and `.py`, its key, a template, a
//! layer, any node of the model that a launch computes); an operator of the model, in any case of letters; the
//! beginning of names that all stand for the same launches. What names nothing is answered by the names nearest
//! to it (Levenshtein 1966) and the kernels' files.
//!
//! Not caught: a misspelt name that is another one's beginning.

use std::collections::{BTreeMap, BTreeSet};

use crate::conform::subject::{Launch, Subject};
use crate::diag::{Diagnostic, Result, codes};

/// Names and files that a message lists at most.
const SHOWN: usize = 12;

/// Which launches are asked about: all, or those that the filter names.
///
/// # Errors
/// U001 where it names nothing, or is the beginning of several names.
pub(super) fn selected(subject: &Subject, only: Option<&str>) -> Result<Vec<bool>> {
    let count = subject.launches.len();
    let Some(filter) = only else { return Ok(vec![true; count]) };
    let names = names(subject);
    let chosen = |launches: &BTreeSet<usize>| Ok((0..count).map(|at| launches.contains(&at)).collect());
    if let Some(launches) = names.get(filter) {
        return chosen(launches);
    }
    if let Some(launches) = operators(subject).get(&filter.to_lowercase()) {
        return chosen(launches);
    }
    let begun: Vec<(&String, &BTreeSet<usize>)> =
        names.iter().filter(|(name, _)| !filter.is_empty() && name.starts_with(filter)).collect();
    match begun.first() {
        Some((_, launches)) if begun.iter().all(|(_, other)| other == launches) => chosen(launches),
        Some(_) => {
            let names: Vec<&str> = begun.iter().map(|(name, _)| name.as_str()).collect();
            let what = format!("--only `{filter}` is the beginning of {} names in {}", names.len(), subject.name);
            Err(Box::new(Diagnostic::new(&codes::USAGE, what).help(format!("name one of: {}", listed(&names)))))
        }
        None => Err(Box::new(nothing(subject, filter, names.keys()))),
    }
}

/// Every name, and the launches that it stands for.
fn names(subject: &Subject) -> BTreeMap<String, BTreeSet<usize>> {
    let mut names: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (at, launch) in subject.launches.iter().enumerate() {
        let kernel = &subject.manifest.kernels[launch.kernel];
        let bare = kernel.file.trim_start_matches("kernels/");
        let own = [&kernel.file, bare, bare.trim_end_matches(".py"), &kernel.key, &kernel.template, &launch.layer];
        for name in own.into_iter().chain(sources(subject, launch).map(|(node, _)| node)) {
            names.entry(name.to_owned()).or_default().insert(at);
        }
    }
    names
}

/// The operators of the model, in small letters.
fn operators(subject: &Subject) -> BTreeMap<String, BTreeSet<usize>> {
    let mut operators: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (at, launch) in subject.launches.iter().enumerate() {
        for (_, operator) in sources(subject, launch) {
            operators.entry(operator.to_lowercase()).or_default().insert(at);
        }
    }
    operators
}

/// The model's nodes that a launch computes: (node, operator).
fn sources<'s>(subject: &'s Subject, launch: &'s Launch) -> impl Iterator<Item = (&'s str, &'s str)> {
    let nodes = launch.covers.iter().flat_map(|&node| &subject.imported.node(node).sources);
    nodes.map(|source| (source.node.as_str(), source.operator.as_str()))
}

fn nothing<'n>(subject: &Subject, filter: &str, names: impl Iterator<Item = &'n String>) -> Diagnostic {
    let mut near: Vec<(usize, &String)> = names.map(|name| (distance(filter, name), name)).collect();
    near.sort();
    // A third of the letters may be wrong.
    let meant = near.first().filter(|(steps, name)| steps * 3 <= name.chars().count().max(filter.chars().count()));
    let mut files: Vec<&str> = subject.manifest.kernels.iter().map(|kernel| kernel.file.as_str()).collect();
    files.sort_unstable();
    let what = format!("--only `{filter}` names nothing in {}", subject.name);
    let kinds = "name a kernel's file, a template, a node or an operator of the model";
    let diagnostic = Diagnostic::new(&codes::USAGE, what).note(format!("kernels: {}", listed(&files)));
    diagnostic.help(meant.map_or_else(|| kinds.to_owned(), |(_, name)| format!("did you mean `{name}`? Or {kinds}")))
}

/// The first names of a list, and how many more there are.
fn listed(names: &[&str]) -> String {
    let mut text = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        text += &format!(" and {} more", names.len() - SHOWN);
    }
    text
}

/// Letters to insert, leave out or replace, from one word to another; names are cut at 64 letters.
fn distance(a: &str, b: &str) -> usize {
    let letters = |word: &str| word.chars().take(64).flat_map(char::to_lowercase).collect::<Vec<char>>();
    let (a, b) = (letters(a), letters(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut before = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = before + usize::from(x != y);
            before = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(before + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        assert_eq!([distance("relu", "relu"), distance("rely", "relu"), distance("Relu", "relu")], [0, 1, 0]);
        assert_eq!([distance("", "abc"), distance("abc", ""), distance("kitten", "sitting")], [3, 3, 3]);
    }

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(listed(&["a", "b"]), "a, b");
        assert_eq!(listed(&["a"; 14]), format!("{} and 2 more", ["a"; 12].join(", ")));
    }
}
