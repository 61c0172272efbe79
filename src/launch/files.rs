//! Tensors in files: `.npy`, and by name in `.safetensors`.
//!
//! A file is read whole; one beyond [`LIMIT`] is refused before.

use std::path::Path;

use crate::dtype::DType;
use crate::source::files;
use crate::tensor::{Tensor, npy, stored};

const LIMIT: u64 = 8 << 30;

/// Reads a tensor, as a type when one is named. The error is a phrase with the file's name.
pub fn read(path: &Path, tensor: Option<&str>, dtype: Option<DType>) -> Result<Tensor, String> {
    let named = |what: String| format!("{}: {what}", path.display());
    let bytes = files::bytes(path, LIMIT).map_err(|e| named(e.to_string()))?;
    if path.extension().is_some_and(|e| e == "npy") {
        let dtype = match dtype {
            Some(dtype) => dtype,
            None => npy::stored_dtype(&bytes).map_err(named)?,
        };
        return npy::read(&bytes, dtype).map_err(named);
    }
    let mut tensors = stored::read(&bytes).map_err(named)?;
    let found = match tensor {
        Some(name) => tensors.remove(name),
        None if tensors.len() == 1 => tensors.drain().next().map(|(_, tensor)| tensor),
        None => None,
    };
    let found = found.ok_or_else(|| {
        let mut names: Vec<&str> = tensors.keys().map(String::as_str).collect();
        names.sort_unstable();
        names.truncate(20);
        named(format!("it has no such tensor; name one behind a colon: {}", names.join(", ")))
    })?;
    match dtype {
        Some(dtype) if dtype != found.dtype() => Err(named(format!("it holds {}, but {dtype} is expected", found.dtype()))),
        Some(_) | None => Ok(found),
    }
}
