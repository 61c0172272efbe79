//! A manifest with one wrong entry, whichever, ends in a message or in a verdict that is still right.
//!
//! Every leaf of a small suite's `manifest.json` is replaced by several wrong values, and every entry of
//! a list or object is left out; the suite is verified each time.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::prelude::*;
use serde_json::{Value, json};

use super::small;
use crate::diag::{Class, render::render};
use crate::emit::{Files, MANIFEST};
use crate::fuse::Level;
use crate::pipeline::verdicts::Known;
use crate::pipeline::verify::all_of;
use crate::pipeline::{Cancel, Silent, Verification};

/// What may be forged without making a verdict wrong, and why.
const HARMLESS: &[(&str, &str)] = &[
    ("generator", "a suite of another version is verified, and says that references are not compared"),
    ("settings.target", "no verdict rests on the target that schedules were chosen for"),
    ("files.kernels/", "a file whose hash differs counts as edited, and is judged by running"),
    ("files.run.py", "likewise"),
    ("files.README.md", "it is for people, and another hash is a note"),
];

/// A place in the document: keys and positions.
type Path = Vec<String>;

fn at<'v>(document: &'v mut Value, path: &[String]) -> &'v mut Value {
    path.iter().fold(document, |value, key| match value {
        Value::Array(items) => &mut items[key.parse::<usize>().unwrap()],
        other => &mut other[key.as_str()],
    })
}

/// Every leaf, and every entry that can be left out.
fn walk(value: &Value, path: &mut Path, leaves: &mut Vec<Path>, entries: &mut Vec<Path>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Array(items) => items.iter().enumerate().map(|(i, item)| (i.to_string(), item)).collect(),
        Value::Object(items) => items.iter().map(|(key, item)| (key.clone(), item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            leaves.push(path.clone());
            return;
        }
    };
    for (key, child) in children {
        path.push(key);
        entries.push(path.clone());
        walk(child, path, leaves, entries);
        path.pop();
    }
}

/// Wrong values for a leaf; `others` are leaves of the same kind elsewhere.
fn wrong(value: &Value, neighbours: &[Value]) -> Vec<Value> {
    let mut values = vec![json!(null), json!([]), json!("garbage")];
    match value {
        Value::Number(number) => {
            let n = number.as_i64().unwrap_or(0);
            values.extend([json!(n + 1), json!(n - 1), json!(0), json!(-1), json!(i64::MAX), json!(1.5)]);
        }
        Value::String(text) => values.extend([json!(""), json!(format!("{text} ")), json!(7)]),
        Value::Bool(flag) => values.push(json!(!flag)),
        Value::Null | Value::Array(_) | Value::Object(_) => {}
    }
    values.extend(neighbours.iter().cloned());
    values.retain(|other| other != value);
    values
}

/// What verifying says of a document: an objection, or none.
fn objection(files: &Files, document: &Value) -> Result<(), String> {
    let mut files = files.clone();
    files.insert(MANIFEST.to_owned(), document.to_string().into_bytes());
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        all_of("s", &files, &Verification::default(), &Known::default(), &Silent, &Cancel::default())
    }));
    let found = match outcome {
        Err(_) => return Err("a panic".to_owned()),
        Ok(Err(diagnostic)) => vec![*diagnostic],
        Ok(Ok(report)) => report.diagnostics().cloned().collect(),
    };
    let Some(first) = found.first() else { return Err("no objection".to_owned()) };
    for diagnostic in &found {
        let fits = matches!(diagnostic.class(), Class::Bug | Class::Usage | Class::Unsupported);
        let text = render(diagnostic, false);
        if !fits || !(text.contains("s/") || text.contains("small.onnx")) {
            return Err(format!("an objection without class or file: {text}"));
        }
    }
    match first.message.is_empty() {
        true => Err("an empty message".to_owned()),
        false => Ok(()),
    }
}

