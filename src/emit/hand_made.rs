//! A plan written by hand for tests: convolution with a folded normalisation and a ReLU, the same
//! ReLU kernel twice, and an addition that reads one operand transposed.
//!
//! The kernels are small but right, so that the emitted files also run on a GPU.

use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use crate::dtype::DType;
use crate::expr::index::Index;
use crate::expr::{Binary, Compare, Expr, ExprBuilder, Unary};
use crate::graph::op::{Access, Conv, Map, OutOfBounds, View};
use crate::graph::{Cluster, Graph, NodeId, Op, Role, Source, TensorType, ValueId, Weight};
use crate::select::plan::{Buffer, Launch, Plan, Slot};
use crate::template::{Argument, ArgumentValue, BoundKernel, BoundLaunch, HostInt, Layout, Operand, OperandAccess};

const F32: DType = DType::F32;

fn ty(shape: &[usize]) -> TensorType {
    TensorType { dtype: F32, shape: SmallVec::from_slice(shape) }
}

fn source(operator: &str, node: &str) -> Vec<Source> {
    vec![Source { operator: operator.to_owned(), node: node.to_owned(), module: None }]
}

fn binary(op: Binary) -> Expr {
    let mut b = ExprBuilder::new();
    let (x, y) = (b.read(0, F32), b.read(1, F32));
    let root = b.binary(op, x, y);
    b.finish(root)
}

fn relu() -> Expr {
    let mut b = ExprBuilder::new();
    let (x, zero) = (b.read(0, F32), b.float(0.0, F32));
    let negative = b.compare(Compare::Lt, x, zero);
    let root = b.select(negative, zero, x);
    b.finish(root)
}

fn add(graph: &mut Graph, op: Op, inputs: &[ValueId], name: &str, shape: &[usize], from: (&str, &str)) -> (NodeId, ValueId) {
    let inputs: Vec<Option<ValueId>> = inputs.iter().copied().map(Some).collect();
    let node = graph.add_node(op, &inputs, vec![(name.to_owned(), ty(shape))], source(from.0, from.1));
    (node, graph.node(node).outputs[0])
}

fn map(label: &str, dims: &[usize], operands: &[&[usize]], body: Expr) -> Op {
    Op::Map(Map::pointwise(label, dims, operands, body))
}

fn int(value: i64, text: &str) -> HostInt {
    HostInt { value, text: text.to_owned() }
}

fn argument(param: &str, value: ArgumentValue) -> Argument {
    Argument { param: param.to_owned(), value }
}

fn operand(name: &str, shape: &[usize], access: OperandAccess) -> Operand {
    Operand { name: name.to_owned(), dtype: F32, layout: Layout::contiguous(shape), access }
}

const SIZE: [usize; 4] = [1, 4, 6, 6];

fn relu_kernel() -> BoundKernel {
    BoundKernel {
        template: "relu".into(),
        key: "00000000relu".into(),
        text: include_str!("../../tests/emit/kernels/relu.py").into(),
        operands: vec![operand("x", &SIZE, OperandAccess::Read), operand("y", &SIZE, OperandAccess::Write)],
        launches: vec![BoundLaunch {
            function: "relu_kernel".into(),
            locals: vec![("E".into(), int(144, "x.numel()")), ("BLOCK".into(), int(64, "64"))],
            grid: [int(3, "triton.cdiv(E, BLOCK)"), int(1, "1"), int(1, "1")],
            args: vec![
                argument("x_ptr", ArgumentValue::Pointer(0)),
                argument("y_ptr", ArgumentValue::Pointer(1)),
                argument("E", ArgumentValue::Int(int(144, "E"))),
                argument("BLOCK", ArgumentValue::Constexpr(int(64, "BLOCK"))),
            ],
            num_warps: 4,
            num_stages: 1,
        }],
    }
}

/// y[i, j] = a[i, j] + b[i, j], where b lies transposed in its storage.
fn add_kernel() -> BoundKernel {
    let dims = [4, 36];
    let mut b = operand("b", &dims, OperandAccess::Read);
    b.layout.strides = smallvec![1, 4];
    BoundKernel {
        template: "add".into(),
        key: "000000000add".into(),
        text: include_str!("../../tests/emit/kernels/add.py").into(),
        operands: vec![operand("a", &dims, OperandAccess::Read), b, operand("y", &dims, OperandAccess::Write)],
        launches: vec![BoundLaunch {
            function: "add_kernel".into(),
            locals: vec![("M".into(), int(4, "a.size(0)")), ("N".into(), int(36, "a.size(1)")), ("BN".into(), int(32, "32"))],
            grid: [int(4, "M"), int(2, "triton.cdiv(N, BN)"), int(1, "1")],
            args: vec![
                argument("a_ptr", ArgumentValue::Pointer(0)),
                argument("b_ptr", ArgumentValue::Pointer(1)),
                argument("y_ptr", ArgumentValue::Pointer(2)),
                argument("N", ArgumentValue::Int(int(36, "N"))),
                argument("a_stride_m", ArgumentValue::Int(int(36, "a.stride(0)"))),
                argument("b_stride_m", ArgumentValue::Int(int(1, "1"))),
                argument("b_stride_n", ArgumentValue::Int(int(4, "4"))),
                argument("BN", ArgumentValue::Constexpr(int(32, "BN"))),
            ],
            num_warps: 2,
            num_stages: 1,
        }],
    }
}

