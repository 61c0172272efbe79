//! A registered model without a file: a suite from operator shapes alone.

use std::path::PathBuf;

use decompose::conform::verdict::Word;
use decompose::fuse::Level;
use decompose::pipeline::{self, Cancel, Options, Silent};
use decompose::registry::Size;

use crate::support::{decompose, options};

fn operators(output: &std::path::Path) -> Options {
    Options { model: PathBuf::from("resnet50_operators"), ..options(Size::Unit, Level::Basic, output) }
}

#[test]
fn every_problem_of_the_registry_is_a_verified_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let report = decompose(&operators(&folder.path().join("suite")));
    let findings: Vec<String> = report.diagnostics().map(|d| d.to_string()).collect();
    assert_eq!(findings, Vec::<String>::new());
    assert!(report.fully_verified());
    assert_eq!(report.chain.as_ref().map(|chain| chain.word), Some(Word::Verified));
    let of = |template: &str| report.layers.iter().filter(|l| l.template == template).count();
    let templates = ["conv2d_resnet", "batchnorm2d", "relu", "maxpool2d", "adaptive_avgpool2d", "matmul", "add", "softmax"];
    assert_eq!(templates.map(of), [6, 2, 2, 2, 2, 2, 2, 2]);
    assert_eq!(report.layers.len(), 20);
    let layer = &report.layers[5];
    assert_eq!((layer.layer.as_str(), layer.shape.as_slice()), ("conv2d_resnet.5", &[1, 16, 8, 8][..]));
    assert_eq!(layer.sources, [("conv2d_resnet.5".to_owned(), "conv2d_resnet".to_owned())]);
}

#[test]
fn shapes_cannot_be_given_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = operators(&folder.path().join("suite"));
    options.binding.default_dim = Some(1);
    let refusal = pipeline::decompose(&options, &Silent, &Cancel::default()).unwrap_err();
    assert_eq!(refusal.iter().map(|d| d.code.id).collect::<Vec<_>>(), ["U001"]);
}
