//! `decompose template`: make a template to start from, check templates by the anchor probe, list them.

use std::path::Path;
use std::sync::Arc;

use super::args::{TemplateArgs, TemplateCheckArgs, TemplateListArgs, TemplateNewArgs, TemplateVerb};
use super::table::{Align, render};
use super::{Outcome, complain, exit, options, output_failed, print, progress};
use crate::conform::probe::{self, ProbeResult};
use crate::diag::{Diagnostic, Result, codes};
use crate::emit;
use crate::pipeline::Cancel;
use crate::target::Target;
use crate::template::check::Probed;
use crate::template::manifest::{Implements, KernelClass};
use crate::template::{Library, Template, new};

pub fn run(args: TemplateArgs, cancel: &Cancel) -> Outcome {
    match args.verb {
        TemplateVerb::New(args) => create(&args).map_err(|d| vec![*d]),
        TemplateVerb::Check(args) => check(&args, cancel),
        TemplateVerb::List(args) => list(&args),
    }
}

fn library(folder: Option<&Path>) -> Result<Library> {
    let library = Library::embedded()?;
    folder.map_or(Ok(library.clone()), |folder| library.with_folder(folder))
}

fn create(args: &TemplateNewArgs) -> Result<u8> {
    let folder = &args.folder;
    let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let shown = folder.display().to_string();
    let texts = new::files(&name, &args.implements, args.formula.as_deref(), &Library::embedded()?)?;
    if folder.exists() {
        let error = Diagnostic::new(&codes::OUTPUT_IN_THE_WAY, "this is there already").in_file(shown);
        return Err(Box::new(error.help("name a folder that does not exist yet")));
    }
    let files: emit::Files = texts.into_iter().map(|(file, text)| (file.to_owned(), text.into_bytes())).collect();
    emit::write(&files, folder, false)?;
    let within = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let text = format!(
        "{shown}: kernel.py, template.yaml, schedule.yaml\n\
         check it: decompose template check {shown}\n\
         use it:   decompose MODEL --templates {}\n",
        within.display()
    );
    print(&text).map_err(|e| Box::new(output_failed(&e)))?;
    Ok(exit::OK)
}

