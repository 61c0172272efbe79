//! `bind`: a template and a cluster become Triton text and everything that its launches need.
//!
//! 1. `matching` chooses the template; `problem` finds axes, sizes and strides.
//! 2. Steps (optional operands, epilogues, prologues, a Map's body) are collected with their further
//!    operands; groups of dimensions are cut where an operand's strides need it.
//! 3. `Kernel` edits the text at the anchors: epilogue code, loads, rewritten addresses, parameters.
//! 4. `launch` evaluates schedule, arguments and grids.
//!
//! Indices are 32-bit where every operand has fewer than 2³¹ elements; else each `tl.program_id` and
//! `tl.arange`, from which a template builds all its addresses, is widened to 64 bits.

use sha2::{Digest, Sha256};

use super::address::{Writer, internal};
use super::axes::{affine_stride, bent_dims, bounds};
use super::bound::{Argument, ArgumentValue, BoundKernel, BoundLaunch, Layout, Operand, OperandAccess};
use super::check::{Probed, anchors};
use super::environment::Env;
use super::launch::{self, Setting};
use super::library::Library;
use super::matching::choose;
use super::names::Names;
use super::problem::{self, Problem, linear};
use super::rewrite;
use super::step::{Extra, Step, StepMaker, StepRead};
use crate::diag::{Diagnostic, Result, codes};
use crate::expr::Node;
use crate::expr::index::Index;
use crate::graph::op::{Op, OutOfBounds};
use crate::graph::{Cluster, Graph, NodeId, ValueId};
use crate::target::{Precision, Target};

/// Elements that 32-bit offsets reach, those of masked lanes behind the end included: the largest block of a schedule is far
/// below 2²⁰.
const NARROW: usize = i32::MAX as usize - (1 << 20);

/// What the caller may choose.
#[derive(Clone, Copy, Debug, Default)]
pub struct BindOptions {
    /// Of fp32 dots.
    pub precision: Precision,
}

/// A bound kernel and the graph value that stands for each of its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    pub kernel: BoundKernel,
    /// One a non-scratch operand, in operand order; a value read twice may stand twice.
    pub values: Vec<ValueId>,
    /// What the schedule chose, or the caller in its place.
    pub blocks: Blocks,
}

/// Constexprs of a schedule, `num_warps` and `num_stages` behind them, by name.
pub type Blocks = Vec<(String, i64)>;

/// Everything computed around the template's own work.
pub struct Work {
    /// By operand position.
    pub prologues: Vec<(usize, Step)>,
    pub epilogues: Vec<Step>,
    /// In place of the body anchor's statement.
    pub body: Option<Step>,
}

impl Work {
    /// Further operands, in order of use.
    pub fn extras(&self) -> impl Iterator<Item = &Extra> {
        self.steps().flat_map(|(_, step)| &step.reads).filter_map(|read| match read {
            StepRead::Previous => None,
            StepRead::Extra(extra) => Some(&**extra),
        })
    }

    /// Each step with the operand in whose coordinates it is computed (`None`: the output's).
    fn steps(&self) -> impl Iterator<Item = (Option<usize>, &Step)> {
        let prologues = self.prologues.iter().map(|(at, step)| (Some(*at), step));
        prologues.chain(self.body.iter().map(|s| (None, s))).chain(self.epilogues.iter().map(|s| (None, s)))
    }
}

/// Binds the template that fits a cluster.
///
/// Errors: T003 when no template fits, the precision class is not offered, or the template has no
/// anchor for a prologue or epilogue; S002 where a template's
/// expression fails on this problem; M008 where an expression has no Triton form.
pub fn bind(
    graph: &Graph,
    cluster: &Cluster,
    layout_of: &dyn Fn(ValueId) -> Layout,
    library: &Library,
    target: &Target,
    options: BindOptions,
) -> Result<Bound> {
    bind_with(graph, cluster, layout_of, library, target, options, &[])
}

