//! Bindings as JSON for `tools/check_bound.py`, which runs them under Triton's interpreter and
//! compares them with numpy formulas, and compiles them.

use serde_json::{Value, json};

use super::*;
use crate::expr::parse::parse_index;

struct Case {
    name: &'static str,
    bound: Bound,
    /// A numpy expression over operands by name.
    formula: &'static str,
}

struct Cases(Vec<Case>);

impl Cases {
    fn add(&mut self, name: &'static str, b: &Builder, cluster: Cluster, formula: &'static str) {
        self.0.push(Case { name, bound: bind_contiguous(&b.graph, &cluster), formula });
    }

    fn add_on(
        &mut self,
        name: &'static str,
        b: &Builder,
        cluster: Cluster,
        formula: &'static str,
        target: &str,
        layouts: &[(&str, Layout)],
    ) {
        let library = Library::embedded().unwrap();
        let layout = |v: ValueId| {
            let name = &b.graph.value(v).name;
            layouts.iter().find(|l| l.0 == name).map_or_else(|| Layout::contiguous(b.graph.shape(v)), |l| l.1.clone())
        };
        let target = Target::find(target).unwrap();
        let bound = bind(&b.graph, &cluster, &layout, &library, target, BindOptions::default()).unwrap();
        self.0.push(Case { name, bound, formula });
    }
}

/// A Map with accesses as text: (input, index expressions, fill).
fn movement(
    b: &mut Builder,
    label: &str,
    dims: &[usize],
    body: &str,
    reads: &[(ValueId, &[&str], Option<f64>)],
) -> (NodeId, ValueId) {
    let dtypes: Vec<DType> = reads.iter().map(|r| b.graph.dtype(r.0)).collect();
    let accesses = reads
        .iter()
        .enumerate()
        .map(|(input, (_, index, fill))| Access {
            input,
            index: index.iter().map(|i| parse_index(i).unwrap()).collect(),
            oob: fill.map_or(OutOfBounds::InBounds, OutOfBounds::Fill),
        })
        .collect();
    let op =
        Op::Map(Map { label: label.into(), dims: Shape::from_slice(dims), reads: accesses, body: parse(body, &dtypes).unwrap() });
    let inputs: Vec<_> = reads.iter().map(|r| Some(r.0)).collect();
    b.node(op, &inputs, dims)
}

#[test]
fn a_read_index_from_the_end_is_brought_to_the_beginning() {
    let mut b = Builder::new();
    let x = b.input("x", &[3, 4, 5]);
    let index = TensorType { dtype: DType::I64, shape: Shape::from_slice(&[2]) };
    let index = b.graph.add_input("index", index, Role::IndexBelow(3)).unwrap();
    let texts = [("r0 % 3", "+ (a % 3 + 3) % 3 * b_stride_0"), ("r0 // 2", "+ (a - (a % 2 + 2) % 2) // 2 * b_stride_0")];
    for (found, text) in texts {
        let reads: [(_, &[&str], _); 2] = [(index, &["d0"], None), (x, &[found, "d1", "2"], None)];
        let (n, _) = movement(&mut b, "gather", &[2, 4], "r1", &reads);
        let bound = bind_contiguous(&b.graph, &Cluster::of(n)).kernel.text;
        assert!(bound.contains(text), "{text} is not in\n{bound}");
    }
}

fn channels_last(shape: &[usize]) -> Layout {
    let [n, c, h, w] = shape else { panic!("four dimensions") };
    let strides = [h * w * c, 1, w * c, *c].map(|s| s as i64);
    Layout { strides: strides.into_iter().collect(), storage: n * c * h * w, ..Layout::contiguous(shape) }
}

