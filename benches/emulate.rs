//! CPU time of the emulator, one thread, all checks on: the four peer kernels and the 53 convolutions
//! of ResNet-50. Prints milliseconds (the best of several runs, and over an idle machine's noise).
//!
//! `cargo bench --bench emulate [-- NAME]`

mod common;

use common::{Launch, conv2d, cpu_nanoseconds, matmul, softmax, vecadd};
use decompose::emulate::{Options, RunReport};

/// Milliseconds a run: the best of several rounds, each long enough for the system's clock, which
/// may tick only every 4 ms.
fn best(rounds: usize, launch: &mut Launch) -> (f64, RunReport) {
    let options = Options::default();
    let start = std::time::Instant::now();
    let report = launch.run(&options);
    let repeats = (0.06 / start.elapsed().as_secs_f64()).ceil().clamp(1.0, 1000.0) as usize;
    let mut round = || {
        let start = cpu_nanoseconds();
        for _ in 0..repeats {
            launch.run(&options);
        }
        (cpu_nanoseconds() - start) as f64 / 1e6 / repeats as f64
    };
    ((0..rounds).map(|_| round()).fold(f64::MAX, f64::min), report)
}

/// Milliseconds of a launch, which are printed under this name.
fn show(name: &str, rounds: usize, mut launch: Launch) -> f64 {
    let (ms, report) = best(rounds, &mut launch);
    let rate = if launch.flop > 0.0 { format!("{:6.1} GFLOP/s", launch.flop / ms / 1e6) } else { String::new() };
    println!(
        "{name:32} {ms:8.2} ms {rate}  {} programs, {} instructions, {} viewed, lines {} + {} masked + {} gathered, {} replayed",
        report.programs,
        report.instructions,
        report.tiles_viewed,
        report.lines_copied,
        report.lines_masked,
        report.lines_gathered,
        report.replayed
    );
    ms
}

/// A convolution and how often it occurs.
type Layer = ([usize; 5], usize);

fn resnet50_layers() -> Vec<Layer> {
    let mut layers = vec![([3, 224, 64, 7, 2], 1)];
    let mut input = 64;
    for (stage, (width, blocks, size)) in [(64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)].into_iter().enumerate() {
        let output = width * 4;
        let (before, stride) = if stage == 0 { (size, 1) } else { (size * 2, 2) };
        layers.push(([input, before, width, 1, 1], 1));
        layers.push(([width, before, width, 3, stride], 1));
        layers.push(([input, before, output, 1, stride], 1));
        layers.push(([output, size, width, 1, 1], blocks - 1));
        layers.push(([width, size, width, 3, 1], blocks - 1));
        layers.push(([width, size, output, 1, 1], blocks));
        input = output;
    }
    layers
}

fn resnet50(detail: bool, tiles: &[[usize; 3]]) {
    for &blocks in tiles {
        let (mut total, mut flop, mut count) = (0.0, 0.0, 0);
        for (layer, times) in resnet50_layers() {
            let mut launch = conv2d(blocks, layer);
            flop += launch.flop * times as f64;
            let ms = if detail { show(&format!("  {layer:?} × {times}"), 3, launch) } else { best(3, &mut launch).0 };
            total += ms * times as f64;
            count += times;
        }
        println!("{count} convolutions of ResNet-50, {blocks:?}: {total:.1} ms, {:.1} GFLOP/s", flop / total / 1e6);
    }
}

fn main() {
    let wanted = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let is = |name: &str| wanted.as_deref().is_none_or(|w| w == name);
    if is("vecadd") {
        show("vecadd 2^20", 5, vecadd(1 << 20));
    }
    if is("softmax") {
        show("softmax 1024x1024", 5, softmax(1024));
    }
    if is("matmul") {
        show("matmul 512^3", 5, matmul(512, [64, 64, 32]));
    }
    if is("conv2d") {
        show("conv2d 64x56x56 3x3", 5, conv2d([64, 64, 32], [64, 56, 64, 3, 1]));
    }
    if is("resnet50") {
        resnet50(wanted.is_some(), &[[64, 64, 32], [64, 64, 64], [128, 64, 32]]);
    }
    if is("small") {
        resnet50(wanted.is_some(), &[[16, 16, 16]]);
    }
}