/// [`bind`] with some blocks chosen in the schedule's place; what the schedule computes from them follows. Names that it does
/// not have are passed over: [`Bound::blocks`] says which it has.
pub fn bind_with(
    graph: &Graph,
    cluster: &Cluster,
    layout_of: &dyn Fn(ValueId) -> Layout,
    library: &Library,
    target: &Target,
    options: BindOptions,
    blocks: &[(String, i64)],
) -> Result<Bound> {
    let mut problem = choose(graph, cluster, layout_of, library, target)?;
    let located = |error: Box<Diagnostic>| match error.place {
        None => {
            let node = graph.node(cluster.anchor);
            let name = node.sources.first().map_or_else(|| format!("#{}", cluster.anchor.index()), |s| s.node.clone());
            Box::new(error.at_node(graph.file.clone(), name))
        }
        Some(_) => error,
    };
    let mut names = Names::new(&problem.template.kernel.names);
    let work = collect(&problem, graph, cluster, layout_of, &mut names).map_err(located)?;
    cut_groups(&mut problem, &work);
    let env = Env::of(&problem, graph, cluster, target);
    let setting = launch::setting(&problem, env, target, options.precision, blocks).map_err(located)?;
    nothing_is_dropped(&problem, graph, cluster, &work, &setting.entries()).map_err(located)?;
    let writer = Writer::new(&problem, names);
    let wide = operands_of(&problem, &work).iter().any(|(_, _, layout)| layout.storage > NARROW);
    let text = rewrite::rewrite(writer, &work, &setting.entries(), wide).map_err(located)?;
    finish(graph, &problem, &work, &setting, text).map_err(located)
}

fn collect(
    problem: &Problem,
    graph: &Graph,
    cluster: &Cluster,
    layout_of: &dyn Fn(ValueId) -> Layout,
    names: &mut Names,
) -> Result<Work> {
    let mut maker = StepMaker { graph, layout_of, names };
    let mut prologues = Vec::new();
    for (position, operand) in problem.operands.iter().enumerate() {
        let Some(node) = operand.prologue else { continue };
        let node = graph.node(node);
        if let Op::Map(map) = &node.op {
            prologues.push((position, maker.map(map, &node.inputs, map.reads.first().map(|r| r.input))));
        }
    }
    let anchor = graph.node(cluster.anchor);
    let body = match &anchor.op {
        Op::Map(map) if problem.template.manifest.label.is_none() => Some(maker.map(map, &anchor.inputs, None)),
        _ => None,
    };
    let epilogues = maker.epilogues(problem, cluster)?;
    Ok(Work { prologues, epilogues, body })
}

/// Refuses what the template's launches have no anchor for.
fn nothing_is_dropped(problem: &Problem, graph: &Graph, cluster: &Cluster, work: &Work, entries: &[&str]) -> Result<()> {
    let template = &problem.template;
    let refused = |node: NodeId, why: String| {
        let message = format!("template {} cannot take `{}`: {why}", template.name, graph.node(node).op.name());
        Err(Box::new(Diagnostic::new(&codes::TEMPLATE_NONE, message).help("plan it as a kernel of its own")))
    };
    for &(position, node) in &cluster.prologues {
        if problem.operands.get(position).is_none_or(|operand| operand.prologue != Some(node)) {
            return refused(node, format!("operand {position} has no place for a prologue"));
        }
    }
    if let Some(&node) = cluster.epilogues.iter().find(|&&node| !matches!(graph.node(node).op, Op::Map(_))) {
        return refused(node, "only a Map can be an epilogue".to_owned());
    }
    if !work.epilogues.is_empty() && anchors(template, Some(&Probed::Value), entries).is_empty() {
        let node = cluster.epilogues.first().copied().unwrap_or(cluster.anchor);
        return refused(node, format!("kernel.py has no `# fuse: value` anchor in {}", entries.join(" or ")));
    }
    Ok(())
}

