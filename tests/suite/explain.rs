//! The pages of `decompose explain`: complete, and their examples give what they show.

use std::path::{Path, PathBuf};

use decompose::diag::codes;

use crate::pages::Page;

/// Begins the line of a page whose code no page can provoke; the reason follows.
const MARK: &str = "<!-- no example: ";

/// The sections that every page has, in this order.
const SECTIONS: [&str; 5] =
    ["## Why it matters", "## Example", "## Finding the cause", "## Mending it", "## What the check does not catch"];

fn path(id: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/codes/{id}.md"))
}

fn text(id: &str) -> String {
    std::fs::read_to_string(path(id)).unwrap_or_else(|error| panic!("docs/codes/{id}.md: {error}"))
}

#[test]
fn every_page_has_its_title_and_sections() {
    for code in codes::ALL {
        let text = text(code.id);
        assert!(text.starts_with(&format!("# {}: {}\n", code.id, code.title)), "docs/codes/{}.md: the title", code.id);
        let found: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(found, SECTIONS, "docs/codes/{}.md", code.id);
    }
}

/// The examples of one stage's codes; each must say the page's code.
fn examples(stage: char) {
    let mut checked = 0;
    for code in codes::ALL.iter().filter(|code| code.id.starts_with(stage)) {
        let page = text(code.id);
        let excused = page.lines().any(|line| line.starts_with(MARK));
        let said = Page::read(&path(code.id)).check();
        let shown = said.contains(&format!("[{}]", code.id));
        assert!(shown != excused, "docs/codes/{}.md: its example {} the code", code.id, if shown { "gives" } else { "lacks" });
        checked += 1;
    }
    assert!(checked > 0, "no code begins with {stage}");
}

#[test]
fn examples_of_usage() {
    examples('U');
}

#[test]
fn examples_of_models() {
    examples('M');
}

#[test]
fn examples_of_syntax() {
    examples('S');
}

#[test]
fn examples_of_the_kernel_language() {
    examples('K');
}

#[test]
fn examples_of_faults() {
    examples('A');
}

#[test]
fn examples_of_shapes() {
    examples('B');
}

#[test]
fn examples_of_values() {
    examples('C');
}

#[test]
fn examples_of_host_code() {
    examples('H');
}

#[test]
fn examples_of_launches() {
    examples('E');
}

#[test]
fn examples_of_templates() {
    examples('T');
}

#[test]
fn examples_of_rules_for_npus() {
    examples('N');
}

#[test]
fn examples_of_rules_for_gpus() {
    examples('G');
}

#[test]
fn examples_of_the_ban() {
    examples('F');
}

#[test]
fn examples_of_conversion() {
    examples('V');
}

#[test]
fn examples_of_limits() {
    examples('L');
}

#[test]
fn examples_of_internal_errors() {
    examples('X');
}

/// A letter that no test above names would leave its pages unread.
#[test]
fn every_stage_has_a_test() {
    for code in codes::ALL {
        assert!("UMSKABCHETLXNGFV".contains(&code.id[..1]), "{}", code.id);
    }
}
