//! The types that a program declares for its tensors, once its symbolic dimensions have sizes.

use std::collections::{BTreeMap, HashMap};

use super::dtypes::dtype;
use super::program::{Argument, Program, SymInt, TensorMeta};
use crate::diag::{Diagnostic, codes};
use crate::graph::TensorType;
use crate::import::Binding;
use crate::import::build::Failure;
use crate::import::build::sizes::{self, Bounds, Declared, Dim, Sizes};
use crate::import::build::symbol::Symbol;
use crate::shape::display;

pub struct Types {
    declared: HashMap<String, Declared>,
    sizes: Sizes,
}

impl Types {
    /// Reads the declarations and gives every dimension of the inputs its size.
    pub fn bind(file: &str, program: &Program, binding: &Binding) -> Result<Types, Vec<Diagnostic>> {
        let graph = &program.graph_module.graph;
        let mut declared = HashMap::new();
        for (name, meta) in &graph.tensor_values {
            let ty = declaration(meta).map_err(|message| {
                vec![Diagnostic::new(&codes::MODEL_INVALID, format!("tensor `{name}`: {message}")).in_file(file)]
            })?;
            declared.insert(name.clone(), ty);
        }
        let specs = &program.graph_module.signature.input_specs;
        let inputs: Vec<(&str, Declared)> = graph
            .inputs
            .iter()
            .zip(specs)
            .filter(|(_, spec)| spec.kind == "user_input")
            .filter_map(|(argument, _)| if let Argument::Tensor(name) = argument { Some(name) } else { None })
            .filter_map(|name| Some((name.as_str(), declaration(graph.tensor_values.get(name)?).ok()?)))
            .collect();
        let bounds = program.range_constraints.iter().map(|(name, range)| {
            let least = range.min_val.and_then(|min| usize::try_from(min).ok()).unwrap_or(0);
            let most = range.max_val.and_then(|max| usize::try_from(max).ok());
            (name.clone(), Bounds { least, most })
        });
        let bounds: BTreeMap<String, Bounds> = bounds.collect();
        let sizes = sizes::bind(file, &inputs, &bounds, binding)?;
        Ok(Types { declared, sizes })
    }

    /// The type of a tensor. The error is a phrase.
    pub fn of(&self, name: &str) -> Result<TensorType, String> {
        let declared = self.declared.get(name).ok_or_else(|| format!("`{name}` has no type"))?;
        let dtype = declared.dtype.clone().map_err(|other| format!("`{name}` has the element type {other}"))?;
        let given = self.sizes.shapes.get(name).cloned();
        let shape =
            given.or_else(|| self.sizes.resolve(declared)).ok_or_else(|| format!("`{name}` has sizes that are not known"))?;
        Ok(TensorType { dtype, shape })
    }

    /// Whether a result is of the type that the program declares.
    pub fn compare(&self, name: &str, ty: &TensorType) -> Result<(), Failure> {
        let Some(declared) = self.declared.get(name) else { return Ok(()) };
        if let Ok(stated) = &declared.dtype
            && *stated != ty.dtype
        {
            return Err(Failure::shapes(format!("`{name}` has the element type {}, the file declares {stated}", ty.dtype)));
        }
        if self.sizes.contradicts(declared, &ty.shape) {
            let stated = sizes::describe(declared);
            return Err(Failure::shapes(format!("`{name}` is {}, the file declares {stated}", display(&ty.shape))));
        }
        Ok(())
    }
}

fn declaration(meta: &TensorMeta) -> Result<Declared, String> {
    let dim = |size: &SymInt| match size {
        SymInt::Int(i) => usize::try_from(*i).map(Dim::Fixed).map_err(|_| format!("a size is {i}")),
        SymInt::Expression(text, _) => Ok(match Symbol::parse(text)? {
            Symbol::Named(name) => Dim::Named(name),
            derived => Dim::Derived(derived),
        }),
    };
    let dims = meta.sizes.iter().map(dim).collect::<Result<_, _>>()?;
    Ok(Declared { dtype: dtype(meta.dtype), dims: Some(dims) })
}
