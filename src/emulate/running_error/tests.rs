//! Bounds against what another machine could have computed: contracted products, other orders, functions that are off by
//! a unit; and that what is exact is held to equality.

use super::*;
use crate::emulate::tests::{compile, numbers, whole};
use crate::tensor::Storage;

const HEAD: &str = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n";

/// The output of a kernel `k(x_ptr, y_ptr, out_ptr, N: tl.constexpr)` over blocks of numbers, and its bounds.
fn run(body: &str, x: &[f32], y: &[f32], out: usize, grid: u32) -> (Vec<f32>, Vec<f64>, Bounds) {
    let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!("{HEAD}def k(x_ptr, y_ptr, out_ptr, N: tl.constexpr):\n    at = tl.arange(0, N)\n{lines}");
    let program = compile("k.py", &text, &format!("k x_ptr=*f32 y_ptr=*f32 out_ptr=*f32 N={}", x.len() / grid as usize));
    let mut memory = Memory::default();
    let storages = [x.to_vec(), y.to_vec(), vec![0.0; out]];
    let args: Vec<Arg> = storages
        .iter()
        .map(|lanes| whole(memory.insert_as("buffer", crate::dtype::DType::F32, Storage::F32(lanes.clone())), &[lanes.len()]))
        .collect();
    let bounds = bounds(&program, &mut memory, [grid, 1, 1], &args, &Options::default()).unwrap();
    let Storage::F32(lanes) = memory.lanes(BufferId(2)).clone() else { panic!("no f32") };
    let errors = bounds.of(BufferId(2)).to_vec();
    let errors = if errors.is_empty() { vec![0.0; out] } else { errors };
    assert!(bounds.of(BufferId(0)).is_empty() && bounds.of(BufferId(1)).is_empty());
    (lanes, errors, bounds)
}

fn ulp(x: f32) -> f64 {
    crate::dtype::DType::F32.format().unwrap().ulp(x.into())
}

#[test]
fn plain_arithmetic_is_held_to_equality() {
    let (x, y) = (numbers(64, 1), numbers(64, 2));
    let body = "x = tl.load(x_ptr + at)\ny = tl.load(y_ptr + at)\nz = tl.where(x > y, x - y, x * y)\ntl.store(out_ptr + at, tl.maximum(z, 0.5))";
    let (_, errors, bounds) = run(body, &x, &y, 64, 1);
    assert!(errors.iter().all(|&e| e == 0.0) && bounds.notes.is_empty());
}

#[test]
fn a_contracted_product_is_within_and_little_more() {
    let (x, y) = (numbers(64, 1), numbers(64, 2));
    let body = "x = tl.load(x_ptr + at)\ny = tl.load(y_ptr + at)\ntl.store(out_ptr + at, x * y + x)";
    let (v, errors, _) = run(body, &x, &y, 64, 1);
    let mut other = 0;
    for i in 0..64 {
        let contracted = x[i].mul_add(y[i], x[i]);
        assert!(f64::from((contracted - v[i]).abs()) <= errors[i], "{i}");
        assert!(errors[i] <= 2.0 * ulp(v[i]).max(ulp(x[i] * y[i])), "{i}: {:e}", errors[i]);
        other += usize::from(contracted != v[i]);
    }
    assert!(other > 0, "no product was rounded");
}

#[test]
fn a_function_has_its_units_and_carries_its_argument() {
    let (x, y) = (numbers(64, 1), numbers(64, 2));
    let (v, errors, _) = run("x = tl.load(x_ptr + at)\ntl.store(out_ptr + at, tl.exp(x))", &x, &y, 64, 1);
    for (v, e) in v.iter().zip(&errors) {
        assert!(*e >= ulp(*v) && *e <= 10.0 * ulp(*v), "{v}: {e:e}");
    }
    let body = "x = tl.load(x_ptr + at)\ntl.store(out_ptr + at, tl.exp(tl.exp(x) * 4.0))";
    let (v, errors, _) = run(body, &x, &y, 64, 1);
    for (i, (v, e)) in v.iter().zip(&errors).enumerate() {
        // The derivative of the outer function is its value.
        let inner = f64::from(x[i]).exp() * 4.0;
        let carried = f64::from(*v) * inner * f64::from(f32::EPSILON);
        assert!(*e > carried && *e < 12.0 * carried + 20.0 * ulp(*v), "{v}: {e:e} {carried:e}");
    }
}

#[test]
fn another_order_of_a_sum_is_within_and_a_lost_term_is_not() {
    let (x, y) = (numbers(1024, 1), numbers(1024, 2));
    let (v, errors, _) = run("x = tl.load(x_ptr + at)\ntl.store(out_ptr, tl.sum(x, axis=0))", &x, &y, 1, 1);
    let forward: f32 = x.iter().sum();
    let backward: f32 = x.iter().rev().sum();
    for other in [forward, backward] {
        assert!(f64::from((other - v[0]).abs()) <= errors[0], "{other} {} {:e}", v[0], errors[0]);
    }
    let lost = x.iter().filter(|x| f64::from(x.abs()) > errors[0]).count();
    assert!(lost > 1000, "{lost} terms could be seen to be lost, under {:e}", errors[0]);
}

