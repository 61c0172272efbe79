//! Lint over what we emit and over what others edit: every template passes on every target, `verify` tells the coding
//! rules for NPUs, and the pages show what the tool says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use decompose::diag::Severity;
use decompose::fuse::Level;
use decompose::lint::{self, Request};
use decompose::pipeline::{Options, VerifyScope};
use decompose::source::SourceFile;
use decompose::syntax::parse_module;
use decompose::target::{Target, Vendor};
use decompose::template::Library;

use crate::pages::{Page, onnx_text};
use crate::support::{decompose, edit, kernel_file, verified};

/// One layer for each template of a network for images.
const ALL: &str = r#"
<ir_version: 8, opset_import: ["" : 17]>
all (float[1,3,32,32] x, float[8,3,3,3] w, float[8] s, float[8] b, float[8] m, float[8] v, float[8,10] f, float[10] g) => (float[1,10] y) {
  c = Conv <pads = [1, 1, 1, 1]> (x, w)
  n = BatchNormalization (c, s, b, m, v)
  r = Relu (n)
  l = LRN <size = 5> (r)
  p = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (l)
  a = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (p)
  e = Add (a, a)
  t = Sigmoid (e)
  q = GlobalAveragePool (t)
  d = Flatten <axis = 1> (q)
  h = Gemm (d, f, g)
  y = Softmax <axis = 1> (h)
}
"#;

/// The others: operators over whole lines, and windows in one and three dimensions.
const MORE: &str = r#"
<ir_version: 12, opset_import: ["" : 26]>
more (float[2,4,6,20] x, float[2,4,20] z, float[2,4,5,6,7] u, float[20] g, float[6,4,3] w1, float[6,4,3] t1, float[4,4,3,3] t2, float[4,4,2,2,2] w3, float[4,4,2,2,2] t3) => (float[2,4,6,1] a, float[2,4,6,1] b, float[2,4,6,1] c, float[2,4,6,1] d, float[2,4,6,1] e, float[2,4,6,1] f, int64[2,4,6,1] i, float[2,4,8,22] y, float[2,4,1] y1, float[2,4,1,1,1] y3)
<int64[1] last = {-1}, int64 axis = {1}>
{
  a = ReduceSum (x, last)
  b = ReduceMean (x, last)
  c = ReduceMax (x, last)
  d = ReduceMin (x, last)
  e = ReduceProd (x, last)
  f = ReduceLogSumExp (x, last)
  i = ArgMax <axis = 3> (x)
  l = LayerNormalization (x, g)
  m = RMSNormalization (l, g)
  s = CumSum (m, axis)
  p = CumProd (s, axis)
  o = LogSoftmax <axis = 3> (p)
  y = ConvTranspose (o, t2)
  c1 = Conv (z, w1)
  m1 = MaxPool <kernel_shape = [3]> (c1)
  a1 = AveragePool <kernel_shape = [2]> (m1)
  d1 = ConvTranspose (a1, t1)
  y1 = GlobalAveragePool (d1)
  c3 = Conv (u, w3)
  m3 = MaxPool <kernel_shape = [2, 2, 2]> (c3)
  a3 = AveragePool <kernel_shape = [2, 2, 2]> (m3)
  d3 = ConvTranspose (a3, t3)
  y3 = GlobalAveragePool (d3)
}
"#;

const SOFTMAX: &str = r#"
<ir_version: 8, opset_import: ["" : 17]>
softmax (float[4,100] x) => (float[4,100] y) { y = Softmax <axis = 1> (x) }
"#;

fn suite(folder: &Path, text: &str, target: &str, verify: VerifyScope) -> (PathBuf, decompose::pipeline::Report) {
    let (model, suite) = (folder.join("model.onnx"), folder.join(target));
    std::fs::write(&model, onnx_text::bytes(text)).unwrap();
    let options = Options {
        model,
        output: Some(suite.clone()),
        fuse: Level::None,
        target: target.to_owned(),
        verify,
        jobs: 2,
        ..Options::default()
    };
    let report = decompose(&options);
    (suite, report)
}

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name)
}

/// A table of a page, between its marks; `UPDATE_EXPECT=1` writes it.
fn table(mark: &str, table: &str) {
    let path = docs("lint.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->\n"));
    let start = text.find(&begin).unwrap() + begin.len();
    let stop = text.find(&end).unwrap();
    expect_test::expect_file![path].assert_eq(&format!("{}{table}{}", &text[..start], &text[stop..]));
}

