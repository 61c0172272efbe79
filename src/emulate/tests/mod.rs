//! Whole kernels, run: a small bench that compiles a kernel from Python and launches it lazy and
//! dense, on one thread and on two, and demands equal bits and equal faults of all.

mod blocks;
mod cancel;
mod files;
mod precision;
mod library;
mod random;
mod regions;
mod templates;
mod tiles;
mod values;

use std::path::Path;

use super::*;
use crate::diag::render::render;
use crate::dtype::DType;
use crate::kernel::{ArgSpec, Kernel, Sources, Specialization, Verified};
use crate::shape::{Shape, contiguous_strides};
use crate::source::SourceFile;
use crate::syntax::{eval, parse_expression, parse_module};
use crate::tensor::Storage;

/// One specialisation of a kernel of a file, chosen by its number among the file's `# compile:` lines.
pub fn program_of(file: &str, entry: &str, number: usize) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let request = text
        .lines()
        .filter_map(|line| line.strip_prefix("# compile: "))
        .filter(|request| request.split_whitespace().next() == Some(entry))
        .nth(number)
        .unwrap()
        .to_owned();
    compile(file, &text, &request)
}

/// A kernel given as text; `request` is `name arg=type …` as in the files.
pub fn compile(name: &str, text: &str, request: &str) -> Program {
    try_compile(name, text, request).unwrap_or_else(|error| panic!("{}", render(&error, false)))
}

/// As [`compile`], for text that may be refused.
pub fn try_compile(name: &str, text: &str, request: &str) -> diag::Result<Program> {
    Program::compile(&kernel(name, text, request)?)
}

/// The specialised kernel of a request.
pub fn kernel(name: &str, text: &str, request: &str) -> diag::Result<Verified<Kernel>> {
    let (entry, spec) = specialization(request);
    crate::kernel::compile(&parse_module(&SourceFile::new(name, text))?, entry, &spec)
}

/// The same for a file that imports others beside it.
pub fn beside(path: &Path, request: &str, target: Option<&crate::target::Target>) -> diag::Result<Verified<Kernel>> {
    let (entry, spec) = specialization(request);
    let spec = Specialization { target: crate::kernel::Target::of(target), ..spec };
    crate::kernel::compile_sources(&mut Sources::open(path, None)?, entry, &spec)
}

fn specialization(request: &str) -> (&str, Specialization) {
    let mut words = request.split_whitespace();
    let entry = words.next().unwrap();
    let args = words.map(|word| word.split_once('=').unwrap()).map(|(name, value)| (name.to_owned(), spec(value)));
    (entry, Specialization { args: args.collect(), ..Specialization::default() })
}

fn spec(text: &str) -> ArgSpec {
    match text {
        "i32" => ArgSpec::Int { bits: 32 },
        "i64" => ArgSpec::Int { bits: 64 },
        "f32" => ArgSpec::Float,
        _ => match text.strip_prefix('*') {
            Some(dtype) => ArgSpec::Pointer(DType::from_name(dtype).unwrap()),
            None => {
                let file = SourceFile::new("argument", text);
                let nothing: &[(&str, crate::syntax::Constant)] = &[];
                ArgSpec::Constexpr(eval::evaluate(&file, &parse_expression(&file).unwrap(), nothing).unwrap())
            }
        },
    }
}

/// The accesses of a program alone.
pub fn accesses(program: &Program) -> Program {
    let kernel = crate::kernel::verify(Kernel::clone(&program.kernel)).unwrap();
    Program::compile(&crate::kernel::passes::addresses(&kernel).unwrap()).unwrap()
}

/// A contiguous view of a whole buffer.
pub fn whole(buffer: BufferId, shape: &[usize]) -> Arg {
    Arg::Pointer(View { buffer, pointer: 0, shape: Shape::from_slice(shape), strides: contiguous_strides(shape), origin: 0 })
}

/// Reproducible small numbers.
pub fn numbers(n: usize, seed: u64) -> Vec<f32> {
    (0..n as u64)
        .map(|i| {
            let mut x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed.wrapping_mul(0xd1b5_4a32_d192_ed03));
            x ^= x >> 29;
            x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x ^= x >> 32;
            (x % 2001) as f32 / 1000.0 - 1.0
        })
        .collect()
}

fn same_bits(a: &Storage, b: &Storage) -> bool {
    match (a, b) {
        (Storage::F32(x), Storage::F32(y)) => x.iter().zip(y).all(|(x, y)| x.to_bits() == y.to_bits()),
        (Storage::F64(x), Storage::F64(y)) => x.iter().zip(y).all(|(x, y)| x.to_bits() == y.to_bits()),
        _ => a == b,
    }
}

/// Runs in every mode on copies of the memory; all outcomes must agree. The memory after one run, or
/// the rendered fault.
pub fn run_all(program: &Program, memory: &Memory, grid: [u32; 3], args: &[Arg], options: &Options) -> Result<Memory, String> {
    let mut first: Option<(Memory, Result<RunReport, String>)> = None;
    for (dense, threads) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
        let mut own = memory.clone();
        let options = Options { dense, threads, ..options.clone() };
        let outcome = run(program, &mut own, grid, args, &options).map_err(|error| render(&error, false));
        match &first {
            None => first = Some((own, outcome)),
            Some((memory, want)) => {
                let mode = if dense { "dense" } else { "lazy" };
                match (want, &outcome) {
                    (Ok(a), Ok(b)) => {
                        let told = |report: &RunReport| report.findings.iter().map(|f| render(f, false)).collect::<Vec<_>>();
                        assert_eq!(told(a), told(b), "{mode}, {threads} threads");
                        for (a, b) in memory.buffers.iter().zip(&own.buffers) {
                            assert!(same_bits(&a.lanes, &b.lanes), "{} differs: {mode}, {threads} threads", a.name);
                            assert_eq!(a.undefined, b.undefined, "{} differs: {mode}, {threads} threads", a.name);
                        }
                    }
                    (Err(a), Err(b)) => assert_eq!(a, b, "{mode}, {threads} threads"),
                    _ => panic!("outcomes differ: {want:?} and ({mode}, {threads} threads) {outcome:?}"),
                }
            }
        }
    }
    let (memory, outcome) = first.unwrap();
    outcome.map(|_| memory)
}

pub fn f32s(memory: &Memory, id: BufferId) -> &[f32] {
    match memory.lanes(id) {
        Storage::F32(v) => v,
        other => panic!("{:?} is not f32", other.carrier()),
    }
}
