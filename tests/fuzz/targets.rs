//! The doors, and what is thrown at them.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use decompose::diag::render::render;
use decompose::dtype::DType;
use decompose::graph::verify::verify;
use decompose::import::{Binding, torch_export};
use decompose::kernel::{self, ArgSpec, Specialization};
use decompose::launch::comments;
use decompose::pipeline::Cancel;
use decompose::pipeline::emulate::{Asked, ConfigChoice, emulate};
use decompose::source::SourceFile;
use decompose::syntax::{Constant, parse_module, yaml};

use crate::choices::Choices;
use crate::mutate::{damaged, damaged_bytes};
use crate::runner::{begin, cases};
use crate::{data, launches, python, recordings, run, ttir};

const POINTEES: [DType; 9] =
    [DType::F32, DType::F16, DType::BF16, DType::F64, DType::I32, DType::I64, DType::I8, DType::U8, DType::F8E5M2];

/// Lowers `k` of a text for types of the tape's choice, and checks what comes of it.
fn lower_and_check(text: &str, block: usize, choices: &mut Choices<'_>) {
    let file = SourceFile::new("k.py", text);
    let module = match parse_module(&file) {
        Ok(module) => module,
        Err(error) => return run::allow(&error),
    };
    let pointer = |dtype| ArgSpec::Pointer(dtype);
    let named = |name: &str, spec| (name.to_owned(), spec);
    let args = vec![
        named("x_ptr", pointer(choices.of(&POINTEES[..4]))),
        named("i_ptr", pointer(choices.of(&POINTEES[4..8]))),
        named("y_ptr", pointer(choices.of(&POINTEES))),
        named("z_ptr", pointer(choices.of(&[DType::F32, DType::I32, DType::F16]))),
        named("n", choices.of(&[ArgSpec::Int { bits: 32 }, ArgSpec::Int { bits: 64 }, ArgSpec::Unsigned { bits: 32 }])),
        named("BLOCK", ArgSpec::Constexpr(Constant::Int(block as i64))),
    ];
    match kernel::compile(&module, "k", &Specialization { args, ..Specialization::default() }) {
        Ok(kernel) => run::check(kernel, choices),
        Err(error) => run::allow(&error),
    }
}

#[test]
fn python_by_grammar() {
    cases("python", 400, 600, |tape| {
        let mut choices = Choices::new(tape);
        let kernel = python::kernel(&mut choices);
        let text = if choices.one_in(3) { damaged(&kernel.text, &mut choices) } else { kernel.text };
        begin("python", text.as_bytes());
        lower_and_check(&text, kernel.block, &mut choices);
    });
}

fn check_ttir(text: &str, choices: &mut Choices<'_>) {
    match kernel::parse(&SourceFile::new("k.ttir", text)) {
        Ok(kernel) => run::check(kernel, choices),
        Err(error) => run::allow(&error),
    }
}

#[test]
fn ttir_by_grammar() {
    cases("ttir", 400, 500, |tape| {
        let mut choices = Choices::new(tape);
        let kernel = ttir::kernel(&mut choices);
        let text = if choices.one_in(3) { damaged(&kernel, &mut choices) } else { kernel };
        begin("ttir", text.as_bytes());
        check_ttir(&text, &mut choices);
    });
}

/// The grammar makes TTIR that is read, not only refused.
#[test]
fn most_ttir_by_grammar_is_read() {
    let read = (0..100u8).filter(|seed| {
        let tape: Vec<u8> =
            (0..400u32).map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(u32::from(*seed) * 977) >> 13) as u8).collect();
        let text = ttir::kernel(&mut Choices::new(&tape));
        kernel::parse(&SourceFile::new("k.ttir", text.as_str())).is_ok()
    });
    let count = read.count();
    assert!(count >= 80, "{count} of 100");
}

/// Every kernel file below `tests`, and the templates.
static CORPUS: LazyLock<Vec<(PathBuf, String)>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = ["tests/kernel", "tests/emulate", "operator_templates"].iter().map(|f| root.join(f)).collect();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder is there") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "py" || e == "ttir") {
                found.push((path.clone(), std::fs::read_to_string(&path).expect("it is text")));
            }
        }
    }
    found.sort();
    found
});

/// A file of the corpus, damaged.
fn of_the_corpus(extension: &str, choices: &mut Choices<'_>) -> String {
    let files: Vec<&String> =
        CORPUS.iter().filter(|(path, _)| path.extension().is_some_and(|e| e == extension)).map(|(_, t)| t).collect();
    // A file may hold several kernels: one of them, with what stands before it.
    let text = choices.of(&files);
    let marks: Vec<usize> = text.match_indices("\ntt.func").map(|(at, _)| at).chain([text.len()]).collect();
    let text = if extension == "ttir" && marks.len() > 1 {
        let nth = choices.below(marks.len() - 1);
        &text[marks[nth]..marks[nth + 1]]
    } else {
        text.as_str()
    };
    damaged(text, choices)
}

