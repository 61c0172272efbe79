//! `__init__` of a task's `ModelNew`: what `self` holds afterwards, its tensors as steps of [`Prepare`].
//!
//! Nothing is drawn here. The task's own `__init__` is the measure: statements that create modules or draw numbers must be
//! the task's, each once and in its order, since only then do parameters get the elements of the original's. The
//! names in them must mean what they do in the task ([`alike`]). Their targets may differ (`conv = nn.Conv2d(…)` for `self.conv = nn.Conv2d(…)`); what is bound there stands for the part of
//! the task's state under that name. Statements of the task that create nothing may be left out. Every other statement is
//! host code: parameters may be renamed, prepared and registered.
//!
//! Not caught: what stands in the class besides `__init__`, `forward` and the methods that they call, its bases and
//! decorators, which number the seed is, whether `super().__init__()` is called at all and before anything is registered; a
//! module whose constructor draws more numbers than the names of its parameters show; state that `forward` changes.

mod alike;
mod statements;

use std::collections::BTreeSet;

use super::eval::Evaluator;
use super::frame::{Frame, collect_assigned};
use super::modules::{Global, Modules};
use super::prepare::Prepare;
use super::value::Value;
use super::{HostArg, Trace, trace_launch};
use crate::diag::{self, Diagnostic, codes};
use crate::import::task::source::{attributes_of_self, is_super_init, reads};
use crate::import::task::{Argument, Input, Task};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Stmt, StmtKind};
use crate::syntax::same::same_statements;
use statements::{arguments, assigned, called, creates, drawn, draws, first_line};

/// The class that answers a task.
pub const CLASS: &str = "ModelNew";

/// What `self` holds when `__init__` is done.
#[derive(Clone, Debug)]
pub struct Constructed {
    /// The steps that give the tensors of `object`, in their order.
    pub prepare: Prepare,
    /// `self`, for `forward`.
    pub object: HostArg,
    /// The name of each tensor of `object`, behind `self.`.
    pub names: Vec<String>,
}

/// Runs `ModelNew.__init__` of a file of the set on the task's arguments.
///
/// # Errors
/// As [`super::prepare`]; H007 where it creates other modules than the task, or in another order; U008 without the class.
pub fn construct(modules: &Modules, module: &str, task: &Task) -> diag::Result<Constructed> {
    let mut evaluator = Evaluator::new(modules);
    evaluator.steps = Some(Vec::new());
    let (host, def) = evaluator.entry(module, &format!("{CLASS}.__init__"))?;
    let mut frame = Frame::new(host, def);
    bind_arguments(&mut evaluator, &mut frame, def, task)?;
    let mut run =
        Run { evaluator, own: task, left: originals(task), begun: false, local: locals(task), compared: BTreeSet::new() };
    for stmt in &def.body {
        run.statement(&mut frame, stmt)?;
    }
    if let Some(stmt) = run.left.iter().find(|stmt| draws(stmt)) {
        let what = format!("__init__ lacks `{}` of the task", first_line(task.source.text(stmt.span)));
        let error = *frame.error(&codes::PARAMETERS_DIFFER, def.name_span, what);
        let place = diag::Place::Text { file: task.source.module.file.clone(), span: stmt.span };
        return Err(Box::new(error.related(place, "created here by the task").help(HELP)));
    }
    let object = frame.locals.remove("self").unwrap_or(Value::None);
    let (mut names, mut returned) = (Vec::new(), Vec::new());
    let steps = run.evaluator.steps.take().unwrap_or_default();
    let object = plain(&object, "", &mut |name, step| {
        names.push(name.to_owned());
        returned.push(step);
        HostArg::Tensor(steps[step].ty.clone())
    });
    if let Some(at) = returned.iter().position(|&step| !steps[step].contiguous) {
        let what = format!("self.{} that is not contiguous", names[at]);
        return Err(frame.unsupported(steps[returned[at]].span, &what));
    }
    let object = object.unwrap_or(HostArg::Object(Vec::new()));
    Ok(Constructed { prepare: Prepare { steps, returned }, object, names })
}