/// Cuts each group for the accesses that are not affine in it.
fn cut_groups(problem: &mut Problem, work: &Work) {
    let mut cuts: Vec<(Vec<Vec<i64>>, Vec<usize>)> = vec![Default::default(); problem.axes.len()];
    let mut consider = |space: &problem::Operand, index: &[Index], layout: &Layout, oob: OutOfBounds, alone: &[usize]| {
        let line = linear(index, layout, space.shape.len());
        let mut isolated: Vec<usize> = alone.to_vec();
        for (axis, expr) in index.iter().enumerate() {
            isolated.extend(bent_dims(expr));
            let inside = bounds(expr, &space.shape).is_some_and(|(low, high)| low >= 0 && high < layout.shape[axis] as i64);
            if oob != OutOfBounds::InBounds && !inside {
                isolated.extend((0..space.shape.len()).filter(|&d| mentions(expr, d)));
            }
        }
        for (a, cut) in cuts.iter_mut().enumerate() {
            let coefs = problem.over_members(space, a, &line.coefs);
            if affine_stride(&coefs, &problem.axes[a].sizes).is_none() {
                cut.0.push(coefs);
            }
            if let Some(range) = space.range_of(&problem.axes[a].name) {
                cut.1.extend(isolated.iter().filter(|d| range.contains(d)).filter_map(|&d| problem.member(space, a, d)));
            }
        }
    };
    for operand in &problem.operands {
        consider(operand, &operand.index, &operand.layout, operand.oob, &[]);
    }
    for (at, step) in work.steps() {
        let space = at.map_or(problem.output(), |i| &problem.operands[i]);
        let alone: Vec<usize> = step
            .body
            .nodes()
            .iter()
            .filter_map(|(node, _)| match node {
                Node::Coordinate(k) => Some(*k as usize),
                _ => None,
            })
            .collect();
        consider(space, &[], &space.layout, OutOfBounds::InBounds, &alone);
        for read in &step.reads {
            if let StepRead::Extra(extra) = read {
                consider(space, &extra.index, &extra.layout, extra.oob, &[]);
            }
        }
    }
    for (axis, (uses, isolated)) in problem.axes.iter_mut().zip(cuts) {
        axis.cut(&uses, &isolated);
    }
}

fn mentions(index: &Index, dim: usize) -> bool {
    match index {
        Index::Dim(d) => *d == dim,
        Index::Constant(_) | Index::Read(_) => false,
        Index::Add(a, b) => mentions(a, dim) || mentions(b, dim),
        Index::Mul(a, _) | Index::FloorDiv(a, _) | Index::Mod(a, _) => mentions(a, dim),
    }
}

/// Stem, value and layout of every operand: the template's inputs, further ones, the output.
fn operands_of<'a>(problem: &'a Problem, work: &'a Work) -> Vec<(String, ValueId, &'a Layout)> {
    let own = |o: &'a problem::Operand| (o.stem(), o.value, &o.layout);
    let (output, inputs) = problem.operands.split_last().expect("invariant: a template has an output");
    let extras = work.extras().map(|e| (e.stem.clone(), e.value, &e.layout));
    inputs.iter().map(own).chain(extras).chain([own(output)]).collect()
}

fn finish(graph: &Graph, problem: &Problem, work: &Work, setting: &Setting, text: rewrite::Rewritten) -> Result<Bound> {
    let mut operands = Vec::new();
    let mut values = Vec::new();
    let all = operands_of(problem, work);
    let last = all.len() - 1;
    for (i, (name, value, layout)) in all.into_iter().enumerate() {
        let access = if i == last { OperandAccess::Write } else { OperandAccess::Read };
        operands.push(Operand { name, dtype: graph.dtype(value), layout: layout.clone(), access });
        values.push(value);
    }
    let mut launches = Vec::new();
    for spec in &setting.launches {
        let params = text.lists.params.iter().find(|(name, _)| *name == spec.function);
        let (_, params) = params.ok_or_else(|| internal("a launch's entry was not written"))?;
        launches.push(launch::bound(problem, setting, spec, params, &text.lists.added, &operands)?);
    }
    let key = key(&text.text, &operands, &launches);
    let kernel = BoundKernel { template: problem.template.name.clone(), key, text: text.text, operands, launches };
    Ok(Bound { kernel, values, blocks: setting.blocks() })
}

/// See [`BoundKernel::key`].
fn key(text: &str, operands: &[Operand], launches: &[BoundLaunch]) -> String {
    let mut hash = Sha256::new();
    hash.update(text);
    for Operand { name, dtype, layout, access } in operands {
        let Layout { shape, strides, offset, storage } = layout;
        hash.update(format!("\n{name} {dtype} {shape:?} {strides:?} {offset} {storage} {access:?}"));
    }
    for BoundLaunch { function, locals: _, grid, args, num_warps, num_stages } in launches {
        hash.update(format!("\n{function} {:?} {num_warps} {num_stages}", grid.each_ref().map(|g| g.value)));
        for Argument { param, value } in args {
            hash.update(match value {
                ArgumentValue::Pointer(i) => format!(" {param}=*{i}"),
                ArgumentValue::Int(i) | ArgumentValue::Constexpr(i) => format!(" {param}={}", i.value),
                ArgumentValue::ConstexprFloat(x) => format!(" {param}={:x}", x.to_bits()),
                ArgumentValue::ConstexprStr(s) => format!(" {param}={s:?}"),
            });
        }
    }
    hash.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
