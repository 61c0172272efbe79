//! Kernels with descriptions, run: verdicts, faults, refusals, and input that is garbage.

use super::*;
use crate::diag::render::render;

const HEAD: &str = "import triton\nimport triton.language as tl\n\n\n";

const ADD: &str = "\
@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, x + y, mask=inside)
";

const RUN: &str = "\
# run: a tail
#   args:
#     x_ptr: f32[n]
#     y_ptr: f32[n]
#     out_ptr: f32[n]
#     n: 1000
#     BLOCK: 256
#   grid: cdiv(n, BLOCK)
#   expect: {out_ptr: x_ptr + y_ptr}
";

fn asked(folder: &tempfile::TempDir, text: &str) -> Asked {
    let file = folder.path().join("k.py");
    std::fs::write(&file, text).unwrap();
    Asked {
        file,
        entry: None,
        runs: None,
        args: Vec::new(),
        grid: None,
        expect: Vec::new(),
        config: ConfigChoice::First,
        target: None,
        seed: 0,
        fuel: None,
        memory: None,
        threads: 1,
        dense: false,
        stats: false,
        warnings: true,
    }
}

fn run(text: &str) -> Outcome<Report> {
    emulate(&asked(&tempfile::tempdir().unwrap(), text), &Cancel::default())
}

fn codes(report: &Report) -> Vec<&'static str> {
    report.findings().map(|finding| finding.code.id).collect()
}

/// The report of a file whose runs all can be made.
fn clean(text: &str) -> Report {
    let report = run(text).unwrap_or_else(|found| panic!("{}", render(&found[0], false)));
    let findings: Vec<String> = report.findings().map(|f| render(f, false)).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
    report
}

