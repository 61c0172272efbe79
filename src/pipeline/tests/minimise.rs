//! Failing kernels are told with the smallest shapes at which they fail: mistakes whose smallest shapes are known
//! by argument.

use super::honest::suite;
use crate::conform::verdict::Word;
use crate::emit::Files;
use crate::fuse::Level;
use crate::pipeline::verdicts::Known;
use crate::pipeline::verify::all_of;
use crate::pipeline::{Cancel, Silent, Verification};

const MATMUL: &str = "graph \"model\"
input x: f32[70,40]
weight w: f32[40,50] weight(40) = missing
y: f32[70,50] = matmul(x, w)
  from MatMul \"matmul\"
output y
";

const CONV: &str = "graph \"model\"
input x: f32[2,9,14,12]
weight w: f32[20,9,3,3] weight(81) = missing
weight b: f32[20] bias = missing
input z: f32[2,20,7,6]
c: f32[2,20,7,6] = conv(x, w, b) strides=[2,2] dilations=[1,1] pads_begin=[1,1] pads_end=[1,1] groups=1
  from Conv \"conv\"
s: f32[2,20,7,6] = map add(c, z)
  read 0[d0,d1,d2,d3]
  read 1[d0,d1,d2,d3]
  body add(r0, r1)
  from Add \"add\"
output s
";

/// The first finding's code, and what is said of smaller shapes.
fn note(graph: &str, template: &str, from: &str, to: &str) -> (&'static str, Option<String>) {
    let mut files: Files = suite(graph, Level::Basic, "ieee");
    let path = files.keys().find(|path| path.starts_with(&format!("kernels/{template}__"))).unwrap().clone();
    let text = String::from_utf8(files[&path].clone()).unwrap();
    assert!(text.contains(from), "`{from}` in\n{text}");
    files.insert(path, text.replacen(from, to, 1).into_bytes());
    let report = all_of("s", &files, &Verification::default(), &Known::default(), &Silent, &Cancel::default()).unwrap();
    let failed: Vec<_> = report.verdicts.iter().filter(|v| v.word == Word::Failed).collect();
    let found = &failed[0].diagnostics[0];
    let note = found.notes.iter().find_map(|note| note.strip_prefix("smallest shapes that fail alike: "));
    (found.code.id, note.map(str::to_owned))
}

/// The shapes, without what is found there.
fn shapes(graph: &str, template: &str, from: &str, to: &str) -> (&'static str, String) {
    let (code, note) = note(graph, template, from, to);
    (code, note.expect("a note").split_once("; there: ").unwrap().0.to_owned())
}

#[test]
fn a_reduction_that_ends_after_five_terms_needs_six() {
    let (code, said) = note(MATMUL, "matmul", "(m[:, None] < M) & (k[None, :] < K)", "(m[:, None] < M) & (k[None, :] < 5)");
    let said = said.unwrap();
    assert_eq!(code, "C003");
    assert!(said.starts_with("a 1×6, b 6×1, y 1×1; there: worst at [0, 0]: got "), "{said}");
}

#[test]
fn rows_that_nothing_masks_fail_at_one_row() {
    let unmasked = shapes(MATMUL, "matmul", "mask=(m[:, None] < M) & (n[None, :] < N),", "mask=(n[None, :] < N),");
    assert_eq!(unmasked, ("A002", "a 1×1, b 1×1, y 1×1".to_owned()));
}

/// The channels end after three of nine; the residual is as large as the convolution's output. Below one row a
/// window of one has nothing but padding, so the smallest has a window of two.
#[test]
fn channels_of_a_convolution_shrink_with_its_weights() {
    let few = shapes(CONV, "conv2d_resnet", "(c[None, :] < C)", "(c[None, :] < 3)");
    assert_eq!(few, ("C003", "x 1×4×1×1, w 1×4×2×2, bias 1, residual 1×1×1×1, y 1×1×1×1".to_owned()));
}

/// Rows above the first are read from the first window on, where the columns are not masked: that takes a window
/// of two in the other direction.
#[test]
fn a_missing_mask_of_the_padding_is_seen_in_one_row() {
    let above = shapes(CONV, "conv2d_resnet", "(h >= 0) & ", "");
    assert_eq!(above, ("A001", "x 1×1×1×1, w 1×1×1×2, bias 1, residual 1×1×2×1, y 1×1×2×1".to_owned()));
}

#[test]
fn a_bound_that_only_large_shapes_reach_is_bisected() {
    let (code, said) = shapes(MATMUL, "matmul", "(m[:, None] < M) & (k[None, :] < K)", "(m[:, None] < M) & (k[None, :] < 37)");
    assert_eq!((code, said.as_str()), ("C003", "a 1×38, b 38×1, y 1×1"));
}

#[test]
fn nothing_is_said_of_what_fails_at_its_own_shape_alone() {
    let last = note(
        MATMUL,
        "matmul",
        "mask=(m[:, None] < M) & (n[None, :] < N),",
        "mask=(m[:, None] + M // 70 < M) & (n[None, :] < N),",
    );
    assert_eq!(last, ("A006", None));
}

/// A wrapper that demands no shapes cannot be asked for others.
#[test]
fn nothing_is_said_where_the_wrapper_demands_no_shape() {
    let mut files = suite(MATMUL, Level::Basic, "ieee");
    let path = files.keys().find(|path| path.starts_with("kernels/")).unwrap().clone();
    let text = String::from_utf8(files[&path].clone()).unwrap();
    let edited = text.replacen("(k[None, :] < K)", "(k[None, :] < 5)", 1);
    let edited = edited.replacen("    check(\"b\", b, (40, 50), torch.float32, a.device)\n", "", 1);
    files.insert(path, edited.into_bytes());
    let report = all_of("s", &files, &Verification::default(), &Known::default(), &Silent, &Cancel::default()).unwrap();
    let found = report.diagnostics().next().unwrap();
    assert_eq!(found.code.id, "C003");
    assert!(!found.notes.iter().any(|note| note.starts_with("smallest")), "{:?}", found.notes);
}
