//! Pages of documentation that show what the tool says: their files and commands are taken out of the
//! text, run, and compared with the output that the page shows. `UPDATE_EXPECT=1` writes what was said
//! into the page.
//!
//! A fenced block is one of
//!
//! * ` ```LANG NAME `: a file. `onnx` is ONNX's textual form (see [`onnx_text`]); the rest is written as
//!   it stands.
//! * ` ```console `: lines `$ command`, each followed by its output (both streams). All commands of a page
//!   run in one folder, by `sh`, with the tool first in the path.
//! * ` ```text `: what the library says about the last file: a kernel is launched as its header lines
//!   say (see [`kernel`]), a `mlir` file is read as TTIR.
//!
//! Times, hashes, and floats in scientific form are masked before the comparison, and so is the width of
//! columns: they differ between machines.

pub mod kernel;
pub mod mask;
pub mod onnx_text;

use std::path::{Path, PathBuf};
use std::process::Command;

use decompose::diag::render::render;
use decompose::source::SourceFile;

/// One fenced block.
struct Block {
    /// What follows the backticks: a language and, for a file, its name.
    language: String,
    name: Option<String>,
    /// The lines between the fences, by number.
    lines: std::ops::Range<usize>,
}

/// A page and the folder in which its commands run.
pub struct Page {
    path: PathBuf,
    lines: Vec<String>,
    folder: tempfile::TempDir,
}

impl Page {
    pub fn read(path: &Path) -> Page {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let lines = text.lines().map(str::to_owned).collect();
        Page { path: path.to_owned(), lines, folder: tempfile::tempdir().unwrap() }
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut open: Option<(usize, &str)> = None;
        for (i, line) in self.lines.iter().enumerate() {
            let Some(info) = line.strip_prefix("```") else { continue };
            match open.take() {
                None => open = Some((i + 1, info)),
                Some((start, info)) => {
                    let (language, name) = info.split_once(' ').map_or((info, None), |(l, n)| (l, Some(n.to_owned())));
                    blocks.push(Block { language: language.to_owned(), name, lines: start..i });
                }
            }
        }
        assert!(open.is_none(), "{}: a block is not closed", self.path.display());
        blocks
    }

    /// Runs everything; all that was said, in order. Panics where the page shows something else.
    pub fn check(&self) -> String {
        let mut said = String::new();
        let mut shown = self.lines.clone();
        let mut last: Option<(String, String, String)> = None;
        // From the end, later edits leave earlier line numbers alone; but commands run in order.
        let mut edits: Vec<(std::ops::Range<usize>, Vec<String>)> = Vec::new();
        for block in self.blocks() {
            let body = self.lines[block.lines.clone()].iter().map(|line| format!("{line}\n")).collect::<String>();
            match (block.language.as_str(), block.name) {
                (language, Some(name)) => {
                    let path = self.folder.path().join(&name);
                    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                    match language {
                        "onnx" => std::fs::write(path, onnx_text::bytes(&body)).unwrap(),
                        _ => std::fs::write(path, &body).unwrap(),
                    }
                    last = Some((language.to_owned(), name, body));
                }
                ("console", None) => {
                    let output = self.console(&body);
                    said.push_str(&output);
                    edits.push((block.lines, output.lines().map(str::to_owned).collect()));
                }
                ("text", None) => {
                    let (language, name, text) = last.as_ref().expect("a text block follows a file");
                    let output = library(language, name, text);
                    said.push_str(&output);
                    edits.push((block.lines, output.lines().map(str::to_owned).collect()));
                }
                (_, None) => {}
            }
        }
        for (range, lines) in edits.into_iter().rev() {
            let (old, new) = (shown[range.clone()].join("\n"), lines.join("\n"));
            if mask::mask(&old) != mask::mask(&new) {
                shown.splice(range, lines);
            }
        }
        let text = shown.iter().map(|line| format!("{line}\n")).collect::<String>();
        expect_test::expect_file![&self.path].assert_eq(&text);
        said
    }

    /// The commands of a block, each with what it says.
    fn console(&self, body: &str) -> String {
        let mut text = String::new();
        for line in body.lines().filter(|line| line.starts_with("$ ")) {
            let tool = Path::new(env!("CARGO_BIN_EXE_decompose")).parent().unwrap();
            let path = format!("{}:{}", tool.display(), std::env::var("PATH").unwrap());
            let output = Command::new("sh")
                .args(["-c", &format!("exec 2>&1\n{}", &line[2..])])
                .env("PATH", path)
                .current_dir(self.folder.path())
                .output()
                .unwrap();
            text.push_str(&format!("{line}\n{}", String::from_utf8_lossy(&output.stdout)));
        }
        text
    }
}

/// What the library says about a file.
fn library(language: &str, name: &str, text: &str) -> String {
    match language {
        "python" => kernel::outcome(name, text),
        "mlir" => match decompose::kernel::parse(&SourceFile::new(name, text)) {
            Ok(_) => "nothing is wrong with it\n".to_owned(),
            Err(error) => render(&error, false) + "\n",
        },
        other => panic!("nothing is known about what the library says of `{other}`"),
    }
}
