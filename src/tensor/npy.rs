//! Arrays in numpy's file format (`.npy`, versions 1 to 3): a header that is a Python dictionary, then
//! the elements in C or Fortran order, in either byte order.
//!
//! Source: numpy's documentation, *numpy.lib.format*.
//!
//! A file is read as the element type that its reader expects. Types that numpy lacks (bf16, fp8) come
//! as raw bytes of their size, as `ml_dtypes` stores them, or as float32 whose elements they represent
//! exactly; nothing else is converted, since a conversion would change the data that is asked about.
//!
//! What is written is version 1 in C order; types that numpy lacks are written as float32, which holds their values.
//!
//! Not read: structured and object arrays, strings, dates, complex numbers, long doubles.

use super::{Storage, Tensor, eight};
use crate::dtype::DType;
use crate::shape::{self, Shape, numel};

const MAGIC: &[u8] = b"\x93NUMPY";

/// A file's header.
#[derive(Debug, PartialEq)]
struct Header {
    /// `<f4`
    descr: String,
    fortran: bool,
    shape: Shape,
}

/// Reads a file's array of an expected type. The error is a phrase that says what is wrong.
pub fn read(bytes: &[u8], expected: DType) -> Result<Tensor, String> {
    let (header, data) = header(bytes)?;
    let (big_endian, kind) = match header.descr.split_at_checked(1) {
        Some((order @ ("<" | ">" | "|" | "="), kind)) => (order == ">", kind),
        Some(_) | None => (false, header.descr.as_str()),
    };
    let found = dtype(kind, expected).ok_or_else(|| format!("it holds elements of type {}, which is not read", header.descr))?;
    let size = found.size();
    let count = numel(&header.shape).and_then(|n| n.checked_mul(size));
    if count != Some(data.len()) {
        let shape = shape::display(&header.shape);
        return Err(format!("it holds {} bytes of elements, but {shape} of {} take another number", data.len(), header.descr));
    }
    let element = |at: usize| {
        let mut element = [0u8; 8];
        element[..size].copy_from_slice(&data[at * size..][..size]);
        if big_endian {
            element[..size].reverse();
        }
        element
    };
    let places = || (0..data.len() / size).map(place(&header));
    let floats = |of: &dyn Fn([u8; 8]) -> f32| Storage::F32(places().map(|at| of(element(at))).collect());
    let integers = |of: &dyn Fn([u8; 8]) -> i64| Storage::I64(places().map(|at| of(element(at))).collect());
    let word = |b: [u8; 8]| u16::from_le_bytes([b[0], b[1]]);
    let half_word = |b: [u8; 8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    let storage = match found {
        DType::F64 => Storage::F64(places().map(|at| f64::from_le_bytes(element(at))).collect()),
        DType::F32 => floats(&|b| f32::from_bits(half_word(b))),
        DType::F16 => floats(&|b| half::f16::from_bits(word(b)).to_f32()),
        DType::BF16 => floats(&|b| half::bf16::from_bits(word(b)).to_f32()),
        DType::F8E4M3 | DType::F8E5M2 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => floats(&|b| eight::value(found, b[0])),
        DType::I64 | DType::U64 => integers(&i64::from_le_bytes),
        DType::I32 => integers(&|b| i64::from(half_word(b) as i32)),
        DType::I16 => integers(&|b| i64::from(word(b) as i16)),
        DType::I8 => integers(&|b| i64::from(b[0] as i8)),
        DType::U32 => integers(&|b| i64::from(half_word(b))),
        DType::U16 => integers(&|b| i64::from(word(b))),
        DType::U8 => integers(&|b| i64::from(b[0])),
        DType::Bool => Storage::Bool(places().map(|at| (element(at)[0] != 0) as u8).collect()),
    };
    let tensor = Tensor::new(found, header.shape.clone(), storage);
    if found == expected { Ok(tensor) } else { narrowed(tensor, expected) }
}

/// The element type that a file holds, as far as numpy has it. The error is a phrase that says what is wrong.
pub fn stored_dtype(bytes: &[u8]) -> Result<DType, String> {
    let (header, _) = header(bytes)?;
    let kind = header.descr.trim_start_matches(['<', '>', '|', '=']);
    dtype(kind, DType::F64).ok_or_else(|| format!("it holds elements of type {}; say which type they are", header.descr))
}

/// A file's bytes.
pub fn write(tensor: &Tensor) -> Vec<u8> {
    let descr = match tensor.dtype() {
        DType::F64 => "<f8",
        DType::F32 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2 | DType::F8E4M3Fnuz | DType::F8E5M2Fnuz => "<f4",
        DType::F16 => "<f2",
        DType::I64 => "<i8",
        DType::I32 => "<i4",
        DType::I16 => "<i2",
        DType::I8 => "|i1",
        DType::U64 => "<u8",
        DType::U32 => "<u4",
        DType::U16 => "<u2",
        DType::U8 => "|u1",
        DType::Bool => "|b1",
    };
    let shape = match tensor.shape() {
        [one] => format!("({one},)"),
        sizes => format!("({})", sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // The elements begin at a multiple of 64 bytes, behind a line break.
    let prefix = MAGIC.len() + 4;
    let padded = (prefix + text.len() + 1).next_multiple_of(64) - prefix;
    text.extend(std::iter::repeat_n(' ', padded - 1 - text.len()));
    text.push('\n');
    let mut bytes = [MAGIC, &[1, 0], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
    match tensor.storage() {
        Storage::F64(lanes) => lanes.iter().for_each(|v| bytes.extend(v.to_le_bytes())),
        Storage::F32(lanes) if tensor.dtype() == DType::F16 => {
            lanes.iter().for_each(|v| bytes.extend(half::f16::from_f32(*v).to_le_bytes()));
        }
        Storage::F32(lanes) => lanes.iter().for_each(|v| bytes.extend(v.to_le_bytes())),
        Storage::I64(lanes) => lanes.iter().for_each(|v| bytes.extend(&v.to_le_bytes()[..tensor.dtype().size()])),
        Storage::Bool(lanes) => bytes.extend(lanes),
    }
    bytes
}

/// The element type of a kind such as `f4`; raw bytes are what is expected, when their size fits.
fn dtype(kind: &str, expected: DType) -> Option<DType> {
    Some(match kind {
        "f8" => DType::F64,
        "f4" => DType::F32,
        "f2" => DType::F16,
        "i8" => DType::I64,
        "i4" => DType::I32,
        "i2" => DType::I16,
        "i1" => DType::I8,
        "u8" => DType::U64,
        "u4" => DType::U32,
        "u2" => DType::U16,
        "u1" => DType::U8,
        "b1" => DType::Bool,
        "V2" if expected == DType::BF16 => expected,
        "V1" | "f1" if numpy_lacks(expected) && expected.size() == 1 => expected,
        _ => return None,
    })
}

fn numpy_lacks(dtype: DType) -> bool {
    dtype == DType::BF16 || dtype.is_fp8()
}

/// float32 elements as those of a type that numpy lacks, when it has each of them.
fn narrowed(tensor: Tensor, expected: DType) -> Result<Tensor, String> {
    let Some(lanes) = tensor.as_f32().filter(|_| tensor.dtype() == DType::F32 && numpy_lacks(expected)) else {
        return Err(format!("it holds {}, but {expected} is expected: convert it where it is made (x.astype)", tensor.dtype()));
    };
    let fits = |v: f32| v.is_nan() || expected.round(f64::from(v)) == f64::from(v);
    if let Some(other) = lanes.iter().copied().find(|&v| !fits(v)) {
        return Err(format!("it holds {other}, which is no {expected}: round it where it is made"));
    }
    let shape = Shape::from_slice(tensor.shape());
    Ok(Tensor::new(expected, shape, tensor.into_storage()))
}

/// Where each element, by its place in row-major order, lies in the file.
fn place(header: &Header) -> impl Fn(usize) -> usize {
    let shape = header.shape.as_slice();
    // A stride for each axis of a file in Fortran order, the last axis first.
    let mut axes: Vec<(usize, usize)> = Vec::new();
    if header.fortran {
        let mut stride = 1;
        for &size in shape {
            axes.insert(0, (size, stride));
            // Of an array without elements, which has no places, it may be anything.
            stride = stride.wrapping_mul(size);
        }
    }
    move |flat| {
        let (mut rest, mut at) = (flat, 0);
        for &(size, stride) in &axes {
            at += rest % size * stride;
            rest /= size;
        }
        if axes.is_empty() { flat } else { at }
    }
}

/// The header, and the elements behind it.
fn header(bytes: &[u8]) -> Result<(Header, &[u8]), String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is no .npy file")?;
    let cut = || "it ends within its header".to_owned();
    let (version, rest) = rest.split_at_checked(2).ok_or_else(cut)?;
    let (length, rest) = match version[0] {
        1 => rest.split_at_checked(2).map(|(n, rest)| (u16::from_le_bytes([n[0], n[1]]) as usize, rest)),
        2 | 3 => rest.split_at_checked(4).map(|(n, rest)| (u32::from_le_bytes([n[0], n[1], n[2], n[3]]) as usize, rest)),
        other => return Err(format!("it is version {other} of the .npy format, and 1 to 3 are read")),
    }
    .ok_or_else(cut)?;
    let (text, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let text = std::str::from_utf8(text).map_err(|_| "its header is not UTF-8")?;
    Ok((dictionary(text)?, data))
}

/// `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`
fn dictionary(text: &str) -> Result<Header, String> {
    let value = |key: &str| {
        let at = text.find(&format!("'{key}'"))?;
        text[at + key.len() + 2..].trim_start().strip_prefix(':').map(str::trim_start)
    };
    let absent = |key: &str| format!("its header has no readable `{key}`: {}", text.trim());
    let descr = value("descr").ok_or_else(|| absent("descr"))?;
    if descr.starts_with('[') {
        return Err("it is a structured array".to_owned());
    }
    let descr = descr.strip_prefix('\'').and_then(|rest| rest.split_once('\'')).ok_or_else(|| absent("descr"))?.0;
    let order = value("fortran_order").ok_or_else(|| absent("fortran_order"))?;
    let fortran = match (order.starts_with("True"), order.starts_with("False")) {
        (true, _) => true,
        (_, true) => false,
        (false, false) => return Err(absent("fortran_order")),
    };
    let sizes = value("shape").and_then(|rest| rest.strip_prefix('(')?.split_once(')')).ok_or_else(|| absent("shape"))?.0;
    let sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
    let shape = sizes.map(|size| size.trim_end_matches('L').parse().ok()).collect::<Option<Shape>>();
    Ok(Header { descr: descr.to_owned(), fortran, shape: shape.ok_or_else(|| absent("shape"))? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as numpy writes it.
    fn file(version: u8, descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let text = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = [MAGIC, &[version, 0]].concat();
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn versions_and_orders() {
        let expected = Tensor::from_f32(Shape::from_slice(&[2, 3]), vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        for version in 1..=3 {
            let bytes = file(version, "<f4", "False", "(2, 3)", &floats(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
            assert_eq!(read(&bytes, DType::F32).unwrap(), expected, "version {version}");
        }
        let columns = file(1, "<f4", "True", "(2, 3)", &floats(&[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]));
        assert_eq!(read(&columns, DType::F32).unwrap(), expected);
        let big: Vec<u8> = [0f32, 1.0, 2.0, 3.0, 4.0, 5.0].iter().flat_map(|v| v.to_be_bytes()).collect();
        assert_eq!(read(&file(1, ">f4", "False", "(2, 3)", &big), DType::F32).unwrap(), expected);
        let cube: Vec<u8> = (0..24).map(|at| ((at % 2) * 12 + (at / 2 % 3) * 4 + at / 6) as u8).collect();
        let cube = read(&file(1, "|u1", "True", "(2, 3, 4)", &cube), DType::U8).unwrap();
        assert_eq!(cube.as_i64().unwrap(), (0..24).collect::<Vec<i64>>());
    }

    #[test]
    fn what_is_written_is_read() {
        for dtype in DType::ALL {
            let lanes = [0.0, 1.0, 3.0, 2.0, 1.0, 0.0];
            let storage = match dtype.carrier() {
                crate::dtype::Carrier::F64 => Storage::F64(lanes.to_vec()),
                crate::dtype::Carrier::F32 => Storage::F32(lanes.iter().map(|&v| v as f32).collect()),
                crate::dtype::Carrier::I64 => Storage::I64(lanes.iter().map(|&v| v as i64).collect()),
                crate::dtype::Carrier::Bool => Storage::Bool(lanes.iter().map(|&v| u8::from(v != 0.0)).collect()),
            };
            let tensor = Tensor::new(dtype, Shape::from_slice(&[2, 3]), storage);
            let bytes = write(&tensor);
            assert_eq!((bytes.len() - 6 * if numpy_lacks(dtype) { 4 } else { dtype.size() }) % 64, 0);
            assert_eq!(read(&bytes, dtype).unwrap(), tensor);
            assert_eq!(stored_dtype(&bytes).unwrap(), if numpy_lacks(dtype) { DType::F32 } else { dtype });
        }
        assert!(stored_dtype(&file(1, "|V2", "False", "(1,)", &[0, 0])).unwrap_err().contains("say which type"));
    }

    #[test]
    fn scalars_and_empty_arrays() {
        assert_eq!(read(&file(1, "<f4", "False", "()", &floats(&[7.5])), DType::F32).unwrap().shape(), [0usize; 0]);
        assert_eq!(read(&file(1, "<f4", "False", "(5,)", &floats(&[1.0; 5])), DType::F32).unwrap().shape(), [5]);
        assert_eq!(read(&file(1, "<f4", "True", "(0, 3)", &[]), DType::F32).unwrap().len(), 0);
    }

    #[test]
    fn every_type_is_read() {
        let lane = |descr: &str, dtype: DType, data: &[u8]| {
            let tensor = read(&file(1, descr, "False", "(1,)", data), dtype).unwrap();
            assert_eq!(tensor.dtype(), dtype);
            tensor.storage().get_f64(0)
        };
        assert_eq!(lane("<f8", DType::F64, &1.1f64.to_le_bytes()), 1.1);
        assert_eq!(lane("<f2", DType::F16, &half::f16::from_f32(-1.5).to_bits().to_le_bytes()), -1.5);
        assert_eq!(lane("<V2", DType::BF16, &half::bf16::from_f32(-1.5).to_bits().to_le_bytes()), -1.5);
        assert_eq!(lane("|V1", DType::F8E4M3, &[0xC4]), -3.0);
        assert_eq!(lane("|V1", DType::F8E4M3, &[1]), (-9f64).exp2());
        assert!(lane("|V1", DType::F8E4M3, &[0x7F]).is_nan());
        assert_eq!(lane("|V1", DType::F8E5M2, &[0xC2]), -3.0);
        assert_eq!(lane("<i8", DType::I64, &(-7i64).to_le_bytes()), -7.0);
        assert_eq!(lane("<i4", DType::I32, &(-7i32).to_le_bytes()), -7.0);
        assert_eq!(lane("<i2", DType::I16, &(-7i16).to_le_bytes()), -7.0);
        assert_eq!(lane("|i1", DType::I8, &(-7i8).to_le_bytes()), -7.0);
        assert_eq!(lane("<u8", DType::U64, &7u64.to_le_bytes()), 7.0);
        assert_eq!(lane("<u4", DType::U32, &u32::MAX.to_le_bytes()), f64::from(u32::MAX));
        assert_eq!(lane("<u2", DType::U16, &u16::MAX.to_le_bytes()), f64::from(u16::MAX));
        assert_eq!(lane("|u1", DType::U8, &[255]), 255.0);
        assert_eq!(lane("|b1", DType::Bool, &[1]), 1.0);
        // Rounded to the type already.
        assert_eq!(lane("<f4", DType::BF16, &floats(&[1.5])), 1.5);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |bytes: &[u8], dtype| read(bytes, dtype).unwrap_err();
        let good = file(1, "<f4", "False", "(2,)", &floats(&[0.1, 1.0]));
        assert_eq!(said(b"PK\x03\x04", DType::F32), "it is no .npy file");
        assert_eq!(said(&good[..20], DType::F32), "it ends within its header");
        assert!(said(&good[..good.len() - 1], DType::F32).starts_with("it holds 7 bytes of elements, but 2 of <f4"));
        assert_eq!(said(&good, DType::F64), "it holds f32, but f64 is expected: convert it where it is made (x.astype)");
        assert_eq!(said(&good, DType::BF16), "it holds 0.1, which is no bf16: round it where it is made");
        assert!(said(&file(4, "<f4", "False", "(2,)", &[]), DType::F32).contains("version 4"));
        assert!(said(&file(1, "<c8", "False", "(1,)", &[0; 8]), DType::F32).contains("<c8, which is not read"));
        assert!(said(&file(1, "<f4", "Maybe", "(1,)", &[0; 4]), DType::F32).contains("`fortran_order`"));
        assert!(said(&file(1, "<f4", "False", "(-1,)", &[]), DType::F32).contains("`shape`"));
        let beyond = format!("({0}, {0})", usize::MAX);
        assert!(said(&file(1, "<f4", "False", &beyond, &[]), DType::F32).contains("0 bytes"));
        let structured = String::from_utf8_lossy(&file(1, "X", "False", "(1,)", &[])[10..]).replace("'X'", "[('a', '<f4')]");
        assert_eq!(dictionary(&structured).unwrap_err(), "it is a structured array");
    }
}
