//! Streams laid out flat: one tape with jumps.

use super::*;

type Exit = (Option<Slot>, Vec<(usize, Vec<Handover>)>);

/// Streams laid out flat.
pub(super) struct Layout {
    place: Placer,
    code: Vec<Instruction>,
    /// Reads of each cell, by stream.
    readers: HashMap<Slot, Vec<StreamId>>,
    carried: HashMap<Slot, StreamId>,
    tables: Vec<usize>,
    /// Calls of combine functions by stream, to be resolved to places.
    combines: HashMap<usize, usize>,
}

impl Layout {
    pub(super) fn new(place: Placer, carried: HashMap<Slot, StreamId>) -> Layout {
        let mut readers: HashMap<Slot, Vec<StreamId>> = HashMap::new();
        for (index, stream) in place.streams.iter().enumerate() {
            let here = StreamId(index);
            let mut read_in = |stream: StreamId, slots: &mut dyn Iterator<Item = Slot>| {
                slots.for_each(|s| readers.entry(s).or_default().push(stream));
            };
            for item in &stream.items {
                match item {
                    Item::Plain(instruction) => {
                        read_in(here, &mut reads(&instruction.code).into_iter());
                        if let Some(combine) = instruction.code.combine() {
                            read_in(here, &mut combine.yields.iter().copied());
                        }
                    }
                    Item::For { variable, lower, upper, step, body, init, next, .. } => {
                        read_in(here, &mut [*lower, *upper, *step].into_iter());
                        read_in(here, &mut init.iter().map(|h| h.from));
                        // At its end each turn asks for the variable once more.
                        read_in(*body, &mut next.iter().map(|h| h.from).chain([*variable]));
                    }
                    Item::If { condition, then, otherwise, then_results, other_results, .. } => {
                        read_in(here, &mut std::iter::once(*condition));
                        read_in(*then, &mut then_results.iter().map(|h| h.from));
                        read_in(*otherwise, &mut other_results.iter().map(|h| h.from));
                    }
                    Item::While { init, before, condition, forward, after, next, .. } => {
                        read_in(here, &mut init.iter().map(|h| h.from));
                        read_in(*before, &mut forward.iter().map(|h| h.from).chain([*condition]));
                        read_in(*after, &mut next.iter().map(|h| h.from));
                    }
                }
            }
        }
        Layout { place, code: Vec::new(), readers, carried, tables: Vec::new(), combines: HashMap::new() }
    }

    pub(super) fn flatten(mut self, blocks: &[StreamId], exits: Vec<Exit>) -> Tape {
        let launch_entry = 0;
        self.stream(LAUNCH);
        self.emit(Code::Return, Slot::NONE, Span::default());
        for table in 0..self.place.tables.len() {
            self.tables.push(self.code.len());
            let stream = self.place.table_stream(table);
            self.stream(stream);
            self.emit(Code::Return, Slot::NONE, Span::default());
        }
        let entry = self.code.len();
        let mut starts = Vec::new();
        let mut patches = Vec::new();
        for (&stream, (condition, targets)) in blocks.iter().zip(exits) {
            starts.push(self.code.len());
            self.stream(stream);
            let mut targets = targets.into_iter();
            if let Some(condition) = condition {
                let branch = self.emit(Code::BranchUnless(condition, 0), Slot::NONE, Span::default());
                if let Some((to, moves)) = targets.next() {
                    self.moves(&moves, stream);
                    patches.push((self.emit(Code::Jump(0), Slot::NONE, Span::default()), to));
                }
                self.patch(branch, self.code.len());
            }
            match targets.next() {
                Some((to, moves)) => {
                    self.moves(&moves, stream);
                    patches.push((self.emit(Code::Jump(0), Slot::NONE, Span::default()), to));
                }
                None => {
                    self.emit(Code::Return, Slot::NONE, Span::default());
                }
            }
        }
        for (at, to) in patches {
            self.patch(at, starts[to]);
        }
        // Combine functions.
        let streams: Vec<usize> = self.combines.keys().copied().collect();
        for stream in streams {
            let start = self.code.len();
            self.stream(StreamId(stream));
            self.emit(Code::Return, Slot::NONE, Span::default());
            self.combines.insert(stream, start);
        }
        for instruction in &mut self.code {
            if let Some(combine) = instruction.code.combine_mut() {
                combine.start = self.combines[&combine.start];
            }
        }
        Tape {
            code: self.code,
            entry,
            launch_entry,
            locals: self.place.locals,
            launch_cells: self.place.launch_cells,
            tables: self.place.tables,
            lazy: self.place.lazy,
            names: Vec::new(),
        }
    }

    fn emit(&mut self, code: Code, out: Slot, span: Span) -> usize {
        self.code.push(Instruction { code, out, span });
        self.code.len() - 1
    }

