//! Templates that are wrong: each message names file, line and column.

use std::path::Path;

use super::*;
use crate::diag::render::render;

const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.jit
def twice_kernel(
    x_ptr, y_ptr, E,
    # fuse: params
    BLOCK: tl.constexpr,
):
    e = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # fuse: load X at e=e if e < E
    x = tl.load(x_ptr + e, mask=e < E, other=0.0)
    y = x + x
    # fuse: value y at e=e if e < E
    # fuse: store Y at e=e if e < E
    tl.store(y_ptr + e, y, mask=e < E)


@triton.jit
def twice_kernel_loop(
    x_ptr, y_ptr, E, WORK,
    # fuse: params
    BLOCK: tl.constexpr,
):
    for tile in range(tl.program_id(0), WORK, tl.num_programs(0)):
        e = tile * BLOCK + tl.arange(0, BLOCK)
        # fuse: load X at e=e if e < E
        x = tl.load(x_ptr + e, mask=e < E, other=0.0)
        y = x + x
        # fuse: value y at e=e if e < E
        # fuse: store Y at e=e if e < E
        tl.store(y_ptr + e, y, mask=e < E)
";

const MANIFEST: &str = "\
implements: Map
label: twice
class: [elementwise]
axes: {e: many}
access: {X: [e], Y: [e]}
launches:
  - {kernel: twice_kernel, work: \"cdiv(E, BLOCK)\"}
";

const SCHEDULE: &str = "\
- set: {BLOCK: 256}
  num_warps: 4
  num_stages: 1
  source: a test
";

/// The library with a folder that holds one template, as its author's change leaves it.
fn folder(change: (&str, &str, &str)) -> crate::diag::Result<Library> {
    let dir = tempfile::tempdir().unwrap();
    let twice = dir.path().join("twice");
    std::fs::create_dir(&twice).unwrap();
    for (name, text) in [("kernel.py", KERNEL), ("template.yaml", MANIFEST), ("schedule.yaml", SCHEDULE)] {
        let text = if change.0 == name { text.replace(change.1, change.2) } else { text.to_owned() };
        std::fs::write(twice.join(name), text).unwrap();
    }
    Library::embedded().unwrap().with_folder(dir.path())
}

fn twice(library: &Library) -> crate::diag::Result<Bound> {
    let mut b = Builder::new();
    let x = b.input("x", &[300]);
    let (node, _) = b.map("twice", "add(r0, r0)", &[x]);
    let layout = |v: ValueId| Layout::contiguous(b.graph.shape(v));
    bind(&b.graph, &Cluster::of(node), &layout, library, Target::find("sm_90").unwrap(), BindOptions::default())
}

#[test]
fn a_users_template_serves_its_label() {
    let bound = twice(&folder(("", "", "")).unwrap()).unwrap();
    assert_eq!(bound.kernel.template, "twice");
    assert_eq!(bound.kernel.launches[0].grid[0].value, 2);
}

/// The message of a change, loaded and bound; the folder's own path is left out.
fn message(change: (&str, &str, &str)) -> String {
    let error = folder(change).and_then(|library| twice(&library)).unwrap_err();
    let text = render(&error, false);
    let file = |line: &str| match line.find("--> ") {
        Some(at) => {
            let path = &line[at + 4..];
            format!("{}--> {}", &line[..at], Path::new(path).file_name().unwrap().to_string_lossy())
        }
        None => line.to_owned(),
    };
    text.lines().map(file).collect::<Vec<_>>().join("\n")
}

#[test]
fn wrong_keys_types_and_expressions_have_a_place() {
    expect![[r#"
        error[U007]: unknown key `clas`; known: implements, label, body, class, axes, access, optional, when, args, launches, precision, aliases, probe, reference
         --> template.yaml:3:1
          |
        3 | clas: [elementwise]
          | ^^^^ invalid YAML"#]].assert_eq(&message(("template.yaml", "class:", "clas:")));
    expect![[r#"
        error[U007]: unknown `elementary`; known: elementwise, matmul, reduce, attention, movement
         --> template.yaml:3:9
          |
        3 | class: [elementary]
          |         ^^^^^^^^^^ invalid YAML"#]]
    .assert_eq(&message(("template.yaml", "elementwise", "elementary")));
    expect![[r#"
        error[U007]: `f` is no axis of this template
         --> template.yaml:5:14
          |
        5 | access: {X: [f], Y: [e]}
          |              ^ invalid YAML"#]]
    .assert_eq(&message(("template.yaml", "X: [e]", "X: [f]")));
    expect![[r#"
        error[S002]: unknown name `BLOK`
         --> template.yaml:7:43
          |
        7 |   - {kernel: twice_kernel, work: "cdiv(E, BLOK)"}
          |                                           ^^^^ invalid expression
          |
          = note: known: BLOCK, E, X.dtype, X.rank, X.shape, Y.dtype, Y.rank, Y.shape, target.name"#]]
    .assert_eq(&message(("template.yaml", "cdiv(E, BLOCK)", "cdiv(E, BLOK)")));
    expect![[r#"
        error[S002]: unexpected EOF while parsing
         --> template.yaml:7:42
          |
        7 |   - {kernel: twice_kernel, work: "cdiv(E,"}
          |                                          ^ invalid expression"#]]
    .assert_eq(&message(("template.yaml", "cdiv(E, BLOCK)", "cdiv(E,")));
    expect![[r#"
        error[S002]: unknown name `none`
         --> schedule.yaml:2:14
          |
        2 |   num_warps: none
          |              ^^^^ invalid expression
          |
          = note: known: BLOCK, E, X.dtype, X.rank, X.shape, Y.dtype, Y.rank, Y.shape, target.name"#]]
    .assert_eq(&message(("schedule.yaml", "num_warps: 4", "num_warps: none")));
}

#[test]
fn a_kernel_that_breaks_the_contract_is_refused() {
    expect![[r#"
        error[T001]: `Z` is no input in template.yaml's access
          --> kernel.py:12:1
           |
        12 | /     # fuse: load Z at e=e if e < E
        13 | |     x = tl.load(x_ptr + e, mask=e < E, other=0.0)
           | |_^ invalid operator template"#]]
    .assert_eq(&message(("kernel.py", "load X at e=e", "load Z at e=e")));
    expect![[r#"
        error[T001]: coordinates i where X has e
          --> kernel.py:12:1
           |
        12 | /     # fuse: load X at i=e if e < E
        13 | |     x = tl.load(x_ptr + e, mask=e < E, other=0.0)
           | |_^ invalid operator template"#]]
    .assert_eq(&message(("kernel.py", "load X at e=e", "load X at i=e")));
    expect![[r#"
        error[T001]: the statement below `# fuse: load X` must be `x = tl.load(pointer, mask=…, other=…)`
          --> kernel.py:13:5
           |
        13 |     x = tl.load(x_ptr + e, mask=e < E)
           |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ invalid operator template"#]]
    .assert_eq(&message(("kernel.py", ", other=0.0", "")));
    expect![[r#"
        error[T001]: kernel.py has no function `twice_kernel_loop`
         --> template.yaml:7:14
          |
        7 |   - {kernel: twice_kernel, work: "cdiv(E, BLOCK)"}
          |              ^^^^^^^^^^^^ invalid operator template
          |
          = help: a launch needs an entry and its looped form, `<kernel>_loop`"#]]
    .assert_eq(&message(("kernel.py", "twice_kernel_loop", "twice_loop")));
    expect![[r#"
        error[T001]: nothing gives the kernel's parameter `COUNT` a value
         --> kernel.py:7:22
          |
        7 |     x_ptr, y_ptr, E, COUNT,
          |                      ^^^^^ invalid operator template
          |
          = help: name it after an operand, axis, attribute or schedule key, or give it under `args:`"#]]
    .assert_eq(&message(("kernel.py", "x_ptr, y_ptr, E,", "x_ptr, y_ptr, E, COUNT,")));
}

#[test]
fn a_folder_without_templates_is_refused() {
    let refused = |dir: &Path| Library::embedded().unwrap().with_folder(dir).unwrap_err();
    let dir = tempfile::tempdir().unwrap();
    let error = refused(dir.path());
    assert_eq!((error.code.id, error.message), ("T001", format!("no template in {}", dir.path().display())));
    // A template's own folder, where there are folders beside its files.
    std::fs::create_dir(dir.path().join("notes")).unwrap();
    std::fs::write(dir.path().join("kernel.py"), KERNEL).unwrap();
    assert_eq!(refused(dir.path()).message, format!("no template in {}", dir.path().display()));
}

#[test]
fn a_syntax_error_of_a_template_is_its_authors() {
    let error = folder(("kernel.py", "y = x + x", "y = x +")).unwrap_err();
    assert_eq!((error.code.id, error.class()), ("T001", crate::diag::Class::Usage));
}

/// A template without the anchor that a cluster needs is refused by name; nothing is left out.
#[test]
fn what_has_no_anchor_is_refused() {
    let mut b = Builder::new();
    let (x, bias) = (b.input("x", &[2, 8]), b.weight("bias", &[8], Role::Bias));
    let (tanh, t) = b.map("tanh", "tanh(r0)", &[x]);
    let (add, y) = b.map("add", "add(r0, r1)", &[t, bias]);
    let (relu, _) = b.map("relu", "max_nan(r0, 0.0)", &[y]);
    let library = Library::embedded().unwrap();
    let layout = |v: ValueId| Layout::contiguous(b.graph.shape(v));
    let target = Target::find("sm_90").unwrap();
    let refused = |cluster: &Cluster| bind(&b.graph, cluster, &layout, &library, target, BindOptions::default()).unwrap_err();
    let mut text = String::new();
    for cluster in [
        Cluster { anchor: tanh, prologues: vec![], epilogues: vec![add, relu] },
        Cluster { anchor: add, prologues: vec![(0, tanh)], epilogues: vec![relu] },
    ] {
        let error = refused(&cluster);
        text += &format!("[{}] {}\n", error.code.id, error.message);
    }
    expect![[r#"
        [T003] template map cannot take `add`: kernel.py has no `# fuse: value` anchor in map_kernel
        [T003] template add cannot take `tanh`: operand 0 has no place for a prologue
    "#]]
    .assert_eq(&text);
}
