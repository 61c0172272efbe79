//! Kernels in TTIR, by grammar: values with their types, operations on values that fit them, regions.

use crate::choices::Choices;

/// A type: an element, and the axes of a block.
#[derive(Clone, Debug, PartialEq)]
struct Type {
    elem: &'static str,
    shape: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Value {
    name: String,
    ty: Type,
}

const INTS: [&str; 4] = ["i32", "i64", "i8", "i16"];
const FLOATS: [&str; 4] = ["f32", "f16", "bf16", "f64"];
const POINTERS: [(&str, &str); 3] = [("!tt.ptr<f32>", "f32"), ("!tt.ptr<i32>", "i32"), ("!tt.ptr<f16>", "f16")];

impl Type {
    fn scalar(elem: &'static str) -> Type {
        Type { elem, shape: Vec::new() }
    }

    fn with(&self, elem: &'static str) -> Type {
        Type { elem, shape: self.shape.clone() }
    }

    fn text(&self) -> String {
        if self.shape.is_empty() {
            return self.elem.to_owned();
        }
        let sizes: String = self.shape.iter().map(|n| format!("{n}x")).collect();
        format!("tensor<{sizes}{}>", self.elem)
    }
}

/// One function over three pointers and an i32.
pub fn kernel(choices: &mut Choices<'_>) -> String {
    let block = choices.of(&[8, 1, 4, 16, 32]);
    let params = [("x", "!tt.ptr<f32>"), ("i", "!tt.ptr<i32>"), ("h", "!tt.ptr<f16>"), ("n", "i32")];
    let values = params.iter().map(|(name, elem)| Value { name: (*name).to_owned(), ty: Type::scalar(elem) }).collect();
    let mut writer = Writer { choices, values, text: String::new(), names: 0, level: 1, left: 30, block };
    writer.body();
    let list: Vec<String> = params.iter().map(|(name, elem)| format!("%{name}: {elem}")).collect();
    format!("tt.func public @k({}) {{\n{}  tt.return\n}}\n", list.join(", "), writer.text)
}

struct Writer<'c, 't> {
    choices: &'c mut Choices<'t>,
    values: Vec<Value>,
    text: String,
    names: usize,
    level: usize,
    left: usize,
    block: usize,
}

impl Writer<'_, '_> {
    fn line(&mut self, text: &str) {
        self.text += &"  ".repeat(self.level);
        self.text += text;
        self.text += "\n";
    }

    /// Defines a value by the text behind its `=`.
    fn define(&mut self, text: &str, ty: Type) -> Value {
        let name = self.names.to_string();
        self.names += 1;
        self.line(&format!("%{name} = {text}"));
        let value = Value { name, ty };
        self.values.push(value.clone());
        value
    }

    fn body(&mut self) {
        let known = self.values.len();
        while self.left > 0 && !self.choices.at_end() && self.choices.below(12) != 0 {
            self.left -= 1;
            self.instruction();
        }
        self.store();
        self.values.truncate(known);
    }

    fn shape(&mut self) -> Vec<usize> {
        let n = self.block;
        self.choices.of(&[vec![n], Vec::new(), vec![n, n], vec![n, 1], vec![1, n]])
    }

    /// A value of a type; a constant where there is none.
    fn of(&mut self, ty: &Type) -> Value {
        let fitting: Vec<Value> = self.values.iter().filter(|v| v.ty == *ty).cloned().collect();
        if !fitting.is_empty() && self.choices.below(5) != 0 {
            return self.choices.of(&fitting);
        }
        let float = FLOATS.contains(&ty.elem);
        let number = match ty.elem {
            "i1" => self.choices.of(&["true", "false"]),
            "i8" => self.choices.of(&["0", "1", "-128", "127"]),
            _ if float => self.choices.of(&["0.0", "1.5", "-2.0e+00", "0x7F800000"][..if ty.elem == "f32" { 4 } else { 3 }]),
            _ => self.choices.of(&["0", "1", "2", "-1", "7", "31", "-32768"]),
        };
        let text =
            if ty.shape.is_empty() { format!("arith.constant {number}") } else { format!("arith.constant dense<{number}>") };
        self.define(&format!("{text} : {}", ty.text()), ty.clone())
    }

