//! Lines of a kernel file that a wrong output points at, ranked from the text alone.
//!
//! Every statement of the kernel and of the helpers it calls plays roles: it decodes a program id,
//! makes an address or a mask, loads, stores, accumulates, scales, divides. What was seen in the
//! values (a [`Clue`]) says which roles to suspect; lines are ranked by their best role, then by how
//! many products they hold (strides and scales), then by their place. It knows nothing of what the kernel should compute, so it
//! finds where to look and not what is wrong.

use std::collections::BTreeSet;

use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, FunctionDef, Module, Stmt, StmtKind};
use crate::template::walk::{each_expr, each_stmt, own_exprs};

/// What the values say about the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clue {
    /// NaN or infinities.
    NotFinite,
    /// Zeros where there should be none, or wrong tails and borders.
    Mask,
    /// Values from the wrong place.
    Address,
    /// One block or slab.
    ProgramId,
    /// A factor or an added constant.
    Arithmetic,
    /// Nothing in particular.
    Anything,
}

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    ProgramId,
    Address,
    Mask,
    Load,
    Store,
    Accumulate,
    Scale,
    /// A division, root, logarithm or exponential.
    Singular,
}

impl Role {
    fn what(self) -> &'static str {
        match self {
            Role::ProgramId => "decodes a program id",
            Role::Address => "makes an address",
            Role::Mask => "makes a mask",
            Role::Load => "loads",
            Role::Store => "stores",
            Role::Accumulate => "accumulates",
            Role::Scale => "scales a value",
            Role::Singular => "divides, takes a root, a logarithm or an exponential",
        }
    }
}

impl Clue {
    /// Roles to suspect, the first most.
    fn roles(self) -> &'static [Role] {
        match self {
            Clue::NotFinite => &[Role::Singular, Role::Load, Role::Mask],
            Clue::Mask => &[Role::Mask, Role::Load, Role::Store],
            Clue::Address => &[Role::Load, Role::Store, Role::Address, Role::ProgramId],
            Clue::ProgramId => &[Role::ProgramId, Role::Store, Role::Mask],
            Clue::Arithmetic => &[Role::Scale, Role::Singular, Role::Accumulate],
            Clue::Anything => &[Role::Address, Role::ProgramId, Role::Accumulate, Role::Load],
        }
    }
}

/// A line to look at, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    pub span: Span,
    pub why: &'static str,
}

/// At most `limit` statements of `function` and its helpers, the most suspect first; empty when the
/// module does not define it.
pub fn rank(module: &Module, function: &str, clue: Clue, limit: usize) -> Vec<Suspect> {
    let functions = reached(module, function);
    // Position of the best role, products, place.
    let mut ranked: Vec<(usize, std::cmp::Reverse<usize>, Span)> = Vec::new();
    for function in functions {
        let names = Names::of(function);
        each_stmt(&function.body, &mut |stmt| {
            let roles = roles(stmt, &names);
            if let Some(best) = clue.roles().iter().position(|role| roles.contains(role)) {
                ranked.push((best, std::cmp::Reverse(products(stmt)), stmt.span));
            }
        });
    }
    ranked.sort_unstable();
    ranked.truncate(limit);
    ranked.into_iter().map(|(best, _, span)| Suspect { span, why: clue.roles()[best].what() }).collect()
}

/// How many multiplications a statement holds.
fn products(stmt: &Stmt) -> usize {
    let mut count = 0;
    for expr in own_exprs(stmt) {
        each_expr(expr, &mut |e| count += matches!(e.kind, ExprKind::Binary(BinaryOp::Mul, ..)) as usize);
    }
    count
}

/// The function and those of its module that it calls, each once.
fn reached<'m>(module: &'m Module, function: &str) -> Vec<&'m FunctionDef> {
    let find = |name: &str| {
        module.body.iter().find_map(|stmt| match &stmt.kind {
            StmtKind::Function(f) if f.name == name => Some(f),
            _ => None,
        })
    };
    let mut found: Vec<&FunctionDef> = Vec::new();
    let mut open: Vec<String> = vec![function.to_owned()];
    while let Some(name) = open.pop() {
        let Some(definition) = find(&name).filter(|f| found.iter().all(|g| g.name != f.name)) else { continue };
        found.push(definition);
        each_in(&definition.body, &mut |expr| {
            if let ExprKind::Call { func, .. } = &expr.kind {
                open.extend(func.as_name().map(str::to_owned));
            }
        });
    }
    found
}

/// Every expression of a block, nested ones included.
fn each_in<'m>(block: &'m [Stmt], visit: &mut dyn FnMut(&'m Expr)) {
    each_stmt(block, &mut |stmt| own_exprs(stmt).into_iter().for_each(|e| each_expr(e, visit)));
}

/// What names of one function stand for, by how they are used anywhere in it.
#[derive(Default)]
struct Names {
    /// Hold a program id or something computed from one.
    programs: BTreeSet<String>,
    /// Occur in the address of a load or store, or in what such a name is computed from.
    addresses: BTreeSet<String>,
    /// Occur in a `mask=`.
    masks: BTreeSet<String>,
}

