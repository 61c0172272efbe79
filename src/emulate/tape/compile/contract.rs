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
        if combine.insts.iter().any(|i| !walk::regions(&i.kind).is_empty() || walk::touches_memory(&i.kind)) {
            return Err(self.unsupported("control flow or memory in the combine function of a reduce".to_owned(), inst.span));
        }
        let slots: Vec<Slot> = operands.iter().map(|&v| self.cell(v)).collect();
        let elems: Vec<Elem> = operands.iter().map(|&v| kernel.ty(v).elem).collect();
        let stream = self.place.open(StreamKind::Guarded, self.place.current);
        let outer = std::mem::replace(&mut self.place.current, stream);
        let args: Vec<Slot> = combine
            .args
            .iter()
            .map(|&arg| {
                // Holds lanes of many pairs at once.
                let slot = self.place.local(stream, false);
                self.forms.insert(arg, Form::Cell(slot));
                slot
            })
            .collect();
        let lazy = std::mem::replace(&mut self.place.lazy, false);
        self.insts(&combine.insts)?;
        let yields = combine.yields.iter().map(|&v| self.cell(v)).collect();
        self.place.lazy = lazy;
        self.place.current = outer;
        let known = combiner(combine);
        let results: Vec<Slot> = inst
            .results
            .iter()
            .map(|&r| {
                let slot = self.place.local(outer, kernel.ty(r).is_scalar());
                self.forms.insert(r, Form::Cell(slot));
                slot
            })
            .collect();
        self.combines.push(stream);
        let reduce = Reduce {
            operands: slots,
            results,
            elems,
            axis,
            shape: kernel.ty(operands[0]).shape.clone(),
            known,
            start: stream.0,
            args,
            yields,
        };
        self.place.here(Code::Reduce(Box::new(reduce)), true, inst.span);
        Ok(())
    }
}

/// A combine function that is one float operation of its two arguments.
fn combiner(combine: &Region) -> Option<FloatBinary> {
    let ([x, y], [inst], [result]) = (combine.args.as_slice(), combine.insts.as_slice(), combine.yields.as_slice()) else {
        return None;
    };
    let InstKind::Float(op, a, b) = &inst.kind else { return None };
    ((a, b) == (x, y) && inst.results.as_slice() == [*result]).then_some(*op)
}
