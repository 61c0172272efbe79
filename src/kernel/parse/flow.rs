//! Blocks of a function and how they follow one another.

use std::collections::HashMap;

use super::{Parser, word};
use crate::diag::Result;
use crate::kernel::ir::{Block, BlockId, Terminator, Value};

impl<'t> Parser<'t> {
    pub(super) fn block_id(&mut self, label: &str) -> BlockId {
        let next = BlockId(self.blocks.len() as u32);
        *self.blocks.entry(label.to_owned()).or_insert(next)
    }

    /// `^name`, with the name.
    pub(super) fn label(&mut self) -> Result<&'t str> {
        self.expect("^")?;
        Ok(self.word())
    }

    /// The labels of the blocks that are reached from the entry, in order of the text, and where the others
    /// end, by where they begin.
    pub(super) fn reached(&self) -> (Vec<String>, HashMap<usize, usize>) {
        let end = self.at + self.function_length();
        // Labels inside regions (`^bb0(…)` of reduce and while) stand where they are parsed.
        let mut starts: Vec<(&'t str, usize)> = vec![("", self.at)];
        for (found, _) in self.text[self.at..end].match_indices('^') {
            let at = self.at + found;
            let line_start = self.text[..at].rfind('\n').map_or(0, |i| i + 1);
            let label = word(&self.text[at + 1..end]);
            if self.text[line_start..at].trim().is_empty() && label != "bb0" {
                starts.push((label, at));
            }
        }
        let ends: Vec<usize> = starts.iter().skip(1).map(|&(_, at)| at).chain([end]).collect();
        let mut reached = vec![false; starts.len()];
        let mut open = vec![0];
        while let Some(block) = open.pop() {
            if std::mem::replace(&mut reached[block], true) {
                continue;
            }
            let branches = self.text[starts[block].1..ends[block]].lines().filter_map(|line| Some(&line[line.find("cf.")?..]));
            let targets = branches.flat_map(|branch| branch.match_indices('^').map(|(at, _)| word(&branch[at + 1..])));
            open.extend(targets.filter_map(|target| starts.iter().position(|&(label, _)| label == target)));
        }
        let labels = starts.iter().zip(&reached).filter(|(_, reached)| **reached).map(|(&(label, _), _)| label.to_owned());
        let left_out = starts.iter().zip(ends).zip(&reached).filter(|(_, reached)| !**reached);
        (labels.collect(), left_out.map(|((&(_, start), end), _)| (start, end)).collect())
    }

    pub(super) fn top_blocks(&mut self) -> Result<Vec<Block>> {
        // Labels are numbered as they appear as definitions, so that the entry comes first and
        // the others keep their order.
        let (labels, left_out) = self.reached();
        self.blocks = labels.iter().enumerate().map(|(i, label)| (label.clone(), BlockId(i as u32))).collect();

        let mut blocks = Vec::new();
        loop {
            let mut args = Vec::new();
            self.skip();
            while let Some(&end) = left_out.get(&self.at) {
                self.at = end;
                self.skip();
            }
            if self.peek("^") {
                let label = self.label()?;
                if self.block_id(label).0 as usize != blocks.len() {
                    return self.error(format!("block `^{label}` is defined twice or out of order"));
                }
                if self.eat("(") {
                    args = self.typed_list(")")?;
                }
                self.expect(":")?;
            } else if !blocks.is_empty() {
                break;
            }
            let mut insts = Vec::new();
            let terminator = loop {
                if let Some(terminator) = self.terminator()? {
                    break terminator;
                }
                self.inst(&mut insts)?;
            };
            blocks.push(Block { args, insts, terminator });
        }
        self.expect("}")?;
        Ok(blocks)
    }

    pub(super) fn terminator(&mut self) -> Result<Option<Terminator>> {
        let terminator = if self.eat("tt.return") {
            Terminator::Return
        } else if self.eat("cf.br") {
            let (to, args) = self.target()?;
            Terminator::Branch { to, args }
        } else if self.eat("cf.cond_br") {
            let condition = self.operand()?;
            self.expect(",")?;
            let then = self.target()?;
            self.expect(",")?;
            let otherwise = self.target()?;
            Terminator::CondBranch { condition, then, otherwise }
        } else {
            return Ok(None);
        };
        self.skip_location()?;
        Ok(Some(terminator))
    }

    pub(super) fn target(&mut self) -> Result<(BlockId, Vec<Value>)> {
        let label = self.label()?;
        let Some(&to) = self.blocks.get(label) else { return self.error(format!("no block `^{label}`")) };
        let mut args = Vec::new();
        if self.eat("(") {
            args = self.operands()?;
            self.expect(":")?;
            self.types()?;
            self.expect(")")?;
        }
        Ok((to, args))
    }
}
