//! Every kind of bad file gives a clear message naming file, node and cause, and never a panic.

use expect_test::{Expect, expect};
use prost::Message;
use tract_onnx::pb::{ModelProto, NodeProto, ValueInfoProto};

use super::build::*;
use super::*;

fn relu(from: &str, to: &str) -> NodeProto {
    node("Relu", &[from], &[to])
}

fn x(dims: &[i64]) -> ValueInfoProto {
    declare("x", FLOAT, dims)
}

/// The message that importing these bytes ends with.
fn refused_bytes(name: &str, bytes: &[u8], binding: &Binding, message: Expect) {
    let errors = from_bytes(name, bytes, binding).expect_err("the file is bad");
    message.assert_eq(&rendered(&errors));
}

fn refused(model: &ModelProto, message: Expect) {
    refused_bytes("m.onnx", &bytes(model), &Binding::default(), message);
}

/// One node with one input `x` of these sizes.
fn single(dims: &[i64], initializers: &[tract_onnx::pb::TensorProto], node: NodeProto) -> ModelProto {
    let output = node.output[0].clone();
    model(17, &[x(dims)], initializers, &[node], &[&output])
}

#[test]
fn files_that_are_no_model() {
    let refused = |name: &str, bytes: &[u8], message: Expect| refused_bytes(name, bytes, &Binding::default(), message);
    refused(
        "m.onnx",
        b"",
        expect![[r#"
        error[U003]: m.onnx: is empty (0 bytes)
         |
         = help: name an .onnx or .pt2 file, or a model of shapes_registry.yaml such as resnet50.onnx"#]],
    );
    refused(
        "m.onnx",
        b"Hello, this is a text.\nMore.\n",
        expect![[r#"
        error[U003]: m.onnx: is a text file, not an ONNX model; it begins with "Hello, this is a text."
         |
         = help: pass the binary .onnx file"#]],
    );
    refused(
        "m.onnx",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        expect![[r#"
        error[U003]: m.onnx: is a Git LFS pointer, not the model itself
         |
         = help: fetch the file it stands for: git lfs pull"#]],
    );
    refused(
        "cat.png",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        expect![[r#"
        error[U003]: cat.png: is a PNG image, not an ONNX model
         |
         = help: name an .onnx or .pt2 file, or a model of shapes_registry.yaml such as resnet50.onnx"#]],
    );
    refused(
        "a.zip",
        b"PK\x03\x04\0\0\0\0",
        expect![[r#"
        error[U003]: a.zip: is a zip archive, not an ONNX model
         |
         = help: an archive of torch.export has the extension .pt2"#]],
    );
    refused(
        "resnet50.pth",
        b"PK\x03\x04....resnet50/data.pkl",
        expect![[r#"
        error[U003]: resnet50.pth: is a PyTorch pickle; unpickling runs code from the file, so it is not read
         |
         = help: export the model where its Python code is: torch.export.save(torch.export.export(model, (example_input,)), "model.pt2")"#]],
    );
    refused(
        "old.bin",
        b"\x80\x02\x8a\x0al\xfc",
        expect![[r#"
        error[U003]: old.bin: is a PyTorch pickle; unpickling runs code from the file, so it is not read
         |
         = help: export the model where its Python code is: torch.export.save(torch.export.export(model, (example_input,)), "model.pt2")"#]],
    );
    refused(
        "model.py",
        b"import torch\n",
        expect![[r#"
        error[U003]: model.py: is Python source, not a model file
         |
         = help: export the model where its Python code is: torch.export.save(torch.export.export(model, (example_input,)), "model.pt2")"#]],
    );
    refused(
        "task.py",
        b"class Model(nn.Module):\n    ...\ndef get_inputs():\n    ...\n",
        expect![[r#"
            error[U003]: task.py: is Python source, not a model file
             |
             = help: it is a task: decompose task task.py"#]],
    );
    refused(
        "kernel.py",
        b"@triton.jit\ndef k(x):\n    ...\n",
        expect![[r#"
            error[U003]: kernel.py: is Python source, not a model file
             |
             = help: it has kernels: decompose emulate kernel.py"#]],
    );
    refused(
        "m.onnx",
        b"\x01\x02\x03\x04\xff\xfe",
        expect![[r#"
            error[U003]: m.onnx: is not an ONNX model, or was cut off: its protobuf cannot be decoded
             |
             = note: invalid tag value: 0
             = note: the file has 6 bytes
             = help: copy or download the file again, or export the model again"#]],
    );
    refused(
        "m.onnx",
        &[8, 8, 18, 1, b'x'],
        expect![[r#"
            error[U003]: m.onnx: is not an ONNX model: a graph is missing
             |
             = note: the file has 5 bytes; one that was cut off looks like this too
             = help: copy or download the file again, or export the model again"#]],
    );
    let whole = std::fs::read("models/resnet50.onnx").unwrap();
    refused(
        "resnet50.onnx",
        &whole[..20_000],
        expect![[r#"
            error[U003]: resnet50.onnx: is not an ONNX model, or was cut off: its protobuf cannot be decoded
             |
             = note: ModelProto.graph: buffer underflow
             = note: the file has 20000 bytes
             = help: copy or download the file again, or export the model again"#]],
    );
    refused(
        "resnet50.onnx",
        &whole[..whole.len() - 4],
        expect![[r#"
            error[U003]: resnet50.onnx: is not an ONNX model, or was cut off: its protobuf cannot be decoded
             |
             = note: ModelProto.opset_import: buffer underflow
             = note: the file has 53344 bytes
             = help: copy or download the file again, or export the model again"#]],
    );
    let missing = load(Path::new("no/such/model.onnx"), &Binding::default()).expect_err("there is no such file");
    expect![[r#"
        error[U002]: no/such/model.onnx: cannot be read: No such file or directory (os error 2)
         |
         = help: check the path and its permissions"#]]
    .assert_eq(&rendered(&missing));
    let folder = load(Path::new("models"), &Binding::default()).expect_err("it is a folder");
    expect![[r#"
        error[U002]: models: cannot be read: it is a folder
         |
         = help: name the .onnx file inside it; a suite is verified by `decompose verify DIR`"#]]
    .assert_eq(&rendered(&folder));
}

/// Cutting a file anywhere, or changing any one byte of its beginning, never panics.
#[test]
fn cut_and_changed_files_never_panic() {
    let small = single(&[1, 2, 4, 4], &[floats("w", &[2, 2, 1, 1], &[1.0, 2.0, 3.0, 4.0])], node("Conv", &["x", "w"], &["y"]));
    let whole = bytes(&small);
    for end in 0..whole.len() {
        let _ = from_bytes("m.onnx", &whole[..end], &Binding::default());
    }
    for at in 0..whole.len() {
        for value in [0, 1, 2, 8, 10, 0x7f, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] = value;
            let _ = from_bytes("m.onnx", &changed, &Binding::default());
        }
    }
}

#[test]
fn versions() {
    let with_opset = |opset| model(opset, &[x(&[2])], &[], &[relu("x", "y")], &["y"]);
    refused(
        &with_opset(6),
        expect![[r#"
            unsupported[M011]: m.onnx: opset 6 is not supported: 7 to 28 are
             |
             = help: convert the model: onnx.version_converter.convert_version(model, 17)"#]],
    );
    refused(
        &with_opset(99),
        expect![[r#"
            unsupported[M011]: m.onnx: opset 99 is not supported: 7 to 28 are
             |
             = help: convert the model: onnx.version_converter.convert_version(model, 17)"#]],
    );
    refused(
        &ModelProto { ir_version: 99, ..with_opset(17) },
        expect![[r#"
            unsupported[M011]: m.onnx: IR version 99 is not supported: 3 to 14 are
             |
             = help: export the model again with another version of onnx"#]],
    );
    let mut foreign = with_opset(1);
    foreign.opset_import[0].domain = "com.microsoft".to_owned();
    refused(
        &foreign,
        expect![[r#"
        error[M001]: m.onnx: no version of the default operator set is imported
         |
         = note: the field opset_import is missing or names other domains only; a file that was cut off looks like this too"#]],
    );
}

#[test]
fn names_and_cycles() {
    let of = |inputs: &[ValueInfoProto], nodes: &[NodeProto]| model(17, inputs, &[], nodes, &["y"]);
    refused(
        &of(&[x(&[2])], &[relu("x", "y"), relu("x", "y")]),
        expect!["error[M003]: m.onnx: node n_y: defines the value `y`, which node n_y defines already"],
    );
    refused(&of(&[x(&[2]), x(&[3])], &[relu("x", "y")]), expect!["error[M003]: m.onnx: two model inputs are named `x`"]);
    refused(
        &of(&[x(&[2])], &[relu("nothing", "y")]),
        expect!["error[M003]: m.onnx: node n_y: reads the value `nothing`, which nothing defines"],
    );
    refused(&of(&[x(&[2])], &[relu("x", "z")]), expect!["error[M003]: m.onnx: the model's output `y` is defined by nothing"]);
    refused(
        &of(&[x(&[2])], &[relu("x", "x"), relu("x", "y")]),
        expect!["error[M003]: m.onnx: node n_x: defines the value `x`, which an input or initializer defines already"],
    );
    refused(&model(17, &[x(&[2])], &[], &[relu("x", "y")], &[]), expect!["error[M001]: m.onnx: the model has no output"]);
    let circle = [node("Add", &["x", "c"], &["a"]), relu("a", "b"), relu("b", "c"), relu("c", "y")];
    refused(
        &of(&[x(&[2])], &circle),
        expect![[r#"
        error[M002]: m.onnx: node n_b: the outputs of 3 node(s) depend on themselves
         |
         = note: cycle: n_b → n_c → n_a → n_b"#]],
    );
    let bad_name = NodeProto { name: "layer1".to_owned(), ..relu("x", "y") };
    let mut broken = bytes(&of(&[x(&[2])], &[bad_name]));
    let at = broken.windows(6).position(|w| w == b"layer1").unwrap();
    broken[at] = 0xff;
    refused_bytes(
        "m.onnx",
        &broken,
        &Binding::default(),
        expect![[r#"
        error[M001]: m.onnx: a name or text in the file is not UTF-8
         |
         = note: NodeProto.name: GraphProto.node: ModelProto.graph: invalid string value: data is not UTF-8 encoded"#]],
    );
}

#[test]
fn shapes_that_contradict() {
    let w = |dims: &[i64]| floats("w", dims, &vec![0.5; dims.iter().product::<i64>() as usize]);
    refused(
        &single(&[1, 3, 8, 8], &[w(&[4, 2, 3, 3])], node("Conv", &["x", "w"], &["y"])),
        expect!["error[M004]: m.onnx: node n_y: W 4×2×3×3 expects 2 input channels in 1 group(s), X 1×3×8×8 has 3"],
    );
    refused(
        &single(&[1, 2, 2, 2], &[w(&[4, 2, 3, 3])], node("Conv", &["x", "w"], &["y"])),
        expect![
            "error[M004]: m.onnx: node n_y: spatial axis 0: a window of 3 (kernel 3, dilation 1) does not fit into 2 (size 2, padding 0 + 0)"
        ],
    );
    refused(
        &single(&[2, 3], &[w(&[4, 5])], node("MatMul", &["x", "w"], &["y"])),
        expect!["error[M004]: m.onnx: node n_y: A 2×3 has 3 columns, B 4×5 has 4 rows"],
    );
    refused(
        &single(&[2, 3], &[w(&[4, 5])], node("Gemm", &["x", "w"], &["y"]).int("transB", 1)),
        expect!["error[M004]: m.onnx: node n_y: A 2×3 has 3 columns, B 5×4 has 5 rows"],
    );
    refused(
        &single(&[2, 3], &[w(&[4])], node("Add", &["x", "w"], &["y"])),
        expect!["error[M004]: m.onnx: node n_y: 2×3 and 4 do not broadcast"],
    );
    refused(
        &single(&[2, 3], &[ints("s", &[2], &[4, -1])], node("Reshape", &["x", "s"], &["y"])),
        expect!["error[M004]: m.onnx: node n_y: 2×3 cannot be reshaped to [4, -1]"],
    );
    refused(
        &single(&[2, 3], &[], node("Softmax", &["x"], &["y"]).int("axis", 2)),
        expect!["error[M004]: m.onnx: node n_y: axis 2 does not exist in a tensor of rank 2"],
    );
    refused(
        &single(&[2, 3], &[ints("i", &[], &[9])], node("Gather", &["x", "i"], &["y"]).int("axis", 1)),
        expect!["error[M004]: m.onnx: node n_y: index 9 is outside axis 1 of size 3"],
    );
    let mut declared = single(&[2, 3], &[], relu("x", "y"));
    declared.graph.as_mut().unwrap().output[0] = declare("y", FLOAT, &[2, 4]);
    refused(&declared, expect!["error[M004]: m.onnx: node n_y: `y` is 2×3, the file declares 2×4"]);
    declared.graph.as_mut().unwrap().output[0] = declare("y", INT64, &[2, 3]);
    refused(&declared, expect!["error[M004]: m.onnx: node n_y: `y` has the element type f32, the file declares i64"]);
}

#[test]
fn sizes_that_cannot_be() {
    refused(&single(&[0, 3], &[], relu("x", "y")), expect!["error[M007]: m.onnx: input `x` is 0×3: a dimension has size 0"]);
    refused(
        &single(&[1 << 40, 1 << 40], &[], relu("x", "y")),
        expect!["error[M004]: m.onnx: input `x` is 1099511627776×1099511627776: more elements than memory can address"],
    );
    refused(
        &single(&[2, 3], &[floats("w", &[0, 3], &[])], node("Add", &["x", "w"], &["y"])),
        expect!["error[M004]: m.onnx: node n_y: 2×3 and 0×3 do not broadcast"],
    );
    refused(
        &single(&[2], &[ints("s", &[2], &[0, 0]), ints("e", &[1], &[0])], node("Slice", &["x", "e", "e"], &["y"])),
        expect!["error[M007]: m.onnx: node n_y: its output is 0: a dimension has size 0"],
    );
    refused(
        &single(&[2], &[ints("s", &[2], &[1 << 40, 1 << 40])], node("ConstantOfShape", &["s"], &["y"])),
        expect!["error[M004]: m.onnx: node n_y: 1099511627776×1099511627776 is larger than memory"],
    );
    refused(
        &single(&[1], &[ints("s", &[2], &[1 << 40, 1 << 40])], node("Expand", &["x", "s"], &["y"])),
        expect![
            "error[M004]: m.onnx: node n_y: the output 1099511627776×1099511627776 has more elements than memory can address"
        ],
    );
    refused(
        &single(&[1], &[ints("p", &[2], &[i64::MAX, i64::MAX])], node("Pad", &["x", "p"], &["y"])),
        expect!["error[M004]: m.onnx: node n_y: the output 18446744073709551615 has more elements than memory can address"],
    );
    let pool = |name: &str, values: &[i64]| {
        let pool = node("MaxPool", &["x"], &["y"]).ints(name, values);
        single(&[1, 2, 8, 8], &[], if name == "kernel_shape" { pool } else { pool.ints("kernel_shape", &[2, 2]) })
    };
    refused(
        &pool("kernel_shape", &[-3, 3]),
        expect!["error[M001]: m.onnx: node n_y: attribute `kernel_shape` is [-3, 3]: each must be at least 1"],
    );
    refused(
        &pool("strides", &[0, 1]),
        expect!["error[M001]: m.onnx: node n_y: attribute `strides` is [0, 1]: each must be at least 1"],
    );
    refused(
        &pool("kernel_shape", &[1 << 62, 1 << 62]),
        expect![
            "error[M004]: m.onnx: node n_y: spatial axis 0: a window of 4611686018427387904 (kernel 4611686018427387904, dilation 1) does not fit into 8 (size 8, padding 0 + 0)"
        ],
    );
    refused(
        &pool("dilations", &[i64::MAX, 1]),
        expect![
            "error[M004]: m.onnx: node n_y: spatial axis 0: a window of 9223372036854775808 (kernel 2, dilation 9223372036854775807) does not fit into 8 (size 8, padding 0 + 0)"
        ],
    );
    refused(
        &pool("pads", &[9, 9, 0, 0]),
        expect![
            "error[M004]: m.onnx: node n_y: spatial axis 0: a window lies wholly in the padding (size 8, padding 9 + 0, window 2)"
        ],
    );
    refused(&pool("pads", &[1]), expect!["error[M001]: m.onnx: node n_y: attribute `pads` has 1 entries for 2 spatial axes"]);
}

/// What would take all memory, or run for ever, is refused before either.
#[test]
fn sizes_that_are_too_large() {
    let limit = |model: &ModelProto, message: Expect| refused(model, message);
    limit(
        &single(&[1 << 33], &[], relu("x", "y")),
        expect!["limit[L002]: m.onnx: input `x` of 8589934592 has 8589934592 elements, at most 1073741824 are offered"],
    );
    limit(
        &single(&[1], &[ints("s", &[2], &[1 << 20, 1 << 20])], node("ConstantOfShape", &["s"], &["y"])),
        expect![
            "limit[L002]: m.onnx: node n_y: the output 1048576×1048576 has 1099511627776 elements, at most 1073741824 are offered"
        ],
    );
    limit(
        &single(&[1], &[ints("s", &[1], &[1 << 31])], node("Expand", &["x", "s"], &["y"])),
        expect!["limit[L002]: m.onnx: node n_y: the output 2147483648 has 2147483648 elements, at most 1073741824 are offered"],
    );
    limit(
        &single(&[1 << 15, 1 << 15], &[], node("MatMul", &["x", "x"], &["y"])),
        expect!["limit[L002]: m.onnx: node n_y: 35184372088832 multiply-adds, at most 4398046511104 are offered"],
    );
    let pool = |kernel, pads| node("MaxPool", &["x"], &["y"]).ints("kernel_shape", &[kernel; 2]).ints("pads", &[pads; 4]);
    limit(
        &single(&[1, 1, 7, 7], &[], pool(4096, 2048)),
        expect!["limit[L002]: m.onnx: node n_y: its window is 4096×4096: at most 65536 positions are offered"],
    );
    limit(
        &single(&[1, 4, 7, 7], &[], pool(1 << 40, 1 << 39)),
        expect!["limit[L002]: m.onnx: node n_y: its window is 1099511627776×1099511627776: at most 65536 positions are offered"],
    );
    let batch = model(17, &[declare("x", FLOAT, &[Dim::Named("batch")])], &[], &[relu("x", "y")], &["y"]);
    let dims = [("batch".to_owned(), 9_999_999_999_999)].into();
    refused_bytes(
        "m.onnx",
        &bytes(&batch),
        &Binding { dims, ..Binding::default() },
        expect!["limit[L002]: m.onnx: input `x` of 9999999999999 has 9999999999999 elements, at most 1073741824 are offered"],
    );
}

#[test]
fn names_that_nobody_can_read() {
    let long = "n".repeat(100_000);
    let named = NodeProto { name: long.clone(), op_type: long.clone(), ..relu("x", "y") };
    let imported = from_bytes("m.onnx", &bytes(&single(&[2], &[], named)), &Binding::default()).unwrap();
    expect![[r#"
        unsupported[M008]: m.onnx: operator nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn… (100000 characters) is not supported
         |
         = note: 1 node: nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn… (100000 characters)"#]].assert_eq(&rendered(&imported.unsupported));
    let named = NodeProto { name: long, ..relu("x", "y") }.int("slope", 1);
    refused(
        &single(&[2], &[], named),
        expect![
            "error[M001]: m.onnx: node nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn… (100000 characters): attribute `slope` is not one of Relu in opset 17"
        ],
    );
}

#[test]
fn integer_division_by_a_constant_zero() {
    let nodes = [node("Shape", &["x"], &["s"]), node("Div", &["s", "zero"], &["t"]), node("Reshape", &["x", "t"], &["y"])];
    refused(
        &model(17, &[x(&[2, 3])], &[ints("zero", &[2], &[0, 1])], &nodes, &["y"]),
        expect!["error[M001]: m.onnx: node n_t: division by zero: the divisor (B) is known and contains 0"],
    );
}

#[test]
fn initializers() {
    let add = || node("Add", &["x", "w"], &["y"]);
    refused(
        &single(&[3], &[floats("w", &[3], &[1.0])], add()),
        expect!["error[M005]: m.onnx: initializer `w`: it has 1 elements, its dimensions 3 need 3"],
    );
    refused(
        &single(&[3], &[floats("w", &[-3], &[1.0])], add()),
        expect!["error[M005]: m.onnx: initializer `w`: dimensions [-3] are negative"],
    );
    let mut raw = floats("w", &[3], &[]);
    raw.raw_data = vec![0; 10];
    refused(
        &single(&[3], &[raw], add()),
        expect!["error[M005]: m.onnx: initializer `w`: it has 10 bytes, 3 elements of f32 need 12"],
    );
}

#[test]
fn attributes() {
    refused(
        &single(&[2], &[], node("Relu", &["x"], &["y"]).int("slope", 1)),
        expect!["error[M001]: m.onnx: node n_y: attribute `slope` is not one of Relu in opset 17"],
    );
    refused(
        &single(&[2, 2], &[], node("Softmax", &["x"], &["y"]).float("axis", 1.0)),
        expect!["error[M001]: m.onnx: node n_y: attribute `axis` has type FLOAT, INT is expected"],
    );
    refused(
        &single(&[2, 2], &[], node("Concat", &["x", "x"], &["y"])),
        expect!["error[M001]: m.onnx: node n_y: attribute `axis` is missing"],
    );
    refused(&single(&[2, 2], &[], node("Relu", &[], &["y"])), expect!["error[M001]: m.onnx: node n_y: input 0 (X) is missing"]);
    refused(
        &single(&[2], &[], node("Relu", &["x", "x"], &["y"])),
        expect!["error[M001]: m.onnx: node n_y: 2 inputs given, Relu accepts at most 1"],
    );
    refused(&single(&[2], &[], node("", &["x"], &["y"])), expect!["error[M001]: m.onnx: node n_y: the operator name is empty"]);
}

#[test]
fn dimensions_without_a_size() {
    let open = |inputs: &[ValueInfoProto]| model(17, inputs, &[], &[relu("x", "y")], &["y"]);
    let image = declare("x", FLOAT, &[Dim::Named("batch"), Dim::Is(3), Dim::Named("height"), Dim::Open]);
    refused(
        &open(std::slice::from_ref(&image)),
        expect![[r#"
        error[M006]: m.onnx: dimensions `batch`, `height` have no size
         |
         = note: input `x` is batch×3×height×?
         = help: bind with --dim batch=N --dim height=N --shape x=Nx3xNxN, or all open ones with --default-dim N"#]],
    );
    let bytes = bytes(&open(&[image, declare("ids", INT64, &[Dim::Named("batch")])]));
    let dims = |pairs: &[(&str, usize)]| pairs.iter().map(|&(n, s)| (n.to_owned(), s)).collect();
    refused_bytes(
        "m.onnx",
        &bytes,
        &Binding { dims: dims(&[("batch", 8), ("hight", 4)]), ..Binding::default() },
        expect![[r#"
        error[U001]: m.onnx: a size is given for `hight`, which is no symbolic dimension of the model
         |
         = note: the model has: batch, height
        error[M006]: m.onnx: dimension `height` has no size
         |
         = note: input `x` is batch×3×height×?
         = help: bind with --dim height=N --shape x=Nx3xNxN, or all open ones with --default-dim N"#]],
    );
    let shape = |name: &str, sizes: &[usize]| Binding { shapes: [(name.to_owned(), sizes.into())].into(), ..Binding::default() };
    refused_bytes(
        "m.onnx",
        &bytes,
        &shape("image", &[1]),
        expect![[r#"
        error[U001]: m.onnx: a shape is given for `image`, which is no input of the model
         |
         = note: the model has: x, ids
        error[M006]: m.onnx: dimensions `batch`, `height` have no size
         |
         = note: input `x` is batch×3×height×?
         = note: input `ids` is batch
         = help: bind with --dim batch=N --dim height=N --shape x=Nx3xNxN, or all open ones with --default-dim N"#]],
    );
    refused_bytes(
        "m.onnx",
        &bytes,
        &shape("x", &[1, 3, 4]),
        expect![[r#"
            error[M004]: m.onnx: input `x` is batch×3×height×? in the file; 1×3×4 has another rank
            error[M006]: m.onnx: dimension `batch` has no size
             |
             = note: input `ids` is batch
             = help: bind with --dim batch=N, or all open ones with --default-dim N"#]],
    );
    let both = Binding {
        shapes: [("x".to_owned(), [8, 3, 4, 4][..].into()), ("ids".to_owned(), [2][..].into())].into(),
        ..Binding::default()
    };
    refused_bytes(
        "m.onnx",
        &bytes,
        &both,
        expect!["error[M004]: m.onnx: dimension `batch` is 8 by another input's shape and 2 by that of `ids`"],
    );
    let contradiction = Binding { dims: dims(&[("batch", 2)]), ..shape("x", &[3, 3, 4, 4]) };
    refused_bytes(
        "m.onnx",
        &bytes,
        &contradiction,
        expect![[r#"
        error[U001]: m.onnx: dimension `batch` is bound to 2, and to 3 by the shape 3×3×4×4 that is bound to input `x`
         |
         = help: bind one of the two: --dim batch=2 or --shape x=…"#]],
    );
    let zero = Binding { default_dim: Some(0), ..Binding::default() };
    refused_bytes(
        "m.onnx",
        &bytes,
        &zero,
        expect![[r#"
        error[M007]: m.onnx: input `ids` is 0: a dimension has size 0
        error[M007]: m.onnx: input `x` is 0×3×0×0: a dimension has size 0"#]],
    );

    let bound = Binding { dims: dims(&[("batch", 8)]), default_dim: Some(16), ..Binding::default() };
    let graph = from_bytes("m.onnx", &bytes, &bound).unwrap().graph;
    assert_eq!(graph.shape(graph.find("x").unwrap()), [8, 3, 16, 16]);
    assert_eq!(graph.shape(graph.find("ids").unwrap()), [8]);
    let listed = Binding { dims: dims(&[("batch", 7)]), ..Binding::default() };
    let given = shape("x", &[2, 3, 4, 5]).or(&listed);
    assert_eq!(from_bytes("m.onnx", &bytes, &given).unwrap().graph.shape(graph.find("x").unwrap()), [2, 3, 4, 5]);
    let implied = from_bytes("m.onnx", &bytes, &shape("x", &[2, 3, 4, 5])).unwrap().graph;
    assert_eq!(implied.shape(implied.find("ids").unwrap()), [2]);
}

/// Every message of one file at once.
#[test]
fn one_bad_node_does_not_hide_the_others() {
    let nodes =
        [node("Add", &["x", "w"], &["a"]), relu("a", "b"), node("Concat", &["x", "x"], &["c"]), node("Sum", &["b", "c"], &["y"])];
    refused(
        &model(17, &[x(&[2, 3])], &[floats("w", &[4], &[0.0; 4])], &nodes, &["y"]),
        expect![[r#"
        error[M004]: m.onnx: node n_a: 2×3 and 4 do not broadcast
        error[M001]: m.onnx: node n_c: attribute `axis` is missing"#]],
    );
}

#[test]
fn a_string_tensor_is_no_panic() {
    let strings = model(17, &[declare("x", STRING, &[2])], &[], &[node("Identity", &["x"], &["y"])], &["y"]);
    assert!(ModelProto::decode(bytes(&strings).as_slice()).is_ok());
    let imported = from_bytes("m.onnx", &bytes(&strings), &Binding::default()).unwrap();
    expect![[r#"
        unsupported[M009]: m.onnx: input `x` has the element type STRING
        unsupported[M008]: m.onnx: nodes behind input `x` cannot be decomposed
         |
         = note: 1 node: n_y
         = help: if the file gave the types of what is not supported, they could be: onnx.save(onnx.shape_inference.infer_shapes(onnx.load(path)), path)"#]]
    .assert_eq(&rendered(&imported.unsupported));
}
