//! The command line: arguments, progress, tables, exit status. Only this module and `main` print,
//! read the environment or end the process.

mod args;
mod bundle;
mod completions;
mod convert;
mod emulate;
mod exit;
mod explain;
mod inspect;
mod json;
mod lint;
mod mutate;
mod options;
mod print;
mod progress;
mod rerun;
mod table;
mod task;
mod template;

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, Parser};

use crate::diag::{Class, Diagnostic, render};
use crate::pipeline::{self, Cancel, Options, Report, Verification};
use crate::registry::Size;
use args::{Cli, DecomposeArgs, PlanArgs, Shapes, Verb, VerifyArgs};
use options::not_offered;

/// Runs the tool on the process's arguments (the first is the program's name).
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match arguments.get(1) {
        None => return written(print(args::EXAMPLES), exit::status(Class::Usage)),
        Some(word) if word == "help" && arguments.len() == 2 => {
            return written(print(&Cli::command().render_long_help().to_string()), exit::OK);
        }
        Some(_) => {}
    }
    let json = arguments.iter().any(|argument| argument == "--json");
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let status = if error.use_stderr() { exit::status(Class::Usage) } else { exit::OK };
            if json && error.use_stderr() {
                let problem = options::usage(error.render().to_string().trim_end());
                // What cannot be printed here is printed on stderr below.
                let _ = print(&json::failure([&problem]));
            }
            return written(error.print(), status);
        }
    };
    let cancel = Arc::new(Cancel::default());
    let on_interrupt = cancel.clone();
    // A second handler cannot be set in one process; then Ctrl-C ends it at once, which is safe too.
    let _ = ctrlc::set_handler(move || {
        on_interrupt.cancel();
        crate::emit::abandon();
    });
    match bundle::guarded(|| dispatch(cli, &cancel)) {
        Ok(status) => ExitCode::from(status),
        Err(diagnostics) => {
            let interrupted = diagnostics.iter().any(|d| d.code == &crate::diag::codes::INTERRUPTED);
            if json {
                // A closed pipe is no reason to lose the messages below.
                let _ = print(&json::failure(&diagnostics));
            }
            complain(&diagnostics);
            ExitCode::from(if interrupted { exit::INTERRUPTED } else { exit::combined(&diagnostics) })
        }
    }
}

/// Every message, or a result: an exit status.
type Outcome<T = u8> = Result<T, Vec<Diagnostic>>;

fn dispatch(cli: Cli, cancel: &Cancel) -> Outcome {
    let refused = |verb: &str| Err(vec![not_offered(&format!("`decompose {verb}`"))]);
    match cli.verb {
        None => decompose(cli.decompose, cancel),
        Some(Verb::Inspect(args)) => inspect::run(args, cancel),
        Some(Verb::Plan(args)) => plan(args, cancel),
        Some(Verb::Verify(args)) => verify(args, cancel),
        Some(Verb::Mutate(args)) => mutate::run(args),
        Some(Verb::Emulate(args)) => emulate::run(&args, cancel),
        Some(Verb::Lint(args)) => lint::run(&args),
        Some(Verb::Convert(args)) => convert::run(&args),
        Some(Verb::Repair(_)) => refused("repair"),
        Some(Verb::Task(args)) => task::answer(args, cancel),
        Some(Verb::Conform(_)) => refused("conform"),
        Some(Verb::Template(args)) => template::run(args, cancel),
        Some(Verb::Explain(args)) => explain::run(args),
        Some(Verb::Completions(args)) => completions::run(&args),
    }
}

fn decompose(args: DecomposeArgs, cancel: &Cancel) -> Outcome {
    if args.init_seed.is_some() {
        return Err(vec![not_offered("--init-seed")]);
    }
    let output_form = args.output_form.clone();
    let observer = match &args.inject_fault {
        Some(stage) => progress::striking(stage),
        None => progress::bars(output_form.json),
    };
    let emit = options::emit(&args.emit).map_err(|d| vec![*d])?;
    let options = decompose_options(args).map_err(|d| vec![*d])?;
    match emit {
        options::Emit::Tasks => task::layers(&options, observer.as_ref(), &output_form, cancel),
        options::Emit::Sketch => {
            let written = pipeline::sketch::of_model(&options, observer.as_ref(), cancel)?;
            observer.finish();
            sketched(&written, &output_form)
        }
        options::Emit::Suite => {
            let report = pipeline::decompose(&options, observer.as_ref(), cancel)?;
            observer.finish();
            finish(&report, &output_form)
        }
    }
}

fn decompose_options(args: DecomposeArgs) -> crate::diag::Result<Options> {
    let model = args.model.ok_or_else(|| options::usage("no model is named"))?;
    Ok(Options {
        output: args.output,
        verify: options::verify_scope(&args.verify)?,
        weights: options::weights(&args.weights)?,
        seed: args.seed,
        only: args.only,
        jobs: options::jobs(args.jobs)?,
        force: args.force,
        data: options::given(&args.data.input, &args.data.expect),
        sketch: args.sketch,
        ..model_options(model, &args.binding, &args.kernels)?
    })
}

