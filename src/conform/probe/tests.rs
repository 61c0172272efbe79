//! The built-in templates keep their contract, and templates that break it are caught at the anchor.

use std::path::Path;

use super::*;
use crate::diag::render::render;

fn faults(template: &Arc<Template>) -> Vec<Diagnostic> {
    super::template(template, &Arc::default()).unwrap().into_iter().filter_map(|result| result.fault).collect()
}

#[test]
fn every_anchor_of_every_built_in_template_holds() {
    let (mut looped, mut faults) = (0, Vec::new());
    for template in Library::embedded().unwrap().templates() {
        let results = super::template(template, &Arc::default()).unwrap();
        faults.extend(results.iter().filter_map(|r| r.fault.as_ref()).map(|fault| render(fault, false)));
        assert!(results.len() >= 8, "{}: {} results", template.name, results.len());
        looped += results.iter().filter(|r| r.entry.ends_with("_loop")).count();
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(looped > 50, "{looped} looped entries");
}

/// A built-in template with one text of `kernel.py` replaced.
fn edited(name: &str, from: &str, to: &str) -> Arc<Template> {
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("operator_templates").join(name);
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join(name);
    std::fs::create_dir(&own).unwrap();
    for file in ["kernel.py", "template.yaml", "schedule.yaml"] {
        let text = std::fs::read_to_string(built_in.join(file)).unwrap();
        let text = if file == "kernel.py" {
            assert_eq!(text.matches(from).count(), 1, "`{from}` in {name}");
            text.replace(from, to)
        } else {
            text
        };
        std::fs::write(own.join(file), text).unwrap();
    }
    Library::default().with_folder(folder.path()).unwrap().find(name).unwrap().clone()
}

/// The first fault of an edited template that is about `anchor`; it must stand at its comment.
fn caught(name: &str, from: &str, to: &str, anchor: &str) -> Diagnostic {
    let faults = faults(&edited(name, from, to));
    assert!(faults.iter().all(|fault| fault.code.id == "T002"), "{faults:?}");
    let about = format!("anchor `{anchor}` of template {name} (");
    let fault = faults.iter().find(|fault| fault.message.starts_with(&about));
    let fault = fault.unwrap_or_else(|| panic!("{name}: `{from}` → `{to}` is not caught there: {faults:?}"));
    let Some(Place::Text { file, span }) = &fault.place else { panic!("{fault:?}") };
    assert!(file.slice(*span).starts_with(&format!("# fuse: {anchor}")), "{}", file.slice(*span));
    fault.clone()
}

#[test]
fn swapped_coordinates_of_a_value_are_caught() {
    let from = "#   p=p[:, None] if gm[:, None] < M, q=q[:, None] if gm[:, None] < M\n    # fuse: store";
    let to = "#   p=q[:, None] if gm[:, None] < M, q=p[:, None] if gm[:, None] < M\n    # fuse: store";
    let fault = caught("conv2d_resnet", from, to, "value");
    assert!(fault.message.contains("2×3×9×8: epilogue, conv2d_resnet_kernel"), "{}", fault.message);
}

#[test]
fn a_mask_that_is_too_strict_is_caught() {
    let text = "# fuse: value acc at b=b, m=m[:, None] if m[:, None] < M, n=n[None, :] if n[None, :] < ";
    let fault = caught("matmul", &format!("{text}N\n"), &format!("{text}N - 1\n"), "value");
    assert!(fault.message.contains("(matmul 5×33: epilogue, matmul_kernel): element [0, 6] of 5×7 is "), "{}", fault.message);
    let text = "# fuse: load MEAN at c=c if n < ";
    caught("batchnorm2d", &format!("{text}N\n"), &format!("{text}N - 1\n"), "load MEAN");
}

#[test]
fn a_mask_that_is_too_loose_is_caught() {
    let text = "# fuse: value y at e=e if e < ";
    caught("relu", &format!("{text}E\n"), &format!("{text}E + 1\n"), "value");
}

#[test]
fn a_wrong_axis_of_a_store_is_caught() {
    let text = "# fuse: store Y at b=b, m=m[:, None] if m[:, None] < M, n=";
    caught("matmul", &format!("{text}n"), &format!("{text}m.reshape(1, BM)"), "store");
}

#[test]
fn a_load_that_is_off_by_one_is_caught() {
    caught("maxpool2d", "n=n, c=c, h=h[:, None] if", "n=n, c=c, h=h[:, None] + 1 if", "load X");
    caught("add", "# fuse: load A at e=e", "# fuse: load A at e=e - 1", "load A");
}

#[test]
fn an_epilogue_that_is_applied_twice_is_caught() {
    let from = "    y = tl.where(x < 0, 0, x)\n";
    caught("relu", from, &format!("    # fuse: value x at e=e if e < E\n{from}"), "value");
}

#[test]
fn a_kernel_that_is_another_operator_is_caught() {
    let faults = faults(&edited("relu", "x < 0, 0, x", "x < 2, 0, x"));
    assert!(faults[0].message.starts_with("the kernel as it stands, which is not the operator of template relu ("));
}

#[test]
fn an_anchor_that_no_problem_reaches_is_named() {
    let template = edited("relu", "\"\"\"max(x, 0)", "\"\"\"max(x, 0)");
    assert!(unreached(&template, &["relu_kernel"]).is_none());
    let fault = unreached(&template, &[]).unwrap().fault.unwrap();
    assert_eq!((fault.code.id, fault.help.is_some()), ("T002", true));
}

/// A template that `template new` writes for an operator of the user's own.
fn written(formula: &str) -> Arc<Template> {
    let library = Library::embedded().unwrap();
    let files = crate::template::new::files("own", "com.example.Own", Some(formula), &library).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    std::fs::create_dir(&own).unwrap();
    files.iter().for_each(|(file, text)| std::fs::write(own.join(file), text).unwrap());
    Library::folder(&own).unwrap()
}

#[test]
fn new_templates_hold_whatever_their_formula() {
    for formula in [
        "X * sigmoid(X)",
        "max(X, 0) * max(X, 0)",
        "where(A < B, A - B, A * 0.25)",
        "tanh(X + B) / (2 + abs(C))",
        "exp(-abs(X)) + log(1 + abs(X)) + sqrt(abs(X)) + erf(X)",
        "min(X, Y) ** 2 - floor(X / 2)",
        "sin(X) + cos(X)",
    ] {
        let faults: Vec<String> = faults(&written(formula)).iter().map(|fault| render(fault, false)).collect();
        assert!(faults.is_empty(), "{formula}:\n{}", faults.join("\n"));
    }
}

/// A written template whose kernel was changed: its first fault.
fn wrong(formula: &str, from: &str, to: &str) -> Diagnostic {
    let template = written(formula);
    let kernel = template.kernel.file.text().replace(from, to);
    assert_ne!(kernel, template.kernel.file.text());
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("kernel.py"), kernel).unwrap();
    std::fs::write(own.join("template.yaml"), template.manifest.file.text()).unwrap();
    std::fs::write(own.join("schedule.yaml"), template.schedule_file.text()).unwrap();
    faults(&Library::folder(&own).unwrap()).swap_remove(0)
}

