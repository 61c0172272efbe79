//! The operator templates as they ship, unbound: every mode gives equal bits, no program has to be
//! replayed, and their accesses alone, or some of their programs, do their part of it.

use super::*;

/// Compiles an entry of a template; run-time integers are i32.
fn template(name: &str, entry: &str, pointers: &[&str], ints: &[&str], constants: &str) -> Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("operator_templates").join(name).join("kernel.py");
    let text = std::fs::read_to_string(path).unwrap();
    let mut request = entry.to_owned();
    pointers.iter().for_each(|p| request += &format!(" {p}=*f32"));
    ints.iter().for_each(|i| request += &format!(" {i}=i32"));
    compile("kernel.py", &text, &format!("{request} {constants}"))
}

/// Runs with inputs of these shapes and one output, the last pointer or the one at `output`.
fn check(program: &Program, grid: u32, shapes: &[&[usize]], output: usize, ints: &[i64]) {
    let mut memory = Memory::default();
    let mut args = Vec::new();
    for (i, shape) in shapes.iter().enumerate() {
        let n = shape.iter().product();
        let positive = |lanes: Vec<f32>| lanes.into_iter().map(|x| x + 1.5).collect();
        let id = if i == output {
            memory.allocate("y", DType::F32, n)
        } else {
            memory.insert(format!("x{i}"), Storage::F32(positive(numbers(n, i as u64))))
        };
        args.push(whole(id, shape));
    }
    args.extend(ints.iter().map(|&v| Arg::Int(v)));
    let after = run_all(program, &memory, [grid, 1, 1], &args, &Options::default()).unwrap_or_else(|message| panic!("{message}"));
    let Arg::Pointer(view) = &args[output] else { panic!("no pointer") };
    assert!(coverage(&after, view, Checks::default()).is_none());
    let report = run(program, &mut memory.clone(), [grid, 1, 1], &args, &Options::default()).unwrap();
    assert_eq!(report.replayed, 0, "{report:?}");
    // Nor is anything worth a warning.
    let watchful = Options { checks: Checks::watchful(), ..Options::default() };
    let warned = run(program, &mut memory.clone(), [grid, 1, 1], &args, &watchful).unwrap();
    assert!(warned.findings.is_empty(), "{}", warned.findings.iter().map(|f| render(f, false)).collect::<String>());

    // Its accesses alone write the same elements.
    let touched = run_all(&accesses(program), &memory, [grid, 1, 1], &args, &Options::default()).unwrap();
    assert!(coverage(&touched, view, Checks::default()).is_none());
    assert!(f32s(&touched, view.buffer).iter().all(|&lane| lane == 0.0), "an access stored a value");

    // Some programs alone write what they write among all.
    let only: Vec<u32> = (0..grid).filter(|program| program % 3 != 1).collect();
    let options = Options { only: Some(only.into()), ..Options::default() };
    let some = run_all(program, &memory, [grid, 1, 1], &args, &options).unwrap();
    let (lanes, all) = (f32s(&some, view.buffer), f32s(&after, view.buffer));
    let undefined = some.buffers[view.buffer.0].undefined.as_ref();
    let written = |i: &usize| undefined.is_none_or(|bits| !bits.get(*i));
    let kept: Vec<usize> = (0..all.len()).filter(written).collect();
    assert!(!kept.is_empty() && kept.iter().all(|&i| lanes[i].to_bits() == all[i].to_bits()));
    assert!(grid == 1 || kept.len() < all.len(), "{} of {} elements by some programs", kept.len(), all.len());
}

#[test]
fn convolution() {
    let ints = [
        "N",
        "C",
        "H",
        "W",
        "K",
        "P",
        "Q",
        "R",
        "S",
        "x_stride_n",
        "x_stride_c",
        "x_stride_h",
        "x_stride_w",
        "w_stride_k",
        "w_stride_c",
        "w_stride_r",
        "w_stride_s",
        "y_stride_n",
        "y_stride_k",
        "y_stride_p",
        "y_stride_q",
    ];
    for (n, c, h, k, r, stride, groups, entry) in [
        (1usize, 24usize, 7usize, 20usize, 3usize, 1usize, 1usize, "conv2d_resnet_kernel"),
        (2, 8, 14, 16, 3, 2, 2, "conv2d_resnet_kernel"),
        (1, 3, 30, 10, 7, 2, 1, "conv2d_resnet_kernel"),
        (1, 40, 9, 33, 1, 1, 1, "conv2d_resnet_kernel"),
    ] {
        let pad = r / 2;
        let p = (h + 2 * pad - r) / stride + 1;
        let constants = format!(
            "STRIDE_H={stride} STRIDE_W={stride} PAD_H={pad} PAD_W={pad} DILATION_H=1 DILATION_W=1 GROUPS={groups} \
             PRECISION=\"ieee\" BM=64 BN=16 BK=32"
        );
        let program = template("conv2d_resnet", entry, &["x_ptr", "w_ptr", "y_ptr"], &ints, &constants);
        let cg = c / groups;
        let sizes = [n, cg, h, h, k, p, p, r, r, c * h * h, h * h, h, 1, cg * r * r, r * r, r, 1, k * p * p, p * p, p, 1];
        let grid = (n * p * p).div_ceil(64usize) * (k / groups).div_ceil(16) * groups;
        let shapes: [&[usize]; 3] = [&[n, c, h, h], &[k, cg, r, r], &[n, k, p, p]];
        check(&program, grid as u32, &shapes, 2, &sizes.map(|v| v as i64));
    }
}

