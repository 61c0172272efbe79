//! The engine on the built-in templates: what it makes, that it is the same every time, and that a part
//! of its table holds. The whole table is `decompose mutate`; docs/trust.md has its last result.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::equivalent::Listed;
use super::run::run;
use super::*;
use crate::source::SourceFile;
use crate::syntax::parse_module;
use crate::template::Library;

/// Kernel text in which every operator on kernels finds something.
const TEXT: &str = include_str!("../../tests/mutate/all_operators.py");

fn mutations(text: &str) -> (Arc<SourceFile>, Vec<mutation::Mutation>) {
    let file = SourceFile::new("all_operators.py", text);
    let module = parse_module(&file).unwrap();
    (file, generate::all(&module))
}

#[test]
fn every_operator_makes_mutants_that_parse_and_differ() {
    let (file, all) = mutations(TEXT);
    let made: BTreeSet<&str> = all.iter().map(|m| m.key.operator).collect();
    let missing: Vec<&str> = operators::ALL.iter().map(|o| o.name).filter(|name| !made.contains(name)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "operators that made nothing");
    let mut texts = BTreeSet::new();
    for mutation in &all {
        let edited = mutation.edit.apply(&file);
        let parsed = parse_module(&SourceFile::new("edited.py", edited.as_str()));
        assert!(parsed.is_ok(), "{}: {}", mutation.key, parsed.unwrap_err());
        assert_ne!(edited, TEXT, "{}", mutation.key);
        assert!(texts.insert(edited), "{} is another mutation's text", mutation.key);
    }
}

#[test]
fn mutations_are_as_listed() {
    let (_, all) = mutations(TEXT);
    let text: String = all.iter().map(|m| format!("{}\n", m.key)).collect();
    expect_test::expect_file!["../../tests/mutate/all_operators.txt"].assert_eq(&text);
}

fn selection(library: &Library, subjects: &[&str], every: usize, jobs: usize) -> Report {
    let subjects = subjects.iter().map(|s| (*s).to_owned()).collect();
    run(&Selection { library, subjects, operators: operators::ALL, every, jobs }, &|_| {}).unwrap_or_else(|e| panic!("{e}"))
}

/// What a report says, without messages.
fn said(report: &Report) -> Vec<String> {
    report.mutants.iter().map(|m| format!("{} {} {:?}", m.subject, m.key, std::mem::discriminant(&m.outcome))).collect()
}

#[test]
fn a_part_of_the_table_holds() {
    let library = Library::embedded().unwrap();
    // Of the templates whose mutations that are no mistakes have been gone through.
    let listed = Listed::embedded();
    let mut subjects: Vec<&str> = listed.entries().map(|(subject, ..)| subject).chain(["maxpool2d", cases::RUNNER]).collect();
    subjects.dedup();
    let report = selection(&library, &subjects, 29, 2);
    let total = report.total();
    assert_eq!(total.broken, 0, "we failed");
    assert!(total.mutants > 100, "{total:?}");
    assert!(total.caught * 100 >= total.mistakes() * 97, "{total:?}");
    // Rare operators, which have the least telling messages, weigh more here than in the whole.
    assert!(total.named * 100 >= total.caught * 75, "{total:?}");
    assert!(report.by_operator().len() > 30, "{} operators", report.by_operator().len());
}

/// The mutants of one operator.
fn of_operator(name: &str, subjects: &[&str]) -> Report {
    let library = Library::embedded().unwrap();
    let only: Vec<operators::Operator> = operators::ALL.iter().filter(|o| o.name == name).copied().collect();
    assert_eq!(only.len(), 1, "{name}");
    let subjects = subjects.iter().map(|s| (*s).to_owned()).collect();
    run(&Selection { library: &library, subjects, operators: &only, every: 1, jobs: 2 }, &|_| {}).unwrap()
}

#[test]
fn a_dropped_nan_is_caught_and_named() {
    let report = of_operator("NaN dropped", &["relu", "maxpool2d"]);
    assert!(report.mutants.len() >= 3, "{} mutants", report.mutants.len());
    for mutant in &report.mutants {
        assert!(matches!(&mutant.outcome, Outcome::Caught { .. }), "{}", mutant.key);
        // Below another bound than 0 it is no clamp, and NaN is the least of it.
        let clamp = mutant.key.line.contains("< 0") || mutant.key.from.starts_with("propagate_nan");
        assert!(mutant.named() || !clamp, "{}", mutant.key);
    }
}

#[test]
fn arguments_of_a_helper_in_the_wrong_order_are_named() {
    let total = of_operator("arguments swapped", &["batchnorm2d"]).total();
    assert!(total.caught > 100 && total.escaped <= 6 && total.broken == 0, "{total:?}");
    assert!(total.named * 100 >= total.caught * 90, "{total:?}");
}

#[test]
fn strides_and_offsets_are_caught_where_operands_lie_apart() {
    for operator in ["stride swapped", "stride dropped", "integer narrowed"] {
        let total = of_operator(operator, &["relu", "add"]).total();
        assert!(total.caught > 10 && total.escaped == 0 && total.broken == 0, "{operator}: {total:?}");
    }
}

#[test]
fn shares_of_work_and_decodings_are_named() {
    for operator in ["decoding", "race", "range"] {
        let total = of_operator(operator, &["relu"]).total();
        assert!(total.caught > 2 && total.named * 2 > total.caught, "{operator}: {total:?}");
    }
}

#[test]
fn what_run_py_hands_over_and_prepares_is_named_at_its_line() {
    for (operator, others) in [("view", 2), ("arguments swapped", 0), ("arithmetic", 0), ("buffer", 0)] {
        let report = of_operator(operator, &[cases::RUNNER]);
        let total = report.total();
        assert!(total.caught > 4 && total.named + others >= total.caught, "{operator}: {total:?}");
    }
}

#[test]
fn the_result_does_not_depend_on_threads() {
    let library = Library::embedded().unwrap();
    let (one, two) = (selection(&library, &["relu"], 5, 1), selection(&library, &["relu"], 5, 2));
    assert_eq!(said(&one), said(&two));
    assert!(one.total().caught > 20);
}

#[test]
fn an_unknown_template_is_refused_by_name() {
    let library = Library::embedded().unwrap();
    let refused = subjects(&library, &["relu2".to_owned()]).unwrap_err();
    assert_eq!((refused.code.id, refused.message.as_str()), ("U001", "there is no template `relu2`"));
    assert_eq!(subjects(&library, &["conv".to_owned()]).unwrap(), ["conv2d_resnet"]);
}

#[test]
fn listed_equivalents_are_generated_and_escape() {
    let library = Library::embedded().unwrap();
    let listed = Listed::embedded();
    let subjects: BTreeSet<&str> = listed.entries().map(|(subject, _, _)| subject).collect();
    for (subject, key, argument) in listed.entries() {
        assert!(!argument.is_empty(), "{subject} | {key}: no argument");
    }
    for subject in subjects {
        let stale = run::stale(&library, subject, &listed).unwrap();
        assert_eq!(stale, Vec::<String>::new(), "entries of [{subject}] that are no longer made, or that are caught");
    }
}
