//! The head of a sketch: what a plan may be told to be.

use super::Sketched;
use crate::graph::{Graph, NodeId};
use crate::select::sketch::{FORMAT, VERSION, listed, node_name, work};

/// YAML without the lines around it.
pub fn text(sketched: &Sketched) -> String {
    let (planned, basis) = (sketched.planned, sketched.basis);
    let mut text = format!("format: {FORMAT}\nversion: {VERSION}\n");
    let words = [
        ("model", &basis.model),
        ("target", &basis.target),
        ("precision", &basis.precision),
        ("dtype", &basis.dtype),
        ("fuse", &basis.fuse),
    ];
    for (key, word) in words {
        text += &format!("{key}: {}\n", scalar(word));
    }
    let plan = &planned.plan;
    text += if plan.launches.is_empty() { "kernels: []\n" } else { "kernels:\n" };
    for (launch, blocks) in plan.launches.iter().zip(&planned.blocks) {
        let kernel = &plan.kernels[launch.kernel];
        text += &format!("  - name: {}\n    template: {}\n    nodes:\n", scalar(&launch.layer), scalar(&kernel.template));
        for node in listed(&plan.imported, &launch.covers) {
            text += &format!("      - {}{}\n", scalar(node_name(&plan.imported, node)), source(&plan.imported, node));
        }
        let blocks: Vec<String> = blocks.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        text += &format!("    blocks: {{{}}}\n", blocks.join(", "));
        if let Some(last) = kernel.launches.last() {
            let grid: Vec<String> = last.grid.iter().map(|size| size.value.to_string()).collect();
            text += &format!("    grid: [{}]\n    work: {}\n", grid.join(", "), work(kernel));
        }
    }
    text
}

/// A comment with the operator of the model's file.
fn source(graph: &Graph, node: NodeId) -> String {
    let Some(source) = graph.node(node).sources.first() else { return String::new() };
    let text: String = source.operator.chars().filter(|c| !c.is_control()).collect();
    format!("  # {text}")
}

/// A string as YAML; what other readers of YAML may take for something else is quoted.
fn scalar(text: &str) -> String {
    const WORDS: [&str; 8] = ["true", "false", "null", "yes", "no", "on", "off", "y"];
    let lower = text.to_ascii_lowercase();
    let word = WORDS.contains(&lower.as_str()) || lower == "n";
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '/');
    let plain = starts && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.' | '-'));
    if plain && !word {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                quoted += &format!("\\u{:04X}", u32::from(c))
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::scalar;
    use crate::source::SourceFile;
    use crate::syntax::yaml::parse;

    #[test]
    fn names_are_read_back() {
        let names = [
            "conv1",
            "/layer1/Conv_output_0",
            "a: b",
            "y",
            "No",
            "12",
            "1e3",
            "-",
            "#x",
            "a\nb",
            "\"",
            "\\",
            "é",
            "",
            "a\u{85}b",
            "~",
        ];
        for name in names {
            let file = SourceFile::new("s", format!("k: {}  # Conv\nl: 1\n", scalar(name)));
            let read = parse(&file).unwrap_or_else(|error| panic!("{name:?}: {error}"));
            assert_eq!(read.get("k").unwrap().unwrap().as_str().unwrap(), name);
            assert_eq!(read.get("l").unwrap().unwrap().as_int().unwrap(), 1, "{name:?}");
        }
        assert_eq!(scalar("layer1.0.conv1"), "layer1.0.conv1");
    }
}
