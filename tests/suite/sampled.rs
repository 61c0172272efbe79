//! `--verify sampled`: accesses of every program, values of some, and no more than that is said.

use std::path::Path;
use std::process::Command;

use decompose::conform::verdict::Word;
use decompose::pipeline::{GivenFile, GivenFiles, Report, Verification, VerifyScope};

use crate::given::floats;
use crate::support::{edit, kernel_file, suite_of, verified};

/// 80 programs of a ReLU, and a pool of fewer than are sampled.
const LARGE: &str = r#"
<ir_version: 8, opset_import: ["" : 17]>
large (float[1,8,80,128] x) => (float[1,8,1,1] y) {
  r = Relu (x)
  y = GlobalAveragePool (r)
}
"#;

fn verify(suite: &Path, scope: VerifyScope, jobs: usize) -> Report {
    let asked = Verification { scope, all: true, jobs, ..Verification::default() };
    verified(suite, &asked)
}

/// The value, the store, and the load of a ReLU's kernel, by what stands in the file.
const VALUE: &str = "y = tl.where(x < 0, 0, x)";
const STORE: &str = "tl.store(y_ptr + e, y, mask=e < E)";
const LOAD: &str = "tl.load(x_ptr + e, mask=e < E, other=0)";

#[test]
fn what_was_sampled_says_so() {
    let (_guard, suite) = suite_of(LARGE);
    std::fs::remove_file(suite.join("verdicts.json")).unwrap();
    let report = verify(&suite, VerifyScope::Sampled, 2);
    let words: Vec<(Word, u64)> = report.verdicts.iter().map(|verdict| (verdict.word, verdict.programs)).collect();
    assert_eq!(words[0], (Word::Sampled, 64), "{words:?}");
    assert_eq!(words[1].0, Word::Verified, "a launch of few programs runs whole: {words:?}");
    assert!(report.chain.is_none() && !report.fully_verified());
    assert!(report.notes.iter().any(|note| note.contains("the model as a whole is not run")), "{:?}", report.notes);

    // A sampled verdict is not taken for a full one, and a full one is not lost.
    let again = |scope| {
        let asked = Verification { scope, jobs: 2, ..Verification::default() };
        verified(&suite, &asked)
    };
    let full = again(VerifyScope::Unique);
    assert!(full.fully_verified() && !full.verdicts[0].known && full.verdicts[0].programs == 80);
    let after = again(VerifyScope::Sampled);
    assert_eq!((after.verdicts[0].word, after.verdicts[0].known), (Word::Verified, true));
    assert_eq!(verify(&suite, VerifyScope::Sampled, 2).verdicts[0].word, Word::Sampled);
    let kept = again(VerifyScope::Unique);
    assert!(kept.verdicts[0].known && kept.verdicts[0].word == Word::Verified, "a sample took the place of a full verdict");
}

#[test]
fn the_command_line_says_that_it_is_not_fully_verified() {
    let (guard, _suite) = suite_of(LARGE);
    let run = |form: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_decompose"));
        command.args(["model.onnx", "-o", "other", "--force", "--verify", "sampled"]).args(form);
        let output = command.current_dir(guard.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = run(&[]);
    assert!(
        text.contains("kernels: 1 sampled, 1 verified")
            && text.ends_with("not fully verified: 1 of 2 launches sampled; the model as a whole did not run\n"),
        "{text}"
    );
    let document: serde_json::Value = serde_json::from_str(&run(&["--json"])).unwrap();
    assert_eq!(document["fully_verified"], false);
    assert_eq!(document["layers"][0]["verdict"]["word"], "sampled");
    let verdicts = std::fs::read_to_string(guard.path().join("other/verdicts.json")).unwrap();
    assert!(verdicts.contains("\"verdict\": \"sampled\""), "{verdicts}");
}

/// What sampling finds after one edit of the ReLU's kernel, which is undone.
fn found(suite: &Path, from: &str, to: &str) -> Vec<&'static str> {
    let file = kernel_file(suite, "relu");
    edit(&file, from, to);
    let (scope, only) = (VerifyScope::Sampled, Some("relu".to_owned()));
    let asked = Verification { scope, only, all: true, jobs: 2, ..Verification::default() };
    let report = verified(suite, &asked);
    edit(&file, to, from);
    report.diagnostics().map(|d| d.code.id).collect()
}

#[test]
fn accesses_of_every_program_are_checked() {
    let (_guard, suite) = suite_of(LARGE);
    // One program alone; of neighbours, the values of some are not computed.
    for program in [41, 42, 43, 44, 45] {
        let pick = |there: &str| format!("tl.where(tile == {program}, {there}, e)");
        let gap = STORE.replace("e < E", &format!("(e < E) & (tile != {program})"));
        assert_eq!(found(&suite, STORE, &gap), ["A006"], "coverage");
        let outside = LOAD.replace("x_ptr + e", &format!("x_ptr + {}", pick("e - 1000000")));
        assert_eq!(found(&suite, LOAD, &outside), ["A001"], "bounds");
        let race = STORE.replace("y_ptr + e", &format!("y_ptr + {}", pick("e - BLOCK")));
        assert_eq!(found(&suite, STORE, &race), ["A007"], "races");
    }
}

#[test]
fn values_are_checked_where_they_were_computed() {
    let (_guard, suite) = suite_of(LARGE);
    let wrong = |programs: &str| {
        let codes = found(&suite, VALUE, &format!("y = tl.where((x < 0) & ({programs}), 0, x)"));
        assert!(codes.is_empty() || codes == ["C003"], "{programs}: {codes:?}");
        !codes.is_empty()
    };
    assert!(wrong("tile < 0") && wrong("tile != 0") && wrong("tile != 79"), "everywhere, the first, the last");
    let one = (20..40).filter(|program| wrong(&format!("tile != {program}"))).count();
    assert!((10..20).contains(&one), "of 20 programs {one} were chosen");
}

#[test]
fn given_data_are_never_sampled() {
    let (guard, suite) = suite_of(LARGE);
    let [x, y] = ["x.npy", "y.npy"].map(|name| guard.path().join(name));
    let wave = |i: usize| (i as f32 * 0.37).sin();
    floats(&x, &[1, 8, 80, 128], wave);
    let file = |path: &Path| vec![GivenFile { name: None, path: path.to_owned() }];
    let asked = Verification {
        scope: VerifyScope::Sampled,
        only: Some("relu".to_owned()),
        data: GivenFiles { inputs: file(&x), expected: file(&y) },
        ..Verification::default()
    };
    // One wrong element, somewhere: the others are right, whichever programs are chosen.
    for wrong in [None, Some(40 * 1024 + 7)] {
        floats(&y, &[1, 8, 80, 128], |i| if Some(i) == wrong { 9.0 } else { wave(i).max(0.0) });
        let report = verified(&suite, &asked);
        let word = report.on_data.as_ref().unwrap().word;
        assert_eq!(word, if wrong.is_some() { Word::Failed } else { Word::Verified });
    }
}

#[test]
fn a_sample_is_the_same_for_any_number_of_threads() {
    let (_guard, suite) = suite_of(LARGE);
    let error = |jobs| verify(&suite, VerifyScope::Sampled, jobs).verdicts[0].error.clone();
    assert_eq!(error(1), error(2));
}
