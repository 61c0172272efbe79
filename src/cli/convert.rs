//! `decompose convert`: a kernel file from Triton to the emulator dialect, or back.

use super::args::ConvertArgs;
use super::{Outcome, complain, exit, options, output_failed, print};
use crate::convert::{Form, convert};
use crate::diag::{Diagnostic, codes};
use crate::source::{SourceFile, files};
use crate::syntax::parse_module;

pub fn run(args: &ConvertArgs) -> Outcome {
    let to = match args.to.as_str() {
        "triton" => Form::Triton,
        "emulator" => Form::Emulator,
        other => {
            let error = options::usage(format!("--to does not know `{other}`")).help("use one of: triton, emulator");
            return Err(vec![error]);
        }
    };
    let name = args.file.display().to_string();
    let text =
        files::text(&args.file).map_err(|e| vec![Diagnostic::new(&codes::FILE_UNREADABLE, e.to_string()).in_file(&name)])?;
    let module = parse_module(&SourceFile::new(&name, text)).map_err(|d| vec![*d])?;
    let converted = convert(&module, to)?;
    match &args.output {
        None => print(&converted.text).map_err(|e| vec![output_failed(&e)])?,
        Some(path) => super::lint::write(path, &converted.text)
            .map_err(|e| vec![Diagnostic::new(&codes::OUTPUT_NOT_WRITABLE, e.to_string()).in_file(path.display().to_string())])?,
    }
    if !converted.notes.is_empty() {
        complain(&converted.notes);
    }
    Ok(exit::OK)
}
