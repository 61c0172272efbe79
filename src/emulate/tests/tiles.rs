//! What is kept of tiles from one instruction to the next, where it changes after all: by turns of a loop, by limits
//! of masks, by programs. Each is also run on the dense tape, which keeps nothing.

use super::*;

const HEAD: &str = "import triton\nimport triton.language as tl\n\n@triton.jit\n";

/// The launch on `x` of 4×64 elements, into as many: what each element is read from, or -1.
fn places(text: &str, grid: u32, out: usize, options: &Options) -> Result<Vec<f32>, String> {
    let program = compile("k.py", &format!("{HEAD}{text}"), "k x_ptr=*f32 y_ptr=*f32");
    let mut memory = Memory::default();
    let x = memory.insert("x", Storage::F32((0..256).map(|i| i as f32).collect()));
    let y = memory.allocate("y", DType::F32, out);
    let args = [whole(x, &[256]), whole(y, &[out])];
    Ok(f32s(&run_all(&program, &memory, [grid, 1, 1], &args, options)?, y).to_vec())
}

/// A `while` carries the columns, so that a tile's term along them is another every turn.
#[test]
fn columns_that_a_while_loop_moves() {
    let text = "def k(x_ptr, y_ptr):
    row = tl.arange(0, 4)
    column = tl.arange(0, 16)
    at = column
    turn = 0
    while turn < 4:
        mask = row[:, None] + at[None, :] < 40
        v = tl.load(x_ptr + row[:, None] * 64 + at[None, :], mask=mask, other=-1.0)
        tl.store(y_ptr + turn * 64 + row[:, None] * 16 + column[None, :], v)
        at += 16
        turn += 1
";
    let got = places(text, 1, 256, &Options::default()).expect("the kernel is right");
    for (i, v) in got.into_iter().enumerate() {
        let (turn, row, column) = (i / 64, i / 16 % 4, i % 16 + i / 64 * 16);
        let want = if row + column < 40 { (row * 64 + column) as f32 } else { -1.0 };
        assert_eq!(v, want, "turn {turn}, row {row}, column {column}");
    }
}

/// The limit of a mask moves with the iteration while the terms of its lines come again.
#[test]
fn a_limit_that_moves_with_the_iteration() {
    let text = "def k(x_ptr, y_ptr):
    row = tl.arange(0, 4) * 3 % 4
    column = tl.arange(0, 16)
    for start in range(0, 64, 16):
        at = start + column
        near = (at % 4)[:, None] + row[None, :]
        mask = (near < start // 16 + 2) & (near >= 1)
        v = tl.load(x_ptr + row[None, :] * 64 + at[:, None], mask=mask, other=-1.0)
        tl.store(y_ptr + row[None, :] * 64 + at[:, None], v)
";
    let got = places(text, 1, 256, &Options::default()).expect("the kernel is right");
    for (i, v) in got.into_iter().enumerate() {
        let (row, at) = (i / 64, i % 64);
        let near = at % 4 + row;
        let want = if near < at / 16 + 2 && near >= 1 { i as f32 } else { -1.0 };
        assert_eq!(v, want, "row {row}, column {at}");
    }
}

/// Sums that are compared wrap in the last iteration of the last program alone: 2³¹ − 96 lies before its first lane.
#[test]
fn a_sum_that_wraps_in_one_iteration() {
    let text = "def k(x_ptr, y_ptr):
    pid = tl.program_id(0)
    row = pid * 1073741776 + tl.arange(0, 2)
    column = tl.arange(0, 16)
    for start in range(0, 64, 16):
        at = start + column
        mask = (row[:, None] + (at * 2)[None, :] >= 0) & (row[:, None] - at[None, :] * 3 > -1000)
        v = tl.load(x_ptr + tl.arange(0, 2)[:, None] * 64 + at[None, :], mask=mask, other=-1.0)
        tl.store(y_ptr + pid * 128 + tl.arange(0, 2)[:, None] * 64 + at[None, :], v)
";
    let told = places(text, 3, 384, &Options::default()).expect_err("a mask rests on a wrapped sum");
    assert!(told.contains("A011") && told.contains("program: (2, 0, 0)"), "{told}");
    let mut options = Options::default();
    options.checks.wrapped = false;
    let got = places(text, 3, 384, &options).expect("wrapping is allowed");
    for (i, v) in got.into_iter().enumerate() {
        let (pid, row, at) = ((i / 128) as i32, (i / 64 % 2) as i32, (i % 64) as i32);
        let sum = pid.wrapping_mul(1_073_741_776).wrapping_add(row).wrapping_add(at * 2);
        let want = if sum >= 0 { (i % 128) as f32 } else { -1.0 };
        assert_eq!(v, want, "program {pid}, row {row}, column {at}");
    }
}

/// A mask of the rows alone has gaps, beside one of rows and columns.
#[test]
fn rows_that_their_own_mask_leaves_out() {
    let text = "def k(x_ptr, y_ptr):
    column = tl.arange(0, 16)
    for start in range(0, 16, 4):
        row = start + tl.arange(0, 4)
        mask = (row % 3 != 1)[:, None] & (row[:, None] + column[None, :] < 20)
        v = tl.load(x_ptr + row[:, None] * 16 + column[None, :], mask=mask, other=-1.0)
        tl.store(y_ptr + row[:, None] * 16 + column[None, :], v)
";
    let got = places(text, 1, 256, &Options::default()).expect("the kernel is right");
    for (i, v) in got.into_iter().enumerate() {
        let (row, column) = (i / 16, i % 16);
        let want = if row % 3 != 1 && row + column < 20 { i as f32 } else { -1.0 };
        assert_eq!(v, want, "row {row}, column {column}");
    }
}

/// A term of the compared sums is carried by the loop and by the one around it, and wraps in the last program's last
/// turn.
#[test]
fn a_carried_term_that_wraps() {
    let masked = "mask = (row[:, None] + (at * 2)[None, :] + far >= 0) & (row[:, None] - (at * 3)[None, :] + far > -1000)
INDENT v = tl.load(x_ptr + row[:, None] * 64 + at[None, :], mask=mask, other=-1.0)
INDENT tl.store(y_ptr + pid * 128 + row[:, None] * 64 + at[None, :], v)
";
    let head = "def k(x_ptr, y_ptr):
    pid = tl.program_id(0)
    row = tl.arange(0, 2)
    column = tl.arange(0, 16)
    far = pid // 63 * 10
";
    let by_for = format!(
        "{head}    for start in range(0, 64, 16):
        at = start + column
        {}        far += (pid // 63) * 715827862
",
        masked.replace("INDENT ", "        ")
    );
    let by_while = format!(
        "{head}    turn = 0
    while turn < 4:
        for start in range(0, 64, 16):
            at = start + column
            {}        far += (pid // 63) * 715827862
        turn += 1
",
        masked.replace("INDENT ", "            ")
    );
    for text in [by_for, by_while] {
        let told = places(&text, 64, 64 * 128, &Options::default()).expect_err("a mask rests on a wrapped sum");
        assert!(told.contains("A011") && told.contains("program: (63, 0, 0)"), "{told}\n{text}");
    }
}
