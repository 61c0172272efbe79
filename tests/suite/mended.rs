//! Slips in a kernel, and the edit with which a message says that it is right.

use decompose::diag::Place;
use decompose::pipeline::Verification;

use crate::support::{edit, kernel_file, small_suite, verified};

#[test]
fn the_line_that_mends_a_kernel_is_named_first() {
    let cases = [
        ("maxpool2d", "range(KERNEL_H)", "range(KERNEL_H - 1)", "with `KERNEL_H` for `KERNEL_H - 1` in line "),
        ("maxpool2d", "float(\"-inf\"), dtype", "0.0, dtype", "with `float(\"-inf\")` for `0.0` in line "),
        ("conv2d_resnet", "(h < H)", "(h < H - 1)", "with `<=` for `<` in line "),
        // What nothing reads any more.
        (
            "maxpool2d",
            "(r * DILATION_H - PAD_H)",
            "r * DILATION_H",
            "with `((p * STRIDE_H) - PAD_H)` for `p * STRIDE_H` in line ",
        ),
        (
            "conv2d_resnet",
            "(q * STRIDE_W - PAD_W)",
            "(q * STRIDE_W)",
            "with `((q * STRIDE_W) - PAD_W)` for `q * STRIDE_W` in line ",
        ),
    ];
    for (template, from, to, said) in cases {
        let (_guard, suite) = small_suite();
        let file = kernel_file(&suite, template);
        edit(&file, from, to);
        let only = Some(template.to_owned());
        let report = verified(&suite, &Verification { only, ..Verification::default() });
        let found = report.diagnostics().next().unwrap_or_else(|| panic!("{template}: {to} passes"));
        let (place, label) = found.related.first().unwrap_or_else(|| panic!("{found:?}"));
        let Place::Text { file, span } = place else { panic!("{place:?}") };
        assert!(label.starts_with("suspect 1: with `") && file.slice(*span).contains(to.trim_end_matches(", dtype")), "{label}");
        assert!(found.help.as_ref().is_some_and(|help| help.contains("the output is right, in every pass")), "{found:?}");
        assert!(label.contains(said), "{label}");
    }
}