/// Every change of one leaf or entry, with what it becomes.
fn changes(document: &Value) -> Vec<(String, Value)> {
    let (mut leaves, mut entries) = (Vec::new(), Vec::new());
    walk(document, &mut Vec::new(), &mut leaves, &mut entries);
    let mut documents = Vec::new();
    let mut source = document.clone();
    for path in &leaves {
        // Leaves at the same place of the entries before and after: names and numbers that exist.
        let value = at(&mut source, path).clone();
        let mut neighbours = Vec::new();
        for (i, key) in path.iter().enumerate() {
            let Ok(n) = key.parse::<usize>() else { continue };
            for other in [n.wrapping_sub(1), n + 1] {
                let mut path = path.clone();
                path[i] = other.to_string();
                if leaves.contains(&path) {
                    neighbours.push(at(&mut source, &path).clone());
                }
            }
        }
        for wrong in wrong(&value, &neighbours) {
            let mut changed = document.clone();
            *at(&mut changed, path) = wrong.clone();
            documents.push((format!("{} = {wrong}", path.join(".")), changed));
        }
    }
    for path in &entries {
        let (last, parent) = path.split_last().unwrap();
        let mut changed = document.clone();
        match at(&mut changed, parent) {
            Value::Array(items) => drop(items.remove(last.parse().unwrap())),
            Value::Object(items) => drop(items.shift_remove(last)),
            other => panic!("{other} has no entries"),
        }
        documents.push((format!("{} left out", path.join(".")), changed));
    }
    documents
}

#[test]
fn no_forged_manifest_passes_or_panics() {
    let files = small::suite(Level::Basic);
    let document: Value = serde_json::from_slice(&files[MANIFEST]).unwrap();
    assert_eq!(objection(&files, &document).unwrap_err(), "no objection");
    let all = changes(&document);
    assert!(all.len() > 2000, "only {} changes", all.len());
    let said: Vec<(&str, String)> =
        all.par_iter().filter_map(|(what, changed)| objection(&files, changed).err().map(|why| (what.as_str(), why))).collect();
    let excused = |what: &str, why: &str| {
        let entry = HARMLESS.iter().find(|(start, _)| what.starts_with(start))?;
        (why == "no objection").then_some(entry.0)
    };
    let bad: Vec<String> =
        said.iter().filter(|(what, why)| excused(what, why).is_none()).map(|(what, why)| format!("{what}: {why}")).collect();
    assert!(bad.is_empty(), "{} of {}:\n{}", bad.len(), all.len(), bad.join("\n"));
    let harmless: BTreeSet<&str> = said.iter().filter_map(|(what, why)| excused(what, why)).collect();
    let listed: BTreeSet<&str> = HARMLESS.iter().map(|entry| entry.0).collect();
    assert_eq!(harmless, listed, "an excuse that nothing needs");
}

#[test]
fn another_output_shape_of_the_same_size_is_a_wrong_shape() {
    let files = small::suite(Level::Basic);
    let text = String::from_utf8(files[MANIFEST].clone()).unwrap();
    let forge = |from: &str, to: &str| {
        let mut files = files.clone();
        assert!(text.contains(from), "{from} in {text}");
        files.insert(MANIFEST.to_owned(), text.replacen(from, to, 1).into_bytes());
        let refused = all_of("s", &files, &Verification::default(), &Known::default(), &Silent, &Cancel::default()).unwrap_err();
        render(&refused, false)
    };
    let pooled = r#""access":"write","dtype":"f32","shape":[1,4,3,3]"#;
    expect_test::expect![[r#"
        error[B001]: s/manifest.json: y: the output is 1×4×9×1, max_pool gives 1×4×3×3
         |
         = note: axis 2: ⌊(6 + 0 + 0 − 1·(2 − 1) − 1) / 2⌋ + 1 = 3, got 9
         = note: axis 3: ⌊(6 + 0 + 0 − 1·(2 − 1) − 1) / 2⌋ + 1 = 3, got 1
         = note: layer: pool
         = help: check the output-size formula of the wrapper"#]]
    .assert_eq(&forge(pooled, r#""access":"write","dtype":"f32","shape":[1,4,9,1]"#));
    let read = r#""access":"read","dtype":"f32","shape":[1,36]"#;
    expect_test::expect![[r#"
        error[B001]: s/manifest.json: a: the operand is 36×1, its value flat.out is 1×36
         |
         = note: layer: fc
         = help: decompose the model again, with --force to replace the suite"#]]
    .assert_eq(&forge(read, r#""access":"read","dtype":"f32","shape":[36,1]"#));
}
