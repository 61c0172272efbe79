//! Operations on whole blocks: their operands' cells to the file of each.

use super::{Machine, Step, float, libdevice, moves, scaled};
use crate::emulate::tape::Instruction;
use crate::emulate::tape::whole::{Whole, WholeOp};
use crate::emulate::value::Cell;
use crate::kernel::ir::FloatBinary;

impl Machine<'_> {
    pub(super) fn whole(&mut self, whole: &Whole, at: &Instruction) -> Step<Cell> {
        let cells: Vec<&Cell> = whole.operands.iter().map(|&slot| self.state.cells.get(slot)).collect();
        let pool = &mut self.pool;
        let made = match &whole.op {
            WholeOp::Join => moves::join(whole, &cells, pool),
            WholeOp::Cat => moves::cat(whole, &cells, pool),
            WholeOp::Half(half) => Ok(moves::half(whole, &cells, *half, pool)),
            WholeOp::Gather(axis) => Ok(moves::gather(whole, &cells, *axis, pool)),
            WholeOp::Histogram(bins) => Ok(moves::histogram(whole, &cells, *bins, pool)),
            WholeOp::Pick(places) => Ok(moves::picked(whole, &cells, places, pool)),
            WholeOp::Plane(i) => Ok(moves::plane(whole, &cells, *i, pool)),
            WholeOp::Stack => Ok(moves::stack(whole, &cells, pool)),
            WholeOp::Unsplat => Ok(moves::only(whole, &cells, pool)),
            WholeOp::AbsInt => Ok(moves::abs(whole.result, cells[0], pool)),
            WholeOp::Clamp { keeps_nan } => {
                let (max, min) = match keeps_nan {
                    true => (FloatBinary::Maximum, FloatBinary::Minimum),
                    false => (FloatBinary::MaxNum, FloatBinary::MinNum),
                };
                let above = float::binary(max, whole.result, cells[0], cells[1], pool);
                Ok(float::binary(min, whole.result, &above, cells[2], pool))
            }
            WholeOp::Extern(symbol) => Ok(libdevice::call(*symbol, &cells, pool)),
            WholeOp::DotScaled(dot) => scaled::dot(dot, whole, &cells, pool),
        };
        match made {
            Ok(cell) => Ok(cell),
            Err(what) => self.unsupported(what, at),
        }
    }
}
