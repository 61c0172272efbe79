//! What the benches of the emulator share: clocks, numbers, and launches of the kernels in `benches/kernels`.

// Each bench is a crate of its own and uses a part.
#![allow(dead_code)]

use std::path::Path;

use decompose::dtype::DType;
use decompose::emulate::{Arg, BufferId, Memory, Options, Program, RunReport, View, run};
use decompose::kernel::{ArgSpec, Specialization};
use decompose::shape::{Shape, contiguous_strides};
use decompose::source::SourceFile;
use decompose::syntax::{Constant, parse_module};
use decompose::tensor::Storage;

/// Nanoseconds this thread has run, or wall time where the system does not say.
pub fn cpu_nanoseconds() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or_else(|| std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64))
}

/// Numbers between -1 and 1.
pub fn numbers(n: usize) -> Vec<f32> {
    let mut state = 1u32;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 9) as f32 / 4_194_304.0 - 1.0
        })
        .collect()
}

/// A launch that can be repeated.
pub struct Launch {
    program: Program,
    memory: Memory,
    args: Vec<Arg>,
    grid: [u32; 3],
    /// Buffer of the result.
    output: BufferId,
    /// Of all programs, padding excluded.
    pub flop: f64,
}

impl Launch {
    pub fn run(&mut self, options: &Options) -> RunReport {
        run(&self.program, &mut self.memory, self.grid, &self.args, options).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn output(&self) -> &[f32] {
        match self.memory.lanes(self.output) {
            Storage::F32(lanes) => lanes,
            _ => unreachable!("the kernels compute f32"),
        }
    }

    /// Tensors (the result has no numbers of its own), then integers, by the kernel's names in its order.
    fn new(
        entry: &str,
        blocks: &[(&str, i64)],
        tensors: &[(&str, &[usize], bool)],
        ints: &[(&str, usize)],
        grid: [usize; 3],
    ) -> Launch {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("benches/kernels/{entry}.py"));
        let file = SourceFile::new(entry, std::fs::read_to_string(path).expect("the kernels are in the repository"));
        let (mut specs, mut args, mut memory) = (Vec::new(), Vec::new(), Memory::default());
        let mut output = BufferId(0);
        for &(name, shape, is_output) in tensors {
            let len = shape.iter().product();
            let buffer = match is_output {
                true => memory.allocate(name, DType::F32, len),
                false => memory.insert(name, Storage::F32(numbers(len))),
            };
            if is_output {
                output = buffer;
            }
            specs.push((name.to_owned(), ArgSpec::Pointer(DType::F32)));
            let (shape, strides) = (Shape::from_slice(shape), contiguous_strides(shape));
            args.push(Arg::Pointer(View { buffer, pointer: 0, shape, strides, origin: 0 }));
        }
        for &(name, value) in ints {
            specs.push((name.to_owned(), ArgSpec::Int { bits: 32 }));
            args.push(Arg::Int(value as i64));
        }
        specs.extend(blocks.iter().map(|(name, value)| ((*name).to_owned(), ArgSpec::Constexpr(Constant::Int(*value)))));
        let module = parse_module(&file).expect("the kernels parse");
        let spec = Specialization { args: specs, ..Specialization::default() };
        let kernel = decompose::kernel::compile(&module, entry, &spec).expect("the kernels compile");
        let program = Program::compile(&kernel).expect("the kernels are offered");
        Launch { program, memory, args, grid: grid.map(|n| n as u32), output, flop: 0.0 }
    }
}

pub fn vecadd(n: usize) -> Launch {
    let tensors: [(&str, &[usize], bool); 3] = [("x_ptr", &[n], false), ("y_ptr", &[n], false), ("z_ptr", &[n], true)];
    Launch::new("vecadd", &[("BLOCK", 1024)], &tensors, &[("size", n)], [n.div_ceil(1024), 1, 1])
}

pub fn softmax(n: usize) -> Launch {
    let tensors: [(&str, &[usize], bool); 2] = [("y_ptr", &[n, n], true), ("x_ptr", &[n, n], false)];
    let ints = [("width", n), ("y_stride", n), ("x_stride", n)];
    Launch::new("softmax", &[("BLOCK", n.next_power_of_two() as i64)], &tensors, &ints, [n, 1, 1])
}

/// Square matrices, tiles of BM × BN × BK.
pub fn matmul(n: usize, [bm, bn, bk]: [usize; 3]) -> Launch {
    let blocks = [("BM", bm as i64), ("BN", bn as i64), ("BK", bk as i64), ("GROUP", 8)];
    let square: &[usize] = &[n, n];
    let tensors = [("a_ptr", square, false), ("b_ptr", square, false), ("c_ptr", square, true)];
    let names = ["M", "N", "K", "a_stride_m", "a_stride_k", "b_stride_k", "b_stride_n", "c_stride_m", "c_stride_n"];
    let ints: Vec<_> = names.into_iter().zip([n, n, n, n, 1, n, 1, n, 1]).collect();
    let launch = Launch::new("matmul", &blocks, &tensors, &ints, [n.div_ceil(bm) * n.div_ceil(bn), 1, 1]);
    Launch { flop: 2.0 * (n * n * n) as f64, ..launch }
}

/// Channels, height, filters, window, stride.
pub fn conv2d([bm, bn, bk]: [usize; 3], [c, h, k, r, stride]: [usize; 5]) -> Launch {
    let pad = r / 2;
    let p = (h + 2 * pad - r) / stride + 1;
    let blocks = [("BM", bm as i64), ("BN", bn as i64), ("BK", bk as i64)];
    let tensors: [(&str, &[usize], bool); 3] =
        [("x_ptr", &[1, c, h, h], false), ("w_ptr", &[k, c, r, r], false), ("y_ptr", &[1, k, p, p], true)];
    let names = ["N", "C", "H", "W", "K", "P", "Q", "R", "S", "STRIDE", "PAD"];
    let ints: Vec<_> = names.into_iter().zip([1, c, h, h, k, p, p, r, r, stride, pad]).collect();
    let launch = Launch::new("conv2d", &blocks, &tensors, &ints, [(p * p).div_ceil(bm), k.div_ceil(bn), 1]);
    Launch { flop: 2.0 * (p * p * k * c * r * r) as f64, ..launch }
}
