//! A kernel in a page, launched by the emulator as its header lines say.
//!
//! The lines are those of `tests/emulate`: `# compile: NAME arg=type …`, `# buffer: NAME dtype[len]
//! (empty | zeros | iota | a number) [read]`, `# launch: GRID arg …`, `# fuel: N`, `# memory: N`. A buffer is
//! handed over whole. A kernel without `# launch:` is only compiled.

use decompose::diag::render::render;
use decompose::diag::{Diagnostic, Result};
use decompose::dtype::{Carrier, DType};
use decompose::emulate::{self, Arg, BufferId, Checks, Memory, Options, Program, View};
use decompose::kernel::{self, ArgSpec, Specialization};
use decompose::shape::{Shape, contiguous_strides};
use decompose::source::SourceFile;
use decompose::syntax::{Constant, eval, parse_expression, parse_module};
use decompose::tensor::Storage;

/// The first message about a kernel.
pub fn outcome(name: &str, text: &str) -> String {
    match run(name, text) {
        Ok(None) => "nothing is wrong with it\n".to_owned(),
        Ok(Some(found)) => render(&found, false) + "\n",
        Err(found) => render(&found, false) + "\n",
    }
}

fn run(name: &str, text: &str) -> Result<Option<Diagnostic>> {
    let lines = |key: &str| -> Vec<String> {
        let key = format!("# {key}: ");
        text.lines().filter_map(|l| l.strip_prefix(&key)).map(str::to_owned).collect()
    };
    let module = parse_module(&SourceFile::new(name, text))?;
    let compile = lines("compile").pop().expect("a kernel has a `# compile:` line");
    let mut words = compile.split_whitespace();
    let entry = words.next().unwrap();
    let args = words.map(|word| word.split_once('=').unwrap()).map(|(name, value)| (name.to_owned(), spec(value)));
    let spec = Specialization { args: args.collect(), ..Specialization::default() };
    let program = Program::compile(&kernel::compile(&module, entry, &spec)?)?;
    let mut memory = Memory::default();
    for line in lines("buffer") {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (dtype, len) = words[1].strip_suffix(']').unwrap().split_once('[').unwrap();
        let (dtype, len) = (DType::from_name(dtype).unwrap(), len.parse().unwrap());
        let buffer = match words[2] {
            "empty" => memory.allocate(words[0], dtype, len),
            fill => memory.insert(words[0], filled(dtype, len, fill)),
        };
        memory.protect(buffer, words.get(3) == Some(&"read"));
    }
    let Some(launch) = lines("launch").pop() else { return Ok(None) };
    let mut words = launch.split_whitespace();
    let mut grid = [1; 3];
    words.next().unwrap().split(',').zip(&mut grid).for_each(|(n, g)| *g = n.parse().unwrap());
    let args: Vec<Arg> = words.map(|word| argument(word, &memory)).collect();
    let number = |key: &str| lines(key).first().map(|n| n.parse::<u64>().unwrap());
    let mut options = Options { checks: Checks::watchful(), ..Options::default() };
    options.fuel = number("fuel").unwrap_or(options.fuel);
    options.memory = number("memory").map_or(options.memory, |n| n as usize);
    let mut report = emulate::run(&program, &mut memory, grid, &args, &options)?;
    if !report.findings.is_empty() {
        return Ok(Some(report.findings.remove(0)));
    }
    Ok(args.iter().find_map(|arg| match arg {
        Arg::Pointer(view) => emulate::coverage(&memory, view, options.checks),
        Arg::Int(_) | Arg::Float(_) => None,
    }))
}

fn spec(text: &str) -> ArgSpec {
    let constant = |text: &str| {
        let file = SourceFile::new("argument", text);
        let nothing: &[(&str, Constant)] = &[];
        eval::evaluate(&file, &parse_expression(&file).unwrap(), nothing).unwrap()
    };
    match text {
        "i32" => ArgSpec::Int { bits: 32 },
        "i64" => ArgSpec::Int { bits: 64 },
        "f32" => ArgSpec::Float,
        _ => text
            .strip_prefix('*')
            .map_or_else(|| ArgSpec::Constexpr(constant(text)), |dtype| ArgSpec::Pointer(DType::from_name(dtype).unwrap())),
    }
}

fn filled(dtype: DType, len: usize, fill: &str) -> Storage {
    let value = |i: usize| match fill {
        "iota" => i as i64,
        "zeros" => 0,
        number => number.parse().unwrap(),
    };
    match dtype.carrier() {
        Carrier::F64 => Storage::F64((0..len).map(|i| value(i) as f64).collect()),
        Carrier::F32 => Storage::F32((0..len).map(|i| value(i) as f32).collect()),
        Carrier::I64 => Storage::I64((0..len).map(value).collect()),
        Carrier::Bool => Storage::Bool((0..len).map(|i| value(i) as u8).collect()),
    }
}

fn argument(word: &str, memory: &Memory) -> Arg {
    if let Ok(value) = word.parse::<i64>() {
        return Arg::Int(value);
    }
    let buffer = BufferId(memory.buffers.iter().position(|b| b.name == word).unwrap_or_else(|| panic!("no buffer {word}")));
    let shape = Shape::from_slice(&[memory.buffers[buffer.0].lanes.len()]);
    Arg::Pointer(View { buffer, pointer: 0, strides: contiguous_strides(&shape), shape, origin: 0 })
}
