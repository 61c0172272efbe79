//! Attributes that mean something to the IR: hints and `isVolatile`.

use smallvec::SmallVec;

use super::Parser;
use crate::diag::Result;
use crate::kernel::ir::{Hint, HintKind};
use crate::kernel::print;
use crate::source::Span;

/// What the attributes of one instruction say.
#[derive(Default)]
pub struct Noted {
    pub hints: Vec<Hint>,
    pub volatile: bool,
}

const KINDS: [HintKind; 3] = [HintKind::Constancy, HintKind::Contiguity, HintKind::Divisibility];

impl Parser<'_> {
    /// Looks through an attribute dictionary that has been stepped over.
    pub(super) fn note(&mut self, start: usize) -> Result<()> {
        let text = &self.text[start..self.at];
        self.noted.volatile |= text.contains("isVolatile = true");
        for kind in KINDS {
            let Some(found) = text.find(&format!("{} = dense<", print::hint_name(kind))) else { continue };
            let values = &text[found..];
            let (from, to) = (values.find('<').map_or(0, |at| at + 1), values.find('>').unwrap_or(values.len()));
            let numbers = values[from..to].trim_matches(['[', ']']).split(',').map(|n| n.trim().parse().ok());
            let Some(mut numbers) = numbers.collect::<Option<SmallVec<[i64; 2]>>>() else {
                return self.error(format!("expected the numbers of `{}`", print::hint_name(kind)));
            };
            // `dense<16> : tensor<2xi32>` is one number for all axes.
            let axes = values[to..].split_once("tensor<").and_then(|(_, ty)| ty.split('x').next()?.parse().ok());
            if let (Some(axes @ 2..=16), &[number]) = (axes, numbers.as_slice()) {
                numbers.resize(axes, number);
            }
            self.noted.hints.push(Hint { kind, values: numbers, span: Span::new(start, self.at) });
        }
        Ok(())
    }
}
