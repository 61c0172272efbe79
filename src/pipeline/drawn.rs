//! Kernels run on drawn inputs: what a launch needs is made from the kernel's parameters alone, so that any kernel that
//! lowers can be run, public ones in thousands among them.
//!
//! Buffers hold reproducible numbers in [-1, 1]. Integers count up from 0 and begin again at a part of the buffer: as
//! indices they are in range and distinct, as bounds of rows they rise, so that gathers and scatters seldom fault. Scalars are
//! given or drawn. What such a launch finds out of bounds says nothing about the kernel; so where a fault ends the run, it is
//! run once more with faults looked past, and what is in memory then is its result.
//!
//! What it does not do: choose sizes that fit together (whoever asks may name them).

use std::collections::BTreeMap;

use crate::diag::{Class, Diagnostic, Result, codes};
use crate::dtype::{Carrier, DType};
use crate::emulate::{self, Arg, Checks, Memory, Options, Program, View};
use crate::kernel::ir::{Elem, InstKind};
use crate::kernel::passes::Version;
use crate::kernel::{Kernel, Verified, walk};
use crate::shape::{Shape, contiguous_strides};
use crate::tensor::Storage;

/// Instructions that a program may execute: such launches may loop over anything.
const FUEL: u64 = 1 << 20;

/// Bytes of block values.
const MEMORY: usize = 1 << 29;

/// Programs along each axis that a kernel asks about, where nothing is said. Along another, each would do the same again.
const GRID: [u32; 3] = [4, 2, 2];

/// What part of a buffer its integers reach, as rows that they number are that wide.
const WIDTH: usize = 64;

/// Elements of a buffer where nothing is said.
pub const ELEMENTS: usize = 8192;

/// What is said of a drawn launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    pub grid: Option<[u32; 3]>,
    /// Elements of every buffer that `lengths` does not name.
    pub elements: usize,
    pub lengths: BTreeMap<String, usize>,
    pub scalars: BTreeMap<String, f64>,
    /// Whether warnings are asked for, too.
    pub warnings: bool,
    /// Which Triton is meant.
    pub triton: Version,
}

impl Default for Draw {
    fn default() -> Draw {
        Draw {
            grid: None,
            elements: ELEMENTS,
            lengths: BTreeMap::new(),
            scalars: BTreeMap::new(),
            warnings: false,
            triton: Version::default(),
        }
    }
}

/// What a kernel is launched with.
#[derive(Clone, Debug)]
pub struct Launch {
    memory: Memory,
    args: Vec<Arg>,
    grid: [u32; 3],
}

/// What a drawn launch did.
#[derive(Debug)]
pub struct Outcome {
    /// What ended the run that looks for faults.
    pub fault: Option<Box<Diagnostic>>,
    pub findings: Vec<Diagnostic>,
    /// Memory in the end; `None` where the run that looks past faults did not end either.
    pub memory: Option<Memory>,
}

/// A launch by a kernel's parameters.
pub fn launch(kernel: &Kernel, draw: &Draw) -> Launch {
    let mut memory = Memory::default();
    let args = kernel.params.iter().enumerate().map(|(i, param)| {
        let said = draw.scalars.get(&*param.name).copied();
        match kernel.ty(param.value).elem {
            Elem::Ptr(dtype) => {
                let length = draw.lengths.get(&*param.name).copied().unwrap_or(draw.elements);
                let buffer = memory.insert_as(&*param.name, dtype, lanes(dtype, length, i as u64));
                let shape = [length];
                let strides = contiguous_strides(&shape);
                Arg::Pointer(View { buffer, pointer: 0, shape: Shape::from_slice(&shape), strides, origin: 0 })
            }
            elem if elem.is_float() => Arg::Float(said.unwrap_or(0.5)),
            Elem::I1 => Arg::Int(said.map_or(1, |n| i64::from(n != 0.0))),
            _ => Arg::Int(said.map_or([24, 7, 40][i % 3], |n| n as i64)),
        }
    });
    let args = args.collect();
    Launch { memory, args, grid: draw.grid.unwrap_or_else(|| grid(kernel)) }
}

fn grid(kernel: &Kernel) -> [u32; 3] {
    let mut grid = [1; 3];
    for block in &kernel.blocks {
        walk::each_inst(&block.insts, &mut |inst| {
            if let InstKind::ProgramId { axis } = inst.kind {
                grid[axis as usize] = GRID[axis as usize];
            }
        });
    }
    grid
}

