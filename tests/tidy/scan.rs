//! Rust files as the rules see them: comments and literals blanked, test code marked.
//!
//! A small lexer, not a parser: it knows line and nested block comments, string, raw string, byte
//! string and character literals, and lifetimes. Blanked text keeps its byte positions and line
//! breaks, so that a hit in `code` can be looked up in `text`. It does not expand macros, and an
//! item under `#[cfg(test)]` ends at its first `;` or at the brace that closes its first `{`.

use std::fs;
use std::path::{Path, PathBuf};

/// One file below the repository's root.
pub struct File {
    /// Relative to the root, with `/`.
    pub path: String,
    pub text: String,
    /// `text` with comments and the insides of literals replaced by blanks.
    pub code: String,
    /// Byte ranges of items under `#[cfg(test)]`.
    tests: Vec<(usize, usize)>,
}

impl File {
    pub fn new(path: &str, text: &str) -> File {
        let code = blank(text);
        let tests = test_items(&code);
        File { path: path.to_owned(), text: text.to_owned(), code, tests }
    }

    pub fn is_test(&self, at: usize) -> bool {
        self.tests.iter().any(|&(start, end)| (start..end).contains(&at))
    }

    /// `src/graph/op.rs:12`.
    pub fn place(&self, at: usize) -> String {
        format!("{}:{}", self.path, self.text[..at].matches('\n').count() + 1)
    }

    /// Positions of a word in code: not preceded and, when it ends in a letter, not followed by an
    /// identifier character.
    pub fn find<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        let identifier = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let bytes = self.code.as_bytes();
        self.code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
            let first = word.as_bytes()[0];
            let last = word.as_bytes()[word.len() - 1];
            let before = identifier(first) && at > 0 && identifier(bytes[at - 1]);
            let after = identifier(last) && bytes.get(at + word.len()).is_some_and(|&b| identifier(b));
            !before && !after
        })
    }

    /// `graph` for `src/graph/op.rs` and `src/graph.rs`; `lib`, `main` for the roots.
    pub fn module(&self) -> &str {
        let inside = self.path.strip_prefix("src/").unwrap_or(&self.path);
        inside.split('/').next().unwrap_or("").trim_end_matches(".rs")
    }

    /// How many modules deep the file lies: 1 for `src/graph/mod.rs`, 2 for `src/graph/op.rs`.
    pub fn depth(&self) -> usize {
        let parts = self.path.trim_end_matches(".rs").split('/').filter(|part| *part != "mod").count();
        parts - 1
    }
}

/// All text files below `root` whose relative path `keep` accepts, in order of path. Version
/// control, build output and local settings of the build are left out.
pub fn walk(root: &Path, keep: impl Fn(&str) -> bool) -> Vec<File> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.expect("a folder entry").path();
            let relative = path.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
            if matches!(relative.as_str(), "target" | ".git" | ".cargo") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if keep(&relative)
                && let Ok(text) = fs::read_to_string(&path)
            {
                files.push(File::new(&relative, &text));
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    mark_test_modules(&mut files);
    files
}

/// A file whose module is declared under `#[cfg(test)]`, and all files below it, are test code.
fn mark_test_modules(files: &mut [File]) {
    let mut roots: Vec<String> = Vec::new();
    for file in files.iter() {
        for &(start, end) in &file.tests {
            let item = file.code[start..end].trim_end_matches(';');
            if let Some((_, name)) = item.rsplit_once("mod ").filter(|(_, name)| !name.contains(['{', ' '])) {
                let folder = match file.path.strip_suffix("/mod.rs") {
                    Some(folder) => folder,
                    None if file.path == "src/lib.rs" => "src",
                    None => file.path.trim_end_matches(".rs"),
                };
                roots.push(format!("{folder}/{name}"));
            }
        }
    }
    for file in files.iter_mut() {
        if roots.iter().any(|root| file.path == format!("{root}.rs") || file.path.starts_with(&format!("{root}/"))) {
            file.tests = vec![(0, file.text.len())];
        }
    }
}