fn args(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

#[test]
fn a_right_kernel_is_verified() {
    let report = clean(&format!("{HEAD}{RUN}{ADD}"));
    assert!(report.fully_verified());
    let [run] = report.runs.as_slice() else { panic!("one run") };
    assert_eq!((run.name.as_str(), run.kernel.as_str(), run.grid, run.programs), ("a tail", "add", [4, 1, 1], 4));
    assert!(run.compared[0].comparison.error_over_bound <= 1.0);
    assert_eq!((run.outputs[0].0.as_str(), run.outputs[0].1.len()), ("out_ptr", 1000));
}

#[test]
fn wrong_kernels_fail_each_in_its_way() {
    for (from, to, code, word) in [
        ("x + y, mask", "x - y, mask", "C003", Word::Failed),
        ("at, x + y, mask", "at, x * 0, mask", "C002", Word::Failed),
        ("x + y, mask", "x / (y * 0), mask", "C001", Word::Failed),
        ("inside = at < n", "inside = at < n + 1", "A001", Word::Failed),
        ("inside = at < n", "inside = at < n - 1", "A006", Word::Failed),
        ("x + y, mask=inside", "x + y, mask=at < n + 4", "A002", Word::Failed),
        ("x + y, mask", "x + nothing, mask", "K002", Word::Failed),
        ("BLOCK: 256", "BLOCK: 250", "K002", Word::Failed),
        ("#     n: 1000\n", "", "S002", Word::NotVerified),
        ("#     y_ptr: f32[n]\n", "", "E002", Word::NotVerified),
        ("#   grid: cdiv(n, BLOCK)\n", "", "E002", Word::NotVerified),
        ("grid: cdiv(n, BLOCK)", "grid: 0", "E001", Word::NotVerified),
        ("grid: cdiv(n, BLOCK)", "grid: [1, 1, 1, 1]", "E001", Word::NotVerified),
        ("x_ptr: f32[n]", "x_ptr: f32[n] noise", "E001", Word::NotVerified),
        ("x_ptr: f32[n]", "x_ptr: f32[-n]", "E001", Word::NotVerified),
        ("x_ptr: f32[n]", "x_ptr: f32[n, n, n, n]", "L002", Word::Limit),
        // Little memory, read out many times.
        ("x_ptr: f32[n]", "x_ptr: {dtype: f32, shape: 1099511627776, strides: 0}", "L002", Word::Limit),
        ("x_ptr: f32[n]", "x_ptr: none.npy", "E001", Word::NotVerified),
        ("x_ptr: f32[n]", "x_ptr: i64[n]", "C003", Word::Failed),
        ("out_ptr: x_ptr + y_ptr", "out_ptr: x_ptr + z", "S002", Word::NotVerified),
        ("out_ptr: x_ptr + y_ptr", "out: x_ptr", "E001", Word::NotVerified),
    ] {
        let text = format!("{HEAD}{RUN}{ADD}");
        assert!(text.contains(from), "{from}");
        let report = run(&text.replace(from, to)).unwrap_or_else(|found| panic!("{to}: {}", render(&found[0], false)));
        if code == "C003" && to.contains("i64") {
            // Integers are small and their sum is what the formula gives, as floats.
            assert!(codes(&report).is_empty(), "{to}: {:?}", codes(&report));
            continue;
        }
        let errors: Vec<&str> = report.findings().filter(|f| f.is_error()).map(|f| f.code.id).collect();
        assert_eq!((errors, report.runs[0].word()), (vec![code], word), "{to}");
    }
}

/// A dot of fp32 operands that names no precision loses bits on CUDA alone, and Ascend takes blocks of any size.
#[test]
fn targets_say_what_a_kernel_means() {
    let folder = tempfile::tempdir().unwrap();
    let text = |n: usize| {
        format!(
            "{HEAD}# run: k\n#   args: {{x_ptr: 'f32[{n}, {n}] full(1.00048828125)', y_ptr: 'f32[{n}, {n}]', N: {n}}}\n#   grid: 1\n#   expect: \
             {{y_ptr: {{value: {n} * 1.0009768009185791, tolerance: 1e-5}}}}\n@triton.jit\ndef k(x_ptr, y_ptr, N: tl.constexpr):\n    i = \
             tl.arange(0, N)\n    at = i[:, None] * N + i[None, :]\n    x = tl.load(x_ptr + at)\n    tl.store(y_ptr + at, tl.dot(x, x))\n"
        )
    };
    let told = |n: usize, target: Option<&str>| {
        let asked = Asked { target: target.map(|name| Target::find(name).unwrap()), ..asked(&folder, &text(n)) };
        let report = emulate(&asked, &Cancel::default()).unwrap_or_else(|found| panic!("{}", render(&found[0], false)));
        let codes = report.findings().filter(|finding| finding.is_error()).map(|finding| finding.code.id).collect::<Vec<_>>();
        (codes, report.runs[0].word())
    };
    assert_eq!(told(16, None), (vec!["C003"], Word::Failed));
    assert_eq!(told(16, Some("sm_80")), (vec!["C003"], Word::Failed));
    assert_eq!(told(16, Some("gfx942")), (vec![], Word::Verified));
    assert_eq!(told(24, Some("gfx942")), (vec!["K002"], Word::Failed));
    assert_eq!(told(24, Some("ascend910b1")).1, Word::Verified);
}

/// What is only worth a warning ends no run, and is told unless somebody wants faults alone.
#[test]
fn warnings_are_told_and_fail_nothing() {
    let text = format!("{HEAD}{RUN}{ADD}")
        .replace("x + y, mask", "x / (y * 0), mask")
        .replace("#   expect: {out_ptr: x_ptr + y_ptr}\n", "");
    let folder = tempfile::tempdir().unwrap();
    let asked = asked(&folder, &text);
    let report = emulate(&asked, &Cancel::default()).unwrap();
    assert_eq!((codes(&report), report.runs[0].word()), (vec!["A022"], Word::NotVerified));
    assert!(report.findings().all(|finding| !finding.is_error()));
    let report = emulate(&Asked { warnings: false, ..asked }, &Cancel::default()).unwrap();
    assert!(codes(&report).is_empty());
}

#[test]
fn the_command_line_goes_before_descriptions() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = asked(&folder, &format!("{HEAD}{RUN}{ADD}"));
    asked.args = args(&[("n", "70"), ("BLOCK", "64")]);
    let report = emulate(&asked, &Cancel::default()).unwrap();
    assert_eq!((report.runs[0].grid, report.runs[0].word()), ([2, 1, 1], Word::Verified));
    asked.expect = args(&[("out_ptr", "x_ptr")]);
    assert_eq!(codes(&emulate(&asked, &Cancel::default()).unwrap()), ["C003"]);
    std::fs::write(&asked.file, format!("{HEAD}{ADD}")).unwrap();
    let nothing = [asked.args.clone(), Vec::new()].map(|args| Asked { args, expect: Vec::new(), ..asked.clone() });
    let report = emulate(&nothing[0], &Cancel::default()).unwrap();
    assert_eq!(codes(&report), ["E002"]);
    let told = emulate(&nothing[1], &Cancel::default()).unwrap_err();
    assert!(told[0].help.as_ref().unwrap().contains("#     x_ptr: f32[1000]"));
    asked.args = args(&[("x_ptr", "f16[n] arange"), ("y_ptr", "x_ptr"), ("out_ptr", "f16[n]"), ("n", "7"), ("BLOCK", "8")]);
    asked.grid = Some("lambda META: (triton.cdiv(n, META['BLOCK']),)".to_owned());
    asked.expect = args(&[("out_ptr", "2 * arange(n)")]);
    let report = emulate(&asked, &Cancel::default()).unwrap();
    assert_eq!((codes(&report), report.runs[0].word()), (vec![], Word::Verified));
}

