//! `emulate --trace`, `--show` and `--step`: programs watched line by line.

use std::io::{BufRead, Write};

use super::super::{Outcome, exit, options, output_failed, print};
use crate::emulate::observe::Go;
use crate::pipeline::Cancel;
use crate::pipeline::emulate::trace::{Event, Known, access, mask, text};
use crate::pipeline::emulate::{Asked, watch};

/// `3` or `1,0,2`.
fn program(words: &str) -> Outcome<[u32; 3]> {
    let ids: Option<Vec<u32>> = words.split(',').map(|word| word.trim().parse().ok()).collect();
    match ids.as_deref() {
        Some(&[x]) => Ok([x, 0, 0]),
        Some(&[x, y]) => Ok([x, y, 0]),
        Some(&[x, y, z]) => Ok([x, y, z]),
        _ => {
            Err(vec![options::usage(format!("`{words}` is no program")).help("write its id along the grid's axes: 3, or 1,0,2")])
        }
    }
}

fn id(program: [u32; 3]) -> String {
    let [x, y, z] = program;
    format!("program ({x}, {y}, {z})")
}

/// What happens, in words; a line comes with its number.
fn told(event: &Event) -> String {
    match event {
        Event::Line(_, line, text) => format!("{line:>5} | {text}\n"),
        Event::Assigned(name, shown) => format!("      |   {name}: {}\n", text(shown)),
        Event::Access(name, touched, stored) => {
            let value = stored.as_ref().map_or_else(String::new, |shown| format!(": {}", text(shown)));
            format!("      |   {}{value}\n", access(name, touched))
        }
    }
}

fn heading(name: &str) {
    if !name.is_empty() {
        say(&format!("# {name}\n"));
    }
}

/// A closed pipe ends the process with status 0, as everywhere.
fn say(text: &str) {
    if let Err(error) = print(text) {
        let _ = output_failed(&error);
    }
}

/// Every line of one program.
pub fn trace(asked: &Asked, words: &str, cancel: &Cancel) -> Outcome {
    let wanted = program(words)?;
    let mut any = false;
    watch(asked, cancel, &|program| program == wanted, &mut heading, &mut |event| {
        if !any {
            say(&format!("{}\n", id(wanted)));
            any = true;
        }
        say(&told(&event));
        Go::On
    })?;
    if any { Ok(exit::OK) } else { Err(vec![options::usage(format!("{} is not in the grid", id(wanted)))]) }
}

/// What a variable holds at the end of each program.
pub fn show(asked: &Asked, name: &str, cancel: &Cancel) -> Outcome {
    let mut known = Known::default();
    let mut names = std::collections::BTreeSet::new();
    let mut current: Option<[u32; 3]> = None;
    let mut any = false;
    let mut finish = |program: Option<[u32; 3]>, known: &mut Known| {
        if let (Some(program), Some(shown)) = (program, known.values.remove(name)) {
            say(&format!("{}: {name}: {}\n", id(program), text(&shown)));
            any = true;
        }
        *known = Known::default();
    };
    let outcome = watch(asked, cancel, &|_| true, &mut heading, &mut |event| {
        if let Event::Line(program, ..) = &event
            && current != Some(*program)
        {
            finish(current, &mut known);
            current = Some(*program);
        }
        if let Event::Assigned(assigned, _) = &event {
            names.insert(assigned.clone());
        }
        known.note(&event);
        Go::On
    });
    finish(current, &mut known);
    outcome?;
    if !any {
        let error = options::usage(format!("no program assigns a variable `{name}`"));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(vec![error.note(format!("assigned: {}", names.join(", ")))]);
    }
    Ok(exit::OK)
}

const COMMANDS: &str = "n: next line; c: to the end; p NAME: what a variable holds; m: the last access's mask; q: quit\n";

/// Line by line, as stdin says.
pub fn step(asked: &Asked, words: &str, cancel: &Cancel) -> Outcome {
    let wanted = program(words)?;
    let mut known = Known::default();
    let mut stops = true;
    let mut lines = std::io::stdin().lock().lines();
    say(&format!("{}\n{COMMANDS}", id(wanted)));
    watch(asked, cancel, &|program| program == wanted, &mut heading, &mut |event| {
        known.note(&event);
        say(&told(&event));
        if !stops || !matches!(event, Event::Line(..)) {
            return Go::On;
        }
        loop {
            let _ = std::io::stderr().write_all(b"> ");
            let Some(Ok(command)) = lines.next() else { return Go::Stop };
            match command.split_whitespace().collect::<Vec<_>>().as_slice() {
                [] | ["n"] => return Go::On,
                ["c"] => {
                    stops = false;
                    return Go::On;
                }
                ["q"] => return Go::Stop,
                ["m"] => say(&match &known.access {
                    Some((name, touched)) => format!("{}: {}\n", access(name, touched), mask(touched)),
                    None => "nothing has been loaded or stored\n".to_owned(),
                }),
                ["p", name] => say(&match known.values.get(*name) {
                    Some(shown) => format!("{name}: {}\n", text(shown)),
                    None => {
                        let names: Vec<&str> = known.values.keys().map(String::as_str).collect();
                        format!("`{name}` holds nothing yet; known: {}\n", names.join(", "))
                    }
                }),
                _ => say(COMMANDS),
            }
        }
    })?;
    Ok(exit::OK)
}
