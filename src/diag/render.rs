//! Diagnostics as text for a person: title, place with the source line and a caret, facts, remedy.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::{Class, Diagnostic, Place, Severity};

/// The whole message, several lines, without a trailing line break. `colour` adds terminal escapes.
pub fn render(diagnostic: &Diagnostic, colour: bool) -> String {
    let level = match (diagnostic.severity, diagnostic.class()) {
        (Severity::Advice, _) => Level::NOTE.with_name("advice"),
        (Severity::Warning, _) => Level::WARNING,
        (Severity::Error, Class::Bug | Class::Usage) => Level::ERROR,
        (Severity::Error, Class::Unsupported) => Level::ERROR.with_name("unsupported"),
        (Severity::Error, Class::Limit) => Level::ERROR.with_name("limit"),
        (Severity::Error, Class::Internal) => Level::ERROR.with_name("internal error"),
    };
    let title = match &diagnostic.place {
        Some(Place::Node { file, node }) => format!("{file}: node {node}: {}", diagnostic.message),
        Some(Place::File { file }) => format!("{file}: {}", diagnostic.message),
        Some(Place::Text { .. }) | None => diagnostic.message.clone(),
    };
    let mut group = Group::with_title(level.primary_title(title).id(diagnostic.code.id));
    if let Some(Place::Text { file, span }) = &diagnostic.place {
        let range = span.start as usize..(span.end as usize).min(file.text().len());
        group = group.element(
            Snippet::source(file.text())
                .path(file.name())
                .annotation(AnnotationKind::Primary.span(range).label(diagnostic.code.title)),
        );
    }
    for (place, label) in &diagnostic.related {
        match place {
            Place::Text { file, span } => {
                let range = span.start as usize..(span.end as usize).min(file.text().len());
                group = group.element(
                    Snippet::source(file.text())
                        .path(file.name())
                        .annotation(AnnotationKind::Context.span(range).label(label.clone())),
                );
            }
            Place::Node { file, node } => group = group.element(Level::NOTE.message(format!("{label}: {file}: node {node}"))),
            Place::File { file } => group = group.element(Level::NOTE.message(format!("{label}: {file}"))),
        }
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.clone()));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.clone()));
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::codes;
    use crate::source::{SourceFile, Span};

    #[test]
    fn a_caret_points_at_the_line() {
        let file = SourceFile::new("k.py", "a = 1\ny = tl.load(p)\n");
        let diagnostic = Diagnostic::new(&codes::OUT_OF_BOUNDS_LOAD, "lane 3 reads x[4], which has 4 elements")
            .at(&file, Span::new(10, 20))
            .note("program: (0, 0, 0)")
            .help("mask the load");
        expect_test::expect![[r#"
            error[A001]: lane 3 reads x[4], which has 4 elements
             --> k.py:2:5
              |
            2 | y = tl.load(p)
              |     ^^^^^^^^^^ load out of bounds
              |
              = note: program: (0, 0, 0)
              = help: mask the load"#]]
        .assert_eq(&render(&diagnostic, false));
    }
}