#[test]
fn ttir_of_files_damaged() {
    cases("ttir-files", 300, 80, |tape| {
        let mut choices = Choices::new(tape);
        let text = of_the_corpus("ttir", &mut choices);
        begin("ttir-files", text.as_bytes());
        check_ttir(&text, &mut choices);
    });
}

#[test]
fn python_of_files_damaged() {
    cases("python-files", 300, 80, |tape| {
        let mut choices = Choices::new(tape);
        let text = of_the_corpus("py", &mut choices);
        begin("python-files", text.as_bytes());
        let file = SourceFile::new("k.py", text.as_str());
        let module = match parse_module(&file) {
            Ok(module) => module,
            Err(error) => return run::allow(&error),
        };
        if let Err(error) = comments::read(&module, Path::new("")) {
            run::allow(&error);
        }
        // As its `# compile:` lines ask, in types that may not fit what is left of it.
        for request in text.lines().filter_map(|line| line.strip_prefix("# compile: ")) {
            let mut words = request.split_whitespace();
            let Some(entry) = words.next() else { continue };
            let arg = |word: &str| {
                let (name, value) = word.split_once('=')?;
                let spec = match value {
                    "i32" => ArgSpec::Int { bits: 32 },
                    "i64" => ArgSpec::Int { bits: 64 },
                    "f32" => ArgSpec::Float,
                    _ => match value.strip_prefix('*') {
                        Some(dtype) => ArgSpec::Pointer(DType::from_name(dtype)?),
                        None => ArgSpec::Constexpr(Constant::Int(value.parse().ok()?)),
                    },
                };
                Some((name.to_owned(), spec))
            };
            let spec = Specialization { args: words.filter_map(arg).collect(), ..Specialization::default() };
            match kernel::compile(&module, entry, &spec) {
                Ok(kernel) => run::check(kernel, &mut choices),
                Err(error) => run::allow(&error),
            }
        }
    });
}

const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.jit
def k(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0)
    b = tl.load(y + at, mask=at < n, other=0)
    tl.store(z + at, a + b, mask=at < n)
";

/// Runs a description of [`KERNEL`] as the command line does.
fn launch(folder: &Path, text: &[u8], npy: &[u8], tensors: &[u8]) {
    let path = |name: &str| folder.join(name);
    let write = |name: &str, bytes: &[u8]| std::fs::write(path(name), bytes).expect("the folder can be written");
    write("k.py", KERNEL.as_bytes());
    write("runs.yaml", text);
    write("x.npy", npy);
    write("t.safetensors", tensors);
    let asked = Asked {
        file: path("k.py"),
        entry: None,
        runs: Some(path("runs.yaml")),
        args: Vec::new(),
        grid: None,
        expect: Vec::new(),
        config: ConfigChoice::All,
        target: None,
        seed: 0,
        fuel: Some(2000),
        memory: Some(16 << 20),
        threads: 1,
        dense: false,
        stats: false,
        warnings: true,
    };
    match emulate(&asked, &Cancel::default()) {
        Ok(report) => report.findings().for_each(run::allow),
        Err(found) => found.iter().for_each(run::allow),
    }
}

#[test]
fn launches_by_grammar() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = |dtype| {
        decompose::tensor::npy::write(&decompose::tensor::Tensor::zeros(dtype, decompose::shape::Shape::from_slice(&[8])))
    };
    cases("launches", 300, 160, |tape| {
        let mut choices = Choices::new(tape);
        let text = launches::description(&mut choices);
        let text = if choices.one_in(4) { damaged(&text, &mut choices) } else { text };
        begin("launches", text.as_bytes());
        let npy = if choices.below(2) == 0 { whole(DType::F32) } else { data::npy_file(&mut choices) };
        let tensors = data::safetensors_file(&mut choices);
        launch(folder.path(), text.as_bytes(), &npy, &tensors);
    });
}

#[test]
fn recordings_by_grammar() {
    let folder = tempfile::tempdir().expect("a folder");
    cases("recordings", 300, 120, |tape| {
        let (text, tensors) = recordings::recording(&mut Choices::new(tape));
        begin("recordings", text.as_bytes());
        recordings::play(folder.path(), KERNEL, text.as_bytes(), &tensors);
    });
}

