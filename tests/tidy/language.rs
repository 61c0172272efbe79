//! docs/language.md: its tables list every rank once (a dash stands for none), and each row names a test file that has what the row says.
//!
//! What it does not catch: a witness that stands in a comment, or that the file's test is not run.

use std::collections::BTreeSet;
use std::path::Path;

/// Rows that the table must have: the first so many constructs that public kernels need.
const RANKS: usize = 200;

/// Complaints about the table of a page, with the files that it names.
fn complaints(page: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut ranks = BTreeSet::new();
    for line in
        page.lines().filter(|line| line.starts_with("| –") || line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit())
    {
        let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
        let [rank, item, _, link, witness] = cells.as_slice() else {
            found.push(format!("not five cells: {line}"));
            continue;
        };
        if *rank != "–" && !rank.parse::<usize>().is_ok_and(|rank| ranks.insert(rank)) {
            found.push(format!("rank {rank} is no number, or there twice"));
        }
        let path = link.split_once("](../").and_then(|(_, path)| path.strip_suffix(')')).unwrap_or(link);
        let witness = witness.trim_matches('`');
        match read(path) {
            _ if witness.is_empty() => found.push(format!("{item}: no witness")),
            None => found.push(format!("{item}: {path} is not there")),
            Some(text) if !text.contains(witness) => found.push(format!("{item}: {path} has no `{witness}`")),
            Some(_) => {}
        }
        // Functions, methods and builtins are their own witnesses.
        if let Some(name) = item.strip_prefix('`').map(|item| item.trim_matches(['`', '(', ')']))
            && !witness.contains(name.rsplit('.').next().unwrap_or(name))
        {
            found.push(format!("{item}: its witness is `{witness}`"));
        }
    }
    let missing: Vec<usize> = (1..=RANKS).filter(|rank| !ranks.contains(rank)).collect();
    if !missing.is_empty() {
        found.push(format!("ranks without a row: {missing:?}"));
    }
    found
}

#[test]
fn the_language_page_is_true() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/language.md")).unwrap();
    let found = complaints(&page, |path| std::fs::read_to_string(root.join(path)).ok());
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}

#[test]
fn the_language_page_can_be_false() {
    let row = |rank: usize, witness: &str| format!("| {rank} | `tl.load` | 96.5 | [a.py](../a.py) | `{witness}` |\n");
    let page: String = (1..=RANKS).map(|rank| row(rank, "tl.load(")).collect();
    let read = |text: &'static str| move |path: &str| (path == "a.py").then(|| text.to_owned());
    assert_eq!(complaints(&page, read("tl.load(x)")), Vec::<String>::new());
    assert_eq!(complaints(&page, read("tl.store(x)")).len(), RANKS);
    let unranked = row(200, "tl.load(").replace("| 200 |", "| – |");
    assert_eq!(complaints(&format!("{page}{unranked}"), read("tl.load(x)")).len(), 0);
    assert_eq!(complaints(&format!("{page}{}", unranked.replace("../a.py", "../b.py")), read("tl.load(x)")).len(), 1);
    assert_eq!(complaints(&page.replace("../a.py", "../b.py"), read("tl.load(x)")).len(), RANKS);
    assert_eq!(complaints(&page.replace(&row(7, "tl.load("), ""), read("tl.load(x)")).len(), 1);
    assert_eq!(complaints(&page.replace(&row(7, "tl.load("), &row(7, "x")), read("tl.load(x)")).len(), 1);
    assert_eq!(complaints(&page.replace(&row(7, "tl.load("), &row(8, "tl.load(")), read("tl.load(x)")).len(), 2);
}
