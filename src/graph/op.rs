//! The semantic operators. ONNX and ATen are lowered into these by `import`; kernels, templates and
//! fusion read only these.
//!
//! Operand order is fixed per operator and written at each variant. `?` marks an optional operand,
//! which a node holds as `None`. Shapes use N, C, H, W as in ONNX.

use smallvec::SmallVec;

use crate::dtype::DType;
use crate::expr::Expr;
use crate::expr::index::Index;
use crate::shape::Shape;

pub use super::reduction::{ArgKind, ArgReduce, Norm, Reduce, ReduceKind, Scan, ScanKind};

/// What a node computes.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Every element of the output from elements of the inputs: pointwise operators, broadcast,
    /// slice, pad, concat, …. Operands: the inputs that `reads` names, in order.
    Map(Map),
    /// Convolution. Operands: X [N, C, spatial…], W [K, C / groups, kernel…], B? [K].
    Conv(Conv),
    /// Transposed convolution: every element of X adds a kernel to Y.
    /// Operands: X [N, C, spatial…], W [C, K / groups, kernel…], B? [K].
    ConvTranspose(ConvTranspose),
    /// Pooling over the spatial axes. Operand: X [N, C, spatial…].
    Pool(Pool),
    /// Inference-mode batch normalisation:
    /// y = (x − mean) / √(var + ε) · γ + β per channel (axis 1).
    /// Operands: X [N, C, …], γ [C], β [C], mean [C], var [C].
    BatchNorm { epsilon: f64 },
    /// Normalisation by the operand's own statistics, over any axes: layer, group and instance
    /// normalisation, batch normalisation in training, root mean square.
    /// Operands: X, γ?, β?, both of X's rank, each axis 1 or X's.
    Norm(Norm),
    /// A [b…, m, k] · B [b…, k, n], batch axes broadcast as in numpy; both ranks are at least 2.
    MatMul,
    /// e^(x − max) / Σ e^(x − max) along one axis; with `log` its logarithm,
    /// x − max − ln Σ e^(x − max). Operand: X.
    Softmax { axis: usize, log: bool },
    /// One number over some axes: sum, mean, maximum, …. Operand: X.
    Reduce(Reduce),
    /// Where along an axis its largest or smallest element stands, as i64. Operand: X.
    ArgReduce(ArgReduce),
    /// Running sums or products along an axis. Operand: X.
    Scan(Scan),
    /// Local response normalisation over the channels (axis 1). Operand: X [N, C, …].
    Lrn(Lrn),
    /// The same elements under another shape or order; resolved into strides by the plan.
    View(View),
}

/// The generic elementwise and movement operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The operator's name for people and for templates of its own: `relu`, `add`, `slice`.
    pub label: String,
    /// The output's shape: the iteration space.
    pub dims: Shape,
    pub reads: Vec<Access>,
    /// Read(k) in it is the value of `reads[k]`.
    pub body: Expr,
}

/// One element of one input, as a function of the output coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Which operand of the node.
    pub input: usize,
    /// One index expression an axis of that operand.
    pub index: Vec<Index>,
    pub oob: OutOfBounds,
}

/// What an access means where its index lies outside the operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OutOfBounds {
    /// It never does.
    InBounds,
    /// The constant stands there (zero padding; concat's absent pieces).
    Fill(f64),
}

/// Attributes of a convolution, one entry a spatial axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conv {
    pub strides: SmallVec<[usize; 3]>,
    pub dilations: SmallVec<[usize; 3]>,
    /// Zeros before each spatial axis.
    pub pads_begin: SmallVec<[usize; 3]>,
    /// Zeros after each spatial axis.
    pub pads_end: SmallVec<[usize; 3]>,
    pub groups: usize,
}

/// Attributes of a transposed convolution, one entry a spatial axis: element h of X reaches the places
/// h · stride + r · dilation − pads_begin of Y, for every tap r of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConvTranspose {
    pub strides: SmallVec<[usize; 3]>,
    pub dilations: SmallVec<[usize; 3]>,
    /// Elements cut off before each spatial axis of Y.
    pub pads_begin: SmallVec<[usize; 3]>,
    /// Elements cut off after each spatial axis of Y.
    pub pads_end: SmallVec<[usize; 3]>,
    /// Elements that Y has beyond the last one that a window reaches.
    pub output_padding: SmallVec<[usize; 3]>,
    pub groups: usize,
}

