//! The `decompose` binary: hands the process's arguments to [`decompose::cli`] and exits with its status.

use std::process::ExitCode;

fn main() -> ExitCode {
    decompose::cli::main(std::env::args_os())
}
