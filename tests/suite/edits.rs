//! Edited suites: what `verify` finds after a change of a kernel, a wrapper or `run.py`.

use std::path::{Path, PathBuf};

use decompose::conform::verdict::Word;
use decompose::fuse::Level;
use decompose::pipeline::{self, Cancel, Silent};
use decompose::registry::Size;

use crate::support::{decompose, edit, kernel_file, options, small_suite, verification, verify};

/// A fused suite at unit shapes, in a folder that lives as long as the guard.
fn suite() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let suite = folder.path().join("suite");
    decompose(&options(Size::Unit, Level::Basic, &suite));
    (folder, suite)
}

/// The file of the kernel that computes a layer.
fn kernel_of(suite: &Path, layer: &str) -> PathBuf {
    let (report, _) = verify(suite);
    suite.join(&report.layers.iter().find(|l| l.layer == layer).unwrap().kernel)
}

#[test]
fn an_unchanged_suite_is_not_verified_again_and_an_edited_kernel_is() {
    let (_guard, suite) = suite();
    let (report, codes) = verify(&suite);
    assert_eq!(codes, Vec::<&str>::new());
    assert!(report.verdicts.iter().all(|v| v.word == Word::Verified && v.programs == 0), "a known verdict ran again");
    assert_eq!(report.chain.as_ref().unwrap().cost.programs, 0, "a known chain ran again");

    let file = kernel_of(&suite, "maxpool");
    edit(&file, "import triton\n", "import triton\n# a comment\n");
    let (report, codes) = verify(&suite);
    assert_eq!(codes, Vec::<&str>::new());
    assert!(report.chain.as_ref().unwrap().cost.programs > 0, "the chain did not run again");
    let ran: Vec<&str> =
        report.layers.iter().filter(|l| report.verdicts[l.verdict].programs > 0).map(|l| l.layer.as_str()).collect();
    assert_eq!(ran, ["maxpool"]);
}

/// One edit of one file, and the code that must be among what is found.
fn caught(layer: Option<&str>, from: &str, to: &str, code: &str) {
    let (_guard, suite) = suite();
    let file = layer.map_or_else(|| suite.join("run.py"), |layer| kernel_of(&suite, layer));
    edit(&file, from, to);
    let (report, codes) = verify(&suite);
    assert!(codes.contains(&code), "`{from}` → `{to}`: found {codes:?}, not {code}");
    assert!(!report.fully_verified());
}

#[test]
fn a_smaller_grid_is_caught_and_named() {
    let (_guard, suite) = suite();
    let file = kernel_of(&suite, "maxpool");
    edit(&file, " * N * C,)](", " * N * (C - 1),)](");
    let (report, codes) = verify(&suite);
    // The fault itself first, then the grid; the chain ends before the kernel.
    assert_eq!(codes, ["A006", "B002"]);
    let grid = report.diagnostics().find(|d| d.code.id == "B002").unwrap();
    let text = decompose::diag::render::render(grid, false);
    assert!(text.contains("* N * (C - 1) = ") && text.contains("programs never run"), "{text}");
}

/// What no launch reaches: an edit of a statement must be among what is found, with its name.
fn unreached(layer: Option<&str>, from: &str, to: &str, said: &str) {
    let (_guard, suite) = suite();
    let file = layer.map_or_else(|| suite.join("run.py"), |layer| kernel_of(&suite, layer));
    edit(&file, from, to);
    let (report, codes) = verify(&suite);
    assert!(!codes.is_empty() && codes.iter().all(|code| *code == "H006"), "`{from}` → `{to}`: {codes:?}");
    let found = report.diagnostics().next().unwrap();
    assert!(found.message.contains(said), "{found}");
    assert!(matches!(&found.place, Some(decompose::diag::Place::Text { .. } | decompose::diag::Place::File { .. })));
}

#[test]
fn an_edited_torch_reference_is_named_with_its_line() {
    unreached(Some("layer1.0.conv2"), "F.conv2d(", "F.relu(", "`reference` differs from what the manifest's graph gives");
    unreached(None, "    relu_out = torch.relu(bn1_out)", "    relu_out = torch.abs(bn1_out)", "`reference` differs");
}

