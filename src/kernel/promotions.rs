//! The common type of every pair of operand types under every operator, and the operations that bring them there, against
//! what Triton's own front end makes of them: tests/kernel/promotions.txt, written by tools/promotions.py.
//!
//! A change of sign alone, which Triton writes as an `arith.bitcast` of a type to itself, is no operation of a signless
//! IR; the conversion of a number to 8 bits, which it writes as `arith.truncf`, is `tt.fp_to_fp` here as everywhere.
//! Triton's front end lets arithmetic on 8-bit floats pass, which its compiler refuses for every target; ours refuses
//! it at once.

use std::path::Path;

use super::{ArgSpec, Specialization, compile};
use crate::dtype::DType;
use crate::source::SourceFile;
use crate::syntax::parse_module;

fn dtype(name: &str) -> Option<DType> {
    DType::ALL.into_iter().find(|d| d.triton_name() == name)
}

/// The expression of a row, over `a` and `b` or numbers.
fn expression(operator: &str, left: &str, right: &str) -> String {
    let a = if dtype(left).is_some() { "a" } else { left };
    let b = if dtype(right).is_some() { "b" } else { right };
    match operator {
        "maximum" | "minimum" | "fdiv" => format!("tl.{operator}({a}, {b})"),
        "where" => format!("tl.where(c, {a}, {b})"),
        "abs" => "tl.abs(a)".to_owned(),
        "sum" | "max" | "cumsum" => format!("tl.{operator}(a, 0)"),
        "negative" => "-a".to_owned(),
        "inverse" => "~a".to_owned(),
        "not" => "not a".to_owned(),
        _ => format!("{a} {operator} {b}"),
    }
}

/// The operations of a kernel, sorted, constants left out; the error when it is refused.
fn operations_of(text: &str, types: [DType; 2]) -> Result<Vec<String>, String> {
    let module = parse_module(&SourceFile::new("k.py", text)).unwrap();
    let pointer = |name: &str, to| (name.to_owned(), ArgSpec::Pointer(to));
    let args = vec![pointer("p", types[0]), pointer("q", types[1]), pointer("s", DType::I32)];
    let spec = Specialization { args, ..Specialization::default() };
    let kernel = compile(&module, "k", &spec).map_err(|error| error.to_string())?;
    let printed = kernel.to_string();
    let mut found = Vec::new();
    for line in printed.lines() {
        let line = line.trim();
        let behind = line.split_once(" = ").map_or(line, |(_, behind)| behind);
        let word = behind.split(['(', ' ']).next().unwrap_or("").trim_matches('"');
        if word.contains('.') && !matches!(word, "arith.constant" | "tt.func" | "tt.return") {
            found.push(word.to_owned());
        }
    }
    Ok(found)
}

#[test]
fn every_pair_is_brought_to_tritons_type() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/promotions.txt");
    let table = std::fs::read_to_string(path).unwrap();
    let (mut rows, mut wrong) = (0, Vec::new());
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        // `|` is an operator too.
        let line = line.strip_prefix("| |").map_or_else(|| line.to_owned(), |rest| format!("bar |{rest}"));
        let mut parts = line.split(" | ");
        let (operator, result, want) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
        let operator = if operator == "bar" { "|" } else { operator };
        let eight_bits = parts.clone().any(|pairs| pairs.contains("float8"));
        let printed = |word| if eight_bits && word == "arith.truncf" { "tt.fp_to_fp" } else { word };
        let operations = want.split(' ').filter(|word| !matches!(*word, "nothing" | "arith.bitcast"));
        let mut want: Vec<&str> = operations.map(printed).collect();
        want.sort_unstable();
        for pair in parts.next().unwrap().split(' ') {
            rows += 1;
            let (left, right) = pair.split_once(':').unwrap();
            let types = [left, right].map(|name| dtype(name).unwrap_or(DType::F32));
            let at = if matches!(operator, "sum" | "max" | "cumsum") { " + tl.arange(0, 4)" } else { "" };
            let head = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(p, q, s):\n";
            let loads = format!("{head}    c = tl.load(s) > 0\n    a = tl.load(p{at})\n    b = tl.load(q)\n");
            let assertion = if result == "-" { String::new() } else { format!("    tl.static_assert(r.dtype == tl.{result})\n") };
            let body = format!("{loads}    r = {}\n{assertion}", expression(operator, left, right));
            let before = operations_of(&loads, types).unwrap().len();
            match operations_of(&body, types) {
                Ok(found) => {
                    let mut found: Vec<&str> = found[before..].iter().map(String::as_str).collect();
                    found.sort_unstable();
                    if want != found {
                        wrong.push(format!("{operator} {pair}: {} instead of {result}, {}", found.join(" "), want.join(" ")));
                    }
                }
                Err(_) if want == ["refused"] => {}
                Err(error) if types.iter().any(|d| d.is_fp8()) && error.contains("arithmetic on fp8") => {}
                Err(error) => wrong.push(format!("{operator} {pair}: {error} instead of {result}, {}", want.join(" "))),
            }
        }
    }
    assert!(rows > 8000, "{rows} rows");
    assert!(wrong.is_empty(), "{} of {rows} differ:\n{}", wrong.len(), wrong.join("\n"));
}
