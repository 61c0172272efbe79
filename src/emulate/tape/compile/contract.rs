//! `tt.dot` and `tt.reduce`: what they read, and the combine function as code of its own.

use super::flat::Lines;
use super::*;
use crate::emulate::tape::whole::{Whole, WholeOp};

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
        if sa.len() == 3 {
            return self.batched_dot([a, b, acc], precision, span);
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

    /// A dot of blocks of three axes: one of every pair of planes.
    fn batched_dot(&mut self, operands: [Value; 3], precision: DotPrecision, span: Span) -> diag::Result<Form> {
        let kernel = self.kernel;
        let [a, b, acc] = operands;
        let (sa, sb) = (&kernel.ty(a).shape, &kernel.ty(b).shape);
        let elem = |v: Value| kernel.ty(v).elem;
        if !matches!(elem(acc), Elem::F32 | Elem::F64 | Elem::F16 | Elem::I32) {
            return Err(self.unsupported(format!("a dot that accumulates in {}", elem(acc)), span));
        }
        let slots = operands.map(|v| self.cell(v));
        let mut planes = Vec::with_capacity(sa[0]);
        for i in 0..sa[0] {
            let [a_plane, b_plane, acc_plane] = [0, 1, 2].map(|which| {
                let ty = kernel.ty(operands[which]);
                let whole = Whole {
                    op: WholeOp::Plane(i),
                    operands: vec![slots[which]],
                    elems: vec![ty.elem],
                    shapes: vec![ty.shape.clone()],
                    result: ty.elem,
                    result_shape: SmallVec::from_slice(&ty.shape[1..]),
                };
                self.place.pure(Code::Whole(Box::new(whole)), false, span)
            });
            let dot = Dot {
                a: DotOperand::Cell(a_plane),
                b: DotOperand::Cell(b_plane),
                acc: acc_plane,
                take_acc: false,
                m: sa[1],
                n: sb[2],
                k: sa[2],
                precision,
                elem: elem(a),
                acc_elem: elem(acc),
            };
            planes.push(self.place.here(Code::Dot(Box::new(dot)), false, span));
        }
        let ty = kernel.ty(acc);
        let stack = Whole {
            op: WholeOp::Stack,
            elems: vec![ty.elem; planes.len()],
            shapes: vec![SmallVec::from_slice(&ty.shape[1..]); planes.len()],
            operands: planes,
            result: ty.elem,
            result_shape: ty.shape.clone(),
        };
        Ok(Form::Cell(self.place.pure(Code::Whole(Box::new(stack)), false, span)))
    }

    fn lines(&mut self, operands: &[Value]) -> Lines {
        let kernel = self.kernel;
        Lines {
            slots: operands.iter().map(|&v| self.cell(v)).collect(),
            elems: operands.iter().map(|&v| kernel.ty(v).elem).collect(),
            shape: kernel.ty(operands[0]).shape.clone(),
        }
    }

    pub(super) fn reduce(&mut self, inst: &Inst, operands: &[Value], axis: usize, combine: &Region) -> diag::Result<()> {
        let (lines, results) = (self.lines(operands), self.results(inst));
        self.reduce_lines(lines, axis, combine, results, inst.span)
    }

    pub(super) fn reduce_lines(
        &mut self,
        lines: Lines,
        axis: usize,
        combine: &Region,
        results: Vec<Slot>,
        span: Span,
    ) -> diag::Result<()> {
        let known = match known(combine) {
            Some(Known::Float(op)) => Some(op),
            Some(Known::Int(_)) | None => None,
        };
        let combine = self.combine(combine, "reduce", span)?;
        let Lines { slots: operands, elems, shape } = lines;
        let reduce = Reduce { operands, results, elems, axis, shape, known, combine };
        self.place.here(Code::Reduce(Box::new(reduce)), true, span);
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
        let (lines, results) = (self.lines(operands), self.results(inst));
        self.scan_lines(lines, axis, reverse, combine, results, inst.span)
    }

    pub(super) fn scan_lines(
        &mut self,
        lines: Lines,
        axis: usize,
        reverse: bool,
        combine: &Region,
        results: Vec<Slot>,
        span: Span,
    ) -> diag::Result<()> {
        let known = known(combine);
        let combine = self.combine(combine, "scan", span)?;
        let Lines { slots: operands, elems, shape } = lines;
        let scan = Scan { operands, results, elems, axis, reverse, shape, known, combine };
        self.place.here(Code::Scan(Box::new(scan)), true, span);
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
