//! Block pointers and tensor descriptors, run and compared with plain loops over indices.

use super::*;
use crate::kernel::{Specialization, Target};

const HEAD: &str = "import triton\nimport triton.language as tl\n\n@triton.jit\n";

fn launch(program: &Program, memory: &Memory, args: &[Arg]) -> Memory {
    run_all(program, memory, [1, 1, 1], args, &Options::default()).unwrap_or_else(|message| panic!("{message}"))
}

/// Each 8×16 block of a row of blocks is doubled, zero where it lies outside.
#[test]
fn a_row_of_tiles_is_padded_and_clipped() {
    let text = format!(
        "{HEAD}def k(x_ptr, y_ptr, z_ptr, M, K, B: tl.constexpr, BK: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (M, K), (K, 1), (0, 0), (B, BK), (1, 0))
    y = tl.make_block_ptr(y_ptr, (M, K), (K, 1), (0, 0), (B, BK), (1, 0))
    total = tl.zeros((B, BK), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        v = tl.load(x, boundary_check=(0, 1), padding_option='zero')
        total += v
        tl.store(y, v * 2, boundary_check=(0, 1))
        x = tl.advance(x, (0, BK))
        y = tl.advance(y, (0, BK))
    i = tl.arange(0, B)[:, None] * BK + tl.arange(0, BK)[None, :]
    tl.store(z_ptr + i, total)
"
    );
    let program = compile("k.py", &text, "k x_ptr=*f32 y_ptr=*f32 z_ptr=*f32 M=i32 K=i32 B=8 BK=16");
    for (m, k) in [(8, 32), (5, 37), (8, 3)] {
        let data = numbers(m * k, 3);
        let mut memory = Memory::default();
        let x = memory.insert("x", Storage::F32(data.clone()));
        let y = memory.allocate("y", DType::F32, m * k);
        let z = memory.allocate("z", DType::F32, 128);
        let args = [whole(x, &[m, k]), whole(y, &[m, k]), whole(z, &[8, 16]), Arg::Int(m as i64), Arg::Int(k as i64)];
        let after = launch(&program, &memory, &args);
        let doubled: Vec<f32> = data.iter().map(|v| v * 2.0).collect();
        assert_eq!(f32s(&after, y), doubled);
        let mut total = vec![0.0f32; 128];
        for (i, slot) in total.iter_mut().enumerate() {
            let (row, column) = (i / 16, i % 16);
            for at in (column..k.div_ceil(16) * 16).step_by(16) {
                *slot += if row < m && at < k { data[row * k + at] } else { 0.0 };
            }
        }
        assert_eq!(f32s(&after, z), total);
    }
}

/// A transposed view through strides, and a block pointer that a branch moves.
#[test]
fn strides_and_branches_of_block_pointers() {
    let text = format!(
        "{HEAD}def k(x_ptr, y_ptr, n, by):
    x = tl.make_block_ptr(x_ptr, (4, 8), (1, 4), (0, 0), (4, 8), (0, 1))
    y = tl.make_block_ptr(y_ptr, (n,), (1,), (0,), (32,), (0,))
    if by > 2:
        y = tl.advance(y, (by,))
    tl.store(y, tl.reshape(tl.load(x), (32,)), boundary_check=(0,))
"
    );
    let program = compile("k.py", &text, "k x_ptr=*f32 y_ptr=*f32 n=i32 by=i32");
    for by in [1usize, 8] {
        let data = numbers(32, 9);
        let mut memory = Memory::default();
        let x = memory.insert("x", Storage::F32(data.clone()));
        let y = memory.insert("y", Storage::F32(vec![7.0; 40]));
        let after = launch(&program, &memory, &[whole(x, &[8, 4]), whole(y, &[40]), Arg::Int(40), Arg::Int(by as i64)]);
        let mut want = vec![7.0; 40];
        let shift = if by > 2 { by } else { 0 };
        for i in 0..32 {
            want[shift + i] = data[(i % 8) * 4 + i / 8];
        }
        assert_eq!(f32s(&after, y), want);
    }
}

/// Descriptors of the kernel and of the host read zero (or NaN) outside, store nothing there, convert what they store.
#[test]
fn descriptors_clip_and_fill() {
    let text = format!(
        "{HEAD}def k(x_ptr, y, M, N):
    x = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [4, 8])
    p = tl.make_tensor_descriptor(x_ptr, [M, N], [N, 1], [4, 8], padding_option='nan')
    v = x.load([-1, 4])
    w = p.load([-1, 4])
    y.store([0, 0], tl.where(w == w, v, v + 5))
"
    );
    let file = SourceFile::new("k.py", text);
    let spec = Specialization {
        args: vec![
            ("x_ptr".to_owned(), ArgSpec::Pointer(DType::F32)),
            ("y".to_owned(), ArgSpec::Descriptor { dtype: DType::F16, block: vec![4, 8] }),
            ("M".to_owned(), ArgSpec::Int { bits: 32 }),
            ("N".to_owned(), ArgSpec::Int { bits: 32 }),
        ],
        target: Target::default(),
    };
    let kernel = crate::kernel::compile(&parse_module(&file).unwrap(), "k", &spec).unwrap();
    let program = Program::compile(&kernel).unwrap();
    let mut memory = Memory::default();
    let data: Vec<f32> = (0..20).map(|i| i as f32).collect();
    let x = memory.insert("x", Storage::F32(data.clone()));
    let y = memory.allocate("y", DType::F16, 21);
    let args =
        [whole(x, &[2, 10]), whole(y, &[3, 7]), Arg::Int(3), Arg::Int(7), Arg::Int(7), Arg::Int(1), Arg::Int(2), Arg::Int(10)];
    let after = launch(&program, &memory, &args);
    let want: Vec<f32> = (0..21)
        .map(|i| {
            let (row, column) = (i / 7, i % 7 + 4);
            if (1..3).contains(&row) && column < 10 { data[(row - 1) * 10 + column] } else { 5.0 }
        })
        .collect();
    assert_eq!(f32s(&after, y), want);
}

