//! CPU time of the emulator, one thread, all checks on: the four peer kernels and the 53 convolutions
//! of ResNet-50. Prints milliseconds (the best of several runs, and over an idle machine's noise).
//!
//! `cargo bench --bench emulate [-- NAME]`

use std::path::Path;

use decompose::dtype::DType;
use decompose::emulate::{Arg, BufferId, Memory, Options, Program, RunReport, View, run};
use decompose::kernel::{ArgSpec, Specialization};
use decompose::shape::{Shape, contiguous_strides};
use decompose::source::SourceFile;
use decompose::syntax::{Constant, parse_module};
use decompose::tensor::Storage;

/// Nanoseconds this thread has run, or wall time where the system does not say.
fn cpu_nanoseconds() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or_else(|| std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64))
}

fn kernel(entry: &str, constants: &[(&str, i64)], pointers: &[&str], ints: &[&str]) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("benches/kernels/{entry}.py"));
    let file = SourceFile::new(entry, std::fs::read_to_string(path).expect("invariant: the kernels are in the repository"));
    let mut args = Vec::new();
    args.extend(pointers.iter().map(|name| ((*name).to_owned(), ArgSpec::Pointer(DType::F32))));
    args.extend(ints.iter().map(|name| ((*name).to_owned(), ArgSpec::Int { bits: 32 })));
    args.extend(constants.iter().map(|(name, value)| ((*name).to_owned(), ArgSpec::Constexpr(Constant::Int(*value)))));
    let module = parse_module(&file).expect("the kernels parse");
    let spec = Specialization { args, ..Specialization::default() };
    let kernel = decompose::kernel::compile(&module, entry, &spec).expect("the kernels compile");
    Program::compile(&kernel).expect("the kernels are offered")
}

fn whole(buffer: BufferId, shape: &[usize]) -> Arg {
    Arg::Pointer(View { buffer, pointer: 0, shape: Shape::from_slice(shape), strides: contiguous_strides(shape), origin: 0 })
}

fn numbers(n: usize) -> Storage {
    let mut state = 1u32;
    Storage::F32(
        (0..n)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 9) as f32 / 4_194_304.0 - 1.0
            })
            .collect(),
    )
}

/// Milliseconds a run: the best of several rounds, each long enough for the system's clock, which
/// may tick only every 4 ms.
fn best(rounds: usize, mut once: impl FnMut() -> RunReport) -> (f64, RunReport) {
    let start = std::time::Instant::now();
    let report = once();
    let repeats = (0.06 / start.elapsed().as_secs_f64()).ceil().clamp(1.0, 1000.0) as usize;
    let round = |once: &mut dyn FnMut() -> RunReport| {
        let start = cpu_nanoseconds();
        for _ in 0..repeats {
            once();
        }
        (cpu_nanoseconds() - start) as f64 / 1e6 / repeats as f64
    };
    ((0..rounds).map(|_| round(&mut once)).fold(f64::MAX, f64::min), report)
}

fn show(name: &str, (ms, report): (f64, RunReport), flop: f64) {
    let rate = if flop > 0.0 { format!("{:6.1} GFLOP/s", flop / ms / 1e6) } else { String::new() };
    println!(
        "{name:32} {ms:8.2} ms {rate}  {} programs, {} instructions, {} viewed, lines {} + {} masked + {} gathered, {} replayed",
        report.programs,
        report.instructions,
        report.tiles_viewed,
        report.lines_copied,
        report.lines_masked,
        report.lines_gathered,
        report.replayed
    );
}

