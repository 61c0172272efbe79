//! Argument types as a user writes them: `*f32`, `i32`, `fp16`, or a Python constant for a constexpr.

use crate::diag::Result;
use crate::dtype::DType;
use crate::kernel::ArgSpec;
use crate::source::SourceFile;
use crate::syntax::{Constant, eval, parse_expression};

/// An element type under any of the names that people use: `f32`, `float32`, `fp32`, `int1`, `float8e4nv`.
pub fn dtype(name: &str) -> Option<DType> {
    let short = match name {
        "fp64" => "f64",
        "fp32" | "float" => "f32",
        "fp16" | "half" => "f16",
        "fp8e4nv" => "f8e4m3",
        "fp8e5" => "f8e5m2",
        "i1" | "b1" => "bool",
        other => other,
    };
    DType::from_name(short)
        .or_else(|| DType::ALL.into_iter().find(|dtype| [dtype.torch_name(), dtype.triton_name()].contains(&name)))
}

/// What is known of a parameter: a pointer `*f32`, a run-time `i32`, `i64` or `f32`, or else the value of a Python
/// expression.
///
/// # Errors
/// S001 or S002 when it is neither.
pub fn argument(text: &str) -> Result<ArgSpec> {
    let text = text.trim();
    if let Some(to) = text.strip_prefix('*').and_then(|name| dtype(name.trim())) {
        return Ok(ArgSpec::Pointer(to));
    }
    match text {
        "i32" | "int32" => return Ok(ArgSpec::Int { bits: 32 }),
        "i64" | "int64" => return Ok(ArgSpec::Int { bits: 64 }),
        "f32" | "fp32" | "float32" => return Ok(ArgSpec::Float),
        _ => {}
    }
    let file = SourceFile::new("argument", text);
    let nothing: &[(&str, Constant)] = &[];
    Ok(ArgSpec::Constexpr(eval::evaluate(&file, &parse_expression(&file)?, nothing)?))
}

/// The same argument as text.
pub fn text(spec: &ArgSpec) -> String {
    match spec {
        ArgSpec::Pointer(to) => format!("*{to}"),
        ArgSpec::Int { bits } => format!("i{bits}"),
        ArgSpec::Float => "f32".to_owned(),
        ArgSpec::Constexpr(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_constants() {
        for (given, read) in [
            ("*f32", ArgSpec::Pointer(DType::F32)),
            ("*fp16", ArgSpec::Pointer(DType::F16)),
            ("*bfloat16", ArgSpec::Pointer(DType::BF16)),
            ("*float8e4nv", ArgSpec::Pointer(DType::F8E4M3)),
            ("i64", ArgSpec::Int { bits: 64 }),
            ("fp32", ArgSpec::Float),
            ("64", ArgSpec::Constexpr(Constant::Int(64))),
            ("'ieee'", ArgSpec::Constexpr(Constant::Str("ieee".into()))),
            ("None", ArgSpec::Constexpr(Constant::None)),
            ("(1, 2)", ArgSpec::Constexpr(Constant::Tuple(vec![Constant::Int(1), Constant::Int(2)]))),
        ] {
            assert_eq!(argument(given).unwrap(), read, "{given}");
        }
        assert_eq!(argument("*f7").unwrap_err().code.id, "S001");
        assert_eq!(argument("f16").unwrap_err().code.id, "S002");
        for written in ["*bf16", "i32", "f32", "64", "'a'", "True"] {
            assert_eq!(text(&argument(written).unwrap()), written);
        }
    }
}
