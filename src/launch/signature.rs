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
        "fp8e4b8" => "f8e4m3fnuz",
        "fp8e5b16" => "f8e5m2fnuz",
        "i1" | "b1" => "bool",
        other => other,
    };
    DType::from_name(short)
        .or_else(|| DType::ALL.into_iter().find(|dtype| [dtype.torch_name(), dtype.triton_name()].contains(&name)))
}

/// What is known of a parameter: a pointer `*f32`; a run-time `i32`, `i64`, `u32`, `u64`, `bool` or `f32`; a tensor
/// descriptor `tensordesc<f16[64, 64]>`; several of these as one, `[*f32, i32]`; an element type `tl.float32`; a function of the
/// file, `fn:NAME`; or else the value of a Python expression.
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
        "u32" | "uint32" => return Ok(ArgSpec::Unsigned { bits: 32 }),
        "u64" | "uint64" => return Ok(ArgSpec::Unsigned { bits: 64 }),
        "bool" | "i1" => return Ok(ArgSpec::Bool),
        "f32" | "fp32" | "float32" => return Ok(ArgSpec::Float),
        _ => {}
    }
    if let Some(name) = text.strip_prefix("fn:") {
        return Ok(ArgSpec::Function(name.trim().to_owned()));
    }
    if let Some(to) = text.strip_prefix("tl.").and_then(dtype) {
        return Ok(ArgSpec::Type(to));
    }
    if let Some((name, block)) =
        text.strip_prefix("tensordesc<").and_then(|t| t.strip_suffix("]>")).and_then(|t| t.split_once('['))
        && let Some(to) = dtype(name.trim())
        && let Ok(block) = block.split(',').map(|size| size.trim().parse::<usize>()).collect()
    {
        return Ok(ArgSpec::Descriptor { dtype: to, block });
    }
    if let Some(items) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        let items = members(items);
        return Ok(ArgSpec::Tuple(items.into_iter().map(argument).collect::<Result<_>>()?));
    }
    let file = SourceFile::new("argument", text);
    let nothing: &[(&str, Constant)] = &[];
    Ok(ArgSpec::Constexpr(eval::evaluate(&file, &parse_expression(&file)?, nothing)?))
}

/// Splits at the commas that stand in no bracket.
fn members(text: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0usize, 0);
    let mut list = Vec::new();
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                list.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    list.push(&text[start..]);
    list.retain(|item| !item.trim().is_empty());
    list
}

/// The same argument as text.
pub fn text(spec: &ArgSpec) -> String {
    match spec {
        ArgSpec::Pointer(to) => format!("*{to}"),
        ArgSpec::Int { bits } => format!("i{bits}"),
        ArgSpec::Float => "f32".to_owned(),
        ArgSpec::Constexpr(value) => value.to_string(),
        ArgSpec::Unsigned { bits } => format!("u{bits}"),
        ArgSpec::Bool => "bool".to_owned(),
        ArgSpec::Type(dtype) => format!("tl.{}", dtype.triton_name()),
        ArgSpec::Function(name) => format!("fn:{name}"),
        ArgSpec::Tuple(items) => format!("[{}]", items.iter().map(self::text).collect::<Vec<_>>().join(", ")),
        ArgSpec::Descriptor { dtype, block } => {
            let block: Vec<String> = block.iter().map(usize::to_string).collect();
            format!("tensordesc<{dtype}[{}]>", block.join(", "))
        }
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
            ("u64", ArgSpec::Unsigned { bits: 64 }),
            ("tl.bfloat16", ArgSpec::Type(DType::BF16)),
            ("fn:relu", ArgSpec::Function("relu".into())),
            ("tensordesc<fp16[1, 64]>", ArgSpec::Descriptor { dtype: DType::F16, block: vec![1, 64] }),
            ("[*f32, [bool, (1, 2)]]", {
                let pair = ArgSpec::Constexpr(Constant::Tuple(vec![Constant::Int(1), Constant::Int(2)]));
                ArgSpec::Tuple(vec![ArgSpec::Pointer(DType::F32), ArgSpec::Tuple(vec![ArgSpec::Bool, pair])])
            }),
            ("(1, 2)", ArgSpec::Constexpr(Constant::Tuple(vec![Constant::Int(1), Constant::Int(2)]))),
        ] {
            assert_eq!(argument(given).unwrap(), read, "{given}");
        }
        assert_eq!(argument("*f7").unwrap_err().code.id, "S001");
        assert_eq!(argument("f16").unwrap_err().code.id, "S002");
        for written in ["*bf16", "tl.int8", "fn:f", "[u32, bool]", "tensordesc<f16[8, 16]>", "i32", "f32", "64", "'a'", "True"] {
            assert_eq!(text(&argument(written).unwrap()), written);
        }
    }
}