/// Strides, offsets, aliases, files, several runs and kernels, a tolerance.
#[test]
fn descriptions_say_all_of_a_launch() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "{HEAD}{ADD}\n\n@triton.jit\ndef rows(a, b, stride_a, stride_b, N: tl.constexpr):\n    at = tl.arange(0, N)\n    \
         tl.store(b + tl.program_id(0) * stride_b + at, tl.load(a + tl.program_id(0) * stride_a + at) / 3)\n"
    );
    let mut asked = asked(&folder, &text);
    let runs = "\
runs:
  - name: strides and an offset
    kernel: rows
    args:
      a: {dtype: f32, shape: [4, N], strides: [40, 1], offset: 3, fill: arange}
      b: {dtype: bf16, shape: [4, N], strides: [24, 1]}
      stride_a: a.stride(0)
      stride_b: b.stride()[0]
      N: 16
    grid: (a.shape[0], 1)
    expect: {b: a / 3}
  - name: in place
    kernel: add
    args: {x_ptr: 'f32[n] ones', y_ptr: x_ptr, out_ptr: {of: x_ptr}, n: 64, BLOCK: 64}
    grid: 1
    expect: {out_ptr: {value: 2.0001, tolerance: 1e-4}}
  - name: from a file
    kernel: add
    args: {x_ptr: x.npy, y_ptr: all.safetensors:y, out_ptr: 'f32[3]', n: 3, BLOCK: 4}
    grid: 1
    expect: {out_ptr: x.npy}
";
    let path = folder.path().join("runs.yaml");
    std::fs::write(&path, runs).unwrap();
    let x = Tensor::from_f32(crate::shape::Shape::from_slice(&[3]), vec![1.0, 2.0, 3.0]);
    let y = Tensor::from_f32(crate::shape::Shape::from_slice(&[3]), vec![0.0; 3]);
    std::fs::write(folder.path().join("x.npy"), crate::tensor::npy::write(&x)).unwrap();
    let stored = crate::tensor::stored::write(&[("y".to_owned(), y), ("z".to_owned(), x.clone())]).unwrap();
    std::fs::write(folder.path().join("all.safetensors"), stored).unwrap();
    asked.runs = Some(path);
    let report = emulate(&asked, &Cancel::default()).unwrap();
    let told: Vec<String> = report.findings().map(|f| render(f, false)).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
    assert!(report.fully_verified());
    assert_eq!(report.runs[0].outputs[0].1.shape(), [4, 16]);
    let only = Asked { entry: Some("rows".to_owned()), ..asked.clone() };
    assert_eq!(emulate(&only, &Cancel::default()).unwrap().runs.len(), 1);
    let saved = save::save(
        &report,
        &[save::read("b=b.npy"), save::read("out.safetensors"), save::read("folder")].map(|s| match s {
            save::Save::Tensor(name, path) => save::Save::Tensor(name, folder.path().join(path)),
            save::Save::All(path) => save::Save::All(folder.path().join(path)),
        }),
    )
    .unwrap();
    assert_eq!(saved.len(), 5);
    let b = crate::tensor::npy::read(&std::fs::read(&saved[0]).unwrap(), crate::dtype::DType::BF16).unwrap();
    assert_eq!(b, report.runs[0].outputs[0].1);
    assert_eq!(save::save(&report, &[save::read("c=c.npy")]).unwrap_err().code.id, "U001");
}