    fn instruction(&mut self) {
        let shape = self.shape();
        let of = |elem: &'static str| Type { elem, shape: shape.clone() };
        match self.choices.below(16) {
            0 => {
                let range = self.block;
                let ty = Type { elem: "i32", shape: vec![range] };
                self.define(&format!("tt.make_range {{end = {range} : i32, start = 0 : i32}} : {}", ty.text()), ty);
            }
            1..=3 => {
                let ty = of(self.choices.of(&INTS));
                let names = [
                    "addi", "subi", "muli", "divsi", "remsi", "divui", "remui", "andi", "ori", "xori", "shli", "shrsi", "shrui",
                    "maxsi", "minui",
                ];
                let (op, a, b) = (self.choices.of(&names), self.of(&ty), self.of(&ty));
                self.define(&format!("arith.{op} %{}, %{} : {}", a.name, b.name, ty.text()), ty);
            }
            4 | 5 => {
                let ty = of(self.choices.of(&FLOATS));
                let op = self.choices.of(&["addf", "subf", "mulf", "divf", "maxnumf", "minimumf", "maximumf"]);
                let (a, b) = (self.of(&ty), self.of(&ty));
                self.define(&format!("arith.{op} %{}, %{} : {}", a.name, b.name, ty.text()), ty);
            }
            6 => {
                let ty = of("f32");
                let (op, a) = (self.choices.of(&["exp", "log", "sqrt", "sin", "absf", "exp2", "floor"]), self.of(&ty));
                self.define(&format!("math.{op} %{} : {}", a.name, ty.text()), ty);
            }
            7 => {
                let ty = of(self.choices.of(&INTS));
                let predicate = self.choices.of(&["slt", "sle", "eq", "ne", "sgt", "ult", "uge"]);
                let (a, b) = (self.of(&ty), self.of(&ty));
                self.define(&format!("arith.cmpi {predicate}, %{}, %{} : {}", a.name, b.name, ty.text()), ty.with("i1"));
            }
            8 => {
                let ty = of(self.choices.of(&["f32", "i32", "f16"]));
                let (c, a, b) = (self.of(&ty.with("i1")), self.of(&ty), self.of(&ty));
                let types = format!("{}, {}", c.ty.text(), ty.text());
                self.define(&format!("arith.select %{}, %{}, %{} : {types}", c.name, a.name, b.name), ty);
            }
            9 => self.cast(&shape),
            10 | 11 => self.spread(),
            12 => self.load(&shape),
            13 => self.reduce(),
            14 => self.region(),
            _ => self.store(),
        }
    }

    fn cast(&mut self, shape: &[usize]) {
        let (op, from, to) = self.choices.of(&[
            ("arith.extsi", "i32", "i64"),
            ("arith.extui", "i8", "i32"),
            ("arith.trunci", "i64", "i32"),
            ("arith.trunci", "i32", "i1"),
            ("arith.sitofp", "i32", "f32"),
            ("arith.uitofp", "i64", "f16"),
            ("arith.fptosi", "f32", "i32"),
            ("arith.fptoui", "f64", "i8"),
            ("arith.extf", "f16", "f32"),
            ("arith.truncf", "f32", "bf16"),
            ("tt.bitcast", "f32", "i32"),
        ]);
        let ty = Type { elem: from, shape: shape.to_vec() };
        let a = self.of(&ty);
        self.define(
            &format!("{op} %{} : {} to {}", a.name, ty.text(), ty.with(to).text())
                .replace(if op == "tt.bitcast" { " to " } else { "\0" }, " -> "),
            ty.with(to),
        );
    }

    /// Scalars to blocks, and blocks to blocks of more axes.
    fn spread(&mut self) {
        let n = self.block;
        let known = self.values.clone();
        let Value { name, ty } = self.choices.of(&known);
        match ty.shape.as_slice() {
            [] => {
                let to = Type { elem: ty.elem, shape: vec![n] };
                self.define(&format!("tt.splat %{name} : {} -> {}", ty.text(), to.text()), to);
            }
            [_] => {
                let axis = self.choices.below(2);
                let to = Type { elem: ty.elem, shape: if axis == 0 { vec![1, ty.shape[0]] } else { vec![ty.shape[0], 1] } };
                self.define(&format!("tt.expand_dims %{name} {{axis = {axis} : i32}} : {} -> {}", ty.text(), to.text()), to);
            }
            [..] if ty.shape.contains(&1) => {
                let to = Type { elem: ty.elem, shape: vec![n, n] };
                self.define(&format!("tt.broadcast %{name} : {} -> {}", ty.text(), to.text()), to);
            }
            [a, b, ..] => {
                let to = Type { elem: ty.elem, shape: vec![*b, *a] };
                self.define(&format!("tt.trans %{name} {{order = array<i32: 1, 0>}} : {} -> {}", ty.text(), to.text()), to);
            }
        }
    }