#[test]
fn an_edited_test_is_named() {
    unreached(Some("maxpool"), "rtol=0", "rtol=1", "`compare` differs");
    unreached(Some("maxpool"), "torch.randn(", "torch.ones(", "`test` differs");
    unreached(Some("maxpool"), "    print(\"ok\")", "    print(\"fine\")", "`main block` differs");
    unreached(None, "else 1\n", "else 0\n", "`main` differs");
    unreached(Some("maxpool"), "import torch.nn.functional as F", "import os as F", "is missing");
    unreached(
        Some("maxpool"),
        "# Reference\n",
        "# Reference\n\ndef print(x):\n    pass\n",
        "changes what the emitted functions mean",
    );
}

#[test]
fn what_is_judged_by_running_may_be_edited() {
    let (_guard, suite) = suite();
    let file = kernel_of(&suite, "maxpool");
    edit(&file, "# Reference\n", "# Reference, as the model has it\n\ndef helper(x):\n    return x\n");
    edit(&file, "def launch(", "# written by hand\ndef launch(");
    edit(&file, "    return y\n", "    y = y\n    return y\n");
    assert_eq!(verify(&suite).1, Vec::<&str>::new());
}

#[test]
fn a_wrong_stride_is_caught() {
    caught(Some("layer1.0.conv2"), "x.stride(1)", "x.stride(2)", "C003");
}

#[test]
fn a_wrong_constexpr_is_caught() {
    caught(Some("layer1.0.conv2"), "PAD_H=1", "PAD_H=0", "C003");
}

#[test]
fn a_dropped_mask_is_caught_with_its_line() {
    let (_guard, suite) = suite();
    let file = kernel_of(&suite, "layer1.0.conv2");
    edit(&file, "(h >= 0) & (h < H) & ", "");
    let (report, codes) = verify(&suite);
    assert!(codes.contains(&"A001"), "found {codes:?}");
    let fault = report.diagnostics().find(|d| d.code.id == "A001").unwrap();
    let text = decompose::diag::render::render(fault, false);
    assert!(text.contains("tl.load("), "the message does not show the load:\n{text}");
}

#[test]
fn a_launch_out_of_order_is_caught() {
    let (_guard, suite) = suite();
    let run = suite.join("run.py");
    let text = std::fs::read_to_string(&run).unwrap();
    let at = |layer: &str| text.find(&format!("    # {layer}\n")).unwrap();
    let (first, second, end) = (at("layer1.0.conv1"), at("layer1.0.conv2"), at("layer1.0.conv3"));
    let swapped = [&text[..first], &text[second..end], &text[first..second], &text[end..]].concat();
    std::fs::write(&run, swapped).unwrap();
    let (_, codes) = verify(&suite);
    assert!(codes.contains(&"H004"), "found {codes:?}");
}

#[test]
fn a_buffer_of_another_layer_is_caught() {
    let (_guard, suite) = suite();
    let run = suite.join("run.py");
    let text = std::fs::read_to_string(&run).unwrap();
    let line =
        text.lines().skip_while(|l| *l != "    # layer2.0.conv2").find(|l| l.contains("b1")).unwrap_or_else(|| panic!("{text}"));
    edit(&run, line, &line.replace("b1", "b0"));
    let (report, codes) = verify(&suite);
    assert_eq!(codes, ["H005"]);
    assert!(!report.fully_verified());
}

#[test]
fn a_buffer_of_another_size_is_caught() {
    caught(None, "torch.empty(", "torch.empty(1 + ", "H005");
}

#[test]
fn only_a_layer_that_shares_its_kernel_is_verified_when_it_is_asked_for() {
    let (_guard, suite) = suite();
    // layer1.1.conv2 shares the kernel of layer1.0.conv2, which is not asked for.
    let file = kernel_of(&suite, "layer1.1.conv2");
    assert_eq!(file, kernel_of(&suite, "layer1.0.conv2"));
    edit(&file, "(h >= 0) & (h < H) & ", "");
    let report = verification(&suite, Some("layer1.1.conv2")).unwrap();
    let asked: Vec<_> = report.layers.iter().filter(|l| l.asked).map(|l| report.verdicts[l.verdict].word).collect();
    assert_eq!(asked, [Word::Failed]);
    assert!(report.chain.is_none());
    let refusal = verification(&suite, Some("nothing")).unwrap_err();
    assert_eq!(refusal[0].code.id, "U001");
}

