//! ResNet-50 at real and unit shapes, unfused and fused.

use decompose::conform::verdict::Word;
use decompose::fuse::Level;
use decompose::pipeline::{Options, Report};
use decompose::registry::Size;

use crate::support::{decompose, files, options};

fn all_verified(report: &Report, launches: usize) {
    let findings: Vec<String> = report.diagnostics().map(|d| d.to_string()).collect();
    assert_eq!(findings, Vec::<String>::new());
    assert_eq!(report.layers.len(), launches);
    assert!(report.fully_verified());
    let chain = report.chain.as_ref().unwrap();
    assert_eq!((chain.word, chain.launches), (Word::Verified, launches));
    assert!(chain.max_abs_err > 0.0 && chain.max_abs_err <= chain.allowed);
}

#[test]
fn unfused_at_real_shapes_gives_the_missions_templates() {
    let folder = tempfile::tempdir().unwrap();
    let report = decompose(&options(Size::Real, Level::None, &folder.path().join("suite")));
    all_verified(&report, 175);
    let count = |template: &str| report.layers.iter().filter(|l| l.template == template).count();
    let templates = ["conv2d_resnet", "batchnorm2d", "relu", "add", "maxpool2d", "adaptive_avgpool2d", "matmul"];
    assert_eq!(templates.map(count), [53, 53, 49, 17, 1, 1, 1]);
}

#[test]
fn fused_at_real_shapes_has_one_launch_a_convolution() {
    let folder = tempfile::tempdir().unwrap();
    all_verified(&decompose(&options(Size::Real, Level::Basic, &folder.path().join("suite"))), 56);
}

#[test]
fn unit_shapes_verify_too() {
    let folder = tempfile::tempdir().unwrap();
    all_verified(&decompose(&options(Size::Unit, Level::None, &folder.path().join("none"))), 175);
    all_verified(&decompose(&options(Size::Unit, Level::Basic, &folder.path().join("basic"))), 56);
}

#[test]
fn suites_are_equal_byte_for_byte_whatever_the_path_and_the_threads() {
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str, jobs| {
        let output = folder.path().join(name);
        decompose(&Options { jobs, ..options(Size::Unit, Level::Basic, &output) });
        files(&output)
    };
    let first = with("a", 1);
    assert!(first == with("b/deeper", 2), "two paths and thread counts give two suites");
    assert!(first == with("a", 1), "two runs give two suites");
}