fn blank(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut erase = |from: usize, to: usize| {
        for byte in &mut out[from..to] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    };
    let mut i = 0;
    while i < bytes.len() {
        let rest = &bytes[i..];
        if rest.starts_with(b"//") {
            let end = text[i..].find('\n').map_or(bytes.len(), |n| i + n);
            erase(i, end);
            i = end;
        } else if rest.starts_with(b"/*") {
            let end = block_comment_end(bytes, i);
            erase(i, end);
            i = end;
        } else if let Some(hashes) = raw_string_hashes(bytes, i) {
            let open = i + 2 + hashes;
            let close = format!("\"{}", "#".repeat(hashes));
            let end = text[open..].find(&close).map_or(bytes.len(), |n| open + n);
            erase(open, end);
            i = (end + close.len()).min(bytes.len());
        } else if bytes[i] == b'"' {
            let end = quoted_end(bytes, i, b'"');
            erase(i + 1, end.saturating_sub(1).max(i + 1));
            i = end;
        } else if bytes[i] == b'\'' && is_char_literal(text, i) {
            let end = quoted_end(bytes, i, b'\'');
            erase(i + 1, end - 1);
            i = end;
        } else {
            i += 1;
        }
    }
    String::from_utf8(out).expect("blanking replaces whole literals and comments")
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut i) = (0, start);
    while i < bytes.len() {
        if bytes[i..].starts_with(b"/*") {
            (depth, i) = (depth + 1, i + 2);
        } else if bytes[i..].starts_with(b"*/") {
            (depth, i) = (depth - 1, i + 2);
            if depth == 0 {
                return i;
            }
        } else {
            i += 1;
        }
    }
    bytes.len()
}

/// The number of `#` of a raw string that starts here (`r"`, `r#"`).
fn raw_string_hashes(bytes: &[u8], i: usize) -> Option<usize> {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if bytes[i] != b'r' || (i > 0 && word(bytes[i - 1]) && bytes[i - 1] != b'b') {
        return None;
    }
    let hashes = bytes[i + 1..].iter().take_while(|&&b| b == b'#').count();
    (bytes.get(i + 1 + hashes) == Some(&b'"')).then_some(hashes)
}

/// One past the closing quote.
fn quoted_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut i = start + 1;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 2,
            b if b == quote => return i + 1,
            _ => i += 1,
        }
    }
    bytes.len()
}

/// Tells `'a'` and `'\n'` from the lifetime `'a`.
fn is_char_literal(text: &str, i: usize) -> bool {
    let mut chars = text[i + 1..].chars();
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

fn test_items(code: &str) -> Vec<(usize, usize)> {
    let mut items = Vec::new();
    for (start, marker) in code.match_indices("#[cfg(test)]") {
        let mut depth = 0;
        let mut end = code.len();
        for (i, b) in code.bytes().enumerate().skip(start + marker.len()) {
            match b {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {}
            }
            if depth == 0 && matches!(b, b'}' | b';') {
                end = i + 1;
                break;
            }
        }
        items.push((start, end));
    }
    items
}

#[test]
fn literals_and_comments_are_blank() {
    let text = "let a = \"x // y\"; // z\nlet c = '\"'; let l: &'a str = r#\"q\"u\"#; /* /* */ w */ end";
    let code = blank(text);
    assert_eq!(code.len(), text.len());
    assert_eq!(code, "let a = \"      \";     \nlet c = ' '; let l: &'a str = r#\"   \"#;               end");
}

#[test]
fn test_modules_are_test_code() {
    let mut files = vec![
        File::new("src/a/mod.rs", "mod x;\n#[cfg(test)]\npub(crate) mod y;\n#[cfg(test)]\nmod z;\n"),
        File::new("src/a/x.rs", "fn f() {}\n"),
        File::new("src/a/y.rs", "fn f() {}\n"),
        File::new("src/a/z/inner.rs", "fn f() {}\n"),
    ];
    mark_test_modules(&mut files);
    assert_eq!(files.iter().map(|f| f.is_test(3)).collect::<Vec<_>>(), [false, false, true, true]);
}

#[test]
fn test_code_is_marked() {
    let file = File::new("src/a/b.rs", "fn a() {}\n#[cfg(test)]\nmod tests { fn t() {} }\nfn b() {}\n");
    let marked: Vec<bool> = ["fn a", "fn t", "fn b"].iter().map(|w| file.is_test(file.find(w).next().unwrap())).collect();
    assert_eq!(marked, [false, true, false]);
    assert_eq!((file.module(), file.depth()), ("a", 2));
}
