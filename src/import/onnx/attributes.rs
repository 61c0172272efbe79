//! Attributes of a node by name and type.
//!
//! Every attribute that a lowering asks for is remembered, so that one it does not know is refused
//! instead of ignored.

use std::cell::RefCell;

use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::{AttributeProto, NodeProto, TensorProto};

use super::node::Failure;

pub(super) struct Attributes<'m> {
    node: &'m NodeProto,
    known: RefCell<Vec<&'static str>>,
}

impl<'m> Attributes<'m> {
    pub fn new(node: &'m NodeProto) -> Attributes<'m> {
        Attributes { node, known: RefCell::default() }
    }

    /// The attribute, when it is there and has one of the given types (files of IR version 1 may
    /// leave the type undefined).
    fn find(&self, name: &'static str, ty: AttributeType) -> Result<Option<&'m AttributeProto>, Failure> {
        self.known.borrow_mut().push(name);
        let Some(found) = self.node.attribute.iter().find(|a| a.name == name) else { return Ok(None) };
        if found.r#type == ty as i32 || found.r#type == AttributeType::Undefined as i32 {
            return Ok(Some(found));
        }
        let stored = AttributeType::try_from(found.r#type).map_or("unknown", |t| t.as_str_name());
        Err(Failure::invalid(format!("attribute `{name}` has type {stored}, {} is expected", ty.as_str_name())))
    }

    pub fn int(&self, name: &'static str) -> Result<Option<i64>, Failure> {
        Ok(self.find(name, AttributeType::Int)?.map(|a| a.i))
    }

    /// An integer that stands for a yes or no.
    pub fn flag(&self, name: &'static str) -> Result<bool, Failure> {
        Ok(self.int(name)?.unwrap_or(0) != 0)
    }

    pub fn float(&self, name: &'static str) -> Result<Option<f64>, Failure> {
        Ok(self.find(name, AttributeType::Float)?.map(|a| f64::from(a.f)))
    }

    pub fn ints(&self, name: &'static str) -> Result<Option<&'m [i64]>, Failure> {
        Ok(self.find(name, AttributeType::Ints)?.map(|a| a.ints.as_slice()))
    }

    pub fn floats(&self, name: &'static str) -> Result<Option<&'m [f32]>, Failure> {
        Ok(self.find(name, AttributeType::Floats)?.map(|a| a.floats.as_slice()))
    }

    pub fn tensor(&self, name: &'static str) -> Result<Option<&'m TensorProto>, Failure> {
        Ok(self.find(name, AttributeType::Tensor)?.and_then(|a| a.t.as_ref()))
    }

    pub fn string(&self, name: &'static str) -> Result<Option<&'m str>, Failure> {
        let Some(found) = self.find(name, AttributeType::String)? else { return Ok(None) };
        std::str::from_utf8(&found.s).map(Some).map_err(|_| Failure::invalid(format!("attribute `{name}` is not UTF-8 text")))
    }

    /// Positive sizes, one a spatial axis; `default` when the attribute is absent.
    pub fn sizes(&self, name: &'static str, rank: usize, default: usize) -> Result<smallvec::SmallVec<[usize; 3]>, Failure> {
        let Some(given) = self.ints(name)? else { return Ok(smallvec::SmallVec::from_elem(default, rank)) };
        if given.len() != rank {
            return Err(Failure::invalid(format!("attribute `{name}` has {} entries for {rank} spatial axes", given.len())));
        }
        let positive = |&size: &i64| usize::try_from(size).ok().filter(|&s| s > 0);
        given
            .iter()
            .map(|size| {
                positive(size)
                    .ok_or_else(|| Failure::invalid(format!("attribute `{name}` is {given:?}: each must be at least 1")))
            })
            .collect()
    }

    /// An attribute that nothing asked for.
    pub fn unknown(&self) -> Option<&'m str> {
        let known = self.known.borrow();
        self.node.attribute.iter().map(|a| a.name.as_str()).find(|name| !known.contains(name))
    }
}
