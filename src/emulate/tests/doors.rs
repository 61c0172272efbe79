//! Two doors: a kernel lowered from Python, and Triton's own IR of it, leave the same bits in memory.
//!
//! `tests/kernel/source` holds Triton's IR before any pass, `tests/kernel/triton` what its ttir stage makes of it, both of
//! kernels of `tests/kernel/lower` (`tools/dump_ttir.py` writes them). Scalars and elements are drawn; where one
//! door finds a fault the other must find one of the same code.
//!
//! The ttir stage changes rounding where it folds an addition into a dot, and these kernels are named.

use std::path::{Path, PathBuf};

use super::*;
use crate::dtype::Carrier;
use crate::kernel::filetests;

/// Elements of every buffer.
const LENGTH: usize = 8192;

/// Inputs of a kernel by its parameters.
fn inputs(kernel: &Kernel) -> (Memory, Vec<Arg>) {
    let mut memory = Memory::default();
    let args = kernel.params.iter().enumerate().map(|(i, param)| match kernel.ty(param.value).elem {
        Elem::Ptr(dtype) => {
            let drawn = numbers(LENGTH, i as u64);
            let lanes = match dtype.carrier() {
                Carrier::F32 => Storage::F32(drawn.iter().map(|&v| dtype.round(v.into()) as f32).collect()),
                Carrier::F64 => Storage::F64(drawn.iter().map(|&v| v.into()).collect()),
                Carrier::I64 => Storage::I64(drawn.iter().map(|&v| (v * 8.0).abs() as i64).collect()),
                Carrier::Bool => Storage::Bool(drawn.iter().map(|&v| u8::from(v > 0.0)).collect()),
            };
            whole(memory.insert(&*param.name, lanes), &[LENGTH])
        }
        elem if elem.is_float() => Arg::Float(0.5),
        Elem::I1 => Arg::Int(1),
        _ => Arg::Int([24, 7, 40][i % 3]),
    });
    let args = args.collect();
    (memory, args)
}

/// What a kernel leaves in memory that was drawn for another, or the code of its fault.
fn outcome(kernel: &Verified<Kernel>, (mut memory, args): (Memory, Vec<Arg>)) -> Result<Memory, String> {
    let program = Program::compile(kernel).map_err(|error| error.code.id.to_owned())?;
    run(&program, &mut memory, [2, 1, 1], &args, &Options::default()).map_err(|error| error.code.id.to_owned())?;
    Ok(memory)
}

/// How Triton's text of a kernel differs from ours; `None` when it does not.
fn difference(path: &Path) -> Option<String> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let mut parts = name.split('.').next().unwrap().splitn(3, '_');
    let (python, number) = (parts.next().unwrap(), parts.next().unwrap().parse::<usize>().unwrap());
    let ours = match filetests::nth(python, number) {
        Ok(kernel) => kernel,
        Err(error) => return Some(format!("ours is refused: {}", error.message)),
    };
    let file = SourceFile::new(name, std::fs::read_to_string(path).unwrap());
    let theirs = match crate::kernel::parse(&file) {
        Ok(kernel) => kernel,
        Err(error) => return Some(format!("not read: {error}")),
    };
    // A pointee has no sign in Triton's text.
    let types = |kernel: &Kernel| kernel.params.iter().map(|p| kernel.ty(p.value).to_string()).collect::<Vec<_>>();
    if types(&ours) != types(&theirs) {
        return Some(format!("{} parameters, not {}", theirs.params.len(), ours.params.len()));
    }
    match (outcome(&ours, inputs(&ours)), outcome(&theirs, inputs(&ours))) {
        (Err(ours), Err(theirs)) => (ours != theirs).then(|| format!("{theirs}, ours {ours}")),
        (Err(ours), Ok(_)) => Some(format!("no fault, ours {ours}")),
        (Ok(_), Err(theirs)) => Some(format!("{theirs}, ours has no fault")),
        (Ok(ours), Ok(theirs)) => {
            let differ = ours.buffers.iter().zip(&theirs.buffers).find(|(a, b)| !same_bits(&a.lanes, &b.lanes));
            differ.map(|(buffer, _)| format!("{} differs", buffer.name))
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "ttir"));
    files.sort();
    assert!(!files.is_empty());
    files
}

/// One line a file that differs, and how many there are in all.
fn differences(folder: &Path) -> (String, usize) {
    let files = files(folder);
    let told =
        files.iter().filter_map(|path| Some(format!("{}: {}\n", path.file_name().unwrap().to_str().unwrap(), difference(path)?)));
    (told.collect(), files.len())
}

fn own(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel").join(folder)
}

#[test]
fn before_passes_both_doors_agree_to_the_bit() {
    let (told, _) = differences(&own("source"));
    expect_test::expect![""].assert_eq(&told);
}

#[test]
fn after_the_ttir_stage_the_doors_agree_but_for_named_kernels() {
    let (told, _) = differences(&own("triton"));
    expect_test::expect![""].assert_eq(&told);
}

#[test]
#[ignore = "needs a folder of TTIR, which tools/dump_ttir.py writes"]
fn of_a_folder() {
    let folder = std::env::var("TTIR_FOLDER").unwrap();
    let (told, count) = differences(Path::new(&folder));
    println!("{told}{} of {count} files agree", count - told.lines().count());
}
