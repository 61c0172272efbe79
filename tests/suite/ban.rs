//! `lint --ban` as programs read it: its JSON and SARIF documents, and the exit status.

use serde_json::Value;

use crate::cli::run;

const CLEAN: &str = "\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(1,)](x, y, x.numel(), BLOCK=64)
        return y
";

/// What the tool prints about two files, one that holds and this one, and its status.
fn banned(broken: &str, arguments: &[&str]) -> (Value, i32) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("clean.py"), CLEAN).unwrap();
    std::fs::write(folder.path().join("broken.py"), broken).unwrap();
    let output = run(folder.path(), &[&["lint", "clean.py", "broken.py"], arguments].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    (document, output.status.code().unwrap())
}

/// [`CLEAN`] with a function that forward goes through.
fn through_a_helper() -> String {
    let helper = "def act(v):\n    return torch.relu(v)\n\n\nclass ModelNew";
    CLEAN.replace("class ModelNew", helper).replace("return y", "return act(y) + 1")
}

#[test]
fn the_ban_as_json() {
    let (document, status) = banned(&through_a_helper(), &["--ban", "strict", "--json"]);
    assert_eq!(status, 1);
    assert_eq!((document["version"].as_u64(), document["ban"].as_str()), (Some(1), Some("strict")));
    assert_eq!(
        (document["errors"].as_u64(), document["warnings"].as_u64(), document["advice"].as_u64()),
        (Some(2), Some(0), Some(0))
    );
    let findings = document["findings"].as_array().unwrap();
    let short = |finding: &Value| {
        let [code, severity] = ["code", "severity"].map(|field| finding[field].as_str().unwrap().to_owned());
        let place = &finding["place"];
        let (line, column) = (place["line"].as_u64().unwrap(), place["column"].as_u64().unwrap());
        format!("{code} {severity} {}:{line}:{column}", place["file"].as_str().unwrap())
    };
    let found: Vec<String> = findings.iter().map(short).collect();
    assert_eq!(found, ["F001 error broken.py:13:12", "F004 error broken.py:20:16"]);
    assert_eq!(findings[0]["notes"][0].as_str(), Some("reached from forward by way of `act`"));
    assert!(findings.iter().all(|finding| finding["help"].is_string() && finding["fixable"] == false));
}

#[test]
fn a_ban_that_holds_as_json() {
    let (document, status) = banned(CLEAN, &["--ban", "strict", "--json"]);
    assert_eq!(status, 0);
    assert_eq!((document["errors"].as_u64(), document["findings"].as_array().map(Vec::len)), (Some(0), Some(0)));
    // What the lenient ban adds is told as advice, and holds.
    let permuted = CLEAN.replace("return y", "return y.permute(1, 0).contiguous()");
    let (document, status) = banned(&permuted, &["--ban", "lenient", "--json"]);
    assert_eq!((status, document["ban"].as_str()), (0, Some("lenient")));
    assert_eq!((document["errors"].as_u64(), document["findings"][0]["code"].as_str()), (Some(0), Some("F013")));
    let (_, status) = banned(&permuted, &["--ban", "strict", "--json"]);
    assert_eq!(status, 1);
}

#[test]
fn the_ban_as_sarif() {
    let (document, status) = banned(&through_a_helper(), &["--ban", "strict", "--sarif"]);
    assert_eq!((status, document["version"].as_str()), (1, Some("2.1.0")));
    let run = &document["runs"][0];
    let rules: Vec<_> =
        run["tool"]["driver"]["rules"].as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(rules, ["F001", "F004"]);
    let results = run["results"].as_array().unwrap();
    for (result, (rule, line, columns)) in results.iter().zip([("F001", 13, (12, 25)), ("F004", 20, (16, 26))]) {
        assert_eq!((result["ruleId"].as_str(), result["level"].as_str()), (Some(rule), Some("error")));
        assert_eq!(rules[result["ruleIndex"].as_u64().unwrap() as usize], rule);
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"].as_str(), Some("broken.py"));
        let region = ["startLine", "endLine", "startColumn", "endColumn"].map(|field| place["region"][field].as_u64().unwrap());
        assert_eq!(region, [line, line, columns.0, columns.1]);
    }
    assert_eq!(results.len(), 2);
    assert!(results[0]["message"]["text"].as_str().unwrap().contains("reached from forward by way of `act`"));
}
