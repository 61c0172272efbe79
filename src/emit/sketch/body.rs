//! The text of a sketch for people: what flows where, and of each kernel its operators, tiles, loops, accesses and memory.

use std::collections::BTreeSet;

use super::{Counted, Sketched, tiling};
use crate::emit::python::prose;
use crate::graph::{Op, ValueId};
use crate::select::plan::{Launch, Plan, Slot};
use crate::select::sketch::{listed, work};
use crate::shape::display;
use crate::template::manifest::KernelClass;
use crate::template::{Blocks, BoundKernel, Operand, OperandAccess};

/// How the head is used.
const HOW: &str = "\
`--sketch FILE` reads the head above and nothing of this text. What may be edited there: `blocks` of a kernel (a key that is left
out is the schedule's to choose), which `nodes` are together, and the order of kernels. `name` is for messages; `template`,
`grid` and `work` follow from the rest and may be left out.
";

/// Everything behind the head.
pub fn text(sketched: &Sketched) -> String {
    let (plan, basis) = (&sketched.planned.plan, sketched.basis);
    let mut text = format!("# Sketch of {}\n\n{HOW}\n", prose(&plan.name));
    text += &format!(
        "{} in {}, {} buffers of {} in all; target {}, precision {}, fusion {}.\n",
        counted(plan.launches.len(), "launch", "launches"),
        counted(plan.kernels.len(), "distinct kernel", "distinct kernels"),
        plan.buffers.len(),
        bytes(plan.buffers.iter().map(|b| (b.len * b.dtype.size()) as u64).sum()),
        basis.target,
        basis.precision,
        basis.fuse,
    );
    for (cluster, reason) in &sketched.planned.missing {
        let name = crate::fuse::why::name(&plan.graph, cluster.anchor);
        text += &format!("\nNo kernel computes {}: {}.\n", code(&name), prose(&reason.message));
    }
    text += &format!("\n## Data flow\n\n```\n{}```\n", flow(plan));
    for (position, (launch, blocks)) in plan.launches.iter().zip(&sketched.planned.blocks).enumerate() {
        text += &kernel(sketched, position, launch, blocks);
    }
    text
}

/// One line a launch: what it reads, and where it writes.
fn flow(plan: &Plan) -> String {
    let mut text = String::new();
    let width = plan.launches.iter().map(|launch| launch.layer.chars().count()).max().unwrap_or(0);
    for (position, launch) in plan.launches.iter().enumerate() {
        let operands: Vec<(&Operand, Slot, ValueId)> = operands(plan, launch).collect();
        let mut read: Vec<String> = Vec::new();
        let mut weights = BTreeSet::new();
        for (operand, slot, _) in operands.iter().filter(|(operand, _, _)| operand.access == OperandAccess::Read) {
            match slot {
                Slot::Weight(value) => drop(weights.insert(*value)),
                Slot::Input(_) | Slot::Buffer(_) => {
                    let name = format!("{} {}", place(plan, *slot), display(&operand.layout.shape));
                    if !read.contains(&name) {
                        read.push(name);
                    }
                }
            }
        }
        if !weights.is_empty() {
            read.push(counted(weights.len(), "weight", "weights"));
        }
        let written: Vec<String> = operands
            .iter()
            .filter(|(operand, _, _)| operand.access == OperandAccess::Write)
            .map(|(operand, slot, _)| format!("{} {}", place(plan, *slot), display(&operand.layout.shape)))
            .collect();
        let name: String = prose(&launch.layer);
        text += &format!("{:>3}  {name:width$}  {} ──▶ {}\n", position + 1, read.join(", "), written.join(", "));
    }
    for &output in plan.graph.outputs() {
        let found = plan.layouts.iter().find(|(value, _, _)| *value == output);
        let from = found.map_or_else(String::new, |(_, slot, _)| place(plan, *slot));
        text += &format!("     returned: {} = {from}\n", prose(&plan.graph.value(output).name));
    }
    text
}

/// Operands of a launch that its kernel takes, with where they lie.
fn operands<'p>(plan: &'p Plan, launch: &'p Launch) -> impl Iterator<Item = (&'p Operand, Slot, ValueId)> {
    let taken = plan.kernels[launch.kernel].operands.iter().filter(|operand| operand.access != OperandAccess::Scratch);
    taken.zip(&launch.operands).map(|(operand, &(slot, value))| (operand, slot, value))
}

fn place(plan: &Plan, slot: Slot) -> String {
    match slot {
        Slot::Input(position) => prose(&plan.graph.value(plan.graph.inputs()[position]).name),
        Slot::Weight(value) => format!("weight {}", prose(&plan.graph.value(value).name)),
        Slot::Buffer(buffer) => format!("b{buffer}"),
    }
}