#[test]
fn whole_numbers_have_one_sum() {
    let x: Vec<f32> = (0..256).map(|i| (i % 7) as f32 - 3.0).collect();
    let (_, errors, _) = run("x = tl.load(x_ptr + at)\ntl.store(out_ptr, tl.sum(x, axis=0))", &x, &x, 1, 1);
    assert_eq!(errors, [0.0]);
}

#[test]
fn a_choice_within_its_error_has_the_distance_of_its_values() {
    let x = vec![0.0, 1.0, 2.0, 3.0];
    // exp(0) is 1 on both sides or not quite.
    let body = "x = tl.load(x_ptr + at)\ntl.store(out_ptr + at, tl.where(tl.exp(x) > 1.0, 5.0, 3.0))";
    let (v, errors, _) = run(body, &x, &x, 4, 1);
    assert_eq!((v[0], errors), (3.0, vec![2.0, 0.0, 0.0, 0.0]));
}

#[test]
fn an_undecided_branch_leaves_nothing_decided() {
    let x = vec![0.0; 4];
    let body = "x = tl.load(x_ptr)\nif tl.exp(x) > 1.0:\n    tl.store(out_ptr, x)\nelse:\n    tl.store(out_ptr + 1, x)";
    let (_, errors, bounds) = run(body, &x, &x, 4, 1);
    assert!(errors.iter().all(|&e| e == f64::INFINITY));
    assert_eq!(bounds.notes, ["line 9: a branch hangs on a value within its error"]);
}

#[test]
fn atomics_may_come_in_any_order() {
    let x = numbers(64, 3);
    let body = "x = tl.load(x_ptr + tl.program_id(0) + at)\ntl.atomic_add(out_ptr + at, x)";
    let (v, errors, _) = run(body, &x, &x, 1, 64);
    let backward: f32 = x.iter().rev().sum();
    assert!(f64::from((backward - v[0]).abs()) <= errors[0]);
    assert!(errors[0] < 1e-4 && errors[0] > 0.0, "{:e}", errors[0]);
}

#[test]
fn an_index_of_the_largest_is_exact_or_undecided() {
    let x = vec![1.0, 3.0, 2.0, 3.0];
    let (v, errors, _) = run("x = tl.load(x_ptr + at)\ntl.store(out_ptr, tl.argmax(x, axis=0))", &x, &x, 1, 1);
    assert_eq!((v[0], errors[0]), (1.0, 0.0));
    // Two functions of one number that are equal but for their last bits.
    let body = "x = tl.load(x_ptr + at)\nz = tl.where(at < 2, tl.exp(x), tl.exp2(x * 1.4426950408889634))\ntl.store(out_ptr, tl.argmax(z, axis=0))";
    let (_, errors, _) = run(body, &x, &x, 1, 1);
    assert!(errors[0] >= 2.0, "{errors:?}");
}

#[test]
fn a_scan_by_any_function_has_the_errors_of_its_steps() {
    let text = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef f(a, b):\n    return a * 0.5 + b\n\n\n@triton.jit\ndef k(x_ptr, out_ptr, N: tl.constexpr):\n    at = tl.arange(0, N)\n    x = tl.load(x_ptr + at)\n    tl.store(out_ptr + at, tl.associative_scan(x, 0, f))\n";
    let program = compile("k.py", text, "k x_ptr=*f32 out_ptr=*f32 N=16");
    let mut memory = Memory::default();
    let args: Vec<Arg> = [numbers(16, 1), vec![0.0; 16]]
        .into_iter()
        .map(|lanes| whole(memory.insert_as("buffer", crate::dtype::DType::F32, Storage::F32(lanes)), &[16]))
        .collect();
    let bounds = bounds(&program, &mut memory, [1, 1, 1], &args, &Options::default()).unwrap();
    let errors = bounds.of(BufferId(1));
    assert_eq!(errors[0], 0.0);
    assert!(errors[1..].iter().all(|&e| e > 0.0 && e < 1e-5), "{errors:?}");
}

#[test]
fn a_dot_carries_errors_of_its_operands() {
    let x = numbers(256, 1);
    let body = "m = tl.arange(0, 16)\nat = m[:, None] * 16 + m[None, :]\nx = tl.load(x_ptr + at)\ntl.store(out_ptr + at, tl.dot(x, x, input_precision='ieee'))";
    let (_, plain, _) = run(body, &x, &x, 256, 1);
    let (_, carried, _) = run(&body.replace("tl.dot(x, x,", "tl.dot(tl.exp(x), x,"), &x, &x, 256, 1);
    assert!(plain.iter().all(|&e| e > 0.0 && e < 1e-5));
    assert!(plain.iter().sum::<f64>() < carried.iter().sum::<f64>());
}
