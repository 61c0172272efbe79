//! Import against ONNX's own node tests, and against programs that torch exported ([`torch`]): a case is imported,
//! evaluated by the reference, and compared with the outputs that ONNX publishes or torch computed. This is what
//! catches a wrong lowering: everything later in the pipeline takes the imported graph for the truth.

#[path = "import/torch.rs"]
mod torch;

use decompose::diag::render::render;
use decompose::dtype::DType;
use decompose::graph::{Graph, Producer, Weight};
use decompose::import::{Binding, Imported, onnx};
use decompose::reference::{self, Env, Math};
use decompose::tensor::{Storage, Tensor};
use prost::Message;
use tract_onnx::pb::{ModelProto, TensorProto};

/// The cases' tensors are read here in a few lines of their own: typed fields or raw bytes.
fn tensor(proto: &TensorProto) -> Tensor {
    let shape: Vec<usize> = proto.dims.iter().map(|&d| d as usize).collect();
    let raw = proto.raw_data.as_slice();
    let integers = |dtype: DType| {
        let signed = |bytes: &[u8]| {
            let wide = bytes.iter().rev().fold(0i64, |value, &byte| value << 8 | i64::from(byte));
            dtype.wrap(wide)
        };
        Tensor::new(dtype, shape.as_slice(), Storage::I64(raw.chunks(dtype.size()).map(signed).collect()))
    };
    let floats = |dtype: DType, lanes: Vec<f32>| Tensor::new(dtype, shape.as_slice(), Storage::F32(lanes));
    match proto.data_type {
        1 => floats(DType::F32, raw.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect()),
        2 => integers(DType::U8),
        3 => integers(DType::I8),
        4 => integers(DType::U16),
        5 => integers(DType::I16),
        6 => integers(DType::I32),
        7 => integers(DType::I64),
        9 => Tensor::new(DType::Bool, shape.as_slice(), Storage::Bool(raw.to_vec())),
        10 => floats(DType::F16, raw.as_chunks().0.iter().map(|&b| half::f16::from_le_bytes(b).to_f32()).collect()),
        11 => Tensor::new(
            DType::F64,
            shape.as_slice(),
            Storage::F64(raw.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect()),
        ),
        12 => integers(DType::U32),
        13 => integers(DType::U64),
        16 => floats(DType::BF16, raw.as_chunks().0.iter().map(|&b| half::bf16::from_le_bytes(b).to_f32()).collect()),
        other => panic!("no case has the element type {other}"),
    }
}

/// ONNX's expected outputs are computed in the operator's own type, the reference computes in f64.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2e-3,
        DType::BF16 => 2e-2,
        _ if dtype.is_float() => 1e-5,
        _ => 0.0,
    }
}

/// Why an output is not the expected one.
fn difference(graph: &Graph, got: &Tensor, value: decompose::graph::ValueId, want: &Tensor) -> Option<String> {
    if graph.dtype(value) != want.dtype() || got.shape() != want.shape() {
        return Some(format!("{} {:?} instead of {} {:?}", graph.dtype(value), got.shape(), want.dtype(), want.shape()));
    }
    (0..want.len()).find_map(|i| {
        let (a, b) = (got.storage().get_f64(i), want.storage().get_f64(i));
        let close = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance(want.dtype()) * (1.0 + b.abs());
        (!close).then(|| format!("element {i} is {a}, not {b}"))
    })
}

/// A tensor of one number.
fn filled(ty: &decompose::graph::TensorType, number: f64) -> Tensor {
    let count = ty.shape.iter().product();
    let storage = match Storage::zeros(ty.dtype.carrier(), count) {
        Storage::F64(_) => Storage::F64(vec![number; count]),
        Storage::F32(_) => Storage::F32(vec![number as f32; count]),
        Storage::I64(_) => Storage::I64(vec![number as i64; count]),
        Storage::Bool(_) => Storage::Bool(vec![u8::from(number != 0.0); count]),
    };
    Tensor::new(ty.dtype, ty.shape.clone(), storage)
}

