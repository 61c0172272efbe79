//! Statements on register bits.

use super::number::{Ty, bits, float, format, int, low};
use super::opcode::{Binary, Compare, Kind, Mode, Opcode, Unary};
use super::{Operand, Ptx, Special};
use crate::emulate::exec::libdevice::{self, Rounding};

/// A clock that rises with every reading, so that a program which waits for time to pass goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock(u64);

impl Clock {
    fn read(&mut self) -> u64 {
        self.0 += 1024;
        self.0
    }
}

/// Runs a text; `registers` holds `$0`, `$1`, … and has room for every register.
pub fn run(ptx: &Ptx, registers: &mut [u64], clock: &mut Clock) {
    for &(input, output) in &ptx.tied {
        registers[output] = registers[input];
    }
    for statement in &ptx.statements {
        if let Some((predicate, when)) = statement.guard
            && (registers[predicate] & 1 != 0) != when
        {
            continue;
        }
        let from: Vec<u64> = statement
            .from
            .iter()
            .map(|operand| match operand {
                Operand::Register(register) => registers[*register],
                Operand::Bits(bits) => *bits,
                Operand::Special(Special::Time) => clock.read(),
                Operand::Special(Special::Zero) => 0,
            })
            .collect();
        match (&statement.opcode.kind, statement.to.as_slice()) {
            (Kind::Move, to) => moved(statement.opcode.ty, &from, to, registers),
            (Kind::Set(compare), to) => {
                let holds = compared(*compare, statement.opcode.ty, from[0], from[1]);
                registers[to[0]] = holds.into();
                if let Some(&other) = to.get(1) {
                    registers[other] = (!holds).into();
                }
            }
            (_, to) => registers[to[0]] = computed(&statement.opcode, &from),
        }
    }
}

/// `mov`, of which vectors are packed into one register or taken from it.
fn moved(ty: Ty, from: &[u64], to: &[usize], registers: &mut [u64]) {
    let width = ty.bits();
    if from.len() == 1 {
        let part = width / to.len() as u32;
        for (i, &to) in to.iter().enumerate() {
            registers[to] = low(from[0] >> (part * i as u32), part.max(1));
        }
        return;
    }
    let part = width / from.len() as u32;
    registers[to[0]] = from.iter().enumerate().fold(0, |all, (i, &bits)| all | low(bits, part) << (part * i as u32));
}

fn compared(compare: Compare, ty: Ty, a: u64, b: u64) -> bool {
    if ty.is_float() {
        let (x, y) = (float(a, ty), float(b, ty));
        return match compare {
            Compare::Eq => x == y,
            // Not of NaN.
            Compare::Ne => x != y && !x.is_nan() && !y.is_nan(),
            Compare::Lt => x < y,
            Compare::Le => x <= y,
            Compare::Gt => x > y,
            Compare::Ge => x >= y,
            Compare::NotEqual => x != y,
            Compare::Unordered => x.is_nan() || y.is_nan(),
            Compare::Ordered => !x.is_nan() && !y.is_nan(),
        };
    }
    let (x, y) = (int(a, ty), int(b, ty));
    match compare {
        Compare::Eq => x == y,
        Compare::Ne | Compare::NotEqual => x != y,
        Compare::Lt => x < y,
        Compare::Le => x <= y,
        Compare::Gt => x > y,
        Compare::Ge => x >= y,
        Compare::Unordered => false,
        Compare::Ordered => true,
    }
}

