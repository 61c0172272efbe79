//! `template.yaml`, typed: what a template computes, over which axes, and how it is launched.
//!
//! Every wrong key, type or expression is a diagnostic with file, line and column. Expressions are
//! Python, kept as syntax trees and evaluated per binding (see `environment`).
//!
//! Not checked here: that `kernel.py` keeps its side of the contract (`library` joins the two).

use std::sync::Arc;

use super::expression::Expression;
use crate::diag::Result;
use crate::dtype::DType;
use crate::expr::formula::Formula;
use crate::graph::op::{Op, PoolKind, ReduceKind, ScanKind};
use crate::shape::Shape;
use crate::source::{SourceFile, Span};
use crate::syntax::yaml::{Entry, Yaml, YamlKind};
use crate::target::Precision;

/// The graph operators that a template can compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Implements {
    Conv,
    ConvTranspose,
    MaxPool,
    AveragePool,
    AdaptiveAveragePool,
    BatchNorm,
    /// By the operand's own statistics; without centring, by its root mean square.
    Norm {
        centred: bool,
    },
    MatMul,
    Softmax {
        log: bool,
    },
    Reduce(ReduceKind),
    ArgReduce,
    Scan(ScanKind),
    Lrn,
    Map,
}

impl Implements {
    pub const ALL: [(Implements, &'static str); 22] = [
        (Implements::Conv, "Conv"),
        (Implements::ConvTranspose, "ConvTranspose"),
        (Implements::MaxPool, "MaxPool"),
        (Implements::AveragePool, "AveragePool"),
        (Implements::AdaptiveAveragePool, "AdaptiveAveragePool"),
        (Implements::BatchNorm, "BatchNorm"),
        (Implements::MatMul, "MatMul"),
        (Implements::Norm { centred: true }, "Norm"),
        (Implements::Norm { centred: false }, "RmsNorm"),
        (Implements::Softmax { log: false }, "Softmax"),
        (Implements::Softmax { log: true }, "LogSoftmax"),
        (Implements::Reduce(ReduceKind::Sum), "ReduceSum"),
        (Implements::Reduce(ReduceKind::Mean), "ReduceMean"),
        (Implements::Reduce(ReduceKind::Max), "ReduceMax"),
        (Implements::Reduce(ReduceKind::Min), "ReduceMin"),
        (Implements::Reduce(ReduceKind::Prod), "ReduceProd"),
        (Implements::Reduce(ReduceKind::LogSumExp), "LogSumExp"),
        (Implements::ArgReduce, "ArgReduce"),
        (Implements::Scan(ScanKind::Sum), "CumSum"),
        (Implements::Scan(ScanKind::Prod), "CumProd"),
        (Implements::Lrn, "Lrn"),
        (Implements::Map, "Map"),
    ];

    /// What computes an operator; `None` for views, which no kernel computes.
    pub fn of(op: &Op) -> Option<Implements> {
        match op {
            Op::Map(_) => Some(Implements::Map),
            Op::Conv(_) => Some(Implements::Conv),
            Op::Pool(pool) => Some(match pool.kind {
                PoolKind::Max => Implements::MaxPool,
                PoolKind::Average { count_pad: _ } => Implements::AveragePool,
                PoolKind::AdaptiveAverage => Implements::AdaptiveAveragePool,
            }),
            Op::BatchNorm { epsilon: _ } => Some(Implements::BatchNorm),
            Op::MatMul => Some(Implements::MatMul),
            Op::ConvTranspose(_) => Some(Implements::ConvTranspose),
            Op::Norm(norm) => Some(Implements::Norm { centred: norm.centred }),
            Op::Softmax { axis: _, log } => Some(Implements::Softmax { log: *log }),
            Op::Reduce(reduce) => Some(Implements::Reduce(reduce.kind)),
            Op::ArgReduce(_) => Some(Implements::ArgReduce),
            Op::Scan(scan) => Some(Implements::Scan(scan.kind)),
            Op::Lrn(_) => Some(Implements::Lrn),
            Op::View(_) => None,
        }
    }
}

/// What kind of work a kernel does; a fused kernel has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KernelClass {
    Elementwise,
    MatMul,
    Reduce,
    Attention,
    Movement,
}

