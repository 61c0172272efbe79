//! Cancelling: a launch that would run for hours ends soon, whatever runs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::*;

const SPIN: &str = "
import triton
import triton.language as tl


@triton.jit
def spin(y_ptr, n, BLOCK: tl.constexpr):
    block = tl.arange(0, BLOCK) + tl.program_id(0) * BLOCK
    i = 0
    while i < n:
        i = i * n
        block = block ^ i
    tl.store(y_ptr + block, block)
";

fn modes(mut each: impl FnMut(Options)) {
    for (dense, threads) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
        each(Options { dense, threads, ..Options::default() });
    }
}

#[test]
fn an_endless_program_is_stopped_from_outside() {
    let program = compile("spin.py", SPIN, "spin y_ptr=*i32 n=i32 BLOCK=64");
    modes(|options| {
        let mut memory = Memory::default();
        let y = memory.allocate("y", DType::I32, 256);
        let flag = Arc::new(AtomicBool::new(false));
        let options = Options { cancel: Some(flag.clone()), ..options };
        let args = [whole(y, &[256]), Arg::Int(1)];
        let (outcome, took) = std::thread::scope(|scope| {
            let cancelled = scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(50));
                flag.store(true, Ordering::Relaxed);
                Instant::now()
            });
            let outcome = run(&program, &mut memory, [4, 1, 1], &args, &options);
            let end = Instant::now();
            (outcome, end.duration_since(cancelled.join().unwrap()))
        });
        assert_eq!(outcome.unwrap_err().code.id, "U009", "{options:?}");
        assert!(took < Duration::from_millis(800), "{took:?}, {options:?}");
    });
}

#[test]
fn no_program_begins_once_cancelled() {
    let program = compile("spin.py", SPIN, "spin y_ptr=*i32 n=i32 BLOCK=64");
    modes(|options| {
        let mut memory = Memory::default();
        let y = memory.allocate("y", DType::I32, 256);
        // Nothing spins here; the fuel is no multiple of anything.
        let options = Options { cancel: Some(Arc::new(AtomicBool::new(true))), fuel: 99, ..options };
        let args = [whole(y, &[256]), Arg::Int(0)];
        assert_eq!(run(&program, &mut memory, [4, 1, 1], &args, &options).unwrap_err().code.id, "U009");
        assert!(memory.buffers[y.0].undefined.as_ref().unwrap().get(0), "nothing was stored");
        let options = Options { cancel: Some(Arc::new(AtomicBool::new(false))), ..options };
        assert!(run(&program, &mut memory, [4, 1, 1], &args, &options).is_ok());
    });
}