/// The one result of an instruction.
fn computed(opcode: &Opcode, from: &[u64]) -> u64 {
    let Opcode { kind, ty, mode } = opcode;
    let ty = *ty;
    if ty.is_pair() && !matches!(kind, Kind::Convert(_) | Kind::Select) {
        let half = |shift: u32| {
            let part: Vec<u64> = from.iter().map(|&bits| low(bits >> shift, 16)).collect();
            computed(&Opcode { kind: kind.clone(), ty: ty.half(), mode: *mode }, &part)
        };
        return low(half(0), 16) | low(half(16), 16) << 16;
    }
    let value = match kind {
        Kind::Binary(op) if ty.is_float() => float_binary(*op, ty, *mode, from[0], from[1]),
        // Twice as wide: not cut to the type's width.
        Kind::Binary(Binary::MulWide) => return low((int(from[0], ty) * int(from[1], ty)) as u64, 2 * ty.bits()),
        Kind::Binary(op) => int_binary(*op, ty, from[0], from[1]),
        Kind::Unary(op) if ty.is_float() => float_unary(*op, ty, *mode, from[0]),
        Kind::Unary(op) => int_unary(*op, ty, from[0]),
        Kind::MulAdd(wide) => {
            let sum = int(from[0], ty) * int(from[1], ty) + if *wide { from[2] as i128 } else { int(from[2], ty) };
            return if *wide { low(sum as u64, 2 * ty.bits()) } else { low(sum as u64, ty.bits()) };
        }
        Kind::Fma => {
            let [x, y, z] = [from[0], from[1], from[2]].map(|bits| input(bits, ty, *mode));
            output(arithmetic(ty, *mode, Arithmetic::Fma(x, y, z)), ty, *mode)
        }
        Kind::Select => {
            if from[2] & 1 != 0 {
                from[0]
            } else {
                from[1]
            }
        }
        Kind::Permute => libdevice::byte_perm(from[0] as u32, from[1] as u32, from[2] as u32).into(),
        Kind::Lop3 => lop3(from[0], from[1], from[2], from[3]),
        Kind::Extract => extract(ty, from[0], from[1], from[2]),
        Kind::Insert => {
            let (at, n) = (low(from[2], 8).min(64) as u32, low(from[3], 8).min(64) as u32);
            let mask = if at >= 64 { 0 } else { low(u64::MAX, n) << at };
            from[1] & !mask | from[0].checked_shl(at).unwrap_or(0) & mask
        }
        Kind::Funnel(left) => {
            let both = low(from[1], 32) << 32 | low(from[0], 32);
            let n = (from[2] & 31) as u32;
            if *left { both << n >> 32 } else { both >> n }
        }
        Kind::Convert(source) => converted(ty, *source, *mode, from),
        Kind::Move | Kind::Set(_) => unreachable!("invariant: moves and comparisons are run by themselves"),
    };
    low(value, ty.bits())
}

fn int_binary(op: Binary, ty: Ty, a: u64, b: u64) -> u64 {
    let (x, y) = (int(a, ty), int(b, ty));
    let shift = low(b, 32);
    let value = match op {
        Binary::Add => x + y,
        Binary::Sub => x - y,
        Binary::MulLow => x.wrapping_mul(y),
        Binary::MulHigh => x.wrapping_mul(y) >> ty.bits(),
        Binary::MulWide => x * y,
        // PTX leaves a division by zero unspecified; machines give ones.
        Binary::Div if y == 0 => -1,
        Binary::Div => x / y,
        Binary::Rem if y == 0 => x,
        Binary::Rem => x % y,
        Binary::Min => x.min(y),
        Binary::Max => x.max(y),
        Binary::And => x & y,
        Binary::Or => x | y,
        Binary::Xor => x ^ y,
        // Shifts beyond the width are clamped to it.
        Binary::ShiftLeft if shift >= u64::from(ty.bits()) => 0,
        Binary::ShiftLeft => x << shift,
        Binary::ShiftRight => x >> shift.min(u64::from(ty.bits())),
    };
    value as u64
}

fn int_unary(op: Unary, ty: Ty, a: u64) -> u64 {
    let bits = low(a, ty.bits());
    match op {
        Unary::Neg => (-int(a, ty)) as u64,
        Unary::Abs => int(a, ty).unsigned_abs() as u64,
        Unary::Not => !bits,
        Unary::Popc => bits.count_ones().into(),
        Unary::Clz => (bits.leading_zeros() - (64 - ty.bits())).into(),
        Unary::Brev => bits.reverse_bits() >> (64 - ty.bits()),
        Unary::Sqrt | Unary::Rsqrt | Unary::Rcp | Unary::Exp2 | Unary::Log2 | Unary::Sin | Unary::Cos | Unary::Tanh => {
            unreachable!("invariant: these functions take floats")
        }
    }
}

