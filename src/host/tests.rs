//! Data-driven tests: each file of `tests/host/accept` has a blessed trace beside it, each file of
//! `tests/host/refuse` a blessed message. The first line says what `launch` (or `prepare`) is given:
//! `# x=f32[2,3] n=4 weights={a:f32[4]} parts=(f32[2],f32[3])`. Bless with UPDATE_EXPECT=1.

use std::path::{Path, PathBuf};

use expect_test::expect_file;
use smallvec::SmallVec;

use super::trace::{Event, HostTensor, KernelArg, Trace};
use super::{HostArg, Modules, prepare, trace_launch};
use crate::diag::{self, render::render};
use crate::dtype::DType;
use crate::graph::TensorType;
use crate::source::SourceFile;
use crate::syntax::parse_module;

fn cases(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "py"));
    files.sort();
    assert!(!files.is_empty());
    files
}

fn tensor(text: &str) -> TensorType {
    let (dtype, shape) = text.trim_end_matches(']').split_once('[').unwrap();
    let shape: SmallVec<[usize; 6]> = shape.split(',').filter(|s| !s.is_empty()).map(|s| s.parse().unwrap()).collect();
    TensorType { dtype: DType::from_name(dtype).unwrap(), shape }
}

/// Splits at commas outside brackets.
fn items(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    })
    .filter(|s| !s.is_empty())
    .collect()
}

fn argument(text: &str) -> HostArg {
    match text.chars().next().unwrap() {
        '(' => HostArg::Tuple(items(text.trim_matches(['(', ')'])).into_iter().map(argument).collect()),
        '{' => HostArg::Mapping(
            items(text.trim_matches(['{', '}']))
                .into_iter()
                .map(|item| item.split_once(':').unwrap())
                .map(|(name, ty)| (name.to_owned(), tensor(ty)))
                .collect(),
        ),
        '0'..='9' | '-' => HostArg::Int(text.parse().unwrap()),
        _ => HostArg::Tensor(tensor(text)),
    }
}

fn view(t: &HostTensor) -> String {
    let mut text = format!("#{} {}{:?}", t.storage.0, t.dtype, t.shape.as_slice());
    if !t.is_contiguous() || t.offset != 0 {
        text += &format!(" strides {:?} offset {}", t.strides.as_slice(), t.offset);
    }
    text
}

fn print(trace: &Trace) -> String {
    let mut text = String::new();
    for event in &trace.events {
        match event {
            Event::Alloc { storage, dtype, len, fill, .. } => text += &format!("alloc #{} {dtype} {len} {fill:?}\n", storage.0),
            Event::Launch(launch) => {
                text += &format!(
                    "launch {}.{} grid {:?} warps {:?} stages {:?}\n",
                    launch.module, launch.function, launch.grid, launch.num_warps, launch.num_stages
                );
                for (name, arg) in &launch.args {
                    let arg = match arg {
                        KernelArg::Tensor(t) => view(t),
                        other => format!("{other:?}"),
                    };
                    text += &format!("  {name} = {arg}\n");
                }
            }
        }
    }
    for tensor in &trace.returned {
        text += &format!("return {}\n", view(tensor));
    }
    text
}

/// Runs one file on its own first line.
fn run(path: &Path) -> diag::Result<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let first = text.lines().next().unwrap().trim_start_matches("# ").to_owned();
    let args: Vec<HostArg> = first.split_whitespace().map(|item| argument(item.split_once('=').unwrap().1)).collect();
    let mut modules = Modules::new();
    modules.add("file", parse_module(&SourceFile::new(name, text.clone()))?)?;
    if text.contains("def prepare(") {
        let HostArg::Mapping(weights) = &args[0] else { panic!("prepare takes weights") };
        let prepared = prepare(&modules, "file", weights)?;
        let mut lines = String::new();
        for (i, step) in prepared.steps.iter().enumerate() {
            lines += &format!("{i}: {}{:?} = {:?}\n", step.ty.dtype, step.ty.shape.as_slice(), step.op);
        }
        return Ok(lines + &format!("return {:?}\n", prepared.returned));
    }
    trace_launch(&modules, "file", "launch", &args).map(|trace| print(&trace))
}

#[test]
fn accepted_files_give_their_traces() {
    for path in cases("accept") {
        match run(&path) {
            Ok(trace) => expect_file![path.with_extension("trace")].assert_eq(&trace),
            Err(error) => panic!("{}: {}", path.display(), render(&error, false)),
        }
    }
}

#[test]
fn refused_files_name_line_and_construct() {
    for path in cases("refuse") {
        match run(&path) {
            Ok(trace) => panic!("{} is accepted:\n{trace}", path.display()),
            Err(error) => expect_file![path.with_extension("stderr")].assert_eq(&(render(&error, false) + "\n")),
        }
    }
}

#[test]
fn launches_are_followed_into_other_files() {
    let kernel = "import triton\n@triton.jit\ndef k(x, n): pass\ndef launch(x):\n    k[(x.numel(),)](x, 1)\n    return x\n";
    let run = "import torch\nfrom kernels import a as first, b\nimport kernels.b\n\
               def forward(x, weights, prepared):\n    (w,) = prepared\n    y = first.launch(x)\n    y = b.launch(weights[\"w\"])\n    \
               y = kernels.b.launch(w)\n    return y\n";
    let mut modules = Modules::new();
    for (name, text) in [("kernels.a", kernel), ("kernels.b", kernel), ("run", run)] {
        modules.add(name, parse_module(&SourceFile::new(format!("{name}.py"), text)).unwrap()).unwrap();
    }
    let args = [
        HostArg::Tensor(tensor("f32[2]")),
        HostArg::Mapping(vec![("v".into(), tensor("f32[5]")), ("w".into(), tensor("f32[3]"))]),
        HostArg::Tuple(vec![HostArg::Tensor(tensor("f32[4]"))]),
    ];
    let trace = super::trace_forward(&modules, "run", &args).unwrap();
    let grids: Vec<_> = trace.launches().map(|l| (l.module.as_str(), l.grid[0])).collect();
    assert_eq!(grids, [("kernels.a", 2), ("kernels.b", 3), ("kernels.b", 4)]);
    let names: Vec<_> = trace.storages.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["x", "weights[\"v\"]", "weights[\"w\"]", "prepared[0]"]);
    assert_eq!(trace.returned[0].storage.0, 3);
}

/// A kernel's verdict is known by its own file's text, which therefore is all that may decide it.
#[test]
fn a_kernel_file_imports_no_other_file_of_the_suite() {
    let file = |import: &str| format!("import torch\n{import}\ndef launch(x):\n    return x\n");
    let run = |entry: &str, import: &str| {
        let mut modules = Modules::new();
        for (name, text) in [("kernels.a", file(import)), ("kernels.b", file("")), ("run", file("from kernels import a\n"))] {
            modules.add(name, parse_module(&SourceFile::new(format!("{name}.py"), text)).unwrap()).unwrap();
        }
        trace_launch(&modules, entry, "launch", &[HostArg::Tensor(tensor("f32[2]"))])
    };
    for import in [
        "import kernels.b",
        "import os, kernels",
        "from kernels import b",
        "from kernels.b import launch as other",
        "import b",
        "from weights import load",
        "import run",
    ] {
        let error = run("kernels.a", import).unwrap_err();
        assert_eq!(error.code.id, "H001", "{import}: {error}");
        assert!(render(&error, false).contains("kernels.a.py:2:1"), "{}", render(&error, false));
    }
    assert!(run("kernels.a", "import triton.language as tl").is_ok());
    assert!(run("run", "").is_ok());
}
