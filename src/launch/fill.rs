//! What a tensor holds before a launch: `zeros`, `ones`, `empty`, `nan`, `arange`, `normal`, `uniform`, `ints`, `full`, `eye`, a
//! number, or a list.
//!
//! Generated elements are functions of (seed, the parameter's name, the element's index), as all generated inputs of
//! the tool: any element alone, on any machine, the same. `normal` is Box and Muller's transform of two hashes.

use super::description::{Content, Expression};
use super::resolve::{BufferSpec, Operand, Scope};
use crate::diag::Result;
use crate::dtype::{Carrier, DType};
use crate::rng::{Seed, hash};
use crate::shape::Shape;
use crate::syntax::Constant;
use crate::syntax::ast::{Expr, ExprKind};
use crate::tensor::{Storage, Tensor};

/// A fill with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// Nothing has been written.
    Empty,
    Full(f64),
    Arange {
        start: f64,
        step: f64,
    },
    Normal {
        mean: f64,
        deviation: f64,
        seed: u64,
    },
    Uniform {
        low: f64,
        high: f64,
        seed: u64,
    },
    /// `low ≤ n < high`.
    Ints {
        low: i64,
        high: i64,
        seed: u64,
    },
    /// 1 where the last two indices agree.
    Eye,
    List(Vec<f64>),
}

/// The fill that an expression names.
///
/// # Errors
/// E001 when it names none.
pub fn read(expression: &Expression, scope: &Scope) -> Result<Fill> {
    let (name, args) = match &expression.expr.kind {
        ExprKind::Name(name) if scope.constant(name).is_none() => (name.as_str(), Vec::new()),
        ExprKind::Call { func, args, keywords } if func.as_name().is_some_and(|name| NAMES.contains(&name)) => {
            let value = |e: &Expr| scope.evaluate(&Expression { file: expression.file.clone(), expr: e.clone() });
            let mut given: Vec<(Option<&str>, f64)> = Vec::new();
            for (name, e) in args.iter().map(|e| (None, e)).chain(keywords.iter().map(|k| (k.name.as_deref(), &k.value))) {
                let number = value(e)?.as_float().ok_or_else(|| expression.wrong("a fill takes numbers"))?;
                given.push((name, number));
            }
            (func.as_name().unwrap_or_default(), given)
        }
        _ => {
            return match scope.evaluate(expression)? {
                Constant::Tuple(items) => {
                    let numbers = items.iter().map(Constant::as_float).collect::<Option<Vec<f64>>>();
                    Ok(Fill::List(numbers.ok_or_else(|| expression.wrong("a list of numbers is expected"))?))
                }
                value => value.as_float().map(Fill::Full).ok_or_else(|| unknown(expression)),
            };
        }
    };
    // (name of the argument, value when it is not given)
    let parameters: &[(&str, f64)] = match name {
        "empty" | "zeros" | "ones" | "nan" | "inf" | "eye" => &[],
        "full" => &[("value", f64::NAN)],
        "arange" => &[("start", 0.0), ("step", 1.0)],
        "normal" => &[("seed", 0.0), ("mean", 0.0), ("std", 1.0)],
        "uniform" => &[("low", 0.0), ("high", 1.0), ("seed", 0.0)],
        "ints" => &[("low", 0.0), ("high", 2.0), ("seed", 0.0)],
        _ => return Err(unknown(expression)),
    };
    let mut values: Vec<f64> = parameters.iter().map(|(_, value)| *value).collect();
    for (at, (key, value)) in args.iter().enumerate() {
        let place = match key {
            Some(key) => parameters.iter().position(|(known, _)| known == key),
            None => Some(at).filter(|at| *at < parameters.len()),
        };
        let known: Vec<&str> = parameters.iter().map(|(known, _)| *known).collect();
        let place = place.ok_or_else(|| expression.wrong(format!("`{name}` takes ({})", known.join(", "))))?;
        values[place] = *value;
    }
    let seed = |at: usize| values[at] as u64;
    Ok(match name {
        "empty" => Fill::Empty,
        "zeros" => Fill::Full(0.0),
        "ones" => Fill::Full(1.0),
        "nan" => Fill::Full(f64::NAN),
        "inf" => Fill::Full(f64::INFINITY),
        "eye" => Fill::Eye,
        "full" if args.is_empty() => return Err(expression.wrong("`full` takes the number")),
        "full" => Fill::Full(values[0]),
        "arange" => Fill::Arange { start: values[0], step: values[1] },
        "normal" => Fill::Normal { mean: values[1], deviation: values[2], seed: seed(0) },
        "uniform" => Fill::Uniform { low: values[0], high: values[1], seed: seed(2) },
        _ if values[0] >= values[1] => return Err(expression.wrong("`ints(low, high)` has no integer below `high`")),
        _ => Fill::Ints { low: values[0] as i64, high: values[1] as i64, seed: seed(2) },
    })
}

const NAMES: [&str; 11] = ["empty", "zeros", "ones", "nan", "inf", "eye", "full", "arange", "normal", "uniform", "ints"];

