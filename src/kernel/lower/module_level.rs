//! Python as a module runs it before any kernel does, as far as kernels depend on it: which of two definitions is in force,
//! what a constexpr function returns, what a list of autotune configurations holds.
//!
//! The evaluator of kernels serves here too, with Python's rules in place of Triton's (`Lower::host`): numbers
//! stay numbers when they are assigned, any global may be read, plain functions may be called. This file adds
//! what only exists there: facts about the machine, dicts, comprehensions, loops over lists.
//!
//! The machine is an H200 (compute capability 9.0) with a recent Triton and torch, and an empty environment; what else a
//! module asks of its surroundings is refused by name.

use super::Lower;
use super::call::Arg;
use super::types::Scalar;
use super::value::{Scope, Val};
use crate::diag::Result;
use crate::dtype::DType;
use crate::source::Span;
use crate::syntax::Constant;
use crate::syntax::ast::{Expr, ExprKind, FunctionDef, Stmt, StmtKind};
use crate::syntax::reopen::Comprehension;

/// Items of a list that a module makes; more are refused.
const MAX_ITEMS: usize = 1 << 16;

/// The device that modules are told of: an H200.
const DEVICE_NAME: &str = "NVIDIA H200";
const PROCESSORS: i64 = 132;
const SHARED_MEMORY: i64 = 232_448;

/// Modules that are never looked for as files.
pub fn is_foreign(path: &str) -> bool {
    let root = path.split('.').next().unwrap_or(path);
    matches!(
        root,
        "machine"
            | "platform"
            | "triton"
            | "torch"
            | "numpy"
            | "math"
            | "os"
            | "sys"
            | "typing"
            | "functools"
            | "itertools"
            | "packaging"
            | "operator"
            | "builtins"
            | "warnings"
            | "logging"
            | "importlib"
            | "inspect"
            | "enum"
            | "dataclasses"
            | "collections"
            | "contextlib"
    )
}

/// Python's functions that modules call and kernels do not.
pub fn is_python(name: &str) -> bool {
    matches!(
        name,
        "list"
            | "tuple"
            | "set"
            | "sorted"
            | "dict"
            | "any"
            | "all"
            | "enumerate"
            | "range"
            | "callable"
            | "print"
            | "str"
            | "bool"
    )
}

/// Modules that kernels name on the way to a member.
pub fn is_module(path: &str) -> bool {
    matches!(path, "triton" | "triton.language" | "math")
}

/// What a dotted name outside `triton.language` is known to be; some of it only at module level.
pub fn value(path: &str, host: bool) -> Option<Val<'static>> {
    let text = |s: &str| Some(Val::Const(Constant::Str(s.to_owned())));
    match path {
        "math.inf" => return Some(Val::Const(Constant::Float(f64::INFINITY))),
        "math.nan" => return Some(Val::Const(Constant::Float(f64::NAN))),
        "math.pi" => return Some(Val::Const(Constant::Float(std::f64::consts::PI))),
        "math.e" => return Some(Val::Const(Constant::Float(std::f64::consts::E))),
        _ if !host => return None,
        "triton.__version__" => return text("3.6.0"),
        "torch.__version__" => return text("2.9.0"),
        "torch.version.cuda" => return text("12.8"),
        "torch.version.git_version" => return text("unknown"),
        "torch.version.hip" | "torch.version.xpu" => return Some(Val::Const(Constant::None)),
        "typing.TYPE_CHECKING" => return Some(Val::bool(false)),
        "sys.platform" => return text("linux"),
        _ if path.starts_with("torch.finfo.") || path.starts_with("torch.iinfo.") => return limit(path),
        "machine.target.backend" => return text("cuda"),
        "machine.device.name" => return text(DEVICE_NAME),
        "machine.target.arch" => return Some(Val::int(90)),
        "machine.target.warp_size" | "machine.device.warp_size" => return Some(Val::int(32)),
        "machine.device.major" => return Some(Val::int(9)),
        "machine.device.minor" => return Some(Val::int(0)),
        "machine.device.multi_processor_count" => return Some(Val::int(PROCESSORS)),
        "machine.device.shared_memory_per_block_optin" => return Some(Val::int(SHARED_MEMORY)),
        "sys.version_info" => return Some(Val::Tuple(vec![Val::int(3), Val::int(12), Val::int(0)])),
        _ => {}
    }
    let dtype = match path.strip_prefix("torch.")? {
        "float" => "float32",
        "half" => "float16",
        "double" => "float64",
        "long" => "int64",
        "int" => "int32",
        other => other,
    };
    DType::ALL.into_iter().find(|d| d.torch_name() == dtype).map(|d| Val::Type(Scalar::Num(d)))
}

