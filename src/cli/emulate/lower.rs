//! `emulate --lower`, `--lower-batch` and `--dump`: the verified IR, or what stops a kernel on the way there.

use std::io::BufRead;

use super::super::args::EmulateArgs;
use super::super::{Outcome, complain, exit, options, output_failed, print};
use crate::diag::{Diagnostic, codes};
use crate::launch::signature;
use crate::pipeline::Cancel;
use crate::pipeline::emulate::{Asked, kernels};
use crate::pipeline::lower::{self, Lowerer, Request};

/// Lines of stdin, each answered by a line; what cannot be lowered is an answer, not a failure.
pub fn batch(cancel: &Cancel) -> Outcome {
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

/// One kernel, for the types that the command line names.
pub fn one(args: &EmulateArgs) -> Outcome {
    let mut specs = Vec::new();
    for (name, text) in super::pairs("--arg", &args.args, "x_ptr=*f32").map_err(|d| vec![*d])? {
        specs.push((name, signature::argument(&text).map_err(|d| vec![*d])?));
    }
    let file = args.kernel.clone().ok_or_else(|| vec![options::usage("no kernel file is named")])?;
    let request = Request { file, entry: args.entry.clone(), args: specs, program: false, run: None, ttir: None };
    let (name, outcome) = Lowerer::default().lower(&request);
    let text = match (&args.dump, &outcome) {
        (None, _) => format!("{}\n", lower::answer(&name, &outcome)),
        (Some(form), Ok(kernel)) => {
            known(form).map_err(|d| vec![*d])?;
            format!("{}\n", **kernel)
        }
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

/// The kernel of each described run.
pub fn dump(form: &str, asked: &Asked) -> Outcome {
    known(form).map_err(|d| vec![*d])?;
    let mut text = String::new();
    for (name, kernel) in kernels(asked)? {
        if !name.is_empty() {
            text += &format!("// {name}\n");
        }
        text += &format!("{}\n", *kernel);
    }
    print(&text).map_err(|e| vec![output_failed(&e)])?;
    Ok(exit::OK)
}

fn known(form: &str) -> crate::diag::Result<()> {
    match form {
        "ir" | "ttir" => Ok(()),
        other => {
            let error = options::usage(format!("--dump does not know `{other}`"));
            Err(Box::new(error.help("use one of: ir, ttir")))
        }
    }
}