/// Configurations, heuristics, constexprs that are types and functions, integers that are 1, bools.
#[test]
fn configurations_and_heuristics_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "{HEAD}@triton.jit\ndef twice(x):\n    return x + x\n\n\n# run: tuned\n#   args:\n#     x_ptr: f32[n] arange\n#     y_ptr: \
         f16[n]\n#     n: 100\n#     stride: 1\n#     flag: true\n#     T: tl.float16\n#     F: twice\n#   grid: cdiv(n, BLOCK)\n#   \
         expect: {{y_ptr: 2 * x_ptr}}\n@triton.autotune(configs=[triton.Config({{'BLOCK': b}}, num_warps=w) for b, w in [(32, 1), \
         (64, 2)]], key=['n'])\n@triton.heuristics({{'EVEN': lambda META: META['n'] % META['BLOCK'] == 0}})\n\
         @triton.jit(do_not_specialize=['stride'])\ndef tuned(x_ptr, y_ptr, n, stride, flag, T: tl.constexpr, F: tl.constexpr, \
         BLOCK: tl.constexpr, EVEN: tl.constexpr):\n    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    if EVEN:\n        \
         x = tl.load(x_ptr + at * stride)\n    else:\n        x = tl.load(x_ptr + at * stride, mask=at < n)\n    \
         if flag:\n        tl.store(y_ptr + at, F(x).to(T), mask=at < n)\n"
    );
    let mut asked = asked(&folder, &text);
    let told = |asked: &Asked| {
        let report = emulate(asked, &Cancel::default()).unwrap_or_else(|found| panic!("{}", render(&found[0], false)));
        let findings: Vec<String> = report.findings().map(|f| render(f, false)).collect();
        assert!(findings.is_empty(), "{}", findings.join("\n"));
        report.runs.iter().map(|run| (run.config.clone().unwrap_or_default(), run.grid[0], run.word())).collect::<Vec<_>>()
    };
    let (first, second) = ("BLOCK=32, num_warps=1".to_owned(), "BLOCK=64, num_warps=2".to_owned());
    assert_eq!(told(&asked), [(first.clone(), 4, Word::Verified)]);
    asked.config = ConfigChoice::All;
    assert_eq!(told(&asked), [(first, 4, Word::Verified), (second.clone(), 2, Word::Verified)]);
    asked.config = ConfigChoice::Number(1);
    assert_eq!(told(&asked), [(second, 2, Word::Verified)]);
    asked.config = ConfigChoice::Number(2);
    assert_eq!(emulate(&asked, &Cancel::default()).unwrap_err()[0].code.id, "U001");
    asked.config = ConfigChoice::First;
    asked.args = args(&[("BLOCK", "128"), ("n", "128")]);
    assert_eq!(told(&asked), [(String::new(), 1, Word::Verified)]);
}

