//! The head of a sketch: YAML between two lines `---`, at the beginning of the file. What follows is for people.

use super::{At, Entry, FORMAT, Sketch, VERSION};
use crate::diag::{Diagnostic, Result, codes};
use crate::source::SourceFile;
use crate::syntax::yaml::{self, Yaml};

/// Keys that say what a sketch is of, in the order of [`super::Basis`].
const BASIS: [&str; 5] = ["model", "target", "precision", "dtype", "fuse"];

/// Reads the head of a file.
///
/// Errors: U011 where there is none or it is of another format, U007 for a key that is unknown, missing or of another type.
pub fn parse(name: &str, text: &str) -> Result<Sketch> {
    let head = head(text).ok_or_else(|| {
        let help = "`decompose MODEL --emit sketch` writes one; its YAML stands between the first two lines `---`";
        Box::new(
            Diagnostic::new(&codes::SKETCH_OTHER, "no head: the file does not begin with a line `---`").in_file(name).help(help),
        )
    })?;
    // As a prefix of the file, the head has the file's own lines and columns.
    let file = SourceFile::new(name, head);
    let yaml = yaml::parse(&file)?;
    let wrong = |yaml: &Yaml, what: String| Box::new(Diagnostic::new(&codes::SKETCH_OTHER, what).at(&file, yaml.span));
    let format = yaml.require("format")?;
    if format.as_str()? != FORMAT {
        let error = wrong(format, format!("the format is {}, not {FORMAT}", format.as_str()?));
        return Err(Box::new(error.help("`decompose MODEL --emit sketch` writes one")));
    }
    let version = yaml.require("version")?;
    if version.as_int()? != VERSION {
        let error = wrong(version, format!("version {} of the format, not {VERSION}", version.as_int()?));
        return Err(Box::new(error.help("write the sketch again with this version of the tool")));
    }
    let known: Vec<&str> = ["format", "version", "kernels"].into_iter().chain(BASIS).collect();
    yaml.only_keys(&known)?;
    let mut basis = Vec::new();
    for key in BASIS {
        basis.push((key, word(yaml.require(key)?)?));
    }
    let list = yaml.require("kernels")?;
    let kernels = list.as_list()?.iter().map(entry).collect::<Result<Vec<_>>>()?;
    let span = yaml.as_map()?.iter().find(|entry| entry.key == "kernels").map_or(list.span, |entry| entry.key_span);
    Ok(Sketch { file, basis, kernels, span })
}

/// The text up to the line that ends the head.
fn head(text: &str) -> Option<&str> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let mut length = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Some(&text[..length]);
        }
        length += line.len();
    }
    None
}

fn word(yaml: &Yaml) -> Result<At<String>> {
    Ok(At { value: yaml.as_str()?.to_owned(), span: yaml.span })
}

fn entry(yaml: &Yaml) -> Result<Entry> {
    yaml.only_keys(&["name", "template", "nodes", "blocks", "grid", "work"])?;
    let nodes = yaml.require("nodes")?;
    let names = nodes.as_list()?.iter().map(word).collect::<Result<Vec<_>>>()?;
    if names.is_empty() {
        return Err(nodes.error("a kernel computes at least one node"));
    }
    let mut blocks = Vec::new();
    for block in yaml.get("blocks")?.map(Yaml::as_map).transpose()?.unwrap_or_default() {
        let name = At { value: block.key.clone(), span: block.key_span };
        blocks.push((name, At { value: block.value.as_int()?, span: block.value.span }));
    }
    let grid = yaml.get("grid")?.map(|grid| grid.as_int_list().map(|value| At { value, span: grid.span })).transpose()?;
    let work = yaml.get("work")?.map(|work| work.as_int().map(|value| At { value, span: work.span })).transpose()?;
    let name = yaml.get("name")?.map(|name| name.as_str().map(str::to_owned)).transpose()?;
    let template = yaml.get("template")?.map(word).transpose()?;
    let span = yaml.as_map()?.first().map_or(yaml.span, |entry| entry.key_span.to(entry.value.span));
    Ok(Entry { span, name, template, nodes: names, blocks, grid, work })
}
