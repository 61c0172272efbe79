//! `decompose completions`: a script that completes verbs and flags in a shell.

use clap::CommandFactory;

use super::args::{Cli, CompletionsArgs};
use super::{Outcome, exit, output_failed, print};

pub fn run(args: &CompletionsArgs) -> Outcome {
    print(&script(args.shell)).map_err(|e| vec![output_failed(&e)])?;
    Ok(exit::OK)
}

fn script(shell: clap_complete::Shell) -> String {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "decompose", &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap_complete::Shell;

    #[test]
    fn bash_completes_every_verb_that_is_offered_and_its_flags() {
        let script = script(Shell::Bash);
        assert!(script.contains("complete -F _decompose "), "{script}");
        let command = Cli::command();
        for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let name = verb.get_name();
            assert!(script.contains(&format!("decompose,{name})")), "verb {name}");
            for flag in verb.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(|arg| arg.get_long()) {
                assert!(script.contains(&format!("--{flag}")), "flag --{flag} of {name}");
            }
        }
    }

    #[test]
    fn every_shell_has_a_script() {
        for shell in [Shell::Zsh, Shell::Fish, Shell::PowerShell, Shell::Elvish] {
            let script = script(shell);
            assert!(script.contains("decompose") && script.contains("explain"), "{shell}");
        }
    }
}
