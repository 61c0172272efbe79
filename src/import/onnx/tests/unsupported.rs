//! What is not supported is named, and the rest decomposes.

use expect_test::{Expect, expect};
use tract_onnx::pb::ModelProto;

use super::build::*;
use super::*;

/// The messages, then the graph.
fn partial(model: &ModelProto, expected: Expect) {
    let imported = from_bytes("m.onnx", &bytes(model), &Binding::default()).unwrap_or_else(|e| panic!("{}", rendered(&e)));
    assert!(crate::graph::verify::violations(&imported.graph).is_empty());
    let names =
        |values: &[crate::graph::ValueId]| values.iter().map(|&v| imported.graph.value(v).name.clone()).collect::<Vec<_>>();
    let cuts = format!("opaque {:?}, exposed {:?}", names(&imported.opaque), names(&imported.exposed));
    expected.assert_eq(&format!("{}\n{cuts}\n{}", rendered(&imported.unsupported), imported.graph));
}

#[test]
fn the_graph_goes_on_behind_an_operator_with_a_declared_type() {
    let nodes = [
        node("Relu", &["x"], &["a"]),
        node("Det", &["a"], &["b"]),
        node("Det", &["a"], &["c"]),
        node("Neg", &["b"], &["y"]),
        node("Neg", &["c"], &["z"]),
        node("Relu", &["z"], &["v"]),
    ];
    let mut model = model(17, &[declare("x", FLOAT, &[5, 2, 2])], &[], &nodes, &["y", "v"]);
    model.graph.as_mut().unwrap().value_info.push(declare("b", FLOAT, &[5]));
    partial(
        &model,
        expect![[r#"
            unsupported[M008]: m.onnx: operator Det is not supported
             |
             = note: 2 nodes: n_b, n_c
            unsupported[M008]: m.onnx: nodes behind n_c cannot be decomposed
             |
             = note: 2 nodes: n_z, n_v
             = help: if the file gave the types of what is not supported, they could be: onnx.save(onnx.shape_inference.infer_shapes(onnx.load(path)), path)
            opaque ["b"], exposed ["a"]
            graph "m.onnx"
            input x: f32[5,2,2]
            input b: f32[5]
            a: f32[5,2,2] = map relu(x)
              read 0[d0, d1, d2]
              body select(lt(r0, 0.0), 0.0, r0)
              from Relu "n_a"
            y: f32[5] = map neg(b)
              read 0[d0]
              body neg(r0)
              from Neg "n_y"
            output y
            output a
        "#]],
    );
}

#[test]
fn forms_of_supported_operators() {
    let nodes = [
        node("MaxPool", &["x"], &["p", "indices"]).ints("kernel_shape", &[2]),
        node("Pad", &["x", "pads"], &["q"]).string("mode", "reflect"),
        node("Reshape", &["x", "target"], &["r"]),
        node("Dropout", &["x"], &["d", "mask"]),
        node("If", &["flag"], &["i"]).graph("then_branch", tract_onnx::pb::GraphProto::default()),
        tract_onnx::pb::NodeProto { domain: "com.microsoft".to_owned(), ..node("FusedConv", &["x"], &["f"]) },
        node("Cast", &["x"], &["s"]).int("to", 8),
    ];
    let inputs = [declare("x", FLOAT, &[1, 1, 4]), declare("target", INT64, &[1]), declare("flag", 9, &[] as &[i64])];
    let outputs = ["p", "indices", "q", "r", "d", "mask", "i", "f", "s"];
    partial(
        &model(17, &inputs, &[ints("pads", &[6], &[0, 0, 1, 0, 0, 1])], &nodes, &outputs),
        expect![[r#"
        unsupported[M008]: m.onnx: MaxPool: indices as second output
         |
         = note: 1 node: n_p
        unsupported[M008]: m.onnx: Pad: mode `reflect`
         |
         = note: 1 node: n_q
        unsupported[M008]: m.onnx: Reshape: `shape` is computed while the model runs
         |
         = note: 1 node: n_r
        unsupported[M008]: m.onnx: Dropout: the mask as second output
         |
         = note: 1 node: n_d
        unsupported[M008]: m.onnx: operator If is not supported
         |
         = note: 1 node: n_i
        unsupported[M008]: m.onnx: operator com.microsoft.FusedConv is not supported
         |
         = note: 1 node: n_f
        unsupported[M009]: m.onnx: Cast: the element type STRING is not supported
         |
         = note: 1 node: n_s
        opaque [], exposed []
        graph "m.onnx"
        input x: f32[1,1,4]
        input target: i64[1]
        input flag: bool[]
    "#]],
    );
}

/// f64 is refused node by node, Cast included; shape computations in it fold. f16 and bf16 are offered.
#[test]
fn float_types_that_are_not_offered() {
    const DOUBLE: i64 = 11;
    let nodes = [
        node("Relu", &["h"], &["a"]),
        node("Cast", &["a"], &["b"]).int("to", 1),
        node("Relu", &["b"], &["y"]),
        node("Cast", &["x"], &["d"]).int("to", DOUBLE),
        node("Relu", &["w"], &["e"]),
        node("Shape", &["x"], &["s"]),
        node("Cast", &["s"], &["sd"]).int("to", DOUBLE),
        node("Cast", &["sd"], &["si"]).int("to", 7),
        node("Reshape", &["x", "si"], &["z"]),
    ];
    let inputs = [declare("h", 10, &[2]), declare("x", FLOAT, &[2, 2]), declare("w", DOUBLE as i32, &[2])];
    let mut model = model(17, &inputs, &[], &nodes, &["y", "d", "z", "h", "w", "e"]);
    model.graph.as_mut().unwrap().value_info.extend([declare("a", 10, &[2]), declare("b", FLOAT, &[2])]);
    partial(
        &model,
        expect![[r#"
            unsupported[M009]: m.onnx: Cast: the element type f64 is not supported
             |
             = note: 1 node: n_d
            unsupported[M009]: m.onnx: Relu: the element type f64 is not supported
             |
             = note: 1 node: n_e
            unsupported[M009]: m.onnx: output `w` has the element type f64
            opaque [], exposed []
            graph "m.onnx"
            input h: f16[2]
            input x: f32[2,2]
            input w: f64[2]
            a: f16[2] = map relu(h)
              read 0[d0]
              body select(lt(r0, 0.0:f16), 0.0:f16, r0)
              from Relu "n_a"
            b: f32[2] = map cast(a)
              read 0[d0]
              body f32(r0)
              from Cast "n_b"
            y: f32[2] = map relu(b)
              read 0[d0]
              body select(lt(r0, 0.0), 0.0, r0)
              from Relu "n_y"
            z: f32[2,2] = reshape(x) shape=[2,2]
              from Reshape "n_z"
            output y
            output z
            output h
        "#]],
    );
}
