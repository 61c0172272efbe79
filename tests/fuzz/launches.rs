//! Launch descriptions in YAML, by grammar: tensors with shapes, strides, fills and files, scalars, grids, formulas.

use crate::choices::Choices;

const SIZES: [&str; 18] = [
    "8",
    "n",
    "M",
    "[M, 4]",
    "(n,)",
    "0",
    "1",
    "[2, 0, 3]",
    "-1",
    "4294967296",
    "9223372036854775807",
    "[65536, 65536]",
    "n * M",
    "x.shape",
    "cdiv(n, 3)",
    "[1] * 9",
    "x.numel()",
    "10 ** 10",
];
const FILLS: [&str; 16] = [
    "normal",
    "ints(0, 4)",
    "zeros",
    "arange",
    "eye",
    "empty",
    "full(1/3)",
    "nan",
    "uniform(-1, 1)",
    "[1, 2, 3]",
    "x.npy",
    "t.safetensors:a",
    "normal(seed=3, std=1e300)",
    "ints(5, 2)",
    "7",
    "full(n // 0)",
];
const TYPES: [&str; 10] = ["f32", "f16", "bf16", "f64", "i32", "i64", "u8", "bool", "fp8e4nv", "f33"];
const SCALARS: [&str; 20] = [
    "8",
    "100",
    "n",
    "M * 2",
    "1.5",
    "-3",
    "true",
    "x.stride(0)",
    "x.stride(9)",
    "9223372036854775807 + 1",
    "2 ** 63",
    "'text'",
    "None",
    "1 // 0",
    "max(n, M)",
    "(1, 2)[n]",
    "'a' * 10 ** 9",
    "(1,) * 10 ** 9",
    "1 << 70",
    "next_power_of_2(n)",
];
const FORMULAS: [&str; 26] = [
    "x * 2",
    "x + y",
    "where(x > 0, x, y)",
    "sum(x)",
    "x[:, None] + x[None, :]",
    "softmax(x)",
    "x @ y",
    "x.reshape(2, -1)",
    "x.T",
    "cumsum(x, axis=0)",
    "x.to(f16)",
    "x[::-1]",
    "x[5:1000000]",
    "max(x, axis=3)",
    "exp(x) / 0",
    "x ** y",
    "x % 0",
    "concat([x, y])",
    "take(x, y)",
    "argmax(x)",
    "x[:, None, None] * x[None, :, None] * x[None, None, :]",
    "x.reshape(65536, 65536)",
    "mean(x - x, keepdims=True)",
    "y",
    "zeros",
    "x.npy",
];
const GRIDS: [&str; 12] = [
    "cdiv(n, BLOCK)",
    "1",
    "[2, 2]",
    "0",
    "-1",
    "4294967296",
    "[1, 2, 3, 4]",
    "lambda META: (1,)",
    "n",
    "(cdiv(n, 4), 1)",
    "[65536, 65536]",
    "x",
];

/// A document for a kernel `k(x, y, z, n, BLOCK)`.
pub fn description(choices: &mut Choices<'_>) -> String {
    let mut text = String::new();
    let runs = choices.below(4) == 3;
    if runs {
        text += "runs:\n";
    }
    for _ in 0..if runs { 1 + choices.below(2) } else { 1 } {
        one(choices, &mut text, if runs { "    " } else { "" });
    }
    text
}

fn one(choices: &mut Choices<'_>, text: &mut String, indent: &str) {
    let mut line = |depth: usize, content: String| {
        let lead = if indent.is_empty() { String::new() } else { indent.to_owned() };
        *text += &format!("{lead}{}{content}\n", "  ".repeat(depth));
    };
    if !indent.is_empty() {
        line(0, "kernel: k".to_owned());
    }
    line(0, "args:".to_owned());
    for name in ["x", "y", "z"] {
        match choices.below(5) {
            0 => {
                line(1, format!("{name}:"));
                line(2, format!("dtype: {}", choices.of(&TYPES)));
                line(2, format!("shape: {}", quoted(choices.of(&SIZES))));
                if choices.below(2) == 0 {
                    line(
                        2,
                        format!(
                            "strides: {}",
                            quoted(choices.of(&["1", "-1", "[4, 1]", "9223372036854775807", "0", "[1, 2, 3]"]))
                        ),
                    );
                }
                if choices.below(2) == 0 {
                    line(2, format!("offset: {}", choices.of(&["0", "7", "-3", "9223372036854775807"])));
                }
                line(2, format!("{}: {}", choices.of(&["fill", "fill", "file", "of"]), quoted(choices.of(&FILLS))));
            }
            1 => line(1, format!("{name}: {}", quoted(choices.of(&FILLS)))),
            2 => line(1, format!("{name}: '{}[{}] {}'", choices.of(&TYPES), choices.of(&SIZES), choices.of(&FILLS))),
            _ => line(
                1,
                format!("{name}: '{}[{}]'", choices.of(&["f32", "f32", "i32", "f16"]), choices.of(&["n", "M, 4", "8", "32"])),
            ),
        }
    }
    line(1, format!("n: {}", if choices.below(2) == 0 { "8" } else { choices.of(&SCALARS) }));
    line(1, format!("M: {}", if choices.below(2) == 0 { "2" } else { choices.of(&SCALARS) }));
    line(1, format!("BLOCK: {}", choices.of(&["8", "8", "16", "n", "7", "1048576", "0", "4294967296", "-8", "1.5"])));
    line(0, format!("grid: {}", quoted(choices.of(&GRIDS))));
    if choices.below(3) != 0 {
        line(0, "expect:".to_owned());
        for _ in 0..1 + choices.below(2) {
            let name = choices.of(&["z", "z", "x", "q"]);
            line(1, format!("{name}: {}", quoted(choices.of(&FORMULAS))));
        }
    }
    if choices.below(4) == 0 {
        line(0, format!("tolerance: {}", choices.of(&["1e-5", "0", "-1", ".nan", "text"])));
    }
    if !indent.is_empty() {
        // The list's mark goes before the first key.
        let at = text.rfind(&format!("{indent}kernel: k")).unwrap_or(0);
        text.replace_range(at..at + 4, "  - ");
    }
}

fn quoted(text: &str) -> String {
    if text.contains([':', '[', '*', '\'']) { format!("\"{text}\"") } else { text.to_owned() }
}