/// 1×1 convolution with bias and ReLU through a scratch buffer and two launches.
fn conv_kernel() -> BoundKernel {
    let mut scratch = operand("p", &SIZE, OperandAccess::Scratch);
    scratch.layout.storage = 200;
    BoundKernel {
        template: "conv2d_resnet".into(),
        key: "00000000conv".into(),
        text: include_str!("../../tests/emit/kernels/conv.py").into(),
        operands: vec![
            operand("x", &[1, 3, 6, 6], OperandAccess::Read),
            operand("w", &[4, 3, 1, 1], OperandAccess::Read),
            operand("e0", &[4], OperandAccess::Read),
            scratch,
            operand("y", &SIZE, OperandAccess::Write),
        ],
        launches: vec![
            BoundLaunch {
                function: "conv_kernel".into(),
                locals: vec![
                    ("C".into(), int(3, "x.size(1)")),
                    ("E".into(), int(36, "x.size(2) * x.size(3)")),
                    ("BLOCK".into(), int(64, "64")),
                ],
                grid: [int(4, "w.size(0)"), int(1, "triton.cdiv(E, BLOCK)"), int(1, "1")],
                args: vec![
                    argument("x_ptr", ArgumentValue::Pointer(0)),
                    argument("w_ptr", ArgumentValue::Pointer(1)),
                    argument("p_ptr", ArgumentValue::Pointer(3)),
                    argument("C", ArgumentValue::Int(int(3, "C"))),
                    argument("E", ArgumentValue::Int(int(36, "E"))),
                    argument("BLOCK", ArgumentValue::Constexpr(int(64, "BLOCK"))),
                ],
                num_warps: 4,
                num_stages: 2,
            },
            BoundLaunch {
                function: "bias_relu_kernel".into(),
                locals: vec![("E".into(), int(36, "x.size(2) * x.size(3)")), ("BLOCK".into(), int(128, "128"))],
                grid: [int(4, "e0.numel()"), int(1, "1"), int(1, "1")],
                args: vec![
                    argument("p_ptr", ArgumentValue::Pointer(3)),
                    argument("e0_ptr", ArgumentValue::Pointer(2)),
                    argument("y_ptr", ArgumentValue::Pointer(4)),
                    argument("E", ArgumentValue::Int(int(36, "E"))),
                    argument("BLOCK", ArgumentValue::Constexpr(int(128, "BLOCK"))),
                    argument("LOW", ArgumentValue::ConstexprFloat(0.0)),
                ],
                num_warps: 4,
                num_stages: 1,
            },
        ],
    }
}