/// What `ModelNew.forward` does with what was constructed: storages are the tensors of `self`, then those of the inputs.
///
/// # Errors
/// As [`trace_launch`].
pub fn trace_model_new(modules: &Modules, module: &str, constructed: &Constructed, task: &Task) -> diag::Result<Trace> {
    let inputs = task.inputs.iter().map(|input| match input {
        Input::Tensor { name: _, ty } => HostArg::Tensor(ty.clone()),
        Input::Value { name: _, value } => argument(value),
    });
    let args: Vec<HostArg> = std::iter::once(constructed.object.clone()).chain(inputs).collect();
    trace_launch(modules, module, &format!("{CLASS}.forward"), &args)
}

const HELP: &str = "create the task's modules and parameters in the task's order, with the task's arguments";

/// Names that the task's constructor binds: parameters and what it assigns.
fn locals(task: &Task) -> BTreeSet<&str> {
    let Some(init) = task.source.init() else { return BTreeSet::new() };
    let mut names: BTreeSet<&str> = init.params.iter().map(|param| param.name.as_str()).collect();
    collect_assigned(&init.body, &mut names);
    names
}

/// The task's own statements, without docstring and `super().__init__()`.
fn originals(task: &Task) -> Vec<&Stmt> {
    let body = task.source.init().map(|init| init.body.as_slice()).unwrap_or_default();
    body.iter().filter(|stmt| !stmt.is_text() && !is_super_init(stmt)).collect()
}

struct Run<'m, 't> {
    evaluator: Evaluator<'m>,
    own: &'t Task,
    /// Statements of the task that nothing has matched yet.
    left: Vec<&'t Stmt>,
    /// Whether anything was created.
    begun: bool,
    /// Names that the task's constructor binds itself.
    local: BTreeSet<&'t str>,
    /// Names of the task's module that mean the same here.
    compared: BTreeSet<String>,
}

impl<'m, 't> Run<'m, 't> {
    fn statement(&mut self, frame: &mut Frame<'m>, stmt: &'m Stmt) -> diag::Result<()> {
        if stmt.is_text() || is_super_init(stmt) {
            return Ok(());
        }
        match called(stmt).as_deref() {
            Some("torch.manual_seed") => return self.seeds(frame, stmt),
            Some("self.register_buffer") => return self.registers(frame, stmt),
            Some(_) | None => {}
        }
        if let Some((at, original)) = self.matching(frame, stmt) {
            self.left.drain(..=at);
            if draws(original) {
                self.begun = true;
                for name in reads(original).iter().filter(|name| !self.local.contains(name.as_str())) {
                    alike::check(&mut self.compared, self.own, frame.module, name, stmt.span)?;
                }
            }
            return self.bind(frame, stmt, original);
        }
        let own = &frame.module.globals;
        let is_host = |name: &str| matches!(own.get(name), Some(Global::Function(_))) && !self.own.source.defines(name);
        if creates(stmt, &is_host) {
            let what = match self.left.iter().find(|stmt| draws(stmt)) {
                Some(next) => format!("the task has `{}` here", first_line(self.own.source.text(next.span))),
                None => "the task creates nothing more".to_owned(),
            };
            let error = *frame.error(&codes::PARAMETERS_DIFFER, stmt.span, what);
            return Err(Box::new(error.help(HELP)));
        }
        match &stmt.kind {
            StmtKind::Assign { targets, value } if targets.len() == 1 => {
                let value = self.evaluator.expr(frame, value)?;
                set(frame, &targets[0], value)
            }
            _ => self.evaluator.one(frame, stmt),
        }
    }

    /// The statement of the task that this one is, or whose value it binds to another target, and its place among those
    /// that are left. None of those before it creates anything.
    fn matching(&self, frame: &Frame<'m>, stmt: &Stmt) -> Option<(usize, &'t Stmt)> {
        let (own, theirs) = (&frame.module.ast.file, &self.own.source.module.file);
        let reach = self.left.iter().position(|stmt| draws(stmt)).map_or(self.left.len(), |at| at + 1);
        let same = |a: Span, b: Span| same_statements((own, a), (theirs, b));
        let found = self.left[..reach].iter().position(|original| {
            let value = match (assigned(stmt), assigned(original)) {
                (Some((_, a)), Some((_, b))) => draws(original) && same(drawn(a).span, drawn(b).span),
                _ => false,
            };
            same(stmt.span, original.span) || value
        });
        found.map(|at| (at, self.left[at]))
    }

