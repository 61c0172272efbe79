//! The plan that a suite's manifest tells of, as far as the suite's files can be emitted from it again.
//!
//! Everything but the text of the kernels is there: `reference` and `test` of each kernel's file, all of
//! `run.py`, `weights.py` and `README.md` follow from the graphs, the operands and the order of
//! launches. A restored kernel has no text, and its wrapper has numbers where the emitted one has
//! expressions; both are judged by running, never by comparison.
//!
//! Restoring believes the manifest: `conform` checks first that its parts fit together.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::EmitOptions;
use super::manifest::{AccessEntry, KernelEntry, Manifest, OperandEntry, SlotEntry};
use crate::diag::{self, Diagnostic, codes};
use crate::dtype::DType;
use crate::graph::op::View;
use crate::graph::{Cluster, Graph, NodeId, Op, Producer, ValueId};
use crate::select::plan::{Buffer, Launch, Plan, Slot};
use crate::shape::{Shape, Strides};
use crate::template::{Argument, ArgumentValue, BoundKernel, BoundLaunch, HostInt, Layout, Operand, OperandAccess};

/// The plan and the options of a suite, from its manifest and the two graphs in it.
///
/// # Errors
/// U008 where the manifest names what its graphs lack.
pub fn restore(manifest: &Manifest, imported: &Graph, rewritten: &Graph) -> diag::Result<(Plan, EmitOptions)> {
    let mut graph = rewritten.clone();
    // A graph that was read covers itself; what it covers of the imported graph is said by operands.
    for node in graph.node_ids().collect::<Vec<_>>() {
        graph.set_covers(node, Vec::new());
    }
    let kernels = manifest.kernels.iter().map(|kernel| bound(kernel).map(Arc::new)).collect::<diag::Result<Vec<_>>>()?;
    let find = |graph: &Graph, name: &str| graph.find(name).ok_or_else(|| absent(name));
    let mut launches = Vec::new();
    for entry in &manifest.launches {
        let mut operands = Vec::new();
        for used in &entry.operands {
            let value = find(&graph, &used.value)?;
            if let Some(name) = &used.imported {
                let original = find(imported, name)?;
                if let (Some(node), Some(cover)) = (producer(&graph, value), producer(imported, original)) {
                    graph.set_covers(node, vec![cover]);
                }
            }
            let slot = match &used.slot {
                SlotEntry::Input(i) => Slot::Input(*i),
                SlotEntry::Weight(base) => Slot::Weight(find(&graph, base)?),
                SlotEntry::Buffer(i) => Slot::Buffer(*i),
            };
            operands.push((slot, value));
        }
        let covers = entry.covers.iter().map(|name| producer(imported, find(imported, name)?).ok_or_else(|| absent(name)));
        let covers = covers.collect::<diag::Result<Vec<NodeId>>>()?;
        let anchor = operands.iter().rev().find_map(|&(_, value)| producer(&graph, value)).ok_or_else(|| absent(&entry.layer))?;
        let (kernel, layer) = (entry.kernel, entry.layer.clone());
        launches.push(Launch { kernel, operands, cluster: Cluster::of(anchor), covers, layer });
    }
    let buffers = manifest.buffers.iter().map(|buffer| {
        let dtype = DType::from_name(&buffer.dtype).ok_or_else(|| absent(&buffer.dtype))?;
        Ok(Buffer { dtype, len: buffer.len, live: (0, 0) })
    });
    let preparation = graph.topological().unwrap_or_default();
    let preparation = preparation.into_iter().filter(|&node| graph.is_prepared(graph.node(node).outputs[0])).collect();
    let layouts = returned(&graph, &kernels, &launches);
    let plan = Plan {
        name: manifest.name.clone(),
        imported: Arc::new(imported.clone()),
        buffers: buffers.collect::<diag::Result<_>>()?,
        kernels,
        launches,
        layouts,
        preparation,
        graph: Arc::new(graph),
    };
    let options = EmitOptions {
        seed: manifest.seed,
        always_seeded: manifest.always_seeded,
        settings: manifest.settings.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        missing: manifest.missing.clone(),
        refused: manifest.refused.clone(),
    };
    Ok((plan, options))
}