pub(crate) fn plan() -> Plan {
    let mut g = Graph::new("hand_made.onnx");
    let x = g.add_input("x", ty(&[1, 3, 6, 6]), Role::Activation).unwrap();
    let mut weight = |name: &str, shape: &[usize], role: Role| g.add_weight(name, ty(shape), role, Weight::Missing).unwrap();
    let w = weight("conv.weight", &[4, 3, 1, 1], Role::Weight { fan_in: 3 });
    let gamma = weight("bn.weight", &[4], Role::Scale);
    let beta = weight("bn.bias", &[4], Role::Bias);
    let mean = weight("bn.running_mean", &[4], Role::Mean);
    let var = weight("bn.running_var", &[4], Role::Variance);
    let conv = Op::Conv(Conv {
        strides: smallvec![1, 1],
        dilations: smallvec![1, 1],
        pads_begin: smallvec![0, 0],
        pads_end: smallvec![0, 0],
        groups: 1,
    });
    let (conv_node, c) = add(&mut g, conv.clone(), &[x, w], "c", &SIZE, ("Conv", "conv"));
    let (bn_node, n) =
        add(&mut g, Op::BatchNorm { epsilon: 1e-5 }, &[c, gamma, beta, mean, var], "n", &SIZE, ("BatchNormalization", "bn"));
    let (relu_node, a) = add(&mut g, map("relu", &SIZE, &[&SIZE], relu()), &[n], "a", &SIZE, ("Relu", "relu"));
    let (again_node, b) = add(&mut g, map("relu", &SIZE, &[&SIZE], relu()), &[a], "b", &SIZE, ("Relu", "relu_again"));
    let (_, flat) = add(&mut g, Op::View(View::Reshape(smallvec![4, 36])), &[a], "flat", &[4, 36], ("Reshape", "flat"));
    let (_, long) = add(&mut g, Op::View(View::Reshape(smallvec![36, 4])), &[b], "long", &[36, 4], ("Reshape", "long"));
    let (_, turned) =
        add(&mut g, Op::View(View::Transpose(smallvec![1, 0])), &[long], "turned", &[4, 36], ("Transpose", "turned"));
    let sum = map("add", &[4, 36], &[&[4, 36], &[4, 36]], binary(Binary::Add));
    let (add_node, y) = add(&mut g, sum, &[flat, turned], "y", &[4, 36], ("Add", "add"));
    g.set_outputs(vec![y]);
    let imported = Arc::new(g.clone());

    // Rewriting: the normalisation goes into weight and bias.
    let mut scale = ExprBuilder::new();
    let (r0, r1, e) = (scale.read(0, F32), scale.read(1, F32), scale.float(1e-5, F32));
    let shifted = scale.binary(Binary::Add, r1, e);
    let inverse = scale.unary(Unary::Rsqrt, shifted);
    let root = scale.binary(Binary::Mul, r0, inverse);
    let (p0, s) = add(&mut g, map("scale", &[4], &[&[4], &[4]], scale.finish(root)), &[gamma, var], "bn.scale", &[4], ("", ""));
    let folded = Op::Map(Map {
        label: "fold".into(),
        dims: smallvec![4, 3, 1, 1],
        reads: vec![
            Access::broadcast(0, &[4, 3, 1, 1], &[4, 3, 1, 1]),
            Access { input: 1, index: vec![Index::Dim(0)], oob: OutOfBounds::InBounds },
        ],
        body: binary(Binary::Mul),
    });
    let (p1, w2) = add(&mut g, folded, &[w, s], "conv.weight.folded", &[4, 3, 1, 1], ("", ""));
    let mut shift = ExprBuilder::new();
    let (r0, r1, r2) = (shift.read(0, F32), shift.read(1, F32), shift.read(2, F32));
    let product = shift.binary(Binary::Mul, r1, r2);
    let root = shift.binary(Binary::Sub, r0, product);
    let (p2, b2) =
        add(&mut g, map("shift", &[4], &[&[4], &[4], &[4]], shift.finish(root)), &[beta, mean, s], "bn.shift", &[4], ("", ""));
    let (fused, c2) = add(&mut g, conv, &[x, w2, b2], "c.folded", &SIZE, ("Conv", "conv"));
    g.set_covers(fused, vec![conv_node, bn_node]);
    for node in [p0, p1, p2] {
        g.set_covers(node, vec![]);
    }
    g.replace_uses(n, c2);
    g.remove_node(bn_node);
    g.remove_node(conv_node);

    let launch = |kernel, operands: &[(Slot, ValueId)], anchor, covers: &[NodeId], layer: &str| Launch {
        kernel,
        operands: operands.to_vec(),
        cluster: Cluster::of(anchor),
        covers: covers.to_vec(),
        layer: layer.to_owned(),
    };
    let (b0, b1) = (Slot::Buffer(0), Slot::Buffer(1));
    let dense = |value, slot, shape: &[usize]| (value, slot, Layout::contiguous(shape));
    let mut across = Layout::contiguous(&[4, 36]);
    across.strides = smallvec![1, 4];
    let mut fused_cluster = launch(
        0,
        &[(Slot::Input(0), x), (Slot::Weight(w2), w2), (Slot::Weight(b2), b2), (b0, a)],
        fused,
        &[conv_node, bn_node, relu_node],
        "conv",
    );
    fused_cluster.cluster.epilogues = vec![relu_node];
    Plan {
        name: "hand_made".to_owned(),
        imported,
        kernels: vec![Arc::new(conv_kernel()), Arc::new(relu_kernel()), Arc::new(add_kernel())],
        launches: vec![
            fused_cluster,
            launch(1, &[(b0, a), (b1, b)], again_node, &[again_node], "relu_again"),
            launch(2, &[(b0, flat), (b1, turned), (Slot::Buffer(2), y)], add_node, &[add_node], "add"),
        ],
        buffers: vec![
            Buffer { dtype: F32, len: 144, live: (0, 2) },
            Buffer { dtype: F32, len: 144, live: (1, 2) },
            Buffer { dtype: F32, len: 144, live: (2, 2) },
        ],
        layouts: vec![
            dense(a, b0, &SIZE),
            dense(b, b1, &SIZE),
            dense(flat, b0, &[4, 36]),
            dense(long, b1, &[36, 4]),
            (turned, b1, across),
            dense(y, Slot::Buffer(2), &[4, 36]),
        ],
        preparation: vec![p0, p1, p2],
        graph: Arc::new(g),
    }
}
