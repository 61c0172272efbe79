//! What is refused, and where.

use super::*;
use crate::diag::render::render;

fn error(body: &str) -> String {
    let text = format!("tt.func public @k(%p: !tt.ptr<f32>, %n: i32) {{\n{body}\n}}\n");
    let error = parse(&SourceFile::new("k.ttir", text)).unwrap_err();
    let rendered = render(&error, false);
    let place = rendered.lines().find(|line| line.contains("-->")).unwrap_or("").trim().to_owned();
    format!("{error} {place}\n")
}

#[test]
fn bad_text_is_refused_with_a_place() {
    let bodies = [
        "  tt.return\n  tt.return",
        "  %a = arith.addi %n, %m : i32\n  tt.return",
        "  %a = arith.addi %n : i32\n  tt.return",
        "  %a, %b = arith.addi %n, %n : i32\n  tt.return",
        "  %a = arith.constant 1.5 : i32\n  tt.return",
        "  %a = arith.constant 300 : i8\n  tt.return",
        "  %a = tt.make_range {end = 8 : i32} : tensor<8xi32>\n  tt.return",
        "  cf.br ^bb3\n^bb1:\n  tt.return",
        "  %a = tt.call @f(%n) : (i32) -> i32\n  tt.return",
        "  %a = tt.splat %n : i32 -> tensor<99999999999x2xi32>\n  tt.return",
        "  scf.if %n {\n",
    ];
    let all: String = bodies.iter().map(|body| error(body)).collect();
    expect_test::expect![[r#"
        [K006] expected `}` --> k.ttir:3:3
        [K006] `%m` is not defined here --> k.ttir:2:23
        [K006] 1 operands instead of 2 --> k.ttir:2:27
        [K006] `arith.addi` has fewer results --> k.ttir:3:3
        [K006] `1.5` is no constant of i32 --> k.ttir:2:23
        [K006] `300` is no constant of i8 --> k.ttir:2:23
        [K006] expected the attribute `start` --> k.ttir:2:53
        [K006] no block `^bb3` --> k.ttir:2:13
        [K001] a call of `f`, which the text does not define --> k.ttir:2:3
        [K006] a size of 99999999999 --> k.ttir:2:48
        [K006] expected an operation --> k.ttir:4:3
    "#]]
    .assert_eq(&all);
}

#[test]
fn ill_typed_text_does_not_verify() {
    let bodies = [
        "  %a = arith.addf %n, %n : i32\n  tt.return",
        "  %a = tt.splat %n : i32 -> tensor<4xi64>\n  tt.return",
        "  %v = tt.load %p : !tt.ptr<f32>\n  tt.store %p, %n : !tt.ptr<f32>\n  tt.return",
        "  %a = arith.extsi %n : i32 to i16\n  tt.return",
        "  scf.if %n {\n  }\n  tt.return",
        "  cf.br ^bb1(%n : i32)\n^bb1:\n  tt.return",
        "  %c = arith.constant true\n  cf.cond_br %c, ^bb1, ^bb2\n^bb1:\n  %a = arith.addi %n, %n : i32\n  cf.br ^bb2\n^bb2:\n  %b = arith.addi %a, %n : i32\n  tt.return",
        "  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n  %s = \"tt.reduce\"(%r) <{axis = 1 : i32}> ({\n  ^bb0(%a: i32, %b: i32):\n    tt.reduce.return %a : i32\n  }) : (tensor<8xi32>) -> i32\n  tt.return",
        "  %t = scf.for %i = %n to %n step %n iter_args(%a = %n) -> (i32) : i32 {\n    scf.yield %a, %a : i32, i32\n  }\n  tt.return",
    ];
    let all: String = bodies.iter().map(|body| error(body)).collect();
    expect_test::expect![[r#"
        [K006] float arithmetic on i32 and i32 --> k.ttir:2:3
        [K006] the result is tensor<4xi64> instead of tensor<4xi32> --> k.ttir:2:3
        [K006] a store of i32 as f32 --> k.ttir:3:3
        [K006] a ExtS of i32 to i16 --> k.ttir:2:3
        [K006] an if on something other than an i1 --> k.ttir:2:3
        [K006] a branch passes 1 values to a block that takes 0 --> k.ttir:1:1
        [K006] `a` is used where its definition does not reach --> k.ttir:8:3
        [K006] a reduction of tensor<8xi32> along 1 --> k.ttir:3:3
        [K006] a region yields 2 values instead of 1 --> k.ttir:2:3
    "#]]
    .assert_eq(&all);
}

/// Strings of attributes may hold quotes, backslashes and other bytes.
#[test]
fn strings_of_attributes_read_back() {
    let text = r#"tt.func public @k(%x_ptr: !tt.ptr<f32>) {
  %x = tt.load %x_ptr : !tt.ptr<f32>
  %0 = tt.elementwise_inline_asm "add.f32 $0, $1, $1; \"\\" {constraints = "=f,\"}\0A\\f", packed_element = 1 : i32, pure = true} %x : f32 -> f32
  tt.store %x_ptr, %0 : !tt.ptr<f32>
  tt.return
}
"#;
    assert_eq!(parse(&SourceFile::new("k.ttir", text)).unwrap().to_string(), text);
}

/// The low half of a wide product may wrap; a product alone may not, nor one of other operands.
#[test]
fn low_halves_are_meant_to_wrap() {
    let text = "tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
  %c = arith.constant 7 : i32
  %again = arith.constant 7 : i32
  %high = tt.mulhiui %c, %n : i32
  %low = arith.muli %n, %again : i32
  %alone = arith.muli %low, %c : i32
  %sum = arith.addi %alone, %high : i32
  tt.store %p, %sum : !tt.ptr<i32>
  tt.return
}
";
    let kernel = parse(&SourceFile::new("k.ttir", text)).unwrap();
    let wraps: Vec<&str> = kernel.wraps.iter().filter_map(|v| kernel.value_name(*v)).collect();
    assert_eq!(wraps, ["low"]);
}
