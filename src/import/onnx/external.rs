//! Elements that lie in other files: `TensorProto.external_data` → bytes.
//!
//! <https://onnx.ai/onnx/repo-docs/ExternalData.html>. `location` is a path relative to the model's
//! folder, `offset` and `length` are decimal numbers of bytes; without `length` the tensor's own size
//! is meant. A model file may come from anybody, so nothing outside its folder is ever opened: no absolute
//! path, no `..`, no symbolic link that leads out, and regular files alone. Several tensors may
//! share bytes.
//!
//! Not checked: `checksum` (it is optional and SHA-1); other keys are passed over.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use tract_onnx::pb::TensorProto;

use crate::diag::codes;

use super::tensor::TensorError;

/// Where a model's other files may lie.
#[derive(Clone, Debug, Default)]
pub(super) struct External {
    /// The model's folder; `None` for a model that is no file.
    folder: Option<PathBuf>,
}

impl External {
    pub fn beside(model: &Path) -> External {
        let folder = model.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        External { folder: Some(folder.to_owned()) }
    }

    /// The `needed` bytes of a tensor.
    pub fn bytes(&self, proto: &TensorProto, needed: usize) -> Result<Vec<u8>, TensorError> {
        let location = entry(proto, "location")?.filter(|location| !location.is_empty());
        let location = location.ok_or_else(|| wrong("its external data has no location"))?;
        let offset = number(proto, "offset")?.unwrap_or(0);
        let length = number(proto, "length")?.unwrap_or(needed as u64);
        if length != needed as u64 {
            return Err(wrong(format!("its external data has {length} bytes, its type and dimensions need {needed}")));
        }
        let end = offset.checked_add(length).ok_or_else(|| wrong(format!("offset {offset} and length {length} overflow")))?;
        let mut file = self.open(location)?;
        let unreadable = |error: std::io::Error| wrong(format!("`{location}` cannot be read: {error}"));
        let size = file.metadata().map_err(unreadable)?.len();
        if end > size {
            return Err(wrong(format!("bytes {offset} to {end} of `{location}` are asked for, the file has {size}")));
        }
        file.seek(SeekFrom::Start(offset)).map_err(unreadable)?;
        let mut bytes = vec![0; needed];
        file.read_exact(&mut bytes).map_err(unreadable)?;
        Ok(bytes)
    }

    fn open(&self, location: &str) -> Result<File, TensorError> {
        let folder = self.folder.as_deref();
        let folder = folder.ok_or_else(|| wrong(format!("its elements lie in `{location}`, but the model is no file")))?;
        let path = Path::new(location);
        let inside = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
        if !path.components().all(inside) {
            return Err(wrong(format!("`{location}` is not a path inside the model's folder")));
        }
        let found = folder.join(path).canonicalize().map_err(|error| match error.kind() {
            ErrorKind::NotFound => wrong(format!("the file `{location}` is not in the model's folder")),
            _ => wrong(format!("`{location}` cannot be read: {error}")),
        })?;
        let home = folder.canonicalize().map_err(|error| wrong(format!("the model's folder cannot be read: {error}")))?;
        if !found.starts_with(&home) {
            return Err(wrong(format!("`{location}` is a link out of the model's folder")));
        }
        if !found.is_file() {
            return Err(wrong(format!("`{location}` is not a regular file")));
        }
        File::open(&found).map_err(|error| wrong(format!("`{location}` cannot be read: {error}")))
    }
}

fn wrong(message: impl Into<String>) -> TensorError {
    (&codes::EXTERNAL_DATA, message.into())
}

/// The value of a key, which may stand there once.
fn entry<'p>(proto: &'p TensorProto, key: &str) -> Result<Option<&'p str>, TensorError> {
    let mut values = proto.external_data.iter().filter(|entry| entry.key == key).map(|entry| entry.value.as_str());
    match (values.next(), values.next()) {
        (first, None) => Ok(first),
        (_, Some(_)) => Err(wrong(format!("its external data has more than one {key}"))),
    }
}

fn number(proto: &TensorProto, key: &str) -> Result<Option<u64>, TensorError> {
    let parse = |text: &str| text.parse().map_err(|_| wrong(format!("{key} `{text}` is not a number of bytes")));
    entry(proto, key)?.map(parse).transpose()
}
