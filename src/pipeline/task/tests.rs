//! Answers to the tasks of `tests/task`, right ones and broken ones (`tests/task/answers/*.py`): what is said of each stands
//! beside it (`.txt`); bless with UPDATE_EXPECT=1. Of our own answer the text stands in `tests/task/*.modelnew.py`.
//!
//! No emulated float is blessed: the broken ones are wrong on integers.

use std::path::{Path, PathBuf};

use crate::conform::verdict::Word;
use crate::diag::render::render;
use crate::emit::modelnew::{self, Form};
use crate::fuse::Level;
use crate::pipeline::task::{Source, TaskOptions, answer, op_name, read, verify};
use crate::pipeline::{Cancel, Options, Report, Silent};
use crate::template::Library;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/task")
}

fn source(task: &str) -> Source {
    Source { path: folder().join(task).with_extension("json"), python: None, reduce: None }
}

/// What a report says, without places of this machine.
fn told(report: &Report) -> String {
    let mut text = String::new();
    for layer in &report.layers {
        text += &format!("{}: {}\n", layer.layer, report.verdicts[layer.verdict].word.as_str());
    }
    text += &report.chain.as_ref().map_or_else(String::new, |chain| format!("chain: {}\n", chain.word.as_str()));
    text.extend(report.diagnostics().map(|diagnostic| render(diagnostic, false) + "\n"));
    text.replace(&format!("{}/", folder().display()), "")
}

fn blessed(path: &Path, text: &str) {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, text).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert!(expected == text, "{}: bless with UPDATE_EXPECT=1\n{text}", path.display());
}

#[test]
fn answers_are_judged() {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder().join("answers")).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "py"));
    paths.sort();
    assert!(paths.len() >= 40, "{} answers", paths.len());
    let mut misjudged = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let task = text.lines().next().and_then(|line| line.strip_prefix("# task: ")).unwrap();
        let report = verify(&path, &source(task), Some(0), &Options::default(), &Silent, &Cancel::default()).unwrap();
        let right = path.file_stem().unwrap().to_string_lossy().starts_with("right");
        if right != report.fully_verified() {
            misjudged.push(format!("{}:\n{}", path.display(), told(&report)));
        }
        blessed(&path.with_extension("txt"), &told(&report));
    }
    assert!(misjudged.is_empty(), "{}", misjudged.concat());
}

#[test]
fn our_own_answers_hold_and_are_written_alike() {
    for (task, fuse) in [("scale", Level::Basic), ("mlp", Level::Basic), ("mlp", Level::None)] {
        let folder_of_output = tempfile::tempdir().unwrap();
        let output = folder_of_output.path().join(modelnew::FILE);
        let asked = TaskOptions {
            source: source(task),
            output: Some(output.clone()),
            op_name: None,
            init_seed: Some(0),
            reduced: None,
            options: Options { fuse, ..Options::default() },
        };
        let report = answer(&asked, &Silent, &Cancel::default()).unwrap();
        assert!(report.fully_verified(), "{task}: {}", told(&report));
        let text = std::fs::read_to_string(&output).unwrap();
        blessed(&folder().join(format!("{task}.{}.modelnew.py", fuse.name())), &text);
        let again = answer(&asked, &Silent, &Cancel::default()).unwrap_err();
        assert_eq!(again[0].code.id, "U005");
    }
}

/// A parameter of one element is none of the kernel's numbers: the harness may draw another.
#[test]
fn parameters_stay_parameters() {
    let read = read(&source("mlp"), &Silent).unwrap();
    let library = Library::embedded().unwrap();
    let options = Options::default();
    let (planned, _, problems) =
        crate::pipeline::planned("mlp", &read.imported, &library, &options, &Silent, &Cancel::default()).unwrap();
    assert!(problems.is_empty());
    let form = |init_seed| Form { op_name: "mlp".to_owned(), init_seed };
    let text = modelnew::text(&planned.plan, &read.task, &form(None)).unwrap();
    assert!(text.contains("self.gain"), "{text}");
    assert!(!text.contains("manual_seed"));
    let seeded = modelnew::text(&planned.plan, &read.task, &form(Some(7))).unwrap();
    let lines: Vec<&str> = seeded.lines().collect();
    let init = lines.iter().position(|line| line.contains("def __init__(self, features, scale")).unwrap();
    assert_eq!(lines[init + 1].trim(), "torch.manual_seed(7)");
}

