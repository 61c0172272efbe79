//! `decompose lint`: static rules about kernel files, by target; mends the mechanical ones with `--fix`.
//!
//! Findings go to stdout: they are the result. A file that cannot be read or parsed is a finding and does not hide
//! those of the other files.

use std::path::{Path, PathBuf};

use super::args::{BanMode, LintArgs};
use super::{Outcome, exit, explain, json, options, output_failed, print};
use crate::diag::render::render;
use crate::diag::{Diagnostic, codes};
use crate::launch::signature;
use crate::lint::ban::{self, Ban, Mode};
use crate::lint::{self, Finding, Request, fix, sarif};
use crate::source::{SourceFile, files};
use crate::syntax::parse_module;
use crate::target::Target;

/// Fixes of one round may uncover others; more rounds than this find nothing new.
const ROUNDS: usize = 8;

pub fn run(args: &LintArgs) -> Outcome {
    let request = request(args).map_err(|d| vec![*d])?;
    let ban = args.ban.map(|mode| match mode {
        BanMode::Strict => Mode::Strict,
        BanMode::Lenient => Mode::Lenient,
    });
    let ban = ban.map(|mode| Ban { mode, ..Ban::default() });
    let mut findings = Vec::new();
    let mut mended = 0;
    for path in files(&args.files).map_err(|d| vec![*d])? {
        let found = match &ban {
            Some(ban) => banned(&path, ban),
            None => lint(&path, &request, args.fix),
        };
        match found {
            Ok((found, count)) => {
                findings.extend(found);
                mended += count;
            }
            Err(diagnostic) => findings.push(Finding { diagnostic: *diagnostic, fix: Vec::new() }),
        }
    }
    let diagnostics: Vec<&Diagnostic> = findings.iter().map(|finding| &finding.diagnostic).collect();
    let text = match (args.sarif, args.json) {
        (true, _) => sarif::document(&findings),
        (false, true) => document(&findings, mended, request.target, ban.as_ref()),
        (false, false) => report(&findings, mended, ban.as_ref()),
    };
    print(&text).map_err(|e| vec![output_failed(&e)])?;
    Ok(exit::combined(diagnostics))
}

fn request(args: &LintArgs) -> crate::diag::Result<Request> {
    let target = args.target.as_deref().map(target).transpose()?;
    let mut given = Vec::new();
    for (flag, texts) in [("--constexpr", &args.constexprs), ("--arg", &args.args)] {
        for text in texts {
            let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
                let error =
                    options::usage(format!("{flag} cannot read `{text}`")).help("write a name and a value: --constexpr BM=64");
                return Err(Box::new(error));
            };
            given.push((name.to_owned(), signature::argument(value)?));
        }
    }
    Ok(Request { target, args: given, num_warps: args.num_warps, num_stages: args.num_stages, ..Request::default() })
}

fn target(name: &str) -> crate::diag::Result<&'static Target> {
    Target::find(name).ok_or_else(|| {
        let known: Vec<&str> = Target::all().iter().map(|t| t.name).collect();
        Box::new(options::usage(format!("--target does not know `{name}`")).help(format!("use one of: {}", known.join(", "))))
    })
}

/// Python files as named, and those of folders, in order of their names.
fn files(named: &[PathBuf]) -> crate::diag::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in named {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let unreadable = |e: std::io::Error| {
            Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, e.to_string()).in_file(path.display().to_string()))
        };
        let mut inside = Vec::new();
        for entry in std::fs::read_dir(path).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|extension| extension == "py") {
                inside.push(path);
            }
        }
        inside.sort();
        found.extend(inside);
    }
    Ok(found)
}

/// What breaks the ban in a file.
fn banned(path: &Path, ban: &Ban) -> crate::diag::Result<(Vec<Finding>, usize)> {
    let name = path.display().to_string();
    let text = files::text(path).map_err(|e| Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, e.to_string()).in_file(&name)))?;
    Ok((ban::check(&parse_module(&SourceFile::new(&name, text))?, ban), 0))
}

/// What a file's rules say, and how many findings were mended in it.
fn lint(path: &Path, request: &Request, mend: bool) -> crate::diag::Result<(Vec<Finding>, usize)> {
    let name = path.display().to_string();
    let text = files::text(path).map_err(|e| Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, e.to_string()).in_file(&name)))?;
    let mut file = SourceFile::new(&name, text);
    let mut mended = 0;
    let mut findings = lint::lint(&parse_module(&file)?, request);
    for _ in 0..ROUNDS {
        let Some((text, count)) = fix::apply(file.text(), &findings).filter(|_| mend) else { break };
        mended += count;
        file = SourceFile::new(&name, text);
        findings = lint::lint(&parse_module(&file)?, request);
    }
    if mended > 0 {
        write(path, file.text())
            .map_err(|e| Box::new(Diagnostic::new(&codes::OUTPUT_NOT_WRITABLE, e.to_string()).in_file(&name)))?;
    }
    Ok((findings, mended))
}

/// Beside the file first, so that it is never half written.
pub(super) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    std::fs::write(&beside, text)?;
    std::fs::rename(&beside, path)
}

/// Every finding, then what they add up to.
fn report(findings: &[Finding], mended: usize, ban: Option<&Ban>) -> String {
    let mut text = String::new();
    for finding in findings {
        text.push_str(&render(&finding.diagnostic, false));
        text.push('\n');
    }
    let [errors, warnings, advice] = lint::counts(findings.iter().map(|f| &f.diagnostic));
    let mut parts = Vec::new();
    for (count, what) in [(errors, "error"), (warnings, "warning")] {
        if count > 0 {
            parts.push(format!("{count} {what}{}", if count == 1 { "" } else { "s" }));
        }
    }
    if advice > 0 {
        parts.push(format!("{advice} advice"));
    }
    let found = if parts.is_empty() { "nothing found".to_owned() } else { parts.join(", ") };
    let fixable = findings.iter().filter(|finding| !finding.fix.is_empty()).count();
    let rest = match (mended, fixable) {
        (0, 0) => String::new(),
        (0, fixable) => format!("; {fixable} can be mended with --fix"),
        (mended, _) => format!("; {mended} mended"),
    };
    match ban {
        Some(ban) if errors == 0 => text.push_str(&format!("ban: {}, holds\n", ban.mode.name())),
        Some(ban) => {
            text.push_str(&format!("ban: {}, {errors} violation{}\n", ban.mode.name(), if errors == 1 { "" } else { "s" }));
        }
        None => text.push_str(&format!("{found}{rest}\n")),
    }
    text.extend(explain::pointer(findings.iter().map(|finding| &finding.diagnostic)));
    text
}

fn document(findings: &[Finding], mended: usize, target: Option<&'static Target>, ban: Option<&Ban>) -> String {
    let [errors, warnings, advice] = lint::counts(findings.iter().map(|f| &f.diagnostic));
    let list: Vec<serde_json::Value> = findings
        .iter()
        .map(|finding| {
            let mut document = json::diagnostic(&finding.diagnostic);
            document["fixable"] = (!finding.fix.is_empty()).into();
            document
        })
        .collect();
    let mut document = serde_json::json!({
        "version": json::VERSION, "target": target.map(|t| t.name), "findings": list, "mended": mended,
        "errors": errors, "warnings": warnings, "advice": advice,
    });
    if let Some(ban) = ban {
        document["ban"] = ban.mode.name().into();
    }
    format!("{document:#}\n")
}