impl KernelClass {
    pub const ALL: [(KernelClass, &'static str); 5] = [
        (KernelClass::Elementwise, "elementwise"),
        (KernelClass::MatMul, "matmul"),
        (KernelClass::Reduce, "reduce"),
        (KernelClass::Attention, "attention"),
        (KernelClass::Movement, "movement"),
    ];
}

/// How many logical dimensions an axis stands for.
#[derive(Clone, Debug)]
pub enum AxisCount {
    /// All that the other axes of an operand leave.
    Many,
    /// A number, or an expression over the operator's attributes.
    Exactly(Expression),
}

#[derive(Clone, Debug)]
pub struct AxisSpec {
    pub name: String,
    pub count: AxisCount,
}

/// One entry of an operand's access: an axis, or a named index expression over axes.
#[derive(Clone, Debug)]
pub struct DimSpec {
    /// The axis, or the name of the dimension that the expression indexes.
    pub name: String,
    pub index: Option<Expression>,
}

#[derive(Clone, Debug)]
pub struct OperandSpec {
    pub name: String,
    pub dims: Vec<DimSpec>,
}

/// An optional operand of the operator, applied to the finished value: Conv's bias.
#[derive(Clone, Debug)]
pub struct OptionalSpec {
    pub name: String,
    /// Axes of the output, one a dimension of the operand.
    pub access: Vec<String>,
    /// An expression over `value` and the operand's name.
    pub value: Expression,
}

#[derive(Clone, Debug)]
pub struct LaunchSpec {
    pub when: Option<Expression>,
    /// The `@triton.jit` entry; its looped form is `<kernel>_loop`.
    pub kernel: String,
    /// Where `kernel` stands in the file.
    pub kernel_span: Span,
    /// How many tiles there are: the grid of a direct launch.
    pub work: Expression,
}

/// One problem of the anchor probe.
#[derive(Clone, Debug, Default)]
pub struct ProbeSpec {
    /// By operand name, the output included.
    pub shapes: Vec<(String, Shape)>,
    /// Integer lists by attribute name; a single number is a list of one.
    pub lists: Vec<(String, Vec<i64>)>,
    /// Real numbers by attribute name.
    pub numbers: Vec<(String, f64)>,
}

/// An operator that no import rule knows: `implements: com.example.Swoosh` with its `reference:`. In the
/// graph it is the Map of this label.
#[derive(Clone, Debug)]
pub struct OwnOperator {
    /// As messages name it: with its domain, unless it is the default one.
    pub name: String,
    /// Where the name stands in the file.
    pub span: Span,
    /// One element of the output, over the operands' elements.
    pub reference: Formula,
}

/// A template's manifest.
#[derive(Clone, Debug)]
pub struct Manifest {
    pub file: Arc<SourceFile>,
    pub implements: Implements,
    pub own: Option<OwnOperator>,
    /// Of the Maps that it serves; without one it serves every Map.
    pub label: Option<String>,
    /// The bodies of the Maps that it serves, over operand names.
    pub body: Vec<Expression>,
    pub classes: Vec<KernelClass>,
    pub axes: Vec<AxisSpec>,
    /// Operands in the node's order, the output last.
    pub access: Vec<OperandSpec>,
    /// In the node's order, behind the required operands.
    pub optional: Vec<OptionalSpec>,
    pub when: Option<Expression>,
    /// Kernel parameters that follow no naming rule.
    pub args: Vec<(String, Expression)>,
    pub launches: Vec<LaunchSpec>,
    pub precision: Vec<Precision>,
    pub aliases: Vec<String>,
    pub probe: Vec<ProbeSpec>,
}

const KEYS: &[&str] = &[
    "implements",
    "label",
    "body",
    "class",
    "axes",
    "access",
    "optional",
    "when",
    "args",
    "launches",
    "precision",
    "aliases",
    "probe",
    "reference",
];

impl Manifest {
    pub fn parse(yaml: &Yaml) -> Result<Manifest> {
        yaml.only_keys(KEYS)?;
        let (implements, own) = implements(yaml)?;
        let axes = axes(yaml.require("axes")?)?;
        let access = access(yaml.require("access")?, &axes)?;
        let mut label = yaml.get("label")?.map(|l| l.as_str().map(str::to_owned)).transpose()?;
        let mut body = list(yaml, "body", Expression::from_yaml)?;
        if let Some(own) = &own {
            for key in ["label", "body", "optional"] {
                if let Some(value) = yaml.get(key)? {
                    return Err(value.error(format!("`{key}` follows from `implements` and `reference` here; leave it out")));
                }
            }
            label = Some(own.name.clone());
            body = vec![Expression::from_yaml(yaml.require("reference")?)?];
            let operands: Vec<(&str, DType)> = access[..access.len() - 1].iter().map(|o| (o.name.as_str(), DType::F32)).collect();
            own.reference.over(&operands)?;
        }
        if let (Some(body), None) = (yaml.get("body")?, &label) {
            return Err(body.error("a body belongs to a template of one label; name it with `label:`"));
        }
        let optional = match yaml.get("optional")? {
            Some(map) => map.as_map()?.iter().map(|e| optional(e, &access)).collect::<Result<Vec<_>>>()?,
            None => Vec::new(),
        };
        let args = match yaml.get("args")? {
            Some(map) => {
                map.as_map()?.iter().map(|e| Ok((e.key.clone(), Expression::from_yaml(&e.value)?))).collect::<Result<Vec<_>>>()?
            }
            None => Vec::new(),
        };
        let launches = list(yaml, "launches", launch)?;
        if launches.is_empty() {
            return Err(yaml.require("launches")?.error("a template has at least one launch"));
        }
        Ok(Manifest {
            file: yaml.file.clone(),
            implements,
            own,
            label,
            body,
            classes: list(yaml, "class", |y| named(y, &KernelClass::ALL))?,
            axes,
            access,
            optional,
            when: yaml.get("when")?.map(Expression::from_yaml).transpose()?,
            args,
            launches,
            precision: list(yaml, "precision", |y| named(y, &Precision::ALL.map(|p| (p, p.name()))))?,
            aliases: list(yaml, "aliases", |y| y.as_str().map(str::to_owned))?,
            probe: list(yaml, "probe", probe)?,
        })
    }

