//! The embedded registry, registries of a folder, and what may not stand in one.

use expect_test::expect;

use super::*;
use crate::diag::render::render;

#[test]
fn the_embedded_registry_knows_resnet50() {
    let registries = registries(Path::new("no/such/folder")).unwrap();
    for name in ["resnet50", "resnet50.onnx"] {
        let (registry, model) = find(&registries, name).unwrap();
        assert_eq!(model.shapes(Size::Real).inputs["x"].as_slice(), [1, 3, 224, 224]);
        assert_eq!(model.shapes(Size::Unit).inputs["x"].as_slice(), [1, 3, 32, 32]);
        let Some(ModelFile::Embedded { name, bytes }) = registry.file(model).unwrap() else { panic!("it is embedded") };
        assert_eq!(name, "models/resnet50.onnx");
        assert_eq!(bytes, std::fs::read("models/resnet50.onnx").unwrap());
    }
    let (registry, set) = find(&registries, "resnet50_operators").unwrap();
    assert_eq!(registry.file(set).unwrap(), None);
    assert_eq!(set.operators.len(), 8);
    let convolution = &registry.operator("conv2d_resnet").unwrap().shapes(Size::Real)[0];
    assert_eq!(convolution.operands["W"].as_slice(), [64, 3, 7, 7]);
    assert_eq!(convolution.attributes["strides"], Attribute::Ints(vec![2, 2]));
    assert_eq!(names(&registries), ["resnet50", "resnet50_operators"]);
    assert!(find(&registries, "resnet51").is_none());
}

/// Spatial sizes of unit shapes stay between 8 and 32.
#[test]
fn unit_shapes_are_small() {
    let registry = Registry::embedded().unwrap();
    let shapes = registry.operators.iter().flat_map(|operator| operator.shapes(Size::Unit)).map(|problem| &problem.operands);
    for shape in shapes.filter_map(|operands| operands.get("X")).filter(|shape| shape.len() == 4) {
        assert!(shape[2..].iter().all(|size| (8..=32).contains(size)), "{shape:?}");
    }
}

#[test]
fn a_folder_comes_before_what_is_embedded() {
    let folder = tempfile::tempdir().unwrap();
    let text = "models:\n  tiny:\n    file: nets/resnet50.onnx\n    dims: {batch: 4}\n    inputs: {x: [batch, '2 * batch']}\n    unit: {dims: {batch: 2}}\n";
    std::fs::write(folder.path().join(FILE), text).unwrap();
    let registries = registries(folder.path()).unwrap();
    let (registry, model) = find(&registries, "resnet50.onnx").unwrap();
    assert_eq!(model.name, "tiny");
    assert_eq!(model.shapes(Size::Real).inputs["x"].as_slice(), [4, 8]);
    assert_eq!(model.shapes(Size::Unit).inputs["x"].as_slice(), [2, 4]);
    assert_eq!(model.shapes(Size::Unit).dims["batch"], 2);
    assert_eq!(registry.file(model).unwrap(), Some(ModelFile::Path(folder.path().join("nets/resnet50.onnx"))));
    assert_eq!(find(&registries, "resnet50").unwrap().1.name, "resnet50");
}

