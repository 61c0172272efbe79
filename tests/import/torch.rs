//! Programs that torch exported, each with inputs and the outputs that torch computed for them.
//!
//! `programs.bin` holds names and archives one after the other, each behind its length in eight bytes;
//! `tools/pack_programs.py` made it. A program is there as it was exported and, as `NAME.core`, after
//! `run_decompositions()`. An archive has one entry more than torch writes, `test/values.safetensors`: `input.0`, …,
//! `output.0`, ….
//!
//! A folder of such archives is tried by
//! `PROGRAMS=folder cargo test --release --test import -- --ignored programs_of_a_folder --nocapture`.

use std::io::{Cursor, Read};

use decompose::graph::Op;
use decompose::import::{Binding, torch_export};
use decompose::tensor::{Tensor, stored};

use super::{agrees, all};

/// How many programs `tools/pack_programs.py` packs.
const COUNT: usize = 142;

fn values(archive: &[u8], kind: &str) -> Vec<Tensor> {
    let mut zip = zip::ZipArchive::new(Cursor::new(archive)).unwrap();
    let mut bytes = Vec::new();
    for i in 0..zip.len() {
        let mut entry = zip.by_index(i).unwrap();
        if entry.name().unwrap().ends_with("/test/values.safetensors") {
            entry.read_to_end(&mut bytes).unwrap();
        }
    }
    let tensors = stored::read(&bytes).unwrap();
    (0..).map_while(|i| tensors.get(&format!("{kind}.{i}")).cloned()).collect()
}

fn run(name: &str, archive: &[u8]) -> Result<(), String> {
    let imported = torch_export::from_bytes(name, archive, &Binding::default()).map_err(|errors| all(&errors))?;
    if !imported.unsupported.is_empty() {
        return Err(all(&imported.unsupported));
    }
    agrees(imported, &values(archive, "input"), &values(archive, "output"))
}

/// Takes a stretch of bytes off the front.
fn taken<'b>(rest: &mut &'b [u8]) -> &'b [u8] {
    let (length, behind) = rest.split_first_chunk().unwrap();
    let (taken, behind) = behind.split_at(u64::from_le_bytes(*length) as usize);
    *rest = behind;
    taken
}

/// Names and archives of the pack.
fn programs() -> Vec<(&'static str, &'static [u8])> {
    let mut rest = include_bytes!("programs.bin").as_slice();
    let mut programs = Vec::new();
    while !rest.is_empty() {
        programs.push((std::str::from_utf8(taken(&mut rest)).unwrap(), taken(&mut rest)));
    }
    programs
}

#[test]
fn exported_programs_agree_with_torch() {
    let programs = programs();
    let run = |(name, archive): &(&str, &[u8])| run(name, archive).err().map(|why| format!("{name}: {why}"));
    let failures: Vec<String> = programs.iter().filter_map(run).collect();
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), programs.len(), failures.join("\n"));
    assert_eq!(programs.len(), COUNT, "programs of the pack");
}

/// What torch decomposes is whole again: the nodes of both forms are the same operators on the same shapes, views aside.
#[test]
fn decomposed_programs_have_the_same_nodes() {
    let programs = programs();
    let nodes = |wanted: &str| {
        let (name, archive) = programs.iter().find(|(name, _)| *name == wanted).unwrap();
        let graph = torch_export::from_bytes(name, archive, &Binding::default()).unwrap().graph;
        let described = |node| {
            let node = graph.node(node);
            format!("{:?} -> {:?}", node.op, graph.ty(node.outputs[0]))
        };
        let computing = graph.node_ids().filter(|&id| !matches!(graph.node(id).op, Op::View(_)));
        let mut all: Vec<String> = computing.map(described).collect();
        all.sort();
        all
    };
    for name in ["logsumexp", "linear", "conv1d", "conv2d", "conv3d", "conv_transpose2d", "max_pools", "layer_norm", "group_norm"]
    {
        assert_eq!(nodes(name), nodes(&format!("{name}.core")), "{name}");
    }
}

#[test]
#[ignore = "needs a folder of programs"]
fn programs_of_a_folder() {
    let folder = std::env::var("PROGRAMS").expect("PROGRAMS names a folder");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "pt2"));
    paths.sort();
    let mut failed = 0;
    for path in &paths {
        let name = path.file_name().unwrap().to_string_lossy();
        if let Err(why) = run(&name, &std::fs::read(path).unwrap()) {
            failed += 1;
            println!("{name}: {why}");
        }
    }
    println!("{} of {} programs agree", paths.len() - failed, paths.len());
    assert_eq!(failed, 0);
}
