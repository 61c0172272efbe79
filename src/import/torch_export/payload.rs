//! Parameters, buffers and constants: raw storages in the archive, and views of them by sizes and strides.
//!
//! `data/weights/model_weights_config.json` and `data/constants/model_constants_config.json` say for each name which
//! entry holds its storage (`path_name`; tied ones share it) and how it lies there, in elements. A pickled one is
//! refused, since to unpickle is to run code; a storage of zero bytes stands for zeros.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::archive::{Archive, damaged};
use super::dtypes::dtype;
use super::program::{SymInt, TensorMeta};
use crate::diag::{Diagnostic, codes};
use crate::import::build::limits;
use crate::shape::{self, Shape, display};
use crate::tensor::{Tensor, lanes};

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

/// A tensor's storage and how it lies there: equal for tensors that are tied.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Place {
    pub path: String,
    pub sizes: Shape,
    pub strides: Vec<i64>,
    pub offset: i64,
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
        let place = Place { path: path.clone(), sizes: sizes.clone(), strides: strides.clone(), offset };
        let bytes = self.archive.get(&path).ok_or_else(|| wrong(format!("its elements, `{path}`, are not in the archive")))?;
        if count == 0 || bytes.is_empty() {
            return Ok((Tensor::zeros(dtype, sizes), place));
        }
        let last = sizes
            .iter()
            .zip(&strides)
            .try_fold(offset, |at, (&size, &stride)| at.checked_add(stride.checked_mul(i64::try_from(size - 1).ok()?)?));
        let stored = bytes.len() / dtype.size();
        if last.and_then(|last| usize::try_from(last).ok()).is_none_or(|last| last >= stored) || bytes.len() % dtype.size() != 0 {
            let message = format!("it is {} of {dtype} from {offset} on, `{path}` has {} bytes", display(&sizes), bytes.len());
            return Err(wrong(message));
        }
        if shape::is_contiguous(&sizes, &strides) {
            let begin = offset as usize * dtype.size();
            let own = &bytes[begin..begin + count * dtype.size()];
            return Ok((Tensor::new(dtype, sizes, lanes::from_le_bytes(dtype, own)), place));
        }
        let element = dtype.size();
        let mut own = Vec::with_capacity(count * element);
        let mut at = vec![0usize; sizes.len()];
        for _ in 0..count {
            let from = at.iter().zip(&strides).fold(offset as usize, |sum, (&i, &stride)| sum + i * stride as usize) * element;
            own.extend_from_slice(&bytes[from..from + element]);
            for axis in (0..at.len()).rev() {
                at[axis] += 1;
                if at[axis] < sizes[axis] {
                    break;
                }
                at[axis] = 0;
            }
        }
        Ok((Tensor::new(dtype, sizes, lanes::from_le_bytes(dtype, &own)), place))
    }
}