#[test]
fn mistakes_are_shown_at_their_place() {
    let mut all = String::new();
    for text in [
        "model: {}\n",
        "models: {a: {}}\n",
        "models: {a: {file: 3}}\n",
        "models: {a: {file: a.onnx, operators: [relu]}}\n",
        "models: {a: {operators: [relu]}}\n",
        "models:\n  a:\n    file: a.onnx\n    inputs:\n      x: [1, batch]\n",
        "models: {a: {file: a.onnx, inputs: {x: [0, 1]}}}\n",
        "models: {a: {file: a.onnx, dims: {n: many}}}\n",
        "models: {a: {file: a.onnx, dims: {n: 2}, inputs: {x: ['n / 2']}}}\n",
        "models: {a: {file: a.onnx, inputs: {x: ['1 +']}}}\n",
        "models: {a: {file: a.onnx, inputs: {x: [4294967296, 4294967296]}}}\n",
        "models: {a: {file: a.onnx, real: {shapes: {}}}}\n",
        "operators: {relu: {real: []}}\n",
        "operators: {relu: {real: [{x: [1]}], unit: []}}\n",
        "operators: {relu: {real: [{X: [1], axis: one}], unit: []}}\n",
        "models: [\n",
    ] {
        let error = read::registry(&SourceFile::new("r.yaml", text), Origin::Embedded).unwrap_err();
        all += &render(&error, false);
        all += "\n";
    }
    expect![[r#"
        error[U007]: unknown key `model`; known: models, operators
         --> r.yaml:1:1
          |
        1 | model: {}
          | ^^^^^ invalid YAML
        error[U007]: a model needs a `file`, or `operators` for a suite from operator shapes alone
         --> r.yaml:1:13
          |
        1 | models: {a: {}}
          |             ^^ invalid YAML
        error[U007]: expected a string, found `3`
         --> r.yaml:1:20
          |
        1 | models: {a: {file: 3}}
          |                    ^ invalid YAML
        error[U007]: a model with a `file` has its operators from the file
         --> r.yaml:1:39
          |
        1 | models: {a: {file: a.onnx, operators: [relu]}}
          |                                       ^^^^^^ invalid YAML
        error[U007]: `relu` is not under `operators`
         --> r.yaml:1:26
          |
        1 | models: {a: {operators: [relu]}}
          |                          ^^^^ invalid YAML
        error[S002]: unknown name `batch`
         --> r.yaml:5:14
          |
        5 |       x: [1, batch]
          |              ^^^^^ invalid expression
        error[U007]: a size must be at least 1, found 0
         --> r.yaml:1:41
          |
        1 | models: {a: {file: a.onnx, inputs: {x: [0, 1]}}}
          |                                         ^ invalid YAML
        error[U007]: expected an integer, found "many"
         --> r.yaml:1:38
          |
        1 | models: {a: {file: a.onnx, dims: {n: many}}}
          |                                      ^^^^ invalid YAML
        error[U007]: a size must be an integer, found 1.0
         --> r.yaml:1:55
          |
        1 | models: {a: {file: a.onnx, dims: {n: 2}, inputs: {x: ['n / 2']}}}
          |                                                       ^^^^^^^ invalid YAML
        error[S002]: Expected an expression
         --> r.yaml:1:45
          |
        1 | models: {a: {file: a.onnx, inputs: {x: ['1 +']}}}
          |                                             ^ invalid expression
        error[U007]: 4294967296×4294967296 has more elements than memory can address
         --> r.yaml:1:40
          |
        1 | models: {a: {file: a.onnx, inputs: {x: [4294967296, 4294967296]}}}
          |                                        ^^^^^^^^^^^^^^^^^^^^^^^^ invalid YAML
        error[U007]: unknown key `shapes`; known: inputs, dims
         --> r.yaml:1:35
          |
        1 | models: {a: {file: a.onnx, real: {shapes: {}}}}
          |                                   ^^^^^^ invalid YAML
        error[U007]: missing key `unit`
         --> r.yaml:1:19
          |
        1 | operators: {relu: {real: []}}
          |                   ^^^^^^^^^^ invalid YAML
        error[U007]: a problem needs the shape of an operand (a key that begins with a capital)
         --> r.yaml:1:27
          |
        1 | operators: {relu: {real: [{x: [1]}], unit: []}}
          |                           ^^^^^^^^ invalid YAML
        error[U007]: expected a list of integers, found "one"
         --> r.yaml:1:42
          |
        1 | operators: {relu: {real: [{X: [1], axis: one}], unit: []}}
          |                                          ^^^ invalid YAML
        error[U007]: did not find expected node content
         --> r.yaml:1:11
          |
        1 | models: [
          |          ^ invalid YAML
    "#]]
    .assert_eq(&all);
}
