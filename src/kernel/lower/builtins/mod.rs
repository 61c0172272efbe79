//! The functions of `triton.language`: a table from names to lowerings, one file a family.
//!
//! To add one, write a function `fn(&mut Lower, &Args) -> Result<Val>` in the family's file and a row
//! in its `TABLE`. A parameter is `"name"`, `"name="` when it may be left out, `"*name"` when it takes
//! all remaining positional arguments.

mod asm;
mod atomic;
mod block_ptr;
mod control;
mod convert;
mod create;
mod descriptor;
mod dot;
mod libdevice;
mod math;
mod memory;
mod moves;
mod random;
mod reduce;
mod scaled;
mod scan;
mod shape;
mod sort;

use smallvec::SmallVec;

use super::Lower;
use super::call::{Arg, Args};
use super::types::Scalar;
use super::value::{Tensor, Val};
use crate::diag::Result;
use crate::source::Span;
use crate::syntax::Constant;

type Lowering = for<'a, 'n> fn(&mut Lower<'a, 'n>, &Args<'a>) -> Result<Val<'a>>;

/// A function that kernels may call.
pub struct Builtin {
    /// Under `triton.language`; Python's own functions have the prefix `python.`.
    pub name: &'static str,
    pub params: &'static [&'static str],
    /// Whether `x.name(…)` means `name(x, …)`.
    pub member: bool,
    pub lower: Lowering,
}

impl std::fmt::Debug for Builtin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// A row for a function that is no method.
const fn function(name: &'static str, params: &'static [&'static str], lower: Lowering) -> Builtin {
    Builtin { name, params, member: false, lower }
}

/// A row for a function that is a method too.
const fn member_function(name: &'static str, params: &'static [&'static str], lower: Lowering) -> Builtin {
    Builtin { name, params, member: true, lower }
}

static TABLES: &[&[Builtin]] = &[
    create::TABLE,
    memory::TABLE,
    atomic::TABLE,
    block_ptr::TABLE,
    descriptor::TABLE,
    math::TABLE,
    reduce::TABLE,
    shape::TABLE,
    convert::TABLE,
    dot::TABLE,
    control::TABLE,
    scan::TABLE,
    moves::TABLE,
    sort::TABLE,
    random::TABLE,
    asm::TABLE,
    scaled::TABLE,
    libdevice::TABLE,
];

fn find(name: &str) -> Option<&'static Builtin> {
    TABLES.iter().copied().flatten().find(|builtin| builtin.name == name)
}

/// A member of `triton.language`, by its name below that module.
pub fn triton(member: &str) -> Option<&'static Builtin> {
    let name = match member.rsplit_once('.') {
        None => member,
        Some(("core" | "standard", name)) => name,
        Some(("random" | "target_info", name)) => name,
        // Before Triton 3, `tl.math` was libdevice, and kernels still say so.
        Some(("math", name)) => return find(name).or_else(|| find(&format!("{}{name}", libdevice::PREFIX))),
        Some(("extra.libdevice" | "extra.cuda.libdevice" | "extra.hip.libdevice" | "libdevice", name)) => {
            return find(&format!("{}{name}", libdevice::PREFIX));
        }
        Some(("extra.cuda" | "extra.cuda.utils", name)) => return find(&format!("extra.{name}")),
        Some(_) => return None,
    };
    if name.contains('.') { None } else { find(name) }
}

/// A Python function that kernels may call.
pub fn python(name: &str) -> Option<&'static Builtin> {
    match name {
        "range" => find("range"),
        "print" => find("device_print"),
        "min" => find("python.min"),
        "max" => find("python.max"),
        "len" => find("python.len"),
        "int" => find("python.int"),
        "float" => find("python.float"),
        _ => None,
    }
}

/// A method of a tensor descriptor.
pub fn descriptor_method(name: &str) -> Option<&'static Builtin> {
    find(&format!("descriptor.{name}"))
}

/// A method of Python's integers, which the module's own code may call.
pub fn integer_method(name: &str) -> Option<&'static Builtin> {
    if name == "bit_length" { find("python.bit_length") } else { None }
}

/// A method of run-time values.
pub fn member(name: &str) -> Option<&'static Builtin> {
    find(name).filter(|builtin| builtin.member)
}

/// Members of `triton.language` that Triton has and this language lacks: using one is no mistake.
static NOT_SUPPORTED: &[&str] = &[
    "aggregate_replace",
    "atomic_load",
    "atomic_poll",
    "atomic_store",
    "block_type",
    "condition",
    "const",
    "constexpr_type",
    "dtype",
    "expect_zero",
    "float8e4b15",
    "map_elementwise",
    "pi32_t",
    "slice",
    "str_to_ty",
    "tensor",
    "tensor_descriptor",
    "tensor_descriptor_type",
    "TRITON_MAX_TENSOR_NUMEL",
    "tuple",
    "tuple_type",
    "void",
];

/// Whether Triton itself has a member of `triton.language`; members of its submodules and private ones
/// are not known by name.
pub fn exists(member: &str) -> bool {
    member.contains('.') || member.starts_with('_') || NOT_SUPPORTED.contains(&member)
}

/// Modules below `triton.language`, and the enumeration that works like one.
pub fn is_module(name: &str) -> bool {
    matches!(
        name,
        "math"
            | "core"
            | "standard"
            | "random"
            | "extra"
            | "libdevice"
            | "extra.libdevice"
            | "extra.cuda"
            | "extra.cuda.utils"
            | "extra.cuda.libdevice"
            | "extra.hip"
            | "extra.hip.libdevice"
            | "PropagateNan"
    )
}

