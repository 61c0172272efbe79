//! Declared types, and how the open dimensions of the model's inputs get their sizes.

use std::collections::{BTreeMap, BTreeSet};

use super::limits;
use super::symbol::Symbol;
use crate::diag::{Diagnostic, codes};
use crate::dtype::DType;
use crate::import::Binding;
use crate::shape::{self, Shape, display};

/// One declared dimension.
#[derive(Clone, Debug, PartialEq)]
pub enum Dim {
    Fixed(usize),
    Named(String),
    /// It follows from named ones.
    Derived(Symbol),
    Unknown,
}

impl Dim {
    /// The symbols that it needs.
    fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        match self {
            Dim::Named(name) => drop(names.insert(name.as_str())),
            Dim::Derived(symbol) => symbol.names(&mut names),
            Dim::Fixed(_) | Dim::Unknown => {}
        }
        names
    }
}

/// A declared element type (or its unsupported name) and, if known, the dimensions.
pub struct Declared {
    pub dtype: Result<DType, String>,
    pub dims: Option<Vec<Dim>>,
}

impl Declared {
    /// The dimensions whose sizes are open.
    fn open_dims(&self) -> impl Iterator<Item = &Dim> {
        self.dims.iter().flatten()
    }
}

/// The sizes that a named dimension may have.
#[derive(Clone, Debug)]
pub struct Bounds {
    pub least: usize,
    pub most: Option<usize>,
}

/// Sizes of the model's inputs and of the symbolic dimensions.
pub struct Sizes {
    pub shapes: BTreeMap<String, Shape>,
    dims: BTreeMap<String, usize>,
    /// Whether an input, or a pool's output, has another shape than the file fixes, so that its
    /// other declarations need not hold any more.
    pub overridden: bool,
}

impl Sizes {
    /// The shape that a declaration means, when every dimension is known.
    pub fn resolve(&self, declared: &Declared) -> Option<Shape> {
        declared.dims.as_ref()?.iter().map(|d| self.size(d)).collect()
    }

    /// The size that a declaration insists on.
    fn fixed(&self, dim: &Dim) -> Option<usize> {
        match dim {
            Dim::Fixed(size) => Some(*size),
            Dim::Derived(symbol) => self.value(symbol),
            // Files give one name to dimensions that have nothing to do with each other.
            Dim::Named(_) | Dim::Unknown => None,
        }
    }

    fn size(&self, dim: &Dim) -> Option<usize> {
        match dim {
            Dim::Fixed(size) => Some(*size),
            Dim::Named(name) => self.named(name),
            Dim::Derived(symbol) => self.value(symbol),
            Dim::Unknown => None,
        }
    }

    /// The size of a named dimension.
    pub fn named(&self, name: &str) -> Option<usize> {
        self.dims.get(name).copied()
    }

    /// The size that follows from named ones.
    pub fn value(&self, symbol: &Symbol) -> Option<usize> {
        let value = |name: &str| self.named(name).and_then(|size| i64::try_from(size).ok());
        symbol.evaluate(&value).and_then(|size| usize::try_from(size).ok())
    }

    /// Whether an inferred shape contradicts a declaration.
    pub fn contradicts(&self, declared: &Declared, shape: &[usize]) -> bool {
        let Some(dims) = declared.dims.as_ref().filter(|_| !self.overridden) else { return false };
        dims.len() != shape.len() || dims.iter().zip(shape).any(|(d, &size)| self.fixed(d).is_some_and(|fixed| fixed != size))
    }
}

/// The declaration as a person writes it: `batch×3×?×?`.
pub fn describe(declared: &Declared) -> String {
    let Some(dims) = &declared.dims else { return "of unknown rank".to_owned() };
    let dim = |d: &Dim| match d {
        Dim::Fixed(size) => size.to_string(),
        Dim::Named(name) => name.clone(),
        Dim::Derived(symbol) => symbol.to_string(),
        Dim::Unknown => "?".to_owned(),
    };
    if dims.is_empty() { "scalar".to_owned() } else { dims.iter().map(dim).collect::<Vec<_>>().join("×") }
}

