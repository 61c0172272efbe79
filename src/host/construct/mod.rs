//! `__init__` of a task's `ModelNew`: what `self` holds afterwards, its tensors as steps of [`Prepare`].
//!
//! Nothing is drawn here. The task's own `__init__` is the measure: statements that create modules or draw numbers must be
//! the task's, each once and in its order, since only then do parameters get the elements of the original's. The
//! names in them must mean what they do in the task ([`alike`]). Their targets may differ (`conv = nn.Conv2d(…)` for
//! `self.conv = nn.Conv2d(…)`); what is bound there stands for the part of the task's state under that name. Statements of the
//! task that create nothing may be left out. Every other statement is host code: parameters may be renamed, prepared and
//! registered.
//!
//! Python must be able to import the file ([`importable`]) and to construct the class ([`class`]), and the seed must be the
//! harness's.
//!
//! Not caught: what the ban sees in the class besides `__init__` and `forward` (F014); a module whose constructor draws more
//! numbers than the names of its parameters show; state that `forward` changes.

mod alike;
mod class;
mod given;
mod importable;
mod statements;

use std::collections::BTreeSet;

use super::eval::Evaluator;
use super::frame::{Frame, collect_assigned};
use super::modules::{Global, HostModule, Modules};
use super::prepare::Prepare;
use super::value::Value;
use super::{HostArg, Trace, trace_launch};
use crate::diag::{self, Diagnostic, codes};
use crate::import::task::source::{attributes_of_self, is_super_init, reads};
use crate::import::task::{Input, Task};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, Stmt, StmtKind};
use crate::syntax::same::same_statements;
use class::Class;
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
    /// What is right under some harnesses alone.
    pub notes: Vec<String>,
}

/// Runs `ModelNew.__init__` of a file of the set on the task's arguments. The harness seeds with `init_seed` before it
/// constructs the task, and leaves seeding to the file; without one it seeds before both.
///
/// # Errors
/// As [`super::prepare`]; H005 where Python or torch would stop, H007 where it creates other modules than the task, in
/// another order or after another seed; U008 without the class.
pub fn construct(modules: &Modules, module: &str, task: &Task, init_seed: Option<u64>) -> diag::Result<Constructed> {
    let missing = || Box::new(Diagnostic::new(&codes::SUITE_INVALID, format!("no file {module}")));
    let host = modules.get(module).ok_or_else(missing)?;
    let class = Class::of(host)?;
    importable::check(host, task)?;
    let Some(def) = class.init() else { return without_init(host, &class, task) };
    let mut evaluator = Evaluator::new(modules);
    evaluator.steps = Some(Vec::new());
    let mut frame = Frame::new(host, def);
    let own = Value::Object(class.constants());
    given::bind(&mut evaluator, &mut frame, own, task)?;
    let mut run = Run {
        evaluator,
        own: task,
        left: originals(task),
        based: false,
        begun: false,
        seed: None,
        local: locals(task),
        compared: BTreeSet::new(),
    };
    for stmt in &def.body {
        run.statement(&mut frame, stmt)?;
    }
    if !run.based {
        return Err(frame.raises(def.name_span, "__init__ does not call super().__init__(): torch can register nothing"));
    }
    lacks_nothing(host, def.name_span, task, &run.left)?;
    let notes = run.seeded(&frame, init_seed)?;
    let object = frame.locals.remove("self").unwrap_or(Value::None);
    let (mut names, mut returned) = (Vec::new(), Vec::new());
    let steps = run.evaluator.steps.take().unwrap_or_default();
    let object = given::plain(&object, "", &mut |name, step| {
        names.push(name.to_owned());
        returned.push(step);
        HostArg::Tensor(steps[step].ty.clone())
    });
    if let Some(at) = returned.iter().position(|&step| !steps[step].contiguous) {
        let what = format!("self.{} that is not contiguous", names[at]);
        return Err(frame.unsupported(steps[returned[at]].span, &what));
    }
    let object = object.unwrap_or(HostArg::Object(Vec::new()));
    Ok(Constructed { prepare: Prepare { steps, returned }, object, names, notes })
}

/// A class that inherits its constructor, which takes nothing and makes nothing.
fn without_init(host: &HostModule, class: &Class<'_>, task: &Task) -> diag::Result<Constructed> {
    let given = task.args.len() + task.keywords.len();
    if given > 0 {
        let what = format!("{CLASS} has no __init__, and the task is constructed with {given} arguments");
        return Err(Box::new(Diagnostic::new(&codes::HOST_ERROR, what).at(&host.ast.file, class.span)));
    }
    lacks_nothing(host, class.span, task, &originals(task))?;
    let object = given::plain(&Value::Object(class.constants()), "", &mut |_, _| HostArg::None);
    let object = object.unwrap_or(HostArg::Object(Vec::new()));
    let prepare = Prepare { steps: Vec::new(), returned: Vec::new() };
    Ok(Constructed { prepare, object, names: Vec::new(), notes: Vec::new() })
}

