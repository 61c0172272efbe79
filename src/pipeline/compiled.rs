//! Kernels that Triton has lowered already: files of TTIR.
//!
//! Their launches are described as those of Python kernels are. What a description asks of a kernel's text, which is its
//! name, its parameters and the comments, stands in a module of Python syntax whose places are those of the file; comments
//! begin with `// run:`. Constexprs are part of the text, and no parameters of it.

use std::path::Path;

use crate::diag::Result;
use crate::kernel::ir::{Elem, Param};
use crate::kernel::{self, Kernel, Verified};
use crate::launch::description::{Description, wrong};
use crate::launch::resolve::{Resolved, Value};
use crate::source::{SourceFile, Span};
use crate::syntax::Constant;
use crate::syntax::ast::{self, Comment, Expr, ExprKind, FunctionDef, Module, ParamKind, Stmt, StmtKind};

/// Whether a file holds a compiler's IR, by its name.
pub fn is_ir(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ttir")
}

/// The one kernel of a file.
///
/// # Errors
/// U002 when it cannot be read or is no text, K001 and K006 as [`kernel::parse`].
pub fn read(path: &Path) -> Result<Verified<Kernel>> {
    kernel::parse(&SourceFile::new(path.display().to_string(), super::lower::text(path)?))
}

/// A kernel's name, parameters and comments as a module that descriptions can be read for.
pub fn module(kernel: &Kernel) -> Module {
    let file = kernel.source.clone();
    let place = kernel.params.first().map_or(Span::default(), |param| param.span);
    let params = kernel.params.iter().map(|param| ast::Param {
        name: param.name.to_string(),
        annotation: None,
        default: None,
        kind: ParamKind::Positional,
        span: param.span,
    });
    let function = FunctionDef {
        name: kernel.name.to_string(),
        name_span: place,
        params: params.collect(),
        decorators: vec![Expr { kind: ExprKind::Name("jit".to_owned()), span: place }],
        returns: None,
        body: Vec::new(),
        params_span: place,
    };
    let comments = comments(file.text());
    Module { file, body: vec![Stmt { kind: StmtKind::Function(function), span: place }], comments }
}

/// Lines that begin with `//`; the second slash stands where Python has its `#`.
fn comments(text: &str) -> Vec<Comment> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        if line[indent..].starts_with("//") {
            found.push(Comment { span: Span::new(start + indent + 1, start + line.trim_end().len()), own_line: true });
        }
        start += line.len();
    }
    found
}

/// Whether arguments are of the types that the kernel was compiled for. An element's sign is no part of them.
///
/// # Errors
/// E001 names the first that is not.
pub fn agree(kernel: &Kernel, resolved: &Resolved, description: &Description) -> Result<()> {
    for param in &kernel.params {
        let Some((_, value)) = resolved.args.iter().find(|(name, _)| *name == *param.name) else { continue };
        let elem = kernel.ty(param.value).elem;
        if fits(elem, value) {
            continue;
        }
        let message = format!("the kernel was compiled for {} as `{}`, not for {}", written(elem), param.name, shown(value));
        let given = description.args.iter().find(|given| given.name == *param.name);
        return Err(match given {
            Some(given) => wrong(&given.file, given.span, message),
            None => wrong(&description.file, description.span, message),
        });
    }
    Ok(())
}

fn fits(elem: Elem, value: &Value) -> bool {
    match (elem, value) {
        (Elem::Ptr(dtype), Value::Tensor(operand)) => Elem::of(dtype) == Elem::of(operand.dtype),
        (elem, Value::Constant(Constant::Int(value))) if elem.is_integer() => fits_bits(*value, elem.bits()),
        (Elem::I1, Value::Constant(Constant::Bool(_))) => true,
        (elem, Value::Constant(Constant::Int(_) | Constant::Float(_))) => elem.is_float(),
        (_, Value::Tensor(_) | Value::Constant(_) | Value::Other(_)) => false,
    }
}

/// Whether some reading of this many bits, with sign or without, is the value.
fn fits_bits(value: i64, bits: u32) -> bool {
    bits >= 64 || (-(1i64 << (bits - 1))..1i64 << bits).contains(&value)
}

fn written(elem: Elem) -> String {
    match elem {
        Elem::Ptr(dtype) => format!("a tensor of {dtype}"),
        elem => format!("a scalar of type {elem}"),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Tensor(operand) => format!("a tensor of {}", operand.dtype),
        Value::Constant(constant) => constant.to_string(),
        Value::Other(_) => "a type or a function".to_owned(),
    }
}

/// Comments that describe a launch, to start from.
pub fn template(kernel: &Kernel) -> String {
    let argument = |param: &Param| match kernel.ty(param.value).elem {
        Elem::Ptr(dtype) => format!("{dtype}[1000]"),
        elem if elem.is_float() => "1.0".to_owned(),
        Elem::I1 => "True".to_owned(),
        _ => "1000".to_owned(),
    };
    let args: String = kernel.params.iter().map(|param| format!("//     {}: {}\n", param.name, argument(param))).collect();
    format!("// run: {} on a small input\n//   args:\n{args}//   grid: 1\n", kernel.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_fits_with_or_without_sign() {
        let fitting = [(127, 8), (255, 8), (-128, 8), (1, 1), (-1, 1), (i64::MIN, 64), (4_294_967_295, 32)];
        assert!(fitting.iter().all(|&(value, bits)| fits_bits(value, bits)));
        assert!([(256, 8), (-129, 8), (2, 1), (4_294_967_296, 32)].iter().all(|&(value, bits)| !fits_bits(value, bits)));
    }

    #[test]
    fn comments_are_lines_of_their_own() {
        let text = "  // run: a\n//   grid: 1\n%a = x // no\n//";
        let spans: Vec<&str> = comments(text).iter().map(|c| &text[c.span.start as usize..c.span.end as usize]).collect();
        assert_eq!(spans, ["/ run: a", "/   grid: 1", "/"]);
    }
}