/// The options that concern the plan alone; the rest stands at its defaults.
fn model_options(model: PathBuf, binding: &args::ModelArgs, kernels: &args::KernelArgs) -> crate::diag::Result<Options> {
    Ok(Options {
        model,
        binding: options::binding(binding)?,
        size: match binding.shapes {
            Shapes::Real => Size::Real,
            Shapes::Unit => Size::Unit,
        },
        dtype: options::dtype(kernels)?,
        precision: options::precision(&kernels.planning.precision)?,
        fuse: options::fuse_level(&kernels.planning.fuse)?,
        target: kernels.planning.target.clone(),
        templates: kernels.planning.templates.clone(),
        ..Options::default()
    })
}

fn plan(args: PlanArgs, cancel: &Cancel) -> Outcome {
    let options = model_options(args.model, &args.binding, &args.kernels).map_err(|d| vec![*d])?;
    let outcome = pipeline::plan(&options, &pipeline::Silent, cancel)?;
    let plan = &outcome.planned.plan;
    let text = match (args.dot, args.output_form.json) {
        (true, _) => crate::select::dot::dot(plan),
        (false, true) => {
            let mut document = crate::select::json::json(plan);
            if args.why {
                document["why"] = crate::select::why::json(&outcome.planned, &outcome.why);
            }
            format!("{document:#}\n")
        }
        (false, false) if args.why => crate::select::why::text(&outcome.planned, &outcome.why),
        (false, false) => crate::select::text::text(plan),
    };
    print(&text).map_err(|e| vec![output_failed(&e)])?;
    complain(&outcome.problems);
    Ok(exit::combined(&outcome.problems))
}

fn verify(args: VerifyArgs, cancel: &Cancel) -> Outcome {
    if args.task.is_some() {
        return task::verify(args, cancel);
    }
    if args.suite.extension().is_some_and(|extension| extension == "py") {
        let usage = options::usage(format!("{} is no suite", args.suite.display()));
        return Err(vec![usage.help("say which task the file answers: --task TASK.py")]);
    }
    let jobs = options::jobs(args.jobs).map_err(|d| vec![*d])?;
    let asked = Verification {
        scope: options::verified_scope(&args.verify).map_err(|d| vec![*d])?,
        only: args.only,
        all: args.all,
        jobs,
        seed: args.seed,
        trials: options::trials(args.seed.unwrap_or(0), args.trials).map_err(|d| vec![*d])?,
        data: options::given(&args.data.input, &args.data.expect),
        ..Verification::default()
    };
    if args.rerun {
        return rerun::run(&args.suite, &asked, &args.output_form, cancel);
    }
    let observer = progress::bars(args.output_form.json);
    let report = pipeline::verify(&args.suite, &asked, observer.as_ref(), cancel)?;
    observer.finish();
    finish(&report, &args.output_form)
}

/// Prints a report and gives the exit status.
fn finish(report: &Report, form: &args::OutputArgs) -> Outcome {
    let text = if form.json { json::report(report) } else { print::report(report, form.verbose > 0) };
    print(&text).map_err(|e| vec![output_failed(&e)])?;
    if form.json {
        say(&bundle::left(report.diagnostics()).unwrap_or_default());
    } else {
        complain(print::distinct(report.diagnostics()));
    }
    Ok(exit::combined(report.diagnostics()))
}

/// Says where a sketch is.
fn sketched(written: &pipeline::sketch::Written, form: &args::OutputArgs) -> Outcome {
    let (path, kernels) = (written.path.display().to_string(), written.kernels);
    let text = if form.json {
        format!("{:#}\n", serde_json::json!({"version": json::VERSION, "sketch": path, "kernels": kernels}))
    } else {
        format!("sketch: {path}, {}\n", print::count(kernels, "kernel", "kernels"))
    };
    print(&text).map_err(|e| vec![output_failed(&e)])?;
    complain(&written.problems);
    Ok(exit::combined(&written.problems))
}

/// All messages of a run on stderr, in colour on a terminal, and where they are explained.
fn complain<'a>(diagnostics: impl IntoIterator<Item = &'a Diagnostic>) {
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let diagnostics: Vec<&Diagnostic> = diagnostics.into_iter().collect();
    let mut text = String::new();
    for diagnostic in &diagnostics {
        text.push_str(&render::render(diagnostic, colour));
        text.push('\n');
    }
    text.extend(explain::pointer(diagnostics.iter().copied()));
    text.extend(bundle::left(diagnostics));
    say(&text);
}

/// Text on stderr.
fn say(text: &str) {
    // Nothing is left to tell anybody when stderr is closed.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn print(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A closed pipe is how a reader says "enough": status 0, as ripgrep does.
fn written(result: std::io::Result<()>, status: u8) -> ExitCode {
    match result {
        Ok(()) => ExitCode::from(status),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::from(exit::OK),
        Err(_) => ExitCode::from(exit::status(Class::Usage)),
    }
}

fn output_failed(error: &std::io::Error) -> Diagnostic {
    if error.kind() == std::io::ErrorKind::BrokenPipe {
        std::process::exit(i32::from(exit::OK));
    }
    Diagnostic::new(&crate::diag::codes::OUTPUT_NOT_WRITABLE, format!("standard output: {error}"))
}
