//! Lines of a kernel that a wrong output points at, ranked from the file and the failing runs alone.
//!
//! [`flow`](super::flow) says what every line flows into: the address, mask or value of which load or
//! store. What was seen says what to look for: a [`Clue`] from the values, and, where the launch could
//! be run again on changed inputs, [`Evidence`]. Each hypothesis gives points to the lines that could
//! cause it:
//!
//! * an operand that is read at wrong places: its load, and the lines that flow into its address and
//!   into no other, first those of the axis that the evidence names;
//! * output that is right on constant operands alone: the store's address, and the lines shared by
//!   loads and store;
//! * one that is wrong on constants: masks, loops, accumulations, and the value's own lines;
//! * one that is wrong even on zeros: initial values, constants, what stands in masked lanes;
//! * one that is wrong on some values, wherever they stand: lines that choose between values, then those
//!   that put a constant into the value.
//!
//! Lines that contradict others of the file ([`super::contradiction`]) are suspect whatever was seen. Nothing is
//! known of what the kernel should compute, so this finds where to look and not what is wrong.

mod evidence;

use std::collections::{BTreeMap, BTreeSet};

use super::flow::{Flow, Line, Sink, called};
use super::roles::{Role, assigned, decodes, flatten, mentions, products, roles};
use super::{SUSPECTS, contradiction};
use crate::conform::counterfactual::Evidence;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, Module};
use crate::syntax::walk::{each_expr, own_exprs};

/// What the values say about the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clue {
    /// NaN or infinities.
    NotFinite,
    /// A number where there should be NaN, or a clamp that is missing or too much.
    Choice,
    /// Zeros where there should be none, or wrong tails and borders.
    Mask,
    /// Values from the wrong place.
    Address,
    /// One block or slab.
    ProgramId,
    /// A factor.
    Scale,
    /// An added constant.
    Arithmetic,
    /// Nothing in particular.
    Anything,
}

/// All that is known when lines are ranked.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    pub clue: Clue,
    pub evidence: Option<&'a Evidence>,
    /// Operands by the kernel's pointer parameters.
    pub pointers: &'a BTreeMap<String, String>,
    /// Programs along each axis, where it is known.
    pub grid: Option<[i64; 3]>,
}

/// A line to look at, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Suspect {
    pub span: Span,
    pub why: String,
    /// Whether the line contradicts something else in the suite, whatever was seen.
    pub certain: bool,
}

/// At most `limit` lines of `function` and its helpers, the most suspect first; empty when the module
/// does not define it.
pub fn rank(module: &Module, function: &str, seen: Seen, limit: usize) -> Vec<Suspect> {
    let flow = Flow::of(module, function);
    let contradictions = contradiction::all(module, function, seen.grid);
    let ranking = Ranking { flow: &flow, contradictions, seen };
    let scored = flow.lines.iter().map(|line| (ranking.score(line), line.span));
    best(scored.collect(), limit)
}

/// The lines behind a fault at `place`: those that flow into the faulting access, nearest first. Without a
/// place the accesses are the stores, and `gaps` says of which output (its name, its number of axes) and
/// along which axes elements are missing.
pub fn behind(
    module: &Module,
    (function, grid): (&str, Option<[i64; 3]>),
    place: Option<Span>,
    gaps: Option<((&str, usize), &[usize])>,
) -> Vec<Suspect> {
    let flow = Flow::of(module, function);
    let contradictions = contradiction::all(module, function, grid);
    let indices: BTreeSet<String> = gaps.map(|((name, rank), axes)| indices(&flow, name, rank, axes)).unwrap_or_default();
    let inside = |span: Span| place.is_some_and(|p| span.start <= p.start && p.end <= span.end);
    let here = |line: usize| match place {
        Some(_) => inside(flow.lines[line].span),
        None => true,
    };
    let faulty: BTreeSet<usize> = (0..flow.accesses.len())
        .filter(|&a| here(flow.accesses[a].line) && (place.is_some() || flow.accesses[a].store))
        .collect();
    let score = |line: &Line| {
        let mut score = Score::default();
        if inside(line.span) {
            return score;
        }
        // A contradiction explains the fault of an access that it flows into; a call passes everything on.
        if line.calls_helper || faulty.is_empty() || line.reaches.keys().any(|sink| faulty.contains(&sink.access())) {
            score.contradicts(&contradictions, line);
        }
        for (sink, &steps) in &line.reaches {
            let (access, points, what) = match sink {
                Sink::Address(a) => (a, 3.0, "flows into the address"),
                Sink::Mask(a) => (a, 2.5, "flows into the mask"),
                Sink::Other(a) | Sink::Value(a) => (a, 0.5, "flows into the value"),
            };
            if faulty.contains(access) {
                score.add(points / (1.0 + 0.4 * steps as f64), what.to_owned());
            }
        }
        if decodes(line.stmt) {
            score.points *= 1.3;
        }
        if assigned(line.stmt).is_some_and(|name| indices.contains(name)) {
            score.add(3.0, "makes the index along which elements are missing".to_owned());
        }
        if line.calls_helper && !score.certain {
            score.points *= 0.5;
        }
        score
    };
    best(flow.lines.iter().map(|line| (score(line), line.span)).collect(), SUSPECTS)
}