/// An operand as a number.
fn input(bits: u64, ty: Ty, mode: Mode) -> f64 {
    flushed(float(bits, ty), ty, mode)
}

/// Subnormal f32 as zero, when asked.
fn flushed(value: f64, ty: Ty, mode: Mode) -> f64 {
    if mode.flush && ty == Ty::F32 && value.abs() < f64::from(f32::MIN_POSITIVE) { 0.0f64.copysign(value) } else { value }
}

/// A result in its type, behind `.ftz`, `.sat` and `.relu`.
fn output(value: f64, ty: Ty, mode: Mode) -> u64 {
    let mut value = format(ty).map_or(value, |format| format.round(value));
    if mode.saturate {
        value = if value > 0.0 { value.min(1.0) } else { 0.0 };
    }
    if mode.relu && value < 0.0 {
        value = 0.0;
    }
    bits(flushed(value, ty, mode), ty)
}

enum Arithmetic {
    Add(f64, f64),
    Mul(f64, f64),
    Div(f64, f64),
    Fma(f64, f64, f64),
    Sqrt(f64),
}

/// One operation, rounded as the mode asks in f32 and f64; in f64 for narrower types, which are rounded later.
fn arithmetic(ty: Ty, mode: Mode, op: Arithmetic) -> f64 {
    let (single, rounding) = match ty {
        Ty::F32 => (true, mode.rounding),
        Ty::F64 => (false, mode.rounding),
        _ => (false, Rounding::Nearest),
    };
    match op {
        Arithmetic::Add(x, y) => libdevice::add(x, y, rounding, single),
        Arithmetic::Mul(x, y) => libdevice::mul(x, y, rounding, single),
        Arithmetic::Div(x, y) => libdevice::div(x, y, rounding, single),
        Arithmetic::Fma(x, y, z) => libdevice::fma(x, y, z, rounding, single),
        Arithmetic::Sqrt(x) => libdevice::sqrt(x, rounding, single),
    }
}

fn float_binary(op: Binary, ty: Ty, mode: Mode, a: u64, b: u64) -> u64 {
    let (x, y) = (input(a, ty, mode), input(b, ty, mode));
    let nan = x.is_nan() || y.is_nan();
    let value = match op {
        Binary::Add => arithmetic(ty, mode, Arithmetic::Add(x, y)),
        Binary::Sub => arithmetic(ty, mode, Arithmetic::Add(x, -y)),
        Binary::MulLow => arithmetic(ty, mode, Arithmetic::Mul(x, y)),
        Binary::Div => arithmetic(ty, mode, Arithmetic::Div(x, y)),
        Binary::Min | Binary::Max if nan && mode.nan => f64::NAN,
        Binary::Min => x.min(y),
        Binary::Max => x.max(y),
        Binary::And | Binary::Or | Binary::Xor | Binary::ShiftLeft | Binary::ShiftRight => {
            unreachable!("invariant: bits of floats are not combined")
        }
        Binary::MulHigh | Binary::MulWide | Binary::Rem => unreachable!("invariant: these are operations of integers"),
    };
    output(value, ty, mode)
}