fn cases() -> Vec<Case> {
    let mut all = Cases(Vec::new());
    for target in ["sm_90", "ascend910b4"] {
        let mut b = Builder::new();
        let x = b.input("x", &[2, 3, 70, 9]);
        let (relu, _) = b.map("relu", "max_nan(r0, 0.0)", &[x]);
        all.add_on("relu", &b, Cluster::of(relu), "np.maximum(x, 0)", target, &[]);

        let mut b = Builder::new();
        let (x, w) = (b.input("x", &[2, 6, 11, 9]), b.weight("w", &[4, 3, 3, 2], Role::Weight { fan_in: 18 }));
        let (bias, skip) = (b.weight("bias", &[4], Role::Bias), b.input("skip", &[2, 4, 5, 4]));
        let op = Op::Conv(Conv {
            strides: [2, 2].into_iter().collect(),
            dilations: [2, 2].into_iter().collect(),
            pads_begin: [0, 1].into_iter().collect(),
            pads_end: [2, 0].into_iter().collect(),
            groups: 2,
        });
        let (conv, y) = b.node(op, &[Some(x), Some(w), Some(bias)], &[2, 4, 5, 4]);
        let (add, sum) = b.map("add", "add(r0, r1)", &[skip, y]);
        let (relu, _) = b.map("relu", "max_nan(r0, 0.0)", &[sum]);
        let cluster = Cluster { anchor: conv, prologues: vec![], epilogues: vec![add, relu] };
        let formula = "np.maximum(conv(x, w, (2, 2), (2, 2), (0, 1), (2, 0), 2) + bias[:, None, None] + residual, 0)";
        all.add_on("conv_bias_add_relu", &b, cluster, formula, target, &[]);
    }

    let mut b = Builder::new();
    let (x, w) = (b.input("x", &[2, 6, 9, 9]), b.weight("w", &[8, 6, 3, 3], Role::Weight { fan_in: 54 }));
    let skip = b.input("skip", &[2, 8, 9, 9]);
    let (conv, y) = b.node(conv_op(1, 1), &[Some(x), Some(w)], &[2, 8, 9, 9]);
    let (add, sum) = b.map("add", "add(r0, r1)", &[y, skip]);
    let cluster = Cluster { anchor: conv, prologues: vec![], epilogues: vec![add] };
    let name = b.graph.value(sum).name.clone();
    let layouts = [
        ("x", channels_last(&[2, 6, 9, 9])),
        ("skip", channels_last(&[2, 8, 9, 9])),
        (name.as_str(), channels_last(&[2, 8, 9, 9])),
    ];
    all.add_on("conv_channels_last", &b, cluster, "conv(x, w, (1, 1), (1, 1), (1, 1), (1, 1), 1) + residual", "sm_90", &layouts);

    let mut b = Builder::new();
    let (x, w) = (b.input("x", &[2, 6, 9, 9]), b.weight("w", &[8, 6, 3, 3], Role::Weight { fan_in: 54 }));
    let (scale, shift) = (b.weight("s", &[6, 1, 1], Role::Scale), b.weight("t", &[6, 1, 1], Role::Bias));
    let (norm, z) = b.map("affine_relu", "max_nan(add(mul(r0, r1), r2), 0.0)", &[x, scale, shift]);
    let (conv, _) = b.node(conv_op(1, 1), &[Some(z), Some(w)], &[2, 8, 9, 9]);
    let cluster = Cluster { anchor: conv, prologues: vec![(0, norm)], epilogues: vec![] };
    all.add("conv_prologue", &b, cluster, "conv(np.maximum(x * scale + bias, 0), w, (1, 1), (1, 1), (1, 1), (1, 1), 1)");

    let mut b = Builder::new();
    let (x, y) = (b.input("x", &[2, 1, 4, 20]), b.input("y", &[3, 20, 6]));
    let (s, t) = (b.input("s", &[3, 1, 6]), b.input("t", &[2, 3, 4, 6]));
    let (matmul, v) = b.node(Op::MatMul, &[Some(x), Some(y)], &[2, 3, 4, 6]);
    let (one, v) = b.map("mul", "mul(r0, r1)", &[v, s]);
    let (two, _) = b.map("add", "add(r0, r1)", &[v, t]);
    let cluster = Cluster { anchor: matmul, prologues: vec![], epilogues: vec![one, two] };
    all.add("matmul_broadcast", &b, cluster, "(a @ b) * other + residual");

    let mut b = Builder::new();
    let (x, y) = (b.input("x", &[4, 20]), b.input("y", &[6, 20]));
    let (t, yt) = movement(&mut b, "transpose", &[20, 6], "r0", &[(y, &["d1", "d0"], None)]);
    let (relu, xr) = b.map("relu", "add(r0, 1.0)", &[x]);
    let (matmul, _) = b.node(Op::MatMul, &[Some(xr), Some(yt)], &[4, 6]);
    let cluster = Cluster { anchor: matmul, prologues: vec![(0, relu), (1, t)], epilogues: vec![] };
    all.add("matmul_prologues", &b, cluster, "(a + 1) @ b.T");

    let mut b = Builder::new();
    let (x, y) = (b.input("x", &[2, 8, 5, 5]), b.weight("y", &[8, 1, 1], Role::Bias));
    let (add, _) = b.map("add", "add(r0, r1)", &[x, y]);
    all.add("add_broadcast", &b, Cluster::of(add), "a + b");
    let last = channels_last(&[2, 8, 5, 5]);
    let (relu, v) = b.map("relu", "max_nan(r0, 0.0)", &[x]);
    let name = b.graph.value(v).name.clone();
    all.add_on(
        "relu_channels_last",
        &b,
        Cluster::of(relu),
        "np.maximum(x, 0)",
        "sm_90",
        &[("x", last.clone()), (&name, last.clone())],
    );
    all.add_on("relu_to_channels_last", &b, Cluster::of(relu), "np.maximum(x, 0)", "sm_90", &[(&name, last.clone())]);
    let inner =
        Layout { offset: 30, storage: 520, strides: [240, 30, 6, 1].into_iter().collect(), ..Layout::contiguous(&[2, 8, 5, 5]) };
    all.add_on("relu_into_slice", &b, Cluster::of(relu), "np.maximum(x, 0)", "sm_90", &[(&name, inner)]);

    // Strides beyond 32 bits: compiled only.
    let huge =
        Layout { strides: [1 << 32, 25, 5, 1].into_iter().collect(), storage: 1 << 34, ..Layout::contiguous(&[2, 8, 5, 5]) };
    all.add_on("relu_wide", &b, Cluster::of(relu), "x", "sm_90", &[(&name, huge.clone())]);
    all.add_on("relu_wide_loop", &b, Cluster::of(relu), "x", "ascend910b4", &[("x", huge.clone()), (&name, huge.clone())]);
    let w = b.weight("w", &[8, 8, 3, 3], Role::Weight { fan_in: 72 });
    let (conv, _) = b.node(conv_op(1, 1), &[Some(x), Some(w)], &[2, 8, 5, 5]);
    all.add_on("conv_wide", &b, Cluster::of(conv), "x", "sm_90", &[("x", huge)]);

    let mut b = Builder::new();
    let (x, y) = (b.input("x", &[3, 4, 5]), b.input("y", &[3, 2, 5]));
    let (n, _) = movement(&mut b, "transpose", &[5, 3, 4], "r0", &[(x, &["d1", "d2", "d0"], None)]);
    all.add("transpose", &b, Cluster::of(n), "x.transpose(2, 0, 1)");
    let (n, _) = movement(&mut b, "pad", &[3, 7, 8], "r0", &[(x, &["d0", "d1 - 1", "d2 - 2"], Some(9.0))]);
    all.add("pad", &b, Cluster::of(n), "np.pad(x, ((0, 0), (1, 2), (2, 1)), constant_values=9)");
    let (n, _) = movement(&mut b, "slice", &[3, 2, 5], "r0", &[(x, &["d0", "d1 * 2 + 1", "d2 * -1 + 4"], None)]);
    all.add("slice_flip", &b, Cluster::of(n), "x[:, 1::2, ::-1]");
    let body = "select(lt(d1:i64, 4:i64), r0, r1)";
    let (n, _) = movement(
        &mut b,
        "concat",
        &[3, 6, 5],
        body,
        &[(x, &["d0", "d1", "d2"], Some(0.0)), (y, &["d0", "d1 - 4", "d2"], Some(0.0))],
    );
    all.add("concat", &b, Cluster::of(n), "np.concatenate((a, b), 1)");
    let (n, _) = movement(&mut b, "resize", &[3, 8, 10], "r0", &[(x, &["d0", "d1 // 2", "d2 // 2"], None)]);
    all.add("resize", &b, Cluster::of(n), "x.repeat(2, 1).repeat(2, 2)");
    let (n, _) = movement(&mut b, "roll", &[3, 4, 5], "r0", &[(x, &["d0", "(d1 - 3) % 4", "d2"], None)]);
    all.add("roll", &b, Cluster::of(n), "np.roll(x, 3, 1)");
    let (n, _) = movement(&mut b, "range", &[3, 4], "f32(add(d0:i64, mul(d1:i64, 10:i64)))", &[]);
    all.add("range", &b, Cluster::of(n), "(np.arange(3)[:, None] + 10 * np.arange(4)).astype(np.float32)");
    let (n, _) = b.map("gelu", "mul(mul(r0, 0.5), add(erf(mul(r0, 0.7071067811865476)), 1.0))", &[x]);
    all.add("gelu", &b, Cluster::of(n), "x * 0.5 * (1 + erf(x * 0.7071067811865476))");
    let (n, _) = b.map("silu_clip", "min_nan(max_nan(mul(r0, sigmoid(r0)), -1.0), 2.0)", &[x]);
    all.add("silu_clip", &b, Cluster::of(n), "np.clip(x / (1 + np.exp(-x)), -1, 2)");

    let (n, _) = b.map("tanh", "tanh(mul(r0, 0.125))", &[x]);
    all.add("tanh", &b, Cluster::of(n), "np.tanh(x * 0.125)");
    let (n, _) = b.map("round", "round_even(mul(r0, 0.5))", &[x]);
    all.add("round", &b, Cluster::of(n), "np.rint(x * 0.5)");

    let index = TensorType { dtype: DType::I64, shape: Shape::from_slice(&[2]) };
    let index = b.graph.add_input("index", index, Role::IndexBelow(3)).unwrap();
    let (n, _) = movement(&mut b, "gather", &[2, 4], "r1", &[(index, &["d0"], None), (x, &["r0", "d1", "2"], None)]);
    all.add("gather", &b, Cluster::of(n), "b[a, :, 2]");
    let (n, _) = movement(&mut b, "one_hot", &[2, 3], "f32(eq(r0, d1:i64))", &[(index, &["d0"], None)]);
    all.add("one_hot", &b, Cluster::of(n), "(x[:, None] == np.arange(3)).astype(np.float32)");
    let mask = TensorType { dtype: DType::Bool, shape: Shape::from_slice(&[4, 1]) };
    let mask = b.graph.add_input("mask", mask, Role::Mask).unwrap();
    let body = "select(r0, r1, -1.0)";
    let (n, _) = movement(&mut b, "where", &[3, 4, 5], body, &[(mask, &["d1", "0"], None), (x, &["d0", "d1", "d2"], None)]);
    all.add("where", &b, Cluster::of(n), "np.where(a, b, -1).astype(np.float32)");

    for axis in [1, 2] {
        let mut b = Builder::new();
        let x = b.input("x", &[2, 5, 4, 3]);
        let (n, _) = b.node(Op::Softmax { axis, log: false }, &[Some(x)], &[2, 5, 4, 3]);
        let formula = if axis == 1 { "softmax(x, 1)" } else { "softmax(x, 2)" };
        all.add("softmax", &b, Cluster::of(n), formula);
    }
    let mut b = Builder::new();
    let x = b.input("x", &[1, 20_000]);
    let (n, _) = b.node(Op::Softmax { axis: 1, log: false }, &[Some(x)], &[1, 20_000]);
    all.add("softmax_long", &b, Cluster::of(n), "softmax(x, 1)");

    let mut b = Builder::new();
    let x = b.input("x", &[2, 5, 4, 3]);
    let roles = [("s", Role::Scale), ("b", Role::Bias), ("m", Role::Mean), ("v", Role::Variance)];
    let mut inputs = vec![Some(x)];
    inputs.extend(roles.map(|(n, r)| Some(b.weight(n, &[5], r))));
    let (norm, v) = b.node(Op::BatchNorm { epsilon: 1e-5 }, &inputs, &[2, 5, 4, 3]);
    let (relu, _) = b.map("relu", "max_nan(r0, 0.0)", &[v]);
    let cluster = Cluster { anchor: norm, prologues: vec![], epilogues: vec![relu] };
    all.add("batchnorm_relu", &b, cluster, "np.maximum((x - c(mean)) / np.sqrt(c(var) + 1e-5) * c(scale) + c(bias), 0)");
    all.0
}

