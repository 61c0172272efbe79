//! The shapes registry: which shapes to use for which model and operator.
//!
//! `shapes_registry.yaml` stands in the working directory, or the embedded one serves (its models
//! are embedded with it). A model is found by its name or by its file's name, so that a bare
//! `resnet50.onnx` resolves everywhere. Every shape comes twice: `real`, the size the model is used
//! at, and `unit`, with spatial sizes of 8 to 32, for quick runs. This module yields data; who loads
//! the model joins it with what the command line says.
//!
//! Not checked: that inputs and symbolic dimensions exist in the model (import says so), that
//! operands fit their operator (shape inference says so).

mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};

use crate::diag::{Diagnostic, Result, codes};
use crate::shape::Shape;
use crate::source::{SourceFile, files};

/// The registry's file name.
pub const FILE: &str = "shapes_registry.yaml";

static EMBEDDED: &str = include_str!("../../shapes_registry.yaml");
static MODELS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/models");

/// Which of the two kinds of shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Size {
    #[default]
    Real,
    Unit,
}

/// What a model's inputs and symbolic dimensions are, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelShapes {
    pub inputs: BTreeMap<String, Shape>,
    pub dims: BTreeMap<String, usize>,
}

/// A registered model.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub name: String,
    /// Relative to the registry. A model without a file is a set of operators.
    pub file: Option<String>,
    pub real: ModelShapes,
    pub unit: ModelShapes,
    /// Names of [`Registry::operators`]; only of a model without a file.
    pub operators: Vec<String>,
}

impl Model {
    pub fn shapes(&self, size: Size) -> &ModelShapes {
        match size {
            Size::Real => &self.real,
            Size::Unit => &self.unit,
        }
    }
}

/// An attribute of an operator, by the name that graph text has for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    Int(i64),
    Float(f64),
    Ints(Vec<i64>),
}

/// One problem of an operator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperatorShape {
    /// By the template's operand name, inputs only.
    pub operands: BTreeMap<String, Shape>,
    pub attributes: BTreeMap<String, Attribute>,
}

/// The problems of one operator template.
#[derive(Clone, Debug, PartialEq)]
pub struct Operator {
    /// The template's name.
    pub name: String,
    pub real: Vec<OperatorShape>,
    pub unit: Vec<OperatorShape>,
}

impl Operator {
    pub fn shapes(&self, size: Size) -> &[OperatorShape] {
        match size {
            Size::Real => &self.real,
            Size::Unit => &self.unit,
        }
    }
}

/// Where a registry's `file:` entries are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    Folder(PathBuf),
    Embedded,
}

/// Where a model's bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelFile {
    /// In a file, which may have others beside it.
    Path(PathBuf),
    /// In the binary; the name is for messages.
    Embedded { name: String, bytes: &'static [u8] },
}

/// One registry.
#[derive(Clone, Debug, PartialEq)]
pub struct Registry {
    origin: Origin,
    /// In the order of the text; names are distinct.
    pub models: Vec<Model>,
    pub operators: Vec<Operator>,
}

impl Registry {
    /// The registry that the binary carries.
    pub fn embedded() -> Result<Registry> {
        read::registry(&SourceFile::new(FILE, EMBEDDED), Origin::Embedded)
    }

    /// The registry of a folder, when it has one.
    pub fn in_folder(folder: &Path) -> Result<Option<Registry>> {
        let path = folder.join(FILE);
        let text = match files::text(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(&path, &error)),
        };
        read::registry(&SourceFile::new(path.display().to_string(), text), Origin::Folder(folder.to_owned())).map(Some)
    }

    /// Whether it is a folder's own, not the one that the binary carries.
    pub fn is_local(&self) -> bool {
        matches!(self.origin, Origin::Folder(_))
    }

    /// The model of a name or of a file's name.
    pub fn model(&self, name: &str) -> Option<&Model> {
        let file_name = |file: &String| Path::new(file).file_name().is_some_and(|n| n == name);
        let by_name = self.models.iter().find(|model| model.name == name);
        by_name.or_else(|| self.models.iter().find(|model| model.file.as_ref().is_some_and(file_name)))
    }

    pub fn operator(&self, name: &str) -> Option<&Operator> {
        self.operators.iter().find(|operator| operator.name == name)
    }

    /// The model's file.
    pub fn file(&self, model: &Model) -> Result<Option<ModelFile>> {
        let Some(file) = &model.file else { return Ok(None) };
        match &self.origin {
            Origin::Folder(folder) => Ok(Some(ModelFile::Path(folder.join(file)))),
            Origin::Embedded => {
                let embedded = file.strip_prefix("models/").and_then(|name| MODELS.get_file(name));
                let embedded = embedded.ok_or_else(|| {
                    Box::new(Diagnostic::new(&codes::INTERNAL, format!("`{file}` of the registry is not embedded")).in_file(FILE))
                })?;
                Ok(Some(ModelFile::Embedded { name: file.clone(), bytes: embedded.contents() }))
            }
        }
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, format!("cannot be read: {error}")).in_file(path.display().to_string()))
}

/// The registries in order of preference: the folder's, when it has one, then the embedded one.
pub fn registries(folder: &Path) -> Result<Vec<Registry>> {
    let local = Registry::in_folder(folder)?;
    Ok(local.into_iter().chain([Registry::embedded()?]).collect())
}

/// Every name that a model can be asked for by, each once, in order of preference.
pub fn names(registries: &[Registry]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for model in registries.iter().flat_map(|r| &r.models) {
        if !names.contains(&model.name.as_str()) {
            names.push(&model.name);
        }
    }
    names
}

/// The first registry that knows the model.
pub fn find<'r>(registries: &'r [Registry], name: &str) -> Option<(&'r Registry, &'r Model)> {
    registries.iter().find_map(|registry| Some((registry, registry.model(name)?)))
}
