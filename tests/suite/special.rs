//! Kernels that are right on ordinary numbers alone: stand-ins for −∞, and results that are changed where they are
//! large or no numbers. Each edit of one kernel must be found; the kernels as emitted must pass.

use std::path::Path;

use decompose::dtype::DType;
use decompose::fuse::Level;
use decompose::pipeline::Options;

use crate::pages::onnx_text;
use crate::support::{decompose, verify};

/// A padded pool, an average, a normalisation, a product and a softmax.
const MODEL: &str = r#"
< ir_version: 8, opset_import: ["" : 17] >
special (float[2, 4, 6, 6] x) => (float[2, 5] y, float[2, 4, 3, 3] a)
< float[4] g = {1, 0.5, 2, 0.7}, float[4] b = {0.1, 0, -0.3, 1}, float[4] m = {0, 0.2, -0.1, 0.4}, float[4] v = {1, 0.8, 1.2, 0.9},
  float[4, 5] w = {0.3, -0.7, 1.1, 0.9, -0.2, 0.4, 0.8, -0.6, 0.1, 0.5, -1.2, 0.7, 0.2, -0.4, 1, 0.6, -0.9, 0.3, 0.8, -0.1} >
{
    p = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(x)
    n = BatchNormalization(p, g, b, m, v)
    a = AveragePool<kernel_shape = [2, 2], pads = [1, 1, 0, 0]>(n)
    s = GlobalAveragePool(n)
    f = Flatten(s)
    l = MatMul(f, w)
    y = Softmax(l)
}
"#;

/// Edits of the kernel of a template: what stands there, and what is right on ordinary numbers alone.
const EDITS: [(&str, &str, &str); 16] = [
    ("softmax", "other=float(\"-inf\")", "other=-100.0"),
    ("softmax", "other=float(\"-inf\")", "other=-3e4"),
    ("softmax", "tl.max(x)", "tl.maximum(tl.max(x), -1e4)"),
    ("maxpool2d", "other=float(\"-inf\")", "other=-10.0"),
    ("maxpool2d", "other=float(\"-inf\")", "other=-3e4"),
    ("maxpool2d", "(BP, BQ), float(\"-inf\")", "(BP, BQ), -10.0"),
    ("maxpool2d", "(BP, BQ), float(\"-inf\")", "(BP, BQ), -3e4"),
    ("maxpool2d", "        best,\n", "        tl.minimum(best, 100.0),\n"),
    ("avgpool2d", "        y,\n", "        tl.minimum(y, 1000.0),\n"),
    ("avgpool2d", "        y,\n", "        tl.where(y == float(\"inf\"), 1.0, y),\n"),
    ("avgpool2d", "        y,\n", "        tl.where(y == float(\"-inf\"), 1.0, y),\n"),
    ("adaptive_avgpool2d", "        y,\n", "        tl.where(y == float(\"-inf\"), 1.0, y),\n"),
    ("batchnorm2d", "        y,\n", "        tl.where(tl.abs(y) > 100.0, 100.0, y),\n"),
    ("batchnorm2d", "        y,\n", "        tl.where(y == float(\"inf\"), 1.0, y),\n"),
    ("matmul", "        acc,\n", "        tl.where(tl.abs(acc) > 100.0, 100.0, acc),\n"),
    ("matmul", "        acc,\n", "        tl.where(acc == float(\"inf\"), 1.0, acc),\n"),
];

fn suite(folder: &Path, dtype: DType) -> Options {
    let model = folder.join("special.onnx");
    std::fs::write(&model, onnx_text::bytes(MODEL)).unwrap();
    Options { model, dtype: Some(dtype), fuse: Level::None, output: Some(folder.join("suite")), jobs: 2, ..Options::default() }
}

#[test]
fn what_is_right_on_ordinary_numbers_alone_is_found() {
    for dtype in [DType::F32, DType::F16] {
        let folder = tempfile::tempdir().unwrap();
        let report = decompose(&suite(folder.path(), dtype));
        let found: Vec<String> = report.diagnostics().map(|d| d.to_string()).collect();
        assert!(report.fully_verified(), "{dtype}: {found:?}");
        let root = report.suite.clone().unwrap();
        for (template, from, to) in EDITS {
            let layer = report.layers.iter().find(|layer| layer.template == template);
            let file = root.join(&layer.unwrap_or_else(|| panic!("no layer of {template}")).kernel);
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.contains(from), "{template} has no `{from}`:\n{text}");
            std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
            let (edited, codes) = verify(&root);
            assert!(!edited.fully_verified(), "{dtype} {template}: `{from}` → `{to}` passes");
            let said = edited.diagnostics().any(|d| d.notes.iter().any(|note| note == "pass: special values"));
            assert!(said, "{dtype} {template}: `{from}` → `{to}`: {codes:?}");
            std::fs::write(&file, text).unwrap();
        }
    }
}

