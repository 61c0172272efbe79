//! Whole bound texts and launches of small graphs, blessed.
//!
//! `tools/check_bound.py` gives further bindings (the ignored test `dump`) to Triton itself.

mod bad;
mod contractions;
mod dump;

use expect_test::{Expect, expect};

use super::*;
use crate::dtype::DType;
use crate::expr::index::Index;
use crate::expr::parse::parse;
use crate::graph::op::{Access, Conv, Map, Op, OutOfBounds, Pool, PoolKind, Role, TensorType};
use crate::graph::{Cluster, Graph, NodeId, ValueId, Weight};
use crate::shape::{Shape, broadcast};
use crate::target::Target;

/// A graph under construction.
pub struct Builder {
    pub graph: Graph,
    count: usize,
}

impl Builder {
    pub fn new() -> Builder {
        Builder { graph: Graph::new("test"), count: 0 }
    }

    fn ty(shape: &[usize]) -> TensorType {
        TensorType { dtype: DType::F32, shape: Shape::from_slice(shape) }
    }

    pub fn input(&mut self, name: &str, shape: &[usize]) -> ValueId {
        self.graph.add_input(name, Self::ty(shape), Role::Activation).unwrap()
    }

    pub fn weight(&mut self, name: &str, shape: &[usize], role: Role) -> ValueId {
        self.graph.add_weight(name, Self::ty(shape), role, Weight::Missing).unwrap()
    }

    pub fn node(&mut self, op: Op, inputs: &[Option<ValueId>], shape: &[usize]) -> (NodeId, ValueId) {
        self.count += 1;
        let node = self.graph.add_node(op, inputs, vec![(format!("v{}", self.count), Self::ty(shape))], vec![]);
        (node, self.graph.node(node).outputs[0])
    }

    /// A pointwise Map over broadcast inputs, its body in graph text.
    pub fn map(&mut self, label: &str, body: &str, inputs: &[ValueId]) -> (NodeId, ValueId) {
        let shapes: Vec<Shape> = inputs.iter().map(|&v| Shape::from_slice(self.graph.shape(v))).collect();
        let dims = shapes.iter().fold(Shape::new(), |a, b| broadcast(&a, b).unwrap());
        let reads = shapes
            .iter()
            .enumerate()
            .map(|(input, shape)| {
                let lead = dims.len() - shape.len();
                let index = shape
                    .iter()
                    .enumerate()
                    .map(|(i, &s)| if s == 1 { Index::Constant(0) } else { Index::Dim(lead + i) })
                    .collect();
                Access { input, index, oob: OutOfBounds::InBounds }
            })
            .collect();
        let body = parse(body, &vec![DType::F32; inputs.len()]).unwrap();
        let op = Op::Map(Map { label: label.into(), dims: dims.clone(), reads, body });
        let inputs: Vec<_> = inputs.iter().copied().map(Some).collect();
        self.node(op, &inputs, &dims)
    }
}

pub fn bind_contiguous(graph: &Graph, cluster: &Cluster) -> Bound {
    let library = Library::embedded().unwrap();
    let layout = |v: ValueId| Layout::contiguous(graph.shape(v));
    let target = Target::find("sm_90").unwrap();
    bind(graph, cluster, &layout, &library, target, BindOptions::default()).unwrap()
}

/// Operands, launches with locals, grid and arguments, one a line.
fn describe(bound: &Bound) -> String {
    let mut out = format!("template {}\n", bound.kernel.template);
    for o in &bound.kernel.operands {
        out += &format!("operand {}: {} {:?} {:?}\n", o.name, o.dtype, o.layout.shape, o.access);
    }
    for l in &bound.kernel.launches {
        for (name, value) in &l.locals {
            out += &format!("{name} = {}  # {}\n", value.text, value.value);
        }
        let grid: Vec<_> = l.grid.iter().map(|g| format!("{} ({})", g.text, g.value)).collect();
        out += &format!("{}[{}] warps {} stages {}\n", l.function, grid.join(", "), l.num_warps, l.num_stages);
        for a in &l.args {
            let value = match &a.value {
                ArgumentValue::Pointer(i) => bound.kernel.operands[*i].name.clone(),
                ArgumentValue::Int(i) => format!("{} ({})", i.text, i.value),
                ArgumentValue::Constexpr(i) => format!("constexpr {} ({})", i.text, i.value),
                ArgumentValue::ConstexprFloat(x) => format!("constexpr {x}"),
                ArgumentValue::ConstexprStr(s) => format!("constexpr {s:?}"),
            };
            out += &format!("  {} = {value}\n", a.param);
        }
    }
    out
}