#[test]
#[ignore = "writes the file that BOUND_JSON names, for tools/check_bound.py"]
fn dump() {
    let number = |i: &HostInt| json!({ "value": i.value, "text": i.text });
    let list: Vec<Value> = cases()
        .iter()
        .map(|case| {
            let kernel = &case.bound.kernel;
            let operands: Vec<Value> = kernel
                .operands
                .iter()
                .map(|o| {
                    json!({
                        "name": o.name, "dtype": o.dtype.name(), "shape": o.layout.shape.as_slice(),
                        "strides": o.layout.strides.as_slice(), "offset": o.layout.offset, "storage": o.layout.storage,
                        "output": o.access == OperandAccess::Write,
                    })
                })
                .collect();
            let launches: Vec<Value> = kernel
                .launches
                .iter()
                .map(|l| {
                    let args: Vec<Value> = l
                        .args
                        .iter()
                        .map(|a| match &a.value {
                            ArgumentValue::Pointer(i) => json!([a.param, "pointer", i]),
                            ArgumentValue::Int(i) => json!([a.param, "int", number(i)]),
                            ArgumentValue::Constexpr(i) => json!([a.param, "constexpr", number(i)]),
                            ArgumentValue::ConstexprFloat(x) => {
                                json!([a.param, "constexpr", { "value": x, "text": x.to_string() }])
                            }
                            ArgumentValue::ConstexprStr(s) => {
                                json!([a.param, "constexpr", { "value": s, "text": format!("{s:?}") }])
                            }
                        })
                        .collect();
                    let locals: Vec<Value> = l.locals.iter().map(|(n, v)| json!([n, number(v)])).collect();
                    let grid: Vec<Value> = l.grid.iter().map(number).collect();
                    json!({ "function": l.function, "locals": locals, "grid": grid, "args": args, "num_warps": l.num_warps })
                })
                .collect();
            json!({
                "name": case.name, "formula": case.formula, "text": kernel.text, "operands": operands, "launches": launches,
            })
        })
        .collect();
    let path = std::env::var("BOUND_JSON").expect("BOUND_JSON names the file to write");
    std::fs::write(path, serde_json::to_string_pretty(&list).unwrap()).unwrap();
}