/// Gives every input a concrete shape: from `binding.shapes`, else the file with `binding.dims`
/// (and dimensions that a bound shape implies), else the default. `bounds` are those of named dimensions.
pub fn bind(
    file: &str,
    inputs: &[(&str, Declared)],
    bounds: &BTreeMap<String, Bounds>,
    binding: &Binding,
) -> Result<Sizes, Vec<Diagnostic>> {
    let mut errors = unknown_names(file, inputs, binding);
    let mut sizes = Sizes { shapes: BTreeMap::new(), dims: BTreeMap::new(), overridden: false };
    for (name, declared) in inputs {
        let Some(given) = binding.shapes.get(*name) else { continue };
        sizes.shapes.insert((*name).to_owned(), given.clone());
        if let Err(error) = apply_shape(name, declared, given, binding, &mut sizes) {
            errors.push(error.in_file(file));
        }
    }
    for (name, &size) in binding.dims.iter().chain(&binding.assumed_dims) {
        sizes.dims.entry(name.clone()).or_insert(size);
    }
    if let Some(default) = binding.default_dim {
        let symbols = inputs.iter().flat_map(|(_, declared)| declared.open_dims()).flat_map(Dim::names);
        for symbol in symbols {
            sizes.dims.entry(symbol.to_owned()).or_insert(default);
        }
    }
    let mut open = BTreeSet::new();
    let mut open_inputs = Vec::new();
    for (name, declared) in inputs {
        if sizes.shapes.contains_key(*name) {
            continue;
        }
        let size = |d: &Dim| sizes.size(d).or(binding.default_dim);
        match declared.dims.as_ref().and_then(|dims| dims.iter().map(size).collect::<Option<Shape>>()) {
            Some(shape) => drop(sizes.shapes.insert((*name).to_owned(), shape)),
            None => {
                let without = declared.open_dims().filter(|d| size(d).is_none()).flat_map(Dim::names);
                open.extend(without.filter(|name| sizes.named(name).is_none()).map(str::to_owned));
                open_inputs.push((*name, declared));
            }
        }
    }
    if !open_inputs.is_empty() {
        errors.push(unbound(file, &open, &open_inputs));
    }
    let most = limits::most(binding);
    for (name, shape) in &sizes.shapes {
        if shape.contains(&0) {
            let message = format!("input `{name}` is {}: a dimension has size 0", display(shape));
            errors.push(Diagnostic::new(&codes::MODEL_EMPTY_DIMENSION, message).in_file(file));
        } else if shape::numel(shape).is_none() {
            let message = format!("input `{name}` is {}: more elements than memory can address", display(shape));
            errors.push(Diagnostic::new(&codes::MODEL_SHAPES, message).in_file(file));
        } else if let Some(message) = limits::larger_than(most, shape) {
            errors.push(Diagnostic::new(&codes::MEMORY, format!("input `{name}` of {message}")).in_file(file));
        }
    }
    errors.extend(out_of_bounds(file, bounds, &sizes));
    if errors.is_empty() { Ok(sizes) } else { Err(errors) }
}

/// Named dimensions whose sizes the file does not allow.
fn out_of_bounds(file: &str, bounds: &BTreeMap<String, Bounds>, sizes: &Sizes) -> Vec<Diagnostic> {
    let outside = bounds.iter().filter_map(|(name, bounds)| {
        let size = sizes.named(name)?;
        let (low, high) = (size < bounds.least, bounds.most.is_some_and(|most| size > most));
        (low || high).then_some((name, size, bounds))
    });
    outside
        .map(|(name, size, bounds)| {
            let range = match bounds.most {
                Some(most) => format!("{} to {most}", bounds.least),
                None => format!("{} and more", bounds.least),
            };
            let message = format!("dimension `{name}` is {size}, the file allows {range}");
            Diagnostic::new(&codes::MODEL_DIMENSION, message).in_file(file).help(format!("give another size: --dim {name}=N"))
        })
        .collect()
}