    /// A block of pointers, and what it points to.
    fn pointers(&mut self, shape: &[usize]) -> (Value, &'static str) {
        let (elem, pointee) = self.choices.of(&POINTERS);
        let ty = Type { elem, shape: shape.to_vec() };
        let base = match (shape, elem) {
            ([], "!tt.ptr<f32>") => Value { name: "x".to_owned(), ty: ty.clone() },
            ([], "!tt.ptr<i32>") => Value { name: "i".to_owned(), ty: ty.clone() },
            ([], _) => Value { name: "h".to_owned(), ty: ty.clone() },
            (_, _) => {
                let name = match elem {
                    "!tt.ptr<f32>" => "x",
                    "!tt.ptr<i32>" => "i",
                    _ => "h",
                };
                self.define(&format!("tt.splat %{name} : {elem} -> {}", ty.text()), ty.clone())
            }
        };
        let integer = self.choices.of(&["i32", "i32", "i64"]);
        let offset = self.of(&ty.with(integer));
        let types = format!("{}, {}", ty.text(), offset.ty.text());
        (self.define(&format!("tt.addptr %{}, %{} : {types}", base.name, offset.name), ty), pointee)
    }

    fn load(&mut self, shape: &[usize]) {
        let (pointer, pointee) = self.pointers(shape);
        let ty = Type { elem: pointee, shape: shape.to_vec() };
        let mut operands = format!("%{}", pointer.name);
        if self.choices.below(2) == 0 {
            operands += &format!(", %{}", self.of(&ty.with("i1")).name);
            if self.choices.below(2) == 0 {
                operands += &format!(", %{}", self.of(&ty).name);
            }
        }
        self.define(&format!("tt.load {operands} : {}", pointer.ty.text()), ty);
    }

    fn store(&mut self) {
        let shape = self.shape();
        let (pointer, pointee) = self.pointers(&shape);
        let ty = Type { elem: pointee, shape };
        let value = self.of(&ty);
        let mask = if self.choices.below(2) == 0 { String::new() } else { format!(", %{}", self.of(&ty.with("i1")).name) };
        self.line(&format!("tt.store %{}, %{}{mask} : {}", pointer.name, value.name, pointer.ty.text()));
    }

    fn reduce(&mut self) {
        let n = self.block;
        let ty = Type { elem: self.choices.of(&["f32", "i32"]), shape: self.choices.of(&[vec![n], vec![n, n]]) };
        let axis = self.choices.below(ty.shape.len());
        let mut rest = ty.shape.clone();
        rest.remove(axis);
        let to = Type { elem: ty.elem, shape: rest };
        let op = match ty.elem {
            "f32" => self.choices.of(&["addf", "maxnumf", "mulf"]),
            _ => self.choices.of(&["addi", "maxsi", "xori"]),
        };
        let a = self.of(&ty);
        let (scan, elem) = (self.choices.below(3) == 0, ty.elem);
        let (name, attribute) = if scan { ("scan", ", reverse = false") } else { ("reduce", "") };
        let to = if scan { ty.clone() } else { to };
        let text = format!(
            "\"tt.{name}\"(%{}) <{{axis = {axis} : i32{attribute}}}> ({{\n  ^bb0(%a: {elem}, %b: {elem}):\n    %c = arith.{op} %a, %b : \
             {elem}\n    tt.{name}.return %c : {elem}\n  }}) : ({}) -> {}",
            a.name,
            ty.text(),
            to.text()
        );
        self.define(&text, to);
    }

    fn region(&mut self) {
        if self.level > 3 {
            return self.store();
        }
        let carried = Type { elem: self.choices.of(&["f32", "i32"]), shape: self.shape() };
        let first = self.of(&carried);
        let (bool_, int) = (Type::scalar("i1"), Type::scalar("i32"));
        if self.choices.below(2) == 0 {
            let condition = self.of(&bool_);
            let name = format!("r{}", self.names);
            self.names += 1;
            self.line(&format!("%{name} = scf.if %{} -> ({}) {{", condition.name, carried.text()));
            for otherwise in [false, true] {
                if otherwise {
                    self.line("} else {");
                }
                self.inside(&carried);
            }
            self.line("}");
            self.values.push(Value { name, ty: carried });
            return;
        }
        let (lower, upper, step) = (self.of(&int), self.of(&int), self.of(&int));
        let name = format!("r{}", self.names);
        self.names += 1;
        self.line(&format!(
            "%{name} = scf.for %l{name} = %{} to %{} step %{} iter_args(%c{name} = %{}) -> ({}) : i32 {{",
            lower.name,
            upper.name,
            step.name,
            first.name,
            carried.text()
        ));
        let known = self.values.len();
        self.values.push(Value { name: format!("l{name}"), ty: int });
        self.values.push(Value { name: format!("c{name}"), ty: carried.clone() });
        self.inside(&carried);
        self.values.truncate(known);
        self.line("}");
        self.values.push(Value { name, ty: carried });
    }

    /// A region's instructions and what it yields.
    fn inside(&mut self, yields: &Type) {
        let known = self.values.len();
        self.level += 1;
        for _ in 0..self.choices.below(4) {
            if self.left > 0 {
                self.left -= 1;
                self.instruction();
            }
        }
        let value = self.of(yields);
        self.line(&format!("scf.yield %{} : {}", value.name, yields.text()));
        self.level -= 1;
        self.values.truncate(known);
    }
}
