//! Emulates a suite's whole model and prints the emulator's CPU seconds, process start, reference and
//! weight preparation excluded: the best of several runs, one thread.
//!
//! usage: cargo bench --bench model -- SUITE MODEL.onnx FOLDER
//!
//! Writes into FOLDER what another runtime needs to compute the same: `model.onnx` (MODEL with the
//! suite's weights as initializers), `input_<i>.f32` and our `output_<i>.f32`, raw and little-endian.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use decompose::conform::chain;
use decompose::conform::execute::Executor;
use decompose::conform::subject::Subject;
use decompose::conform::truth;
use decompose::emit;
use decompose::emulate::Options;
use decompose::graph::Producer;
use decompose::tensor::{Storage, Tensor};
use prost::Message;
use tract_onnx::pb::{ModelProto, TensorProto, tensor_proto};

const RUNS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo appends `--bench` to a bench's arguments.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [suite, model, folder] = words.as_slice() else { return Err("usage: SUITE MODEL.onnx FOLDER".into()) };
    let subject = Subject::read(suite, &emit::read(Path::new(suite))?)?;
    let executor = Executor::new(&subject.modules, Options::default());
    let (mut best, mut outputs) = (f64::INFINITY, Vec::new());
    for _ in 0..RUNS {
        let (cost, tensors) = chain::emulate(&subject, &executor)?;
        best = best.min(cost.cpu_seconds);
        outputs = tensors;
    }
    let folder = Path::new(folder);
    for (i, output) in outputs.iter().enumerate() {
        std::fs::write(folder.join(format!("output_{i}.f32")), bytes(output)?)?;
    }
    for (i, &input) in subject.imported.inputs().iter().enumerate() {
        std::fs::write(folder.join(format!("input_{i}.f32")), bytes(&truth::model_input(&subject, input))?)?;
    }
    std::fs::write(folder.join("model.onnx"), with_weights(&subject, &std::fs::read(model)?)?)?;
    println!("cpu_seconds: {best:.6}");
    Ok(())
}

fn bytes(tensor: &Tensor) -> Result<Vec<u8>, Box<dyn Error>> {
    match tensor.storage() {
        Storage::F32(lanes) => Ok(lanes.iter().flat_map(|v| v.to_le_bytes()).collect()),
        Storage::F64(_) | Storage::I64(_) | Storage::Bool(_) => Err("only f32 tensors are compared".into()),
    }
}

/// The model file with every float weight replaced by the suite's.
fn with_weights(subject: &Subject, file: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut model = ModelProto::decode(file)?;
    let graph = model.graph.as_mut().ok_or("the model has no graph")?;
    let mut weights: HashMap<String, TensorProto> = HashMap::new();
    for (value, data) in subject.imported.values() {
        if matches!(data.producer, Producer::Weight(_)) && data.ty.dtype.is_float() {
            let tensor = subject.weight(value)?;
            let proto = TensorProto {
                name: data.name.clone(),
                dims: tensor.shape().iter().map(|&d| d as i64).collect(),
                data_type: tensor_proto::DataType::Float as i32,
                raw_data: bytes(&tensor)?,
                ..TensorProto::default()
            };
            weights.insert(data.name.clone(), proto);
        }
    }
    graph.node.retain(|node| !node.output.first().is_some_and(|name| weights.contains_key(name)));
    graph.initializer.retain(|tensor| !weights.contains_key(&tensor.name));
    graph.initializer.extend(weights.into_values());
    Ok(model.encode_to_vec())
}