fn lanes(dtype: DType, length: usize, seed: u64) -> Storage {
    let drawn = (0..length as u64).map(|i| number(i, seed));
    match dtype.carrier() {
        Carrier::F32 => Storage::F32(drawn.map(|v| dtype.round(v) as f32).collect()),
        Carrier::F64 => Storage::F64(drawn.collect()),
        Carrier::I64 => {
            let end = (length / WIDTH).clamp(1, if dtype.size() == 1 { 128 } else { usize::MAX });
            Storage::I64((0..length).map(|i| (i % end) as i64).collect())
        }
        Carrier::Bool => Storage::Bool(drawn.map(|v| u8::from(v > 0.0)).collect()),
    }
}

/// The i-th number of a seed: thousandths between -1 and 1.
fn number(i: u64, seed: u64) -> f64 {
    let mut x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed.wrapping_mul(0xd1b5_4a32_d192_ed03));
    x ^= x >> 29;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 32;
    f64::from((x % 2001) as f32 / 1000.0 - 1.0)
}

/// Runs a kernel with what may have been drawn for another of the same parameters.
///
/// # Errors
/// What stops the kernel on its way to the emulator.
pub fn run(kernel: &Verified<Kernel>, Launch { memory, args, grid }: Launch, draw: &Draw) -> Result<Outcome> {
    let program = Program::compile_as(kernel, draw.triton)?;
    let checks = if draw.warnings { Checks::watchful() } else { Checks::default() };
    let options = Options { fuel: FUEL, memory: MEMORY, checks, ..Options::default() };
    let mut after = memory.clone();
    let error = match emulate::run(&program, &mut after, grid, &args, &options) {
        Ok(report) => return Ok(Outcome { fault: None, findings: report.findings, memory: Some(after) }),
        Err(error) => error,
    };
    if error.class() != Class::Bug || error.code == &codes::HOST_LAUNCH {
        return Ok(Outcome { fault: Some(error), findings: Vec::new(), memory: None });
    }
    let warnings = Checks { order: true, births: true, casts: true, masks: true, dead_stores: true, ..Checks::NONE };
    let blind = Options { checks: if draw.warnings { warnings } else { Checks::NONE }, ..options };
    let mut after = memory;
    let (findings, memory) = match emulate::run(&program, &mut after, grid, &args, &blind) {
        Ok(report) => (report.findings, Some(after)),
        Err(_) => (Vec::new(), None),
    };
    Ok(Outcome { fault: Some(error), findings, memory })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;

    /// Rows that indices name lie in the buffer, and each is another one; axes that nobody asks about have one program.
    #[test]
    fn a_gather_and_a_scatter_do_not_fault() {
        let text = "tt.func public @k(%p: !tt.ptr<f32>, %at: !tt.ptr<i64>, %q: !tt.ptr<f32>) {
  %i = tt.get_program_id x : i32
  %a = tt.addptr %at, %i : !tt.ptr<i64>, i32
  %row = tt.load %a : !tt.ptr<i64>
  %width = arith.constant 64 : i64
  %offset = arith.muli %row, %width : i64
  %from = tt.addptr %p, %offset : !tt.ptr<f32>, i64
  %v = tt.load %from : !tt.ptr<f32>
  %to = tt.addptr %q, %offset : !tt.ptr<f32>, i64
  tt.store %to, %v : !tt.ptr<f32>
  tt.return
}
";
        let kernel = crate::kernel::parse(&SourceFile::new("k.ttir", text)).unwrap();
        let draw = Draw::default();
        let launch = launch(&kernel, &draw);
        assert_eq!(launch.grid, [4, 1, 1]);
        let outcome = run(&kernel, launch, &draw).unwrap();
        assert!(outcome.fault.is_none(), "{:?}", outcome.fault);
        let memory = outcome.memory.unwrap();
        let [p, q] = [0, 2].map(|buffer| &memory.buffers[buffer].lanes);
        for row in 0..4 {
            assert_eq!(p.get_f64(row * 64), q.get_f64(row * 64));
        }
        let more = Draw { grid: Some([4, 2, 1]), ..draw };
        assert_eq!(run(&kernel, super::launch(&kernel, &more), &more).unwrap().fault.unwrap().code.id, "A007");
    }
}
