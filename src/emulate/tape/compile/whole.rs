//! Operations on whole blocks: cells in, a cell out.

use std::sync::Arc;

use super::*;
use crate::emulate::exec::asm_registers;
use crate::emulate::ptx;
use crate::emulate::tape::whole::{Asm, Whole, WholeOp};
use crate::kernel::ir::{DotScaled, InlineAsm};

impl Builder<'_> {
    /// A pure operation; the first result's type is that of every result.
    pub(super) fn whole(&mut self, op: WholeOp, operands: &[Value], inst: &Inst) -> Form {
        let kernel = self.kernel;
        let ty = kernel.ty(inst.results[0]);
        let slots: Vec<Slot> = operands.iter().map(|&v| self.cell(v)).collect();
        let pointwise = matches!(op, WholeOp::Clamp { keeps_nan: _ } | WholeOp::AbsInt | WholeOp::Extern(_));
        let scalar = ty.is_scalar() || pointwise && slots.iter().all(|&s| self.place.is_scalar(s));
        let whole = Whole {
            op,
            operands: slots,
            elems: operands.iter().map(|&v| kernel.ty(v).elem).collect(),
            shapes: operands.iter().map(|&v| kernel.ty(v).shape.clone()).collect(),
            result: ty.elem,
            result_shape: ty.shape.clone(),
        };
        Form::Cell(self.place.pure(Code::Whole(Box::new(whole)), scalar, inst.span))
    }

    pub(super) fn dot_scaled(&mut self, dot: &DotScaled, inst: &Inst) -> Form {
        let operands: Vec<Value> =
            [Some(dot.a), dot.a_scale, Some(dot.b), dot.b_scale, Some(dot.acc)].into_iter().flatten().collect();
        self.whole(WholeOp::DotScaled(Box::new(dot.clone())), &operands, inst)
    }

    pub(super) fn inline_asm(&mut self, asm: &Arc<InlineAsm>, operands: &[Value], inst: &Inst) -> diag::Result<()> {
        let kernel = self.kernel;
        let text = ptx::read(&asm.text, &asm.constraints)
            .map_err(|what| self.unsupported(format!("inline assembly with {what}"), inst.span))?;
        let elem = |&v: &Value| kernel.ty(v).elem;
        let needs = |list: &[Value]| list.iter().map(|v| asm_registers(elem(v), asm.pack as usize)).sum::<usize>();
        let (outputs, inputs) = (needs(&inst.results), needs(operands));
        if outputs != text.outputs || inputs != text.inputs {
            let what = format!(
                "inline assembly whose constraints have {} outputs and {} inputs; {} lanes of these types take {outputs} and {inputs}",
                text.outputs, text.inputs, asm.pack
            );
            return Err(self.unsupported(what, inst.span));
        }
        let slots: Vec<Slot> = operands.iter().map(|&v| self.cell(v)).collect();
        let results = self.results(inst);
        let code = Asm {
            asm: asm.clone(),
            text,
            operands: slots,
            elems: operands.iter().map(|&v| kernel.ty(v).elem).collect(),
            shape: kernel.ty(inst.results[0]).shape.clone(),
            results,
            result_elems: inst.results.iter().map(|&v| kernel.ty(v).elem).collect(),
        };
        self.place.here(Code::Asm(Box::new(code)), true, inst.span);
        Ok(())
    }
}