/// Whether an input or output is a double (11): such cases must be refused by name.
fn has_doubles(model: &ModelProto) -> bool {
    let graph = model.graph.as_ref().unwrap();
    let ty = |info: &tract_onnx::pb::ValueInfoProto| {
        let tract_onnx::pb::type_proto::Value::TensorType(ty) = info.r#type.as_ref()?.value.as_ref()?;
        Some(ty.elem_type)
    };
    graph.input.iter().chain(&graph.output).filter_map(ty).any(|number| number == 11)
}

fn run(model: &ModelProto) -> Result<(), String> {
    let name = &model.graph.as_ref().unwrap().name;
    let imported = onnx::from_bytes(name, &model.encode_to_vec(), &Binding::default()).map_err(|errors| all(&errors))?;
    if has_doubles(model) {
        let refused = imported.unsupported.iter().any(|d| d.code == &decompose::diag::codes::DTYPE_UNSUPPORTED);
        return if refused { Ok(()) } else { Err("a double is not refused".to_owned()) };
    }
    if !imported.unsupported.is_empty() {
        return Err(all(&imported.unsupported));
    }
    let tensors: Vec<_> = model.training_info[0].initialization.as_ref().unwrap().initializer.iter().map(tensor).collect();
    let (inputs, outputs) = tensors.split_at(imported.graph.inputs().len());
    agrees(imported, inputs, outputs)
}

fn all(errors: &[decompose::diag::Diagnostic]) -> String {
    errors.iter().map(|d| render(d, false)).collect::<Vec<_>>().join("\n")
}

/// Whether the reference computes these outputs of an imported model from these inputs. What the model writes comes
/// behind its outputs and is not compared.
fn agrees(imported: Imported, inputs: &[Tensor], outputs: &[Tensor]) -> Result<(), String> {
    let returned = imported.graph.outputs().len() - imported.mutates.len();
    if inputs.len() != imported.graph.inputs().len() || outputs.len() != returned {
        return Err(format!("{} inputs, {returned} outputs", imported.graph.inputs().len()));
    }
    let graph = decompose::graph::verify::verify(imported.graph).map_err(|errors| all(&errors))?;
    let mut env = Env::new();
    graph.inputs().iter().zip(inputs).for_each(|(&value, tensor)| env.set(value, tensor.clone()));
    for (value, data) in graph.values() {
        match &data.producer {
            Producer::Weight(Weight::Data(tensor)) => env.set(value, tensor.clone()),
            Producer::Weight(Weight::Filled(number)) => env.set(value, filled(&data.ty, *number)),
            Producer::Weight(Weight::Missing) | Producer::Input(_) | Producer::Node { .. } => {}
        }
    }
    let nodes = graph.topological().map_err(|_| "a cycle".to_owned())?;
    reference::evaluate(&graph, &nodes, &mut env, Math::F64).map_err(|error| render(&error, false))?;
    let differences = graph.outputs().iter().zip(outputs).find_map(|(&value, want)| {
        let got = env.get(value).ok_or("an output was not computed").ok()?;
        difference(&graph, got, value, want)
    });
    differences.map_or(Ok(()), Err)
}

#[test]
fn onnx_node_tests_hold() {
    let pack = include_bytes!("import/node_tests.bin");
    let mut rest = pack.as_slice();
    let (mut count, mut failures) = (0, Vec::new());
    while !rest.is_empty() {
        let model = ModelProto::decode_length_delimited(&mut rest).unwrap();
        count += 1;
        if let Err(why) = run(&model) {
            failures.push(format!("{}: {why}", model.graph.unwrap().name));
        }
    }
    assert_eq!(count, include_str!("import/node_tests.txt").lines().count());
    assert!(failures.is_empty(), "{} of {count} cases fail:\n{}", failures.len(), failures.join("\n"));
}
