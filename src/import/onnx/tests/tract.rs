//! tract's own shape inference as a second opinion on every value.

use super::*;
use tract_onnx::prelude::*;

/// Compares every value that tract knows the shape of; gives how many.
fn compare(path: &str) -> usize {
    let imported = load_whole(path);
    let mut model = tract_onnx::onnx().model_for_path(path).unwrap();
    model.analyse(true).unwrap();
    let mut compared = 0;
    for (name, id) in imported.graph.values().map(|(id, value)| (&value.name, id)) {
        let Some(outlet) = model.find_outlet_label(name) else { continue };
        let fact = model.outlet_fact(outlet).unwrap();
        let Some(shape) = fact.shape.as_concrete_finite().unwrap() else { continue };
        assert_eq!(imported.graph.shape(id), shape.as_slice(), "{path}: {name}");
        compared += 1;
    }
    compared
}

#[test]
fn shapes_agree_with_tract() {
    let light = |name: &str| format!("tests/import/onnx_light/light_{name}.onnx");
    let counts = ["bvlc_alexnet", "inception_v1", "squeezenet", "vgg19", "zfnet512"].map(|model| compare(&light(model)));
    assert_eq!(counts, [38, 236, 104, 80, 38]);
    assert_eq!(compare("models/resnet50.onnx"), 442);
}
