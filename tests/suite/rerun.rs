//! `verify --rerun`: a round after every save, only of what changed, until somebody ends it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use crate::support::{edit, kernel_file, small_suite};

/// A watching process, ended with the guard.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    fn start(suite: &Path, arguments: &[&str]) -> Watch {
        let mut command = Command::new(env!("CARGO_BIN_EXE_decompose"));
        command.arg("verify").arg(suite).arg("--rerun").args(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Watch { child, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(120)).expect("no further line within two minutes")
    }

    /// The next round's document, which must be a line.
    fn round(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    #[cfg(unix)]
    fn interrupt(mut self) -> ExitStatus {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It has ended already where a test interrupts it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Templates of the layers that a round ran, and the codes that it found.
fn told(round: &Value) -> (Vec<&str>, Vec<&str>) {
    let layers = round["layers"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ran = layers.iter().filter(|layer| layer["verdict"]["unchanged"] == false);
    let codes = round["problems"].as_array().unwrap().iter();
    (ran.map(|layer| layer["template"].as_str().unwrap()).collect(), codes.map(|p| p["code"].as_str().unwrap()).collect())
}

#[test]
fn every_save_is_a_round_that_runs_what_changed() {
    let (_guard, suite) = small_suite();
    let pool = kernel_file(&suite, "maxpool2d");
    let watch = Watch::start(&suite, &["--json"]);
    let first = watch.round();
    assert_eq!((first["round"].as_u64(), told(&first)), (Some(1), (vec![], vec![])));
    assert_eq!((&first["fully_verified"], &first["chain"]["unchanged"]), (&Value::Bool(true), &Value::Bool(true)));

    edit(&pool, "(h >= 0) & (h < H)", "(h < H)");
    let second = watch.round();
    assert_eq!((second["round"].as_u64(), told(&second)), (Some(2), (vec!["maxpool2d"], vec!["A001"])));
    let name = format!("kernels/{}", pool.file_name().unwrap().to_string_lossy());
    assert_eq!(second["changed"], serde_json::json!([name]));
    assert!(second["seconds"].as_f64().unwrap() > 0.0);

    // A save in mid-sentence is told, and watching goes on.
    edit(&pool, "(h < H)", "(h >= 0 & (h < H");
    let third = watch.round();
    assert!(told(&third).1.contains(&"S001"), "{third}");
    edit(&pool, "(h >= 0 & (h < H", "(h >= 0) & (h < H)");
    let fourth = watch.round();
    assert_eq!((fourth["round"].as_u64(), told(&fourth)), (Some(4), (vec!["maxpool2d"], vec![])));
    assert_eq!(fourth["fully_verified"], Value::Bool(true));
    // The folder is looked at several times a second.
    let further = watch.lines.recv_timeout(Duration::from_secs(1));
    assert!(further.is_err(), "a round without a change: {further:?}");
}

#[cfg(unix)]
#[test]
fn rounds_are_short_texts_and_an_interrupt_ends_them() {
    let (_guard, suite) = small_suite();
    let watch = Watch::start(&suite, &[]);
    let first = [watch.line(), watch.line(), watch.line()];
    assert!(first[0].starts_with("kernels: 2 verified") && first[1].starts_with("chain: verified"), "{first:?}");
    assert!(first[2].starts_with("round 1: verified in "), "{first:?}");
    edit(&suite.join("run.py"), "import torch\n", "import torch\n# a comment\n");
    let second = [watch.line(), watch.line(), watch.line()];
    assert!(second[2].starts_with("round 2: run.py changed, verified in "), "{second:?}");
    assert_eq!(watch.interrupt().code(), Some(130));
}

#[test]
fn what_is_no_suite_is_not_watched() {
    let folder = tempfile::tempdir().unwrap();
    let status = Watch::start(folder.path(), &[]).child.wait().unwrap();
    assert_eq!(status.code(), Some(2));
}