fn kernel(sketched: &Sketched, position: usize, launch: &Launch, blocks: &Blocks) -> String {
    let plan = &sketched.planned.plan;
    let bound = &plan.kernels[launch.kernel];
    let mut text = format!("\n## {}. {}: {}\n\n", position + 1, prose(&launch.layer), bound.template);
    text += &format!("* Operators: {}; class {}.\n", operators(plan, launch), classes(sketched, launch, bound));
    let tiles = tiling::tiles(bound, blocks, sketched.library);
    text += &format!("* Tiling: {}.\n", if tiles.is_empty() { "none".to_owned() } else { tiles.join("; ") });
    if let Some(last) = bound.launches.last() {
        let sizes: Vec<usize> = last.grid.iter().map(|size| usize::try_from(size.value).unwrap_or(0)).collect();
        let tiles = work(bound);
        let each = if last.grid[0].value == tiles { "a tile each".to_owned() } else { format!("which loop over {tiles} tiles") };
        let programs: usize = sizes.iter().product();
        text += &format!(
            "* Grid: {}: {}, {each}; {}, {}.\n",
            display(&sizes),
            counted(programs, "program", "programs"),
            counted(last.num_warps as usize, "warp", "warps"),
            counted(last.num_stages as usize, "stage", "stages")
        );
    }
    let loops = tiling::loops(bound, blocks);
    text += &format!("* Loops: {}.\n", if loops.is_empty() { "none".to_owned() } else { loops.join("; ") });
    let found = sketched.counted[launch.kernel].as_ref();
    text += &format!("\n{}", accesses(plan, launch, found.ok()));
    let memory = match found {
        Ok(found) => memory(bound, found),
        Err(reason) => format!("Not counted: {}.\n", prose(reason)),
    };
    text + &format!("\n{memory}")
}

/// `conv1` (Conv), …; several nodes of the graph may come from one of the model's file.
fn operators(plan: &Plan, launch: &Launch) -> String {
    let mut names: Vec<String> = Vec::new();
    for node in listed(&plan.imported, &launch.covers) {
        let node = plan.imported.node(node);
        let name = match node.sources.first() {
            Some(source) => format!("{} ({})", code(&source.node), prose(&source.operator)),
            None => node.op.name().to_owned(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// The template's classes, and that of what is fused to it.
fn classes(sketched: &Sketched, launch: &Launch, bound: &BoundKernel) -> String {
    let graph = &sketched.planned.plan.graph;
    let own = sketched.library.find(&bound.template).map_or(&[][..], |template| &template.manifest.classes);
    let mut classes: Vec<KernelClass> = own.to_vec();
    let fused =
        launch.cluster.nodes().into_iter().any(|node| node != launch.cluster.anchor && matches!(graph.node(node).op, Op::Map(_)));
    if fused && !classes.contains(&KernelClass::Elementwise) {
        classes.push(KernelClass::Elementwise);
    }
    let name = |class: &KernelClass| KernelClass::ALL.iter().find(|(known, _)| known == class).map_or("", |(_, name)| *name);
    classes.iter().map(name).collect::<Vec<_>>().join(" + ")
}

/// A row an operand: where it lies, in which blocks it is read or written, and how many bytes.
fn accesses(plan: &Plan, launch: &Launch, counted: Option<&Counted>) -> String {
    let mut text =
        "| operand | lies in | type and shape | block | bytes | moved |\n| --- | --- | --- | --- | ---: | ---: |\n".to_owned();
    for (operand, slot, _) in operands(plan, launch) {
        let store = operand.access == OperandAccess::Write;
        let param = format!("{}_ptr", operand.name);
        let blocks: Vec<String> = counted.map_or_else(Vec::new, |counted| {
            let own = counted.blocks.iter().filter(|(name, is_store, _)| *name == param && *is_store == store);
            own.map(|(_, _, shape)| if shape.is_empty() { "1".to_owned() } else { display(shape) }).collect()
        });
        let moved = counted.and_then(|counted| {
            let traffic = counted.facts.traffic.iter().find(|(name, is_store, _)| *name == param && *is_store == store);
            traffic.map(|(_, _, traffic)| bytes(counted.scaled(traffic.bytes)))
        });
        text += &format!(
            "| {} {} | {} | {} {} | {} | {} | {} |\n",
            if store { "stores" } else { "loads" },
            code(&operand.name),
            code(&place(plan, slot)),
            operand.dtype,
            display(&operand.layout.shape),
            blocks.join(", "),
            bytes(size(operand)),
            moved.unwrap_or_default(),
        );
    }
    text
}

/// Bytes of an operand's elements, each once.
fn size(operand: &Operand) -> u64 {
    let stretched = operand.layout.shape.iter().zip(&operand.layout.strides);
    stretched.filter(|(_, stride)| **stride != 0).map(|(size, _)| *size as u64).product::<u64>() * operand.dtype.size() as u64
}

fn memory(bound: &BoundKernel, counted: &Counted) -> String {
    let taken = |access| bound.operands.iter().filter(move |operand| operand.access == access).map(size).sum::<u64>();
    let (read, written) = (taken(OperandAccess::Read), taken(OperandAccess::Write));
    let flops = counted.scaled(counted.facts.flops.total());
    let room: Vec<String> = counted
        .facts
        .room
        .iter()
        .map(|(name, room)| {
            format!(
                "{:.0} % of {name} ({})",
                counted.facts.live_bytes as f64 * 100.0 / (*room).max(1) as f64,
                bytes(*room as u64)
            )
        })
        .collect();
    let mut text = format!(
        "Memory: reads {}, writes {}; {} FLOPs, {:.2} a byte. Blocks that are live at once: {} a program, {} of {}.",
        bytes(read),
        bytes(written),
        flops,
        flops as f64 / (read + written).max(1) as f64,
        bytes(counted.facts.live_bytes as u64),
        room.join(", "),
        counted.facts.target.name,
    );
    if counted.ran < counted.programs {
        text += &format!(" Counted in the first {} of {} programs, and scaled.", counted.ran, counted.programs);
    }
    text + "\n"
}

fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Text as code in a line or a table of Markdown.
fn code(text: &str) -> String {
    format!("`{}`", prose(text).replace('`', "'").replace('|', "\\|"))
}

/// `1.5 MB`.
fn bytes(n: u64) -> String {
    match n {
        0..1000 => format!("{n} B"),
        1000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.1} GB", n as f64 / 1e9),
    }
}