/// Counted by hand: bytes, unique bytes, requests, sectors, lanes, active lanes.
#[test]
fn facts_are_those_counted_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let counted = |text: &str| {
        let asked = Asked { stats: true, ..asked(&folder, text) };
        let report = emulate(&asked, &Cancel::default()).unwrap_or_else(|found| panic!("{}", render(&found[0], false)));
        assert_eq!(codes(&report), Vec::<&str>::new());
        report.runs.into_iter().next().unwrap().stats.unwrap()
    };
    let figures = |facts: &stats::Facts, name: &str| {
        let (_, _, t) = facts.traffic.iter().find(|(known, ..)| known == name).unwrap();
        [t.bytes, t.unique_bytes, t.requests, t.sectors, t.lanes, t.active]
    };
    // 1000 floats in blocks of 256: 31 whole warps of 4 sectors, and one with 8 lanes.
    let add = counted(&format!("{HEAD}{RUN}{ADD}"));
    for name in ["x_ptr", "y_ptr", "out_ptr"] {
        assert_eq!(figures(&add, name), [4000, 4000, 32, 125, 1024, 1000]);
    }
    assert_eq!(add.flops.fp32, 1024);
    assert!((add.intensity - 1024.0 / 12_000.0).abs() < 1e-12);
    assert_eq!(add.roofline.unwrap(), (12_000.0 / 4.8e12, "memory"));
    // Every third float: 12 sectors a warp, 4 warps; each is loaded by two programs.
    let strided = counted(&format!(
        "{HEAD}# run:\n#   args: {{x: 'f32[384]', y: 'f32[2, 128]'}}\n#   grid: 2\n@triton.jit\ndef k(x, y):\n    \
         at = tl.arange(0, 128)\n    tl.store(y + tl.program_id(0) * 128 + at, tl.load(x + at * 3))\n"
    ));
    assert_eq!(figures(&strided, "x"), [1024, 512, 8, 96, 256, 256]);
    assert_eq!(figures(&strided, "y"), [1024, 1024, 8, 32, 256, 256]);
    assert_eq!(strided.flops.total(), 0);
    // 32×48 by 48×32 in tiles of 16: every element is loaded by two programs, rows of a tile are two sectors.
    let matmul = counted(&format!(
        "{HEAD}# run:\n#   args: {{a: 'f32[32, 48]', b: 'f32[48, 32]', c: 'f32[32, 32]'}}\n#   grid: (2, 2)\n#   expect: {{c: a @ b}}\n\
         @triton.jit\ndef k(a, b, c):\n    m = tl.program_id(0) * 16 + tl.arange(0, 16)\n    \
         n = tl.program_id(1) * 16 + tl.arange(0, 16)\n    acc = tl.zeros((16, 16), dtype=tl.float32)\n    \
         for start in range(0, 48, 16):\n        k = start + tl.arange(0, 16)\n        \
         acc += tl.dot(tl.load(a + m[:, None] * 48 + k[None, :]), tl.load(b + k[:, None] * 32 + n[None, :]))\n    \
         tl.store(c + m[:, None] * 32 + n[None, :], acc)\n"
    ));
    for name in ["a", "b"] {
        assert_eq!(figures(&matmul, name), [12_288, 6144, 96, 384, 3072, 3072]);
    }
    assert_eq!(figures(&matmul, "c"), [4096, 4096, 32, 128, 1024, 1024]);
    assert_eq!((matmul.flops.tf32, matmul.flops.total()), (98_304, 98_304));
}

#[test]
fn limits_are_limits() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        format!("{HEAD}@triton.jit\ndef spin(x):\n    i = 0\n    while i < 1000000:\n        i += 1\n    tl.store(x, i)\n");
    let mut asked = asked(&folder, &text);
    asked.args = args(&[("x", "i32[1]")]);
    asked.grid = Some("1".to_owned());
    asked.fuel = Some(1000);
    let report = emulate(&asked, &Cancel::default()).unwrap();
    assert_eq!((codes(&report), report.runs[0].word()), (vec!["L001"], Word::Limit));
    let cancel = Cancel::default();
    cancel.cancel();
    assert_eq!(emulate(&Asked { fuel: None, ..asked }, &cancel).unwrap_err()[0].code.id, "U009");
}

/// Any bytes as kernel, description or tensor give a diagnosis.
#[test]
fn garbage_is_diagnosed() {
    let folder = tempfile::tempdir().unwrap();
    let good = format!("{HEAD}{RUN}{ADD}");
    let mut seed = 1u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize
    };
    let mut asked = asked(&folder, &good);
    asked.fuel = Some(100_000);
    let yaml = "args: {x_ptr: x.npy, y_ptr: 'f32[n] ints(0, 4)', out_ptr: {dtype: f32, shape: [n], strides: [1]}, n: 8, BLOCK: 8}\n\
                grid: [1]\nexpect: {out_ptr: where(x_ptr > 0, x_ptr[:], 1) + y_ptr}\n";
    let npy = crate::tensor::npy::write(&Tensor::from_f32(crate::shape::Shape::from_slice(&[8]), vec![1.5; 8]));
    let mut broken = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        for _ in 0..1 + random() % 3 {
            let at = random() % bytes.len();
            match random() % 4 {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = (random() % 256) as u8,
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"[]{}(),:#-'\"\n 0*9\xff"[random() % 18]),
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        bytes
    };
    let (runs, x) = (folder.path().join("runs.yaml"), folder.path().join("x.npy"));
    for round in 0..300 {
        std::fs::write(&asked.file, if round % 3 == 0 { broken(good.as_bytes()) } else { good.as_bytes().to_vec() }).unwrap();
        std::fs::write(&runs, if round % 3 == 1 { broken(yaml.as_bytes()) } else { yaml.as_bytes().to_vec() }).unwrap();
        std::fs::write(&x, if round % 3 == 2 { broken(&npy) } else { npy.clone() }).unwrap();
        asked.runs = (round % 3 != 0).then(|| runs.clone());
        let told = match emulate(&asked, &Cancel::default()) {
            Ok(report) => report.findings().cloned().collect(),
            Err(found) => found,
        };
        for finding in told {
            assert_ne!(finding.class(), Class::Internal, "round {round}: {}", render(&finding, false));
        }
    }
}