    /// The output's access: the last one.
    pub fn output(&self) -> &OperandSpec {
        self.access.last().expect("invariant: access has an output")
    }

    /// The inputs that every node has.
    pub fn inputs(&self) -> &[OperandSpec] {
        &self.access[..self.access.len() - 1]
    }

    pub fn axis(&self, name: &str) -> Option<usize> {
        self.axes.iter().position(|a| a.name == name)
    }
}

/// A kind of operator, or an operator of the user's own, which has a formula.
fn implements(yaml: &Yaml) -> Result<(Implements, Option<OwnOperator>)> {
    let word = yaml.require("implements")?;
    let Some(reference) = yaml.get("reference")? else {
        let needs = "an operator of your own needs its formula: `reference: \"X * sigmoid(X)\"`";
        return Ok((named(word, &Implements::ALL).map_err(|error| Box::new(error.help(needs)))?, None));
    };
    let name = word.as_str()?.to_owned();
    if Implements::ALL.iter().any(|(_, known)| *known == name) {
        return Err(reference.error(format!("{name} has its meaning already; a formula describes an operator of your own")));
    }
    let formula = Expression::from_yaml(reference)?;
    let reference = Formula::new(&formula.file, &formula.ast);
    Ok((Implements::Map, Some(OwnOperator { name, span: word.span, reference })))
}

fn list<T>(yaml: &Yaml, key: &str, item: impl Fn(&Yaml) -> Result<T>) -> Result<Vec<T>> {
    match yaml.get(key)? {
        Some(list) => list.as_list()?.iter().map(item).collect(),
        None => Ok(Vec::new()),
    }
}

/// A word of a fixed list.
fn named<T: Copy>(yaml: &Yaml, all: &[(T, &str)]) -> Result<T> {
    let word = yaml.as_str()?;
    all.iter().find(|(_, name)| *name == word).map(|(value, _)| *value).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|(_, name)| *name).collect();
        yaml.error(format!("unknown `{word}`; known: {}", names.join(", ")))
    })
}

