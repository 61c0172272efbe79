//! Which runs are made: those of a YAML file, else those of the kernel file's comments, else one that the command line describes
//! whole. What the command line says of an argument, the grid or the expected values holds for every run.

use std::path::Path;

use super::Asked;
use super::config::Subject;
use crate::diag::{Diagnostic, Result, codes};
use crate::launch::description::{
    Argument, Description, Expect, Expected, Expression, Given, argument_at, read as read_descriptions, tensor_file,
};
use crate::launch::{comments, entry, template};
use crate::pipeline::compiled;
use crate::source::{SourceFile, Span, files};
use crate::syntax::ast::Module;
use crate::syntax::yaml;

/// The runs, each with its kernel's name.
pub fn descriptions(asked: &Asked, subject: &Subject) -> Result<Vec<Description>> {
    let module: &Module = &subject.module;
    let mut found = match &asked.runs {
        Some(path) => from_file(path)?,
        None => comments::read(module, asked.file.parent().unwrap_or(Path::new("")))?,
    };
    if found.is_empty() && (!asked.args.is_empty() || asked.grid.is_some()) {
        found.push(bare(module));
    }
    for description in &mut found {
        let clear = description.kernel.clone().or_else(|| asked.entry.clone());
        description.kernel = Some(entry::choose(module, clear.as_deref())?.name.clone());
    }
    if let Some(wanted) = &asked.entry {
        entry::choose(module, Some(wanted))?;
        found.retain(|description| description.kernel.as_ref() == Some(wanted));
    }
    if found.is_empty() {
        return Err(nothing(asked, subject));
    }
    for description in &mut found {
        override_by(description, asked)?;
    }
    Ok(found)
}

fn from_file(path: &Path) -> Result<Vec<Description>> {
    let name = path.display().to_string();
    let unreadable = |what: String| Box::new(Diagnostic::new(&codes::FILE_UNREADABLE, what).in_file(&name));
    let text = files::text(path).map_err(|e| unreadable(e.to_string()))?;
    read_descriptions(&yaml::parse(&SourceFile::new(&name, text))?, path.parent().unwrap_or(Path::new("")))
}

/// A run of which nothing is said yet.
fn bare(module: &Module) -> Description {
    Description {
        name: String::new(),
        kernel: None,
        args: Vec::new(),
        grid: Vec::new(),
        expect: Vec::new(),
        file: module.file.clone(),
        span: Span::default(),
        folder: std::path::PathBuf::new(),
    }
}

/// Nothing describes a launch: what is missing, to paste.
fn nothing(asked: &Asked, subject: &Subject) -> Box<Diagnostic> {
    let module: &Module = &subject.module;
    let function = match entry::choose(module, asked.entry.as_deref()) {
        Ok(function) => function,
        Err(error) => return error,
    };
    let message = format!("nothing describes a launch of `{}`", function.name);
    let error = Diagnostic::new(&codes::LAUNCH_INCOMPLETE, message).at(&module.file, function.name_span);
    let text = match &subject.compiled {
        Some(kernel) => compiled::template(kernel),
        None => template::text(module, function),
    };
    Box::new(error.help(format!("put a description above the kernel, with sizes and types of yours:\n{}", text.trim_end())))
}

fn override_by(description: &mut Description, asked: &Asked) -> Result<()> {
    for (name, text) in &asked.args {
        let file = SourceFile::new(format!("--arg {name}"), text.as_str());
        let span = Span::new(0, text.len());
        let argument: Argument = argument_at(&file, span, Path::new(""))?;
        let given = Given { name: name.clone(), file, span, argument };
        match description.args.iter_mut().find(|known| known.name == *name) {
            Some(known) => *known = given,
            None => description.args.push(given),
        }
    }
    if let Some(grid) = &asked.grid {
        description.grid = vec![Expression::parse("--grid", grid)?];
    }
    for (name, text) in &asked.expect {
        let file = SourceFile::new(format!("--expect {name}"), text.as_str());
        let value = match tensor_file(text, Path::new("")) {
            Some(found) => Expected::File(found),
            None => Expected::Formula(Expression::parse(file.name(), text)?),
        };
        let expect = Expect { name: name.clone(), file, span: Span::new(0, text.len()), value, tolerance: None };
        match description.expect.iter_mut().find(|known| known.name == *name) {
            Some(known) => *known = expect,
            None => description.expect.push(expect),
        }
    }
    Ok(())
}
