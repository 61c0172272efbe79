//! `shapes_registry.yaml` → [`Registry`].
//!
//! ```yaml
//! models:
//!   NAME:
//!     file: models/NAME.onnx            # or `operators: [TEMPLATE, …]`, a set of operators
//!     inputs: {x: [batch, 3, 224, 224]} # of both sizes
//!     dims: {batch: 1}
//!     real: {inputs: …, dims: …}        # wins over the above
//!     unit: {inputs: …, dims: …}
//! operators:
//!   TEMPLATE:
//!     real:                             # operands begin with a capital, attributes do not
//!       - {X: [1, 64, 56, 56], W: [64, 64, 3, 3], pads_begin: [1, 1], pads_end: [1, 1]}
//!     unit: […]
//! ```
//!
//! A size is a positive integer or a Python expression over the model's `dims` (`batch`, `2 * batch`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Attribute, Model, ModelShapes, Operator, OperatorShape, Origin, Registry};
use crate::diag::{Diagnostic, Result, codes};
use crate::shape::{Shape, display, numel};
use crate::source::SourceFile;
use crate::syntax::Constant;
use crate::syntax::eval::evaluate;
use crate::syntax::yaml::{Entry, Yaml, YamlKind, parse};

pub(super) fn registry(file: &Arc<SourceFile>, origin: Origin) -> Result<Registry> {
    let yaml = parse(file)?;
    yaml.only_keys(&["models", "operators"])?;
    let entries = |key: &str| -> Result<&[Entry]> { yaml.get(key)?.map_or(Ok(&[]), Yaml::as_map) };
    let operators = entries("operators")?.iter().map(operator).collect::<Result<Vec<_>>>()?;
    let models = entries("models")?.iter().map(|entry| model(entry, &operators)).collect::<Result<Vec<_>>>()?;
    Ok(Registry { origin, models, operators })
}

fn model(entry: &Entry, operators: &[Operator]) -> Result<Model> {
    let yaml = &entry.value;
    yaml.only_keys(&["file", "operators", "inputs", "dims", "real", "unit"])?;
    let file = yaml.get("file")?.map(|file| file.as_str().map(str::to_owned)).transpose()?;
    let names = yaml.get("operators")?;
    match (&file, names) {
        (Some(_), Some(names)) => return Err(names.error("a model with a `file` has its operators from the file")),
        (None, None) => return Err(yaml.error("a model needs a `file`, or `operators` for a suite from operator shapes alone")),
        (Some(_), None) | (None, Some(_)) => {}
    }
    if let Some(names) = names {
        for name in names.as_list()? {
            let text = name.as_str()?;
            if !operators.iter().any(|operator| operator.name == text) {
                return Err(name.error(format!("`{text}` is not under `operators`")));
            }
        }
    }
    let operators = names.map_or(Ok(Vec::new()), Yaml::as_str_list)?.into_iter().map(str::to_owned).collect();
    let sized = |key: &str| -> Result<ModelShapes> {
        let own = yaml.get(key)?;
        if let Some(own) = own {
            own.only_keys(&["inputs", "dims"])?;
        }
        let both = [Some(yaml), own];
        let mut shapes = ModelShapes::default();
        for layer in both.into_iter().flatten() {
            for entry in layer.get("dims")?.map_or(Ok(&[][..]), Yaml::as_map)? {
                let size = positive(&entry.value, entry.value.as_int()?)?;
                shapes.dims.insert(entry.key.clone(), size);
            }
        }
        for layer in both.into_iter().flatten() {
            for entry in layer.get("inputs")?.map_or(Ok(&[][..]), Yaml::as_map)? {
                shapes.inputs.insert(entry.key.clone(), shape(&entry.value, &shapes.dims)?);
            }
        }
        Ok(shapes)
    };
    Ok(Model { name: entry.key.clone(), real: sized("real")?, unit: sized("unit")?, file, operators })
}

fn positive(yaml: &Yaml, size: i64) -> Result<usize> {
    usize::try_from(size).ok().filter(|&s| s > 0).ok_or_else(|| yaml.error(format!("a size must be at least 1, found {size}")))
}

/// A list of sizes, each an integer or an expression over `dims`.
fn shape(yaml: &Yaml, dims: &BTreeMap<String, usize>) -> Result<Shape> {
    let names: BTreeMap<String, Constant> = dims.iter().map(|(name, &size)| (name.clone(), Constant::Int(size as i64))).collect();
    let size = |item: &Yaml| match &item.kind {
        YamlKind::Str(_) => {
            // Python that does not parse is a mistake in this file, not in a kernel.
            let wrong = |error: Box<Diagnostic>| Box::new(Diagnostic { code: &codes::EXPRESSION, ..*error });
            let (file, expression) = item.as_expression().map_err(wrong)?;
            match evaluate(&file, &expression, &names)? {
                Constant::Int(size) => positive(item, size),
                other => Err(item.error(format!("a size must be an integer, found {other}"))),
            }
        }
        _ => positive(item, item.as_int()?),
    };
    let shape = yaml.as_list()?.iter().map(size).collect::<Result<Shape>>()?;
    match numel(&shape) {
        Some(_) => Ok(shape),
        None => Err(yaml.error(format!("{} has more elements than memory can address", display(&shape)))),
    }
}

fn operator(entry: &Entry) -> Result<Operator> {
    let yaml = &entry.value;
    yaml.only_keys(&["real", "unit"])?;
    let list = |key: &str| yaml.require(key)?.as_list()?.iter().map(problem).collect::<Result<Vec<_>>>();
    Ok(Operator { name: entry.key.clone(), real: list("real")?, unit: list("unit")? })
}

fn problem(yaml: &Yaml) -> Result<OperatorShape> {
    let mut problem = OperatorShape::default();
    for entry in yaml.as_map()? {
        if entry.key.starts_with(|c: char| c.is_ascii_uppercase()) {
            problem.operands.insert(entry.key.clone(), shape(&entry.value, &BTreeMap::new())?);
            continue;
        }
        let attribute = match &entry.value.kind {
            YamlKind::Int(value) => Attribute::Int(*value),
            YamlKind::Float(value) => Attribute::Float(*value),
            _ => Attribute::Ints(entry.value.as_int_list()?),
        };
        problem.attributes.insert(entry.key.clone(), attribute);
    }
    if problem.operands.is_empty() {
        return Err(yaml.error("a problem needs the shape of an operand (a key that begins with a capital)"));
    }
    Ok(problem)
}
