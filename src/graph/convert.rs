//! A graph whose floats are computed in another type: `--dtype f32`, `f16`, `bf16`.
//!
//! Every value, weight and expression node of a float type gets the new one; integers and bools stay
//! as they are. Elements of weights are rounded once, to nearest even. Constants of expressions keep
//! their value, because kernels and torch compute with them in fp32 whatever the tensors' type is.
//! Casts between floats, which would round to a type that is no more, go; casts between floats and
//! other types stay. Node and value ids stay, so that what refers to the graph still does.
//!
//! Not caught: elements beyond the new type's range become infinite, as they do in torch; [`Overflows`]
//! says how many.

use std::sync::Arc;

use super::op::{Map, Op, OutOfBounds};
use super::{Graph, Producer, Weight};
use crate::dtype::DType;
use crate::expr::{Expr, ExprBuilder, ExprId, Node};
use crate::tensor::{Storage, Tensor};

/// Finite elements of weights that the new type cannot hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflows(pub usize);

/// Converts every float of a graph to `to`, a float type carried in f32.
pub fn convert(graph: &mut Graph, to: DType) -> Overflows {
    let retyped = |dtype: DType| if dtype.is_float() { to } else { dtype };
    let mut overflows = Overflows::default();
    for value in &mut graph.values {
        value.ty.dtype = retyped(value.ty.dtype);
        if let Producer::Weight(Weight::Data(tensor)) = &mut value.producer
            && tensor.dtype() != value.ty.dtype
        {
            *tensor = Arc::new(rounded(tensor, to, &mut overflows));
        }
    }
    for node in graph.nodes.node_weights_mut() {
        match &mut node.op {
            Op::Map(map) => {
                for (k, access) in map.reads.iter_mut().enumerate() {
                    let float = |&(node, dtype): &(Node, DType)| node == Node::Read(k as u32) && dtype.is_float();
                    if let OutOfBounds::Fill(fill) = &mut access.oob
                        && map.body.nodes().iter().any(float)
                    {
                        *fill = to.round(*fill);
                    }
                }
                map.body = body(map, retyped);
            }
            Op::Conv(_) | Op::ConvTranspose(_) | Op::Pool(_) | Op::BatchNorm { .. } | Op::Norm(_) | Op::Lrn(_) => {}
            Op::MatMul | Op::Softmax { .. } | Op::Reduce(_) | Op::ArgReduce(_) | Op::Scan(_) | Op::View(_) => {}
        }
    }
    overflows
}

fn rounded(tensor: &Tensor, to: DType, overflows: &mut Overflows) -> Tensor {
    let lanes: Vec<f32> = (0..tensor.len())
        .map(|i| {
            let exact = tensor.storage().get_f64(i);
            let rounded = to.round(exact);
            overflows.0 += usize::from(exact.is_finite() && !rounded.is_finite());
            rounded as f32
        })
        .collect();
    Tensor::new(to, tensor.shape(), Storage::F32(lanes))
}

/// A Map's body with its float nodes retyped.
fn body(map: &Map, retyped: impl Fn(DType) -> DType) -> Expr {
    let mut builder = ExprBuilder::new();
    let mut moved: Vec<ExprId> = Vec::with_capacity(map.body.nodes().len());
    for &(node, dtype) in map.body.nodes() {
        let dtype = retyped(dtype);
        let id = match node {
            Node::Cast(a) => builder.cast(moved[a.0 as usize], dtype),
            Node::Read(_) | Node::Coordinate(_) | Node::Constant(_) => builder.node(node, dtype),
            Node::Unary(..) | Node::Binary(..) | Node::Compare(..) | Node::Select(..) => {
                builder.node(node.with_operands(|id| moved[id.0 as usize]), dtype)
            }
        };
        moved.push(id);
    }
    let root = moved[moved.len() - 1];
    builder.finish(root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::text;
    use crate::graph::verify::violations;
    use crate::source::SourceFile;
    use expect_test::expect;

    fn graph(lines: &str) -> Graph {
        text::parse(&SourceFile::new("g", format!("graph \"m.onnx\"\n{lines}"))).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn floats_change_and_constants_keep_their_value() {
        let mut g = graph(
            "input x: f32[3]\n\
             input n: i64[3]\n\
             weight w: f32[3] bias = data [0.1, 257.0, 100000.0]\n\
             y: f32[3] = map mix(x, n, w)\n  \
             read 0[d0] fill 0.1\n  read 1[d0]\n  read 2[d0]\n  \
             body f32(f16(add(mul(r0, 0.1), add(f32(r1), r2))))\n\
             output y\n",
        );
        assert_eq!(convert(&mut g, DType::F16), Overflows(1));
        assert!(violations(&g).is_empty());
        expect![[r#"
            graph "m.onnx"
            input x: f16[3]
            input n: i64[3]
            weight w: f16[3] bias = data [0.099975586, 257.0, inf]
            y: f16[3] = map mix(x, n, w)
              read 0[d0] fill 0.0999755859375
              read 1[d0]
              read 2[d0]
              body add(mul(r0, 0.1:f16), add(f16(r1), r2))
            output y
        "#]]
        .assert_eq(&g.to_string());
        assert_eq!(convert(&mut g, DType::F32), Overflows(0));
        assert!(violations(&g).is_empty());
        assert!(g.to_string().contains("body add(mul(r0, 0.1), add(f32(r1), r2))"));
    }

    #[test]
    fn a_cast_alone_becomes_a_copy_and_ids_stay() {
        let mut g = graph(
            "input x: f32[2]\n\
             h: f16[2] = map cast(x)\n  read 0[d0]\n  body f16(r0)\n\
             b: bool[2] = map positive(h)\n  read 0[d0]\n  body gt(r0, 0.0:f16)\n\
             output h\noutput b\n",
        );
        let (h, b) = (g.find("h").unwrap(), g.find("b").unwrap());
        convert(&mut g, DType::BF16);
        assert!(violations(&g).is_empty());
        assert_eq!((g.find("h"), g.find("b")), (Some(h), Some(b)));
        assert_eq!((g.dtype(h), g.dtype(b)), (DType::BF16, DType::Bool));
        assert!(g.to_string().contains("body r0\n"), "{g}");
    }
}
