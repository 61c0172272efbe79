//! Values for what a model file leaves open: symbolic dimensions, input shapes, and what operators of
//! the user's own compute.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::import::OwnOperator;
use crate::shape::Shape;

/// What the caller (command line, registry) says about sizes. A whole input shape and a named dimension
/// must agree; both win over the file, and the default serves what is still open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// By input name.
    pub shapes: BTreeMap<String, Shape>,
    /// By symbolic dimension name.
    pub dims: BTreeMap<String, usize>,
    /// Like `dims`, where neither these nor a whole shape say anything.
    pub assumed_dims: BTreeMap<String, usize>,
    pub default_dim: Option<usize>,
    /// Whether parameters may have other elements than the file's when the kernels run: nothing is computed of them while
    /// importing, and none becomes a number in a kernel. Of torch.export archives alone.
    pub open_parameters: bool,
    /// Whether tensors may be larger than what is verified: their kernels are written, and run elsewhere.
    pub huge: bool,
    /// For nodes that no import rule serves.
    pub operators: Vec<Arc<OwnOperator>>,
}

impl Binding {
    /// Fills what is open here from `weaker`.
    pub fn or(mut self, weaker: &Binding) -> Binding {
        for (name, shape) in &weaker.shapes {
            self.shapes.entry(name.clone()).or_insert_with(|| shape.clone());
        }
        for (name, &size) in weaker.dims.iter().chain(&weaker.assumed_dims) {
            self.assumed_dims.entry(name.clone()).or_insert(size);
        }
        self.default_dim = self.default_dim.or(weaker.default_dim);
        self.open_parameters |= weaker.open_parameters;
        self.huge |= weaker.huge;
        self.operators.extend(weaker.operators.iter().cloned());
        self
    }
}
