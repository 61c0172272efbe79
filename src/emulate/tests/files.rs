//! Kernels in files: `tests/emulate/fail/<code>/*.py` with the message that each gives, `tests/emulate/pass/*.py`, which
//! look like faults and are none, and `tests/emulate/language/*.py`, which show what the language has
//! (docs/language.md says where; `tools/check_language.py` asks Triton's interpreter for the same values). And the
//! honesty of checks: with one of them off, its fail tests, and only they, are no longer told as before.
//!
//! Header lines, after `# compile:` (one a file):
//! `# buffer: NAME dtype[len] (empty | zeros | iota | a number) [read]` makes a buffer, which with `read`
//! no launch may store to;
//! `# launch: GRID arg …` runs, where an argument is a number, or a buffer's name with, maybe, a view:
//! `x`, `x(2,4)`, `x(2,4:8,1+3)` (shape, strides, element of the first index).
//! An i64 buffer may be filled with addresses: `# buffer: table i64[2] &x &y+8`.
//! `# value: NAME v v v*n …` (files that pass) says what a buffer holds afterwards.
//! `# warns: CODE` (there) is a warning that is right.
//! The line that a message points at ends with `#~ CODE`; a line that is only that stands for a message without a place.
//! `# target: NAME` (files of the language) says which compiler is meant;
//! `# fuel: N`, `# memory: N` set limits; `# otherwise: CODE` says what finds the fault when its own check is
//! off, which without this line nothing does. Bless with UPDATE_EXPECT=1.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::*;
use crate::diag::{Class, codes};
use crate::emulate::check::{self, Check};
use crate::kernel::passes::simplify;
use crate::shape::Strides;

struct Case {
    /// The check off, another one finds the fault.
    otherwise: Option<String>,
    program: Program,
    /// The same kernel after `kernel::passes::simplify`.
    simplified: Program,
    /// Its accesses alone, by `kernel::passes::addresses`.
    accesses: Program,
    memory: Memory,
    grid: [u32; 3],
    args: Vec<Arg>,
    options: Options,
    /// Codes of warnings that are right.
    warns: Vec<String>,
    /// What buffers hold in the end.
    values: Vec<(BufferId, Vec<f64>)>,
}

fn case(path: &Path) -> Case {
    let name = path.file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let lines = |key: &str| -> Vec<String> {
        let key = format!("# {key}: ");
        text.lines().filter_map(|l| l.strip_prefix(&key)).map(str::to_owned).collect()
    };
    let request = &lines("compile")[0];
    let kernel = match path.parent().is_some_and(|folder| folder.ends_with("language")) {
        true => {
            let target = lines("target").pop().map(|name| crate::target::Target::find(&name).unwrap());
            beside(path, request, target)
        }
        false => kernel(name, &text, request),
    };
    let kernel = kernel.unwrap_or_else(|error| panic!("{}", render(&error, false)));
    let program = Program::compile(&kernel).unwrap_or_else(|error| panic!("{}", render(&error, false)));
    let simplified = Program::compile(&simplify(kernel).unwrap()).unwrap();
    let accesses = accesses(&program);
    let mut memory = Memory::default();
    for line in lines("buffer") {
        let mut words = line.split_whitespace();
        let (name, ty, fill) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let (dtype, len) = ty.strip_suffix(']').unwrap().split_once('[').unwrap();
        let (dtype, len) = (DType::from_name(dtype).unwrap(), len.parse().unwrap());
        let id = memory.allocate(name, dtype, len);
        if fill.starts_with('&') {
            let address = |word: &str| {
                let Some(place) = word.strip_prefix('&') else { return word.parse().unwrap() };
                let (name, offset) = place.split_once('+').unwrap_or((place, "0"));
                let buffer = memory.buffers.iter().position(|b| b.name == name).unwrap();
                memory.address(BufferId(buffer)) + offset.parse::<i64>().unwrap()
            };
            let mut addresses: Vec<i64> = std::iter::once(fill).chain(words).map(address).collect();
            addresses.resize(len, 0);
            memory.buffers[id.0].lanes = Storage::I64(addresses);
            memory.buffers[id.0].undefined = None;
            continue;
        }
        let protected = match words.next() {
            None => false,
            Some("read") => true,
            Some(other) => panic!("{}: `{other}` after a buffer", path.display()),
        };
        memory.protect(id, protected);
        if fill != "empty" {
            memory.buffers[id.0].undefined = None;
            let value = |i: usize| match fill {
                "iota" => i as f64,
                "zeros" => 0.0,
                number => number.parse().unwrap(),
            };
            match &mut memory.buffers[id.0].lanes {
                Storage::F32(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = value(i) as f32),
                Storage::F64(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = value(i)),
                Storage::I64(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = value(i) as i64),
                Storage::Bool(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = value(i) as u8),
            }
        }
    }
    let launch = lines("launch")[0].clone();
    let mut words = launch.split_whitespace();
    let mut grid = [1; 3];
    words.next().unwrap().split(',').zip(&mut grid).for_each(|(n, g)| *g = n.parse().unwrap());
    let args = words.map(|word| argument(word, &memory)).collect();
    let values = lines("value").iter().map(|line| values(line, &memory)).collect();
    let number = |key: &str| lines(key).first().map(|n| n.parse::<u64>().unwrap());
    let mut options = Options { checks: Checks::watchful(), ..Options::default() };
    options.fuel = number("fuel").unwrap_or(options.fuel);
    options.memory = number("memory").map_or(options.memory, |n| n as usize);
    Case {
        otherwise: lines("otherwise").pop(),
        program,
        simplified,
        accesses,
        memory,
        grid,
        args,
        options,
        values,
        warns: lines("warns"),
    }
}

