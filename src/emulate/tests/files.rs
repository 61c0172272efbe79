//! Kernels in files: `tests/emulate/fail/<check>/*.py` with the message that each gives, and
//! `tests/emulate/pass/*.py`, which look like faults and are none.
//!
//! Header lines, after `# compile:` (one a file):
//! `# buffer: NAME dtype[len] (empty | zeros | iota | an integer) [read]` makes a buffer, which with `read`
//! no launch may store to;
//! `# launch: GRID arg …` runs, where an argument is a number, or a buffer's name with, maybe, a view:
//! `x`, `x(2,4)`, `x(2,4:8,1+3)` (shape, strides, element of the first index).
//! `# fuel: N`, `# memory: N` set limits. Bless with UPDATE_EXPECT=1.

use super::*;
use crate::kernel::passes::simplify;
use crate::shape::Strides;

struct Case {
    program: Program,
    /// The same kernel after `kernel::passes::simplify`.
    simplified: Program,
    memory: Memory,
    grid: [u32; 3],
    args: Vec<Arg>,
    options: Options,
}

fn case(path: &Path) -> Case {
    let name = path.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let lines = |key: &str| -> Vec<String> {
        let key = format!("# {key}: ");
        text.lines().filter_map(|l| l.strip_prefix(&key)).map(str::to_owned).collect()
    };
    let request = &lines("compile")[0];
    let program = compile(name, &text, request);
    let simplified = Program::compile(&simplify(kernel(name, &text, request).unwrap()).unwrap()).unwrap();
    let mut memory = Memory::default();
    for line in lines("buffer") {
        let mut words = line.split_whitespace();
        let (name, ty, fill) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let (dtype, len) = ty.strip_suffix(']').unwrap().split_once('[').unwrap();
        let (dtype, len) = (DType::from_name(dtype).unwrap(), len.parse().unwrap());
        let id = memory.allocate(name, dtype, len);
        memory.protect(id, words.next() == Some("read"));
        if fill != "empty" {
            memory.buffers[id.0].undefined = None;
            let value = |i: usize| match fill {
                "iota" => i as i64,
                "zeros" => 0,
                number => number.parse().unwrap(),
            };
            match &mut memory.buffers[id.0].lanes {
                Storage::F32(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = value(i) as f32),
                Storage::F64(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = value(i) as f64),
                Storage::I64(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = value(i)),
                Storage::Bool(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = value(i) as u8),
            }
        }
    }
    let launch = lines("launch")[0].clone();
    let mut words = launch.split_whitespace();
    let mut grid = [1; 3];
    words.next().unwrap().split(',').zip(&mut grid).for_each(|(n, g)| *g = n.parse().unwrap());
    let args = words.map(|word| argument(word, &memory)).collect();
    let number = |key: &str| lines(key).first().map(|n| n.parse::<u64>().unwrap());
    let mut options = Options::default();
    options.fuel = number("fuel").unwrap_or(options.fuel);
    options.memory = number("memory").map_or(options.memory, |n| n as usize);
    Case { program, simplified, memory, grid, args, options }
}

fn argument(word: &str, memory: &Memory) -> Arg {
    if let Ok(value) = word.parse::<i64>() {
        return Arg::Int(value);
    }
    if let Ok(value) = word.parse::<f64>() {
        return Arg::Float(value);
    }
    let (name, view) = word.split_once('(').unwrap_or((word, ""));
    let buffer = BufferId(memory.buffers.iter().position(|b| b.name == name).unwrap());
    if view.is_empty() {
        return whole(buffer, &[memory.buffers[buffer.0].lanes.len()]);
    }
    let view = view.strip_suffix(')').unwrap();
    let (view, origin) = view.split_once('+').unwrap_or((view, "0"));
    let (shape, strides) = view.split_once(':').unwrap_or((view, ""));
    let shape: Shape = shape.split(',').map(|n| n.parse().unwrap()).collect();
    let strides: Strides = match strides {
        "" => contiguous_strides(&shape),
        strides => strides.split(',').map(|n| n.parse().unwrap()).collect(),
    };
    let origin = origin.parse().unwrap();
    Arg::Pointer(View { buffer, pointer: origin, shape, strides, origin })
}

