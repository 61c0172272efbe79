//! The networks at small inputs.

use prost::Message;
use tract_onnx::pb::{ModelProto, TensorProto, tensor_shape_proto::dimension, type_proto};

/// One network.
pub struct Net {
    pub name: &'static str,
    /// The input's height and width: 32, or the smallest that its pools and reshapes allow.
    pub side: i64,
    /// What a size of the file that follows from 224×224 becomes.
    pub sizes: &'static [(i64, i64)],
    /// Launches unfused and fused.
    pub launches: [usize; 2],
}

pub const NETS: [Net; 9] = [
    Net { name: "bvlc_alexnet", side: 51, sizes: &[(9216, 256)], launches: [24, 14] },
    Net { name: "densenet121", side: 32, sizes: &[], launches: [668, 246] },
    Net { name: "inception_v1", side: 221, sizes: &[], launches: [142, 84] },
    Net { name: "inception_v2", side: 223, sizes: &[], launches: [371, 94] },
    Net { name: "resnet50", side: 193, sizes: &[], launches: [176, 57] },
    Net { name: "shufflenet", side: 224, sizes: &[], launches: [171, 75] },
    Net { name: "squeezenet", side: 32, sizes: &[], launches: [65, 39] },
    Net { name: "vgg19", side: 32, sizes: &[(25088, 512)], launches: [46, 25] },
    Net { name: "zfnet512", side: 59, sizes: &[(18432, 512)], launches: [24, 14] },
];

impl Net {
    /// The network for an input of `side`².
    pub fn model(&self) -> ModelProto {
        let path = format!("{}/tests/import/onnx_light/light_{}.onnx", env!("CARGO_MANIFEST_DIR"), self.name);
        let mut model = ModelProto::decode(std::fs::read(path).unwrap().as_slice()).unwrap();
        let graph = model.graph.as_mut().unwrap();
        for tensor in graph.initializer.iter_mut().filter(|tensor| tensor.data_type == 7) {
            self.resize(tensor);
        }
        let known: Vec<String> = graph.initializer.iter().map(|tensor| tensor.name.clone()).collect();
        for input in graph.input.iter_mut().filter(|input| !known.contains(&input.name)) {
            let Some(type_proto::Value::TensorType(ty)) = &mut input.r#type.as_mut().unwrap().value else { panic!("a tensor") };
            for dim in &mut ty.shape.as_mut().unwrap().dim[2..] {
                dim.value = Some(dimension::Value::DimValue(self.side));
            }
        }
        graph.value_info.clear();
        model
    }

    /// Integers of the file: shapes of weights and of reshapes.
    fn resize(&self, tensor: &mut TensorProto) {
        let resized = |size: i64| self.sizes.iter().find(|(from, _)| *from == size).map_or(size, |(_, to)| *to);
        tensor.int64_data.iter_mut().for_each(|size| *size = resized(*size));
        for bytes in tensor.raw_data.as_chunks_mut::<8>().0 {
            *bytes = resized(i64::from_le_bytes(*bytes)).to_le_bytes();
        }
    }
}