/// `y 1 2 3*4`.
fn values(line: &str, memory: &Memory) -> (BufferId, Vec<f64>) {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap();
    let buffer = BufferId(memory.buffers.iter().position(|b| b.name == name).unwrap());
    let values = words.flat_map(|word| {
        let (value, times) = word.split_once('*').unwrap_or((word, "1"));
        vec![value.parse().unwrap(); times.parse().unwrap()]
    });
    (buffer, values.collect())
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

/// What a run, and coverage after it, has to say: its code, and the message. The two tapes count their own
/// instructions, so of limits only the lazy one's message is looked at.
fn outcome(case: &Case, options: &Options, limits: bool) -> Option<(String, String)> {
    outcome_of(&case.program, case, options, limits)
}

fn outcome_of(program: &Program, case: &Case, options: &Options, limits: bool) -> Option<(String, String)> {
    let run = match limits {
        false => run_all(program, &case.memory, case.grid, &case.args, options),
        true => {
            let mut memory = case.memory.clone();
            let ran = run(program, &mut memory, case.grid, &case.args, options);
            ran.map(|_| memory).map_err(|error| render(&error, false))
        }
    };
    let message = match run {
        Err(message) => Some(message),
        Ok(memory) => case.args.iter().zip(&program.stores).find_map(|(arg, stores)| match arg {
            Arg::Pointer(view) if *stores => coverage(&memory, view, options.checks).map(|d| render(&d, false)),
            Arg::Pointer(_) | Arg::Int(_) | Arg::Float(_) => None,
        }),
    };
    // After faults, warnings.
    let message = message.or_else(|| {
        let report = crate::emulate::run(program, &mut case.memory.clone(), case.grid, &case.args, options).ok()?;
        report.findings.first().map(|finding| render(finding, false))
    })?;
    let code = message.split(['[', ']']).nth(1).unwrap().to_owned();
    Some((code, message))
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulate").join(folder);
    let all = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let (mut files, said): (Vec<_>, Vec<_>) = all
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .partition(|path| path.extension().is_some_and(|e| e == "py"));
    for path in said {
        assert!(path.with_extension("py").exists(), "{} is said of nothing", path.display());
    }
    files.sort();
    assert!(!files.is_empty(), "{}", folder.display());
    files
}

/// Every code that a check has, and no other, has a folder of fail tests.
fn fail_tests() -> Vec<(&'static Check, &'static str, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulate/fail");
    let found: BTreeSet<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let owned: Vec<_> = check::ALL.iter().flat_map(|check| check.codes.iter().map(move |code| (check, code.id))).collect();
    assert_eq!(found, owned.iter().map(|(_, id)| (*id).to_owned()).collect(), "folders, and codes of checks");
    let tests =
        owned.into_iter().flat_map(|(check, id)| files(&format!("fail/{id}")).into_iter().map(move |path| (check, id, path)));
    tests.collect()
}

/// The line of a file that ends with the mark of its code; a line that is nothing else says that the message has none.
fn marked(path: &Path) -> Option<usize> {
    let id = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let marks: Vec<(usize, &str)> = text.lines().enumerate().filter(|(_, line)| line.ends_with(&format!("#~ {id}"))).collect();
    let [(at, line)] = marks[..] else { panic!("{}: one line ends with `#~ {id}`", path.display()) };
    (!line.starts_with("#~")).then_some(at + 1)
}

/// The line that a rendered message points at.
fn pointed_at(message: &str) -> Option<usize> {
    let (_, place) = message.split_once("--> ")?;
    place.lines().next()?.rsplit(':').nth(1)?.parse().ok()
}

fn is_limit(id: &str) -> bool {
    codes::find(id).unwrap().class == Class::Limit
}

#[test]
fn every_fault_is_told_as_blessed() {
    for (_, id, path) in fail_tests() {
        let case = case(&path);
        let found = outcome(&case, &case.options, is_limit(id));
        let (code, message) = found.unwrap_or_else(|| panic!("{} finds nothing", path.display()));
        assert_eq!(code, id, "{}", path.display());
        assert_eq!(marked(&path), pointed_at(&message), "{}: the line that ends with `#~ {id}`", path.display());
        expect_test::expect_file![path.with_extension("stderr")].assert_eq(&format!("{message}\n"));
        if is_limit(id) {
            let dense = Options { dense: true, ..case.options.clone() };
            assert_eq!(outcome(&case, &dense, true).unwrap().0, id, "{}", path.display());
        }
    }
}

#[test]
fn without_a_check_its_faults_and_only_its_pass() {
    let tests = fail_tests();
    let mut wrong = Vec::new();
    for off in check::ALL {
        for (own, id, path) in &tests {
            let case = case(path);
            let mut options = case.options.clone();
            (off.off)(&mut options);
            let found = outcome(&case, &options, is_limit(id));
            let fine = if own.name == off.name {
                found.as_ref().map(|(code, _)| code) == case.otherwise.as_ref()
            } else {
                let blessed = std::fs::read_to_string(path.with_extension("stderr")).unwrap();
                found.as_ref().is_some_and(|(_, message)| format!("{message}\n") == blessed)
            };
            if !fine {
                let told = found.map_or("nothing is found".to_owned(), |(_, message)| message);
                wrong.push(format!("without {}, {}: {told}", off.name, path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A check all of whose faults something else finds anyway could be left out unnoticed.
#[test]
fn every_check_finds_something_alone() {
    for check in check::ALL {
        let mut own = fail_tests().into_iter().filter(|(owner, _, _)| owner.name == check.name);
        assert!(own.any(|(_, _, path)| case(&path).otherwise.is_none()), "{}", check.name);
    }
}

#[test]
fn simplified_kernels_compute_and_fault_the_same() {
    // Limits count instructions, of which a simplified kernel has fewer.
    let faults = fail_tests().into_iter().filter(|(_, id, _)| !is_limit(id)).map(|(_, _, path)| path);
    for path in faults.chain(files("pass")).chain(files("language")) {
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
fn the_accesses_of_a_kernel_fault_as_it_does() {
    // Faults of values are missed, and what they lead to may be found in their place.
    const OF_VALUES: [&str; 11] = ["A003", "A004", "A005", "A009", "A011", "A013", "A021", "A022", "A023", "A024", "A025"];
    let faults = fail_tests().into_iter().filter(|(_, id, _)| !is_limit(id)).map(|(_, id, path)| (id, path));
    let (mut partly, whole): (Vec<_>, Vec<_>) = faults.partition(|(id, _)| OF_VALUES.contains(id));
    for (_, path) in whole {
        let case = case(&path);
        let found = outcome_of(&case.accesses, &case, &case.options, false);
        assert_eq!(found, outcome(&case, &case.options, false), "{}", path.display());
    }
    partly.sort();
    let mut found = String::new();
    for (_, path) in partly {
        let case = case(&path);
        let code = |program| outcome_of(program, &case, &case.options, false).map_or("-".to_owned(), |(code, _)| code);
        let [whole, accesses] = [&case.program, &case.accesses].map(code);
        found.push_str(&format!("{}: {whole} {accesses}\n", path.file_stem().unwrap().to_string_lossy()));
    }
    expect_test::expect![[r#"
        added_atomically: A003 A003
        block_pointer_without_padding: A003 -
        reduced: A003 -
        stored: A003 -
        through_a_dot: A003 -
        address: A004 A004
        branch: A005 A005
        in_an_address: A009 A009
        used: A009 -
        mask_of_a_scalar: A011 A011
        offset: A011 A011
        two_axes: A011 A011
        offsets_wrap_around: A013 -
        stride_of_a_shorter_row: A013 A006
        the_same_in_every_row: A013 -
        places_by_a_counter: A021 A021
        who_comes_last: A021 A021
        divided_by_an_empty_sum: A022 -
        infinite_input: A022 -
        logarithm_of_a_negative: A022 -
        shifted_by_the_width: A023 -
        offset_cut_to_32_bits: A024 -
        position_in_bf16: A024 -
        sum_of_squares_in_halves: A024 -
        mask_left_out: A025 -
    "#]]
    .assert_eq(&found);
}

#[test]
fn what_is_no_fault_passes() {
    for path in files("pass").into_iter().chain(files("language")) {
        let case = case(&path);
        let right = |code: &String| case.warns.contains(code);
        if let Some((_, message)) = outcome_of(&case.accesses, &case, &case.options, false).filter(|(code, _)| !right(code)) {
            panic!("its accesses: {}\n{message}", path.display());
        }
        if let Some((_, message)) = outcome(&case, &case.options, false).filter(|(code, _)| !right(code)) {
            panic!("{}\n{message}", path.display());
        }
        let after = run_all(&case.program, &case.memory, case.grid, &case.args, &case.options).unwrap();
        for (buffer, values) in &case.values {
            let lanes = after.lanes(*buffer);
            let found: Vec<f64> = (0..lanes.len()).map(|i| lanes.get_f64(i)).collect();
            assert_eq!(&found, values, "{}: {}", path.display(), after.buffers[buffer.0].name);
        }
    }
}