/// Whether nothing of what is left of the task's statements creates anything.
fn lacks_nothing(host: &HostModule, at: Span, task: &Task, left: &[&Stmt]) -> diag::Result<()> {
    let Some(stmt) = left.iter().find(|stmt| draws(stmt)) else { return Ok(()) };
    let what = format!("__init__ lacks `{}` of the task", first_line(task.source.text(stmt.span)));
    let error = Diagnostic::new(&codes::PARAMETERS_DIFFER, what).at(&host.ast.file, at);
    let place = diag::Place::Text { file: task.source.module.file.clone(), span: stmt.span };
    Err(Box::new(error.related(place, "created here by the task").help(HELP)))
}

/// What `ModelNew.forward` does with what was constructed: storages are the tensors of `self`, then those of the inputs.
///
/// # Errors
/// As [`trace_launch`].
pub fn trace_model_new(modules: &Modules, module: &str, constructed: &Constructed, task: &Task) -> diag::Result<Trace> {
    let inputs = task.inputs.iter().map(|input| match input {
        Input::Tensor { name: _, ty } => HostArg::Tensor(ty.clone()),
        Input::Value { name: _, value } => given::argument(value),
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
    /// Whether the base's constructor was called.
    based: bool,
    /// Whether anything was created.
    begun: bool,
    /// What the last `torch.manual_seed` sets.
    seed: Option<(i64, Span)>,
    /// Names that the task's constructor binds itself.
    local: BTreeSet<&'t str>,
    /// Names of the task's module that mean the same here.
    compared: BTreeSet<String>,
}

impl<'m, 't> Run<'m, 't> {
    fn statement(&mut self, frame: &mut Frame<'m>, stmt: &'m Stmt) -> diag::Result<()> {
        if stmt.is_text() {
            return Ok(());
        }
        match class::base_init(frame.module, stmt) {
            Some(true) if self.based => {
                return Err(frame.raises(stmt.span, "the base is constructed twice: what was registered is lost"));
            }
            Some(true) => {
                self.based = true;
                return Ok(());
            }
            Some(false) => return Err(frame.unsupported(stmt.span, "this call of an `__init__`")),
            None if !self.based && !attributes_of_self(std::slice::from_ref(stmt)).is_empty() => {
                return Err(frame.raises(stmt.span, "`self` is used before super().__init__()"));
            }
            None => {}
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
            StmtKind::Assign { targets, value } => {
                let value = self.evaluator.expr(frame, value)?;
                targets.iter().try_for_each(|target| set(frame, target, value.clone()))
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
        let Some(([Expr { kind: ExprKind::Int(seed), .. }], [])) = arguments(stmt) else {
            return Err(frame.unsupported(stmt.span, "this call of `torch.manual_seed`"));
        };
        self.seed = Some((*seed, stmt.span));
        if self.begun {
            let error = *frame.error(&codes::PARAMETERS_DIFFER, stmt.span, "the seed is set after modules were created");
            return Err(Box::new(error.help("let torch.manual_seed be the first line of __init__")));
        }
        Ok(())
    }

    /// Whether what was drawn was drawn after the harness's seed; what must be said of it.
    fn seeded(&self, frame: &Frame<'m>, init_seed: Option<u64>) -> diag::Result<Vec<String>> {
        if !self.begun {
            return Ok(Vec::new());
        }
        let differs = |span: Span, what: String, help: &str| {
            let error = *frame.error(&codes::PARAMETERS_DIFFER, span, what);
            Err(Box::new(error.help(help)))
        };
        match (self.seed, init_seed) {
            (None, None) => Ok(Vec::new()),
            (None, Some(seed)) => {
                let when = "parameters are the task's only under a harness that seeds before it constructs either";
                Ok(vec![format!("__init__ does not call torch.manual_seed({seed}): {when}")])
            }
            (Some((seed, _)), Some(asked)) if i128::from(seed) == i128::from(asked) => Ok(Vec::new()),
            (Some((seed, span)), Some(asked)) => {
                let what = format!("the seed is {seed}, the task is constructed after torch.manual_seed({asked})");
                differs(span, what, "say --init-seed N for a harness that seeds with another number")
            }
            (Some((_, span)), None) => {
                let what = "a seed is set, but with --init-seed none the harness seeds before it constructs either";
                differs(span, what.to_owned(), "leave the line out, or say which seed the harness has: --init-seed N")
            }
        }
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

/// Binds a name, or an attribute of `self`.
fn set<'m>(frame: &mut Frame<'m>, target: &'m Expr, value: Value<'m>) -> diag::Result<()> {
    match &target.kind {
        ExprKind::Name(name) => drop(frame.locals.insert(name, value)),
        ExprKind::Attribute { value: of, name } if of.as_name() == Some("self") => put(frame, name, value),
        ExprKind::Tuple(targets) => match value {
            Value::Tuple(items) if items.len() == targets.len() => {
                targets.iter().zip(items).try_for_each(|(target, item)| set(frame, target, item))?;
            }
            other => return Err(frame.unsupported(target.span, &format!("unpacking {}", other.kind()))),
        },
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