    /// Binds what a statement of the task creates.
    fn bind(&mut self, frame: &mut Frame<'m>, stmt: &'m Stmt, original: &Stmt) -> diag::Result<()> {
        if let (Some((target, value)), Some((theirs, _))) = (assigned(stmt), assigned(original)) {
            let state = theirs.as_dotted().map(|path| path.trim_start_matches("self.").to_owned());
            let value = match state.and_then(|path| self.state(&path)) {
                Some(state) => state,
                None if draws(original) => Value::Object(Vec::new()),
                None => self.evaluator.expr(frame, value)?,
            };
            return set(frame, target, value);
        }
        // A loop, or a call such as self.apply(…): everything of the state that it names.
        for root in attributes_of_self(std::slice::from_ref(stmt)) {
            if let Some(state) = self.state(&root) {
                put(frame, &root, state);
            }
        }
        Ok(())
    }

    /// The part of the task's state under a name.
    fn state(&mut self, path: &str) -> Option<Value<'m>> {
        if let Some(parameter) = self.own.parameter(path) {
            return Some(self.evaluator.weight_step(path, parameter.ty.clone()));
        }
        let prefix = format!("{path}.");
        let below: Vec<&str> = self.own.parameters.iter().filter_map(|p| p.name.strip_prefix(&prefix)).collect();
        let mut children: Vec<&str> = Vec::new();
        for name in below {
            let child = name.split('.').next().unwrap_or(name);
            if !children.contains(&child) {
                children.push(child);
            }
        }
        if children.is_empty() {
            return None;
        }
        let parts = children.into_iter().map(|child| Some((child.to_owned(), self.state(&format!("{prefix}{child}"))?)));
        parts.collect::<Option<Vec<_>>>().map(Value::Object)
    }

    /// `torch.manual_seed(n)`, before anything is drawn.
    fn seeds(&mut self, frame: &mut Frame<'m>, stmt: &'m Stmt) -> diag::Result<()> {
        if !matches!(arguments(stmt), Some(([Expr { kind: ExprKind::Int(_), .. }], []))) {
            return Err(frame.unsupported(stmt.span, "this call of `torch.manual_seed`"));
        }
        if self.begun {
            let error = *frame.error(&codes::PARAMETERS_DIFFER, stmt.span, "the seed is set after modules were created");
            return Err(Box::new(error.help("let torch.manual_seed be the first line of __init__")));
        }
        Ok(())
    }

    /// `self.register_buffer("name", tensor, persistent=…)`.
    fn registers(&mut self, frame: &mut Frame<'m>, stmt: &'m Stmt) -> diag::Result<()> {
        if let Some((at, original)) = self.matching(frame, stmt) {
            self.left.drain(..=at);
            let name = match arguments(original) {
                Some(([Expr { kind: ExprKind::Str(name), .. }, ..], _)) => name.clone(),
                _ => return Err(frame.unsupported(stmt.span, "this call of `self.register_buffer`")),
            };
            if let Some(state) = self.state(&name) {
                put(frame, &name, state);
            }
            return Ok(());
        }
        let (name, value) = match arguments(stmt) {
            Some(([Expr { kind: ExprKind::Str(name), .. }, value], _)) => (name, value),
            _ => return Err(frame.unsupported(stmt.span, "this call of `self.register_buffer`")),
        };
        let value = self.evaluator.expr(frame, value)?;
        if !matches!(value, Value::Prepared(_) | Value::None) {
            return Err(frame.unsupported(stmt.span, &format!("a buffer that is {}", value.kind())));
        }
        put(frame, name, value);
        Ok(())
    }
}