/// The templates that words of the command line name; all of them when there is none.
fn named(args: &TemplateCheckArgs) -> Outcome<Vec<Arc<Template>>> {
    let library = library(args.templates.as_deref()).map_err(|d| vec![*d])?;
    if args.which.is_empty() {
        return Ok(library.templates().to_vec());
    }
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for word in &args.which {
        let path = Path::new(word);
        let templates = if path.join("kernel.py").exists() {
            Library::folder(path).map(|template| vec![template])
        } else if path.is_dir() {
            Library::default().with_folder(path).map(|library| library.templates().to_vec())
        } else {
            library.find(word).map(|template| vec![template.clone()]).ok_or_else(|| unknown(word, &library))
        };
        match templates {
            Ok(templates) => found.extend(templates),
            Err(error) => errors.push(*error),
        }
    }
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

fn unknown(word: &str, library: &Library) -> Box<Diagnostic> {
    let names: Vec<&str> = library.templates().iter().map(|t| t.name.as_str()).collect();
    let error = options::usage(format!("there is no template or folder `{word}`"));
    Box::new(error.help(format!("name a template's folder, a folder of templates, or one of: {}", names.join(", "))))
}

fn check(args: &TemplateCheckArgs, cancel: &Cancel) -> Outcome {
    let templates = named(args)?;
    let observer = progress::bars(false);
    observer.stage("check", templates.len());
    let (mut rows, mut faults) = (Vec::new(), Vec::new());
    for template in &templates {
        cancel.check().map_err(|d| vec![*d])?;
        let probed = probe::template(template, &cancel.flag());
        cancel.check().map_err(|d| vec![*d])?;
        match probed {
            Ok(results) => {
                rows.extend(if args.verbose > 0 { each(template, &results) } else { by_anchor(template, &results) });
                faults.extend(first_faults(&results));
            }
            Err(error) => faults.push(*error),
        }
        observer.step(&template.name);
    }
    observer.finish();
    let columns = match args.verbose {
        0 => [("template", Align::Left), ("anchor", Align::Left), ("problems", Align::Right), ("runs", Align::Right), VERDICT],
        _ => [("template", Align::Left), ("problem", Align::Left), ("anchor", Align::Left), ("entry", Align::Left), VERDICT],
    };
    print(&render(&columns, &rows)).map_err(|e| vec![output_failed(&e)])?;
    complain(&faults);
    Ok(exit::combined(&faults))
}

const VERDICT: (&str, Align) = ("verdict", Align::Left);

/// Results about the same anchor, in the order of their first.
fn groups(results: &[ProbeResult]) -> Vec<Vec<&ProbeResult>> {
    let mut groups: Vec<Vec<&ProbeResult>> = Vec::new();
    for result in results {
        match groups.iter_mut().find(|group| group[0].probed == result.probed) {
            Some(group) => group.push(result),
            None => groups.push(vec![result]),
        }
    }
    groups
}

/// One row an anchor: over how many problems, and runs of schedules and entries, it holds.
fn by_anchor(template: &Template, results: &[ProbeResult]) -> Vec<Vec<String>> {
    let row = |group: Vec<&ProbeResult>| {
        let mut problems: Vec<&str> = group.iter().map(|result| result.name.as_str()).collect();
        problems.dedup();
        let wrong = group.iter().filter(|result| result.fault.is_some()).count();
        let verdict = if wrong == 0 { "holds".to_owned() } else { format!("wrong in {wrong}") };
        let (name, anchor) = (template.name.clone(), group[0].probed.to_string());
        vec![name, anchor, problems.len().to_string(), group.len().to_string(), verdict]
    };
    groups(results).into_iter().map(row).collect()
}

fn each(template: &Template, results: &[ProbeResult]) -> Vec<Vec<String>> {
    let row = |result: &ProbeResult| {
        let problem = result.name.strip_prefix(&template.name).unwrap_or(&result.name).trim_start().to_owned();
        let verdict = if result.fault.is_none() { "holds" } else { "wrong" };
        let entry = if result.entry.is_empty() { "-".to_owned() } else { result.entry.clone() };
        vec![template.name.clone(), problem, result.probed.to_string(), entry, verdict.to_owned()]
    };
    results.iter().map(row).collect()
}

/// The first fault of each anchor, and how many more there are of it. Where the kernel alone is wrong,
/// its anchors are, too, and say nothing.
fn first_faults(results: &[ProbeResult]) -> Vec<Diagnostic> {
    let alone = results.iter().any(|result| result.probed == Probed::Alone && result.fault.is_some());
    let faults = |group: Vec<&ProbeResult>| {
        let faults: Vec<&Diagnostic> = group.iter().filter_map(|result| result.fault.as_ref()).collect();
        let (&first, rest) = faults.split_first()?;
        let more = format!("{} more runs are wrong at this anchor", rest.len());
        Some(if rest.is_empty() { first.clone() } else { first.clone().note(more) })
    };
    groups(results).into_iter().filter(|group| !alone || group[0].probed == Probed::Alone).filter_map(faults).collect()
}

fn list(args: &TemplateListArgs) -> Outcome {
    let library = library(args.templates.as_deref()).map_err(|d| vec![*d])?;
    let columns = ["template", "implements", "class", "precision", "tuned for", "from"].map(|name| (name, Align::Left));
    let rows: Vec<Vec<String>> = library.templates().iter().map(|template| described(template)).collect();
    print(&render(&columns, &rows)).map_err(|e| vec![output_failed(&e)])?;
    Ok(exit::OK)
}

fn described(template: &Template) -> Vec<String> {
    let manifest = &template.manifest;
    let kind = Implements::ALL.iter().find(|(kind, _)| *kind == manifest.implements).map_or("", |(_, name)| *name);
    let implements = match (&manifest.own, &manifest.label) {
        (Some(own), _) => own.name.clone(),
        (None, Some(label)) => format!("{kind} {label}"),
        (None, None) => kind.to_owned(),
    };
    let words = |words: Vec<&str>| if words.is_empty() { "-".to_owned() } else { words.join(", ") };
    let class = |class: &KernelClass| KernelClass::ALL.iter().find(|(known, _)| known == class).map_or("", |(_, name)| *name);
    let tuned = |target: &&Target| template.schedule.iter().any(|entry| entry.targets.iter().any(|name| name == target.name));
    let targets: Vec<&str> = Target::all().iter().filter(tuned).map(|target| target.name).collect();
    let file = Path::new(manifest.file.name());
    let from = if is_built_in(template) {
        "built in".to_owned()
    } else {
        file.parent().map_or_else(String::new, |p| p.display().to_string())
    };
    vec![
        template.name.clone(),
        implements,
        words(manifest.classes.iter().map(class).collect()),
        words(manifest.precision.iter().map(|p| p.name()).collect()),
        if targets.is_empty() { "any target".to_owned() } else { targets.join(", ") },
        from,
    ]
}

/// Whether the binary carries this very text.
fn is_built_in(template: &Template) -> bool {
    let library = Library::embedded().unwrap_or_default();
    library.templates().iter().any(|own| own.manifest.file == template.manifest.file)
}
