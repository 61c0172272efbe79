//! Tests over text files: `tests/kernel/lower/*.py` with the IR they lower to, `tests/kernel/fail/*.py`
//! with the message they are refused with.
//!
//! A line `# compile: kernel x_ptr=*f32 n=i32 BLOCK=64` asks for one specialisation; a file may have
//! several. Besides types and constants, an argument is `fn:NAME`, `dtype:f16`, a tuple `[*f32;i32]` or a
//! descriptor `desc:f16:64x64`. Bless with UPDATE_EXPECT=1.

use std::path::{Path, PathBuf};

use super::{ArgSpec, Kernel, Sources, Specialization, Verified, compile_sources};
use crate::diag::Result;
use crate::diag::render::render;
use crate::dtype::DType;
use crate::source::SourceFile;
use crate::syntax::{eval, parse_expression, parse_module};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel").join(name)
}

fn files(name: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "py"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

fn arg(text: &str) -> ArgSpec {
    match text {
        "i32" => ArgSpec::Int { bits: 32 },
        "i64" => ArgSpec::Int { bits: 64 },
        "f32" => ArgSpec::Float,
        "u64" => ArgSpec::Unsigned { bits: 64 },
        "bool" => ArgSpec::Bool,
        _ if text.starts_with("fn:") => ArgSpec::Function(text["fn:".len()..].to_owned()),
        _ if text.starts_with("dtype:") => ArgSpec::Type(DType::from_name(&text["dtype:".len()..]).unwrap()),
        _ if text.starts_with('[') => ArgSpec::Tuple(text.trim_matches(['[', ']']).split(';').map(arg).collect()),
        _ if text.starts_with("desc:") => {
            let (dtype, block) = text["desc:".len()..].split_once(':').unwrap();
            let block = block.split('x').map(|n| n.parse().unwrap()).collect();
            ArgSpec::Descriptor { dtype: DType::from_name(dtype).unwrap(), block }
        }
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

/// Compiles every specialisation that a file asks for.
fn compile_all(path: &Path) -> Vec<(String, Result<Verified<Kernel>>)> {
    let name = path.file_name().unwrap().to_str().unwrap();
    compile_text(name, &std::fs::read_to_string(path).unwrap())
}

fn compile_text(name: &str, text: &str) -> Vec<(String, Result<Verified<Kernel>>)> {
    let file = SourceFile::new(name, text);
    let requests = file.text().lines().filter_map(|line| line.strip_prefix("# compile: "));
    let requests: Vec<String> = requests.map(str::to_owned).collect();
    assert!(!requests.is_empty(), "{name} has no `# compile:` line");
    let run = |request: String| {
        let mut words = request.split_whitespace();
        let entry = words.next().unwrap().to_owned();
        let args = words.map(|word| word.split_once('=').unwrap()).map(|(name, value)| (name.to_owned(), arg(value)));
        let spec = Specialization { args: args.collect(), ..Specialization::default() };
        let outcome = parse_module(&file).and_then(|module| compile_sources(&mut Sources::single(module), &entry, &spec));
        (request, outcome)
    };
    requests.into_iter().map(run).collect()
}

#[test]
fn kernels_lower_to_their_blessed_text() {
    for path in files("lower") {
        let mut text = String::new();
        for (request, outcome) in compile_all(&path) {
            let kernel = outcome.unwrap_or_else(|error| panic!("{}", render(&error, false)));
            let printed = kernel.to_string();
            let file = SourceFile::new("printed.ttir", printed.as_str());
            let back = super::parse(&file).unwrap_or_else(|error| panic!("{}", render(&error, false)));
            assert_eq!(back.to_string(), printed, "the text does not read back");
            text.push_str(&format!("// {request}\n{printed}\n"));
        }
        expect_test::expect_file![path.with_extension("ttir")].assert_eq(&text);
    }
}

/// The same kernels as Triton's own compiler prints them after its first passes.
#[test]
fn tritons_own_text_is_read() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder("triton")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let mut unsupported = String::new();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let file = SourceFile::new(name, std::fs::read_to_string(&path).unwrap());
        match super::parse(&file) {
            Ok(kernel) => {
                let again = SourceFile::new("printed.ttir", kernel.to_string());
                assert_eq!(super::parse(&again).unwrap().to_string(), again.text(), "{name}");
            }
            Err(error) if error.code.id == "K001" => unsupported.push_str(&format!("{name}: {}\n", error.message)),
            Err(error) => panic!("{}", render(&error, false)),
        }
    }
    expect_test::expect![""].assert_eq(&unsupported);
}

#[test]
fn bad_kernels_are_refused_with_their_blessed_message() {
    for path in files("fail") {
        let mut text = String::new();
        for (request, outcome) in compile_all(&path) {
            match outcome {
                Ok(kernel) => panic!("{}: `{request}` compiles:\n{}", path.display(), *kernel),
                Err(error) => text.push_str(&format!("{}\n\n", render(&error, false))),
            }
        }
        expect_test::expect_file![path.with_extension("stderr")].assert_eq(&text);
    }
}

/// A text without its i-th line.
fn without_line(text: &str, i: usize) -> String {
    text.lines().enumerate().filter(|(at, _)| *at != i).map(|(_, line)| format!("{line}\n")).collect()
}

/// Broken input is refused as the user's fault, never with a panic and never as ours.
#[test]
fn a_missing_line_is_never_an_internal_error() {
    for path in files("lower") {
        let name = path.file_name().unwrap().to_str().unwrap();
        let python = std::fs::read_to_string(&path).unwrap();
        let first = python.lines().position(|line| !line.starts_with("# compile")).unwrap();
        for i in first..python.lines().count() {
            for (request, outcome) in compile_text(name, &without_line(&python, i)) {
                if let Err(error) = outcome {
                    assert!(!matches!(error.code.id, "K005" | "X001"), "line {}, {request}: {}", i + 1, render(&error, false));
                }
            }
        }
        let ttir = std::fs::read_to_string(path.with_extension("ttir")).unwrap();
        let kernel = ttir.split("\n// ").next().unwrap();
        for i in 0..kernel.lines().count() {
            // Either outcome is right; a panic is not.
            let _ = super::parse(&SourceFile::new(name, without_line(kernel, i))).map_err(|error| render(&error, false));
        }
    }
}

/// Simplified kernels verify and print as text that reads back.
#[test]
fn simplified_kernels_verify() {
    for path in files("lower") {
        for (request, outcome) in compile_all(&path) {
            let kernel = super::passes::simplify(outcome.unwrap());
            let kernel = kernel.unwrap_or_else(|error| panic!("{request}: {}", render(&error, false)));
            let again = super::passes::simplify(kernel.clone()).unwrap();
            assert_eq!(again.to_string(), kernel.to_string(), "{request}: a second run still finds something");
        }
    }
}
