//! The kernels of `benches/kernels` against plain loops.

use super::*;

fn peer(name: &str, number: usize) -> Program {
    program_of(&format!("benches/kernels/{name}.py"), name, number)
}

fn close(got: &[f32], want: &[f32], tolerance: f32) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        assert!((g - w).abs() <= tolerance * (1.0 + w.abs()), "element {i}: {g}, not {w}");
    }
}

/// The memory after a run in every mode, none of which had to replay a program.
fn clean(program: &Program, memory: &Memory, grid: [u32; 3], args: &[Arg]) -> Memory {
    let after = run_all(program, memory, grid, args, &Options::default()).unwrap_or_else(|message| panic!("{message}"));
    let report = run(program, &mut memory.clone(), grid, args, &Options::default()).unwrap();
    assert_eq!(report.replayed, 0, "{report:?}");
    after
}

#[test]
fn vecadd() {
    for (number, n) in [(0, 5000), (1, 1000), (1, 64)] {
        let program = peer("vecadd", number);
        let mut memory = Memory::default();
        let x = memory.insert("x", Storage::F32(numbers(n, 1)));
        let y = memory.insert("y", Storage::F32(numbers(n, 2)));
        let out = memory.allocate("out", DType::F32, n);
        let args = [whole(x, &[n]), whole(y, &[n]), whole(out, &[n]), Arg::Int(n as i64)];
        let block = if number == 0 { 1024 } else { 64 };
        let after = clean(&program, &memory, [n.div_ceil(block) as u32, 1, 1], &args);
        let want: Vec<f32> = numbers(n, 1).iter().zip(numbers(n, 2)).map(|(a, b)| a + b).collect();
        assert_eq!(f32s(&after, out), want);
        let Arg::Pointer(view) = &args[2] else { panic!("no pointer") };
        assert!(coverage(&after, view, Checks::default()).is_none());
    }
}

#[test]
fn softmax() {
    for (number, rows, columns) in [(0, 3, 1024), (0, 2, 700), (1, 5, 64), (1, 5, 37)] {
        let program = peer("softmax", number);
        let mut memory = Memory::default();
        let data = numbers(rows * columns, 3);
        let x = memory.insert("x", Storage::F32(data.clone()));
        let out = memory.allocate("out", DType::F32, rows * columns);
        let n = columns as i64;
        let args = [whole(out, &[rows, columns]), whole(x, &[rows, columns]), Arg::Int(n), Arg::Int(n), Arg::Int(n)];
        let after = clean(&program, &memory, [rows as u32, 1, 1], &args);
        let want: Vec<f32> = data
            .chunks(columns)
            .flat_map(|row| {
                let sum: f64 = row.iter().map(|&v| f64::from(v).exp()).sum();
                row.iter().map(move |&v| (f64::from(v).exp() / sum) as f32).collect::<Vec<_>>()
            })
            .collect();
        close(f32s(&after, out), &want, 1e-6);
    }
}

#[test]
fn matmul() {
    for (number, m, n, k) in [(0, 64, 64, 64), (0, 100, 70, 50), (1, 33, 65, 17)] {
        for turned in [false, true] {
            let program = peer("matmul", number);
            let mut memory = Memory::default();
            let (da, db) = (numbers(m * k, 5), numbers(k * n, 6));
            let a = memory.insert("a", Storage::F32(da.clone()));
            let b = memory.insert("b", Storage::F32(db.clone()));
            let c = memory.allocate("c", DType::F32, m * n);
            let (sbk, sbn) = if turned { (1, k) } else { (n, 1) };
            let ints = [m, n, k, k, 1, sbk, sbn, n, 1].map(|v| Arg::Int(v as i64));
            let b_shape = if turned { [n, k] } else { [k, n] };
            let mut args = vec![whole(a, &[m, k]), whole(b, &b_shape), whole(c, &[m, n])];
            args.extend(ints);
            let (bm, bn) = if number == 0 { (64, 64) } else { (16, 32) };
            let grid = [(m.div_ceil(bm) * n.div_ceil(bn)) as u32, 1, 1];
            let after = clean(&program, &memory, grid, &args);
            let at_b = |p: usize, j: usize| f64::from(db[p * sbk + j * sbn]);
            let want: Vec<f32> =
                (0..m * n).map(|i| (0..k).map(|p| f64::from(da[i / n * k + p]) * at_b(p, i % n)).sum::<f64>() as f32).collect();
            close(f32s(&after, c), &want, 1e-5);
        }
    }
}

#[test]
fn conv2d() {
    // N, C, H, W, K, R, S, stride, pad
    for (number, [n, c, h, w, k, r, s, stride, pad]) in [
        (0, [1, 5, 14, 14, 70, 3, 3, 1, 1]),
        (0, [2, 33, 9, 7, 8, 1, 1, 2, 0]),
        (1, [2, 3, 17, 19, 20, 7, 7, 2, 3]),
        (1, [1, 16, 8, 8, 16, 3, 3, 2, 1]),
        (0, [1, 24, 7, 7, 8, 3, 3, 1, 1]),
        (1, [1, 24, 14, 14, 8, 3, 3, 1, 1]),
    ] {
        let program = peer("conv2d", number);
        let (p, q) = ((h + 2 * pad - r) / stride + 1, (w + 2 * pad - s) / stride + 1);
        let mut memory = Memory::default();
        let (dx, dw) = (numbers(n * c * h * w, 7), numbers(k * c * r * s, 8));
        let x = memory.insert("x", Storage::F32(dx.clone()));
        let weight = memory.insert("w", Storage::F32(dw.clone()));
        let y = memory.allocate("y", DType::F32, n * k * p * q);
        let mut args = vec![whole(x, &[n, c, h, w]), whole(weight, &[k, c, r, s]), whole(y, &[n, k, p, q])];
        args.extend([n, c, h, w, k, p, q, r, s, stride, pad].map(|v| Arg::Int(v as i64)));
        let (bm, bn) = if number == 0 { (64, 64) } else { (32, 16) };
        let grid = [(n * p * q).div_ceil(bm) as u32, k.div_ceil(bn) as u32, 1];
        let after = clean(&program, &memory, grid, &args);
        let mut want = Vec::new();
        for i in 0..n * k * p * q {
            let (at_n, at_k, at_p, at_q) = (i / (k * p * q), i / (p * q) % k, i / q % p, i % q);
            let mut sum = 0.0;
            for tap in 0..c * r * s {
                let (at_c, at_r, at_s) = (tap / (r * s), tap / s % r, tap % s);
                let (y0, x0) = ((at_p * stride + at_r) as i64 - pad as i64, (at_q * stride + at_s) as i64 - pad as i64);
                if (0..h as i64).contains(&y0) && (0..w as i64).contains(&x0) {
                    let from = ((at_n * c + at_c) * h + y0 as usize) * w + x0 as usize;
                    sum += f64::from(dx[from]) * f64::from(dw[at_k * c * r * s + tap]);
                }
            }
            want.push(sum as f32);
        }
        close(f32s(&after, y), &want, 1e-4);
    }
}