/// Binds the parameters of `__init__` to what the task was made with.
fn bind_arguments<'m>(
    evaluator: &mut Evaluator<'m>,
    frame: &mut Frame<'m>,
    def: &'m FunctionDef,
    task: &Task,
) -> diag::Result<()> {
    let refused = |span: Span, what: String| {
        let error = Diagnostic::new(&codes::PARAMETERS_DIFFER, what).at(&frame.module.ast.file, span);
        Box::new(error.help("__init__ takes what the task's takes, under the same names"))
    };
    let Some((own, params)) = def.params.split_first() else {
        return Err(refused(def.params_span, "__init__ has no `self`".to_owned()));
    };
    let theirs: Vec<&str> = task.source.init().map_or(vec!["self"], |init| init.params.iter().map(|p| p.name.as_str()).collect());
    if !def.params.iter().map(|p| p.name.as_str()).eq(theirs.iter().copied()) {
        return Err(refused(def.params_span, format!("the task's __init__ takes ({})", theirs.join(", "))));
    }
    let mut given = task.args.iter();
    let mut bound: Vec<(&'m str, Value<'m>)> = vec![(own.name.as_str(), Value::Object(Vec::new()))];
    for param in params {
        let keyword = task.keywords.iter().find(|(name, _)| *name == param.name).map(|(_, value)| value);
        let value = match (given.next().or(keyword), &param.default) {
            (Some(value), _) => evaluator.argument(&argument(value), param.name.clone()),
            (None, Some(default)) => evaluator.expr(frame, default)?,
            (None, None) => continue,
        };
        bound.push((param.name.as_str(), value));
    }
    frame.locals.extend(bound);
    Ok(())
}

/// What host code gets for an argument; what has no form here is a name that nothing can be done with.
fn argument(value: &Argument) -> HostArg {
    match value {
        Argument::None => HostArg::None,
        Argument::Bool(v) => HostArg::Bool(*v),
        Argument::Int(v) => HostArg::Int(*v),
        Argument::Float(v) => HostArg::Float(*v),
        Argument::Str(v) => HostArg::Str(v.clone()),
        Argument::List(items) | Argument::Tuple(items) => HostArg::Tuple(items.iter().map(argument).collect()),
        Argument::Opaque(of) => HostArg::Object(vec![("__class__".to_owned(), HostArg::Str(of.clone()))]),
    }
}

/// A value as an argument of `forward`; `None` for what that cannot be handed.
fn plain(value: &Value, path: &str, tensor: &mut dyn FnMut(&str, usize) -> HostArg) -> Option<HostArg> {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    Some(match value {
        Value::Int(v) => HostArg::Int(*v),
        Value::Float(v) => HostArg::Float(*v),
        Value::Bool(v) => HostArg::Bool(*v),
        Value::Str(v) => HostArg::Str(v.clone()),
        Value::None => HostArg::None,
        Value::Prepared(step) => tensor(path, *step),
        Value::Tuple(items) => {
            let items = items.iter().enumerate().map(|(i, item)| plain(item, &below(&i.to_string()), tensor));
            HostArg::Tuple(items.collect::<Option<_>>()?)
        }
        Value::Object(items) => {
            let items = items.iter().filter_map(|(key, item)| Some((key.clone(), plain(item, &below(key), tensor)?)));
            HostArg::Object(items.collect())
        }
        Value::Range(..)
        | Value::DType(_)
        | Value::Device
        | Value::Tensor(_)
        | Value::Mapping(_)
        | Value::Module(_)
        | Value::Function(..)
        | Value::Kernel(..)
        | Value::External(_)
        | Value::Method(..) => return None,
    })
}

/// Binds a name, or an attribute of `self`.
fn set<'m>(frame: &mut Frame<'m>, target: &'m Expr, value: Value<'m>) -> diag::Result<()> {
    match &target.kind {
        ExprKind::Name(name) => drop(frame.locals.insert(name, value)),
        ExprKind::Attribute { value: of, name } if of.as_name() == Some("self") => put(frame, name, value),
        _ => return Err(frame.unsupported(target.span, "this assignment target")),
    }
    Ok(())
}

/// Sets an attribute of `self`.
fn put<'m>(frame: &mut Frame<'m>, name: &str, value: Value<'m>) {
    if let Some(Value::Object(attributes)) = frame.locals.get_mut("self") {
        attributes.retain(|(key, _)| key != name);
        attributes.push((name.to_owned(), value));
    }
}
