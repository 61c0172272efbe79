//! A small network in every float type and precision class, and edits that must not pass in them.

use std::path::{Path, PathBuf};

use decompose::dtype::DType;
use decompose::fuse::Level;
use decompose::pipeline::{self, Options, Report};
use decompose::tolerance::Precision;
use prost::Message;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, TensorShapeProto, TypeProto,
    ValueInfoProto, attribute_proto::AttributeType, tensor_shape_proto, type_proto,
};

use crate::support::{decompose, verification, verify};

fn value(name: &str, elements: DataType, sizes: &[i64]) -> ValueInfoProto {
    let dim = |&size| tensor_shape_proto::Dimension {
        value: Some(tensor_shape_proto::dimension::Value::DimValue(size)),
        ..Default::default()
    };
    let shape = Some(TensorShapeProto { dim: sizes.iter().map(dim).collect() });
    let tensor = type_proto::Tensor { elem_type: elements as i32, shape };
    let r#type = Some(TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..Default::default() });
    ValueInfoProto { name: name.into(), r#type, ..Default::default() }
}

/// Numbers around `offset`, none of them a short binary fraction.
fn weight(name: &str, elements: DataType, sizes: &[i64], scale: f32, offset: f32) -> TensorProto {
    let len: i64 = sizes.iter().product();
    let lanes = (0..len).map(|i| offset + scale * (((i * 7919 + 13) % 101) as f32 / 50.7 - 1.0));
    let mut tensor = TensorProto { name: name.into(), data_type: elements as i32, dims: sizes.to_vec(), ..Default::default() };
    match elements {
        DataType::Float16 => tensor.int32_data = lanes.map(|v| half::f16::from_f32(v).to_bits().into()).collect(),
        DataType::Bfloat16 => tensor.int32_data = lanes.map(|v| half::bf16::from_f32(v).to_bits().into()).collect(),
        _ => tensor.float_data = lanes.collect(),
    }
    tensor
}

fn node(op: &str, inputs: &[&str], output: &str, ints: &[(&str, &[i64])]) -> NodeProto {
    let attribute = |(name, ints): &(&str, &[i64])| AttributeProto {
        name: (*name).into(),
        r#type: AttributeType::Ints as i32,
        ints: ints.to_vec(),
        ..Default::default()
    };
    NodeProto {
        op_type: op.into(),
        name: output.into(),
        input: inputs.iter().map(|&i| i.into()).collect(),
        output: vec![output.into()],
        attribute: ints.iter().map(attribute).collect(),
        ..Default::default()
    }
}

/// Conv, normalisation, residual, pools, a product with a constant, a matrix product and a softmax.
fn network(elements: DataType) -> Vec<u8> {
    let (pads, window): (&[i64], &[i64]) = (&[1, 1, 1, 1], &[3, 3]);
    let nodes = vec![
        node("Conv", &["x", "w1"], "c1", &[("pads", pads), ("kernel_shape", window)]),
        node("BatchNormalization", &["c1", "g1", "b1", "m1", "v1"], "n1", &[]),
        node("Relu", &["n1"], "r1", &[]),
        node("MaxPool", &["r1"], "p1", &[("kernel_shape", &[2, 2]), ("strides", &[2, 2])]),
        node("Conv", &["p1", "w2", "o2"], "c2", &[("kernel_shape", &[1, 1])]),
        node("BatchNormalization", &["c2", "g2", "b2", "m2", "v2"], "n2", &[]),
        node("Add", &["n2", "p1"], "a2", &[]),
        node("Relu", &["a2"], "r2", &[]),
        node("Mul", &["r2", "tenth"], "s2", &[]),
        node("GlobalAveragePool", &["s2"], "pool", &[]),
        node("Flatten", &["pool"], "flat", &[]),
        node("Gemm", &["flat", "w3", "b3"], "logits", &[]),
        node("Softmax", &["logits"], "y", &[]),
    ];
    let t = |name: &str, sizes: &[i64], scale: f32, offset: f32| weight(name, elements, sizes, scale, offset);
    let initializer = vec![
        t("w1", &[8, 4, 3, 3], 0.3, 0.0),
        t("g1", &[8], 0.25, 0.75),
        t("b1", &[8], 0.1, 0.0),
        t("m1", &[8], 0.2, 0.0),
        t("v1", &[8], 0.4, 1.0),
        t("w2", &[8, 8, 1, 1], 0.6, 0.0),
        t("o2", &[8], 0.2, 0.0),
        t("g2", &[8], 0.25, 0.75),
        t("b2", &[8], 0.1, 0.0),
        t("m2", &[8], 0.2, 0.0),
        t("v2", &[8], 0.4, 1.0),
        t("tenth", &[], 0.0, 0.1),
        t("w3", &[8, 10], 4.0, 0.0),
        t("b3", &[10], 0.3, 0.0),
    ];
    let graph = GraphProto {
        name: "g".into(),
        node: nodes,
        initializer,
        input: vec![value("x", elements, &[2, 4, 8, 8])],
        output: vec![value("y", elements, &[2, 10])],
        ..Default::default()
    };
    let opset_import = vec![OperatorSetIdProto { version: 17, ..Default::default() }];
    ModelProto { ir_version: 8, opset_import, graph: Some(graph), ..Default::default() }.encode_to_vec()
}

/// Options for the network, whose file and suite lie in a folder.
fn options(folder: &Path, elements: DataType) -> Options {
    let model = folder.join("net.onnx");
    std::fs::write(&model, network(elements)).unwrap();
    Options { model, output: Some(folder.join("suite")), jobs: 2, ..Options::default() }
}

/// Everything verified; every kernel but the softmax bit-equal on integers.
fn all_verified(report: &Report, what: &str) {
    let findings: Vec<String> = report.diagnostics().map(|d| d.to_string()).collect();
    assert_eq!(findings, Vec::<String>::new(), "{what}");
    assert!(report.fully_verified(), "{what}");
    for layer in &report.layers {
        let exact = report.verdicts[layer.verdict].bit_equal;
        let rounds = layer.template == "softmax" || layer.sources.iter().any(|(_, operator)| operator == "Mul");
        assert!(exact == Some(true) || rounds, "{what}: {} is not held to equality", layer.layer);
    }
    let chain = report.chain.as_ref().unwrap();
    assert!(chain.max_abs_err > 0.0 && chain.max_abs_err <= chain.allowed, "{what}");
}

#[test]
fn every_type_is_verified_unfused_and_fused() {
    for dtype in [DType::F16, DType::BF16] {
        for fuse in [Level::None, Level::Basic] {
            let folder = tempfile::tempdir().unwrap();
            let report = decompose(&Options { dtype: Some(dtype), fuse, ..options(folder.path(), DataType::Float) });
            all_verified(&report, &format!("{dtype} {fuse:?}"));
            let manifest = std::fs::read_to_string(folder.path().join("suite/manifest.json")).unwrap();
            assert!(manifest.contains(&format!("\"dtype\": \"{dtype}\"")) && !manifest.contains("input x: f32"));
        }
    }
}

#[test]
fn every_class_is_verified_and_named() {
    for precision in [Precision::Ieee, Precision::Tf32, Precision::Tf32x3, Precision::Bf16x6] {
        let folder = tempfile::tempdir().unwrap();
        let report = decompose(&Options { precision, ..options(folder.path(), DataType::Float) });
        all_verified(&report, precision.name());
        let conv = report.layers.iter().find(|layer| layer.template == "conv2d_resnet").unwrap();
        let text = std::fs::read_to_string(folder.path().join("suite").join(&conv.kernel)).unwrap();
        assert!(text.contains(&format!("PRECISION=\"{precision}\"")));
    }
}

#[test]
fn models_of_16_bit_floats_are_taken_as_they_are_or_widened() {
    for (elements, dtype) in [(DataType::Float16, DType::F16), (DataType::Bfloat16, DType::BF16)] {
        let folder = tempfile::tempdir().unwrap();
        let as_is = options(folder.path(), elements);
        all_verified(&decompose(&as_is), dtype.name());
        let manifest = || std::fs::read_to_string(folder.path().join("suite/manifest.json")).unwrap();
        assert!(manifest().contains(&format!("input x: {dtype}[2,4,8,8]")));
        all_verified(&decompose(&Options { dtype: Some(DType::F32), ..as_is }), "widened");
        assert!(manifest().contains("input x: f32[2,4,8,8]"));
    }
}

#[test]
fn a_class_that_the_target_lacks_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let lacking = Options {
        precision: Precision::Tf32x3,
        target: "gfx942".to_owned(),
        verify: pipeline::VerifyScope::None,
        ..options(folder.path(), DataType::Float)
    };
    let report = decompose(&lacking);
    let codes: Vec<&str> = report.problems.iter().map(|d| d.code.id).collect();
    assert_eq!(codes, ["T003"; 3]);
    assert!(report.problems[0].message.contains("no tf32x3 dot on gfx942"), "{}", report.problems[0].message);
}

