//! Cases of a target: fixed seeds and a fixed count, or as many as a time allows. A case that fails is made smaller by
//! proptest, and printed. A case that ends the process or hangs is in the file that [`begin`] wrote.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

/// A case that takes longer than this is a hang.
const PATIENCE: Duration = Duration::from_secs(60);
/// Targets that share `FUZZ_SECONDS`.
const TARGETS: u64 = 9;

/// Runs a target on tapes of up to `length` bytes; `count` of them where no time is given.
pub fn cases(name: &str, count: u32, length: usize, case: impl Fn(&[u8])) {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().unwrap_or_else(|_| panic!("{name} is a number, not {text}")))
    };
    let seconds = number("FUZZ_SECONDS");
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds / TARGETS));
    let (mut batch, mut made) = (number("FUZZ_FROM").unwrap_or(0), 0u64);
    loop {
        run_batch(name, batch, count, length, &case);
        made += u64::from(count);
        batch += 1;
        match end {
            Some(end) if Instant::now() < end => {}
            Some(_) => return println!("{name}: {made} cases"),
            None => return,
        }
    }
}

fn run_batch(name: &str, batch: u64, count: u32, length: usize, case: &impl Fn(&[u8])) {
    let mut seed = [0u8; 32];
    seed[..8].copy_from_slice(&batch.to_le_bytes());
    name.bytes().zip(&mut seed[8..]).for_each(|(byte, place)| *place = byte);
    let config = Config { cases: count, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let tape = proptest::collection::vec(any::<u8>(), 0..length);
    let outcome = runner.run(&tape, |tape| {
        let started = Instant::now();
        case(&tape);
        let took = started.elapsed();
        prop_assert!(took < PATIENCE, "the case took {took:?}");
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(why, tape)) => {
            let last = std::fs::read_to_string(place(name)).unwrap_or_default();
            panic!("{name}, batch {batch}: {why}\ntape: {tape:?}\nthe last input:\n{last}");
        }
        Err(TestError::Abort(why)) => panic!("{name}, batch {batch}: {why}"),
    }
}

fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("decompose-fuzz-{}-{name}", std::process::id()))
}

/// Notes the input of the case that begins.
pub fn begin(name: &str, input: &[u8]) {
    std::fs::write(place(name), input).expect("the temporary folder can be written");
}