#[test]
fn a_missing_file_is_named() {
    let (_guard, suite) = suite();
    std::fs::remove_file(kernel_of(&suite, "maxpool")).unwrap();
    let refusal = verification(&suite, None).unwrap_err();
    assert_eq!(refusal[0].code.id, "U008");
    assert!(refusal[0].message.contains("kernels/maxpool2d__") && refusal[0].message.contains("is missing"));
}

#[test]
fn an_endless_kernel_runs_out_of_fuel() {
    caught(Some("maxpool"), "    best = ", "    while tile >= 0:\n        tile += 0\n    best = ", "L001");
}

#[test]
fn an_edited_preparation_is_caught() {
    caught(None, "torch.sqrt(", "torch.rsqrt(", "H004");
}

#[test]
fn files_that_no_emulation_judges_must_be_as_emitted() {
    let (_guard, suite) = suite();
    std::fs::write(suite.join("notes.txt"), "mine").unwrap();
    assert_eq!(verify(&suite).1, Vec::<&str>::new());
    edit(&suite.join("weights.py"), "import math\n", "import math\n\n");
    assert_eq!(verify(&suite).1, ["H004"]);
}

#[test]
fn an_edited_suite_is_not_overwritten_without_force() {
    let (_guard, suite) = suite();
    let file = kernel_of(&suite, "maxpool");
    edit(&file, "import triton\n", "import triton\n# mine\n");
    let again = options(Size::Unit, Level::Basic, &suite);
    let refusal = pipeline::decompose(&again, &Silent, &Cancel::default()).unwrap_err();
    assert_eq!(refusal.iter().map(|d| d.code.id).collect::<Vec<_>>(), ["U005"]);
    assert!(std::fs::read_to_string(&file).unwrap().contains("# mine"));
    decompose(&decompose::pipeline::Options { force: true, ..again });
    assert!(!std::fs::read_to_string(&file).unwrap().contains("# mine"));
}

#[test]
fn a_file_that_cannot_be_read_hides_no_other() {
    let (_guard, suite) = small_suite();
    edit(&kernel_file(&suite, "maxpool2d"), "def launch(", "def launch((");
    edit(&kernel_file(&suite, "conv2d_resnet"), "import triton\n", "import triton\n# a comment\n");
    let (report, codes) = verify(&suite);
    let words: Vec<Word> = report.verdicts.iter().map(|verdict| verdict.word).collect();
    assert_eq!((words, codes), (vec![Word::Verified, Word::Failed], vec!["S001"]));
    assert!(report.verdicts[0].programs > 0, "the convolution's verdict is of this run");
    let chain = report.chain.as_ref().unwrap();
    assert_eq!((chain.word, chain.ended_at.as_deref()), (Word::NotVerified, Some("y")));
}

#[test]
fn a_runner_that_cannot_be_read_hides_no_kernel() {
    let (_guard, suite) = small_suite();
    edit(&suite.join("run.py"), "def forward(", "def forward((");
    let (report, codes) = verify(&suite);
    assert!(report.verdicts.iter().all(|verdict| verdict.word == Word::Verified));
    assert_eq!((codes, report.chain.as_ref().unwrap().word), (vec!["S001"], Word::Failed));
    // It is told, too, when no chain would run it.
    let only = verification(&suite, Some("maxpool2d")).unwrap();
    assert_eq!(only.diagnostics().map(|d| d.code.id).collect::<Vec<_>>(), ["S001"]);
}

#[test]
fn a_manifest_that_does_not_say_how_it_was_fused_is_refused() {
    let (_guard, suite) = small_suite();
    edit(&suite.join("manifest.json"), "\"fuse\": \"basic\",", "");
    let refusal = verification(&suite, None).unwrap_err();
    assert_eq!(refusal[0].code.id, "U008");
    assert!(refusal[0].message.contains("`fuse` is missing"), "{}", refusal[0]);
}
