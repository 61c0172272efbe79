//! The tutorials say what the tool says: their files, commands and outputs are run.

use std::path::Path;

use crate::pages::Page;

/// Runs a tutorial; everything that it shows must be what is said.
fn tutorial(name: &str) -> String {
    Page::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tutorials").join(name)).check()
}

#[test]
fn a_template_of_ones_own() {
    let said = tutorial("own_template.md");
    assert!(said.contains("[M008]"), "the operator is known without its template");
    assert!(said.contains("[T002]"), "the wrong edit is not found");
    assert!(said.contains("chain: verified"), "the model is not verified");
}

#[test]
fn a_broken_kernel_is_found() {
    let said = tutorial("break_a_kernel.md");
    for code in ["[A001]", "[A006]", "[C003]"] {
        assert!(said.contains(code), "{code} is not found");
    }
}

#[test]
fn an_edit_loop_finds_what_one_seed_hides() {
    let said = tutorial("edit_loop.md");
    assert!(said.contains("[C003]") && said.contains("to repeat: decompose verify suite --only relu__"));
    assert!(said.contains("not fully verified"));
}

/// The page for authors of kernels.
#[test]
fn a_kernel_is_checked_in_one_command() {
    let said = Page::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/emulate.md")).check();
    for told in ["[A001]", "[C003]", "[E002]", "verified", "loads x_ptr[768..999], 232 of 256 lanes", "lanes 0..231 of 256"] {
        assert!(said.contains(told), "{told}");
    }
}
