//! `decompose emulate`: a bare kernel file, run and judged; or only lowered ([`lower`]).

mod lower;
mod print;
mod replay;
mod stats;
mod watch;

use super::args::EmulateArgs;
use super::{Outcome, complain, exit, options, output_failed};
use crate::diag::Result;
use crate::pipeline::Cancel;
use crate::pipeline::emulate::{self, Asked, ConfigChoice, save};
use crate::target::Target;

pub fn run(args: &EmulateArgs, cancel: &Cancel) -> Outcome {
    if args.lower_batch {
        return lower::batch(cancel);
    }
    if let Some(folder) = &args.recording {
        return replay::run(args, folder, cancel);
    }
    if args.lower {
        return lower::one(args);
    }
    let asked = asked(args).map_err(|d| vec![*d])?;
    if let Some(form) = &args.dump {
        return lower::dump(form, &asked);
    }
    if let Some(program) = &args.trace {
        return watch::trace(&asked, program, cancel);
    }
    if let Some(name) = &args.show {
        return watch::show(&asked, name, cancel);
    }
    if let Some(program) = &args.step {
        return watch::step(&asked, program, cancel);
    }
    let report = emulate::emulate(&asked, cancel)?;
    let saves: Vec<save::Save> = args.save.iter().map(|text| save::read(text)).collect();
    let written = save::save(&report, &saves).map_err(|d| vec![*d])?;
    let text =
        if args.output_form.json { print::json(&report) } else { print::text(&report, &written, args.output_form.verbose > 0) };
    super::print(&text).map_err(|e| vec![output_failed(&e)])?;
    if !args.output_form.json {
        complain(super::print::distinct(report.findings()));
    }
    Ok(exit::combined(report.findings().filter(|finding| finding.is_error())))
}

fn asked(args: &EmulateArgs) -> Result<Asked> {
    let file = args.kernel.clone().ok_or_else(|| Box::new(options::usage("no kernel file is named")))?;
    Ok(Asked {
        file,
        entry: args.entry.clone(),
        runs: args.run.clone(),
        args: pairs("--arg", &args.args, "x_ptr=f32[1000]")?,
        grid: args.grid.clone(),
        expect: pairs("--expect", &args.expect, "y_ptr=x_ptr * 2")?,
        config: config(args.config.as_deref())?,
        target: args.target.as_deref().map(target).transpose()?,
        seed: args.seed,
        fuel: args.fuel,
        memory: args.memory,
        threads: options::jobs(args.threads)?,
        dense: args.dense,
        stats: args.stats,
        warnings: !args.no_warnings,
    })
}

/// `name=value` of a flag.
fn pairs(flag: &str, texts: &[String], example: &str) -> Result<Vec<(String, String)>> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        Some(_) | None => {
            let error = options::usage(format!("{flag} cannot read `{text}`"));
            Err(Box::new(error.help(format!("write the parameter's name and its value: {flag} '{example}'"))))
        }
    };
    texts.iter().map(pair).collect()
}

fn config(text: Option<&str>) -> Result<ConfigChoice> {
    match text {
        None => Ok(ConfigChoice::First),
        Some("all") => Ok(ConfigChoice::All),
        Some(number) => match number.parse() {
            Ok(n) => Ok(ConfigChoice::Number(n)),
            Err(_) => Err(Box::new(options::usage(format!("--config cannot read `{number}`")).help("write a number, or all"))),
        },
    }
}

fn target(name: &str) -> Result<&'static Target> {
    Target::find(name).ok_or_else(|| {
        let known: Vec<&str> = Target::all().iter().map(|target| target.name).collect();
        Box::new(options::usage(format!("there is no target `{name}`")).help(format!("use one of: {}", known.join(", "))))
    })
}
