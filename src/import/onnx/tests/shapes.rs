//! Shapes that a model computes, and forms that depend on the opset.

use expect_test::{Expect, expect};
use tract_onnx::pb::{ModelProto, NodeProto, TensorProto, ValueInfoProto};

use super::build::*;
use super::*;

fn graph(model: &ModelProto, expected: Expect) {
    let imported = from_bytes("m.onnx", &bytes(model), &Binding::default()).unwrap_or_else(|e| panic!("{}", rendered(&e)));
    assert!(imported.unsupported.is_empty(), "{}", rendered(&imported.unsupported));
    assert!(crate::graph::verify::violations(&imported.graph).is_empty());
    let absorbed: Vec<_> = imported.absorbed.iter().map(|(source, why)| format!("{} {why:?}", source.node)).collect();
    expected.assert_eq(&format!("{}absorbed: {}\n", imported.graph, absorbed.join(", ")));
}

fn of(opset: i64, inputs: &[ValueInfoProto], initializers: &[TensorProto], nodes: &[NodeProto]) -> ModelProto {
    model(opset, inputs, initializers, nodes, &["y"])
}

/// `x.view(x.size(0), 2, x.size(1) // 2)` as torch exports it.
#[test]
fn shape_subgraphs_fold() {
    let nodes = [
        node("Shape", &["x"], &["s"]),
        node("Constant", &[], &["zero"]).tensor("value", ints("", &[], &[0])),
        node("Gather", &["s", "zero"], &["batch"]),
        node("Constant", &[], &["axes"]).tensor("value", ints("", &[1], &[0])),
        node("Unsqueeze", &["batch", "axes"], &["batch1"]),
        node("Slice", &["s", "from", "to"], &["width"]),
        node("Constant", &[], &["two"]).ints("value_ints", &[2]),
        node("Div", &["width", "two"], &["half"]),
        node("Cast", &["half"], &["halff"]).int("to", 1),
        node("Cast", &["halff"], &["halfi"]).int("to", 7),
        node("Concat", &["batch1", "two", "halfi"], &["target"]).int("axis", 0),
        node("Reshape", &["x", "target"], &["y"]),
    ];
    let initializers = [ints("from", &[1], &[1]), ints("to", &[1], &[2])];
    graph(
        &of(13, &[declare("x", FLOAT, &[3, 8])], &initializers, &nodes),
        expect![[r#"
        graph "m.onnx"
        input x: f32[3,8]
        y: f32[3,2,4] = reshape(x) shape=[3,2,4]
          from Reshape "n_y"
        output y
        absorbed: n_s Folded, n_zero Folded, n_batch Folded, n_axes Folded, n_batch1 Folded, n_width Folded, n_two Folded, n_half Folded, n_halff Folded, n_halfi Folded, n_target Folded
    "#]],
    );
}

/// What is known is added as a weight only where the graph reads it.
#[test]
fn constants_become_weights_or_part_of_a_body() {
    let nodes = [
        node("Mul", &["x", "half"], &["a"]),
        node("Add", &["a", "b"], &["c"]),
        node("Identity", &["c"], &["d"]),
        node("Clip", &["d", "", "six"], &["e"]),
        node("Dropout", &["e"], &["y"]),
    ];
    let initializers = [
        floats("half", &[], &[0.5]),
        floats("b", &[3], &[1.0, 2.0, 3.0]),
        floats("six", &[], &[6.0]),
        floats("unused", &[2], &[0.0, 0.0]),
    ];
    graph(
        &of(13, &[declare("x", FLOAT, &[2, 3])], &initializers, &nodes),
        expect![[r#"
        graph "m.onnx"
        input x: f32[2,3]
        weight b: f32[3] bias = data [1.0, 2.0, 3.0]
        a: f32[2,3] = map mul_scalar(x)
          read 0[d0, d1]
          body mul(r0, 0.5)
          from Mul "n_a"
        c: f32[2,3] = map add(a, b)
          read 0[d0, d1]
          read 1[d1]
          body add(r0, r1)
          from Add "n_c"
        e: f32[2,3] = map clip(c)
          read 0[d0, d1]
          body min_nan(r0, 6.0)
          from Clip "n_e"
        y: f32[2,3] = reshape(e) shape=[2,3]
          from Identity "y"
        output y
        absorbed: n_d Passed, n_y Passed
    "#]],
    );
}

#[test]
fn old_and_new_forms() {
    let nodes = [
        node("Unsqueeze", &["x"], &["a"]).ints("axes", &[0]),
        node("Clip", &["a"], &["b"]).float("min", 0.0).float("max", 6.0),
        node("Slice", &["b"], &["c"]).ints("starts", &[1]).ints("ends", &[3]).ints("axes", &[2]),
        node("Pad", &["c"], &["d"]).ints("pads", &[0, 0, 1, 0, 0, 1]).float("value", 2.0),
        node("Softmax", &["d"], &["e"]),
        node("Squeeze", &["e"], &["y"]).ints("axes", &[0]),
    ];
    graph(
        &of(9, &[declare("x", FLOAT, &[2, 3])], &[], &nodes),
        expect![[r#"
        graph "m.onnx"
        input x: f32[2,3]
        a: f32[1,2,3] = reshape(x) shape=[1,2,3]
          from Unsqueeze "n_a"
        b: f32[1,2,3] = map clip(a)
          read 0[d0, d1, d2]
          body min_nan(max_nan(r0, 0.0), 6.0)
          from Clip "n_b"
        c: f32[1,2,2] = map slice(b)
          read 0[d0, d1, d2 + 1]
          body r0
          from Slice "n_c"
        d: f32[1,2,4] = map pad(c)
          read 0[d0, d1, d2 - 1] fill 2.0
          body r0
          from Pad "n_d"
        e.reshape: f32[1,8] = reshape(d) shape=[1,8]
          from Softmax "n_e"
        e.softmax: f32[1,8] = softmax(e.reshape) axis=1
          from Softmax "n_e"
        e: f32[1,2,4] = reshape(e.softmax) shape=[1,2,4]
          from Softmax "n_e"
        y: f32[2,4] = reshape(e) shape=[2,4]
          from Squeeze "n_y"
        output y
        absorbed: 
    "#]],
    );
    let nodes = [
        node("Softmax", &["x"], &["a"]),
        node("MatMul", &["v", "a"], &["b"]),
        node("Gemm", &["x", "w", "c"], &["g"]).float("alpha", 0.5).float("beta", 2.0).int("transB", 1),
        node("MatMul", &["g", "b"], &["y"]),
    ];
    let inputs = [declare("x", FLOAT, &[2, 3]), declare("v", FLOAT, &[2])];
    let initializers = [floats("w", &[3, 3], &[0.5; 9]), floats("c", &[3], &[0.0, 1.0, 2.0])];
    graph(
        &of(17, &inputs, &initializers, &nodes),
        expect![[r#"
        graph "m.onnx"
        input x: f32[2,3]
        input v: f32[2]
        weight w: f32[3,3] weight(3) = data [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
        weight c: f32[3] bias = data [0.0, 1.0, 2.0]
        a: f32[2,3] = softmax(x) axis=1
          from Softmax "n_a"
        b.reshape: f32[1,2] = reshape(v) shape=[1,2]
          from MatMul "n_b"
        b.matmul: f32[1,3] = matmul(b.reshape, a)
          from MatMul "n_b"
        b: f32[3] = reshape(b.matmul) shape=[3]
          from MatMul "n_b"
        g.transpose: f32[3,3] weight(3) = transpose(w) order=[1,0]
          from Gemm "n_g"
        g.matmul: f32[2,3] = matmul(x, g.transpose)
          from Gemm "n_g"
        g.mul_scalar: f32[2,3] = map mul_scalar(g.matmul)
          read 0[d0, d1]
          body mul(r0, 0.5)
          from Gemm "n_g"
        g.mul_scalar.2: f32[3] = map mul_scalar(c)
          read 0[d0]
          body mul(r0, 2.0)
          from Gemm "n_g"
        g: f32[2,3] = map add(g.mul_scalar, g.mul_scalar.2)
          read 0[d0, d1]
          read 1[d1]
          body add(r0, r1)
          from Gemm "n_g"
        y.reshape: f32[3,1] = reshape(b) shape=[3,1]
          from MatMul "n_y"
        y.matmul: f32[2,1] = matmul(g, y.reshape)
          from MatMul "n_y"
        y: f32[2] = reshape(y.matmul) shape=[2]
          from MatMul "n_y"
        output y
        absorbed: 
    "#]],
    );
}

/// The model's outputs keep their names, whatever they are.
#[test]
fn outputs_keep_their_names() {
    let nodes = [node("Identity", &["x"], &["same"]), node("Shape", &["x"], &["known"]), node("Relu", &["x"], &["r"])];
    let model = model(17, &[declare("x", FLOAT, &[2, 3])], &[], &nodes, &["same", "known", "r", "r", "x"]);
    graph(
        &model,
        expect![[r#"
        graph "m.onnx"
        input x: f32[2,3]
        weight known: i64[2] exact = data [2, 3]
        r: f32[2,3] = map relu(x)
          read 0[d0, d1]
          body select(lt(r0, 0.0), 0.0, r0)
          from Relu "n_r"
        same: f32[2,3] = reshape(x) shape=[2,3]
          from Identity "same"
        r.2: f32[2,3] = reshape(r) shape=[2,3]
          from Identity "r.2"
        output same
        output known
        output r
        output r.2
        output x
        absorbed: n_same Passed, n_known Folded
    "#]],
    );
}

#[test]
fn indices_from_the_end_and_integer_divisors() {
    let nodes = [
        node("Gather", &["x", "last"], &["a"]).int("axis", 1),
        node("Gather", &["a", "i"], &["g"]).int("axis", 1),
        node("Unsqueeze", &["d", "axes"], &["d2"]),
        node("Div", &["n", "d2"], &["q"]),
        node("Mod", &["q", "m"], &["r"]),
        node("Mod", &["r", "q"], &["y"]),
    ];
    let inputs = [
        declare("x", FLOAT, &[2, 5]),
        declare("i", INT64, &[3]),
        declare("n", INT64, &[1, 4]),
        declare("d", INT64, &[4]),
        declare("m", INT64, &[4]),
    ];
    let initializers = [ints("last", &[3], &[2, 4, -1]), ints("axes", &[1], &[0])];
    graph(
        &model(17, &inputs, &initializers, &nodes, &["g", "y"]),
        expect![[r#"
        graph "m.onnx"
        input x: f32[2,5]
        input i: i64[3] index(3)
        input n: i64[1,4]
        input d: i64[4] divisor
        input m: i64[4] divisor
        weight a.indices: i64[3] exact = data [2, 4, 4]
        a: f32[2,3] = map gather(a.indices, x)
          read 0[d1]
          read 1[d0, r0]
          body r1
          from Gather "n_a"
        g: f32[2,3] = map gather(i, a)
          read 0[d1]
          read 1[d0, r0%3]
          body r1
          from Gather "n_g"
        d2: i64[1,4] divisor = reshape(d) shape=[1,4]
          from Unsqueeze "n_d2"
        q: i64[1,4] divisor = map div(n, d2)
          read 0[d0, d1]
          read 1[d0, d1]
          body div_trunc(r0, r1)
          from Div "n_q"
        r: i64[1,4] = map mod(q, m)
          read 0[d0, d1]
          read 1[d1]
          body sub(r0, mul(div_floor(r0, r1), r1))
          from Mod "n_r"
        y: i64[1,4] = map mod(r, q)
          read 0[d0, d1]
          read 1[d0, d1]
          body sub(r0, mul(div_floor(r0, r1), r1))
          from Mod "n_y"
        output g
        output y
        absorbed: 
    "#]],
    );
}

/// onnx's own inference counts a window that begins outside; a pool's output may be declared so, any
/// other wrong shape is an error.
#[test]
fn ceil_mode_sizes_of_other_tools() {
    let declared = |size: i64| {
        let pool = node("MaxPool", &["x"], &["p"]).int("ceil_mode", 1).ints("kernel_shape", &[2, 2]).ints("strides", &[3, 3]);
        let mut model = of(12, &[declare("x", FLOAT, &[1, 2, 6, 6])], &[], &[pool, node("Relu", &["p"], &["y"])]);
        let graph = model.graph.as_mut().unwrap();
        graph.value_info.push(declare("p", FLOAT, &[1, 2, size, size]));
        graph.output[0] = declare("y", FLOAT, &[1, 2, size, size]);
        from_bytes("m.onnx", &bytes(&model), &Binding::default()).map(|i| i.graph.shape(i.graph.outputs()[0]).to_vec())
    };
    assert_eq!(declared(3).unwrap(), [1, 2, 2, 2]);
    assert_eq!(declared(2).unwrap(), [1, 2, 2, 2]);
    assert!(rendered(&declared(4).unwrap_err()).contains("`p` is 1×2×2×2, the file declares 1×2×4×4"));
}