fn unknown(expression: &Expression) -> Box<crate::diag::Diagnostic> {
    let error = *expression.wrong("this is no fill");
    Box::new(error.note(format!("known: {}, a number, a list", NAMES.join(", "))))
}

/// The fill of a buffer of which nothing is said.
pub fn unsaid(dtype: DType, only_stored: bool) -> Fill {
    match dtype.carrier() {
        _ if only_stored => Fill::Empty,
        Carrier::F64 | Carrier::F32 => Fill::Normal { mean: 0.0, deviation: 1.0, seed: 0 },
        Carrier::I64 | Carrier::Bool => Fill::Ints { low: 0, high: 2, seed: 0 },
    }
}

/// Elements of a view in row-major order; `None` when nothing has been written.
///
/// # Errors
/// A phrase, for a list that does not fit.
pub fn tensor(fill: &Fill, dtype: DType, shape: &Shape, name: &str, seed: u64) -> std::result::Result<Option<Tensor>, String> {
    let len: usize = shape.iter().product();
    let of = |own: u64| Seed::derive(seed.wrapping_add(own), name);
    let lane: Box<dyn Fn(usize) -> f64> = match fill {
        Fill::Empty => return Ok(None),
        Fill::Full(value) => {
            let value = *value;
            Box::new(move |_| value)
        }
        Fill::Arange { start, step } => {
            let (start, step) = (*start, *step);
            Box::new(move |i| start + step * i as f64)
        }
        Fill::Normal { mean, deviation, seed } => {
            let (first, second, mean, deviation) = (of(*seed), of(seed.wrapping_add(1 << 32)), *mean, *deviation);
            Box::new(move |i| mean + deviation * normal(hash(first, i as u64), hash(second, i as u64)))
        }
        Fill::Uniform { low, high, seed } => {
            let (own, low, width) = (of(*seed), *low, high - low);
            Box::new(move |i| low + width * f64::from(hash(own, i as u64)) / 4_294_967_296.0)
        }
        Fill::Ints { low, high, seed } => {
            let (own, low, count) = (of(*seed), *low, high.wrapping_sub(*low) as u64);
            Box::new(move |i| low as f64 + ((u128::from(hash(own, i as u64)) * u128::from(count)) >> 32) as f64)
        }
        Fill::Eye => {
            let (rows, columns) = match shape.as_slice() {
                [.., rows, columns] => (*rows, *columns),
                _ => return Err("`eye` needs two axes".to_owned()),
            };
            Box::new(move |i| f64::from(u8::from(i / columns % rows == i % columns)))
        }
        Fill::List(values) if values.len() == len => {
            let values = values.clone();
            Box::new(move |i| values[i])
        }
        Fill::List(values) => return Err(format!("a list of {} numbers for {len} elements", values.len())),
    };
    let storage = match dtype.carrier() {
        Carrier::F64 => Storage::F64((0..len).map(lane).collect()),
        Carrier::F32 => Storage::F32((0..len).map(|i| dtype.round(lane(i)) as f32).collect()),
        Carrier::I64 => Storage::I64((0..len).map(|i| dtype.wrap(lane(i) as i64)).collect()),
        Carrier::Bool => Storage::Bool((0..len).map(|i| u8::from(lane(i) != 0.0)).collect()),
    };
    Ok(Some(Tensor::new(dtype, shape.clone(), storage)))
}

/// A normal number of two hashes.
fn normal(first: u32, second: u32) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log((f64::from(first) + 1.0) / 4_294_967_296.0));
    radius * libm::cos(std::f64::consts::TAU * f64::from(second) / 4_294_967_296.0)
}

/// A buffer's lanes, with the elements of the view that it was made for; `None` when nothing has been written.
///
/// # Errors
/// E001 where the fill is wrong.
pub fn buffer(spec: &BufferSpec, view: &Operand, scope: &Scope, only_stored: bool, seed: u64) -> Result<Option<Storage>> {
    let tensor = match (&spec.content, &spec.given) {
        (_, Some(given)) => Some(Tensor::clone(given)),
        (Content::Fill(expression), None) => {
            let fill = read(expression, scope)?;
            self::tensor(&fill, spec.dtype, &view.shape, &spec.name, seed).map_err(|what| expression.wrong(what))?
        }
        (Content::Unsaid | Content::File(_) | Content::Of(_), None) => {
            let fill = unsaid(spec.dtype, only_stored);
            let made = self::tensor(&fill, spec.dtype, &view.shape, &spec.name, seed);
            made.expect("invariant: only lists and eye can fail to fit")
        }
    };
    let Some(tensor) = tensor else { return Ok(None) };
    let mut lanes = Storage::zeros(spec.dtype.carrier(), spec.len);
    for (flat, at) in places(view).enumerate() {
        match (&mut lanes, tensor.storage()) {
            (Storage::F64(to), Storage::F64(from)) => to[at] = from[flat],
            (Storage::F32(to), Storage::F32(from)) => to[at] = from[flat],
            (Storage::I64(to), Storage::I64(from)) => to[at] = from[flat],
            (Storage::Bool(to), Storage::Bool(from)) => to[at] = from[flat],
            (Storage::F64(_) | Storage::F32(_) | Storage::I64(_) | Storage::Bool(_), _) => {
                unreachable!("invariant: a buffer has its dtype's carrier")
            }
        }
    }
    Ok(Some(lanes))
}

