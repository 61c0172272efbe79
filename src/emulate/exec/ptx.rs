//! `tt.elementwise_inline_asm` on cells.
//!
//! One run of the text takes `pack` lanes, in row-major order. Lanes narrower than 32 bits share a register, as many
//! as fit; each operand's registers come one behind the other, results before operands. A lane's taint goes to
//! the result's lane of the same number: the text is meant to work lane by lane, even where lanes share a
//! register.

use super::lines::{flagged, line};
use super::{Machine, Step};
use crate::emulate::ptx;
use crate::emulate::tape::Instruction;
use crate::emulate::tape::whole::Asm;
use crate::emulate::value::int::wrap;
use crate::emulate::value::{Cell, FloatBlock, Floats, IntBlock, Layout, MaskBlock, eight, misfit, taint};
use crate::kernel::ir::Elem;

/// Lanes of an element that share a register.
fn sharing(elem: Elem, pack: usize) -> usize {
    if elem.bits() < 32 { (32 / elem.bits() as usize).min(pack) } else { 1 }
}

/// How many registers `pack` lanes take.
pub fn registers(elem: Elem, pack: usize) -> usize {
    pack.div_ceil(sharing(elem, pack))
}

impl Machine<'_> {
    pub(super) fn inline_asm(&mut self, asm: &Asm, _at: &Instruction) -> Step {
        let n: usize = asm.shape.iter().product();
        let pack = asm.asm.pack as usize;
        let mut inputs: Vec<Vec<u64>> = Vec::with_capacity(asm.operands.len());
        let mut flags = vec![0u8; n];
        for (&slot, &elem) in asm.operands.iter().zip(&asm.elems) {
            let cell = line(self.state.cells.get(slot), elem, &[n], &mut self.pool);
            if let Some(taints) = cell.taints() {
                flags.iter_mut().zip(taints.iter()).for_each(|(flag, t)| *flag |= t & taint::POISON);
            }
            inputs.push(bits_of(&cell, elem));
        }
        let mut outputs: Vec<Vec<u64>> = vec![vec![0; n]; asm.results.len()];
        let mut registers = vec![0u64; asm.text.registers];
        for start in (0..n).step_by(pack) {
            registers.fill(0);
            let mut at = asm.text.outputs;
            for (lanes, &elem) in inputs.iter().zip(&asm.elems) {
                let share = sharing(elem, pack);
                for i in 0..pack {
                    // A block of fewer lanes than one run takes repeats its last one.
                    let lane = lanes[(start + i).min(n - 1)];
                    registers[at + i / share] |= lane << (elem.bits() as usize * (i % share));
                }
                at += pack.div_ceil(share);
            }
            ptx::run(&asm.text, &mut registers, &mut self.clock);
            let mut at = 0;
            for (lanes, &elem) in outputs.iter_mut().zip(&asm.result_elems) {
                let share = sharing(elem, pack);
                for i in 0..pack.min(n - start) {
                    let bits = registers[at + i / share] >> (elem.bits() as usize * (i % share));
                    lanes[start + i] = ptx::number::low(bits, elem.bits());
                }
                at += pack.div_ceil(share);
            }
        }
        for ((lanes, &elem), &result) in outputs.iter().zip(&asm.result_elems).zip(&asm.results) {
            let cell = flagged(of_bits(lanes, elem), flags.clone());
            let cell = if asm.shape.is_empty() {
                super::lines::first_lane(&cell)
            } else {
                cell.with_layout(Layout::row_major(&asm.shape), &mut self.pool)
            };
            self.set(result, cell);
        }
        Ok(())
    }
}

fn bits_of(cell: &Cell, elem: Elem) -> Vec<u64> {
    let float = |x: f32| -> u64 {
        match elem {
            Elem::F16 => half::f16::from_f32(x).to_bits().into(),
            Elem::BF16 => half::bf16::from_f32(x).to_bits().into(),
            Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz => eight::bits(elem, x).into(),
            _ => x.to_bits().into(),
        }
    };
    match cell {
        Cell::Ints(b) => b.values().iter().map(|&v| ptx::number::low(v as u64, elem.bits())).collect(),
        Cell::Mask(b) => b.values().iter().map(|&v| v.into()).collect(),
        Cell::Floats(FloatBlock { lanes: Floats::F32(v), .. }) => v.iter().map(|&x| float(x)).collect(),
        Cell::Floats(FloatBlock { lanes: Floats::F64(v), .. }) => v.iter().map(|x| x.to_bits()).collect(),
        Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) | Cell::Ptrs(_) => misfit(cell, "a block of numbers"),
    }
}

fn of_bits(bits: &[u64], elem: Elem) -> Cell {
    let layout = Layout::line(bits.len());
    let floats = |value: &dyn Fn(u64) -> f32| Cell::f32_block(layout, bits.iter().map(|&b| value(b)).collect(), None);
    match elem {
        Elem::F64 => {
            let lanes = Floats::F64(std::sync::Arc::new(bits.iter().map(|&b| f64::from_bits(b)).collect()));
            Cell::Floats(FloatBlock { layout, lanes, taints: None })
        }
        Elem::F32 => floats(&|b| f32::from_bits(b as u32)),
        Elem::F16 => floats(&|b| half::f16::from_bits(b as u16).to_f32()),
        Elem::BF16 => floats(&|b| half::bf16::from_bits(b as u16).to_f32()),
        Elem::F8E4M3 | Elem::F8E5M2 | Elem::F8E4M3Fnuz | Elem::F8E5M2Fnuz => floats(&|b| eight::value(elem, b as u8)),
        Elem::I1 => Cell::Mask(MaskBlock::dense(layout, bits.iter().map(|&b| (b & 1) as u8).collect(), None)),
        Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64 | Elem::Ptr(_) => {
            Cell::Ints(IntBlock::dense(layout, bits.iter().map(|&b| wrap(b as i64, elem)).collect(), None))
        }
    }
}
