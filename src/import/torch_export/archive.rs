//! The container: a zip archive whose entries are stored as they are, under one root folder.
//!
//! | entry under the root | content |
//! | --- | --- |
//! | `archive_format`, `archive_version`, `byteorder` | `pt2`, `0`, `little` |
//! | `models/model.json` | the program |
//! | `data/weights/…`, `data/constants/…` | elements of tensors, and two tables that say which |
//!
//! The root is the name under which the archive was first written, so it is found, not guessed. Nothing is unpacked:
//! an entry is a range of the file's bytes, so no entry can be larger than the archive and no name is ever a path.
//! Compressed entries are refused, which torch never writes. Sample inputs are a pickle and stay closed.

use std::collections::HashMap;
use std::io::Cursor;
use std::ops::Range;

use zip::{CompressionMethod, ZipArchive};

use crate::diag::{Code, Diagnostic, codes};
use crate::source::files::LARGEST_TEXT;

const FORMAT: &str = "archive_format";
const VERSION: &str = "archive_version";
const BYTE_ORDER: &str = "byteorder";
/// What archives of torch before 2.8 have, in another layout.
const OLD_PROGRAM: &str = "serialized_exported_program.json";

/// The archive's entries by their path under the root.
pub struct Archive<'f> {
    file: &'f str,
    bytes: &'f [u8],
    entries: HashMap<String, Range<usize>>,
}

impl<'f> Archive<'f> {
    pub fn open(file: &'f str, bytes: &'f [u8]) -> Result<Archive<'f>, Box<Diagnostic>> {
        let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| {
            damaged(file, format!("the archive cannot be read: {error}")).help("the file is cut or damaged: copy it again")
        })?;
        let mut found: HashMap<String, Range<usize>> = HashMap::new();
        for i in 0..zip.len() {
            let entry = zip.by_index_raw(i).map_err(|error| damaged(file, format!("entry {i} cannot be read: {error}")))?;
            let name = entry
                .name()
                .map_err(|error| damaged(file, format!("the name of entry {i} cannot be read: {error}")))?
                .into_owned();
            if entry.is_dir() {
                continue;
            }
            if entry.encrypted() || entry.compression() != CompressionMethod::Stored {
                let message = format!("`{name}` is compressed or encrypted; torch.export stores entries as they are");
                return Err(Box::new(damaged(file, message).help("write it again with torch.export.save")));
            }
            let start = entry.data_start().and_then(|start| usize::try_from(start).ok());
            let size = usize::try_from(entry.size()).ok();
            let range = start.zip(size).and_then(|(start, size)| Some(start..start.checked_add(size)?));
            let range = range.filter(|range| range.end <= bytes.len());
            let range = range.ok_or_else(|| damaged(file, format!("`{name}` reaches beyond the end of the file")))?;
            if found.insert(name.clone(), range).is_some() {
                return Err(Box::new(damaged(file, format!("`{name}` is there twice"))));
            }
        }
        let archive = Archive { file, bytes, entries: under_root(file, found)? };
        archive.require(FORMAT, "pt2", &codes::FILE_NOT_A_MODEL)?;
        archive.require(VERSION, "0", &codes::MODEL_VERSION)?;
        archive.require(BYTE_ORDER, "little", &codes::NOT_OFFERED)?;
        Ok(archive)
    }

    /// The bytes of an entry.
    pub fn get(&self, path: &str) -> Option<&'f [u8]> {
        self.entries.get(path).map(|range| &self.bytes[range.clone()])
    }

    /// An entry that is text.
    pub fn text(&self, path: &str) -> Result<&'f str, Box<Diagnostic>> {
        let bytes = self.get(path).ok_or_else(|| damaged(self.file, format!("`{path}` is missing in the archive")))?;
        if bytes.len() as u64 > LARGEST_TEXT {
            let message = format!("`{path}` has {} bytes, at most {LARGEST_TEXT} are read", bytes.len());
            return Err(Box::new(Diagnostic::new(&codes::MEMORY, message).in_file(self.file)));
        }
        std::str::from_utf8(bytes).map_err(|error| Box::new(damaged(self.file, format!("`{path}` is not UTF-8: {error}"))))
    }

    fn require(&self, path: &str, value: &str, code: &'static Code) -> Result<(), Box<Diagnostic>> {
        match self.text(path)?.trim() {
            found if found == value => Ok(()),
            found => {
                let found: String = found.chars().take(40).collect();
                let message = format!("`{path}` is {found:?} in this archive, {value:?} is read");
                Err(Box::new(Diagnostic::new(code, message).in_file(self.file)))
            }
        }
    }
}

/// The entries by their names without the root, the folder of `archive_format`.
fn under_root(file: &str, found: HashMap<String, Range<usize>>) -> Result<HashMap<String, Range<usize>>, Box<Diagnostic>> {
    let ending = format!("/{FORMAT}");
    let mut roots = found.keys().filter_map(|name| name.strip_suffix(&ending)).filter(|root| !root.contains('/'));
    match (roots.next(), roots.next()) {
        (Some(root), None) => {
            let prefix = format!("{root}/");
            Ok(found.iter().filter_map(|(name, range)| Some((name.strip_prefix(&prefix)?.to_owned(), range.clone()))).collect())
        }
        (Some(_), Some(_)) => Err(Box::new(damaged(file, "the archive has several roots".to_owned()))),
        (None, _) => {
            let old = found.keys().any(|name| name == OLD_PROGRAM || name.ends_with(&format!("/{OLD_PROGRAM}")));
            Err(Box::new(if old {
                Diagnostic::new(&codes::MODEL_VERSION, "is a torch.export archive of an early version of torch")
                    .in_file(file)
                    .help("write it again with torch 2.9 or later: torch.export.save(program, \"model.pt2\")")
            } else {
                Diagnostic::new(&codes::FILE_NOT_A_MODEL, "is a zip archive, not one of torch.export")
                    .in_file(file)
                    .note(format!("no folder at its top has `{FORMAT}`"))
            }))
        }
    }
}

pub fn damaged(file: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(&codes::FILE_NOT_A_MODEL, message).in_file(file)
}
