//! Kernels that are wrong on some values and right on most: the message says so and shows the line that chooses.

use decompose::diag::Place;
use decompose::fuse::Level;
use decompose::pipeline::Options;

use crate::pages::onnx_text;
use crate::support::{decompose, verify};

const MODEL: &str = r#"
< ir_version: 8, opset_import: ["" : 17] >
rare (float[20, 20] x) => (float[20, 20] y) { y = Relu(x) }
"#;

/// What stands instead of `x < 0`.
const CONDITIONS: [&str; 4] = ["x < 0.5", "x < -0.5", "(x < 0) | ((x > 0.3) & (x < 0.31))", "(x < 0) | (x == 0.305067777633667)"];

#[test]
fn the_line_that_chooses_is_the_first_suspect() {
    for condition in CONDITIONS {
        let folder = tempfile::tempdir().unwrap();
        let model = folder.path().join("rare.onnx");
        std::fs::write(&model, onnx_text::bytes(MODEL)).unwrap();
        let suite = folder.path().join("suite");
        let options = Options { model, fuse: Level::None, output: Some(suite.clone()), jobs: 2, ..Options::default() };
        assert!(decompose(&options).fully_verified());
        let kernel = std::fs::read_dir(suite.join("kernels")).unwrap().next().unwrap().unwrap().path();
        let text = std::fs::read_to_string(&kernel).unwrap();
        let edited = text.replace("tl.where(x < 0, 0, x)", &format!("tl.where({condition}, 0, x)"));
        assert_ne!(text, edited);
        std::fs::write(&kernel, &edited).unwrap();
        let (report, _) = verify(&suite);
        let found: Vec<_> = report.diagnostics().collect();
        let suspects: Vec<&str> = found[0]
            .related
            .iter()
            .filter(|(_, what)| what.starts_with("suspect"))
            .map(|(place, _)| match place {
                Place::Text { file, span } => file.slice(*span),
                Place::Node { .. } | Place::File { .. } => "",
            })
            .collect();
        let told = format!("{condition}: {}\n{:?}\n{suspects:?}", found[0], found[0].notes);
        assert!(suspects.first().is_some_and(|line| line.contains("tl.where")), "{told}");
        let notes = found[0].notes.join("\n");
        assert!(!notes.contains("exchanged") && !notes.contains("wrong places"), "{told}");
        assert!(found[0].help.as_ref().is_some_and(|help| help.contains("tl.where") || help.contains("ReLU")), "{told}");
    }
}
