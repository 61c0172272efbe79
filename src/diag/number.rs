//! Numbers in messages.

/// A number as people read it: in full where that is short, with an exponent where it is very large or small.
pub fn number(value: f64) -> String {
    let size = value.abs();
    let short = (1e-4..1e7).contains(&size) || (value.fract() == 0.0 && size < 1e15);
    if value == 0.0 || !value.is_finite() || short { format!("{value}") } else { format!("{value:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extreme_numbers_have_exponents() {
        assert_eq!([0.0, -1.5, 1e-4, 2_143_266_304.0].map(number), ["0", "-1.5", "0.0001", "2143266304"]);
        assert_eq!(
            [1e-5, 1e15, -3.402_823_466_385_288_6e38, 2f64.powi(-149)].map(number),
            ["1e-5", "1e15", "-3.4028234663852886e38", "1.401298464324817e-45"]
        );
        assert_eq!([f64::NAN, f64::NEG_INFINITY].map(number), ["NaN", "-inf"]);
    }
}
