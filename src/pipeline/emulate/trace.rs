//! Watching a run line by line: what each line of a program assigns, loads and stores.
//!
//! Programs before the one that is watched run first, so that it finds in memory what they left. A line is told when something
//! happens on it that has a name in the kernel's text; the masks of loads and stores are told with them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::case::{self, Prepared};
use super::config::{Case, Subject};
use super::{Asked, Cancel};
use crate::diag::Result;
use crate::emulate::observe::{Go, Lanes, Shown, Sight, Touched, observe};
use crate::kernel::ir::Elem;
use crate::source::SourceFile;

/// Something that a program does on one line.
#[derive(Clone, Debug)]
pub enum Event {
    /// The program comes to a line: (program, line number, its text).
    Line([u32; 3], usize, String),
    /// A variable gets a value.
    Assigned(String, Shown),
    /// A load or store: parameter, what it touches, and what a store writes.
    Access(String, Touched, Option<Shown>),
}

/// Calls `tell` with what the programs do that `watched` names.
pub fn watch(
    asked: &Asked,
    subject: &mut Subject,
    case: &Case,
    cancel: &Cancel,
    watched: &dyn Fn([u32; 3]) -> bool,
    tell: &mut dyn FnMut(Event) -> Go,
) -> Result<()> {
    let Prepared { resolved, program, mut memory, args } = case::prepare(asked, subject, case)?;
    let source = program.kernel.source.clone();
    let mut last: Option<([u32; 3], usize)> = None;
    // What the current line has assigned: a value that a loop carries on is not told twice.
    let mut assigned: Vec<(Arc<str>, Shown)> = Vec::new();
    observe(&program, &mut memory, resolved.grid, &args, &case::options(asked, cancel), &mut |sight| {
        if !watched(sight.program()) {
            return Go::On;
        }
        let mut events = Vec::new();
        if !sight.after {
            if let Some(touched) = sight.touched() {
                let name = program.kernel.params[touched.parameter].name.to_string();
                let stored = sight.stored();
                events.push(Event::Access(name, touched, stored));
            }
        } else {
            let fresh: Vec<_> = sight.assigned().into_iter().filter(|known| !assigned.contains(known)).collect();
            events.extend(fresh.iter().map(|(name, shown)| Event::Assigned(name.to_string(), shown.clone())));
            assigned.extend(fresh);
        }
        if events.is_empty() {
            return Go::On;
        }
        if let Some((line, text)) = line(&source, sight)
            && last != Some((sight.program(), line))
        {
            last = Some((sight.program(), line));
            assigned.retain(|(known, _)| events.iter().any(|e| matches!(e, Event::Assigned(name, _) if **name == **known)));
            if tell(Event::Line(sight.program(), line, text)) == Go::Stop {
                return Go::Stop;
            }
        }
        match events.into_iter().map(&mut *tell).find(|go| *go == Go::Stop) {
            Some(stop) => stop,
            None => Go::On,
        }
    })
}

/// The line of an instruction, in the file that it comes from.
fn line(source: &Arc<SourceFile>, sight: &Sight<'_, '_>) -> Option<(usize, String)> {
    let span = sight.span();
    if span == crate::source::Span::default() {
        return None;
    }
    let (file, span) = source.origin(span);
    let line = file.position(span.start).line;
    Some((line, file.line(line).trim().to_owned()))
}

/// The last value of each variable, and the last access, of the programs that are watched.
#[derive(Default)]
pub struct Known {
    pub values: BTreeMap<String, Shown>,
    pub access: Option<(String, Touched)>,
}

impl Known {
    pub fn note(&mut self, event: &Event) {
        match event {
            Event::Line(..) => {}
            Event::Assigned(name, shown) => drop(self.values.insert(name.clone(), shown.clone())),
            Event::Access(name, touched, _) => self.access = Some((name.clone(), touched.clone())),
        }
    }
}

/// Lanes that are written out at each end of a long block.
const ENDS: usize = 4;

/// `f32[64] = [0.5, 1, …, 3]`; an undefined lane is `?`.
pub fn text(shown: &Shown) -> String {
    let one = |lane: usize| match &shown.lanes {
        _ if shown.undefined.get(lane).copied().unwrap_or(false) => "?".to_owned(),
        Lanes::Floats(v) => float(v[lane]),
        Lanes::Ints(v) if shown.ty.elem == Elem::I1 => if v[lane] != 0 { "True" } else { "False" }.to_owned(),
        Lanes::Ints(v) => v[lane].to_string(),
        Lanes::Pointers(name, v) => format!("{name}+{}", v[lane]),
    };
    let n = shown.ty.numel();
    let elem = match &shown.lanes {
        Lanes::Pointers(..) => "pointer".to_owned(),
        Lanes::Floats(_) | Lanes::Ints(_) => shown.ty.elem.to_string(),
    };
    if shown.ty.is_scalar() {
        return format!("{elem} = {}", one(0));
    }
    let sizes: Vec<String> = shown.ty.shape.iter().map(usize::to_string).collect();
    let lanes: Vec<String> = if n <= 2 * ENDS + 1 {
        (0..n).map(one).collect()
    } else {
        (0..ENDS).map(one).chain(["…".to_owned()]).chain((n - ENDS..n).map(one)).collect()
    };
    format!("{elem}[{}] = [{}]", sizes.join(", "), lanes.join(", "))
}

fn float(value: f64) -> String {
    match value.abs() {
        magnitude if value == value.trunc() && magnitude < 1e7 => format!("{value}"),
        magnitude if (1e-3..1e6).contains(&magnitude) => format!("{value:.6}").trim_end_matches('0').to_owned(),
        _ if value.is_finite() => format!("{value:.6e}"),
        _ => value.to_string(),
    }
}

/// `loads x_ptr[256..511], 232 of 256 lanes`.
pub fn access(name: &str, touched: &Touched) -> String {
    let n = touched.elements.len();
    let active: Vec<i64> =
        (0..n).filter(|&i| touched.active.is_empty() || touched.active[i]).map(|i| touched.elements[i]).collect();
    let verb = if touched.store { "stores" } else { "loads" };
    match (active.iter().min(), active.iter().max()) {
        (Some(low), Some(high)) if low == high => format!("{verb} {name}[{low}], {} of {n} lanes", active.len()),
        (Some(low), Some(high)) => format!("{verb} {name}[{low}..{high}], {} of {n} lanes", active.len()),
        _ => format!("{verb} {name}, no lane of {n}"),
    }
}

/// The lanes that an access's mask lets through, as ranges.
pub fn mask(touched: &Touched) -> String {
    if touched.active.is_empty() {
        return "no mask".to_owned();
    }
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (lane, _) in touched.active.iter().enumerate().filter(|(_, on)| **on) {
        match ranges.last_mut() {
            Some((_, end)) if *end == lane => *end += 1,
            _ => ranges.push((lane, lane + 1)),
        }
    }
    let more = ranges.len().saturating_sub(16);
    let mut words: Vec<String> = ranges
        .iter()
        .take(16)
        .map(|(from, to)| if from + 1 == *to { from.to_string() } else { format!("{from}..{}", to - 1) })
        .collect();
    if more > 0 {
        words.push(format!("{more} more"));
    }
    format!("lanes {} of {}", if words.is_empty() { "none".to_owned() } else { words.join(", ") }, touched.active.len())
}