/// `torch.finfo.float16.max`: what `torch.finfo(torch.float16).max` is kept as.
fn limit(path: &str) -> Option<Val<'static>> {
    let mut parts = path.split('.').skip(1);
    let (kind, name, member) = (parts.next()?, parts.next()?, parts.next()?);
    let dtype = DType::ALL.into_iter().find(|d| d.torch_name() == name)?;
    let bits = 8 * dtype.size() as u32;
    let float = |value: f64| Some(Val::Const(Constant::Float(value)));
    match (kind, member) {
        (_, "bits") => Some(Val::int(i64::from(bits))),
        ("iinfo", "min" | "max") if dtype.is_integer() => {
            let magnitude = if dtype.is_unsigned() { bits } else { bits - 1 };
            let greatest = i64::try_from((1i128 << magnitude) - 1).ok()?;
            let least = if dtype.is_unsigned() { 0 } else { -greatest - 1 };
            Some(Val::int(if member == "max" { greatest } else { least }))
        }
        ("finfo", _) => {
            let format = dtype.format()?;
            match member {
                "max" => float(format.max),
                "min" => float(-format.max),
                "eps" => float(2f64.powi(1 - format.digits)),
                "tiny" | "smallest_normal" => float(2f64.powi(format.min_exponent)),
                _ => None,
            }
        }
        _ => None,
    }
}

