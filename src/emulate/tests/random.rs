//! Random kernels: lazy and dense, one thread and two, must give the same bits or the same fault.
//!
//! Index expressions, masks, a loop that carries a block of pointers and a conditional are drawn;
//! many of the kernels are wrong on purpose (divisions by zero, offsets out of bounds, wraps), and
//! then the messages have to agree.

use proptest::prelude::*;

use super::*;

fn integer() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => Just("m[:, None]".to_owned()),
        3 => Just("n[None, :]".to_owned()),
        2 => Just("s".to_owned()),
        1 => Just("t".to_owned()),
        1 => Just("pid".to_owned()),
        1 => Just("mq[:, None]".to_owned()),
        1 => Just("nr[None, :]".to_owned()),
        3 => (-3i64..9).prop_map(|v| v.to_string()),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            4 => two.clone().prop_map(|(a, b)| format!("({a} + {b})")),
            2 => two.clone().prop_map(|(a, b)| format!("({a} - {b})")),
            3 => two.clone().prop_map(|(a, b)| format!("({a} * {b})")),
            1 => two.clone().prop_map(|(a, b)| format!("({a} // {b})")),
            1 => (inner.clone(), 1i64..7).prop_map(|(a, b)| format!("({a} // {b})")),
            1 => (inner.clone(), 1i64..7).prop_map(|(a, b)| format!("({a} % {b})")),
            1 => two.clone().prop_map(|(a, b)| format!("tl.minimum({a}, {b})")),
            1 => two.clone().prop_map(|(a, b)| format!("tl.maximum({a}, {b})")),
            1 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("tl.where({a} < {b}, {b}, {c})")),
            1 => two.prop_map(|(a, b)| format!("({a} ^ {b})")),
        ]
    })
}

fn mask() -> impl Strategy<Value = String> {
    let compare = (integer(), prop_oneof![Just("<"), Just("<="), Just(">"), Just(">="), Just("=="), Just("!=")], integer())
        .prop_map(|(a, op, b)| format!("({a} {op} {b})"));
    compare.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            4 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} & {b})")),
            1 => (inner.clone(), inner).prop_map(|(a, b)| format!("({a} | {b})")),
        ]
    })
}

#[derive(Debug, Clone)]
struct Kernel {
    text: String,
    s: i64,
    t: i64,
}

fn kernel() -> impl Strategy<Value = Kernel> {
    let scalars = (prop_oneof![-4i64..12, Just(1 << 20), Just(70_000)], -2i64..5);
    (integer(), integer(), mask(), mask(), integer(), any::<bool>(), 0..4u8, scalars).prop_map(
        |(index, value, first, second, advance, guarded, other, (s, t))| {
            let zero = "m[:, None] * 0 + n[None, :] * 0";
            let other = match other {
                0 => "",
                1 => ", other=0.0",
                2 => ", other=1.5",
                _ => ", other=(n * 0.5)[None, :]",
            };
            let clip = if guarded { "& (index >= 0) & (index < 512)" } else { "" };
            let text = format!(
                "import triton
import triton.language as tl


@triton.jit
def drawn(x_ptr, y_ptr, s, t, BM: tl.constexpr, BN: tl.constexpr):
    pid = tl.program_id(0)
    m = pid * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    mq = m // 3
    nr = n % 5
    index = {zero} + {index}
    first = (m[:, None] < 1000) & (n[None, :] < 1000) & {first}
    x = tl.load(x_ptr + index, mask=first {clip}{other})
    walk = x_ptr + (m[:, None] * 16 + n[None, :])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, 3):
        inside = (m[:, None] + i < 20) & (n[None, :] < 14)
        acc += tl.load(walk, mask=inside, other=0.0) * (i + 1)
        walk += 16 + 0 * ({advance})
    second = (m[:, None] < 1000) & (n[None, :] < 1000) & {second}
    value = tl.where(second, acc, x) + ({zero} + {value})
    if t > 2:
        value = value * 2.0
    tl.store(y_ptr + (m[:, None] * BN + n[None, :]), value, mask=(m[:, None] < 30) & ({first} | (n[None, :] < 9)))
"
            );
            Kernel { text, s, t }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lazy_equals_dense(kernel in kernel()) {
        // Some are refused when compiled (a constant division by zero).
        let request = "drawn x_ptr=*f32 y_ptr=*f32 s=i32 t=i32 BM=8 BN=16";
        let Ok(program) = try_compile("drawn.py", &kernel.text, request) else { return Ok(()) };
        let mut memory = Memory::default();
        let x = memory.insert("x", Storage::F32(numbers(512, 11)));
        let y = memory.allocate("y", DType::F32, 512);
        let args = [whole(x, &[512]), whole(y, &[32, 16]), Arg::Int(kernel.s), Arg::Int(kernel.t)];
        let _ = run_all(&program, &memory, [4, 1, 1], &args, &Options::default());
    }
}