fn axes(yaml: &Yaml) -> Result<Vec<AxisSpec>> {
    yaml.as_map()?
        .iter()
        .map(|entry| {
            let count = match &entry.value.kind {
                YamlKind::Str(text) if text == "many" => AxisCount::Many,
                _ => AxisCount::Exactly(Expression::from_yaml(&entry.value)?),
            };
            Ok(AxisSpec { name: entry.key.clone(), count })
        })
        .collect()
}

fn access(yaml: &Yaml, axes: &[AxisSpec]) -> Result<Vec<OperandSpec>> {
    let mut operands = Vec::new();
    for entry in yaml.as_map()? {
        let mut dims = Vec::new();
        for item in entry.value.as_list()? {
            match &item.kind {
                YamlKind::Map(pair) => {
                    let [Entry { key, key_span: _, value }] = pair.as_slice() else {
                        return Err(item.error("an index expression is one `name: expression`"));
                    };
                    dims.push(DimSpec { name: key.clone(), index: Some(Expression::from_yaml(value)?) });
                }
                _ => {
                    let name = item.as_str()?;
                    if !axes.iter().any(|a| a.name == name) {
                        return Err(item.error(format!("`{name}` is no axis of this template")));
                    }
                    dims.push(DimSpec { name: name.to_owned(), index: None });
                }
            }
        }
        operands.push(OperandSpec { name: entry.key.clone(), dims });
    }
    match operands.last() {
        None => Err(yaml.error("access names at least the output")),
        Some(output) if output.dims.iter().any(|d| d.index.is_some()) => {
            Err(yaml.error(format!("the output `{}` is written at axes, not at index expressions", output.name)))
        }
        Some(_) => Ok(operands),
    }
}

fn optional(entry: &Entry, access: &[OperandSpec]) -> Result<OptionalSpec> {
    entry.value.only_keys(&["access", "value"])?;
    let list = entry.value.require("access")?;
    let axes: Vec<String> = list.as_str_list()?.into_iter().map(str::to_owned).collect();
    let output = &access[access.len() - 1];
    if let Some(axis) = axes.iter().find(|a| !output.dims.iter().any(|d| d.name == **a)) {
        return Err(list.error(format!("`{axis}` is no axis of the output `{}`", output.name)));
    }
    Ok(OptionalSpec { name: entry.key.clone(), access: axes, value: Expression::from_yaml(entry.value.require("value")?)? })
}

fn launch(yaml: &Yaml) -> Result<LaunchSpec> {
    yaml.only_keys(&["when", "kernel", "work"])?;
    Ok(LaunchSpec {
        when: yaml.get("when")?.map(Expression::from_yaml).transpose()?,
        kernel: yaml.require("kernel")?.as_str()?.to_owned(),
        kernel_span: yaml.require("kernel")?.span,
        work: Expression::from_yaml(yaml.require("work")?)?,
    })
}

/// Attributes of operators that are real numbers.
const REALS: [&str; 4] = ["epsilon", "alpha", "beta", "bias"];

fn probe(yaml: &Yaml) -> Result<ProbeSpec> {
    let mut spec = ProbeSpec::default();
    for entry in yaml.as_map()? {
        if REALS.contains(&entry.key.as_str()) {
            spec.numbers.push((entry.key.clone(), entry.value.as_float()?));
        } else if entry.key.starts_with(|c: char| c.is_ascii_uppercase()) {
            let shape = entry.value.as_list()?.iter().map(Yaml::as_usize).collect::<Result<Shape>>()?;
            spec.shapes.push((entry.key.clone(), shape));
        } else {
            let numbers = match &entry.value.kind {
                YamlKind::Int(i) => vec![*i],
                _ => entry.value.as_int_list()?,
            };
            spec.lists.push((entry.key.clone(), numbers));
        }
    }
    Ok(spec)
}
