//! Weight preparation by the reference: values of the rewritten graph that depend on weights alone.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::conform::subject::upstream;
use crate::diag::{Diagnostic, Result, codes};
use crate::graph::{Graph, Producer, ValueId};
use crate::reference::{self, Env, Math};
use crate::tensor::Tensor;

/// The named values of `rewritten`, each computed from weights that `weight` gives by name.
///
/// Rounded to fp32 after each operation, as the suite's own `prepare` is.
pub fn values(
    rewritten: &Graph,
    names: &[&str],
    mut weight: impl FnMut(&str) -> Result<Arc<Tensor>>,
) -> Result<HashMap<String, Arc<Tensor>>> {
    let missing =
        |name: &str| Box::new(Diagnostic::new(&codes::SUITE_INVALID, format!("the manifest's graph has no value `{name}`")));
    let wanted = names.iter().map(|name| rewritten.find(name).ok_or_else(|| missing(name))).collect::<Result<Vec<ValueId>>>()?;
    let nodes = upstream(rewritten, &wanted, &BTreeSet::new());
    let mut env = Env::new();
    let read = nodes.iter().flat_map(|&n| rewritten.node(n).inputs.iter().flatten()).chain(&wanted);
    for &value in read {
        if matches!(rewritten.value(value).producer, Producer::Weight(_)) && env.get(value).is_none() {
            env.set(value, weight(&rewritten.value(value).name)?);
        }
    }
    reference::evaluate(rewritten, &nodes, &mut env, Math::F32)?;
    let found = |(name, value): (&&str, &ValueId)| {
        let tensor = env.get(*value).cloned().ok_or_else(|| missing(name))?;
        Ok(((*name).to_owned(), tensor))
    };
    names.iter().zip(&wanted).map(found).collect()
}
