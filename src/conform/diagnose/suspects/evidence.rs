//! Points from further runs: what an operand that is misread, a store at wrong places, or a wrong value points at.

use super::{Ranking, Score, indices};
use crate::conform::counterfactual::{Evidence, OperandEvidence};
use crate::conform::diagnose::flow::{Line, Sink};
use crate::conform::diagnose::roles::{Role, assigned, compares, has_constant, is_initial, mentions, roles};
use crate::conform::diagnose::suspects::Clue;
use crate::syntax::ast::StmtKind;
use crate::syntax::walk::own_exprs;

impl Ranking<'_, '_> {
    pub(super) fn by_evidence(&self, line: &Line, evidence: &Evidence, score: &mut Score) {
        if evidence.by_values() {
            self.wrong_on_some_values(line, score);
            // Small constants are lost beside large values.
            if !evidence.right_when_zero {
                self.wrong_on_nothing(line, score);
            }
            return;
        }
        let misread: Vec<_> = evidence.operands.iter().filter(|o| evidence.is_misread(o)).collect();
        if !misread.is_empty() {
            for operand in misread {
                self.read_at_wrong_places(line, operand, score);
            }
        } else if evidence.displaced {
            self.written_at_wrong_places(line, score);
        } else if evidence.right_when_constant {
            self.wrong_on_some_values(line, score);
        } else if !evidence.right_when_zero {
            self.wrong_on_nothing(line, score);
        } else {
            self.wrong_on_constants(line, evidence, score);
        }
    }

    fn read_at_wrong_places(&self, line: &Line, operand: &OperandEvidence, score: &mut Score) {
        let name = operand.name.as_str();
        let mut nearest: Option<usize> = None;
        let mut foreign = false;
        for (sink, &steps) in &line.reaches {
            let Sink::Address(access) = *sink else { continue };
            match self.operand(access) {
                Some(found) if found == name && !self.is_store(access) => nearest = Some(nearest.map_or(steps, |n| n.min(steps))),
                Some(found) => {
                    let misread = |e: &Evidence| e.operand(found).is_some_and(|o| e.is_misread(o));
                    foreign |= !self.seen.evidence.is_some_and(misread)
                }
                None => {}
            }
        }
        let Some(steps) = nearest else { return };
        if steps == 0 {
            score.add(4.0, format!("loads {name}, which is read at wrong places"));
            return;
        }
        let mut points = 3.0 / (1.0 + 0.4 * (steps as f64 - 1.0));
        if foreign {
            points -= 1.4;
        }
        let why = format!("flows into the address of {name} alone");
        if points > 0.0 {
            score.add(points, if foreign { format!("flows into the address of {name}") } else { why });
        }
        if !operand.right_along.is_empty() && self.in_terms(line, operand) {
            score.add(2.5, format!("makes the index of {name} along axis {}", join(&operand.right_along)));
        }
    }

    /// Whether the line defines a name in the address term of a suspect axis.
    fn in_terms(&self, line: &Line, operand: &OperandEvidence) -> bool {
        let Some(target) = assigned(line.stmt) else { return false };
        indices(self.flow, &operand.name, operand.rank, &operand.right_along).contains(target)
    }

    fn written_at_wrong_places(&self, line: &Line, score: &mut Score) {
        let (mut stored, mut loaded) = (None, false);
        for (sink, &steps) in &line.reaches {
            if let Sink::Address(access) = *sink {
                if self.is_store(access) {
                    stored = Some(steps);
                } else {
                    loaded = true;
                }
            }
        }
        match stored {
            Some(0) => score.add(4.0, "stores, and the elements lie at wrong places".to_owned()),
            Some(steps) => {
                let points = 3.0 / (1.0 + 0.4 * (steps as f64 - 1.0)) - if loaded { 0.8 } else { 0.0 };
                score.add(points.max(0.1), "flows into the address of the store".to_owned());
            }
            None => {}
        }
    }

