//! Import as a whole: real files, every kind of bad file.

mod bad_input;
mod build;
mod external;
mod models;
mod own;
mod shapes;
mod tract;
mod unsupported;

use super::*;
use crate::diag::render::render;

/// The messages as a person sees them.
fn rendered(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|d| render(d, false)).collect::<Vec<_>>().join("\n")
}

fn load_whole(path: &str) -> Imported {
    let imported = load(Path::new(path), &Binding::default()).unwrap_or_else(|errors| panic!("{}", rendered(&errors)));
    assert!(imported.unsupported.is_empty(), "{}", rendered(&imported.unsupported));
    imported
}