/// What a run, and coverage after it, has to say.
fn outcome(case: &Case, options: &Options) -> Option<String> {
    match run_all(&case.program, &case.memory, case.grid, &case.args, options) {
        Err(message) => Some(message),
        Ok(memory) => case.args.iter().find_map(|arg| match arg {
            Arg::Pointer(view) => coverage(&memory, view).map(|d| render(&d, false)),
            Arg::Int(_) | Arg::Float(_) => None,
        }),
    }
}

fn files(folder: &str) -> Vec<std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulate").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "py"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{}", folder.display());
    files
}

/// Every file of a check fails with its message, and stays silent about it when the check is off.
fn fails(check: &str, off: impl Fn(&mut Checks)) {
    for path in files(&format!("fail/{check}")) {
        let case = case(&path);
        let message = outcome(&case, &case.options).unwrap_or_else(|| panic!("{} finds nothing", path.display()));
        expect_test::expect_file![path.with_extension("stderr")].assert_eq(&format!("{message}\n"));
        let mut options = case.options.clone();
        off(&mut options.checks);
        if options.checks != case.options.checks {
            let silent = outcome(&case, &options);
            assert_ne!(silent.as_deref(), Some(message.as_str()), "{}: with its check off", path.display());
        }
    }
}

#[test]
fn bounds() {
    fails("bounds", |checks| checks.bounds = false);
}

#[test]
fn read_only() {
    fails("read_only", |checks| checks.read_only = false);
}

#[test]
fn poison() {
    fails("poison", |checks| checks.poison = false);
}

#[test]
fn uninitialised() {
    fails("uninitialised", |checks| checks.uninitialised = false);
}

#[test]
fn coverage_gaps() {
    fails("coverage", |_| {});
}

#[test]
fn races() {
    fails("race", |checks| checks.races = false);
}

#[test]
fn overlapping_lanes() {
    fails("overlap", |checks| checks.races = false);
}

#[test]
fn division() {
    fails("division", |checks| checks.division = false);
}

#[test]
fn wrapped() {
    fails("wrapped", |checks| checks.wrapped = false);
}

#[test]
fn limits() {
    for path in files("fail/limit") {
        let case = case(&path);
        // The two tapes count their own instructions: only the lazy one is blessed.
        let mut memory = case.memory.clone();
        let error = run(&case.program, &mut memory, case.grid, &case.args, &case.options).unwrap_err();
        expect_test::expect_file![path.with_extension("stderr")].assert_eq(&format!("{}\n", render(&error, false)));
        let dense = Options { dense: true, ..case.options.clone() };
        let mut memory = case.memory.clone();
        assert_eq!(run(&case.program, &mut memory, case.grid, &case.args, &dense).unwrap_err().code.id, error.code.id);
    }
}

#[test]
fn asserts() {
    fails("assert", |_| {});
}

#[test]
fn simplified_kernels_compute_and_fault_the_same() {
    // Limits count instructions, of which a simplified kernel has fewer.
    let faults = ["assert", "bounds", "coverage", "division", "overlap", "poison", "race", "uninitialised", "wrapped"];
    let folders = faults.map(|check| format!("fail/{check}"));
    for path in folders.iter().map(String::as_str).chain(["pass"]).flat_map(files) {
        let case = case(&path);
        let [plain, simplified] =
            [&case.program, &case.simplified].map(|program| run_all(program, &case.memory, case.grid, &case.args, &case.options));
        match (plain, simplified) {
            (Ok(plain), Ok(simplified)) => {
                for (a, b) in plain.buffers.iter().zip(&simplified.buffers) {
                    assert!(same_bits(&a.lanes, &b.lanes) && a.undefined == b.undefined, "{}: {}", path.display(), a.name);
                }
            }
            (plain, simplified) => {
                assert_eq!(plain.err(), simplified.err(), "{}", path.display());
            }
        }
    }
}

#[test]
fn what_is_no_fault_passes() {
    for path in files("pass") {
        let case = case(&path);
        if let Some(message) = outcome(&case, &case.options) {
            panic!("{}\n{message}", path.display());
        }
    }
}
