//! Literals and strings as MLIR writes them.

use crate::kernel::ir::{Elem, Literal};

/// As MLIR quotes: `\xx` in hex for what is not printable.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(byte as char);
            }
            0x20..=0x7e => out.push(byte as char),
            _ => out.push_str(&format!("\\{byte:02X}")),
        }
    }
    out.push('"');
    out
}

/// One lane as MLIR writes it: decimal where that reads back exactly, else the bits in hex.
pub(super) fn literal_text(literal: Literal, elem: Elem) -> String {
    match literal {
        Literal::Int(int) if elem == Elem::I1 => if int == 0 { "false" } else { "true" }.to_owned(),
        Literal::Int(int) => int.to_string(),
        Literal::Float(x) if !x.is_finite() => bits_text(x, elem),
        Literal::Float(x) => {
            let short = exponent_form(&format!("{x:.6e}"));
            if short.parse::<f64>().is_ok_and(|back| same_in(elem, back, x)) {
                return short;
            }
            exponent_form(&format!("{x:.16e}"))
        }
    }
}

/// Whether a decimal reads back as the value when rounded to the element type.
fn same_in(elem: Elem, back: f64, x: f64) -> bool {
    match elem {
        Elem::F64 => back == x,
        Elem::F16 => crate::dtype::DType::F16.round(back) == x,
        Elem::BF16 => crate::dtype::DType::BF16.round(back) == x,
        _ => f64::from(back as f32) == x,
    }
}

/// Rust's `1.5e-7` as C's `1.5e-07`.
fn exponent_form(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text.to_owned() };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

fn bits_text(x: f64, elem: Elem) -> String {
    match elem {
        Elem::F64 => format!("0x{:016X}", x.to_bits()),
        Elem::F16 => format!("0x{:04X}", half::f16::from_f64(x).to_bits()),
        Elem::BF16 => format!("0x{:04X}", half::bf16::from_f64(x).to_bits()),
        _ => format!("0x{:08X}", (x as f32).to_bits()),
    }
}