fn absent(name: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&codes::SUITE_INVALID, format!("the manifest names `{name}`, which it does not hold")))
}

fn producer(graph: &Graph, value: ValueId) -> Option<NodeId> {
    match graph.value(value).producer {
        Producer::Node { node, .. } => Some(node),
        Producer::Input(_) | Producer::Weight(_) => None,
    }
}

/// Where the model's outputs lie: in the slot of the value that each is, or is a view of.
fn returned(graph: &Graph, kernels: &[Arc<BoundKernel>], launches: &[Launch]) -> Vec<(ValueId, Slot, Layout)> {
    let mut slots: HashMap<ValueId, Slot> = HashMap::new();
    for launch in launches {
        let outside =
            kernels.get(launch.kernel).into_iter().flat_map(|k| &k.operands).filter(|o| o.access != OperandAccess::Scratch);
        for (operand, &(slot, value)) in outside.zip(&launch.operands) {
            if operand.access == OperandAccess::Write {
                slots.insert(value, slot);
            }
        }
    }
    let place = |&output: &ValueId| {
        let mut root = output;
        while let Some(node) = producer(graph, root)
            && let Op::View(View::Reshape(_)) = graph.node(node).op
            && let Some(source) = graph.node(node).inputs[0]
            && !graph.is_prepared(root)
        {
            root = source;
        }
        let slot = if graph.is_prepared(root) { Some(Slot::Weight(root)) } else { slots.get(&root).copied() };
        slot.map(|slot| (output, slot, Layout::contiguous(graph.shape(output))))
    };
    graph.outputs().iter().filter_map(place).collect()
}

fn bound(kernel: &KernelEntry) -> diag::Result<BoundKernel> {
    let operands = kernel.operands.iter().map(operand).collect::<diag::Result<Vec<Operand>>>()?;
    let int = |value: i64| HostInt { value, text: value.to_string() };
    let launches = kernel.launches.iter().map(|launch| {
        let args = launch.args.iter().map(|(param, value)| {
            let value = match value {
                Value::String(text) => match operands.iter().position(|o| o.name == *text) {
                    Some(at) => ArgumentValue::Pointer(at),
                    None => ArgumentValue::ConstexprStr(text.clone()),
                },
                Value::Number(number) => match number.as_i64() {
                    Some(value) => ArgumentValue::Int(int(value)),
                    None => ArgumentValue::ConstexprFloat(number.as_f64().unwrap_or(f64::NAN)),
                },
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => ArgumentValue::ConstexprFloat(f64::NAN),
            };
            Argument { param: param.clone(), value }
        });
        BoundLaunch {
            function: launch.function.clone(),
            locals: Vec::new(),
            grid: launch.grid.map(int),
            args: args.collect(),
            num_warps: launch.num_warps,
            num_stages: launch.num_stages,
        }
    });
    let launches = launches.collect();
    Ok(BoundKernel { template: kernel.template.clone(), key: kernel.key.clone(), text: String::new(), operands, launches })
}

fn operand(entry: &OperandEntry) -> diag::Result<Operand> {
    let layout = Layout {
        shape: Shape::from_slice(&entry.shape),
        strides: Strides::from_slice(&entry.strides),
        offset: entry.offset,
        storage: entry.storage,
    };
    let access = match entry.access {
        AccessEntry::Read => OperandAccess::Read,
        AccessEntry::Write => OperandAccess::Write,
        AccessEntry::Scratch => OperandAccess::Scratch,
    };
    let dtype = DType::from_name(&entry.dtype).ok_or_else(|| absent(&entry.dtype))?;
    Ok(Operand { name: entry.name.clone(), dtype, layout, access })
}