#[test]
fn tensor_files() {
    cases("tensors", 2000, 120, |tape| {
        let mut choices = Choices::new(tape);
        let bytes = data::npy_file(&mut choices);
        begin("tensors", &bytes);
        data::read_npy(&bytes);
        let bytes = data::safetensors_file(&mut choices);
        begin("tensors", &bytes);
        data::read_safetensors(&bytes);
    });
}

#[test]
fn any_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let seeds: [&[u8]; 6] = [b"", b"\xff\xfe", b"a: &a [*a]\n", b"((((((((((((((((", b"tt.func public @k(", b"\x93NUMPY\x01\x00"];
    cases("bytes", 500, 300, |tape| {
        let mut choices = Choices::new(tape);
        let seed = choices.of(&seeds);
        let repeated = seed.repeat(1 + choices.below(2000));
        let mut bytes = if choices.below(2) == 0 { seed.to_vec() } else { repeated };
        if choices.below(2) == 0 {
            bytes = damaged_bytes(&bytes, &mut choices);
        }
        bytes.extend(choices.rest());
        begin("bytes", &bytes);
        data::read_npy(&bytes);
        data::read_safetensors(&bytes);
        launch(folder.path(), &bytes, &bytes, &bytes);
        recordings::play(folder.path(), KERNEL, &bytes, &bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut nothing = Choices::new(&[]);
        check_ttir(&text, &mut nothing);
        let file = SourceFile::new("k.yaml", text.as_str());
        if let Err(error) = yaml::parse(&file) {
            drop(render(&error, false));
        }
        lower_and_check(&text, 4, &mut nothing);
    });
}

/// Nesting of any depth is refused or read, at every door, within the stack of a thread.
#[test]
fn deep_nesting() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut nothing = Choices::new(&[]);
    for depth in [50, 199, 1000, 20_000] {
        let nested = |open: &str, close: &str| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let expressions = [
            nested("(", ")"),
            nested("[", "]"),
            nested("-", ""),
            nested("not ", ""),
            nested("x[", "]"),
            nested("f(", ")"),
            nested("1 + (", ")"),
            nested("lambda: ", ""),
            "1 + ".repeat(depth) + "1",
            "x.".repeat(depth) + "y",
            "1 if 1 else ".repeat(depth) + "1",
        ];
        for text in &expressions {
            begin("nesting", text.as_bytes());
            lower_and_check(
                &format!(
                    "import triton.language as tl\nimport triton\n@triton.jit\ndef k(x_ptr, i_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):\n    tl.store(y_ptr, {text})\n"
                ),
                4,
                &mut nothing,
            );
            launch(
                folder.path(),
                format!("args: {{x: \"{text}\", y: 'f32[{text}]'}}\ngrid: 1\nexpect: {{z: \"{text}\"}}\n").as_bytes(),
                b"",
                b"",
            );
            launch(folder.path(), text.as_bytes(), b"", b"");
        }
        let ifs: String = (0..depth.min(2000)).map(|i| format!("{}if n > 0:\n", " ".repeat(i + 1))).collect();
        lower_and_check(
            &format!(
                "import triton\n@triton.jit\ndef k(x_ptr, i_ptr, y_ptr, z_ptr, n, BLOCK):\n{ifs}{}pass\n",
                " ".repeat(depth.min(2000) + 1)
            ),
            4,
            &mut nothing,
        );
        let regions =
            format!("tt.func public @k(%x: i1) {{\n{}{}  tt.return\n}}\n", "scf.if %x {\n".repeat(depth), "}\n".repeat(depth));
        begin("nesting", regions.as_bytes());
        check_ttir(&regions, &mut nothing);
        let lists = format!("{}{}", "- ".repeat(depth), "x");
        launch(folder.path(), lists.as_bytes(), b"", b"");
    }
}

/// Exported programs of `tests/import/programs.bin`, damaged. Entries of an archive are stored as they are, so damage
/// reaches the program's JSON and the tables of its tensors.
#[test]
fn archives_damaged() {
    let archives = data::archives();
    cases("archives", 400, 64, |tape| {
        let mut choices = Choices::new(tape);
        let whole = archives[choices.below(archives.len())];
        let bytes = damaged_bytes(whole, &mut choices);
        begin("archives", &bytes);
        match torch_export::from_bytes("program.pt2", &bytes, &Binding::default()) {
            Ok(imported) => {
                imported.unsupported.iter().for_each(run::allow);
                if let Err(errors) = verify(imported.graph) {
                    panic!("the graph is not well formed: {}", errors.iter().map(|e| render(e, false)).collect::<String>());
                }
            }
            Err(errors) => errors.iter().for_each(run::allow),
        }
    });
}
