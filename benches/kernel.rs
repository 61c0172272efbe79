//! Launches one kernel of a file on given data and prints the emulator's CPU seconds.
//!
//! usage: cargo bench --bench kernel -- FILE FUNCTION --grid X[,Y[,Z]] [--tensor NAME SHAPE FILE]…
//!        [--int NAME VALUE]… [--constexpr NAME VALUE]… --output NAME FILE
//!
//! Tensors are raw little-endian f32. Arguments are named in the order of the kernel's parameters.
//! One thread, every check on; the minimum over several launches, compilation excluded.

use std::error::Error;

use decompose::conform::cpu;
use decompose::dtype::DType;
use decompose::emulate::{self, Arg, Memory, Options, Program, View};
use decompose::kernel::{self, ArgSpec, Specialization};
use decompose::shape::{Shape, contiguous_strides};
use decompose::source::SourceFile;
use decompose::syntax::{Constant, parse_module};
use decompose::tensor::Storage;

const LAUNCHES: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo appends `--bench` to a bench's arguments.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let mut words = words.iter().map(String::as_str);
    let mut next = || words.next().ok_or("an argument is missing");
    let (file, function) = (next()?, next()?);
    let (mut grid, mut output) = ([1u32; 3], None);
    let (mut memory, mut args, mut specs) = (Memory::default(), Vec::new(), Vec::new());
    while let Ok(word) = next() {
        match word {
            "--grid" => {
                for (axis, size) in next()?.split(',').enumerate() {
                    grid[axis] = size.parse()?;
                }
            }
            "--tensor" => {
                let (name, shape, path) = (next()?, next()?, next()?);
                let shape = shape.split('x').map(str::parse).collect::<Result<Shape, _>>()?;
                let lanes = std::fs::read(path)?.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
                let buffer = memory.insert(name, Storage::F32(lanes));
                args.push(Arg::Pointer(View { buffer, pointer: 0, strides: contiguous_strides(&shape), shape, origin: 0 }));
                specs.push((name.to_owned(), ArgSpec::Pointer(DType::F32)));
            }
            "--int" => {
                let (name, value) = (next()?, next()?.parse()?);
                args.push(Arg::Int(value));
                specs.push((name.to_owned(), ArgSpec::Int { bits: 32 }));
            }
            "--constexpr" => specs.push((next()?.to_owned(), ArgSpec::Constexpr(Constant::Int(next()?.parse()?)))),
            "--output" => output = Some((next()?, next()?)),
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let source = SourceFile::new(file, std::fs::read_to_string(file)?);
    let program = Program::compile(&kernel::compile(
        &parse_module(&source)?,
        function,
        &Specialization { args: specs, ..Specialization::default() },
    )?)?;
    let mut best = f64::INFINITY;
    for _ in 0..LAUNCHES {
        let start = cpu::seconds();
        emulate::run(&program, &mut memory, grid, &args, &Options::default())?;
        best = best.min(cpu::seconds() - start);
    }
    let (name, path) = output.ok_or("--output is missing")?;
    let buffer = memory.buffers.iter().find(|b| b.name == name).ok_or("--output names no tensor")?;
    let Storage::F32(lanes) = &buffer.lanes else { return Err("the output is not f32".into()) };
    std::fs::write(path, lanes.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())?;
    println!("cpu_seconds: {best:.6}");
    Ok(())
}
