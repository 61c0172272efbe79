//! `decompose explain`: the page of one diagnostic code, or all codes by class.
//!
//! The pages are `docs/codes/<CODE>.md`, carried by the binary. `tests/suite/explain.rs` keeps them: a
//! page a code, and the output that a page shows is what the tool says.

use std::collections::BTreeSet;

use include_dir::{Dir, include_dir};

use super::args::ExplainArgs;
use super::{Outcome, exit, output_failed, print};
use crate::diag::{Class, Diagnostic, codes};

static PAGES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/docs/codes");

/// Classes in the order of the list, with what each means for a reader.
const CLASSES: [(Class, &str); 5] = [
    (Class::Bug, "Bug: the kernel, wrapper or template is wrong (exit status 1)"),
    (Class::Usage, "Usage: the command line is wrong, or a file is no valid input (exit status 2)"),
    (Class::Unsupported, "Unsupported: named, and the rest goes on (exit status 3)"),
    (Class::Limit, "Limit: fuel or memory ran out (exit status 4)"),
    (Class::Internal, "Internal: the tool's own fault (exit status 70)"),
];

pub fn run(args: ExplainArgs) -> Outcome {
    let text = match args.code {
        None => list(),
        Some(id) => page(&id).ok_or_else(|| vec![unknown(&id)])?,
    };
    print(&text).map_err(|e| vec![output_failed(&e)])?;
    Ok(exit::OK)
}

/// A code's page without its marks for the test; `None` for what is no code. `error[A001]` and `A001:`, as a message has
/// them, are taken, too.
pub fn page(id: &str) -> Option<String> {
    let bare = id.trim().trim_end_matches(':');
    let bare = bare.split_once('[').map_or(bare, |(_, inside)| inside.trim_end_matches(']'));
    let code = codes::find(bare)?;
    let text = PAGES.get_file(format!("{}.md", code.id))?.contents_utf8()?;
    Some(text.lines().filter(|line| !line.starts_with("<!--")).map(|line| format!("{line}\n")).collect())
}

/// All codes, by class.
fn list() -> String {
    let mut text = String::new();
    for (class, title) in CLASSES {
        text.push_str(&format!("{title}\n"));
        for code in codes::ALL.iter().filter(|code| code.class == class) {
            text.push_str(&format!("  {}  {}\n", code.id, code.title));
        }
        text.push('\n');
    }
    text.push_str("decompose explain CODE shows one of them with an example\n");
    text
}

fn unknown(id: &str) -> Diagnostic {
    super::options::usage(format!("there is no diagnostic code `{id}`")).help("`decompose explain` lists all codes")
}

/// The line that ends a run with messages: where each code is explained.
pub fn pointer<'a>(shown: impl IntoIterator<Item = &'a Diagnostic>) -> Option<String> {
    let ids: BTreeSet<&str> = shown.into_iter().map(|diagnostic| diagnostic.code.id).collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    match ids.as_slice() {
        [] => None,
        [one] => Some(format!("for more: decompose explain {one}\n")),
        all => Some(format!("for more: decompose explain CODE, for {}\n", all.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_and_every_page_a_code() {
        let codes: BTreeSet<String> = codes::ALL.iter().map(|code| code.id.to_owned()).collect();
        let names = PAGES.files().filter_map(|file| Some(file.path().file_stem()?.to_string_lossy().into_owned()));
        let pages: BTreeSet<String> = names.filter(|name| name != "README").collect();
        assert_eq!(codes, pages);
    }

    #[test]
    fn every_code_is_listed_once_under_its_class() {
        let text = list();
        for code in codes::ALL {
            let line = format!("  {}  {}\n", code.id, code.title);
            assert_eq!(text.matches(&line).count(), 1, "{line}in\n{text}");
        }
        for (_, title) in CLASSES {
            assert!(text.contains(&format!("{title}\n")), "{title}");
        }
    }

    #[test]
    fn a_code_is_found_in_either_case_and_nothing_else_is() {
        assert!(page("a001").unwrap().starts_with("# A001: "));
        assert_eq!((page("error[A001]"), page("A001:")), (page("a001"), page("a001")));
        assert_eq!(page("A999"), None);
        assert_eq!(page("README"), None);
        assert_eq!(unknown("A999").code.id, "U001");
    }

    #[test]
    fn the_pointer_names_each_code_once() {
        let some = [&codes::USAGE, &codes::FUEL, &codes::USAGE].map(|code| Diagnostic::new(code, ""));
        assert_eq!(pointer(&some[..0]), None);
        assert_eq!(pointer(&some[..1]).unwrap(), "for more: decompose explain U001\n");
        assert_eq!(pointer(&some).unwrap(), "for more: decompose explain CODE, for L001, U001\n");
    }
}
