//! Initializers whose elements lie in files beside the model.

use std::path::PathBuf;

use expect_test::{Expect, expect};
use tract_onnx::pb::{ModelProto, StringStringEntryProto, TensorProto};

use super::build::*;
use super::*;
use crate::graph::{Producer, Weight};

/// A folder with `model/`, in which `w.bin` holds the fp32 numbers 0 … 9.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(place.model("weights")).unwrap();
        place.write("model/w.bin");
        place
    }

    fn write(&self, path: &str) {
        let bytes: Vec<u8> = (0..10).flat_map(|i| (i as f32).to_le_bytes()).collect();
        std::fs::write(self.folder.path().join(path), bytes).unwrap();
    }

    fn model(&self, file: &str) -> PathBuf {
        self.folder.path().join("model").join(file)
    }

    fn load(&self, initializers: &[TensorProto]) -> Result<Imported, String> {
        let path = self.model("m.onnx");
        std::fs::write(&path, bytes(&adding(initializers))).unwrap();
        let shown = |errors: Vec<Diagnostic>| rendered(&errors).replace(&path.display().to_string(), "m.onnx");
        load(&path, &Binding::default()).map_err(shown)
    }

    /// The message that a model with this initializer ends with.
    fn refused(&self, entries: &[(&str, &str)], message: Expect) {
        let error = self.load(&[external("w", &[3], entries)]).expect_err("the external data is bad");
        let (first, help) = error.split_once("\n |\n = help: ").expect("every message has a remedy");
        assert!(help.starts_with("keep the model's data files beside it"), "{help}");
        message.assert_eq(first);
    }
}

fn external(name: &str, dims: &[i64], entries: &[(&str, &str)]) -> TensorProto {
    let entry = |&(key, value): &(&str, &str)| StringStringEntryProto { key: key.to_owned(), value: value.to_owned() };
    TensorProto { data_location: Some(1), external_data: entries.iter().map(entry).collect(), ..floats(name, dims, &[]) }
}

/// A model that adds every initializer to its input of three elements.
fn adding(initializers: &[TensorProto]) -> ModelProto {
    let mut last = "x".to_owned();
    let mut nodes = Vec::new();
    for tensor in initializers {
        let next = format!("{}_added", tensor.name);
        nodes.push(node("Add", &[&last, &tensor.name], &[&next]));
        last = next;
    }
    model(17, &[declare("x", FLOAT, &[3])], initializers, &nodes, &[&last])
}

fn elements(imported: &Imported, name: &str) -> Vec<f32> {
    let value = imported.graph.value(imported.graph.find(name).unwrap());
    let Producer::Weight(Weight::Data(tensor)) = &value.producer else { panic!("{name} has no elements") };
    tensor.as_f32().unwrap().to_vec()
}

#[test]
fn tensors_are_read_at_their_offsets() {
    let place = Place::new();
    place.write("model/weights/deep.bin");
    let initializers = [
        external("first", &[3], &[("location", "w.bin")]),
        external("shifted", &[3], &[("location", "w.bin"), ("offset", "16"), ("length", "12"), ("checksum", "0")]),
        external("last", &[3], &[("location", "./weights/deep.bin"), ("offset", "28")]),
    ];
    let imported = place.load(&initializers).unwrap();
    assert_eq!(elements(&imported, "first"), [0.0, 1.0, 2.0]);
    assert_eq!(elements(&imported, "shifted"), [4.0, 5.0, 6.0]);
    assert_eq!(elements(&imported, "last"), [7.0, 8.0, 9.0]);
}

#[test]
fn a_constants_value_may_lie_elsewhere_too() {
    let place = Place::new();
    let value = external("", &[3], &[("location", "w.bin"), ("offset", "4")]);
    let nodes = [node("Constant", &[], &["c"]).tensor("value", value), node("Add", &["x", "c"], &["y"])];
    let path = place.model("m.onnx");
    std::fs::write(&path, bytes(&model(17, &[declare("x", FLOAT, &[3])], &[], &nodes, &["y"]))).unwrap();
    assert_eq!(elements(&load(&path, &Binding::default()).unwrap(), "c"), [1.0, 2.0, 3.0]);
}

#[test]
fn paths_stay_inside_the_models_folder() {
    let place = Place::new();
    place.write("outside.bin");
    let refused = |location: &str, message| place.refused(&[("location", location)], message);
    refused("absent.bin", expect!["error[M010]: m.onnx: initializer `w`: the file `absent.bin` is not in the model's folder"]);
    refused("", expect!["error[M010]: m.onnx: initializer `w`: its external data has no location"]);
    refused(
        "../outside.bin",
        expect!["error[M010]: m.onnx: initializer `w`: `../outside.bin` is not a path inside the model's folder"],
    );
    refused(
        "weights/../../outside.bin",
        expect!["error[M010]: m.onnx: initializer `w`: `weights/../../outside.bin` is not a path inside the model's folder"],
    );
    refused("/dev/zero", expect!["error[M010]: m.onnx: initializer `w`: `/dev/zero` is not a path inside the model's folder"]);
    refused("weights", expect!["error[M010]: m.onnx: initializer `w`: `weights` is not a regular file"]);
    place.refused(&[], expect!["error[M010]: m.onnx: initializer `w`: its external data has no location"]);
}