/// Pointwise operators, in a suite of one kernel each.
fn pointwise(folder: &Path, input: &str, ty: &str, body: &str) -> Options {
    let text = format!(
        "< ir_version: 8, opset_import: [\"\" : 20] >\nsmall ({input}[7, 41] x) => ({ty} y)\n\
         < float[41, 5] w = {{{}}}, float k = {{1.37}}, float h = {{100}}, float s = {{7.3}} >\n{{\n{body}\n}}\n",
        (0..205).map(|i| format!("{}", f64::from(i * 37 % 101) / 64.0 - 0.8)).collect::<Vec<_>>().join(", ")
    );
    let model = folder.join("small.onnx");
    std::fs::write(&model, onnx_text::bytes(&text)).unwrap();
    Options { model, output: Some(folder.join("suite")), jobs: 2, ..Options::default() }
}

#[test]
fn branches_and_types_that_ordinary_numbers_do_not_need_are_found() {
    let cases = [
        ("int64", "int64[7, 41]", "y = Add(x, x)", "y, mask=e < E)", "y.to(tl.int32).to(tl.int64), mask=e < E)"),
        ("int64", "int64[7, 41]", "y = Add(x, x)", "y, mask=e < E)", "y.to(tl.float32).to(tl.int64), mask=e < E)"),
        ("int64", "int64[7, 41]", "y = Add(x, x)", "y = a + b", "y = a.to(tl.int32) + b.to(tl.int32)"),
        ("float", "float[7, 41]", "y = Gelu(x)", "y, mask=e < E)", "tl.where(x > 2.0, x, y), mask=e < E)"),
        ("float", "float[7, 41]", "y = Softplus(x)", "y, mask=e < E)", "tl.where(x > 6.0, x, y), mask=e < E)"),
        ("float", "float[7, 41]", "y = Abs(x)", "y, mask=e < E)", "y.to(tl.float16).to(tl.float32), mask=e < E)"),
    ];
    for (input, ty, body, from, to) in cases {
        let folder = tempfile::tempdir().unwrap();
        let report = decompose(&pointwise(folder.path(), input, ty, body));
        assert!(report.fully_verified(), "{body}");
        let root = report.suite.clone().unwrap();
        let file = root.join(&report.layers[0].kernel);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{body} has no `{from}`:\n{text}");
        std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
        assert!(!verify(&root).0.fully_verified(), "{body}: `{from}` → `{to}` passes");
    }
}

#[test]
fn what_types_cannot_hold_is_no_fault() {
    let cases = [
        ("float", "int64[7, 41]", "y = Cast<to = 7>(x)", None),
        ("int64", "int64[7, 41]", "p = Mul(x, x)\nq = Mul(p, x)\ny = Mul(q, x)", None),
        ("float", "float[7, 41]", "y = Sigmoid(x)", None),
        ("float", "float[7, 41]", "p = Sigmoid(x)\ny = Mul(x, p)", Some(DType::BF16)),
        ("float", "float[7, 41]", "h1 = Mul(x, h)\ny = Exp(h1)", None),
        ("float", "float[7, 41]", "s1 = Mul(x, s)\ny = Floor(s1)", None),
        ("float", "float[7, 5]", "v = Mul(w, k)\ny = MatMul(x, v)", Some(DType::BF16)),
        ("float", "float[7, 5]", "v = Mul(w, k)\ny = MatMul(x, v)", Some(DType::F16)),
    ];
    for (input, ty, body, dtype) in cases {
        for fuse in [Level::None, Level::Basic] {
            let folder = tempfile::tempdir().unwrap();
            let report = decompose(&Options { dtype, fuse, ..pointwise(folder.path(), input, ty, body) });
            let found: Vec<String> = report.diagnostics().map(|d| format!("{d}: {:?}", d.notes)).collect();
            assert!(report.fully_verified(), "{body} {dtype:?} {fuse:?}: {found:?}");
        }
    }
}
