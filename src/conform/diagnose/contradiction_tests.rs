//! Edits of the built-in kernels: which line contradicts the others.

use super::contradiction::all;
use crate::source::SourceFile;
use crate::syntax::parse_module;

/// The lines of a text that contradict others.
fn said(text: &str, entry: &str, grid: [i64; 3]) -> Vec<String> {
    let file = SourceFile::new("kernel.py", text);
    let found = all(&parse_module(&file).unwrap(), entry, Some(grid));
    found.into_iter().map(|(span, why)| format!("{}: {why}", file.slice(span).lines().next().unwrap())).collect()
}

/// A built-in kernel with one edit.
fn edited(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replacen(from, to, 1)
}

const CONV: &str = include_str!("../../../operator_templates/conv2d_resnet/kernel.py");
const NORM: &str = include_str!("../../../operator_templates/batchnorm2d/kernel.py");
const POOL: &str = include_str!("../../../operator_templates/adaptive_avgpool2d/kernel.py");

#[test]
fn no_built_in_kernel_contradicts_itself() {
    let library = crate::template::Library::embedded().unwrap();
    for template in library.templates() {
        let text = template.kernel.file.text();
        let grid = [9, 1, 1];
        for launch in ["kernel", "kernel_loop"] {
            assert_eq!(said(text, &format!("{}_{launch}", template.name), grid), Vec::<String>::new(), "{}", template.name);
        }
    }
}

#[test]
fn a_digit_that_does_not_fit_is_named() {
    let entry = "conv2d_resnet_kernel";
    let check = |from: &str, to: &str| said(&edited(CONV, from, to), entry, [9, 1, 1]);
    assert_eq!(check("p = gm // Q % P", "p = gm % Q % P"), ["p = gm % Q % P: is no digit of `gm`, against the lines beside it"]);
    assert_eq!(check("p = gm // Q % P", "p = gm // Q"), ["p = gm // Q: takes no digit of `gm`, against the lines beside it"]);
    assert_eq!(check("n = gm // (P * Q)", "n = gm // Q"), ["n = gm // Q: takes no digit of `gm`, against the lines beside it"]);
    assert_eq!(check("q = gm % Q", "q = gm"), ["q = gm: does not take the remainder of `gm`, against the lines beside it"]);
    let check = |from: &str, to: &str| said(&edited(NORM, from, to), "batchnorm2d_kernel", [9, 1, 1]);
    assert_eq!(check("c = row % C", "c = row // C"), ["c = row // C: takes no digit of `row`, against the lines beside it"]);
    assert_eq!(check("n = row // C", "n = row % C"), ["n = row % C: takes no digit of `row`, against the lines beside it"]);
    let check = |from: &str, to: &str| said(&edited(POOL, from, to), "adaptive_avgpool2d_kernel", [9, 1, 1]);
    assert_eq!(check("w0 = q * W // Q", "w0 = Q // (q * W)"), ["w0 = Q // (q * W): divides by what differs between lanes"]);
}

#[test]
fn decodings_of_other_kinds_are_passed_over() {
    let swizzled = "\
@triton.jit
def k(x_ptr, n, M, N, GROUP):
    pid = tl.program_id(0)
    wide = GROUP * N
    first = pid // wide * GROUP
    m = first + (pid % wide) % GROUP
    n = (pid % wide) // GROUP
    tl.store(x_ptr + m * N + n, 1.0)
";
    assert_eq!(said(swizzled, "k", [9, 1, 1]), Vec::<String>::new());
}

#[test]
fn work_that_is_shared_wrongly_is_named() {
    let header = "for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):";
    let why = "shares tiles among programs otherwise than from the program's id in steps of their number";
    for (from, to) in [
        ("tl.num_programs(0)", "1"),
        ("tl.program_id(0), WORK", "0, WORK"),
        ("WORK, ", "WORK - tl.num_programs(0) + 1, "),
        ("tl.program_id(0)", "tl.program_id(1)"),
    ] {
        let broken = edited(header, from, to);
        let found = said(&edited(NORM, header, &broken), "batchnorm2d_kernel_loop", [9, 1, 1]);
        assert!(found.contains(&format!("{}: {why}", broken.trim_end_matches(':'))), "{broken}: {found:?}");
    }
    let found = said(&edited(NORM, "tl.program_id(0), x_ptr", "tl.program_id(1), x_ptr"), "batchnorm2d_kernel", [9, 1, 1]);
    assert_eq!(found, ["batchnorm2d_tile(: asks for axis 1 of the grid, which has one program; axis 0 has 9"]);
}

#[test]
fn names_of_another_axis_are_named() {
    let check = |from: &str, to: &str| said(&edited(CONV, from, to), "conv2d_resnet_kernel", [9, 1, 1]);
    assert_eq!(check("h * x_stride_h", "w * x_stride_h"), ["x = tl.load(: multiplies `w` by `x_stride_h`"]);
    assert_eq!(check("& (h >= 0) & (h < H) & (w", "& (h >= 0) & (w < H) & (w"), ["x = tl.load(: compares `w` with `H`"]);
    let line = "h = (p * STRIDE_H - PAD_W)[:, None] + (r * DILATION_H)[None, :]";
    assert_eq!(check("STRIDE_H - PAD_H", "STRIDE_H - PAD_W"), [format!("{line}: makes `h` from `PAD_W`")]);
}