#[test]
fn helpers_of_files_beside_the_kernel_are_run() {
    let folder = tempfile::tempdir().unwrap();
    let helpers = format!("{HEAD}@triton.jit\ndef total(a, b):\n    return a + b\n");
    std::fs::write(folder.path().join("helpers.py"), helpers).unwrap();
    let kernel = ADD.replace("x + y", "total(x, y)");
    let asked = asked(&folder, &format!("{HEAD}from helpers import total\n\n\n{RUN}{kernel}"));
    let report = emulate(&asked, &Cancel::default()).unwrap_or_else(|found| panic!("{}", render(&found[0], false)));
    assert!(report.fully_verified(), "{:?}", codes(&report));
}

/// The kernel of `ADD` as IR, below these lines.
fn compiled(folder: &tempfile::TempDir, lines: &str) -> Asked {
    let python = asked(folder, &format!("{HEAD}{RUN}{ADD}"));
    let (_, kernel) = kernels(&python).unwrap().remove(0);
    let file = folder.path().join("k.ttir");
    std::fs::write(&file, format!("{lines}{}\n", *kernel)).unwrap();
    Asked { file, ..python }
}

#[test]
fn a_compiled_kernel_is_run_as_its_python_is() {
    let folder = tempfile::tempdir().unwrap();
    let lines = RUN.replace("\n#", "\n//").replacen('#', "//", 1);
    let report = emulate(&compiled(&folder, &lines), &Cancel::default()).unwrap();
    assert!(report.fully_verified(), "{:?}", codes(&report));
    let python = clean(&format!("{HEAD}{RUN}{ADD}"));
    let outputs = |report: &Report| report.runs[0].outputs.iter().map(|(name, t)| (name.clone(), t.clone())).collect::<Vec<_>>();
    assert_eq!(outputs(&report), outputs(&python));
    assert_eq!((report.runs[0].name.as_str(), report.runs[0].kernel.as_str()), ("a tail", "add"));
}

#[test]
fn arguments_of_a_compiled_kernel_are_of_its_types() {
    let folder = tempfile::tempdir().unwrap();
    let told = |lines: &str| {
        let said = match emulate(&compiled(&folder, lines), &Cancel::default()) {
            Ok(report) => report.findings().map(|found| render(found, false)).collect::<String>(),
            Err(found) => render(&found[0], false),
        };
        said.replace(&folder.path().display().to_string(), "")
    };
    let lines = RUN.replace("\n#", "\n//").replacen('#', "//", 1);
    expect_test::expect![[r#"
        error[E001]: the kernel was compiled for a tensor of f32 as `y_ptr`, not for a tensor of f16
         --> /k.ttir:4:8
          |
        4 | //     y_ptr: f16[n]
          |        ^^^^^ invalid launch description"#]]
    .assert_eq(&told(&lines.replace("y_ptr: f32[n]", "y_ptr: f16[n]")));
    expect_test::expect![[r#"
        error[E001]: the kernel was compiled for a scalar of type i32 as `n`, not for 5000000000
         --> /k.ttir:6:8
          |
        6 | //     n: 5000000000
          |        ^ invalid launch description"#]]
    .assert_eq(&told(&lines.replace("[n]", "[1000]").replace("n: 1000", "n: 5000000000")));
    expect_test::expect![[r#"
        error[E002]: nothing describes a launch of `add`
         --> /k.ttir:2:21
          |
        2 | tt.func public @add(%x_ptr: !tt.ptr<f32>, %y_ptr: !tt.ptr<f32>, %out_ptr: !tt.ptr<f32>, %n: i32) {
          |                     ^^^^^^^^^^^^^^^^^^^^ nothing says how the kernel is launched
          |
          = help: put a description above the kernel, with sizes and types of yours:
                  // run: add on a small input
                  //   args:
                  //     x_ptr: f32[1000]
                  //     y_ptr: f32[1000]
                  //     out_ptr: f32[1000]
                  //     n: 1000
                  //   grid: 1"#]]
    .assert_eq(&told("// A comment.\n"));
}
