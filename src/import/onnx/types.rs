//! Declared types of values.

use tract_onnx::pb::tensor_shape_proto::dimension::Value;
use tract_onnx::pb::{ValueInfoProto, type_proto};

use super::tensor;
use crate::import::build::sizes::{Declared, Dim};

/// Reads a declaration; `None` when it is no tensor.
pub(super) fn declared(info: &ValueInfoProto) -> Option<Declared> {
    let type_proto::Value::TensorType(ty) = info.r#type.as_ref()?.value.as_ref()?;
    let dim = |value: &Option<Value>| match value {
        Some(Value::DimValue(size)) => usize::try_from(*size).map_or(Dim::Unknown, Dim::Fixed),
        Some(Value::DimParam(name)) if !name.is_empty() => Dim::Named(name.clone()),
        Some(Value::DimParam(_)) | None => Dim::Unknown,
    };
    let dims = ty.shape.as_ref().map(|s| s.dim.iter().map(|d| dim(&d.value)).collect());
    Some(Declared { dtype: tensor::dtype(ty.elem_type), dims })
}