/// Attributes of a pooling operator, one entry a spatial axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pool {
    pub kind: PoolKind,
    pub kernel: SmallVec<[usize; 3]>,
    pub strides: SmallVec<[usize; 3]>,
    pub dilations: SmallVec<[usize; 3]>,
    pub pads_begin: SmallVec<[usize; 3]>,
    /// Padding after each axis as the output size implies it: for ceil mode this is already grown
    /// so that the floor formula gives the output size.
    pub pads_end: SmallVec<[usize; 3]>,
}

impl Pool {
    /// Adaptive average pooling to these output sizes.
    pub fn adaptive_average(size: SmallVec<[usize; 3]>) -> Pool {
        let (ones, zeros) = (SmallVec::from_elem(1, size.len()), SmallVec::from_elem(0, size.len()));
        Pool {
            kind: PoolKind::AdaptiveAverage,
            kernel: size,
            strides: ones.clone(),
            dilations: ones,
            pads_begin: zeros.clone(),
            pads_end: zeros,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PoolKind {
    /// Padding is −∞; NaN is kept.
    Max,
    /// `count_pad`: whether padding counts in the divisor.
    Average { count_pad: bool },
    /// Mean over the bins of torch's adaptive pooling, start = ⌊i·in/out⌋, end = ⌈(i+1)·in/out⌉.
    /// `kernel` holds the *output* size; strides, dilations and pads are 1, 1, 0.
    AdaptiveAverage,
}

/// y = x / (bias + α / size · Σ x²)^β, summed over the window of `size` channels around each one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lrn {
    pub size: usize,
    pub alpha: f64,
    pub beta: f64,
    pub bias: f64,
}

impl Lrn {
    /// The channels whose squares are summed for channel `c`: c − ⌊(size − 1) / 2⌋ … c + ⌈(size − 1) / 2⌉,
    /// cut at the ends.
    pub fn window(&self, c: usize, channels: usize) -> std::ops::Range<usize> {
        let before = (self.size - 1) / 2;
        c.saturating_sub(before)..(c + self.size - before).min(channels)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum View {
    /// Row-major elements under another shape of the same size.
    Reshape(Shape),
    /// Result axis i is operand axis `order[i]`.
    Transpose(SmallVec<[usize; 6]>),
    /// Sizes of 1 and missing leading axes grow to this shape.
    Broadcast(Shape),
}

impl Op {
    /// The operator's name in graph text and messages.
    pub fn name(&self) -> &str {
        match self {
            Op::Map(map) => &map.label,
            Op::Conv(_) => "conv",
            Op::Pool(pool) => match pool.kind {
                PoolKind::Max => "max_pool",
                PoolKind::Average { .. } => "average_pool",
                PoolKind::AdaptiveAverage => "adaptive_average_pool",
            },
            Op::BatchNorm { .. } => "batch_norm",
            Op::MatMul => "matmul",
            Op::Softmax { axis: _, log: false } => "softmax",
            Op::Softmax { axis: _, log: true } => "log_softmax",
            Op::ConvTranspose(_) => "conv_transpose",
            Op::Norm(norm) => norm.name(),
            Op::Reduce(reduce) => reduce.kind.name(),
            Op::ArgReduce(arg) => arg.kind.name(),
            Op::Scan(scan) => scan.kind.name(),
            Op::Lrn(_) => "lrn",
            Op::View(View::Reshape(_)) => "reshape",
            Op::View(View::Transpose(_)) => "transpose",
            Op::View(View::Broadcast(_)) => "broadcast",
        }
    }
}

/// What a value is for; decides the law of its generated inputs (`rng`) and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Role {
    /// An activation or a model input.
    #[default]
    Activation,
    /// A multiplied weight with this many products summed into one output element.
    Weight {
        fan_in: usize,
    },
    Bias,
    /// A normalisation's γ.
    Scale,
    Mean,
    /// Positive.
    Variance,
    /// An index into an axis of this size.
    IndexBelow(usize),
    /// An integer divisor: not zero.
    Divisor,
    Probability,
    /// bool.
    Mask,
    /// A scalar or small constant whose value matters (never replaced by generated ones).
    Exact,
}

/// Element type and shape of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    pub dtype: DType,
    pub shape: Shape,
}