    fn wrong_on_some_values(&self, line: &Line, score: &mut Score) {
        let roles = roles(line);
        let Some(steps) = line.reaches.iter().filter(|(sink, _)| matches!(sink, Sink::Value(_))).map(|(_, &steps)| steps).min()
        else {
            return;
        };
        let near = 1.0 + 0.1 * steps as f64;
        let accesses = roles.contains(&Role::Load) || roles.contains(&Role::Store);
        let chosen = self.seen.evidence.is_some_and(|e| e.operands.iter().any(|o| o.wrong_on.is_some()));
        if !chosen {
            // Wrong on whatever elements there are: any step of the value, the last ones first.
            let computes = [Role::Choice, Role::Scales, Role::Singular, Role::Accumulate, Role::Value];
            if let Some(role) = computes.into_iter().find(|role| roles.contains(role)).filter(|_| !accesses) {
                score.add(4.0 / near, role.what().to_owned());
            }
            return;
        }
        if roles.contains(&Role::Choice) {
            score.add(5.0 / near, Role::Choice.what().to_owned());
        } else if !accesses && own_exprs(line.stmt).iter().any(|e| compares(e)) {
            score.add(4.0 / near, "compares values".to_owned());
        } else if own_exprs(line.stmt).iter().any(|e| has_constant(e)) {
            score.add(3.0 / near, "gives the value a constant".to_owned());
        } else if roles.contains(&Role::Value) {
            score.add(2.0 / near, "flows into the value".to_owned());
        }
    }

    fn wrong_on_nothing(&self, line: &Line, score: &mut Score) {
        let constant = own_exprs(line.stmt).iter().any(|e| has_constant(e));
        for (sink, &steps) in &line.reaches {
            match sink {
                Sink::Value(_) if constant => {
                    let first = matches!(line.stmt.kind, StmtKind::Assign { .. }) && is_initial(line.stmt);
                    score.add(
                        if first { 3.5 } else { 2.5 } / (1.0 + 0.05 * steps as f64),
                        "gives the value a constant".to_owned(),
                    );
                }
                Sink::Value(_) => score.add(1.0 / (1.0 + 0.1 * steps as f64), "flows into the value".to_owned()),
                Sink::Other(_) if steps == 0 => score.add(2.0, "says what stands in masked lanes".to_owned()),
                Sink::Address(_) | Sink::Mask(_) | Sink::Other(_) => {}
            }
        }
    }

    fn wrong_on_constants(&self, line: &Line, evidence: &Evidence, score: &mut Score) {
        // An operand that alone makes the output right by being 0 (or 1) is added (or multiplied), wrongly.
        let neutral = |f: &dyn Fn(&OperandEvidence) -> bool| {
            let alone: Vec<&str> = evidence.operands.iter().filter(|o| f(o)).map(|o| o.name.as_str()).collect();
            if alone.len() < evidence.operands.len() || evidence.operands.len() == 1 { alone } else { Vec::new() }
        };
        let (added, multiplied) = (neutral(&|o| o.right_when_zero), neutral(&|o| o.right_when_one));
        for operand in added.iter().chain(&multiplied) {
            let alone = if added.len() + multiplied.len() == 1 { 2.0 } else { 0.5 };
            let loads = (0..self.flow.accesses.len()).filter(|&a| !self.is_store(a) && self.operand(a) == Some(*operand));
            for access in loads {
                let holder = &self.flow.lines[self.flow.accesses[access].line];
                if std::ptr::eq(holder, line) {
                    score.add(1.5 + alone, format!("loads {operand}, without which the output is right"));
                } else if let Some(name) = assigned(holder.stmt)
                    && own_exprs(line.stmt).iter().any(|e| mentions(e, |n| n == name))
                {
                    score.add(2.0 + alone, format!("uses {operand}, without which the output is right"));
                }
            }
        }
        let roles = roles(line);
        if roles.contains(&Role::Loop) && !line.calls_helper {
            score.add(2.2, "runs the reduction".to_owned());
        }
        if roles.contains(&Role::Accumulate) {
            score.add(2.0, "accumulates".to_owned());
        }
        for (sink, &steps) in &line.reaches {
            match sink {
                Sink::Mask(access) if steps == 0 && !self.is_store(*access) => {
                    let border = if self.seen.clue == Clue::Mask { 0.8 } else { 0.0 };
                    score.add(1.8 + border, "makes a mask".to_owned());
                }
                Sink::Value(_) if line.depth == 0 && !roles.contains(&Role::Accumulate) => {
                    score.add(2.3 / (1.0 + 0.1 * steps as f64), "flows into the value".to_owned());
                }
                Sink::Mask(_) | Sink::Address(_) | Sink::Other(_) | Sink::Value(_) => {}
            }
        }
    }
}

fn join(axes: &[usize]) -> String {
    axes.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ")
}
