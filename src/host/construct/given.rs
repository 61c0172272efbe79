//! What `__init__` is given, and what `forward` gets of what it made: values of the task, of host code, and of launches.

use super::super::HostArg;
use super::super::eval::Evaluator;
use super::super::frame::Frame;
use super::super::value::Value;
use crate::diag::{self, Diagnostic, codes};
use crate::import::task::{Argument, Task};
use crate::source::Span;

/// Binds the parameters of `__init__` to what the task was made with; the first one is `own`.
pub(super) fn bind<'m>(evaluator: &mut Evaluator<'m>, frame: &mut Frame<'m>, own: Value<'m>, task: &Task) -> diag::Result<()> {
    let def = frame.def;
    let refused = |span: Span, what: String| {
        let error = Diagnostic::new(&codes::PARAMETERS_DIFFER, what).at(&frame.module.ast.file, span);
        Box::new(error.help("__init__ takes what the task's takes, under the same names"))
    };
    let Some((first, params)) = def.params.split_first() else {
        return Err(refused(def.params_span, "__init__ has no `self`".to_owned()));
    };
    let theirs: Vec<&str> = task.source.init().map_or(vec!["self"], |init| init.params.iter().map(|p| p.name.as_str()).collect());
    if !def.params.iter().map(|p| p.name.as_str()).eq(theirs.iter().copied()) {
        return Err(refused(def.params_span, format!("the task's __init__ takes ({})", theirs.join(", "))));
    }
    let mut given = task.args.iter();
    let mut bound: Vec<(&'m str, Value<'m>)> = vec![(first.name.as_str(), own)];
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
pub(super) fn argument(value: &Argument) -> HostArg {
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
pub(super) fn plain(value: &Value, path: &str, tensor: &mut dyn FnMut(&str, usize) -> HostArg) -> Option<HostArg> {
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
        | Value::Lambda(_)
        | Value::External(_)
        | Value::Method(..) => return None,
    })
}