fn launch(program: &Program, memory: &mut Memory, grid: [u32; 3], args: &[Arg]) -> RunReport {
    run(program, memory, grid, args, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn vecadd() {
    let n = 1 << 20;
    let program = kernel("vecadd", &[("BLOCK", 1024)], &["x_ptr", "y_ptr", "z_ptr"], &["size"]);
    let mut memory = Memory::default();
    let (x, y) = (memory.insert("x", numbers(n)), memory.insert("y", numbers(n)));
    let out = memory.allocate("out", DType::F32, n);
    let args = [whole(x, &[n]), whole(y, &[n]), whole(out, &[n]), Arg::Int(n as i64)];
    show("vecadd 2^20", best(5, || launch(&program, &mut memory, [1024, 1, 1], &args)), 0.0);
}

fn softmax() {
    let n = 1024;
    let program = kernel("softmax", &[("BLOCK", 1024)], &["y_ptr", "x_ptr"], &["width", "y_stride", "x_stride"]);
    let mut memory = Memory::default();
    let x = memory.insert("x", numbers(n * n));
    let out = memory.allocate("out", DType::F32, n * n);
    let size = Arg::Int(n as i64);
    let args = [whole(out, &[n, n]), whole(x, &[n, n]), size.clone(), size.clone(), size];
    show("softmax 1024x1024", best(5, || launch(&program, &mut memory, [1024, 1, 1], &args)), 0.0);
}

fn matmul() {
    let n = 512;
    let ints = ["M", "N", "K", "a_stride_m", "a_stride_k", "b_stride_k", "b_stride_n", "c_stride_m", "c_stride_n"];
    let blocks = [("BM", 64), ("BN", 64), ("BK", 32), ("GROUP", 8)];
    let program = kernel("matmul", &blocks, &["a_ptr", "b_ptr", "c_ptr"], &ints);
    let mut memory = Memory::default();
    let (a, b) = (memory.insert("a", numbers(n * n)), memory.insert("b", numbers(n * n)));
    let c = memory.allocate("c", DType::F32, n * n);
    let mut args = vec![whole(a, &[n, n]), whole(b, &[n, n]), whole(c, &[n, n])];
    args.extend([n, n, n, n, 1, n, 1, n, 1].map(|v| Arg::Int(v as i64)));
    let flop = 2.0 * (n * n * n) as f64;
    show("matmul 512^3", best(5, || launch(&program, &mut memory, [64, 1, 1], &args)), flop);
}

struct Convolution {
    program: Program,
    memory: Memory,
    args: Vec<Arg>,
    grid: [u32; 3],
    flop: f64,
}

fn convolution(blocks: [usize; 3], [c, h, k, r, stride]: [usize; 5]) -> Convolution {
    let ints = ["N", "C", "H", "W", "K", "P", "Q", "R", "S", "STRIDE", "PAD"];
    let [bm, bn, bk] = blocks;
    let constants = [("BM", bm as i64), ("BN", bn as i64), ("BK", bk as i64)];
    let program = kernel("conv2d", &constants, &["x_ptr", "w_ptr", "y_ptr"], &ints);
    let pad = r / 2;
    let p = (h + 2 * pad - r) / stride + 1;
    let mut memory = Memory::default();
    let (x, w) = (memory.insert("x", numbers(c * h * h)), memory.insert("w", numbers(k * c * r * r)));
    let y = memory.allocate("y", DType::F32, k * p * p);
    let mut args = vec![whole(x, &[1, c, h, h]), whole(w, &[k, c, r, r]), whole(y, &[1, k, p, p])];
    args.extend([1, c, h, h, k, p, p, r, r, stride, pad].map(|v| Arg::Int(v as i64)));
    let grid = [(p * p).div_ceil(bm) as u32, k.div_ceil(bn) as u32, 1];
    Convolution { program, memory, args, grid, flop: 2.0 * (p * p * k * c * r * r) as f64 }
}

fn conv2d() {
    let mut one = convolution([64, 64, 32], [64, 56, 64, 3, 1]);
    let timed = best(5, || launch(&one.program, &mut one.memory, one.grid, &one.args));
    show("conv2d 64x56x56 3x3", timed, one.flop);
}

/// Channels, height, filters, window, stride, and how often.
fn resnet50_layers() -> Vec<([usize; 5], usize)> {
    let mut layers = vec![([3, 224, 64, 7, 2], 1)];
    let mut input = 64;
    for (stage, (width, blocks, size)) in [(64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)].into_iter().enumerate() {
        let output = width * 4;
        let (before, stride) = if stage == 0 { (size, 1) } else { (size * 2, 2) };
        layers.push(([input, before, width, 1, 1], 1));
        layers.push(([width, before, width, 3, stride], 1));
        layers.push(([input, before, output, 1, stride], 1));
        layers.push(([output, size, width, 1, 1], blocks - 1));
        layers.push(([width, size, width, 3, 1], blocks - 1));
        layers.push(([width, size, output, 1, 1], blocks));
        input = output;
    }
    layers
}

fn resnet50(detail: bool) {
    for blocks in [[64, 64, 32], [64, 64, 64], [128, 64, 32]] {
        let (mut total, mut flop, mut count) = (0.0, 0.0, 0);
        for (layer, times) in resnet50_layers() {
            let mut one = convolution(blocks, layer);
            let timed = best(3, || launch(&one.program, &mut one.memory, one.grid, &one.args));
            if detail {
                show(&format!("  {layer:?} × {times}"), timed, one.flop);
            }
            total += timed.0 * times as f64;
            flop += one.flop * times as f64;
            count += times;
        }
        println!("{count} convolutions of ResNet-50, {blocks:?}: {total:.1} ms, {:.1} GFLOP/s", flop / total / 1e6);
    }
}

fn main() {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let is = |name: &str| wanted.as_deref().is_none_or(|w| w == name);
    if is("vecadd") {
        vecadd();
    }
    if is("softmax") {
        softmax();
    }
    if is("matmul") {
        matmul();
    }
    if is("conv2d") {
        conv2d();
    }
    if is("resnet50") {
        resnet50(wanted.is_some());
    }
}
