//! Small models of every operator family, from file to verdict: which template serves what, and that all of it holds.

use std::collections::BTreeSet;

use crate::support::decomposed;

/// Decomposes a model in ONNX's textual form, which must be verified whole; the templates of its kernels.
fn templates(text: &str) -> Vec<String> {
    let (_folder, _suite, report) = decomposed(text);
    let findings: Vec<String> = report.diagnostics().map(|d| d.to_string()).collect();
    assert_eq!(findings, Vec::<String>::new(), "{text}");
    assert!(report.fully_verified(), "{text}");
    let used: BTreeSet<&str> = report.layers.iter().map(|layer| layer.template.as_str()).collect();
    used.into_iter().map(str::to_owned).collect()
}

#[test]
fn reductions_over_leading_middle_and_trailing_axes() {
    let text = r#"
<ir_version: 8, opset_import: ["" : 17]>
reductions (float[3,5,4,6] x) => (float[3,5,4,1] a, float[1,5,1,6] b, float[4,6] c, float[3,1,4,6] d, float[1,1,1,1] e, float[5] f)
<int64[1] last = {-1}>
{
  a = ReduceSum (x, last)
  b = ReduceMean <axes = [0, 2]> (x)
  c = ReduceMax <axes = [0, 1], keepdims = 0> (x)
  l = ReduceLogSumExp <axes = [1]> (x)
  d = Neg (l)
  e = ReduceL2 (x)
  m = ReduceMin <axes = [0, 2, 3], keepdims = 0> (x)
  f = Exp (m)
}
"#;
    assert_eq!(templates(text), ["logsumexp", "map", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum"]);
}

#[test]
fn products_positions_and_running_sums() {
    let text = r#"
<ir_version: 8, opset_import: ["" : 17]>
lines (float[4,7,6] x) => (float[4,6] a, int64[4,1,6] b, int64[4,7] c, float[4,7,6] d, float[4,7,6] e)
<int64 axis = {1}>
{
  s = Sigmoid (x)
  a = ReduceProd <axes = [1], keepdims = 0> (s)
  b = ArgMax <axis = 1, select_last_index = 1> (x)
  c = ArgMin <axis = -1, keepdims = 0> (x)
  d = CumSum <reverse = 1, exclusive = 1> (x, axis)
  e = LogSoftmax <axis = 1> (x)
}
"#;
    assert_eq!(templates(text), ["argreduce", "cumsum", "log_softmax", "map", "reduce_prod"]);
}

#[test]
fn normalisations_by_own_statistics() {
    let text = r#"
<ir_version: 10, opset_import: ["" : 23]>
norms (float[2,6,5,7] x, float[7] g, float[7] b, float[6] u, float[6] v) => (float[2,6,5,7] y)
{
  layer = LayerNormalization <axis = -1> (x, g, b)
  act = Relu (layer)
  instance = InstanceNormalization (act, u, v)
  group = GroupNormalization <num_groups = 2> (instance, u, v)
  sum = Add (group, x)
  y = RMSNormalization <axis = 2> (sum, g)
}
"#;
    assert_eq!(templates(text), ["add", "layernorm", "rmsnorm"]);
    let text = r#"
<ir_version: 8, opset_import: ["" : 17]>
training (float[3,4,5,6] x, float[4] g, float[4] b, float[4] m, float[4] v) => (float[3,4,5,6] y, float[4] rm, float[4] rv)
{
  n, rm, rv = BatchNormalization <training_mode = 1> (x, g, b, m, v)
  y = Relu (n)
}
"#;
    assert_eq!(templates(text), ["layernorm", "map", "reduce_mean"]);
}

#[test]
fn convolutions_and_their_transposes_in_three_ranks() {
    for (rank, dims, kernel, output) in [(1, "9", "3", "16"), (2, "5,6", "3,2", "9,11"), (3, "3,4,3", "2,3,2", "5,8,5")] {
        let ones = vec!["2"; rank].join(", ");
        let text = format!(
            "<ir_version: 8, opset_import: [\"\" : 17]>\n\
             net (float[2,4,{dims}] x, float[6,2,{kernel}] w, float[6] o, float[6,3,{kernel}] t) => (float[2,6,{output}] y)\n\
             {{\n  c = Conv <auto_pad = \"SAME_UPPER\", group = 2> (x, w, o)\n  a = Relu (c)\n  \
             u = ConvTranspose <strides = [{ones}], group = 2, output_shape = [{}]> (a, t)\n  y = Sigmoid (u)\n}}\n",
            output.replace(',', ", ")
        );
        let conv = if rank == 2 { "conv2d_resnet".to_owned() } else { format!("conv{rank}d") };
        assert_eq!(templates(&text), [conv, format!("conv_transpose{rank}d")]);
    }
}

#[test]
fn pools_in_one_and_three_dimensions() {
    let text = r#"
<ir_version: 8, opset_import: ["" : 17]>
pools (float[2,3,20] x, float[2,3,7,8,9] z) => (float[2,3,1] a, float[2,3,1,1,1] b)
{
  m = MaxPool <kernel_shape = [3], strides = [2], pads = [1, 1]> (x)
  v = AveragePool <kernel_shape = [2]> (m)
  a = GlobalAveragePool (v)
  n = MaxPool <kernel_shape = [3, 2, 3], strides = [2, 1, 2], pads = [1, 0, 1, 1, 0, 1]> (z)
  w = AveragePool <kernel_shape = [2, 2, 2]> (n)
  b = GlobalAveragePool (w)
}
"#;
    let used = ["adaptive_avgpool1d", "adaptive_avgpool3d", "avgpool1d", "avgpool3d", "maxpool1d", "maxpool3d"];
    assert_eq!(templates(text), used);
}

#[test]
fn what_no_template_serves_is_named() {
    let text = r#"
<ir_version: 8, opset_import: ["" : 17]>
unserved (float[2,3,4,5,6] x, int64[3,4] n) => (float[3,5] a, int64[3] b)
<int64[3] axes = {0, 2, 4}>
{
  a = ReduceSum <keepdims = 0> (x, axes)
  b = ArgMax <axis = 1, keepdims = 0> (n)
}
"#;
    let (_folder, _suite, report) = decomposed(text);
    let mut found: Vec<String> = report.diagnostics().map(|d| format!("{} {}", d.code.id, d.message)).collect();
    found.sort();
    let expected = ["T003 no template serves `argmax` of i64 3×4", "T003 no template serves `reduce_sum` of f32 2×3×4×5×6"];
    assert_eq!(found, expected);
}