fn float_unary(op: Unary, ty: Ty, mode: Mode, a: u64) -> u64 {
    let x = input(a, ty, mode);
    let value = match op {
        Unary::Neg => -x,
        Unary::Abs => x.abs(),
        Unary::Sqrt => arithmetic(ty, mode, Arithmetic::Sqrt(x)),
        Unary::Rcp => arithmetic(ty, mode, Arithmetic::Div(1.0, x)),
        Unary::Rsqrt => 1.0 / x.sqrt(),
        Unary::Exp2 => x.exp2(),
        Unary::Log2 => x.log2(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Tanh => libm::tanh(x),
        Unary::Not | Unary::Popc | Unary::Clz | Unary::Brev => unreachable!("invariant: bits of floats are not taken"),
    };
    output(value, ty, mode)
}

/// Bit by bit: the table's bit that the three operands' bits name.
fn lop3(a: u64, b: u64, c: u64, table: u64) -> u64 {
    (0..8u64)
        .filter(|row| table >> row & 1 != 0)
        .map(|row| {
            let pick = |bits: u64, set: u64| if set != 0 { bits } else { !bits };
            pick(a, row & 4) & pick(b, row & 2) & pick(c, row & 1)
        })
        .fold(0, |all, bits| all | bits)
}

fn extract(ty: Ty, a: u64, at: u64, n: u64) -> u64 {
    let (at, n) = (low(at, 8).min(64) as u32, low(n, 8).min(64) as u32);
    let signed = matches!(ty, Ty::S(_));
    let wide = if signed { int(a, ty) } else { i128::from(low(a, ty.bits())) };
    let field = low((wide >> at) as u64, n);
    if signed && n > 0 && n < 64 && field >> (n - 1) & 1 != 0 { field | u64::MAX << n } else { field }
}

/// A number brought to the next one of a type towards zero, or to nearest.
fn narrowed(value: f64, ty: Ty, mode: Mode) -> f64 {
    let Some(format) = format(ty) else { return value };
    let small = matches!(ty, Ty::E4M3x2 | Ty::E5M2x2 | Ty::E2M1x2);
    let rounded = match mode.rounding {
        // `cvt.rna.tf32` rounds ties away.
        Rounding::Nearest if ty == Ty::Tf32 => {
            let ulp = format.ulp(value);
            if value.is_finite() { (value / ulp).round() * ulp } else { value }
        }
        Rounding::Nearest => format.round(value),
        _ if !value.is_finite() => value,
        rounding => {
            let (ulp, up) = (format.ulp(value), rounding == Rounding::Up);
            let units = value / ulp;
            let whole = match rounding {
                Rounding::Zero => units.trunc(),
                _ if up => units.ceil(),
                _ => units.floor(),
            };
            (whole * ulp).clamp(-format.max, format.max)
        }
    };
    let overflows = value.abs() > format.max || rounded.is_nan() || rounded.is_infinite();
    if (small || mode.saturate && matches!(ty, Ty::F16 | Ty::BF16)) && overflows && !value.is_nan() {
        return format.max.copysign(value);
    }
    rounded
}

fn converted(to: Ty, from: Ty, mode: Mode, operands: &[u64]) -> u64 {
    let relu = |x: f64| if mode.relu && (x < 0.0 || x.is_nan()) { 0.0 } else { x };
    let small = |ty: Ty| matches!(ty, Ty::E4M3x2 | Ty::E5M2x2 | Ty::E2M1x2);
    if to.is_pair() || small(to) {
        let one = if to.is_pair() { to.half() } else { to };
        let width = if to == Ty::E2M1x2 { 4 } else { to.bits() / 2 };
        // The first operand is the upper half.
        let parts = match (from, operands) {
            (Ty::F32, [high, low, ..]) => [float(*low, Ty::F32), float(*high, Ty::F32)],
            (from, [pair, ..]) if small(from) => unpacked(from, *pair),
            (from, [pair, ..]) => [float(low(*pair, 16), from.half()), float(low(*pair >> 16, 16), from.half())],
            (_, []) => unreachable!("invariant: a conversion has an operand"),
        };
        let [first, second] = parts.map(|x| bits(relu(narrowed(x, one, mode)), one));
        return low(first, width) | low(second, width) << width;
    }
    match (to.is_float(), from.is_float()) {
        (true, true) => {
            let x = input(operands[0], from, mode);
            let whole = match (mode.whole, mode.rounding) {
                (false, _) => x,
                (true, Rounding::Nearest) => x.round_ties_even(),
                (true, Rounding::Zero) => x.trunc(),
                (true, Rounding::Down) => x.floor(),
                (true, Rounding::Up) => x.ceil(),
            };
            let unit = |x: f64| if mode.saturate && !matches!(to, Ty::Tf32) { x.clamp(0.0, 1.0) } else { x };
            let mode = Mode { saturate: false, ..mode };
            bits(flushed(unit(relu(narrowed(whole, to, mode))), to, mode), to)
        }
        (true, false) => {
            let value = int(operands[0], from);
            match to {
                Ty::F32 | Ty::F64 => bits(libdevice::of_int(value, mode.rounding, to == Ty::F32), to),
                _ => bits(narrowed(value as f64, to, mode), to),
            }
        }
        (false, true) => {
            let (least, most) = range(to);
            libdevice::to_int(input(operands[0], from, mode), mode.rounding, least, most) as u64
        }
        (false, false) => {
            let (least, most) = range(to);
            let value = int(operands[0], from);
            (if mode.saturate { value.clamp(least, most) } else { value }) as u64
        }
    }
}

fn unpacked(from: Ty, pair: u64) -> [f64; 2] {
    use crate::emulate::value::eight;
    use crate::kernel::ir::Elem;
    let byte = |shift: u32| low(pair >> shift, 8) as u8;
    match from {
        Ty::E2M1x2 => [low(pair, 4), low(pair >> 4, 4)].map(|code| {
            let value = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][(code & 7) as usize];
            if code & 8 == 0 { value } else { -value }
        }),
        Ty::E5M2x2 => [byte(0), byte(8)].map(|b| eight::value(Elem::F8E5M2, b).into()),
        _ => [byte(0), byte(8)].map(|b| eight::value(Elem::F8E4M3, b).into()),
    }
}