fn check(bound: &Bound, text: Expect, launches: Expect) {
    text.assert_eq(&bound.kernel.text);
    launches.assert_eq(&describe(bound));
    assert!(bound.kernel.text.lines().all(|l| l.chars().count() <= 100), "a line is longer than 100 columns");
}

pub fn conv_op(stride: usize, pad: usize) -> Op {
    Op::Conv(Conv {
        strides: [stride, stride].into_iter().collect(),
        dilations: [1, 1].into_iter().collect(),
        pads_begin: [pad, pad].into_iter().collect(),
        pads_end: [pad, pad].into_iter().collect(),
        groups: 1,
    })
}

#[test]
fn relu_alone_is_the_template_without_its_anchors() {
    let mut b = Builder::new();
    let x = b.input("x", &[1, 8, 5, 5]);
    let (relu, _) = b.map("relu", "max_nan(r0, 0.0)", &[x]);
    check(
        &bind_contiguous(&b.graph, &Cluster::of(relu)),
        expect![[r#"
        @triton.jit
        def relu_tile(
            tile, x_ptr, y_ptr, E,
            BLOCK: tl.constexpr,
        ):
            e = tile * BLOCK + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + e, mask=e < E, other=0)
            y = tl.where(x < 0, 0, x)
            tl.store(y_ptr + e, y, mask=e < E)


        @triton.jit
        def relu_kernel(
            x_ptr, y_ptr, E,
            BLOCK: tl.constexpr,
        ):
            relu_tile(
                tl.program_id(0), x_ptr, y_ptr, E,
                BLOCK,
            )
    "#]],
        expect![[r#"
            template relu
            operand x: f32 [1, 8, 5, 5] Read
            operand y: f32 [1, 8, 5, 5] Write
            E = x.numel()  # 200
            BLOCK = 256  # 256
            relu_kernel[triton.cdiv(E, BLOCK) (1), 1 (1), 1 (1)] warps 4 stages 1
              x_ptr = x
              y_ptr = y
              E = E (200)
              BLOCK = constexpr BLOCK (256)
        "#]],
    );
}

#[test]
fn an_operand_of_one_element_is_loaded_as_a_block() {
    for (first, second) in [(&[1][..], &[3][..]), (&[], &[3]), (&[1, 1, 1], &[2, 3, 5])] {
        let mut b = Builder::new();
        let (x, y) = (b.input("x", first), b.input("y", second));
        let (add, _) = b.map("add", "add(r0, r1)", &[x, y]);
        let text = bind_contiguous(&b.graph, &Cluster::of(add)).kernel.text;
        assert!(text.contains("a = tl.load(a_ptr + e * a_stride_e, mask=e < E, other=0)"), "{text}");
    }
}

#[test]
fn a_broadcast_operand_of_add_gets_its_own_address() {
    let mut b = Builder::new();
    let (x, y) = (b.input("x", &[2, 8, 5, 5]), b.weight("y", &[8, 1, 1], Role::Bias));
    let (add, _) = b.map("add", "add(r0, r1)", &[x, y]);
    check(
        &bind_contiguous(&b.graph, &Cluster::of(add)),
        expect![[r#"
            @triton.jit
            def add_tile(
                tile, a_ptr, b_ptr, y_ptr, E,
                E1, E2,
                BLOCK: tl.constexpr,
            ):
                e = tile * BLOCK + tl.arange(0, BLOCK)
                a = tl.load(a_ptr + e, mask=e < E, other=0)
                e1 = e // E2 % E1
                b = tl.load(b_ptr + e1, mask=e < E, other=0)
                y = a + b
                tl.store(y_ptr + e, y, mask=e < E)


            @triton.jit
            def add_kernel(
                a_ptr, b_ptr, y_ptr, E,
                E1, E2,
                BLOCK: tl.constexpr,
            ):
                add_tile(
                    tl.program_id(0), a_ptr, b_ptr, y_ptr, E,
                    E1, E2,
                    BLOCK,
                )
        "#]],
        expect![[r#"
            template add
            operand a: f32 [2, 8, 5, 5] Read
            operand b: f32 [8, 1, 1] Read
            operand y: f32 [2, 8, 5, 5] Write
            E = a.numel()  # 400
            BLOCK = 512  # 512
            add_kernel[triton.cdiv(E, BLOCK) (1), 1 (1), 1 (1)] warps 4 stages 1
              a_ptr = a
              b_ptr = b
              y_ptr = y
              E = E (400)
              E1 = a.shape[1] (8)
              E2 = a.shape[2] * a.shape[3] (25)
              BLOCK = constexpr BLOCK (512)
        "#]],
    );
}

#[test]
fn pools_of_resnet() {
    let mut b = Builder::new();
    let x = b.input("x", &[1, 64, 112, 112]);
    let pool = |kind, kernel: usize, stride: usize, pad: usize| {
        Op::Pool(Pool {
            kind,
            kernel: [kernel, kernel].into_iter().collect(),
            strides: [stride, stride].into_iter().collect(),
            dilations: [1, 1].into_iter().collect(),
            pads_begin: [pad, pad].into_iter().collect(),
            pads_end: [pad, pad].into_iter().collect(),
        })
    };
    let (max, _) = b.node(pool(PoolKind::Max, 3, 2, 1), &[Some(x)], &[1, 64, 56, 56]);
    expect![[r#"
        template maxpool2d
        operand x: f32 [1, 64, 112, 112] Read
        operand y: f32 [1, 64, 56, 56] Write
        N = x.shape[0]  # 1
        C = x.shape[1]  # 64
        H = x.shape[2]  # 112
        W = x.shape[3]  # 112
        P = y.shape[2]  # 56
        Q = y.shape[3]  # 56
        BP = 4  # 4
        BQ = 64  # 64
        maxpool2d_kernel[triton.cdiv(P, BP) * triton.cdiv(Q, BQ) * N * C (896), 1 (1), 1 (1)] warps 1 stages 1
          x_ptr = x
          y_ptr = y
          N = N (1)
          C = C (64)
          H = H (112)
          W = W (112)
          P = P (56)
          Q = Q (56)
          x_stride_n = x.stride(0) (802816)
          x_stride_c = x.stride(1) (12544)
          x_stride_h = x.stride(2) (112)
          x_stride_w = x.stride(3) (1)
          y_stride_n = y.stride(0) (200704)
          y_stride_c = y.stride(1) (3136)
          y_stride_p = y.stride(2) (56)
          y_stride_q = y.stride(3) (1)
          KERNEL_H = constexpr 3 (3)
          KERNEL_W = constexpr 3 (3)
          STRIDE_H = constexpr 2 (2)
          STRIDE_W = constexpr 2 (2)
          DILATION_H = constexpr 1 (1)
          DILATION_W = constexpr 1 (1)
          PAD_H = constexpr 1 (1)
          PAD_W = constexpr 1 (1)
          BP = constexpr BP (4)
          BQ = constexpr BQ (64)
    "#]]
    .assert_eq(&describe(&bind_contiguous(&b.graph, &Cluster::of(max))));
    let (mean, _) = b.node(pool(PoolKind::AdaptiveAverage, 1, 1, 0), &[Some(x)], &[1, 64, 1, 1]);
    expect![[r#"
        template adaptive_avgpool2d
        operand x: f32 [1, 64, 112, 112] Read
        operand y: f32 [1, 64, 1, 1] Write
        N = x.shape[0]  # 1
        C = x.shape[1]  # 64
        H = x.shape[2]  # 112
        W = x.shape[3]  # 112
        P = y.shape[2]  # 1
        Q = y.shape[3]  # 1
        BIN_H = triton.cdiv(H, P) + (1 if H % P else 0)  # 112
        BIN_W = triton.cdiv(W, Q) + (1 if W % Q else 0)  # 112
        BE = 4  # 4
        adaptive_avgpool2d_kernel[triton.cdiv(N * C * P * Q, BE) (16), 1 (1), 1 (1)] warps 2 stages 1
          x_ptr = x
          y_ptr = y
          N = N (1)
          C = C (64)
          H = H (112)
          W = W (112)
          P = P (1)
          Q = Q (1)
          BIN_H = BIN_H (112)
          BIN_W = BIN_W (112)
          x_stride_n = x.stride(0) (802816)
          x_stride_c = x.stride(1) (12544)
          x_stride_h = x.stride(2) (112)
          x_stride_w = x.stride(3) (1)
          y_stride_n = y.stride(0) (64)
          y_stride_c = y.stride(1) (1)
          y_stride_p = y.stride(2) (1)
          y_stride_q = y.stride(3) (1)
          BE = constexpr BE (4)
          BT = constexpr 256 (256)
    "#]]
    .assert_eq(&describe(&bind_contiguous(&b.graph, &Cluster::of(mean))));
}

#[test]
fn batchnorm_and_softmax() {
    let mut b = Builder::new();
    let x = b.input("x", &[2, 5, 4, 3]);
    let per_channel: Vec<_> = ["s", "b", "m", "v"].iter().map(|n| Some(b.weight(n, &[5], Role::Scale))).collect();
    let inputs: Vec<_> = [Some(x)].into_iter().chain(per_channel).collect();
    let (norm, _) = b.node(Op::BatchNorm { epsilon: 1e-5 }, &inputs, &[2, 5, 4, 3]);
    expect![[r#"
        template batchnorm2d
        operand x: f32 [2, 5, 4, 3] Read
        operand scale: f32 [5] Read
        operand bias: f32 [5] Read
        operand mean: f32 [5] Read
        operand var: f32 [5] Read
        operand y: f32 [2, 5, 4, 3] Write
        N = x.shape[0]  # 2
        C = x.shape[1]  # 5
        S = x.shape[2] * x.shape[3]  # 12
        BR = 64  # 64
        BS = 16  # 16
        batchnorm2d_kernel[triton.cdiv(N * C, BR) * triton.cdiv(S, BS) (1), 1 (1), 1 (1)] warps 4 stages 1
          x_ptr = x
          scale_ptr = scale
          bias_ptr = bias
          mean_ptr = mean
          var_ptr = var
          y_ptr = y
          N = N (2)
          C = C (5)
          S = S (12)
          x_stride_n = x.stride(0) (60)
          x_stride_c = x.stride(1) (12)
          x_stride_s = x.stride(3) (1)
          scale_stride_c = scale.stride(0) (1)
          bias_stride_c = bias.stride(0) (1)
          mean_stride_c = mean.stride(0) (1)
          var_stride_c = var.stride(0) (1)
          y_stride_n = y.stride(0) (60)
          y_stride_c = y.stride(1) (12)
          y_stride_s = y.stride(3) (1)
          EPSILON = constexpr 0.00001
          BR = constexpr BR (64)
          BS = constexpr BS (16)
    "#]]
    .assert_eq(&describe(&bind_contiguous(&b.graph, &Cluster::of(norm))));
    let (softmax, _) = b.node(Op::Softmax { axis: 1, log: false }, &[Some(x)], &[2, 5, 4, 3]);
    expect![[r#"
        template softmax
        operand x: f32 [2, 5, 4, 3] Read
        operand y: f32 [2, 5, 4, 3] Write
        E = x.shape[2] * x.shape[3]  # 12
        I = x.shape[1]  # 5
        O = x.shape[0]  # 2
        softmax_kernel[O * E (24), 1 (1), 1 (1)] warps 1 stages 1
          x_ptr = x
          y_ptr = y
          E = E (12)
          I = I (5)
          x_stride_o = x.stride(0) (60)
          x_stride_i = x.stride(1) (12)
          x_stride_e = x.stride(3) (1)
          y_stride_o = y.stride(0) (60)
          y_stride_i = y.stride(1) (12)
          y_stride_e = y.stride(3) (1)
          BLOCK = constexpr 8 (8)
    "#]]
    .assert_eq(&describe(&bind_contiguous(&b.graph, &Cluster::of(softmax))));
}
