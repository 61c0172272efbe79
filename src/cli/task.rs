//! `decompose task`, `decompose verify FILE --task TASK`, and `decompose MODEL --emit tasks`.

use std::path::PathBuf;

use super::args::{ExportArgs, OutputArgs, TaskArgs, VerifyArgs};
use super::{Outcome, complain, exit, finish, json, options, output_failed, print, progress, sketched};
use crate::diag::Result;
use crate::pipeline::task::{self, Source, TaskOptions};
use crate::pipeline::{self, Cancel, Options, VerifyScope};
use crate::syntax::is_identifier;

/// What --verify reduced lowers integers to where --reduce does not say it.
const REDUCED: i64 = 32;

pub fn answer(args: TaskArgs, cancel: &Cancel) -> Outcome {
    let form = args.output_form.clone();
    let observer = progress::bars(form.json);
    let sketch = options::emits_sketch(&args.emit).map_err(|d| vec![*d])?;
    let asked = asked(args).map_err(|d| vec![*d])?;
    if sketch {
        let written = pipeline::sketch::of_task(&asked, observer.as_ref(), cancel)?;
        observer.finish();
        return sketched(&written, &form);
    }
    let report = task::answer(&asked, observer.as_ref(), cancel)?;
    observer.finish();
    finish(&report, &form)
}

fn asked(args: TaskArgs) -> Result<TaskOptions> {
    if let Some(name) = &args.op_name
        && !is_identifier(name)
    {
        return Err(Box::new(options::usage(format!("--op-name: `{name}` is no name of Python")).help("letters, digits and _")));
    }
    let reduced = (args.verify == "reduced").then(|| args.exporting.reduce.unwrap_or(REDUCED));
    let source = source(args.task, args.exporting.clone());
    Ok(TaskOptions {
        init_seed: init_seed(&args.exporting.init_seed)?,
        // With --verify reduced, --reduce is about what is verified.
        source: Source { reduce: source.reduce.filter(|_| reduced.is_none()), ..source },
        reduced,
        output: args.output,
        op_name: args.op_name,
        options: Options {
            precision: options::precision(&args.planning.precision)?,
            fuse: options::fuse_level(&args.planning.fuse)?,
            target: args.planning.target,
            templates: args.planning.templates,
            verify: if reduced.is_some() { VerifyScope::Unique } else { task::scope(options::verify_scope(&args.verify)?)? },
            jobs: options::jobs(args.jobs)?,
            force: args.force,
            sketch: args.sketch,
            ..Options::default()
        },
    })
}

/// `decompose MODEL --emit tasks`: each distinct layer as a task.
pub fn layers(options: &Options, observer: &dyn progress::Progress, form: &OutputArgs, cancel: &Cancel) -> Outcome {
    let (folder, files, outcome) = pipeline::tasks(options, observer, cancel)?;
    observer.finish();
    let plan = &outcome.planned.plan;
    let text = if form.json {
        let tasks: Vec<_> = files.iter().map(|file| folder.join(file).display().to_string()).collect();
        format!("{:#}\n", serde_json::json!({"version": json::VERSION, "model": plan.name, "tasks": tasks}))
    } else {
        let lines: String = files.iter().map(|file| format!("{}\n", folder.join(file).display())).collect();
        let count = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
        let (tasks, launches) = (count(files.len(), "task", "tasks"), count(plan.launches.len(), "launch", "launches"));
        format!("{lines}{tasks} of {launches}, not verified: a task is a question\n")
    };
    print(&text).map_err(|e| vec![output_failed(&e)])?;
    complain(&outcome.problems);
    Ok(exit::combined(&outcome.problems))
}

/// A file of anybody's against a task.
pub fn verify(args: VerifyArgs, cancel: &Cancel) -> Outcome {
    let observer = progress::bars(args.output_form.json);
    let asked = verification(&args).map_err(|d| vec![*d])?;
    let init_seed = init_seed(&args.exporting.init_seed).map_err(|d| vec![*d])?;
    let source = source(args.task.clone().unwrap_or_default(), args.exporting.clone());
    let report = task::verify(&args.suite, &source, init_seed, &asked, observer.as_ref(), cancel)?;
    observer.finish();
    finish(&report, &args.output_form)
}

fn verification(args: &VerifyArgs) -> Result<Options> {
    Ok(Options {
        precision: options::precision(&args.precision)?,
        target: args.target.clone(),
        verify: task::scope(options::verify_scope(&args.verify)?)?,
        seed: args.seed.unwrap_or(0),
        jobs: options::jobs(args.jobs)?,
        ..Options::default()
    })
}

fn source(path: PathBuf, args: ExportArgs) -> Source {
    Source { path, python: (!args.no_python).then_some(args.python), reduce: args.reduce }
}

/// `--init-seed 0`, or none.
fn init_seed(text: &str) -> Result<Option<u64>> {
    match text {
        "none" => Ok(None),
        number => number.parse().map(Some).map_err(|_| {
            let usage = options::usage(format!("--init-seed does not know `{number}`"));
            Box::new(usage.help("use a number, or none where the harness seeds both models"))
        }),
    }
}