/// The least and the greatest integer of a type.
fn range(ty: Ty) -> (i128, i128) {
    match ty {
        Ty::S(bits) => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        other => (0, (1 << other.bits()) - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulate::ptx::read;

    /// Runs a text on inputs; the outputs.
    fn result(text: &str, constraints: &str, inputs: &[u64]) -> Vec<u64> {
        let ptx = read(text, constraints).unwrap();
        let mut registers = vec![0; ptx.registers];
        registers[ptx.outputs..ptx.outputs + inputs.len()].copy_from_slice(inputs);
        run(&ptx, &mut registers, &mut Clock::default());
        registers.truncate(ptx.outputs);
        registers
    }

    fn f(x: f32) -> u64 {
        x.to_bits().into()
    }

    #[test]
    fn floats() {
        assert_eq!(result("tanh.approx.f32 $0, $1;", "=f,f", &[f(0.5)]), [f(0.462_117_16)]);
        assert_eq!(result("ex2.approx.ftz.f32 $0, $1;", "=f,f", &[f(3.0)]), [f(8.0)]);
        assert_eq!(result("rcp.approx.f32 $0, $1;", "=f,f", &[f(4.0)]), [f(0.25)]);
        assert_eq!(result("add.rz.f32 $0, $1, $2;", "=f,f,f", &[f(1.0), f(1e-10)]), [f(1.0)]);
        assert_eq!(result("add.rp.f32 $0, $1, $2;", "=f,f,f", &[f(1.0), f(1e-10)]), [f(1.0f32.next_up())]);
        assert_eq!(result("fma.rn.f32 $0, $1, $2, 0f3F800000;", "=f,f,f", &[f(2.0), f(3.0)]), [f(7.0)]);
        assert_eq!(result("max.NaN.f32 $0, $1, $2;", "=f,f,f", &[f(2.0), f(f32::NAN)]), [f(f32::NAN)]);
        assert_eq!(result("max.f32 $0, $1, 0.5;", "=f,f", &[f(f32::NAN)]), [f(0.5)]);
        assert_eq!(result("mul.ftz.f32 $0, $1, $2;", "=f,f,f", &[f(1e-20), f(1e-20)]), [f(0.0)]);
        assert_eq!(result("add.f16x2 $0, $1, $2;", "=r,r,r", &[0x3c00_4000, 0x3c00_3c00]), [0x4000_4200]);
    }

    #[test]
    fn bits_and_integers() {
        assert_eq!(result("prmt.b32 $0, $1, $2, 0x5410;", "=r,r,r", &[0x1111_2222, 0x3333_4444]), [0x4444_2222]);
        // (a & b) | c
        assert_eq!(result("lop3.b32 $0, $1, $2, $3, 0xea;", "=r,r,r,r", &[0xff00, 0x0ff0, 0x1]), [0x0f01]);
        assert_eq!(result("bfe.u32 $0, $1, 4, 8;", "=r,r", &[0xabcd]), [0xbc]);
        assert_eq!(result("bfe.s32 $0, $1, 4, 8;", "=r,r", &[0xabcd]), [0xffff_ffbc]);
        assert_eq!(result("bfi.b32 $0, $1, $2, 4, 8;", "=r,r,r", &[0x12, 0xffff_ffff]), [0xffff_f12f]);
        assert_eq!(result("mad.lo.u32 $0, $1, 2, 5;", "=r,r", &[0x8000_0001]), [7]);
        assert_eq!(result("mul.hi.u32 $0, $1, $2;", "=r,r,r", &[1 << 31, 6]), [3]);
        assert_eq!(result("mul.wide.s32 $0, $1, $2;", "=l,r,r", &[0xffff_ffff, 5]), [(-5i64) as u64]);
        assert_eq!(result("shr.s32 $0, $1, 40;", "=r,r", &[0x8000_0000]), [0xffff_ffff]);
        assert_eq!(result("shf.l.wrap.b32 $0, $1, $2, 8;", "=r,r,r", &[0xaabb_ccdd, 0x1122_3344]), [0x2233_44aa]);
        assert_eq!(result("popc.b32 $0, $1;", "=r,r", &[0xf0f0]), [8]);
        let swap = "{.reg .b16 a, b; mov.b32 {a, b}, $1; mov.b32 $0, {b, a};}";
        assert_eq!(result(swap, "=r,r", &[0x1234_5678]), [0x5678_1234]);
        let clamp = "{.reg .pred p; setp.gt.s32 p, $1, 10; selp.b32 $0, 10, $1, p;}";
        assert_eq!(result(clamp, "=r,r", &[25]), [10]);
        assert_eq!(result(clamp, "=r,r", &[0xffff_fff0]), [0xffff_fff0]);
        assert_eq!(result("add.u32 $0, $0, 1;", "=r,0", &[41]), [42]);
    }

    #[test]
    fn conversions() {
        assert_eq!(result("cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;", "=h,f,f", &[f(1.0), f(1000.0)]), [0x387e]);
        assert_eq!(result("cvt.rn.f16x2.e4m3x2 $0, $1;", "=r,h", &[0x387e]), [0x3c00_5f00]);
        assert_eq!(result("cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f", &[f(1.0), f(-2.0)]), [0x3f80_c000]);
        assert_eq!(result("cvt.rz.f16.f32 $0, $1;", "=h,f", &[f(1.0009)]), [0x3c00]);
        assert_eq!(result("cvt.rna.tf32.f32 $0, $1;", "=r,f", &[0x3f80_1000]), [0x3f80_2000]);
        assert_eq!(result("cvt.rni.s32.f32 $0, $1;", "=r,f", &[f(2.5)]), [2]);
        assert_eq!(result("cvt.rzi.u32.f32 $0, $1;", "=r,f", &[f(-2.5)]), [0]);
        assert_eq!(result("cvt.sat.s8.s32 $0, $1;", "=r,r", &[300]), [127]);
        assert_eq!(result("cvt.rn.f32.s32 $0, $1;", "=f,r", &[0xffff_fffe]), [f(-2.0)]);
        assert_eq!(result("cvt.f32.bf16 $0, $1;", "=f,h", &[0xc000]), [f(-2.0)]);
        let pack = "{.reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, $1, $2; cvt.u32.u8 $0, t;}";
        assert_eq!(result(pack, "=r,f,f", &[f(-1.5), f(100.0)]), [0xb7]);
    }

    #[test]
    fn time_rises() {
        let twice = "{.reg .u64 a, b; mov.u64 a, %globaltimer; mov.u64 b, %globaltimer; sub.u64 $0, b, a;}";
        assert!(result(twice, "=l", &[])[0] > 0);
    }
}
