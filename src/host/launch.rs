//! `kernel[grid](…)`: arguments bound to the kernel's parameters, as Triton's own launcher does.

use super::call::Args;
use super::eval::Evaluator;
use super::frame::Frame;
use super::modules::HostModule;
use super::trace::{Event, KernelArg, KernelLaunch};
use super::value::Value;
use crate::diag::{self, Diagnostic, Place, codes};
use crate::source::Span;
use crate::syntax::ast::{ExprKind, FunctionDef, ParamKind};

/// The largest grid of CUDA along each axis.
const GRID_LIMITS: [i64; 3] = [i32::MAX as i64, 65_535, 65_535];

/// Warps of one program: 1024 threads.
const MAX_WARPS: i64 = 32;

impl<'m> Evaluator<'m> {
    pub(super) fn launch(
        &mut self,
        frame: &mut Frame<'m>,
        (module, def): (&'m HostModule, &'m FunctionDef),
        (grid, grid_span): (Value<'m>, Span),
        mut args: Args<'m>,
    ) -> diag::Result<Value<'m>> {
        if self.steps.is_some() {
            return Err(frame.unsupported(args.span, "a launch in prepare"));
        }
        let num_warps = self.option(frame, &mut args, "num_warps")?;
        let num_stages = self.option(frame, &mut args, "num_stages")?;
        let misfit = |message: String| misfit(frame, args.span, module, def, message);

        let given = args.positional.len();
        let mut positional = args.positional.into_iter();
        let mut bound = Vec::with_capacity(def.params.len());
        let mut meta = Vec::with_capacity(def.params.len());
        for param in &def.params {
            if !matches!(param.kind, ParamKind::Positional | ParamKind::KeywordOnly) {
                return Err(misfit(format!("`{}` takes any number of arguments", param.name)));
            }
            let by_name = args.keywords.iter().position(|(name, _, _)| *name == param.name).map(|at| args.keywords.remove(at).1);
            let by_position = if param.kind == ParamKind::Positional { positional.next() } else { None };
            let value = match (by_position, by_name, &param.default) {
                (Some(_), Some(_), _) => return Err(misfit(format!("`{}` is given twice", param.name))),
                (Some(value), None, _) | (None, Some(value), _) => value,
                (None, None, Some(default)) => match &default.kind {
                    ExprKind::Int(v) => Value::Int(*v),
                    ExprKind::Float(v) => Value::Float(*v),
                    ExprKind::Bool(v) => Value::Bool(*v),
                    ExprKind::Str(s) => Value::Str(s.clone()),
                    ExprKind::None => Value::None,
                    _ => return Err(misfit(format!("`{}` has a default that is not a literal", param.name))),
                },
                (None, None, None) => return Err(misfit(format!("`{}` is not given", param.name))),
            };
            meta.push((param.name.clone(), value.clone()));
            let value = match value {
                Value::Tensor(tensor) => KernelArg::Tensor(tensor),
                Value::Int(v) => KernelArg::Int(v),
                Value::Float(v) => KernelArg::Float(v),
                Value::Bool(v) => KernelArg::Bool(v),
                Value::Str(s) => KernelArg::Str(s),
                Value::None => KernelArg::None,
                other => return Err(misfit(format!("`{}` is given {}", param.name, other.kind()))),
            };
            bound.push((param.name.clone(), value));
        }
        if positional.next().is_some() {
            return Err(misfit(format!("{given} arguments by position for {} parameters", def.params.len())));
        }
        if let Some((name, _, _)) = args.keywords.first() {
            return Err(misfit(format!("there is no parameter `{name}`")));
        }
        let grid = match grid {
            Value::Lambda(lambda) => self.call_lambda(frame, &lambda, vec![Value::Mapping(meta)], grid_span)?,
            sizes => sizes,
        };
        let grid = self.grid(frame, grid, grid_span)?;
        self.trace.events.push(Event::Launch(KernelLaunch {
            module: module.name.clone(),
            function: def.name.clone(),
            grid,
            args: bound,
            num_warps,
            num_stages,
            span: args.span,
            called: self.calls.first().copied().unwrap_or(args.span),
        }));
        Ok(Value::None)
    }

    /// A grid of one to three integers; missing axes are 1.
    fn grid(&self, frame: &Frame<'m>, grid: Value<'m>, span: Span) -> diag::Result<[u32; 3]> {
        // As in Triton, which takes the grid's length: an integer alone has none.
        let misfit = match &grid {
            Value::Tuple(items) => items.iter().find(|item| matches!(item, Value::Float(_) | Value::Str(_) | Value::None)),
            other => Some(other),
        };
        if let Some(misfit) = misfit {
            let message = format!("a grid is a tuple of integers; here is {}", misfit.kind());
            let error = *frame.error(&codes::HOST_LAUNCH, span, message);
            return Err(Box::new(error.help("a grid of one axis is written `(n,)`, its sizes with `//` or triton.cdiv")));
        }
        let sizes = self.ints(frame, span, &[grid])?;
        if sizes.is_empty() || sizes.len() > 3 {
            return Err(frame.error(&codes::HOST_LAUNCH, span, format!("a grid of {} axes", sizes.len())));
        }
        let mut result = [1; 3];
        for (axis, &size) in sizes.iter().enumerate() {
            let fits = u32::try_from(size).ok().filter(|_| size <= GRID_LIMITS[axis]);
            result[axis] = fits.ok_or_else(|| {
                let message = format!("axis {axis} of the grid has {size} programs; the limit is {}", GRID_LIMITS[axis]);
                frame.error(&codes::HOST_LAUNCH, span, message)
            })?;
        }
        Ok(result)
    }

    /// `num_warps=` and `num_stages=`: the launcher's, not the kernel's.
    fn option(&self, frame: &Frame<'m>, args: &mut Args<'m>, name: &str) -> diag::Result<Option<u32>> {
        match args.take(name) {
            None => Ok(None),
            Some(Value::Int(v)) if name == "num_warps" && !((1..=MAX_WARPS).contains(&v) && v.count_ones() == 1) => {
                let message = format!("num_warps is {v}; it must be a power of two from 1 to {MAX_WARPS}");
                Err(frame.error(&codes::HOST_LAUNCH, args.span, message))
            }
            Some(Value::Int(v)) if v >= 1 && u32::try_from(v).is_ok() => Ok(Some(v as u32)),
            Some(other) => Err(frame.error(&codes::HOST_LAUNCH, args.span, format!("{name} is {other}"))),
        }
    }
}

fn misfit(frame: &Frame, span: Span, module: &HostModule, def: &FunctionDef, message: String) -> Box<Diagnostic> {
    let kernel = Place::Text { file: module.ast.file.clone(), span: def.name_span };
    Box::new(
        (*frame.error(&codes::HOST_LAUNCH, span, format!("launch of {}: {message}", def.name))).related(kernel, "the kernel"),
    )
}