#[test]
fn a_kernel_that_is_not_its_formula_is_caught_with_its_line() {
    let fault = wrong("X * 2", "x * 2.0", "x * 2.0 + 1");
    let what = "the kernel as it stands, which is not the operator of template own (own 2×3×5×7: alone, own_kernel): element ";
    assert!(fault.message.starts_with(what), "{}", fault.message);
    let Some((Place::Text { file, span }, _)) = fault.related.first() else { panic!("no line: {fault:?}") };
    assert_eq!(file.slice(*span), "y = x * 2.0 + 1");
}

#[test]
fn a_branch_between_two_integers_is_caught_by_real_numbers() {
    let fault = wrong("max(X, 0)", "x < 0,", "x < 0.5,");
    assert!(fault.message.contains("(own 2×3×5×7: alone, real numbers, own_kernel): element "), "{}", fault.message);
}

/// The notes on smaller shapes of an edited template's faults, by what was probed.
fn smallest(name: &str, from: &str, to: &str) -> Vec<(String, String)> {
    let results = super::template(&edited(name, from, to), &Arc::default()).unwrap();
    let notes = results.iter().filter_map(|result| {
        let notes = &result.fault.as_ref()?.notes;
        let note = notes.iter().find_map(|note| note.strip_prefix("smallest shapes that fail alike: "))?;
        Some((result.probed.to_string(), note.to_owned()))
    });
    notes.collect()
}

#[test]
fn a_fault_is_told_at_the_smallest_shapes() {
    // The reduction ends after five terms, whatever stands around it: six terms show it.
    let notes = smallest("matmul", "(m[:, None] < M) & (k[None, :] < K)", "(m[:, None] < M) & (k[None, :] < 5)");
    let shapes: Vec<String> =
        notes.iter().map(|(probed, note)| format!("{probed}: {}", note.split_once("; there").unwrap().0)).collect();
    let expected = [
        "the kernel alone: a 1×6, b 6×1, y 1×1",
        "value: a 1×6, b 6×1, other 1×1, other2 1×1, other3 1×1, y 1×1",
        "load A: a 1×6, b 6×1, other 1×6, y 1×1",
        "load B: a 1×6, b 6×1, other 6×1, y 1×1",
        "store: a 1×6, b 6×1, y 1×1",
    ];
    assert_eq!(shapes, expected);
    let problem = "a problem `A: [1, 6], B: [6, 1], Y: [1, 1]` of `probe:`, attributes as they are, shows it";
    assert!(notes[0].1.ends_with(problem), "{}", notes[0].1);
}

#[test]
fn a_fault_between_two_rows_is_told_at_two() {
    // The value of row 1 gets what belongs to row 0.
    let text = "# fuse: value acc at b=b, m=m[:, None] if m[:, None] < M, n=n[None, :] if n[None, :] < N";
    let notes = smallest("matmul", text, &text.replacen("m=m[:, None]", "m=m[:, None] // 2", 1));
    let [(probed, note)] = &notes[..] else { panic!("{notes:?}") };
    assert!(probed == "value" && note.starts_with("a 2×1, b 1×1, other 2×1, other2 2×1, other3 1×1, y 2×1; "), "{note}");
    assert!(note.contains("there: element [1, 0] of 2×1 is "), "{note}");
}
