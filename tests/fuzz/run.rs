//! What must hold of any kernel that was accepted: its text reads back, and every mode of the emulator agrees.

use decompose::diag::{Class, Diagnostic, render::render};
use decompose::dtype::DType;
use decompose::emulate::{self, Arg, Checks, Memory, Options, Program, View};
use decompose::kernel::ir::Elem;
use decompose::kernel::{self, Kernel, Verified, passes};
use decompose::shape::{Shape, Strides};
use decompose::source::SourceFile;
use decompose::tensor::Storage;

use crate::choices::Choices;

/// Elements of every tensor.
const ELEMENTS: usize = 64;

/// No refusal is a fault of ours.
pub fn allow(error: &Diagnostic) {
    assert!(error.class() != Class::Internal, "{}", render(error, false));
}

/// Prints, parses and prints again; simplifies; runs.
pub fn check(kernel: Verified<Kernel>, choices: &mut Choices<'_>) {
    let printed = kernel.to_string();
    let file = SourceFile::new("printed.ttir", printed.as_str());
    let back = kernel::parse(&file).unwrap_or_else(|error| panic!("its text is refused: {}\n{printed}", render(&error, false)));
    let again = back.to_string();
    assert_eq!(again, printed, "the text does not read back");
    let simplified = passes::simplify(kernel.clone()).unwrap_or_else(|error| panic!("simplified: {}", render(&error, false)));
    let compiled = |kernel: &Verified<Kernel>| match Program::compile(kernel) {
        Ok(program) => Some(program),
        Err(error) => {
            allow(&error);
            None
        }
    };
    let (Some(plain), Some(simplified)) = (compiled(&kernel), compiled(&simplified)) else { return };
    let Some((memory, args)) = arguments(&plain, choices) else { return };
    let grid = [1 + choices.below(4) as u32, 1 + choices.below(2) as u32, 1];
    let checks = if choices.below(2) == 0 { Checks::watchful() } else { Checks::default() };
    let options = Options { fuel: 4000, memory: 16 << 20, checks, ..Options::default() };
    agree(&plain, &simplified, &memory, grid, &args, &options);
}

/// One outcome of a run: memory, or the fault.
type Outcome = Result<Memory, Box<Diagnostic>>;

fn agree(plain: &Program, simplified: &Program, memory: &Memory, grid: [u32; 3], args: &[Arg], options: &Options) {
    let run = |program: &Program, dense: bool, threads: usize| -> Outcome {
        let mut own = memory.clone();
        let report = emulate::run(program, &mut own, grid, args, &Options { dense, threads, ..options.clone() })?;
        report.findings.iter().for_each(allow);
        Ok(own)
    };
    let first = run(plain, false, 1);
    if let Err(error) = &first {
        allow(error);
    }
    let others =
        [("dense", run(plain, true, 1)), ("two threads", run(plain, false, 2)), ("simplified", run(simplified, false, 1))];
    for (mode, other) in others {
        // Modes count their own instructions and bytes.
        let limited = |outcome: &Outcome| outcome.as_ref().is_err_and(|error| error.class() == Class::Limit);
        if limited(&first) || limited(&other) {
            continue;
        }
        // An operation that takes lanes together and is dropped was a barrier before.
        let exchange = |outcome: &Outcome| outcome.as_ref().is_err_and(|error| error.code.id == "A016");
        if mode == "simplified" && (exchange(&first) || exchange(&other)) {
            continue;
        }
        match (&first, &other) {
            (Ok(a), Ok(b)) => {
                for (a, b) in a.buffers.iter().zip(&b.buffers) {
                    assert!(same(&a.lanes, &b.lanes), "{mode}: {} differs: {:?} and {:?}", a.name, a.lanes, b.lanes);
                    assert_eq!(a.undefined, b.undefined, "{mode}: {}", a.name);
                }
            }
            (Err(a), Err(b)) => assert_eq!(render(a, false), render(b, false), "{mode}"),
            (Ok(_), Err(error)) => panic!("only {mode}: {}", render(error, false)),
            (Err(error), Ok(_)) => panic!("not {mode}: {}", render(error, false)),
        }
    }
}

/// Equal bits; a NaN is like any other, since nobody can tell which operand's bits it has.
fn same(a: &Storage, b: &Storage) -> bool {
    match (a, b) {
        (Storage::F32(x), Storage::F32(y)) => {
            x.iter().zip(y).all(|(x, y)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan())
        }
        (Storage::F64(x), Storage::F64(y)) => {
            x.iter().zip(y).all(|(x, y)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan())
        }
        _ => a == b,
    }
}

/// Small tensors, whole, strided or with gaps, for every parameter.
fn arguments(program: &Program, choices: &mut Choices<'_>) -> Option<(Memory, Vec<Arg>)> {
    let mut memory = Memory::default();
    let mut args = Vec::new();
    for (at, param) in program.kernel.params.iter().enumerate() {
        let ty = program.kernel.ty(param.value);
        if !ty.is_scalar() {
            return None;
        }
        args.push(match ty.elem {
            Elem::Ptr(dtype) => pointer(&mut memory, param.name.as_ref(), dtype, at, choices),
            Elem::I1 => Arg::Int(choices.below(2) as i64),
            elem if elem.is_integer() => Arg::Int(choices.of(&[20, 0, 1, 3, 16, -1, 100])),
            _ => Arg::Float(choices.of(&[1.5, 0.0, -3.0])),
        });
    }
    Some((memory, args))
}

fn pointer(memory: &mut Memory, name: &str, dtype: DType, at: usize, choices: &mut Choices<'_>) -> Arg {
    let value = |i: usize| ((i * 7 + at * 3) % 23) as f64 - 5.0;
    let mut lanes = Storage::zeros(dtype.carrier(), ELEMENTS);
    match &mut lanes {
        Storage::F32(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = dtype.round(value(i) * 0.5) as f32),
        Storage::F64(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = value(i) * 0.5),
        Storage::I64(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = dtype.wrap(value(i) as i64)),
        Storage::Bool(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = u8::from(value(i) > 3.0)),
    }
    let buffer = match choices.below(6) {
        // The same memory as another argument.
        0 if memory.buffers.iter().any(|b| b.dtype == Some(dtype)) => {
            let found = memory.buffers.iter().position(|b| b.dtype == Some(dtype)).unwrap_or(0);
            emulate::BufferId(found)
        }
        1 | 2 => memory.allocate(name, dtype, ELEMENTS),
        _ => memory.insert_as(name, dtype, lanes),
    };
    let (shape, strides): (&[usize], &[i64]) = choices.of(&[
        (&[64][..], &[1][..]),
        (&[32][..], &[2][..]),
        (&[4, 8][..], &[16, 1][..]),
        (&[8, 4][..], &[1, 16][..]),
        (&[0][..], &[1][..]),
    ]);
    Arg::Pointer(View { buffer, pointer: 0, shape: Shape::from_slice(shape), strides: Strides::from_slice(strides), origin: 0 })
}
