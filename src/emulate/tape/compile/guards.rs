//! Guards of a loop's body as one instruction: what they ask of seldom changes, and then they need not be asked one by
//! one.

use super::*;

impl Builder<'_> {
    /// Joins those at the beginning of the body that rest on the launch, the program and the row of the loop's table
    /// alone. Cells that the loop carries belong to its body until it has been lowered, and are none of these.
    pub(super) fn join_guards(&mut self, body: StreamId, table: usize) {
        let known = |slot: &Slot| match self.place.streams[self.place.home(*slot).0].kind {
            StreamKind::Launch | StreamKind::Program => true,
            StreamKind::Table(of) => of == table,
            StreamKind::Loop(_) | StreamKind::Guarded => false,
        };
        let guard = |item: &Item| match item {
            Item::Plain(Instruction { code: code @ Code::Guard(sum, elem), span, .. }) => {
                Some((reads(code).iter().all(known), (sum.clone(), *elem), *span))
            }
            _ => None,
        };
        let leading: Vec<_> = self.place.streams[body.0].items.iter().map_while(guard).collect();
        let joined = leading.iter().filter(|(known, ..)| *known);
        let sums: Vec<(Sum, Elem)> = joined.map(|(_, sum, _)| sum.clone()).collect();
        if sums.len() < 2 {
            return;
        }
        let code = Code::Guards(Box::new(Guards { sums, table, number: self.guards }));
        self.guards += 1;
        let first = Item::Plain(Instruction { code, out: Slot::NONE, span: leading[0].2 });
        let mut known = leading.iter().map(|(known, ..)| *known);
        let items = &mut self.place.streams[body.0].items;
        items.retain(|_| !known.next().unwrap_or(false));
        items.insert(0, first);
    }
}