/// Names in the terms of an operand's addresses that hold the strides of some axes: its stride parameters,
/// `<operand>_stride_…`, stand in the order of its axes.
fn indices(flow: &Flow, operand: &str, rank: usize, axes: &[usize]) -> BTreeSet<String> {
    let prefix = format!("{operand}_stride_");
    let mut found = BTreeSet::new();
    for access in &flow.accesses {
        for expr in own_exprs(flow.lines[access.line].stmt) {
            each_expr(expr, &mut |e| {
                let ExprKind::Call { func, args, keywords: _ } = &e.kind else { return };
                let Some(address) = args.first().filter(|_| matches!(called(func).as_str(), "load" | "store")) else { return };
                let mut terms = Vec::new();
                flatten(address, &mut terms);
                let strided: Vec<&&Expr> = terms.iter().filter(|t| mentions(t, |n| n.starts_with(&prefix))).collect();
                if strided.len() != rank {
                    return;
                }
                for &axis in axes {
                    each_expr(strided[axis], &mut |e| {
                        found.extend(e.as_name().filter(|n| !n.starts_with(&prefix)).map(str::to_owned))
                    });
                }
            });
        }
    }
    found
}

/// Highest points first, then in order of the text; lines without points are left out.
fn best(mut scored: Vec<(Score, Span)>, limit: usize) -> Vec<Suspect> {
    scored.retain(|(score, _)| score.points > 0.0);
    scored.sort_by(|(a, at), (b, bt)| b.points.total_cmp(&a.points).then(at.cmp(bt)));
    scored.truncate(limit);
    scored.into_iter().map(|(score, span)| Suspect { span, why: score.why, certain: score.certain }).collect()
}

/// Points of one line, and what gave most of them.
#[derive(Clone, Debug, Default)]
struct Score {
    points: f64,
    most: f64,
    why: String,
    certain: bool,
}

impl Score {
    fn add(&mut self, points: f64, why: String) {
        self.points += points;
        if points > self.most {
            self.most = points;
            self.why = why;
        }
    }
}

impl Score {
    fn contradicts(&mut self, contradictions: &BTreeMap<Span, String>, line: &Line) {
        if let Some(why) = contradictions.get(&line.span) {
            self.add(12.0, why.clone());
            self.certain = true;
        }
    }
}

struct Ranking<'a, 'm> {
    flow: &'a Flow<'m>,
    contradictions: BTreeMap<Span, String>,
    seen: Seen<'a>,
}

impl Ranking<'_, '_> {
    /// The operand behind an access.
    fn operand(&self, access: usize) -> Option<&str> {
        let param = self.flow.accesses[access].param.as_ref()?;
        Some(self.seen.pointers.get(param).map_or(param.as_str(), String::as_str))
    }

    fn is_store(&self, access: usize) -> bool {
        self.flow.accesses[access].store
    }

    fn score(&self, line: &Line) -> Score {
        let mut score = Score::default();
        score.contradicts(&self.contradictions, line);
        self.by_clue(line, &mut score);
        if let Some(evidence) = self.seen.evidence {
            self.by_evidence(line, evidence, &mut score);
        }
        if line.calls_helper && !score.certain {
            // A call defines all parameters: it is near everything.
            score.points *= 0.4;
        }
        score
    }

    /// What the values alone say: about one point, or enough to decide where the clue is one line's.
    fn by_clue(&self, line: &Line, score: &mut Score) {
        let roles = roles(line);
        let wanted: &[Role] = match self.seen.clue {
            Clue::Choice => &[Role::Choice, Role::Value],
            Clue::NotFinite => &[Role::Singular, Role::Load, Role::Mask],
            Clue::Mask => &[Role::Load, Role::Mask, Role::Loop, Role::Store],
            Clue::Address => &[Role::Load, Role::Store, Role::Address, Role::Decode],
            Clue::ProgramId => &[Role::Decode, Role::Store, Role::Mask],
            Clue::Scale => &[Role::Scales, Role::Accumulate, Role::Loop, Role::Value],
            Clue::Arithmetic => &[Role::Value, Role::Accumulate, Role::Singular],
            Clue::Anything => &[Role::Accumulate, Role::Address, Role::Loop, Role::Load],
        };
        if let Some(at) = wanted.iter().position(|role| roles.contains(role)) {
            score.add(1.0 - 0.2 * at as f64, wanted[at].what().to_owned());
            score.points += 0.05 * products(line.stmt) as f64;
            if matches!(self.seen.clue, Clue::Choice | Clue::Scale) && at == 0 {
                score.add(3.0, wanted[at].what().to_owned());
            }
        }
    }
}