impl<'a> Lower<'a, '_> {
    /// A call of a function that only modules know.
    pub fn host_call(&mut self, span: Span, path: &str, args: &[Arg<'a>], named: &[(&str, Arg<'a>)]) -> Result<Val<'a>> {
        let given = |i: usize| args.get(i).map(|arg| arg.val.clone());
        let by_name = |name: &str| named.iter().find(|(known, _)| *known == name).map(|(_, arg)| arg.val.clone());
        let none = || Val::Const(Constant::None);
        Ok(match path {
            "os.environ.get" | "os.getenv" => given(1).or_else(|| by_name("default")).unwrap_or_else(none),
            "torch.cuda.is_available" | "torch.utils._triton.has_triton" => Val::bool(true),
            "platform.system" => Val::Const(Constant::Str("Linux".to_owned())),
            "platform.machine" => Val::Const(Constant::Str("x86_64".to_owned())),
            "torch.xpu.is_available" | "torch.mps.is_available" | "torch.backends.mps.is_available" => Val::bool(false),
            "torch.cuda.get_device_capability" => Val::Tuple(vec![Val::int(9), Val::int(0)]),
            "sys.modules.get" => none(),
            "torch.cuda.device_count" => Val::int(1),
            "torch.cuda.current_device" => Val::int(0),
            "torch.cuda.get_device_name" => Val::Const(Constant::Str(DEVICE_NAME.to_owned())),
            "triton.runtime.driver.active.get_current_target" => Val::Path("machine.target".to_owned()),
            "torch.cuda.get_device_properties" => Val::Path("machine.device".to_owned()),
            "triton.runtime.driver.active.utils.get_device_properties" => Val::Dict(
                [
                    ("max_shared_mem", SHARED_MEMORY),
                    ("multiprocessor_count", PROCESSORS),
                    ("warpSize", 32),
                    ("max_num_regs", 65536),
                ]
                .map(|(name, n)| (Constant::Str(name.to_owned()), Val::int(n)))
                .to_vec(),
            ),
            "packaging.version.parse" | "packaging.version.Version" => self.version(span, given(0))?,
            "triton.Config" | "triton.runtime.autotuner.Config" => self.config(span, args, named)?,
            "triton.jit" | "triton.runtime.jit" | "triton.runtime.jit.jit" => match given(0) {
                Some(Val::Host(function)) => Val::Function(function),
                Some(known @ Val::Function(_)) => known,
                _ => return Err(self.unsupported(span, "triton.jit of something other than a function")),
            },
            "torch.finfo" | "torch.iinfo" => match given(0) {
                Some(Val::Type(Scalar::Num(dtype))) => Val::Path(format!("{path}.{}", dtype.torch_name())),
                _ => return Err(self.unsupported(span, format!("`{path}` of a type that is not known"))),
            },
            "itertools.product" => self.product(span, args)?,
            "math.log2" | "math.sqrt" | "math.ceil" | "math.floor" | "math.log" | "math.exp" => {
                let Some(x) = given(0).and_then(|v| v.to_constant()).and_then(|c| c.as_float()) else {
                    return Err(self.type_error(span, format!("`{path}` of something other than a number")));
                };
                match path {
                    "math.log2" => Val::Const(Constant::Float(x.log2())),
                    "math.sqrt" => Val::Const(Constant::Float(x.sqrt())),
                    "math.log" => Val::Const(Constant::Float(x.ln())),
                    "math.exp" => Val::Const(Constant::Float(x.exp())),
                    "math.ceil" => Val::int(x.ceil() as i64),
                    _ => Val::int(x.floor() as i64),
                }
            }
            _ if path.starts_with("warnings.") || path.starts_with("logging.") => none(),
            _ => match path.strip_prefix("python.") {
                Some(name) => self.python_call(span, name, args, named)?,
                None => return Err(self.unsupported(span, format!("`{path}(…)`, which is not known at compile time"))),
            },
        })
    }

    /// A method of a string: `'{a} {}'.format(1, a=2)`, `name.startswith('x')`.
    pub fn text_method(
        &self,
        span: Span,
        text: &str,
        name: &str,
        args: &[Arg<'a>],
        named: &[(&str, Arg<'a>)],
    ) -> Result<Val<'a>> {
        let known = |arg: &Arg<'a>| match arg.val.to_constant() {
            Some(Constant::Str(s)) => Ok(s),
            Some(constant) => Ok(constant.to_string()),
            None => Err(self.rejected(arg.span, format!("{} in `.{name}(…)` of a string", arg.val.describe()))),
        };
        let list = if name == "join" { Vec::new() } else { args.iter().map(known).collect::<Result<Vec<_>>>()? };
        let string = |s: String| Ok(Val::Const(Constant::Str(s)));
        match (name, list.as_slice()) {
            ("startswith", [prefix]) => Ok(Val::bool(text.starts_with(prefix))),
            ("endswith", [suffix]) => Ok(Val::bool(text.ends_with(suffix))),
            ("lower", []) => string(text.to_lowercase()),
            ("upper", []) => string(text.to_uppercase()),
            ("strip", []) => string(text.trim().to_owned()),
            ("replace", [from, to]) => string(text.replace(from.as_str(), to)),
            ("join", _) => {
                let [list] = args else { return Err(self.rejected(span, "`.join` takes one list")) };
                let mut parts = Vec::new();
                for item in self.items(list.span, &list.val)? {
                    let Some(Constant::Str(part)) = item.to_constant() else {
                        return Err(self.rejected(list.span, format!("{} in `.join(…)` of a string", item.describe())));
                    };
                    parts.push(part);
                }
                string(parts.join(text))
            }
            ("split", [at]) if !at.is_empty() => {
                Ok(Val::Tuple(text.split(at.as_str()).map(|part| Val::Const(Constant::Str(part.to_owned()))).collect()))
            }
            ("format", _) => {
                let named = named.iter().map(|(name, arg)| Ok((*name, known(arg)?))).collect::<Result<Vec<_>>>()?;
                match formatted(text, &list, &named) {
                    Some(text) => string(text),
                    None => Err(self.unsupported(span, "this `.format(…)`: only `{}`, `{0}` and `{name}` are read")),
                }
            }
            _ => Err(self.unsupported(span, format!("`.{name}(…)` of a string"))),
        }
    }

    /// `tl.dtype("fp32")`: the type of a short name.
    pub fn dtype_call(&self, span: Span, args: &[Arg<'a>]) -> Result<Val<'a>> {
        let Some(Arg { val: Val::Const(Constant::Str(name)), .. }) = args.first() else {
            return Err(self.rejected(span, "`tl.dtype` takes the name of a type"));
        };
        let known = DType::ALL.into_iter().find(|d| Scalar::Num(*d).short_name() == *name);
        known.map(|d| Val::Type(Scalar::Num(d))).ok_or_else(|| self.unsupported(span, format!("the type `{name}`")))
    }

    /// A version as a tuple of its numbers.
    fn version(&self, span: Span, text: Option<Val<'a>>) -> Result<Val<'a>> {
        let Some(Val::Const(Constant::Str(text))) = text else {
            return Err(self.unsupported(span, "a version that is not known at compile time"));
        };
        let numbers = text.split(['.', '+']).map_while(|part| part.parse::<i64>().ok());
        Ok(Val::Tuple(numbers.map(Val::int).collect()))
    }

    fn product(&self, span: Span, lists: &[Arg<'a>]) -> Result<Val<'a>> {
        let mut rows: Vec<Vec<Val<'a>>> = vec![Vec::new()];
        for list in lists {
            let items = self.items(list.span, &list.val)?;
            if rows.len().saturating_mul(items.len()) > MAX_ITEMS {
                return Err(self.unsupported(span, format!("a list of more than {MAX_ITEMS} items")));
            }
            rows = rows
                .iter()
                .flat_map(|row| items.iter().map(|item| [row.as_slice(), std::slice::from_ref(item)].concat()))
                .collect();
        }
        Ok(Val::Tuple(rows.into_iter().map(Val::Tuple).collect()))
    }

    /// Python's own functions that kernels do not have.
    fn python_call(&mut self, span: Span, name: &str, args: &[Arg<'a>], named: &[(&str, Arg<'a>)]) -> Result<Val<'a>> {
        let first = args.first();
        let items = |l: &Self| first.map_or_else(|| Ok(Vec::new()), |arg| l.items(arg.span, &arg.val));
        match name {
            "list" | "tuple" | "set" | "sorted" => Ok(Val::Tuple(items(self)?)),
            "dict" => {
                let mut pairs = match first {
                    Some(Arg { val: Val::Dict(pairs), .. }) => pairs.clone(),
                    _ => Vec::new(),
                };
                for (key, arg) in named {
                    set_key(&mut pairs, Constant::Str((*key).to_owned()), arg.val.clone());
                }
                Ok(Val::Dict(pairs))
            }
            "any" | "all" => {
                let mut held = name == "all";
                for item in items(self)? {
                    let truth = self.truth(span, &item)?;
                    held = if name == "all" { held && truth } else { held || truth };
                }
                Ok(Val::bool(held))
            }
            "enumerate" => {
                let pairs = items(self)?.into_iter().enumerate().map(|(i, v)| Val::Tuple(vec![Val::int(i as i64), v]));
                Ok(Val::Tuple(pairs.collect()))
            }
            "range" => {
                let ints: Option<Vec<i64>> = args.iter().map(|a| a.val.to_constant()?.as_int()).collect();
                let bounds = match ints.as_deref() {
                    Some(&[stop]) => (0, stop, 1),
                    Some(&[start, stop]) => (start, stop, 1),
                    Some(&[start, stop, step]) if step != 0 => (start, stop, step),
                    _ => return Err(self.unsupported(span, "a range whose bounds are not known at compile time")),
                };
                let (mut i, stop, step) = bounds;
                let mut list = Vec::new();
                while (step > 0 && i < stop) || (step < 0 && i > stop) {
                    if list.len() == MAX_ITEMS {
                        return Err(self.unsupported(span, format!("a list of more than {MAX_ITEMS} items")));
                    }
                    list.push(Val::int(i));
                    let Some(next) = i.checked_add(step) else { break };
                    i = next;
                }
                Ok(Val::Tuple(list))
            }
            "hasattr" | "getattr" => {
                let [object, attribute, default @ ..] = args else {
                    return Err(self.rejected(span, format!("`{name}` takes an object and a name")));
                };
                let Some(Constant::Str(attribute)) = attribute.val.to_constant() else {
                    return Err(self.unsupported(span, format!("`{name}` of a name that is not known")));
                };
                let known = match &object.val {
                    Val::Path(path) => value(&format!("{path}.{attribute}"), true),
                    _ => None,
                };
                if let Some(known) = known {
                    return Ok(if name == "hasattr" { Val::bool(true) } else { known });
                }
                let found = match &object.val {
                    // Triton has more than we do: what it has counts.
                    Val::Path(path) if name == "hasattr" && path.starts_with("triton.language") => {
                        let member = format!("{path}.{attribute}");
                        let member = member.strip_prefix("triton.language.").unwrap_or(&member).to_owned();
                        let listed = super::builtins::triton(&member).is_some() || super::names::dtype_named(&member).is_some();
                        return Ok(Val::bool(listed || (!member.contains('.') && super::builtins::exists(&member))));
                    }
                    Val::Path(path) if !path.starts_with("triton.language") && !path.starts_with("machine.") => {
                        return Err(self.unsupported(span, format!("whether `{path}` has `{attribute}`")));
                    }
                    other => self.attribute(span, other.clone(), &attribute),
                };
                match (name, found, default.first()) {
                    ("hasattr", found, _) => Ok(Val::bool(found.is_ok())),
                    (_, Ok(value), _) => Ok(value),
                    (_, Err(_), Some(default)) => Ok(default.val.clone()),
                    (_, Err(error), None) => Err(error),
                }
            }
            "str" => match first.and_then(|arg| arg.val.to_constant()) {
                Some(Constant::Str(text)) => Ok(Val::Const(Constant::Str(text))),
                Some(constant) => Ok(Val::Const(Constant::Str(constant.to_string()))),
                None => Err(self.unsupported(span, "`str` of something that is not known")),
            },
            "bool" => match first {
                Some(arg) => Ok(Val::bool(self.truth(arg.span, &arg.val)?)),
                None => Ok(Val::bool(false)),
            },
            "isinstance" => {
                let [object, class] = args else { return Err(self.rejected(span, "`isinstance` takes a value and a class")) };
                let classes = match &class.val {
                    Val::Tuple(items) => items.clone(),
                    one => vec![one.clone()],
                };
                let mut held = false;
                for class in &classes {
                    held |= self.is_instance(span, &object.val, class)?;
                }
                Ok(Val::bool(held))
            }
            "callable" => {
                let callable = matches!(first.map(|a| &a.val), Some(Val::Function(_) | Val::Host(_) | Val::Builtin(_)));
                Ok(Val::bool(callable))
            }
            "print" => Ok(Val::Const(Constant::None)),
            _ => Err(self.unsupported(span, format!("`{name}(…)` at module level"))),
        }
    }

    /// `isinstance(value, class)`. A constexpr counts as the Python value that it holds, as in Triton.
    fn is_instance(&self, span: Span, value: &Val<'a>, class: &Val<'a>) -> Result<bool> {
        let name = match class {
            Val::Path(path) => path.strip_prefix("triton.language.").unwrap_or(path).trim_start_matches("core."),
            Val::Builtin(builtin) => builtin.name,
            _ => "",
        };
        Ok(match name {
            "tensor" => matches!(value, Val::Tensor(_) | Val::BlockPtr(_)),
            "tensor_descriptor" | "tensor_descriptor_base" => matches!(value, Val::Descriptor(_)),
            "tuple" | "python.tuple" | "python.list" => matches!(value, Val::Tuple(_)),
            "dtype" => matches!(value, Val::Type(_)),
            "constexpr" => false,
            "python.int" => matches!(value, Val::Const(Constant::Int(_) | Constant::Bool(_))),
            "python.bool" => matches!(value, Val::Const(Constant::Bool(_))),
            "python.float" => matches!(value, Val::Const(Constant::Float(_))),
            "python.str" => matches!(value, Val::Const(Constant::Str(_))),
            _ => return Err(self.unsupported(span, format!("isinstance of {}", class.describe()))),
        })
    }

    /// A member of a class of a module: a constant, such as those of an enumeration.
    pub fn class_attribute(&mut self, span: Span, class: &str, body: &'a [Stmt], name: &str) -> Result<Val<'a>> {
        let value = body.iter().rev().find_map(|stmt| match &stmt.kind {
            StmtKind::Assign { targets, value } if targets.iter().any(|t| t.as_name() == Some(name)) => Some(value),
            StmtKind::AnnAssign { target, value: Some(value), .. } if target.as_name() == Some(name) => Some(value),
            _ => None,
        });
        match value {
            Some(value) => self.at_module(span, self.modules.of(value.span), |l| l.expr(value)),
            None => Err(self.unsupported(span, format!("`{name}` of the class `{class}`"))),
        }
    }

    /// `import` inside a function of a module: names of its own.
    pub fn host_import(&mut self, stmt: &'a Stmt) -> Result<()> {
        match &stmt.kind {
            StmtKind::Import(list) => {
                for (path, alias) in list {
                    let root = path.split('.').next().unwrap_or(path);
                    let (name, path) = alias.as_ref().map_or((root, root), |alias| (alias.as_str(), path.as_str()));
                    self.scope.set(name, Val::Path(path.to_owned()));
                }
            }
            StmtKind::ImportFrom { module, names, level } => {
                let from = self.names().absolute(module, *level);
                for (name, alias) in names {
                    let value = self.member(stmt.span, self.module, &from, name, stmt.span)?;
                    self.scope.set(alias.as_ref().unwrap_or(name), value);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The items of a list, a tuple, or the keys of a dict.
    fn items(&self, span: Span, value: &Val<'a>) -> Result<Vec<Val<'a>>> {
        match value {
            Val::Tuple(items) => Ok(items.clone()),
            Val::Dict(pairs) => Ok(pairs.iter().map(|(key, _)| Val::constant(key.clone())).collect()),
            other => Err(self.type_error(span, format!("{} where a list is needed", other.describe()))),
        }
    }

    fn truth(&self, span: Span, value: &Val<'a>) -> Result<bool> {
        match value {
            Val::Const(constant) => Ok(constant.truthy()),
            Val::Tuple(items) => Ok(!items.is_empty()),
            Val::Dict(pairs) => Ok(!pairs.is_empty()),
            other => Err(self.unsupported(span, format!("whether {} is true", other.describe()))),
        }
    }

    /// Calls a Python function that is no kernel. Of a run-time value it may ask what is known of it, its type and shape;
    /// what it gives is known.
    pub fn call_host(
        &mut self,
        span: Span,
        function: &'a FunctionDef,
        positional: Vec<Arg<'a>>,
        named: Vec<(&str, Arg<'a>)>,
    ) -> Result<Val<'a>> {
        let run_time = positional.iter().chain(named.iter().map(|(_, arg)| arg)).find(|arg| !arg.val.flattened().is_empty());
        let run_time = run_time.map(|arg| arg.span);
        self.enter_call(span, function)?;
        let module = self.modules.of(function.name_span);
        let scope = self.bind_params(span, function, positional, named)?;
        self.calls.push((function, span));
        let outcome = self.at_module(span, module, |l| {
            l.scope = scope;
            match l.stmts(&function.body)? {
                super::flow::Flow::Return(value) => Ok(value),
                super::flow::Flow::Next => Ok(Val::Const(Constant::None)),
            }
        });
        self.calls.pop();
        match (outcome, run_time) {
            (Ok(value), Some(place)) if !value.flattened().is_empty() => {
                let message = format!("a run-time value as an argument of `{}`, which runs at compile time", function.name);
                Err(self.rejected(place, message))
            }
            (outcome, _) => outcome,
        }
    }

    /// `for target in list` at module level.
    pub fn host_loop(&mut self, target: &'a Expr, iter: &'a Expr, body: &'a [Stmt]) -> Result<super::flow::Flow<'a>> {
        let list = self.expr(iter)?;
        for item in self.items(iter.span, &list)? {
            self.assign(target, item, target.span)?;
            if let super::flow::Flow::Return(value) = self.stmts(body)? {
                return Ok(super::flow::Flow::Return(value));
            }
        }
        Ok(super::flow::Flow::Next)
    }

    /// A list or generator comprehension at module level, as a tuple.
    pub fn comprehension(&mut self, span: Span) -> Result<Val<'a>> {
        let Some(comprehension) = self.modules.comprehension(span) else {
            return Err(self.unsupported(span, "a comprehension here"));
        };
        let scope = self.scope.clone();
        let mut items = Vec::new();
        let outcome = self.clauses(comprehension, 0, &mut items);
        self.scope = scope;
        outcome.map(|()| Val::Tuple(items))
    }

    fn clauses(&mut self, whole: &'a Comprehension, from: usize, items: &mut Vec<Val<'a>>) -> Result<()> {
        let Some(clause) = whole.clauses.get(from) else {
            if items.len() == MAX_ITEMS {
                return Err(self.unsupported(whole.element.span, format!("a list of more than {MAX_ITEMS} items")));
            }
            items.push(self.expr(&whole.element)?);
            return Ok(());
        };
        let list = self.expr(&clause.iter)?;
        'items: for item in self.items(clause.iter.span, &list)? {
            // What a comprehension binds stays what it is: no number becomes a run-time value.
            let outer = std::mem::replace(&mut self.host, true);
            let assigned = self.assign(&clause.target, item, clause.target.span);
            self.host = outer;
            assigned?;
            for condition in &clause.conditions {
                let value = self.expr(condition)?;
                if !self.truth(condition.span, &value)? {
                    continue 'items;
                }
            }
            self.clauses(whole, from + 1, items)?;
        }
        Ok(())
    }

    /// `try` in a function of a module: what is tried, or what is done instead.
    pub fn host_try(&mut self, body: &'a [Stmt], orelse: &'a [Stmt]) -> Result<super::flow::Flow<'a>> {
        let scope = self.scope.clone();
        match self.stmts(body) {
            Err(_) if !self.modules.is_waiting() => {
                self.scope = scope;
                self.stmts(orelse)
            }
            outcome => outcome,
        }
    }

    /// `{key: value, **more}` at module level.
    pub fn dict(&mut self, pairs: &'a [(Option<Expr>, Expr)]) -> Result<Val<'a>> {
        let mut dict = Vec::new();
        for (key, value) in pairs {
            let val = self.expr(value)?;
            match (key, val) {
                (Some(key), val) => {
                    let Some(name) = self.expr(key)?.to_constant() else {
                        return Err(self.unsupported(key.span, "a key that is not known at compile time"));
                    };
                    set_key(&mut dict, name, val);
                }
                (None, Val::Dict(more)) => more.into_iter().for_each(|(key, val)| set_key(&mut dict, key, val)),
                (None, other) => return Err(self.type_error(value.span, format!("cannot unpack {}", other.describe()))),
            }
        }
        Ok(Val::Dict(dict))
    }

    /// `name.append(x)`, `name.extend(list)` as a statement of a module's function; whether it was one.
    pub fn host_append(&mut self, call: &'a Expr) -> Result<bool> {
        let ExprKind::Call { func, args, .. } = &call.kind else { return Ok(false) };
        let ExprKind::Attribute { value, name: method } = &func.kind else { return Ok(false) };
        let (Some(name), [arg]) = (value.as_name(), args.as_slice()) else { return Ok(false) };
        if !matches!(method.as_str(), "append" | "extend") {
            return Ok(false);
        }
        let added = self.expr(arg)?;
        let added = if method == "append" { vec![added] } else { self.items(arg.span, &added)? };
        let Some(Val::Tuple(items)) = self.scope.get(name).cloned() else { return Ok(false) };
        if items.len() + added.len() > MAX_ITEMS {
            return Err(self.unsupported(call.span, format!("a list of more than {MAX_ITEMS} items")));
        }
        self.scope.set(name, Val::Tuple([items, added].concat()));
        Ok(true)
    }

    /// Whether names stand for nothing but what is known: a new scope for a lambda.
    pub fn call_lambda(
        &mut self,
        params: &'a [crate::syntax::ast::Param],
        body: &'a Expr,
        args: Vec<Val<'a>>,
    ) -> Result<Val<'a>> {
        let mut scope = Scope::default();
        for (param, value) in params.iter().zip(args) {
            scope.set(&param.name, value);
        }
        let module = self.modules.of(body.span);
        self.at_module(body.span, module, |l| {
            l.scope = scope;
            l.expr(body)
        })
    }
}

/// `str.format` with plain fields; doubled braces stand for one.
fn formatted(text: &str, list: &[String], named: &[(&str, String)]) -> Option<String> {
    let mut out = String::new();
    let mut next = 0;
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(more) = rest.strip_prefix(brace) {
            out.push_str(brace);
            rest = more;
            continue;
        }
        let end = if brace == "{" { rest.find('}')? } else { return None };
        let field = &rest[..end];
        rest = &rest[end + 1..];
        let value = match field.parse::<usize>() {
            Ok(i) => list.get(i)?,
            Err(_) if field.is_empty() => {
                next += 1;
                list.get(next - 1)?
            }
            Err(_) => &named.iter().find(|(name, _)| *name == field)?.1,
        };
        out.push_str(value);
    }
    out.push_str(rest);
    Some(out)
}

/// Adds a key to a dict, or replaces its value.
fn set_key<'a>(pairs: &mut Vec<(Constant, Val<'a>)>, key: Constant, value: Val<'a>) {
    match pairs.iter_mut().find(|(known, _)| *known == key) {
        Some((_, slot)) => *slot = value,
        None => pairs.push((key, value)),
    }
}
