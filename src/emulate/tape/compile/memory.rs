//! Loads and stores: as tiles where the address splits along axes, lane by lane otherwise.

use super::*;

impl Builder<'_> {
    fn tile(&mut self, ptr: Value, mask: Option<Value>) -> Option<Tile> {
        let shape = self.kernel.ty(ptr).shape.clone();
        // Through a pointer of another type, lane by lane.
        if shape.is_empty() || flat::is_flat(&shape) || self.uses.may_be_cast(ptr) {
            return None;
        }
        let address = self.as_sum(ptr)?;
        let mask = mask.map(|m| self.as_mask(m)).unwrap_or_default();
        let lasting = (0..shape.len()).map(|axis| self.lasting(axis, &address, &mask)).collect();
        self.tiles += 1;
        Some(Tile { shape, address, mask, lasting, number: self.tiles - 1 })
    }

    /// How long what these are along an axis lasts.
    fn lasting(&self, axis: usize, address: &Sum, mask: &[Conjunct]) -> Lasting {
        let of_mask = mask.iter().filter_map(|conjunct| match conjunct {
            Conjunct::Axis(along, slot) => (*along == axis).then_some(*slot),
            Conjunct::Band { sum, lo: _, hi: _ } => sum.terms[axis],
            Conjunct::Scalar(_) | Conjunct::Block(_) => None,
        });
        let mut lasting = None;
        for slot in of_mask.chain(address.terms[axis]) {
            let of_slot = match self.place.streams[self.place.home(slot).0].kind {
                StreamKind::Launch => continue,
                StreamKind::Program => Lasting::Program,
                StreamKind::Table(table) => Lasting::Row(table),
                StreamKind::Loop(_) | StreamKind::Guarded => Lasting::Instruction,
            };
            if *lasting.get_or_insert(of_slot) != of_slot {
                return Lasting::Instruction;
            }
        }
        lasting.unwrap_or(Lasting::Program)
    }

    pub(super) fn load(&mut self, ptr: Value, mask: Option<Value>, other: Option<Value>, result: Value, span: Span) -> Form {
        let ty = self.kernel.ty(result).clone();
        let Some(tile) = self.tile(ptr, mask) else {
            let (p, m, o) = (self.cell(ptr), mask.map(|m| self.cell(m)), other.map(|o| self.cell(o)));
            let shape = flat::held(&ty.shape);
            return Form::Cell(self.place.here(Code::LoadLanes(p, m, o, ty.elem, shape), ty.is_scalar(), span));
        };
        let other_slot = other.map(|o| self.cell(o));
        let uniform = other_slot.is_none_or(|s| self.place.is_scalar(s));
        let load = Box::new(LoadTile { tile, other: other_slot.filter(|_| uniform), elem: ty.elem });
        if uniform && self.deferred.contains(&result) {
            return Form::Load(load, span.start);
        }
        let loaded = self.place.here(Code::LoadTile(load), false, span);
        match (mask, other_slot) {
            (Some(mask), Some(other)) if !uniform => {
                let mask = self.cell(mask);
                Form::Cell(self.place.pure(Code::Select(ty.elem, mask, loaded, other), false, span))
            }
            _ => Form::Cell(loaded),
        }
    }

    /// Operands: pointer, expected value, value, mask, other.
    pub(super) fn atomic(
        &mut self,
        kind: AtomicKind,
        order: MemoryOrder,
        operands: [Option<Value>; 5],
        result: Value,
        span: Span,
    ) -> Form {
        let [ptr, expected, value, mask, other] = operands.map(|operand| operand.map(|v| self.cell(v)));
        let ptr = ptr.expect("invariant: an access has a pointer");
        let ty = self.kernel.ty(result).clone();
        let scalar = ty.is_scalar();
        let atomic = Atomic {
            kind,
            ptr,
            expected,
            value,
            mask,
            other,
            elem: ty.elem,
            shape: ty.shape,
            order,
            looked_at: self.used.contains(&result),
        };
        Form::Cell(self.place.here(Code::Atomic(Box::new(atomic)), scalar, span))
    }

    pub(super) fn store(&mut self, ptr: Value, value: Value, mask: Option<Value>, span: Span) {
        let elem = self.kernel.ty(value).elem;
        let value = self.cell(value);
        let code = match self.tile(ptr, mask) {
            Some(tile) => Code::StoreTile(Box::new(tile), value, elem),
            None => {
                let (p, m) = (self.cell(ptr), mask.map(|m| self.cell(m)));
                Code::StoreLanes(p, value, m, elem, flat::held(&self.kernel.ty(ptr).shape))
            }
        };
        self.place.here(code, true, span);
    }
}