/// The suite's kernel for a template, edited; the codes of what a verification finds.
fn edited(options: &Options, template: &str, from: &str, to: &str) -> Vec<&'static str> {
    let report = decompose(options);
    let suite: PathBuf = report.suite.clone().unwrap();
    let file = suite.join(&report.layers.iter().find(|layer| layer.template == template).unwrap().kernel);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{} has no `{from}`:\n{text}", file.display());
    std::fs::write(&file, text.replace(from, to)).unwrap();
    let (report, codes) = verify(&suite);
    assert!(!report.fully_verified(), "`{from}` → `{to}` passes");
    codes
}

#[test]
fn the_manifest_says_the_class_and_not_the_text() {
    for precision in [Precision::Ieee, Precision::Tf32x3, Precision::Bf16x6] {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { precision, ..options(folder.path(), DataType::Float) };
        let class = format!("PRECISION=\"{precision}\"");
        let codes = edited(&options, "conv2d_resnet", &class, "PRECISION=\"tf32\"");
        assert!(codes.contains(&"C003"), "{precision}: {codes:?}");
    }
}

#[test]
fn a_narrow_intermediate_is_caught() {
    for dtype in [DType::F16, DType::BF16] {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { dtype: Some(dtype), fuse: Level::None, ..options(folder.path(), DataType::Float) };
        let wide = "x.to(tl.float32) - mean.to(tl.float32)[:, None]";
        let codes = edited(&options, "batchnorm2d", wide, "x - mean[:, None]");
        assert!(codes.contains(&"C003"), "{dtype}: {codes:?}");
    }
}

#[test]
fn a_manifest_without_a_class_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let report = decompose(&options(folder.path(), DataType::Float));
    let file = report.suite.unwrap().join("manifest.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"precision\": \"ieee\"", "\"precision\": \"double\"")).unwrap();
    let refusal = verification(file.parent().unwrap(), None).unwrap_err();
    assert_eq!(refusal[0].code.id, "U008");
    assert!(refusal[0].message.contains("double"), "{}", refusal[0].message);
}