#[cfg(unix)]
#[test]
fn links_may_not_lead_out() {
    let place = Place::new();
    place.write("outside.bin");
    std::os::unix::fs::symlink("../outside.bin", place.model("out.bin")).unwrap();
    std::os::unix::fs::symlink("w.bin", place.model("in.bin")).unwrap();
    std::os::unix::fs::symlink("..", place.model("up")).unwrap();
    let refused = |location: &str, message| place.refused(&[("location", location)], message);
    refused("out.bin", expect!["error[M010]: m.onnx: initializer `w`: `out.bin` is a link out of the model's folder"]);
    refused(
        "up/outside.bin",
        expect!["error[M010]: m.onnx: initializer `w`: `up/outside.bin` is a link out of the model's folder"],
    );
    let imported = place.load(&[external("w", &[3], &[("location", "in.bin")])]).unwrap();
    assert_eq!(elements(&imported, "w"), [0.0, 1.0, 2.0]);
}

#[test]
fn numbers_must_lie_in_the_file() {
    let place = Place::new();
    let refused = |key: &str, value: &str, message| place.refused(&[("location", "w.bin"), (key, value)], message);
    refused("offset", "-4", expect!["error[M010]: m.onnx: initializer `w`: offset `-4` is not a number of bytes"]);
    refused("offset", "four", expect!["error[M010]: m.onnx: initializer `w`: offset `four` is not a number of bytes"]);
    refused("length", "-12", expect!["error[M010]: m.onnx: initializer `w`: length `-12` is not a number of bytes"]);
    refused(
        "length",
        "8",
        expect!["error[M010]: m.onnx: initializer `w`: its external data has 8 bytes, its type and dimensions need 12"],
    );
    refused(
        "length",
        "40",
        expect!["error[M010]: m.onnx: initializer `w`: its external data has 40 bytes, its type and dimensions need 12"],
    );
    refused(
        "offset",
        "32",
        expect!["error[M010]: m.onnx: initializer `w`: bytes 32 to 44 of `w.bin` are asked for, the file has 40"],
    );
    refused(
        "offset",
        "18446744073709551615",
        expect!["error[M010]: m.onnx: initializer `w`: offset 18446744073709551615 and length 12 overflow"],
    );
    place.refused(
        &[("location", "w.bin"), ("location", "w.bin")],
        expect!["error[M010]: m.onnx: initializer `w`: its external data has more than one location"],
    );
}

#[test]
fn huge_tensors_are_refused_before_memory_is_taken() {
    let place = Place::new();
    let error = place.load(&[external("w", &[1 << 40], &[("location", "w.bin")])]).unwrap_err();
    assert!(error.contains("bytes 0 to 4398046511104 of `w.bin` are asked for, the file has 40"), "{error}");
    let error = place.load(&[external("w", &[1 << 62], &[("location", "w.bin")])]).unwrap_err();
    assert!(error.contains("larger than memory"), "{error}");
}

#[test]
fn elements_stand_in_one_place() {
    let place = Place::new();
    let both = TensorProto { float_data: vec![1.0, 2.0, 3.0], ..external("w", &[3], &[("location", "w.bin")]) };
    expect!["error[M005]: m.onnx: initializer `w`: it has elements here and in another file"]
        .assert_eq(&place.load(&[both]).unwrap_err());
}

#[test]
fn a_model_that_is_no_file_has_no_folder() {
    let model = adding(&[external("w", &[3], &[("location", "w.bin")])]);
    let errors = from_bytes("m.onnx", &bytes(&model), &Binding::default()).unwrap_err();
    assert!(rendered(&errors).contains("initializer `w`: its elements lie in `w.bin`, but the model is no file"));
}

#[test]
fn one_cause_gives_one_message_and_many_give_a_few() {
    let place = Place::new();
    let absent = |i: usize| external(&format!("w{i}"), &[3], &[("location", "absent.bin")]);
    let error = place.load(&[0, 1, 2].map(absent)).unwrap_err();
    assert_eq!(error.matches("error[M010]").count(), 1, "{error}");
    assert!(error.contains("initializer `w0`: the file `absent.bin` is not in the model's folder (the same for 2 more)"));
    let beyond = |i: usize| external(&format!("w{i}"), &[3], &[("location", "w.bin"), ("offset", &format!("{}", 40 + i))]);
    let error = place.load(&[0, 1, 2, 3, 4, 5, 6].map(beyond)).unwrap_err();
    assert_eq!(error.matches("error[M010]").count(), 5, "{error}");
    assert!(error.contains("2 more messages about external data are left out"), "{error}");
}