#[test]
fn pools() {
    let ints = [
        "N",
        "C",
        "H",
        "W",
        "P",
        "Q",
        "x_stride_n",
        "x_stride_c",
        "x_stride_h",
        "x_stride_w",
        "y_stride_n",
        "y_stride_c",
        "y_stride_p",
        "y_stride_q",
    ];
    let constants = "KERNEL_H=3 KERNEL_W=3 STRIDE_H=2 STRIDE_W=2 DILATION_H=1 DILATION_W=1 PAD_H=1 PAD_W=1 BP=4 BQ=8";
    let program = template("maxpool2d", "maxpool2d_kernel", &["x_ptr", "y_ptr"], &ints, constants);
    let sizes = [2, 3, 21, 21, 11, 11, 3 * 441, 441, 21, 1, 3 * 121, 121, 11, 1];
    check(&program, 6 * 3 * 2, &[&[2, 3, 21, 21], &[2, 3, 11, 11]], 1, &sizes);

    let ints = [
        "N",
        "C",
        "H",
        "W",
        "P",
        "Q",
        "BIN_H",
        "BIN_W",
        "x_stride_n",
        "x_stride_c",
        "x_stride_h",
        "x_stride_w",
        "y_stride_n",
        "y_stride_c",
        "y_stride_p",
        "y_stride_q",
    ];
    let program = template("adaptive_avgpool2d", "adaptive_avgpool2d_kernel", &["x_ptr", "y_ptr"], &ints, "BE=8 BT=16");
    for (c, p) in [(20, 1), (3, 3)] {
        let bin = if p == 1 { 7 } else { 3 };
        let sizes = [1, c, 7, 7, p, p, bin, bin, c * 49, 49, 7, 1, c * p * p, p * p, p, 1];
        let shapes: [&[usize]; 2] = [&[1, c as usize, 7, 7], &[1, c as usize, p as usize, p as usize]];
        check(&program, ((c * p * p) as u32).div_ceil(8), &shapes, 1, &sizes);
    }
}

#[test]
fn elementwise() {
    let ints = [
        "N",
        "C",
        "S",
        "x_stride_n",
        "x_stride_c",
        "x_stride_s",
        "scale_stride_c",
        "bias_stride_c",
        "mean_stride_c",
        "var_stride_c",
        "y_stride_n",
        "y_stride_c",
        "y_stride_s",
    ];
    let pointers = ["x_ptr", "scale_ptr", "bias_ptr", "mean_ptr", "var_ptr", "y_ptr"];
    let program = template("batchnorm2d", "batchnorm2d_kernel", &pointers, &ints, "EPSILON=0.00001 BR=4 BS=64");
    let sizes = [2, 5, 100, 500, 100, 1, 1, 1, 1, 1, 500, 100, 1];
    check(&program, 3 * 2, &[&[2, 5, 100], &[5], &[5], &[5], &[5], &[2, 5, 100]], 5, &sizes);

    let ints = ["N", "C", "S", "x_stride_n", "x_stride_u", "x_stride_s", "y_stride_n", "y_stride_c", "y_stride_s"];
    let constants = "SIZE=4 ALPHA=0.5 BETA=0.75 BIAS=2.0 BR=4 BS=64";
    let program = template("lrn", "lrn_kernel", &["x_ptr", "y_ptr"], &ints, constants);
    check(&program, 3 * 2, &[&[2, 5, 100], &[2, 5, 100]], 1, &[2, 5, 100, 500, 100, 1, 500, 100, 1]);

    let program = template("relu", "relu_kernel", &["x_ptr", "y_ptr"], &["E"], "BLOCK=64");
    check(&program, 4, &[&[200], &[200]], 1, &[200]);

    let ints = ["E", "I", "x_stride_o", "x_stride_i", "x_stride_e", "y_stride_o", "y_stride_i", "y_stride_e"];
    for entry in ["softmax_kernel", "softmax_long_kernel"] {
        let block = if entry == "softmax_kernel" { "BLOCK=64" } else { "BLOCK=16" };
        let program = template("softmax", entry, &["x_ptr", "y_ptr"], &ints, block);
        check(&program, 6, &[&[6, 50], &[6, 50]], 1, &[1, 50, 50, 1, 1, 50, 1, 1]);
        check(&program, 6, &[&[2, 50, 3], &[2, 50, 3]], 1, &[3, 50, 150, 3, 1, 150, 3, 1]);
    }
}

#[test]
fn products() {
    let ints = [
        "B",
        "M",
        "N",
        "K",
        "a_stride_b",
        "a_stride_m",
        "a_stride_k",
        "b_stride_b",
        "b_stride_k",
        "b_stride_n",
        "y_stride_b",
        "y_stride_m",
        "y_stride_n",
    ];
    for entry in ["matmul_kernel", "matmul_kernel_loop"] {
        let mut ints = ints.to_vec();
        let looped = entry == "matmul_kernel_loop";
        if looped {
            ints.push("WORK");
        }
        let pointers = ["a_ptr", "b_ptr", "y_ptr"];
        let program = template("matmul", entry, &pointers, &ints, "PRECISION=\"ieee\" BM=16 BN=32 BK=16");
        for turned in [false, true] {
            let (m, n, k) = (19, 45, 37);
            let (bk, bn) = if turned { (1, k) } else { (n, 1) };
            let mut sizes = vec![2, m, n, k, m * k, k, 1, k * n, bk, bn, m * n, n, 1];
            let work = 2 * 2 * 2;
            if looped {
                sizes.push(work);
            }
            let shapes: [&[usize]; 3] = [&[2, 19, 37], &[2, 37, 45], &[2, 19, 45]];
            check(&program, if looped { 3 } else { work as u32 }, &shapes, 2, &sizes);
        }
    }
}