/// Lowers a function of this table with values at hand.
fn call<'a>(lower: &mut Lower<'a, '_>, span: Span, name: &str, args: Vec<Val<'a>>) -> Result<Val<'a>> {
    let args = args.into_iter().map(|val| Arg { val, span }).collect();
    match find(name) {
        Some(builtin) => lower.call_builtin(span, builtin, args, Vec::new()),
        None => Err(lower.unsupported(span, format!("`tl.{name}`"))),
    }
}

impl<'a> Lower<'a, '_> {
    fn arg<'b>(&self, args: &'b Args<'a>, param: &str) -> Result<&'b Arg<'a>> {
        args.given(param)
            .ok_or_else(|| self.type_error(args.span, format!("argument `{param}` of `{}` is None", args.builtin.name)))
    }

    /// A run-time argument; a Python number becomes a constant.
    fn tensor_arg(&mut self, args: &Args<'a>, param: &str) -> Result<Tensor> {
        let arg = self.arg(args, param)?;
        self.tensor_of(arg.span, &arg.val)
    }

    fn optional_tensor(&mut self, args: &Args<'a>, param: &str) -> Result<Option<Tensor>> {
        args.given(param).map(|arg| self.tensor_of(arg.span, &arg.val)).transpose()
    }

    fn int_of(&self, arg: &Arg<'a>, what: &str) -> Result<i64> {
        let known = match &arg.val {
            Val::Const(constant @ (Constant::Int(_) | Constant::Bool(_))) => constant.as_int(),
            _ => None,
        };
        known.ok_or_else(|| {
            let message = format!("{what} must be a compile-time integer, not {}", arg.val.describe());
            let mut diagnostic = self.rejected(arg.span, message);
            if matches!(arg.val, Val::Tensor(_)) {
                diagnostic.help =
                    Some("an assignment makes a number a run-time value; annotate it: `n: tl.constexpr = …`".to_owned());
            }
            diagnostic
        })
    }

    fn int_arg(&self, args: &Args<'a>, param: &str) -> Result<i64> {
        let arg = self.arg(args, param)?;
        self.int_of(arg, &format!("argument `{param}` of `{}`", args.builtin.name))
    }

    fn bool_arg(&self, args: &Args<'a>, param: &str, default: bool) -> Result<bool> {
        match args.given(param) {
            None => Ok(default),
            Some(Arg { val: Val::Const(constant), .. }) => Ok(constant.truthy()),
            Some(arg) => Err(self.rejected(arg.span, format!("argument `{param}` must be a compile-time bool"))),
        }
    }

    fn str_arg(&self, args: &Args<'a>, param: &str) -> Result<Option<String>> {
        match args.given(param) {
            None => Ok(None),
            Some(Arg { val: Val::Const(Constant::Str(text)), .. }) => Ok(Some(text.clone())),
            Some(arg) => Err(self.rejected(arg.span, format!("argument `{param}` must be a compile-time string"))),
        }
    }

    fn type_of(&self, arg: &Arg<'a>) -> Result<Scalar> {
        match &arg.val {
            Val::Type(scalar) => Ok(*scalar),
            Val::BlockType(ty) => Ok(ty.scalar),
            other => Err(self.type_error(arg.span, format!("{} where a type such as tl.float32 is needed", other.describe()))),
        }
    }

    /// An axis, negative ones counted from the end.
    fn axis_of(&self, arg: &Arg<'a>, rank: usize) -> Result<usize> {
        let axis = self.int_of(arg, "an axis")?;
        let wrapped = if axis < 0 { axis + rank as i64 } else { axis };
        usize::try_from(wrapped)
            .ok()
            .filter(|&axis| axis < rank)
            .ok_or_else(|| self.type_error(arg.span, format!("axis {axis} of a block of rank {rank}")))
    }

    /// Integers given as a tuple, or one by one as `*args`.
    fn ints_of(&self, list: &[Arg<'a>], what: &str) -> Result<SmallVec<[i64; 4]>> {
        if let [Arg { val: Val::Tuple(items), span }] = list {
            return items.iter().map(|item| self.int_of(&Arg { val: item.clone(), span: *span }, what)).collect();
        }
        list.iter().map(|arg| self.int_of(arg, what)).collect()
    }

    /// The shape of a new block: sizes that the target allows.
    fn shape_of(&self, list: &[Arg<'a>], args: &Args<'a>) -> Result<SmallVec<[usize; 4]>> {
        let span = list.first().map_or(args.span, |arg| arg.span);
        let sizes = self.ints_of(list, "a block's size")?;
        if sizes.len() > MAX_RANK {
            return Err(self.unsupported(span, format!("a block of more than {MAX_RANK} axes")));
        }
        let mut shape = SmallVec::new();
        let mut numel: usize = 1;
        for size in sizes {
            let size = usize::try_from(size).ok().filter(|&s| s > 0);
            let Some(size) = size else { return Err(self.rejected(span, "a block's size must be positive")) };
            if self.target.power_of_two && !size.is_power_of_two() {
                return Err(self.rejected(span, format!("a block's size must be a power of two, not {size}")));
            }
            numel = numel.saturating_mul(size);
            shape.push(size);
        }
        if numel > MAX_NUMEL {
            return Err(self.rejected(span, format!("a block of {numel} elements; Triton's limit is {MAX_NUMEL}")));
        }
        Ok(shape)
    }
}

/// Blocks of more axes are refused: as many as a block of the most elements can have of size 2.
pub const MAX_RANK: usize = 20;

/// Triton's limit for the elements of a block.
pub const MAX_NUMEL: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = TABLES.iter().copied().flatten().map(|b| b.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
