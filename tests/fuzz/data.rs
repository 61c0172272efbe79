//! Tensors in files: `.npy` headers by grammar, `.safetensors` that are written and damaged.

use decompose::dtype::DType;
use decompose::shape::Shape;
use decompose::tensor::{Tensor, npy, stored};

use crate::choices::Choices;
use crate::mutate::{damaged, damaged_bytes};

const DTYPES: [DType; 14] = [
    DType::F64,
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::F8E4M3,
    DType::F8E5M2,
    DType::I64,
    DType::I32,
    DType::I16,
    DType::I8,
    DType::U64,
    DType::U32,
    DType::U8,
    DType::Bool,
];

/// An array's file, whole or not quite.
pub fn npy_file(choices: &mut Choices<'_>) -> Vec<u8> {
    let descr = choices.of(&["<f4", ">f8", "|b1", "<i8", "|V2", "<f2", "<u4", "f4", "<c8", "", "<", "|S10", "é4"]);
    let shape = choices.of(&[
        "(4,)",
        "()",
        "(2, 2)",
        "(0,)",
        "(4)",
        "(-1,)",
        "(18446744073709551616,)",
        "(4294967296, 4294967296)",
        "(2, 0, 9223372036854775807)",
        "[4]",
        "4",
        "(1, 1, 1, 1, 1, 1, 1, 4)",
        "(0, 4294967296, 4294967296)",
    ]);
    let order = choices.of(&["False", "True", "false", "0"]);
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    if choices.one_in(4) {
        header = damaged(&header, choices);
    }
    if choices.one_in(3) {
        header = header.replace("'fortran_order': False, ", "");
    }
    header.push('\n');
    let version = choices.of(&[1u8, 2, 3, 0, 9]);
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    let length = if choices.one_in(6) { usize::from(u16::MAX) } else { header.len() };
    match version {
        1 => bytes.extend((length as u16).to_le_bytes()),
        _ => bytes.extend((length as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    let data = choices.of(&[16, 32, 0, 8, 4, 17]);
    bytes.extend((0..data).map(|i| (i as u8).wrapping_mul(17)));
    if choices.one_in(4) { damaged_bytes(&bytes, choices) } else { bytes }
}

/// Reads the file as every type; what is read is written and read again.
pub fn read_npy(bytes: &[u8]) {
    drop(npy::stored_dtype(bytes));
    for dtype in DTYPES {
        let Ok(tensor) = npy::read(bytes, dtype) else { continue };
        let again = npy::read(&npy::write(&tensor), dtype).unwrap_or_else(|error| panic!("as {dtype}: {error}"));
        assert!(tensor.is_same(&again), "as {dtype}: {tensor:?} and {again:?}");
    }
}

/// Two tensors of any type, with the bytes of their file damaged.
pub fn safetensors_file(choices: &mut Choices<'_>) -> Vec<u8> {
    let tensors: Vec<(String, Tensor)> = ["a", "b"]
        .iter()
        .map(|name| {
            let shape: &[usize] = choices.of(&[&[4][..], &[2, 3][..], &[0][..], &[][..]]);
            ((*name).to_owned(), Tensor::zeros(choices.of(&DTYPES), Shape::from_slice(shape)))
        })
        .collect();
    let bytes = stored::write(&tensors).unwrap_or_default();
    if choices.below(4) == 0 {
        return bytes;
    }
    let header = bytes.get(8..).and_then(|rest| rest.iter().rposition(|b| *b == b'}').map(|end| rest[..=end].to_vec()));
    match header.and_then(|header| String::from_utf8(header).ok()) {
        Some(header) if choices.below(2) == 0 => {
            let text = damaged(&header, choices);
            let mut again = (text.len() as u64).to_le_bytes().to_vec();
            again.extend(text.as_bytes());
            again.extend([0; 32]);
            again
        }
        Some(_) | None => damaged_bytes(&bytes, choices),
    }
}

pub fn read_safetensors(bytes: &[u8]) {
    if let Ok(tensors) = stored::read(bytes) {
        let mut all: Vec<(String, Tensor)> = tensors.into_iter().collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let written = stored::write(&all).unwrap_or_else(|error| panic!("{error}"));
        let again = stored::read(&written).unwrap_or_else(|error| panic!("{error}"));
        all.iter().for_each(|(name, tensor)| assert!(again.get(name).is_some_and(|t| t.is_same(tensor)), "{name}"));
    }
}

/// The archives of `tests/import/programs.bin`, which holds names and archives, each behind its length.
pub fn archives() -> Vec<&'static [u8]> {
    let mut rest = include_bytes!("../import/programs.bin").as_slice();
    let mut pieces = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk() {
        let (piece, behind) = behind.split_at(u64::from_le_bytes(*length) as usize);
        pieces.push(piece);
        rest = behind;
    }
    pieces.into_iter().skip(1).step_by(2).collect()
}
