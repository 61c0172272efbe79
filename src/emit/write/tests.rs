//! Suites on disk: written, replaced, refused, left whole by an interruption.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::diag::render::render;
use crate::emit::manifest::FORMAT;
use crate::source::files::digest;

fn suite(kernel: &str) -> Files {
    let mut files = Files::new();
    files.insert("kernels/a.py".to_owned(), kernel.as_bytes().to_vec());
    files.insert("run.py".to_owned(), b"pass\n".to_vec());
    let hashes: serde_json::Map<String, Value> = files.iter().map(|(p, b)| (p.clone(), json!(digest(b)))).collect();
    files.insert(MANIFEST.to_owned(), json!({"format": FORMAT, "files": hashes}).to_string().into_bytes());
    files
}

/// What is left in the folder that holds the suite: the suite and nothing hidden.
fn siblings(root: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(root).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_suite_is_written_and_replaced() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("deep/er/m-suite");
    write(&suite("one"), &target, false).unwrap();
    write(&suite("two"), &target, false).unwrap();
    assert_eq!(fs::read_to_string(target.join("kernels/a.py")).unwrap(), "two");
    assert_eq!(siblings(target.parent().unwrap()), ["m-suite"]);
    assert_eq!(edited(&target).unwrap(), Some(BTreeMap::new()));
}

#[test]
fn edited_suites_need_force_and_other_folders_are_never_replaced() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("s");
    write(&suite("one"), &target, false).unwrap();
    fs::write(target.join("kernels/a.py"), "mine").unwrap();
    fs::write(target.join("notes.txt"), "mine").unwrap();
    fs::remove_file(target.join("run.py")).unwrap();
    fs::create_dir(target.join("kernels/__pycache__")).unwrap();
    fs::write(target.join("kernels/__pycache__/a.pyc"), "").unwrap();
    fs::write(target.join("verdicts.json"), "{}").unwrap();
    let error = write(&suite("two"), &target, false).unwrap_err();
    expect_test::expect![[r#"
        error[U005]: SUITE: 3 of this suite's files changed since it was written
         |
         = note: kernels/a.py: edited
         = note: notes.txt: added
         = note: run.py: removed
         = help: name another folder with -o, or lose the changes, added files too, with --force"#]]
    .assert_eq(&render(&error, false).replace(&target.display().to_string(), "SUITE"));
    assert_eq!(fs::read_to_string(target.join("kernels/a.py")).unwrap(), "mine");
    write(&suite("two"), &target, true).unwrap();
    assert_eq!(edited(&target).unwrap(), Some(BTreeMap::new()));
    assert_eq!(siblings(root.path()), ["s"]);

    let home = root.path().join("home");
    fs::create_dir(&home).unwrap();
    write(&suite("one"), &home, false).unwrap();
    fs::remove_file(home.join(MANIFEST)).unwrap();
    for force in [false, true] {
        assert_eq!(write(&suite("two"), &home, force).unwrap_err().code.id, "U005");
    }
    assert_eq!(write(&suite("two"), &home.join("run.py"), true).unwrap_err().code.id, "U005");
}

#[test]
fn a_disk_that_refuses_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    let error = write(&suite("one"), &file.join("s"), false).unwrap_err();
    assert!(matches!(error.code.id, "U004"), "{error}");
    // A file name that no file system takes stands for a disk that fails in the middle.
    let mut files = suite("one");
    files.insert("x".repeat(300), Vec::new());
    let target = root.path().join("s");
    assert_eq!(write(&files, &target, false).unwrap_err().code.id, "U004");
    assert_eq!(siblings(root.path()), ["file"]);
    write(&suite("one"), &target, false).unwrap();
    assert_eq!(write(&files, &target, false).unwrap_err().code.id, "U004");
    assert_eq!(edited(&target).unwrap(), Some(BTreeMap::new()));
    assert_eq!(siblings(root.path()), ["file", "s"]);
}

/// The only copy of a suite outlives a replacement that fails twice.
#[test]
fn an_old_suite_that_cannot_come_back_stays_aside() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("s");
    write(&suite("one"), &target, false).unwrap();
    let staging = Staging::create(&target, "new", |path| fs::create_dir(path)).unwrap();
    let aside_only = |from: &Path, to: &Path| match from == target {
        true => fs::rename(from, to),
        false => Err(io::Error::other("the disk is gone")),
    };
    let error = publish(&staging, &target, true, aside_only).unwrap_err();
    drop(staging);
    let hidden = format!(".s.old-{}", std::process::id());
    assert_eq!(siblings(root.path()), std::slice::from_ref(&hidden));
    let aside = root.path().join(hidden).join("suite");
    assert_eq!(edited(&aside).unwrap(), Some(BTreeMap::new()));
    let kept = format!("the old suite is now {}", aside.display());
    assert!(render(&refused(&target, &error), false).contains(&kept), "{error}");
}

#[test]
fn one_file_is_replaced_and_leftovers_of_a_kill_are_no_edits() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("s");
    write(&suite("one"), &target, false).unwrap();
    replace(&target, "verdicts.json", b"{}").unwrap();
    replace(&target, "verdicts.json", b"[]").unwrap();
    assert_eq!(read(&target).unwrap()["verdicts.json"], b"[]");
    assert_eq!(siblings(&target), ["kernels", MANIFEST, "run.py", "verdicts.json"]);
    fs::write(target.join(".verdicts.json.new-17"), "half").unwrap();
    assert_eq!(edited(&target).unwrap(), Some(BTreeMap::new()));
    assert!(!read(&target).unwrap().contains_key(".verdicts.json.new-17"));
    fs::write(target.join(".verdicts.json.new-x"), "mine").unwrap();
    assert_eq!(edited(&target).unwrap().unwrap().len(), 1);
}

/// A process that gave up stays so: the test below runs this one in a process of its own.
#[test]
#[ignore = "run by abandoning_removes_what_is_in_flight"]
fn abandon_in_a_process_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let target = root.path().join("s");
    write(&suite("one"), &target, false).unwrap();
    let folder = Staging::create(&target, "new", |path| fs::create_dir(path)).unwrap();
    put(&folder.path.join("kernels/a.py"), b"two").unwrap();
    let verdicts = target.join("verdicts.json");
    let file = Staging::create(&verdicts, "new", |path| fs::write(path, "{}")).unwrap();
    assert!(folder.path.is_dir() && file.path.is_file());
    abandon();
    assert!(!folder.path.exists() && !file.path.exists());
    assert_eq!(siblings(root.path()), ["s"]);
    let interrupted = |kind: io::Error| assert_eq!(kind.kind(), io::ErrorKind::Interrupted);
    interrupted(put(&folder.path.join("run.py"), b"").unwrap_err());
    interrupted(publish(&folder, &target, false, |from, to| fs::rename(from, to)).unwrap_err());
    assert_eq!(write(&suite("two"), &target, false).unwrap_err().code.id, "U009");
    assert_eq!(replace(&target, "verdicts.json", b"{}").unwrap_err().code.id, "U009");
    assert_eq!(edited(&target).unwrap(), Some(BTreeMap::new()));
    assert_eq!(siblings(root.path()), ["s"]);
    assert_eq!(siblings(&target), ["kernels", MANIFEST, "run.py"]);
}

#[test]
fn abandoning_removes_what_is_in_flight() {
    let name = "emit::write::tests::abandon_in_a_process_of_its_own";
    let child =
        std::process::Command::new(std::env::current_exe().unwrap()).args(["--exact", name, "--ignored"]).output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}