#[test]
fn rows_are_gathered_and_scattered() {
    let text = format!(
        "{HEAD}def k(x, y, at_ptr):
    at = tl.load(at_ptr + tl.arange(0, 8))
    y.scatter(x.gather(at, 4) * 2, at - 1, 0)
"
    );
    let file = SourceFile::new("k.py", text);
    let desc = || ArgSpec::Descriptor { dtype: DType::F32, block: vec![1, 8] };
    let args = vec![("x".to_owned(), desc()), ("y".to_owned(), desc()), ("at_ptr".to_owned(), ArgSpec::Pointer(DType::I32))];
    let spec = Specialization { args, target: Target::default() };
    let program = Program::compile(&crate::kernel::compile(&parse_module(&file).unwrap(), "k", &spec).unwrap()).unwrap();
    let (rows, data) = ([3i64, 0, 9, 5, 4, 1, 7, 6], numbers(80, 4));
    let mut memory = Memory::default();
    let x = memory.insert("x", Storage::F32(data.clone()));
    let y = memory.insert("y", Storage::F32(vec![-1.0; 80]));
    let at = memory.insert("at", Storage::I64(rows.to_vec()));
    let sizes = |base: Arg| [base, Arg::Int(8), Arg::Int(10), Arg::Int(10), Arg::Int(1)];
    let mut all = Vec::new();
    all.extend(sizes(whole(x, &[8, 10])));
    all.extend(sizes(whole(y, &[8, 10])));
    all.push(whole(at, &[8]));
    let after = launch(&program, &memory, &all);
    let mut want = vec![-1.0; 80];
    for row in rows {
        for column in 0..8 {
            let (to, inside) = (row - 1, row < 8 && column + 4 < 10);
            let value = if inside { data[row as usize * 10 + column + 4] * 2.0 } else { 0.0 };
            if (0..8).contains(&to) {
                want[to as usize * 10 + column] = value;
            }
        }
    }
    assert_eq!(f32s(&after, y), want);
}
