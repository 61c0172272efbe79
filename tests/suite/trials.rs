//! `verify --seed` and `--trials`: other inputs, which trial failed, and verdicts that hold for seeds.

use std::path::{Path, PathBuf};

use decompose::conform::verdict::Word;
use decompose::pipeline::{Report, Verification};

use crate::support::{RELU, edit, kernel_file, suite_of, verified};

/// A ReLU that is wrong for numbers just below 1, which only some seeds give.
fn wrong_sometimes() -> (tempfile::TempDir, PathBuf) {
    let (guard, suite) = suite_of(RELU);
    edit(&kernel_file(&suite, "relu"), "tl.where(x < 0, 0, x)", "tl.where((x < 0) | ((x > 0.9985) & (x < 1)), 0, x)");
    (guard, suite)
}

fn verify(suite: &Path, seed: Option<u64>, trials: u64) -> Report {
    let asked = Verification { seed, trials, ..Verification::default() };
    verified(suite, &asked)
}

#[test]
fn the_first_seed_that_fails_is_named_with_a_command() {
    let (_guard, suite) = wrong_sometimes();
    let fails = |seed| verify(&suite, Some(seed), 1).verdicts[0].word == Word::Failed;
    let start = (0..50).find(|&seed| !fails(seed) && !fails(seed + 1)).expect("two seeds in a row that hold");
    let first = (start..start + 50).find(|&seed| fails(seed)).expect("a seed that fails");

    let report = verify(&suite, Some(start), first - start + 3);
    assert_eq!((report.verdicts[0].word, report.verdicts[0].seed), (Word::Failed, Some(first)));
    let found = report.diagnostics().next().unwrap();
    let kernel = kernel_file(&suite, "relu").file_stem().unwrap().to_string_lossy().into_owned();
    let inputs = format!("inputs: seed {first}, trial {} of {}", first - start + 1, first - start + 3);
    let command = format!("to repeat: decompose verify {} --only {kernel} --seed {first}", suite.display());
    assert!(found.notes.contains(&inputs) && found.notes.contains(&command), "{:?}", found.notes);
    assert!(report.notes.contains(&format!("inputs are generated from seeds {start} to {}", first + 2)));

    // The command repeats it.
    let asked = Verification { only: Some(kernel), seed: Some(first), ..Verification::default() };
    let again = verified(&suite, &asked);
    assert_eq!((again.verdicts[0].word, again.verdicts[0].seed), (Word::Failed, Some(first)));
}

#[test]
fn a_verdict_holds_for_the_seeds_that_it_was_reached_with() {
    let (_guard, suite) = suite_of(RELU);
    let known = |seed, trials| {
        let report = verify(&suite, seed, trials);
        assert!(report.fully_verified());
        let chain = report.chain.unwrap();
        assert_eq!(report.verdicts[0].known, chain.known, "the kernel's verdict and the chain's are kept alike");
        chain.known
    };
    assert!(known(None, 1), "decomposing verified the suite's own seed");
    assert!(!known(Some(5), 3));
    assert!(known(Some(6), 2) && known(None, 1), "a part of what was verified ran again");
    assert!(!known(Some(7), 2), "seed 8 is new");
    assert!(known(Some(5), 4), "5 to 8 were verified in two runs");
    assert!(!known(Some(0), 9), "1 to 4 were not");
}

#[test]
fn other_seeds_are_other_inputs() {
    let (_guard, suite) = suite_of(RELU);
    let head = |seed| verify(&suite, seed, 1).chain.unwrap().outputs[0].1.clone();
    let (one, two) = (head(Some(1)), head(Some(2)));
    assert!(one.len() == 8 && one != two, "{one:?} {two:?}");
}
