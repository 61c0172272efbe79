//! Blocks that a sketch asks for: what the template has, the target takes, and Triton compiles.
//!
//! A kernel whose blocks are the schedule's own is bound as ever, and nothing is asked of it. Other blocks are put into the
//! kernel, and the rules of `lint` for the target judge it, with its types and constexprs: shared memory, warps, unified
//! buffer, and what Triton refuses.
//! Does not catch: what those rules do not; registers that spill are only slow.

use super::arrange::covers;
use super::{Constraint, Own, grid, listed, work};
use crate::diag::{Diagnostic, Result, Severity, codes};
use crate::graph::{Cluster, Graph, ValueId};
use crate::kernel::ir::InstKind;
use crate::kernel::{self, ArgSpec, Kernel, Specialization};
use crate::lint::{self, Request, live};
use crate::source::SourceFile;
use crate::syntax::{Constant, parse_module};
use crate::target::{Target, Vendor};
use crate::template::{ArgumentValue, BindOptions, Bound, BoundKernel, Layout, Library, bind, bind_with};

/// Triton's own limit of the elements of a block.
const MOST: i64 = 1 << 20;

impl Constraint<'_> {
    /// Binds a cluster as the sketch says.
    ///
    /// Errors: as [`bind()`], and U012 for blocks that cannot be.
    pub fn bind(
        &self,
        graph: &Graph,
        cluster: &Cluster,
        layout_of: &dyn Fn(ValueId) -> Layout,
        library: &Library,
        target: &'static Target,
        options: BindOptions,
    ) -> Result<Bound> {
        let own = bind(graph, cluster, layout_of, library, target, options)?;
        let covered = covers(graph, cluster);
        let whole = |kernel: &usize| listed(self.imported, &covered).len() == self.sketch.kernels[*kernel].nodes.len();
        // What a cluster was taken apart into has no entry; the plan's check tells of it.
        let Some(kernel) = self.entry_of(&covered).filter(whole) else { return Ok(own) };
        self.own.borrow_mut().insert(kernel, Own { grid: grid(&own.kernel), work: work(&own.kernel) });
        let asked = self.asked(kernel);
        if asked.iter().all(|block| own.blocks.contains(block)) {
            return Ok(own);
        }
        self.may_be(kernel, &own, target)?;
        let bound = bind_with(graph, cluster, layout_of, library, target, options, &asked)?;
        match unfit(&bound.kernel, target)? {
            None => Ok(bound),
            Some(found) => {
                let entry = &self.sketch.kernels[kernel];
                let span = entry.blocks.first().map_or(entry.span, |(_, first)| first.span);
                let span = entry.blocks.iter().fold(span, |span, (_, block)| span.to(block.span));
                let message = format!(
                    "{} cannot have these blocks on {}: [{}] {}",
                    self.sketch.called(kernel),
                    target.name,
                    found.code.id,
                    found.message
                );
                let own: Vec<String> = own.blocks.iter().map(|(name, value)| format!("{name}: {value}")).collect();
                let help = found.help.map_or_else(String::new, |help| format!("{help}; "));
                let error = self.sketch.refused(span, message);
                Err(Box::new(error.help(format!("{help}the schedule has {}", own.join(", ")))))
            }
        }
    }

    /// Errors where a block is none of the template's, or no size of a block.
    fn may_be(&self, kernel: usize, own: &Bound, target: &Target) -> Result<()> {
        // Ascend's compiler takes any size, but a suite is verified as Triton for GPUs lowers it.
        let asking = if target.vendor == Vendor::Ascend { "verification" } else { target.name };
        for (name, asked) in &self.sketch.kernels[kernel].blocks {
            let refused = |span, what: String, help: String| Err(Box::new(self.sketch.refused(span, what).help(help)));
            let (at, name) = (name.span, name.value.as_str());
            if own.blocks.iter().all(|(known, _)| known != name) {
                let known: Vec<&str> = own.blocks.iter().map(|(name, _)| name.as_str()).collect();
                let template = &own.kernel.template;
                return refused(at, format!("template {template} has no block `{name}`"), format!("it has {}", known.join(", ")));
            }
            let value = asked.value;
            if !(1..=MOST).contains(&value) {
                return refused(
                    asked.span,
                    format!("{name} is {value}, not 1 to {MOST}"),
                    "choose a power of two in that range".to_owned(),
                );
            }
            if name != "num_stages" && value & (value - 1) != 0 {
                let (below, above) = (1 << value.ilog2(), 1i64 << (value.ilog2() + 1));
                let help = format!("take {below} or {above}; what lies beyond the end is masked");
                return refused(asked.span, format!("{name} is {value}, no power of two, which {asking} asks for"), help);
            }
        }
        Ok(())
    }
}

/// The first fault that the rules for the target find in a kernel.
fn unfit(kernel: &BoundKernel, target: &'static Target) -> Result<Option<Diagnostic>> {
    let text = format!("import triton\nimport triton.language as tl\n\n\n{}\n", kernel.text.trim());
    let module = parse_module(&SourceFile::new(format!("{}.py", kernel.template), text))?;
    for launch in &kernel.launches {
        let args = launch.args.iter().map(|argument| {
            let spec = match &argument.value {
                ArgumentValue::Pointer(operand) => ArgSpec::Pointer(kernel.operands[*operand].dtype),
                ArgumentValue::Int(int) => ArgSpec::Int { bits: if i32::try_from(int.value).is_ok() { 32 } else { 64 } },
                ArgumentValue::Constexpr(int) => ArgSpec::Constexpr(Constant::Int(int.value)),
                ArgumentValue::ConstexprFloat(value) => ArgSpec::Constexpr(Constant::Float(*value)),
                ArgumentValue::ConstexprStr(text) => ArgSpec::Constexpr(Constant::Str(text.clone())),
            };
            (argument.param.clone(), spec)
        });
        let request = Request {
            target: Some(target),
            args: args.collect(),
            num_warps: launch.num_warps.into(),
            num_stages: launch.num_stages.into(),
            ..Request::default()
        };
        let specialization = Specialization { args: request.args.clone(), target: kernel::Target::of(Some(target)) };
        let mut errors = lint::lint(&module, &request).into_iter().map(|finding| finding.diagnostic);
        if let Some(error) = errors.find(|found| found.severity == Severity::Error) {
            return Ok(Some(error));
        }
        if target.vendor == Vendor::Nvidia
            && let Some(error) = shallow(&*kernel::compile(&module, &launch.function, &specialization)?)
        {
            return Ok(Some(error));
        }
    }
    Ok(None)
}

/// A dot over fewer products than Triton's compiler for NVIDIA takes (`min_dot_size` of its back end).
fn shallow(kernel: &Kernel) -> Option<Diagnostic> {
    let mut found = None;
    live::each(kernel, &mut |inst| {
        if let InstKind::Dot { a, b: _, acc: _, precision: _ } = &inst.kind {
            let ty = kernel.ty(*a);
            let least = if ty.elem.bits() == 8 { 32 } else { 16 };
            if let Some(&k) = ty.shape.last().filter(|&&k| k < least) {
                let message = format!("a dot over {k} products, of which Triton asks for {least} at least");
                found = Some(Diagnostic::new(&codes::KERNEL_REJECTED, message));
            }
        }
    });
    found
}