#[test]
fn every_template_passes_on_every_target() {
    let folder = tempfile::tempdir().unwrap();
    // Codes of advice, by template and kind of device.
    let mut advice: BTreeMap<String, [BTreeSet<&str>; 3]> = BTreeMap::new();
    for target in Target::all() {
        let made = [("all", ALL), ("more", MORE)].map(|(name, text)| {
            let own = folder.path().join(name);
            std::fs::create_dir_all(&own).unwrap();
            suite(&own, text, target.name, VerifyScope::None)
        });
        for (suite, layer) in made.iter().flat_map(|(suite, report)| report.layers.iter().map(move |layer| (suite, layer))) {
            let text = std::fs::read_to_string(suite.join(&layer.kernel)).unwrap();
            let module = parse_module(&SourceFile::new(&layer.kernel, text)).unwrap();
            let column = match target.vendor {
                Vendor::Nvidia => 0,
                Vendor::Amd => 1,
                Vendor::Ascend => 2,
            };
            let cells = advice.entry(layer.template.clone()).or_default();
            for finding in lint::lint(&module, &Request { target: Some(target), ..Request::default() }) {
                let found = &finding.diagnostic;
                assert_eq!(found.severity, Severity::Advice, "{} on {}: {found}", layer.template, target.name);
                assert_ne!(found.code.id, "K007", "{} on {}: {found}", layer.template, target.name);
                cells[column].insert(found.code.id);
            }
        }
    }
    let templates: BTreeSet<String> = Library::embedded().unwrap().templates().iter().map(|t| t.name.clone()).collect();
    assert_eq!(advice.keys().cloned().collect::<BTreeSet<_>>(), templates);
    let cell = |codes: &BTreeSet<&str>| match codes.is_empty() {
        true => "clean".to_owned(),
        false => format!("advice: {}", codes.iter().copied().collect::<Vec<_>>().join(", ")),
    };
    let mut text = "| template | sm_90, sm_80 | gfx942 | the eleven Ascend archs |\n| --- | --- | --- | --- |\n".to_owned();
    for (template, [nvidia, amd, ascend]) in &advice {
        text.push_str(&format!("| {template} | {} | {} | {} |\n", cell(nvidia), cell(amd), cell(ascend)));
    }
    table("templates", &text);
}

#[test]
fn the_page_lists_every_rule() {
    let mut text = "| code | what | says | needs |\n| --- | --- | --- | --- |\n".to_owned();
    for rule in lint::all() {
        text.push_str(&format!(
            "| {} | {} | {} | {} |\n",
            rule.code.id,
            rule.code.title,
            rule.applies.describe(),
            rule.check.needs()
        ));
    }
    table("rules", &text);
}

#[test]
fn verify_tells_the_coding_rules() {
    for (target, severity) in [("sm_90", Severity::Warning), ("ascend910b4", Severity::Error)] {
        let folder = tempfile::tempdir().unwrap();
        let (suite, report) = suite(folder.path(), SOFTMAX, target, VerifyScope::Unique);
        assert_eq!(report.diagnostics().count(), 0, "{target}");
        edit(&kernel_file(&suite, "softmax"), "tl.sum(power)", "tl.sum(power, axis=0)");
        let report = verified(&suite, &decompose::pipeline::Verification { jobs: 2, ..Default::default() });
        let found: Vec<_> = report.diagnostics().map(|d| (d.code.id, d.severity)).collect();
        assert_eq!(found, [("N003", severity)], "{target}");
        // The numbers are right; what a warning names does not count.
        assert_eq!(report.fully_verified(), severity == Severity::Warning, "{target}");
    }
}

#[test]
fn the_page_of_lint_shows_what_it_says() {
    let said = Page::read(&docs("lint.md")).check();
    for part in ["warning[N002]", "error[N002]", "3 mended", "nothing found", "\"version\": \"2.1.0\"", "[G001]", "[N006]"] {
        assert!(said.contains(part), "{part} is not said");
    }
}

#[test]
fn the_page_of_convert_shows_what_it_says() {
    let said = Page::read(&docs("convert.md")).check();
    for part in ["@triton.jit", "from common import tl", "[V001]"] {
        assert!(said.contains(part), "{part} is not said");
    }
}