#[test]
fn what_is_no_task_is_named() {
    let nowhere = tempfile::tempdir().unwrap();
    let told = |name: &str, text: &str| {
        let path = nowhere.path().join(name);
        std::fs::write(&path, text).unwrap();
        let source = Source { path, python: None, reduce: None };
        let errors = read(&source, &Silent).err().unwrap();
        format!("{}: {}", errors[0].code.id, errors[0].message)
    };
    let document = std::fs::read_to_string(folder().join("scale.json")).unwrap();
    assert_eq!(told("a.py", "x = 1"), "U002: no export of it lies beside it, and --no-python forbids to make one");
    assert!(told("b.json", "{").starts_with("U010: EOF"), "{}", told("b.json", "{"));
    assert_eq!(told("c.json", &document), format!("U002: {}", told("c.json", &document).trim_start_matches("U002: ")));
    let changed = |from: &str, to: &str| {
        assert!(document.contains(from), "{from}");
        told("d.json", &document.replacen(from, to, 1))
    };
    assert_eq!(changed("decompose-task", "other-task"), "U010: it is other-task version 2, not decompose-task version 2");
    assert_eq!(changed("\"class\": \"Model\"", "\"class\": \"Absent\""), "U010: there is no class Absent");
    assert_eq!(changed("def forward", "def backward"), "U010: class Model has no method forward");
    assert_eq!(changed("\"name\": \"x\"", "\"name\": \"z\""), "U010: input 0 is `z`, the parameters of forward are x");
    assert_eq!(changed("\"float32\"", "\"complex64\""), "M009: `weight` is of complex64");
    assert!(changed("import torch\\n", "import (\\n").starts_with("S001"));
    let strides = changed("\"name\": \"x\",", "\"name\": \"x\", \"strides\": [1, 6],");
    assert_eq!(strides, "U006: `x`, an input of a task with the strides [1, 6],");
}

/// An archive of another export of the same text has other parameters.
#[test]
fn the_archive_is_the_one_that_the_document_was_written_with() {
    let folder_of_pair = tempfile::tempdir().unwrap();
    let at = |name: &str| folder_of_pair.path().join(name);
    std::fs::copy(folder().join("scale.json"), at("scale.json")).unwrap();
    let told = |reduce| {
        let source = Source { path: at("scale.json"), python: None, reduce };
        read(&source, &Silent)
            .map(|read| read.task.task)
            .map_err(|errors| format!("{}: {}", errors[0].code.id, errors[0].message))
    };
    assert!(told(None).unwrap_err().starts_with("U002: cannot be read: "), "{:?}", told(None));
    std::fs::copy(folder().join("mlp.pt2"), at("scale.pt2")).unwrap();
    let other = format!("U010: {} is not the archive that was written with it", at("scale.pt2").display());
    assert_eq!(told(None).unwrap_err(), other);
    std::fs::copy(folder().join("scale.pt2"), at("scale.pt2")).unwrap();
    assert_eq!(told(None).unwrap(), "scale.py");
    let missing = format!("U010: it was not exported with --reduce 8, and {} is not there", at("scale.reduced8.json").display());
    assert_eq!(told(Some(8)).unwrap_err(), missing);
}

/// Sizes that are equal, even, or multiples of blocks hide wrong masks; `--reduce` gave 12 features as 7.
#[test]
fn a_task_is_verified_at_smaller_sizes() {
    let folder_of_output = tempfile::tempdir().unwrap();
    let output = folder_of_output.path().join(modelnew::FILE);
    let asked = TaskOptions {
        source: source("mlp"),
        output: Some(output.clone()),
        op_name: None,
        init_seed: Some(0),
        reduced: Some(8),
        options: Options::default(),
    };
    let report = answer(&asked, &Silent, &Cancel::default()).unwrap();
    assert_eq!(report.layers.iter().map(|layer| layer.shape.clone()).collect::<Vec<_>>(), [vec![5, 12], vec![5]]);
    assert!(report.verdicts.iter().all(|verdict| verdict.word == Word::Reduced), "{}", told(&report));
    assert_eq!(report.chain.as_ref().map(|chain| chain.word), Some(Word::Reduced));
    let notes: Vec<&str> = report.notes.iter().map(String::as_str).collect();
    assert!(notes.contains(&"verified at smaller sizes (--reduce 8): x 5×7, residual 5×7"), "{notes:?}");
    assert!(notes.iter().any(|note| note.ends_with("kernels have the text that was verified")), "{notes:?}");
    let written = std::fs::read_to_string(&output).unwrap();
    assert_eq!(written, std::fs::read_to_string(folder().join("mlp.basic.modelnew.py")).unwrap());
}

#[test]
fn a_broken_verdict_says_so() {
    let path = folder().join("answers/bias_dropped.py");
    let report = verify(&path, &source("scale"), Some(0), &Options::default(), &Silent, &Cancel::default()).unwrap();
    assert_eq!(report.verdicts[0].word, Word::Failed);
}

#[test]
fn names_begin_with_what_the_file_is_called_after() {
    assert_eq!(op_name("1_Conv2D_ReLU_BiasAdd"), "conv2d_relu_biasadd");
    assert_eq!(op_name("1_Square_matrix_multiplication_"), "square_matrix_multiplication");
    assert_eq!(op_name("42"), "op_42");
    assert_eq!(op_name("größe"), "gr_e");
}