    fn patch(&mut self, at: usize, to: usize) {
        match &mut self.code[at].code {
            Code::Jump(target) | Code::BranchUnless(_, target) | Code::LoopTest { exit: target, .. } => *target = to,
            other => unreachable!("invariant: only jumps are patched, not {other:?}"),
        }
    }

    /// Whether this read of a cell is the last before the cell is written again.
    fn is_last_read(&self, slot: Slot, stream: StreamId) -> bool {
        if !matches!(slot.space(), super::super::Space::Local(_)) {
            return false;
        }
        let readers = self.readers.get(&slot).map_or(&[][..], Vec::as_slice);
        match self.carried.get(&slot) {
            Some(&body) if body == stream => readers.iter().filter(|&&r| self.place.within(r, body)).count() == 1,
            Some(_) => false,
            None => readers.len() == 1 && self.place.home(slot) == stream,
        }
    }

    /// Moves that happen at once: a source that an earlier move overwrites is saved first.
    fn moves(&mut self, moves: &[Handover], stream: StreamId) {
        let mut from: Vec<Slot> = moves.iter().map(|m| m.from).collect();
        for i in 0..moves.len() {
            if moves[..i].iter().any(|earlier| earlier.to == from[i]) {
                let saved = self.place.local(stream, false);
                self.emit(Code::Move(from[i], false), saved, Span::default());
                from[i] = saved;
            }
        }
        for (m, &from) in moves.iter().zip(&from) {
            if m.to != from {
                let take = from == m.from && self.is_last_read(from, stream);
                self.emit(Code::Move(from, take), m.to, Span::default());
            }
        }
    }

    /// Lets an instruction of a loop's body, which starts at that place, write a carried cell itself, where nothing
    /// reads the cell's old value after it. The handovers that are left.
    fn written_at_once(&mut self, start: usize, next: Vec<Handover>, body: StreamId) -> Vec<Handover> {
        let mut left = next.clone();
        left.retain(|&Handover { to, from }| {
            let Some(at) = self.code[start..].iter().rposition(|i| i.out == from).map(|at| start + at) else { return true };
            let takes = matches!(&self.code[at].code, Code::Dot(dot) if dot.acc == to && dot.take_acc);
            let read_later = self.code[at + 1..].iter().any(|i| reads(&i.code).contains(&to) || reads(&i.code).contains(&from));
            let handed_on = next.iter().any(|other| other.from == to);
            if !takes || read_later || handed_on || !self.is_last_read(from, body) {
                return true;
            }
            self.code[at].out = to;
            false
        });
        left
    }

    fn stream(&mut self, stream: StreamId) {
        let items = std::mem::take(&mut self.place.streams[stream.0].items);
        for item in items {
            match item {
                Item::Plain(mut instruction) => {
                    if let Code::Dot(dot) = &mut instruction.code {
                        dot.take_acc = self.is_last_read(dot.acc, stream);
                    }
                    if let Some(combine) = instruction.code.combine() {
                        self.combines.insert(combine.start, 0);
                    }
                    self.code.push(instruction);
                }
                Item::For { counter, variable, lower, upper, step, table, body, init, next, span } => {
                    self.moves(&init, stream);
                    self.emit(Code::LoopStart { variable, lower }, counter, span);
                    let test = self.emit(Code::LoopTest { variable, upper, step, exit: 0 }, Slot::NONE, span);
                    if let Some(table) = table {
                        let start = self.tables[table];
                        self.emit(Code::TableRow { table, counter, variable, start }, Slot::NONE, span);
                    }
                    let start = self.code.len();
                    self.stream(body);
                    let next = self.written_at_once(start, next, body);
                    self.moves(&next, body);
                    self.emit(Code::LoopNext { variable, step, test }, counter, span);
                    self.patch(test, self.code.len());
                }
                Item::If { condition, then, otherwise, then_results, other_results, span } => {
                    let branch = self.emit(Code::BranchUnless(condition, 0), Slot::NONE, span);
                    self.stream(then);
                    self.moves(&then_results, then);
                    let jump = self.emit(Code::Jump(0), Slot::NONE, span);
                    self.patch(branch, self.code.len());
                    self.stream(otherwise);
                    self.moves(&other_results, otherwise);
                    self.patch(jump, self.code.len());
                }
                Item::While { init, before, condition, forward, after, next, patience, span } => {
                    self.moves(&init, stream);
                    let top = self.code.len();
                    self.stream(before);
                    self.moves(&forward, before);
                    let branch = self.emit(Code::BranchUnless(condition, 0), Slot::NONE, span);
                    self.stream(after);
                    self.moves(&next, after);
                    if let Some(patience) = patience {
                        self.emit(Code::Yield(patience), Slot::NONE, span);
                    }
                    self.emit(Code::Jump(top), Slot::NONE, span);
                    self.patch(branch, self.code.len());
                }
            }
        }
    }
}