/// Where each element of a view lies in its buffer, in row-major order.
pub fn places(view: &Operand) -> impl Iterator<Item = usize> + '_ {
    let len: usize = view.shape.iter().product();
    (0..len).map(move |flat| {
        let (mut rest, mut at) = (flat, view.offset as i64);
        for (&size, &stride) in view.shape.iter().zip(&view.strides).rev() {
            at += (rest % size) as i64 * stride;
            rest /= size;
        }
        at as usize
    })
}

/// The elements of a view, dense.
pub fn gather(lanes: &Storage, view: &Operand) -> Tensor {
    let storage = match lanes {
        Storage::F64(from) => Storage::F64(places(view).map(|at| from[at]).collect()),
        Storage::F32(from) => Storage::F32(places(view).map(|at| from[at]).collect()),
        Storage::I64(from) => Storage::I64(places(view).map(|at| from[at]).collect()),
        Storage::Bool(from) => Storage::Bool(places(view).map(|at| from[at]).collect()),
    };
    Tensor::new(view.dtype, view.shape.clone(), storage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, dtype: DType, shape: &[usize]) -> std::result::Result<Option<Tensor>, String> {
        let fill = read(&Expression::parse("fill", text).unwrap(), &Scope::default()).map_err(|e| e.to_string())?;
        tensor(&fill, dtype, &Shape::from_slice(shape), "x", 0)
    }

    fn numbers(text: &str, dtype: DType, shape: &[usize]) -> Vec<f64> {
        let tensor = filled(text, dtype, shape).unwrap().unwrap();
        (0..tensor.len()).map(|i| tensor.storage().get_f64(i)).collect()
    }

    #[test]
    fn fills_hold_what_they_say() {
        assert_eq!(numbers("zeros", DType::F32, &[2]), [0.0, 0.0]);
        assert_eq!(numbers("full(1/3)", DType::F16, &[1]), [0.333251953125]);
        assert_eq!(numbers("-2", DType::I32, &[2]), [-2.0, -2.0]);
        assert_eq!(numbers("arange(1, step=2)", DType::I64, &[3]), [1.0, 3.0, 5.0]);
        assert_eq!(numbers("eye", DType::F32, &[2, 2]), [1.0, 0.0, 0.0, 1.0]);
        assert_eq!(numbers("[1, 2.5]", DType::F32, &[2]), [1.0, 2.5]);
        assert!(numbers("nan", DType::BF16, &[1])[0].is_nan());
        assert!(filled("empty", DType::F32, &[2]).unwrap().is_none());
        let ints = numbers("ints(-2, 3)", DType::I8, &[1000]);
        assert!((-2..3).all(|n| ints.contains(&f64::from(n))) && ints.iter().all(|v| (-2.0..3.0).contains(v)));
        let uniform = numbers("uniform(2, 4)", DType::F64, &[1000]);
        assert!(uniform.iter().all(|v| (2.0..4.0).contains(v)));
        assert_ne!(numbers("normal", DType::F32, &[4]), numbers("normal(1)", DType::F32, &[4]));
    }

    #[test]
    fn normal_numbers_have_mean_and_deviation() {
        let lanes = numbers("normal(mean=3, std=2)", DType::F64, &[10_000]);
        let mean = lanes.iter().sum::<f64>() / 1e4;
        let variance = lanes.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1e4;
        assert!((mean - 3.0).abs() < 0.08 && (variance - 4.0).abs() < 0.2, "{mean} {variance}");
    }

    #[test]
    fn wrong_fills_are_named() {
        for (text, said) in [
            ("noise", "this is no fill"),
            ("noise(3)", "unknown function"),
            ("full", "takes the number"),
            ("ints(3, 3)", "no integer below"),
            ("zeros(1)", "`zeros` takes ()"),
            ("normal(width=1)", "`normal` takes (seed, mean, std)"),
            ("'a'", "this is no fill"),
            ("[1, 2]", "a list of 2 numbers for 3 elements"),
            ("eye", "needs two axes"),
        ] {
            let error = filled(text, DType::F32, &[3]).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn views_place_their_elements() {
        let view = Operand {
            dtype: DType::F32,
            shape: Shape::from_slice(&[2, 2]),
            strides: crate::shape::Strides::from_slice(&[-3, 1]),
            offset: 3,
            buffer: 0,
        };
        assert_eq!(places(&view).collect::<Vec<_>>(), [3, 4, 0, 1]);
        let lanes = Storage::F32(vec![10.0, 11.0, 12.0, 13.0, 14.0]);
        assert_eq!(gather(&lanes, &view).as_f32().unwrap(), [13.0, 14.0, 10.0, 11.0]);
    }
}
