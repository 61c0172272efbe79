//! Parameters, buffers and constants: raw storages in the archive, and views of them by sizes and strides.
//!
//! `data/weights/model_weights_config.json` and `data/constants/model_constants_config.json` say for each name which
//! entry holds its storage (`path_name`; tied ones share it) and how it lies there, in elements. A pickled one is
//! refused, since to unpickle is to run code; a storage of zero bytes stands for zeros.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;

use super::archive::{Archive, damaged};
use super::dtypes::dtype;
use super::program::{SymInt, TensorMeta};
use crate::diag::{Diagnostic, codes};
use crate::dtype::DType;
use crate::import::build::limits;
use crate::shape::{self, Shape, display};
use crate::tensor::{Storage, Tensor, lanes, strided};

#[derive(Deserialize)]
struct Config {
    config: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    path_name: String,
    #[serde(default)]
    use_pickle: bool,
    #[serde(default)]
    tensor_meta: Option<TensorMeta>,
}

/// Where tensors of the program have their elements.
pub struct Payload<'f> {
    file: &'f str,
    archive: &'f Archive<'f>,
    weights: BTreeMap<String, Entry>,
    constants: BTreeMap<String, Entry>,
}

/// A tensor's storage and how it lies there, in elements: equal for tensors that are tied.
#[derive(PartialEq, Eq)]
pub struct Place {
    pub path: String,
    dtype: DType,
    sizes: Shape,
    strides: Vec<i64>,
    offset: i64,
}

impl Place {
    /// Whether the stretches of one storage that two tensors span meet; those of a tensor's even and odd columns do.
    pub fn meets(&self, other: &Place) -> bool {
        let (own, other_span) = (self.span(), other.span());
        self.path == other.path && own.start < other_span.end && other_span.start < own.end
    }

    /// From the first byte to behind the last.
    fn span(&self) -> Range<i64> {
        if self.sizes.contains(&0) {
            return 0..0;
        }
        let element = self.dtype.size() as i64;
        let steps = self.sizes.iter().zip(&self.strides).map(|(&size, stride)| stride.saturating_mul(size as i64 - 1));
        let last = steps.fold(self.offset, i64::saturating_add);
        self.offset.saturating_mul(element)..last.saturating_add(1).saturating_mul(element)
    }
}

const WEIGHTS: &str = "data/weights";
const CONSTANTS: &str = "data/constants";

impl<'f> Payload<'f> {
    pub fn open(file: &'f str, archive: &'f Archive<'f>) -> Result<Payload<'f>, Box<Diagnostic>> {
        let table = |folder: &str, name: &str| -> Result<BTreeMap<String, Entry>, Box<Diagnostic>> {
            let path = format!("{folder}/{name}");
            if archive.get(&path).is_none() {
                return Ok(BTreeMap::new());
            }
            let config: Config = serde_json::from_str(archive.text(&path)?)
                .map_err(|error| damaged(file, format!("`{path}` is not what torch.export writes: {error}")))?;
            Ok(config.config)
        };
        let weights = table(WEIGHTS, "model_weights_config.json")?;
        let constants = table(CONSTANTS, "model_constants_config.json")?;
        Ok(Payload { file, archive, weights, constants })
    }

    /// The tensor of a name, and its place.
    pub fn tensor(&self, name: &str) -> Result<(Tensor, Place), Box<Diagnostic>> {
        let found = self.weights.get(name).map(|entry| (WEIGHTS, entry));
        let found = found.or_else(|| self.constants.get(name).map(|entry| (CONSTANTS, entry)));
        let wrong = |message: String| {
            Box::new(Diagnostic::new(&codes::MODEL_INITIALIZER, format!("tensor `{name}`: {message}")).in_file(self.file))
        };
        let Some((folder, entry)) = found else {
            return Err(wrong("the archive has no elements for it".to_owned()));
        };
        let refused = |message: &str| {
            Box::new(Diagnostic::new(&codes::NOT_OFFERED, format!("tensor `{name}`: {message}")).in_file(self.file))
        };
        if entry.use_pickle {
            return Err(refused("it is pickled (a subclass of torch.Tensor); unpickling runs code from the file"));
        }
        let Some(meta) = &entry.tensor_meta else { return Err(refused("it is an object, not a tensor")) };
        let dtype = dtype(meta.dtype).map_err(|other| {
            Box::new(
                Diagnostic::new(&codes::DTYPE_UNSUPPORTED, format!("tensor `{name}`: the element type {other} is not supported"))
                    .in_file(self.file),
            )
        })?;
        if meta.layout != 7 {
            return Err(refused("its layout is not strided"));
        }
        let fixed = |size: &SymInt| if let SymInt::Int(i) = size { Some(*i) } else { None };
        let sizes: Option<Shape> = meta.sizes.iter().map(|size| usize::try_from(fixed(size)?).ok()).collect();
        let strides: Option<Vec<i64>> = meta.strides.iter().map(fixed).collect();
        let offset = fixed(&meta.storage_offset);
        let (Some(sizes), Some(strides), Some(offset)) = (sizes, strides, offset) else {
            return Err(wrong("its sizes or strides are no numbers".to_owned()));
        };
        if strides.len() != sizes.len() || offset < 0 || strides.iter().any(|&stride| stride < 0) {
            return Err(wrong("its strides do not fit its sizes".to_owned()));
        }
        if let Some(message) = limits::too_large(&sizes) {
            return Err(Box::new(Diagnostic::new(&codes::MEMORY, format!("tensor `{name}` of {message}")).in_file(self.file)));
        }
        let count = shape::numel(&sizes).ok_or_else(|| wrong(format!("{} is larger than memory", display(&sizes))))?;
        let path = format!("{folder}/{}", entry.path_name);
        let place = Place { path: path.clone(), dtype, sizes: sizes.clone(), strides: strides.clone(), offset };
        let bytes = self.archive.get(&path).ok_or_else(|| wrong(format!("its elements, `{path}`, are not in the archive")))?;
        if count == 0 || bytes.is_empty() {
            return Ok((Tensor::zeros(dtype, sizes), place));
        }
        let last = sizes
            .iter()
            .zip(&strides)
            .try_fold(offset, |at, (&size, &stride)| at.checked_add(stride.checked_mul(i64::try_from(size - 1).ok()?)?));
        let end = last.and_then(|last| usize::try_from(last).ok()?.checked_add(1)?.checked_mul(dtype.size()));
        let Some(end) = end.filter(|&end| end <= bytes.len() && bytes.len() % dtype.size() == 0) else {
            let message = format!("it is {} of {dtype} from {offset} on, `{path}` has {} bytes", display(&sizes), bytes.len());
            return Err(wrong(message));
        };
        let stored = lanes::from_le_bytes(dtype, &bytes[offset as usize * dtype.size()..end]);
        if shape::is_contiguous(&sizes, &strides) {
            return Ok((Tensor::new(dtype, sizes, stored), place));
        }
        let mut own = Storage::zeros(dtype.carrier(), count);
        strided::copy(&sizes, (&mut own, 0, &shape::contiguous_strides(&sizes)), (&stored, &strides));
        Ok((Tensor::new(dtype, sizes, own), place))
    }
}