impl Names {
    fn of(function: &FunctionDef) -> Names {
        let mut names = Names::default();
        each_in(&function.body, &mut |expr| {
            let Some(access) = Access::of(expr) else { return };
            each_expr(access.address, &mut |e| names.addresses.extend(e.as_name().map(str::to_owned)));
            if let Some(mask) = access.mask {
                each_expr(mask, &mut |e| names.masks.extend(e.as_name().map(str::to_owned)));
            }
        });
        let mut assignments: Vec<(&str, &Expr)> = Vec::new();
        each_stmt(&function.body, &mut |stmt| {
            if let StmtKind::Assign { targets, value } = &stmt.kind {
                assignments.extend(targets.iter().filter_map(Expr::as_name).map(|name| (name, value)));
            }
        });
        for (name, value) in assignments.iter().rev() {
            if names.addresses.contains(*name) {
                each_expr(value, &mut |e| names.addresses.extend(e.as_name().map(str::to_owned)));
            }
        }
        // A helper's tile number is its caller's program id.
        names.programs.extend(function.params.iter().map(|p| p.name.clone()).filter(|n| n == "tile" || n.starts_with("pid")));
        for (name, value) in assignments {
            let mut derived = false;
            each_expr(value, &mut |e| derived |= is_program_id(e) || e.as_name().is_some_and(|n| names.programs.contains(n)));
            if derived {
                names.programs.insert(name.to_owned());
            }
        }
        names
    }
}

fn is_program_id(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call { func, .. } if called(func) == "program_id")
}

/// The last part of a dotted callee: `load` of `tl.load`.
fn called(func: &Expr) -> String {
    func.as_dotted().map_or_else(String::new, |dotted| dotted.rsplit('.').next().unwrap_or_default().to_owned())
}

/// A `tl.load` or `tl.store`.
struct Access<'e> {
    store: bool,
    address: &'e Expr,
    mask: Option<&'e Expr>,
}

impl<'e> Access<'e> {
    fn of(expr: &'e Expr) -> Option<Access<'e>> {
        let ExprKind::Call { func, args, keywords } = &expr.kind else { return None };
        let store = match called(func).as_str() {
            "load" => false,
            "store" => true,
            _ => return None,
        };
        let position = if store { 2 } else { 1 };
        let mask = keywords.iter().find(|k| k.name.as_deref() == Some("mask")).map(|k| &k.value).or(args.get(position));
        Some(Access { store, address: args.first()?, mask })
    }
}

/// What a simple statement does; nothing for compound ones.
fn roles(stmt: &Stmt, names: &Names) -> BTreeSet<Role> {
    let target = match &stmt.kind {
        StmtKind::Assign { targets, .. } => targets.first().and_then(Expr::as_name),
        StmtKind::AugAssign { target, .. } | StmtKind::AnnAssign { target, .. } => target.as_name(),
        StmtKind::Expr(_) | StmtKind::Return(_) => None,
        StmtKind::Import(_) | StmtKind::ImportFrom { .. } | StmtKind::Function(_) | StmtKind::Class { .. } => {
            return BTreeSet::new();
        }
        StmtKind::If { .. } | StmtKind::For { .. } | StmtKind::While { .. } => return BTreeSet::new(),
        StmtKind::Raise(_) | StmtKind::Assert { .. } | StmtKind::Other(_) => return BTreeSet::new(),
        StmtKind::Pass | StmtKind::Break | StmtKind::Continue => return BTreeSet::new(),
    };
    let mut roles = BTreeSet::new();
    let mut access = None;
    let (mut program, mut decodes) = (false, false);
    for expr in own_exprs(stmt) {
        each_expr(expr, &mut |e| {
            access = access.or(Access::of(e).map(|a| (a.store, a.mask.is_some())));
            program |= is_program_id(e) || e.as_name().is_some_and(|n| names.programs.contains(n));
            match &e.kind {
                ExprKind::Binary(BinaryOp::FloorDiv | BinaryOp::Mod, ..) => decodes = true,
                ExprKind::Binary(BinaryOp::Div | BinaryOp::Pow, ..) => drop(roles.insert(Role::Singular)),
                ExprKind::Call { func, .. } => match called(func).as_str() {
                    "sqrt" | "rsqrt" | "log" | "log2" | "exp" | "exp2" | "fdiv" | "sqrt_rn" | "div_rn" => {
                        roles.insert(Role::Singular);
                    }
                    "dot" | "sum" => drop(roles.insert(Role::Accumulate)),
                    _ => {}
                },
                _ => {}
            }
        });
    }
    let of = |set: &BTreeSet<String>| target.is_some_and(|name| set.contains(name));
    match access {
        Some((store, masked)) => {
            roles.insert(if store { Role::Store } else { Role::Load });
            if masked {
                roles.insert(Role::Mask);
            }
        }
        None => {
            if program && (decodes || target.is_none()) {
                roles.insert(Role::ProgramId);
            }
            if of(&names.addresses) {
                roles.insert(Role::Address);
            } else if products(stmt) > 0 {
                roles.insert(Role::Scale);
            }
            if of(&names.masks) {
                roles.insert(Role::Mask);
            }
        }
    }
    if matches!(stmt.kind, StmtKind::AugAssign { .. }) {
        roles.insert(Role::Accumulate);
    }
    roles
}
