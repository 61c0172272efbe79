//! Ratios that the emulator is held to, each measured side by side in one run, and the least of several rounds a side:
//! its matrix product against the gemm crate's, two threads against one (wall clock), checks on against checks off.
//!
//! `cargo bench --bench asked [-- gemm|threads|checks]`

mod common;

use std::time::Instant;

use common::{Launch, conv2d, cpu_nanoseconds, matmul, numbers, softmax, vecadd};
use decompose::emulate::{Checks, Options};

const ROUNDS: usize = 7;

/// What time is taken by: the calling thread's CPU time, or the wall.
#[derive(Clone, Copy)]
enum Clock {
    Cpu,
    Wall,
}

impl Clock {
    fn time(self, repeats: usize, mut call: impl FnMut()) -> f64 {
        let (cpu, wall) = (cpu_nanoseconds(), Instant::now());
        (0..repeats).for_each(|_| call());
        let nanoseconds = match self {
            Clock::Cpu => (cpu_nanoseconds() - cpu) as f64,
            Clock::Wall => wall.elapsed().as_nanos() as f64,
        };
        nanoseconds / 1e6 / repeats as f64
    }
}

/// The least time of each of two calls, which take turns.
fn in_turn(clock: Clock, mut first: impl FnMut(), mut second: impl FnMut()) -> (f64, f64) {
    let once = Clock::Wall.time(1, &mut first) + Clock::Wall.time(1, &mut second);
    let repeats = (100.0 / once).ceil().clamp(1.0, 1000.0) as usize;
    (0..ROUNDS)
        .fold((f64::MAX, f64::MAX), |(a, b), _| (a.min(clock.time(repeats, &mut first)), b.min(clock.time(repeats, &mut second))))
}

fn against_gemm(n: usize, tiles: [usize; 3]) {
    let mut launch = matmul(n, tiles);
    let (a, b) = (numbers(n * n), numbers(n * n));
    let mut c = vec![0f32; n * n];
    let mut crate_gemm = || {
        let stride = n as isize;
        // SAFETY: three n × n matrices in row-major order, as the strides say.
        unsafe {
            let (to, lhs, rhs) = (c.as_mut_ptr(), a.as_ptr(), b.as_ptr());
            let none = gemm::Parallelism::None;
            gemm::gemm(n, n, n, to, 1, stride, false, lhs, 1, stride, rhs, 1, stride, 0.0, 1.0, false, false, false, none);
        }
    };
    let options = Options::default();
    let (ours, theirs) = in_turn(Clock::Cpu, || drop(launch.run(&options)), &mut crate_gemm);
    let largest = c.iter().fold(0f32, |m, x| m.max(x.abs()));
    let difference = c.iter().zip(launch.output()).fold(0f32, |d, (x, y)| d.max((x - y).abs())) / largest;
    assert!(difference < 1e-4, "the products differ by {difference} of the largest element");
    println!(
        "matmul {n}³ at {tiles:?}: {ours:.0} ms, {:.1} GFLOP/s; gemm crate {theirs:.0} ms, {:.1} GFLOP/s; ours: {:.0} % of it; difference {difference:.1e}",
        launch.flop / ours / 1e6,
        launch.flop / theirs / 1e6,
        100.0 * theirs / ours
    );
}

/// Name and launch, by the sizes of the comparison with Triton's interpreter.
fn peers() -> [(&'static str, fn() -> Launch); 5] {
    [
        ("vecadd 2^20", || vecadd(1 << 20)),
        ("softmax 1024²", || softmax(1024)),
        ("matmul 512³", || matmul(512, [64, 64, 32])),
        ("matmul 1024³", || matmul(1024, [128, 128, 32])),
        ("conv2d 64×56×56 3×3", || conv2d([64, 64, 32], [64, 56, 64, 3, 1])),
    ]
}

fn two_threads() {
    for (name, launch) in peers() {
        let (mut on_one, mut on_two) = (launch(), launch());
        let (one, two) = (Options::default(), Options { threads: 2, ..Options::default() });
        let (a, b) = in_turn(Clock::Wall, || drop(on_one.run(&one)), || drop(on_two.run(&two)));
        assert_eq!(on_one.output(), on_two.output(), "threads do not show in results");
        println!("{name}: one thread {a:.2} ms, two {b:.2} ms (wall): {:.2} times as fast", a / b);
    }
}

fn checks_on() {
    for (name, launch) in peers() {
        let (mut with, mut without) = (launch(), launch());
        let (on, off) = (Options::default(), Options { checks: Checks::NONE, ..Options::default() });
        let (a, b) = in_turn(Clock::Cpu, || drop(with.run(&on)), || drop(without.run(&off)));
        assert_eq!(with.output(), without.output(), "checks do not show in results");
        println!("{name}: checks on {a:.2} ms, off {b:.2} ms (CPU): {:.2} times as long", a / b);
    }
}

fn main() {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let is = |name: &str| wanted.as_deref().is_none_or(|w| w == name);
    if is("gemm") {
        against_gemm(2048, [128, 128, 32]);
    }
    if is("threads") {
        two_threads();
    }
    if is("checks") {
        checks_on();
    }
}
