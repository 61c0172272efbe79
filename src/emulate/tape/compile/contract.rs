//! `tt.dot` and `tt.reduce`: what they read, and the combine function as code of its own.

use super::*;

impl Builder<'_> {
    fn dot_operand(&mut self, value: Value) -> DotOperand {
        match self.form(value) {
            Form::Load(load, at) => DotOperand::Load(load, at),
            Form::Cell(_) | Form::Sum(_) | Form::Mask(_) => DotOperand::Cell(self.cell(value)),
        }
    }

    pub(super) fn dot(&mut self, [a, b, acc]: [Value; 3], precision: DotPrecision, span: Span) -> diag::Result<Form> {
        let kernel = self.kernel;
        let elem = |v: Value| kernel.ty(v).elem;
        let (sa, sb) = (&kernel.ty(a).shape, &kernel.ty(b).shape);
        if sa.len() != 2 || sb.len() != 2 {
            return Err(self.unsupported(format!("a dot of blocks of {} axes", sa.len()), span));
        }
        if !matches!(elem(acc), Elem::F32 | Elem::F64 | Elem::F16 | Elem::I32) {
            return Err(self.unsupported(format!("a dot that accumulates in {}", elem(acc)), span));
        }
        let dot = Dot {
            a: self.dot_operand(a),
            b: self.dot_operand(b),
            acc: self.cell(acc),
            take_acc: false,
            m: sa[0],
            n: sb[1],
            k: sa[1],
            precision,
            elem: elem(a),
            acc_elem: elem(acc),
        };
        Ok(Form::Cell(self.place.here(Code::Dot(Box::new(dot)), false, span)))
    }

    pub(super) fn reduce(&mut self, inst: &Inst, operands: &[Value], axis: usize, combine: &Region) -> diag::Result<()> {
        let kernel = self.kernel;
        let slots: Vec<Slot> = operands.iter().map(|&v| self.cell(v)).collect();
        let elems: Vec<Elem> = operands.iter().map(|&v| kernel.ty(v).elem).collect();
        let known = match known(combine) {
            Some(Known::Float(op)) => Some(op),
            Some(Known::Int(_)) | None => None,
        };
        let combine = self.combine(combine, "reduce", inst.span)?;
        let results = self.results(inst);
        let reduce =
            Reduce { operands: slots, results, elems, axis, shape: kernel.ty(operands[0]).shape.clone(), known, combine };
        self.place.here(Code::Reduce(Box::new(reduce)), true, inst.span);
        Ok(())
    }

    pub(super) fn scan(
        &mut self,
        inst: &Inst,
        operands: &[Value],
        axis: usize,
        reverse: bool,
        combine: &Region,
    ) -> diag::Result<()> {
        let kernel = self.kernel;
        let slots: Vec<Slot> = operands.iter().map(|&v| self.cell(v)).collect();
        let elems: Vec<Elem> = operands.iter().map(|&v| kernel.ty(v).elem).collect();
        let known = known(combine);
        let combine = self.combine(combine, "scan", inst.span)?;
        let results = self.results(inst);
        let shape = kernel.ty(operands[0]).shape.clone();
        let scan = Scan { operands: slots, results, elems, axis, reverse, shape, known, combine };
        self.place.here(Code::Scan(Box::new(scan)), true, inst.span);
        Ok(())
    }

    /// New cells for the results of an instruction.
    pub(super) fn results(&mut self, inst: &Inst) -> Vec<Slot> {
        let (kernel, outer) = (self.kernel, self.place.current);
        let mut slots = Vec::with_capacity(inst.results.len());
        for &result in &inst.results {
            let slot = self.place.local(outer, kernel.ty(result).is_scalar());
            self.forms.insert(result, Form::Cell(slot));
            slots.push(slot);
        }
        slots
    }

    /// A combine function as a stream of its own, which runs on lanes of many pairs at once.
    fn combine(&mut self, combine: &Region, of: &str, span: Span) -> diag::Result<Combine> {
        if combine.insts.iter().any(|i| !walk::regions(&i.kind).is_empty() || walk::touches_memory(&i.kind)) {
            return Err(self.unsupported(format!("control flow or memory in the combine function of a {of}"), span));
        }
        let stream = self.place.open(StreamKind::Guarded, self.place.current);
        let outer = std::mem::replace(&mut self.place.current, stream);
        let mut args = Vec::with_capacity(combine.args.len());
        for &arg in &combine.args {
            let slot = self.place.local(stream, false);
            self.forms.insert(arg, Form::Cell(slot));
            args.push(slot);
        }
        let lazy = std::mem::replace(&mut self.place.lazy, false);
        self.insts(&combine.insts)?;
        let yields = combine.yields.iter().map(|&v| self.cell(v)).collect();
        self.place.lazy = lazy;
        self.place.current = outer;
        self.combines.push(stream);
        Ok(Combine { start: stream.0, args, yields })
    }
}

/// A combine function that is one operation of its two arguments.
fn known(combine: &Region) -> Option<Known> {
    let ([x, y], [inst], [result]) = (combine.args.as_slice(), combine.insts.as_slice(), combine.yields.as_slice()) else {
        return None;
    };
    let (known, a, b) = if let InstKind::Float(op, a, b) = &inst.kind {
        (Known::Float(*op), a, b)
    } else if let InstKind::Int(op, a, b) = &inst.kind {
        (Known::Int(*op), a, b)
    } else {
        return None;
    };
    ((a, b) == (x, y) && inst.results.as_slice() == [*result]).then_some(known)
}
