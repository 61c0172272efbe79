//! New templates are read, bound and refused as they should; `conform::probe` runs them.

use expect_test::expect;

use super::*;
use crate::diag::render::render;

fn library() -> Library {
    Library::embedded().unwrap()
}

/// The files in a folder of their own, read as a template.
fn read(name: &str, files: &Files) -> std::sync::Arc<Template> {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join(name);
    std::fs::create_dir(&own).unwrap();
    files.iter().for_each(|(file, text)| std::fs::write(own.join(file), text).unwrap());
    Library::folder(&own).unwrap_or_else(|error| panic!("{}", render(&error, false)))
}

#[test]
fn every_template_can_be_copied_under_another_name() {
    let library = library();
    for template in library.templates() {
        let files = files("mine", &template.name, None, &library).unwrap();
        let copy = read("mine", &files);
        assert!(copy.kernel.functions.iter().all(|f| f.name.starts_with("mine_")), "{}", template.name);
        assert!(!files[1].1.contains(&format!("{}_kernel", template.name)), "{}", template.name);
        assert_eq!(copy.manifest.aliases, Vec::<String>::new());
    }
    assert_eq!(read("mine", &files("mine", "Conv", None, &library).unwrap()).manifest.implements, Implements::Conv);
    assert_eq!(read("mine", &files("mine", "gemm", None, &library).unwrap()).manifest.implements, Implements::MatMul);
}

#[test]
fn operators_of_onnx_name_the_template_that_computes_them() {
    let library = library();
    let found = |operator: &str| computes(operator, &library).map(|template| template.name.as_str());
    for (operator, template) in [
        ("Relu", "relu"),
        ("Add", "add"),
        ("Conv", "conv2d_resnet"),
        ("BatchNormalization", "batchnorm2d"),
        ("Gemm", "matmul"),
        ("MatMul", "matmul"),
        ("Softmax", "softmax"),
        ("LRN", "lrn"),
        ("MaxPool", "maxpool2d"),
        ("AveragePool", "avgpool2d"),
        ("GlobalAveragePool", "adaptive_avgpool2d"),
    ] {
        assert_eq!(found(operator), Some(template));
    }
    assert_eq!([found("Sigmoid"), found("RELU"), found("Linear")], [None; 3]);
    let copy = read("mine", &files("mine", "Relu", None, &library).unwrap());
    assert_eq!((copy.manifest.implements, copy.manifest.label.as_deref()), (Implements::Map, Some("relu")));
    let refusal = files("mine", "Sigmoid", None, &library).unwrap_err();
    assert!(
        refusal.message.contains("no template computes Sigmoid") && refusal.help.as_ref().unwrap().contains("--implements map")
    );
}

#[test]
fn a_formula_becomes_a_kernel() {
    let files = files("swoosh", "com.example.Swoosh", Some("X * sigmoid(X + B)"), &library()).unwrap();
    let template = read("swoosh", &files);
    assert_eq!(template.manifest.own.as_ref().unwrap().name, "com.example.Swoosh");
    assert_eq!(template.body(DType::F32).unwrap().unwrap().to_string(), "mul(r0, sigmoid(add(r0, r1)))");
    let tile: String = files[0].1.lines().skip(6).take(15).map(|line| format!("{line}\n")).collect();
    expect![[r#"
        @triton.jit
        def swoosh_tile(
            tile, x_ptr, b_ptr, y_ptr, E,
            # fuse: params
            BLOCK: tl.constexpr,
        ):
            e = tile * BLOCK + tl.arange(0, BLOCK)
            # fuse: load X at e=e if e < E
            x = tl.load(x_ptr + e, mask=e < E, other=0)
            # fuse: load B at e=e if e < E
            b = tl.load(b_ptr + e, mask=e < E, other=0)
            y = x * tl.sigmoid(x + b)
            # fuse: value y at e=e if e < E
            # fuse: store Y at e=e if e < E
            tl.store(y_ptr + e, y, mask=e < E)
    "#]]
    .assert_eq(&tile);
    expect![[r#"
        implements: com.example.Swoosh
        reference: "X * sigmoid(X + B)"
        class: [elementwise]
        axes: {e: many}
        access: {X: [e], B: [e], Y: [e]}
        when: "X.dtype == 'f32'"
        launches:
          - {kernel: swoosh_kernel, work: "cdiv(E, BLOCK)"}
        probe:
          - {X: [2, 3, 5, 7], B: [2, 3, 5, 7], Y: [2, 3, 5, 7]}
          - {X: [4, 1, 6], B: [5, 1], Y: [4, 5, 6]}
          - {X: [3, 20, 30], B: [3, 20, 30], Y: [3, 20, 30]}
    "#]]
    .assert_eq(&files[1].1);
}

#[test]
fn an_operand_may_be_called_as_the_output_is() {
    let files = files("difference", "Difference", Some("X - Y"), &library()).unwrap();
    assert_eq!(read("difference", &files).manifest.output().name, "OUT");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let refused = |name: &str, operator: &str, formula: Option<&str>| {
        let error = files(name, operator, formula, &library()).unwrap_err();
        format!("{} {}", error.code.id, error.message)
    };
    assert_eq!(refused("My", "Conv", None), "U001 a template cannot be called `My`");
    assert_eq!(refused("for", "Conv", None), "U001 a template cannot be called `for`");
    assert_eq!(refused("a", "Nothing", None), "U001 no template computes `Nothing`, and there is no formula for it");
    assert!(refused("a", "relu", Some("X")).starts_with("U001 relu has its meaning already"));
    assert_eq!(refused("a", "Gelu", Some("X")), "U001 Gelu is an operator of ONNX, which has its meaning already");
    assert_eq!(refused("a", "own.A", Some("1.0")), "U001 the formula `1.0` reads no operand");
    assert_eq!(refused("a", "own.A", Some("x + 1")), "U001 an operand cannot be called `x`");
    assert_eq!(refused("a", "own.A", Some("E + 1")), "U001 an operand cannot be called `E`");
    assert_eq!(refused("a", "own.A", Some("IF + 1")), "U001 an operand cannot be called `IF`");
    assert!(refused("a", "own.A", Some("softmax(X)")).starts_with("S002 `softmax(X)` is not known here"));
    assert!(refused("a", "own.A", Some("X ** 1.5")).starts_with("M008 `pow` has no form"));
}

/// A manifest of an operator of the user's own: the message of a change.
#[test]
fn manifests_of_own_operators_are_checked() {
    let files = files("swoosh", "com.example.Swoosh", Some("X * 2"), &library()).unwrap();
    let message = |from: &str, to: &str| {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("swoosh");
        std::fs::create_dir(&own).unwrap();
        for (file, text) in &files {
            std::fs::write(own.join(file), if *file == "template.yaml" { text.replace(from, to) } else { text.clone() }).unwrap();
        }
        let error = Library::folder(&own).unwrap_err();
        format!("{} {}", error.code.id, error.message)
    };
    let none = message("reference: \"X * 2\"\n", "");
    assert!(none.starts_with("U007 unknown `com.example.Swoosh`; known: Conv, "), "{none}");
    let known = message("com.example.Swoosh", "MatMul");
    assert_eq!(known, "U007 MatMul has its meaning already; a formula describes an operator of your own");
    assert_eq!(message("X * 2", "Z * 2"), "S002 unknown operand `Z`");
    let label = message("class:", "label: swoosh\nclass:");
    assert_eq!(label, "U007 `label` follows from `implements` and `reference` here; leave it out");
}
