//! `# run:` comments of a kernel file as launch descriptions.
//!
//! ```python
//! # run: a tail that the mask must cut
//! #   args:
//! #     x_ptr: f32[1000]
//! #     …
//! #   grid: cdiv(n, BLOCK)
//! @triton.jit
//! def add(x_ptr, …):
//! ```
//!
//! The comment lines below, as long as they are indented, are YAML. They are parsed from a copy of the file in which all else
//! is blank, so that every place in them is a place in the kernel file. A run without `kernel:` is of the kernel that follows.
//! A `# run:` with nothing below it is an ordinary comment.

use std::path::Path;
use std::sync::Arc;

use super::description::{Description, one};
use super::entry;
use crate::diag::{Place, Result};
use crate::source::{SourceFile, Span};
use crate::syntax::ast::{Comment, Module};
use crate::syntax::yaml::{self, Yaml, YamlKind};

const MARK: &str = "run:";

/// Every run that a file's comments describe.
pub fn read(module: &Module, folder: &Path) -> Result<Vec<Description>> {
    let comments: Vec<&Comment> = module.comments.iter().filter(|comment| comment.own_line).collect();
    let mut runs = Vec::new();
    let mut at = 0;
    while at < comments.len() {
        let head = comments[at];
        at += 1;
        let Some(name) = body(module, head).trim_start().strip_prefix(MARK) else { continue };
        let first = at;
        while at < comments.len() && belongs(module, comments[at - 1], comments[at]) {
            at += 1;
        }
        if at == first {
            continue;
        }
        let mut run = one(&parse(module, &comments[first..at])?, folder)?;
        if run.name.is_empty() {
            run.name = name.trim().to_owned();
        }
        run.span = head.span;
        if run.kernel.is_none() {
            let end = comments[at - 1].span.end;
            let follows = entry::jitted(module).into_iter().find(|function| function.name_span.start > end);
            run.kernel = follows.map(|function| function.name.clone());
        }
        runs.push(run);
    }
    Ok(runs)
}

/// A comment without its `#`, or the slashes that IR has in its place.
fn body<'m>(module: &'m Module, comment: &Comment) -> &'m str {
    module.file.slice(comment.span).trim_start_matches(['#', '/'])
}

/// Whether a comment goes on with the run of the one before: on the next line, indented or empty.
fn belongs(module: &Module, before: &Comment, comment: &Comment) -> bool {
    let line = |comment: &Comment| module.file.position(comment.span.start).line;
    let text = body(module, comment);
    line(comment) == line(before) + 1 && (text.starts_with("  ") || text.trim().is_empty())
}

/// The YAML of some comments, at its places in the file.
fn parse(module: &Module, comments: &[&Comment]) -> Result<Yaml> {
    let file = &module.file;
    let mut text: Vec<u8> = file.text().bytes().map(|b| if b == b'\n' { b } else { b' ' }).collect();
    for comment in comments {
        let span = comment.span.start as usize + 1..comment.span.end as usize;
        text[span.clone()].copy_from_slice(&file.text().as_bytes()[span]);
    }
    let masked = SourceFile::new(file.name(), String::from_utf8_lossy(&text));
    let mut yaml = yaml::parse(&masked).map_err(|mut error| {
        if let Some(Place::Text { file: place, span: _ }) = &mut error.place {
            *place = file.clone();
        }
        error
    })?;
    settle(&mut yaml, file);
    if yaml.is_null() {
        yaml.span = comments.first().map_or(Span::default(), |comment| comment.span);
    }
    Ok(yaml)
}

fn settle(yaml: &mut Yaml, file: &Arc<SourceFile>) {
    yaml.file = file.clone();
    match &mut yaml.kind {
        YamlKind::List(items) => items.iter_mut().for_each(|item| settle(item, file)),
        YamlKind::Map(entries) => entries.iter_mut().for_each(|entry| settle(&mut entry.value, file)),
        YamlKind::Null | YamlKind::Bool(_) | YamlKind::Int(_) | YamlKind::Float(_) | YamlKind::Str(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::render::render;
    use crate::launch::description::{Argument, Content};
    use crate::syntax::parse_module;

    const TEXT: &str = "\
import triton  # ü
# run: python kernel.py
x = 1

# run: a tail
#   args:
#     x_ptr: f32[n, 4] normal(1)
#     n: 1000
#   grid: [cdiv(n, 64), 1]
# An ordinary comment.
@triton.jit
def first(x_ptr, n):
    pass

# run:
#   kernel: first
#   expect: {x_ptr: x_ptr + 1}
";

    fn module(text: &str) -> Module {
        parse_module(&SourceFile::new("k.py", text)).unwrap()
    }

    #[test]
    fn runs_stand_in_comments() {
        let module = module(TEXT);
        let runs = read(&module, Path::new("")).unwrap();
        let names: Vec<_> = runs.iter().map(|run| (run.name.as_str(), run.kernel.as_deref())).collect();
        assert_eq!(names, [("a tail", Some("first")), ("", Some("first"))]);
        let Argument::Tensor(x) = &runs[0].args[0].argument else { panic!("a tensor") };
        let Content::Fill(fill) = &x.content else { panic!("a fill") };
        assert_eq!(fill.file.slice(fill.expr.span), "normal(1)");
        assert_eq!(x.shape.as_ref().map(|s| module.file.slice(s.expr.span)), Some("n, 4"));
        assert_eq!(module.file.slice(runs[0].args[1].span), "n");
        assert_eq!(runs[1].expect.len(), 1);
    }

    #[test]
    fn errors_point_into_the_kernel_file() {
        let text = TEXT.replace("normal(1)", "normal(").replace("expect: {", "expect: [");
        let first = read(&module(&text), Path::new("")).unwrap_err();
        assert!(render(&first, false).contains("k.py:7:"), "{}", render(&first, false));
        let second = read(&module(&TEXT.replace("expect: {", "expect: [")), Path::new("")).unwrap_err();
        assert_eq!(second.code.id, "U007");
        assert!(render(&second, false).contains("k.py:1"), "{}", render(&second, false));
    }
}
