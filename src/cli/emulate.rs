//! `decompose emulate`: a bare kernel file, lowered or run.

use std::io::BufRead;

use super::args::EmulateArgs;
use super::{Outcome, complain, exit, options, output_failed, print};
use crate::diag::{Diagnostic, codes};
use crate::launch::signature;
use crate::pipeline::Cancel;
use crate::pipeline::lower::{self, Lowerer, Request};

pub fn run(args: &EmulateArgs, cancel: &Cancel) -> Outcome {
    if args.lower_batch {
        return batch(cancel);
    }
    if args.lower {
        return lower(args);
    }
    Err(vec![options::not_offered("emulate without --lower")])
}

/// Lines of stdin, each answered by a line; what cannot be lowered is an answer, not a failure.
fn batch(cancel: &Cancel) -> Outcome {
    let mut lowerer = Lowerer::default();
    for line in std::io::stdin().lock().lines() {
        cancel.check().map_err(|d| vec![*d])?;
        let line = line.map_err(|e| vec![Diagnostic::new(&codes::FILE_UNREADABLE, format!("standard input: {e}"))])?;
        if line.trim().is_empty() {
            continue;
        }
        print(&format!("{}\n", lower::answer_line(&mut lowerer, &line))).map_err(|e| vec![output_failed(&e)])?;
    }
    Ok(exit::OK)
}

fn lower(args: &EmulateArgs) -> Outcome {
    let request = Request {
        file: args.kernel.clone().ok_or_else(|| vec![options::usage("no kernel file is named")])?,
        entry: args.entry.clone(),
        args: args.args.iter().map(|text| argument(text)).collect::<Result<_, _>>().map_err(|d| vec![*d])?,
    };
    let (name, outcome) = Lowerer::default().lower(&request);
    let text = match (&args.dump, &outcome) {
        (None, _) => format!("{}\n", lower::answer(&name, &outcome)),
        (Some(form), Ok(kernel)) => match form.as_str() {
            "ir" | "ttir" => format!("{}\n", **kernel),
            other => {
                let error = options::usage(format!("--dump does not know `{other}`")).help("use one of: ir, ttir");
                return Err(vec![error]);
            }
        },
        (Some(_), Err(_)) => String::new(),
    };
    print(&text).map_err(|e| vec![output_failed(&e)])?;
    match outcome {
        Ok(_) => Ok(exit::OK),
        Err(error) => {
            complain([&*error]);
            Ok(exit::combined([&*error]))
        }
    }
}

fn argument(text: &str) -> crate::diag::Result<(String, crate::kernel::ArgSpec)> {
    let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        let error = options::usage(format!("--arg cannot read `{text}`"));
        return Err(Box::new(error.help("write the parameter's name and its type or value: --arg x_ptr=*f32")));
    };
    Ok((name.to_owned(), signature::argument(value)?))
}
