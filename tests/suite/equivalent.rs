//! Edits of kernels that are as right as what stood there: another formula, another order, other blocks. None may be
//! called wrong; beside each kind stands a slip that looks like it and must be found.

use decompose::fuse::Level;
use decompose::pipeline::{Options, Verification};

use crate::pages::onnx_text;
use crate::support::{decompose, edit, kernel_file, verified};

/// Windows whose sizes are no powers of two, so that 1/n is rounded, and a normalisation whose scale is any number.
const MODEL: &str = r#"
< ir_version: 8, opset_import: ["" : 17] >
equivalent (float[2, 5, 7, 9] x) => (float[2, 6] y, float[2, 5, 3, 4] a)
< float[5] g = {1, 0.5, -2, 0.7, 3}, float[5] b = {0.1, 0, -0.3, 1, 0.2}, float[5] m = {0, 0.2, -0.1, 0.4, 1},
  float[5] v = {1, 0.8, 1.2, 0.9, 0.3},
  float[5, 6] w = {0.3, -0.7, 1.1, 0.9, -0.2, 0.4, 0.8, -0.6, 0.1, 0.5, -1.2, 0.7, 0.2, -0.4, 1, 0.6, -0.9, 0.3, 0.8, -0.1,
    0.5, 0.2, -0.8, 1.1, 0.4, -0.3, 0.9, 0.6, -0.5, 0.2} >
{
    n = BatchNormalization(x, g, b, m, v)
    a = AveragePool<kernel_shape = [3, 3], strides = [2, 2]>(n)
    s = GlobalAveragePool(n)
    f = Flatten(s)
    l = MatMul(f, w)
    y = Softmax(l)
}
"#;

const FACTOR: &str = "centred * factor[:, None] + bias.to(tl.float32)[:, None]";
const COUNT: &str = "tl.div_rn(total, ((h1 - h0) * (w1 - w0)).to(tl.float32))";

/// A template, a text of its kernel, and what it may become.
const RIGHT: [(&str, &str, &str); 11] = [
    ("batchnorm2d", FACTOR, "x.to(tl.float32) * factor[:, None] + (bias.to(tl.float32) - mean.to(tl.float32) * factor)[:, None]"),
    (
        "batchnorm2d",
        "tl.div_rn(scale.to(tl.float32), tl.sqrt_rn(var.to(tl.float32) + EPSILON))",
        "scale * tl.rsqrt(var + EPSILON)",
    ),
    ("adaptive_avgpool2d", COUNT, "total * (1.0 / ((h1 - h0) * (w1 - w0)).to(tl.float32))"),
    ("adaptive_avgpool2d", COUNT, "total / (BIN_H * BIN_W)"),
    ("adaptive_avgpool2d", "BT=64", "BT=16"),
    ("avgpool2d", "tl.div_rn(total, count)", "total * (1.0 / count)"),
    ("avgpool2d", "tl.div_rn(total, count)", "total / count"),
    (
        "matmul",
        "acc += tl.dot(left, right, input_precision=PRECISION)",
        "acc = tl.dot(left, right, acc, input_precision=PRECISION)",
    ),
    ("matmul", "(m[:, None] < M) & (k[None, :] < K)", "(k[None, :] < K) & (m[:, None] < M)"),
    ("softmax", "tl.exp(x - tl.max(x))", "tl.exp2((x - tl.max(x)) * 1.4426950408889634)"),
    ("softmax", "tl.div_rn(power, tl.sum(power))", "power / tl.sum(power)"),
];

/// The same places, wrong.
const WRONG: [(&str, &str, &str); 5] = [
    ("batchnorm2d", FACTOR, "x.to(tl.float32) * factor[:, None] + (bias.to(tl.float32) - mean.to(tl.float32))[:, None]"),
    ("adaptive_avgpool2d", COUNT, "total * (1.0 / ((h1 - h0) * (w1 - w0) + 1).to(tl.float32))"),
    ("adaptive_avgpool2d", COUNT, "total * 0.0158"),
    ("avgpool2d", "tl.div_rn(total, count)", "total * 0.1111"),
    ("avgpool2d", "for r in range(KERNEL_H)", "for r in range(1, KERNEL_H)"),
];

#[test]
fn what_is_as_right_passes_and_what_looks_like_it_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("equivalent.onnx");
    std::fs::write(&model, onnx_text::bytes(MODEL)).unwrap();
    let suite = folder.path().join("suite");
    let report = decompose(&Options { model, fuse: Level::None, output: Some(suite.clone()), jobs: 2, ..Options::default() });
    assert!(report.fully_verified());
    let right = RIGHT.iter().map(|case| (case, true));
    for (&(template, from, to), holds) in right.chain(WRONG.iter().map(|case| (case, false))) {
        let file = kernel_file(&suite, template);
        let before = std::fs::read(&file).unwrap();
        edit(&file, from, to);
        let asked = Verification { only: Some(template.to_owned()), mends: false, ..Verification::default() };
        let report = verified(&suite, &asked);
        let found: Vec<String> = report.diagnostics().map(|d| format!("{d} {:?}", d.notes)).collect();
        assert_eq!(found.is_empty(), holds, "{template}: `{from}` → `{to}`: {found:?}");
        std::fs::write(&file, before).unwrap();
    }
}
