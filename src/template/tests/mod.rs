//! Whole bound texts and launches of small graphs, blessed.
//!
//! `tools/check_bound.py` gives further bindings (the ignored test `dump`) to Triton itself.

mod bad;
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
fn convolution_alone() {
    let mut b = Builder::new();
    let (x, w) = (b.input("x", &[1, 3, 16, 16]), b.weight("w", &[8, 3, 3, 3], Role::Weight { fan_in: 27 }));
    let (conv, _) = b.node(conv_op(1, 1), &[Some(x), Some(w)], &[1, 8, 16, 16]);
    check(
        &bind_contiguous(&b.graph, &Cluster::of(conv)),
        expect![[r#"
        @triton.jit
        def conv2d_resnet_tile(
            tile, x_ptr, w_ptr, y_ptr,
            N, C, H, W, K, P, Q, R, S,
            x_stride_n, x_stride_c, x_stride_h, x_stride_w,
            w_stride_k, w_stride_c, w_stride_r, w_stride_s,
            y_stride_n, y_stride_k, y_stride_p, y_stride_q,
            STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
            DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
            PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
        ):
            M = N * P * Q
            KG = K // GROUPS
            tiles_m = tl.cdiv(M, BM)
            tiles_n = tl.cdiv(KG, BN)
            group = tile // (tiles_m * tiles_n)
            gm = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
            gn = tile % tiles_n * BN + tl.arange(0, BN)
            n = gm // (P * Q)
            p = gm // Q % P
            q = gm % Q
            k = group * KG + gn
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for start in range(0, C * R * S, BK):
                gk = start + tl.arange(0, BK)
                c = gk // (R * S)
                r = gk // S % R
                s = gk % S
                cx = group * C + c
                h = (p * STRIDE_H - PAD_H)[:, None] + (r * DILATION_H)[None, :]
                w = (q * STRIDE_W - PAD_W)[:, None] + (s * DILATION_W)[None, :]
                x = tl.load(
                    x_ptr + n[:, None] * x_stride_n + cx[None, :] * x_stride_c
                    + h * x_stride_h + w * x_stride_w,
                    mask=(gm[:, None] < M) & (c[None, :] < C)
                    & (h >= 0) & (h < H) & (w >= 0) & (w < W),
                    other=0.0,
                )
                weight = tl.load(
                    w_ptr + k[None, :] * w_stride_k + c[:, None] * w_stride_c
                    + r[:, None] * w_stride_r + s[:, None] * w_stride_s,
                    mask=(gn[None, :] < KG) & (c[:, None] < C),
                    other=0.0,
                )
                acc += tl.dot(x, weight, input_precision=PRECISION)
            tl.store(
                y_ptr + n[:, None] * y_stride_n + k[None, :] * y_stride_k
                + p[:, None] * y_stride_p + q[:, None] * y_stride_q,
                acc,
                mask=(gm[:, None] < M) & (gn[None, :] < KG),
            )


        @triton.jit
        def conv2d_resnet_kernel(
            x_ptr, w_ptr, y_ptr,
            N, C, H, W, K, P, Q, R, S,
            x_stride_n, x_stride_c, x_stride_h, x_stride_w,
            w_stride_k, w_stride_c, w_stride_r, w_stride_s,
            y_stride_n, y_stride_k, y_stride_p, y_stride_q,
            STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
            DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
            PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
        ):
            conv2d_resnet_tile(
                tl.program_id(0), x_ptr, w_ptr, y_ptr,
                N, C, H, W, K, P, Q, R, S,
                x_stride_n, x_stride_c, x_stride_h, x_stride_w,
                w_stride_k, w_stride_c, w_stride_r, w_stride_s,
                y_stride_n, y_stride_k, y_stride_p, y_stride_q,
                STRIDE_H, STRIDE_W, PAD_H, PAD_W, DILATION_H, DILATION_W, GROUPS,
                PRECISION, BM, BN, BK,
            )
    "#]],
        expect![[r#"
            template conv2d_resnet
            operand x: f32 [1, 3, 16, 16] Read
            operand w: f32 [8, 3, 3, 3] Read
            operand y: f32 [1, 8, 16, 16] Write
            N = x.shape[0]  # 1
            C = w.shape[1]  # 3
            H = x.shape[2]  # 16
            W = x.shape[3]  # 16
            K = w.shape[0]  # 8
            P = y.shape[2]  # 16
            Q = y.shape[3]  # 16
            R = w.shape[2]  # 3
            S = w.shape[3]  # 3
            BM = 64  # 64
            GROUPS = 1  # 1
            BN = 16  # 16
            conv2d_resnet_kernel[triton.cdiv(N * P * Q, BM) * triton.cdiv(K // GROUPS, BN) * GROUPS (4), 1 (1), 1 (1)] warps 4 stages 3
              x_ptr = x
              w_ptr = w
              y_ptr = y
              N = N (1)
              C = C (3)
              H = H (16)
              W = W (16)
              K = K (8)
              P = P (16)
              Q = Q (16)
              R = R (3)
              S = S (3)
              x_stride_n = x.stride(0) (768)
              x_stride_c = x.stride(1) (256)
              x_stride_h = x.stride(2) (16)
              x_stride_w = x.stride(3) (1)
              w_stride_k = w.stride(0) (27)
              w_stride_c = w.stride(1) (9)
              w_stride_r = w.stride(2) (3)
              w_stride_s = w.stride(3) (1)
              y_stride_n = y.stride(0) (2048)
              y_stride_k = y.stride(1) (256)
              y_stride_p = y.stride(2) (16)
              y_stride_q = y.stride(3) (1)
              STRIDE_H = constexpr 1 (1)
              STRIDE_W = constexpr 1 (1)
              PAD_H = constexpr 1 (1)
              PAD_W = constexpr 1 (1)
              DILATION_H = constexpr 1 (1)
              DILATION_W = constexpr 1 (1)
              GROUPS = constexpr GROUPS (1)
              PRECISION = constexpr "ieee"
              BM = constexpr BM (64)
              BN = constexpr BN (16)
              BK = constexpr 32 (32)
        "#]],
    );
}

#[test]
fn convolution_with_bias_residual_and_relu() {
    let mut b = Builder::new();
    let (x, w) = (b.input("x", &[1, 3, 16, 16]), b.weight("w", &[8, 3, 3, 3], Role::Weight { fan_in: 27 }));
    let bias = b.weight("bias", &[8], Role::Bias);
    let skip = b.input("skip", &[1, 8, 16, 16]);
    let (conv, y) = b.node(conv_op(1, 1), &[Some(x), Some(w), Some(bias)], &[1, 8, 16, 16]);
    let (add, sum) = b.map("add", "add(r0, r1)", &[y, skip]);
    let (relu, _) = b.map("relu", "max_nan(r0, 0.0)", &[sum]);
    let cluster = Cluster { anchor: conv, prologues: vec![], epilogues: vec![add, relu] };
    check(
        &bind_contiguous(&b.graph, &cluster),
        expect![[r#"
        @triton.jit
        def conv2d_resnet_tile(
            tile, x_ptr, w_ptr, y_ptr,
            N, C, H, W, K, P, Q, R, S,
            x_stride_n, x_stride_c, x_stride_h, x_stride_w,
            w_stride_k, w_stride_c, w_stride_r, w_stride_s,
            y_stride_n, y_stride_k, y_stride_p, y_stride_q,
            bias_ptr, bias_stride_k,
            residual_ptr, residual_stride_k, residual_stride_p, residual_stride_q,
            STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
            DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
            PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
        ):
            M = N * P * Q
            KG = K // GROUPS
            tiles_m = tl.cdiv(M, BM)
            tiles_n = tl.cdiv(KG, BN)
            group = tile // (tiles_m * tiles_n)
            gm = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
            gn = tile % tiles_n * BN + tl.arange(0, BN)
            n = gm // (P * Q)
            p = gm // Q % P
            q = gm % Q
            k = group * KG + gn
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for start in range(0, C * R * S, BK):
                gk = start + tl.arange(0, BK)
                c = gk // (R * S)
                r = gk // S % R
                s = gk % S
                cx = group * C + c
                h = (p * STRIDE_H - PAD_H)[:, None] + (r * DILATION_H)[None, :]
                w = (q * STRIDE_W - PAD_W)[:, None] + (s * DILATION_W)[None, :]
                x = tl.load(
                    x_ptr + n[:, None] * x_stride_n + cx[None, :] * x_stride_c
                    + h * x_stride_h + w * x_stride_w,
                    mask=(gm[:, None] < M) & (c[None, :] < C)
                    & (h >= 0) & (h < H) & (w >= 0) & (w < W),
                    other=0.0,
                )
                weight = tl.load(
                    w_ptr + k[None, :] * w_stride_k + c[:, None] * w_stride_c
                    + r[:, None] * w_stride_r + s[:, None] * w_stride_s,
                    mask=(gn[None, :] < KG) & (c[:, None] < C),
                    other=0.0,
                )
                acc += tl.dot(x, weight, input_precision=PRECISION)
            bias = tl.load(bias_ptr + k[None, :] * bias_stride_k, mask=gn[None, :] < KG, other=0.0)
            acc_bias = acc + bias
            residual = tl.load(
                residual_ptr + k[None, :] * residual_stride_k + p[:, None] * residual_stride_p
                + q[:, None] * residual_stride_q,
                mask=(gn[None, :] < KG) & (gm[:, None] < M),
                other=0.0,
            )
            acc_add = acc_bias + residual
            acc_relu = tl.where(acc_add < 0, 0, acc_add)
            tl.store(
                y_ptr + n[:, None] * y_stride_n + k[None, :] * y_stride_k
                + p[:, None] * y_stride_p + q[:, None] * y_stride_q,
                acc_relu,
                mask=(gm[:, None] < M) & (gn[None, :] < KG),
            )


        @triton.jit
        def conv2d_resnet_kernel(
            x_ptr, w_ptr, y_ptr,
            N, C, H, W, K, P, Q, R, S,
            x_stride_n, x_stride_c, x_stride_h, x_stride_w,
            w_stride_k, w_stride_c, w_stride_r, w_stride_s,
            y_stride_n, y_stride_k, y_stride_p, y_stride_q,
            bias_ptr, bias_stride_k,
            residual_ptr, residual_stride_k, residual_stride_p, residual_stride_q,
            STRIDE_H: tl.constexpr, STRIDE_W: tl.constexpr, PAD_H: tl.constexpr, PAD_W: tl.constexpr,
            DILATION_H: tl.constexpr, DILATION_W: tl.constexpr, GROUPS: tl.constexpr,
            PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
        ):
            conv2d_resnet_tile(
                tl.program_id(0), x_ptr, w_ptr, y_ptr,
                N, C, H, W, K, P, Q, R, S,
                x_stride_n, x_stride_c, x_stride_h, x_stride_w,
                w_stride_k, w_stride_c, w_stride_r, w_stride_s,
                y_stride_n, y_stride_k, y_stride_p, y_stride_q,
                bias_ptr, bias_stride_k,
                residual_ptr, residual_stride_k, residual_stride_p, residual_stride_q,
                STRIDE_H, STRIDE_W, PAD_H, PAD_W, DILATION_H, DILATION_W, GROUPS,
                PRECISION, BM, BN, BK,
            )
    "#]],
        expect![[r#"
            template conv2d_resnet
            operand x: f32 [1, 3, 16, 16] Read
            operand w: f32 [8, 3, 3, 3] Read
            operand bias: f32 [8] Read
            operand residual: f32 [1, 8, 16, 16] Read
            operand y: f32 [1, 8, 16, 16] Write
            N = x.shape[0]  # 1
            C = w.shape[1]  # 3
            H = x.shape[2]  # 16
            W = x.shape[3]  # 16
            K = w.shape[0]  # 8
            P = y.shape[2]  # 16
            Q = y.shape[3]  # 16
            R = w.shape[2]  # 3
            S = w.shape[3]  # 3
            BM = 64  # 64
            GROUPS = 1  # 1
            BN = 16  # 16
            conv2d_resnet_kernel[triton.cdiv(N * P * Q, BM) * triton.cdiv(K // GROUPS, BN) * GROUPS (4), 1 (1), 1 (1)] warps 4 stages 3
              x_ptr = x
              w_ptr = w
              y_ptr = y
              N = N (1)
              C = C (3)
              H = H (16)
              W = W (16)
              K = K (8)
              P = P (16)
              Q = Q (16)
              R = R (3)
              S = S (3)
              x_stride_n = x.stride(0) (768)
              x_stride_c = x.stride(1) (256)
              x_stride_h = x.stride(2) (16)
              x_stride_w = x.stride(3) (1)
              w_stride_k = w.stride(0) (27)
              w_stride_c = w.stride(1) (9)
              w_stride_r = w.stride(2) (3)
              w_stride_s = w.stride(3) (1)
              y_stride_n = y.stride(0) (2048)
              y_stride_k = y.stride(1) (256)
              y_stride_p = y.stride(2) (16)
              y_stride_q = y.stride(3) (1)
              bias_ptr = bias
              bias_stride_k = bias.stride(0) (1)
              residual_ptr = residual
              residual_stride_k = residual.stride(1) (256)
              residual_stride_p = residual.stride(2) (16)
              residual_stride_q = residual.stride(3) (1)
              STRIDE_H = constexpr 1 (1)
              STRIDE_W = constexpr 1 (1)
              PAD_H = constexpr 1 (1)
              PAD_W = constexpr 1 (1)
              DILATION_H = constexpr 1 (1)
              DILATION_W = constexpr 1 (1)
              GROUPS = constexpr GROUPS (1)
              PRECISION = constexpr "ieee"
              BM = constexpr BM (64)
              BN = constexpr BN (16)
              BK = constexpr 32 (32)
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
fn matmul_with_a_row_added() {
    let mut b = Builder::new();
    let (x, w) = (b.input("x", &[1, 2048]), b.weight("w", &[2048, 1000], Role::Weight { fan_in: 2048 }));
    let row = b.weight("row", &[1000], Role::Bias);
    let (matmul, y) = b.node(Op::MatMul, &[Some(x), Some(w)], &[1, 1000]);
    let (add, _) = b.map("add", "add(r0, r1)", &[y, row]);
    let cluster = Cluster { anchor: matmul, prologues: vec![], epilogues: vec![add] };
    check(
        &bind_contiguous(&b.graph, &cluster),
        expect![[r#"
        @triton.jit
        def matmul_tile(
            tile, a_ptr, b_ptr, y_ptr,
            B, M, N, K,
            a_stride_b, a_stride_m, a_stride_k,
            b_stride_b, b_stride_k, b_stride_n,
            y_stride_b, y_stride_m, y_stride_n,
            bias_ptr, bias_stride_n,
            PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
        ):
            tiles_m = tl.cdiv(M, BM)
            tiles_n = tl.cdiv(N, BN)
            b = tile // (tiles_m * tiles_n)
            m = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
            n = tile % tiles_n * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), dtype=tl.float32)
            for start in range(0, K, BK):
                k = start + tl.arange(0, BK)
                left = tl.load(
                    a_ptr + b * a_stride_b + m[:, None] * a_stride_m + k[None, :] * a_stride_k,
                    mask=(m[:, None] < M) & (k[None, :] < K),
                    other=0.0,
                )
                right = tl.load(
                    b_ptr + b * b_stride_b + k[:, None] * b_stride_k + n[None, :] * b_stride_n,
                    mask=(k[:, None] < K) & (n[None, :] < N),
                    other=0.0,
                )
                acc += tl.dot(left, right, input_precision=PRECISION)
            bias = tl.load(bias_ptr + n[None, :] * bias_stride_n, mask=n[None, :] < N, other=0.0)
            acc_add = acc + bias
            tl.store(
                y_ptr + b * y_stride_b + m[:, None] * y_stride_m + n[None, :] * y_stride_n,
                acc_add,
                mask=(m[:, None] < M) & (n[None, :] < N),
            )


        @triton.jit
        def matmul_kernel(
            a_ptr, b_ptr, y_ptr,
            B, M, N, K,
            a_stride_b, a_stride_m, a_stride_k,
            b_stride_b, b_stride_k, b_stride_n,
            y_stride_b, y_stride_m, y_stride_n,
            bias_ptr, bias_stride_n,
            PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
        ):
            matmul_tile(
                tl.program_id(0), a_ptr, b_ptr, y_ptr,
                B, M, N, K,
                a_stride_b, a_stride_m, a_stride_k,
                b_stride_b, b_stride_k, b_stride_n,
                y_stride_b, y_stride_m, y_stride_n,
                bias_ptr, bias_stride_n,
                PRECISION, BM, BN, BK,
            )
    "#]],
        expect![[r#"
            template matmul
            operand a: f32 [1, 2048] Read
            operand b: f32 [2048, 1000] Read
            operand bias: f32 [1000] Read
            operand y: f32 [1, 1000] Write
            B = 1  # 1
            M = a.shape[0]  # 1
            N = b.shape[1]  # 1000
            K = a.shape[1]  # 2048
            BM = 16  # 16
            BN = 16  # 16
            matmul_kernel[triton.cdiv(M, BM) * triton.cdiv(N, BN) * B (63), 1 (1), 1 (1)] warps 4 stages 3
              a_ptr = a
              b_ptr = b
              y_ptr = y
              B = B (1)
              M = M (1)
              N = N (1000)
              K = K (2048)
              a_stride_b = 0 (0)
              a_stride_m = a.stride(0) (2048)
              a_stride_k = a.stride(1) (1)
              b_stride_b = 0 (0)
              b_stride_k = b.stride(0) (1000)
              b_stride_n = b.stride(1) (1)
              y_stride_b = 0 (0)
              y_stride_m = y.stride(0) (1000)
              y_stride_n = y.stride(1) (1)
              bias_ptr = bias
              bias_stride_n = bias.stride(0) (1)
              PRECISION = constexpr "ieee"
              BM = constexpr BM (16)
              BN = constexpr BN (16)
              BK = constexpr 128 (128)
        "#]],
    );
}

#[test]
fn batch_axes_that_broadcast_both_ways_are_cut() {
    let mut b = Builder::new();
    let (x, y) = (b.input("x", &[2, 1, 4, 20]), b.input("y", &[3, 20, 6]));
    let (matmul, _) = b.node(Op::MatMul, &[Some(x), Some(y)], &[2, 3, 4, 6]);
    check(
        &bind_contiguous(&b.graph, &Cluster::of(matmul)),
        expect![[r#"
            @triton.jit
            def matmul_tile(
                tile, a_ptr, b_ptr, y_ptr,
                B, M, N, K,
                a_stride_m, a_stride_k,
                b_stride_k, b_stride_n,
                y_stride_b, y_stride_m, y_stride_n,
                B1,
                a_stride_b0,
                b_stride_b1,
                PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            ):
                tiles_m = tl.cdiv(M, BM)
                tiles_n = tl.cdiv(N, BN)
                b = tile // (tiles_m * tiles_n)
                m = tile // tiles_n % tiles_m * BM + tl.arange(0, BM)
                n = tile % tiles_n * BN + tl.arange(0, BN)
                acc = tl.zeros((BM, BN), dtype=tl.float32)
                for start in range(0, K, BK):
                    k = start + tl.arange(0, BK)
                    b0 = b // B1
                    left = tl.load(
                        a_ptr + b0 * a_stride_b0 + m[:, None] * a_stride_m + k[None, :] * a_stride_k,
                        mask=(m[:, None] < M) & (k[None, :] < K),
                        other=0.0,
                    )
                    b1 = b % B1
                    right = tl.load(
                        b_ptr + b1 * b_stride_b1 + k[:, None] * b_stride_k + n[None, :] * b_stride_n,
                        mask=(k[:, None] < K) & (n[None, :] < N),
                        other=0.0,
                    )
                    acc += tl.dot(left, right, input_precision=PRECISION)
                tl.store(
                    y_ptr + b * y_stride_b + m[:, None] * y_stride_m + n[None, :] * y_stride_n,
                    acc,
                    mask=(m[:, None] < M) & (n[None, :] < N),
                )


            @triton.jit
            def matmul_kernel(
                a_ptr, b_ptr, y_ptr,
                B, M, N, K,
                a_stride_m, a_stride_k,
                b_stride_k, b_stride_n,
                y_stride_b, y_stride_m, y_stride_n,
                B1,
                a_stride_b0,
                b_stride_b1,
                PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            ):
                matmul_tile(
                    tl.program_id(0), a_ptr, b_ptr, y_ptr,
                    B, M, N, K,
                    a_stride_m, a_stride_k,
                    b_stride_k, b_stride_n,
                    y_stride_b, y_stride_m, y_stride_n,
                    B1,
                    a_stride_b0,
                    b_stride_b1,
                    PRECISION, BM, BN, BK,
                )
        "#]],
        expect![[r#"
            template matmul
            operand a: f32 [2, 1, 4, 20] Read
            operand b: f32 [3, 20, 6] Read
            operand y: f32 [2, 3, 4, 6] Write
            B = y.shape[0] * y.shape[1]  # 6
            M = a.shape[2]  # 4
            N = b.shape[2]  # 6
            K = a.shape[3]  # 20
            BM = 16  # 16
            BN = 16  # 16
            matmul_kernel[triton.cdiv(M, BM) * triton.cdiv(N, BN) * B (6), 1 (1), 1 (1)] warps 4 stages 3
              a_ptr = a
              b_ptr = b
              y_ptr = y
              B = B (6)
              M = M (4)
              N = N (6)
              K = K (20)
              a_stride_m = a.stride(2) (20)
              a_stride_k = a.stride(3) (1)
              b_stride_k = b.stride(1) (6)
              b_stride_n = b.stride(2) (1)
              y_stride_b = y.stride(1) (24)
              y_stride_m = y.stride(2) (6)
              y_stride_n = y.stride(3) (1)
              B1 = b.shape[0] (3)
              a_stride_b0 = a.stride(0) (80)
              b_stride_b1 = b.stride(0) (120)
              PRECISION = constexpr "ieee"
              BM = constexpr BM (16)
              BN = constexpr BN (16)
              BK = constexpr 32 (32)
        "#]],
    );
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
    let (softmax, _) = b.node(Op::Softmax { axis: 1 }, &[Some(x)], &[2, 5, 4, 3]);
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