/// A bound shape fixes the symbols in its input's declaration.
fn apply_shape(
    name: &str,
    declared: &Declared,
    given: &Shape,
    binding: &Binding,
    sizes: &mut Sizes,
) -> Result<(), Box<Diagnostic>> {
    let error = |message: String| Err(Box::new(Diagnostic::new(&codes::MODEL_SHAPES, message)));
    if let Some(dims) = &declared.dims {
        if dims.len() != given.len() {
            return error(format!("input `{name}` is {} in the file; {} has another rank", describe(declared), display(given)));
        }
        for (dim, &size) in dims.iter().zip(given) {
            match dim {
                Dim::Fixed(fixed) => sizes.overridden |= *fixed != size,
                Dim::Named(symbol) => {
                    if let Some(&bound) = binding.dims.get(symbol).filter(|&&bound| bound != size) {
                        let message = format!(
                            "dimension `{symbol}` is bound to {bound}, and to {size} by the shape {} that is bound to input `{name}`",
                            display(given)
                        );
                        let help = format!("bind one of the two: --dim {symbol}={bound} or --shape {name}=…");
                        return Err(Box::new(Diagnostic::new(&codes::USAGE, message).help(help)));
                    }
                    let bound = *sizes.dims.entry(symbol.clone()).or_insert(size);
                    if bound != size {
                        return error(format!(
                            "dimension `{symbol}` is {bound} by another input's shape and {size} by that of `{name}`"
                        ));
                    }
                }
                Dim::Derived(_) | Dim::Unknown => {}
            }
        }
        for (dim, &size) in dims.iter().zip(given) {
            if let Dim::Derived(symbol) = dim
                && sizes.value(symbol).is_some_and(|value| value != size)
            {
                return error(format!("input `{name}` is {} in the file; {} is not", describe(declared), display(given)));
            }
        }
    }
    Ok(())
}

/// Bindings that fit nothing in the model.
fn unknown_names(file: &str, inputs: &[(&str, Declared)], binding: &Binding) -> Vec<Diagnostic> {
    let symbols: BTreeSet<&str> = inputs.iter().flat_map(|(_, d)| d.open_dims()).flat_map(Dim::names).collect();
    let list = |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let unknown = |message: String, known: Vec<&str>| {
        Diagnostic::new(&codes::USAGE, message).in_file(file).note(format!("the model has: {}", list(known)))
    };
    let shapes = binding.shapes.keys().filter(|&name| !inputs.iter().any(|(input, _)| input == name));
    let dims = binding.dims.keys().chain(binding.assumed_dims.keys()).filter(|&name| !symbols.contains(name.as_str()));
    shapes
        .map(|name| {
            unknown(
                format!("a shape is given for `{name}`, which is no input of the model"),
                inputs.iter().map(|i| i.0).collect(),
            )
        })
        .chain(dims.map(|name| {
            unknown(
                format!("a size is given for `{name}`, which is no symbolic dimension of the model"),
                symbols.iter().copied().collect(),
            )
        }))
        .collect()
}

fn unbound(file: &str, open: &BTreeSet<String>, inputs: &[(&str, &Declared)]) -> Diagnostic {
    let names = open.iter().map(|s| format!("`{s}`")).collect::<Vec<_>>().join(", ");
    let message = match open.len() {
        0 => "the file leaves dimensions of an input open".to_owned(),
        1 => format!("dimension {names} has no size"),
        _ => format!("dimensions {names} have no size"),
    };
    let by_dim = open.iter().map(|s| format!("--dim {s}=N"));
    let by_shape =
        inputs.iter().filter(|(_, d)| d.dims.as_ref().is_none_or(|dims| dims.contains(&Dim::Unknown))).map(|(name, declared)| {
            let shape = declared.dims.as_ref().map(|dims| {
                dims.iter()
                    .map(|d| if let Dim::Fixed(size) = d { size.to_string() } else { "N".to_owned() })
                    .collect::<Vec<_>>()
                    .join("x")
            });
            format!("--shape {name}={}", shape.unwrap_or_else(|| "NxN".to_owned()))
        });
    let mut diagnostic = Diagnostic::new(&codes::MODEL_DIMENSION, message).in_file(file);
    for (name, declared) in inputs {
        diagnostic = diagnostic.note(format!("input `{name}` is {}", describe(declared)));
    }
    let flags: Vec<_> = by_dim.chain(by_shape).collect();
    diagnostic.help(format!("bind with {}, or all open ones with --default-dim N", flags.join(" ")))
}
