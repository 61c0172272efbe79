//! The hand-made plan's suite: blessed files, and what `host` reads back from them.

mod targets;

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use expect_test::expect_file;

use super::hand_made::plan;
use super::manifest::{MANIFEST, Manifest};
use super::run::prepared_values;
use super::{EmitOptions, Files, Samples, kernel_module, suite, suite_with_layers};
use crate::diag;
use crate::fuse::{Capabilities, Level};
use crate::graph::op::View;
use crate::graph::{Cluster, Graph, NodeId, Op, Producer, TensorType, ValueId};
use crate::host::{HostArg, KernelArg, KernelLaunch, Modules, Prepare, Trace, prepare, trace_forward};
use crate::select::plan::{Plan, Slot};
use crate::source::SourceFile;
use crate::syntax::parse_module;
use crate::target::Target;
use crate::template::BindOptions;
use crate::template::library::Library;
use crate::template::{ArgumentValue, Layout, OperandAccess};

const OPTIONS: EmitOptions =
    EmitOptions { seed: 0, always_seeded: false, settings: Vec::new(), missing: Vec::new(), refused: Vec::new() };

fn files() -> Files {
    let one = || Samples { elements: vec![0, 143], values: vec![0.5, f64::NAN] };
    suite_with_layers(&plan(), &OPTIONS, &[one(), one(), one()]).unwrap()
}

fn text(files: &Files, path: &str) -> String {
    String::from_utf8(files[path].clone()).unwrap()
}

fn modules(files: &Files) -> diag::Result<Modules> {
    let mut modules = Modules::new();
    for path in files.keys().filter(|path| *path == "run.py" || path.starts_with("kernels/")) {
        let name = path.trim_end_matches(".py").replace('/', ".");
        modules.add(&name, parse_module(&SourceFile::new(path.as_str(), text(files, path)))?)?;
    }
    Ok(modules)
}

fn weight_types(plan: &Plan) -> Vec<(String, TensorType)> {
    plan.graph
        .values()
        .filter(|(_, value)| matches!(value.producer, Producer::Weight(_)))
        .map(|(_, value)| (value.name.clone(), value.ty.clone()))
        .collect()
}

fn read_prepare(plan: &Plan, files: &Files) -> diag::Result<Prepare> {
    prepare(&modules(files)?, "run", &weight_types(plan))
}

fn read_back(plan: &Plan, files: &Files) -> diag::Result<Trace> {
    let modules = modules(files)?;
    let prepared = prepare(&modules, "run", &weight_types(plan))?;
    let prepared = prepared.returned.iter().map(|&step| HostArg::Tensor(prepared.steps[step].ty.clone())).collect();
    let inputs = plan.graph.inputs().iter().map(|&input| HostArg::Tensor(plan.graph.ty(input).clone()));
    let args: Vec<HostArg> = inputs.chain([HostArg::Mapping(weight_types(plan)), HostArg::Tuple(prepared)]).collect();
    trace_forward(&modules, "run", &args)
}

#[test]
fn files_are_blessed_and_the_same_twice() {
    let files = files();
    assert_eq!(files, self::files());
    for path in files.keys() {
        expect_file![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emit/suite").join(path)].assert_eq(&text(&files, path));
    }
}

/// The storage of a slot in the trace of `forward`: inputs, weights, prepared values, then buffers as
/// they were allocated.
fn storage_of(plan: &Plan, slot: Slot) -> (usize, usize) {
    let numel = |value| crate::shape::numel(plan.graph.shape(value)).unwrap();
    let inputs = plan.graph.inputs();
    let weights = weight_types(plan);
    let prepared = prepared_values(plan);
    match slot {
        Slot::Input(i) => (i, numel(inputs[i])),
        Slot::Weight(value) => {
            let name = &plan.graph.value(value).name;
            let at = match weights.iter().position(|(weight, _)| weight == name) {
                Some(at) => at,
                None => weights.len() + prepared.iter().position(|v| *v == value).unwrap(),
            };
            (inputs.len() + at, numel(value))
        }
        Slot::Buffer(i) => (inputs.len() + weights.len() + prepared.len() + i, plan.buffers[i].len),
    }
}

/// Reads a suite and compares every launch with the plan: function, grid, arguments, storages.
fn assert_reads_back(plan: &Plan, files: &Files) {
    let trace = read_back(plan, files).unwrap_or_else(|e| panic!("{}", crate::diag::render::render(&e, false)));
    let mut read = trace.launches();
    let mut scratch = storage_of(plan, Slot::Buffer(plan.buffers.len() - 1)).0 + 1;
    for launch in &plan.launches {
        let kernel = &plan.kernels[launch.kernel];
        let mut slots = launch.operands.iter();
        let storages: Vec<(usize, usize)> = kernel
            .operands
            .iter()
            .map(|operand| match operand.access {
                OperandAccess::Scratch => {
                    scratch += 1;
                    (scratch - 1, operand.layout.storage)
                }
                OperandAccess::Read | OperandAccess::Write => storage_of(plan, slots.next().unwrap().0),
            })
            .collect();
        for bound in &kernel.launches {
            let got: &KernelLaunch = read.next().unwrap();
            assert_eq!(got.module, format!("kernels.{}", kernel_module(kernel)));
            assert_eq!(got.function, bound.function);
            assert_eq!(got.grid.map(i64::from), [0, 1, 2].map(|i| bound.grid[i].value), "{}", got.module);
            assert_eq!((got.num_warps, got.num_stages), (Some(bound.num_warps), Some(bound.num_stages)));
            assert_eq!(got.args.len(), bound.args.len());
            for ((name, got), want) in got.args.iter().zip(&bound.args) {
                assert_eq!(*name, want.param);
                match &want.value {
                    ArgumentValue::Pointer(operand) => {
                        let KernelArg::Tensor(tensor) = got else { panic!("{name} is {got:?}") };
                        let (storage, len) = storages[*operand];
                        assert_eq!(tensor.storage.0, storage, "{name} of {}", bound.function);
                        assert_eq!(trace.storages[storage].len, len);
                        assert_eq!(tensor.offset, 0);
                    }
                    ArgumentValue::Int(int) | ArgumentValue::Constexpr(int) => {
                        assert_eq!(*got, KernelArg::Int(int.value), "{name} = {} of {}", int.text, bound.function);
                    }
                    ArgumentValue::ConstexprFloat(value) => assert_eq!(*got, KernelArg::Float(*value)),
                    ArgumentValue::ConstexprStr(value) => assert_eq!(*got, KernelArg::Str(value.clone())),
                }
            }
        }
    }
    assert!(read.next().is_none());
    let returned: Vec<(usize, &[usize])> = trace.returned.iter().map(|t| (t.storage.0, t.shape.as_slice())).collect();
    let outputs: Vec<(usize, &[usize])> = plan
        .graph
        .outputs()
        .iter()
        .map(|&v| (storage_of(plan, plan.layouts.iter().find(|l| l.0 == v).unwrap().1).0, plan.graph.shape(v)))
        .collect();
    assert_eq!(returned, outputs);
}

#[test]
fn host_reads_back_the_plan() {
    assert_reads_back(&plan(), &files());
}

/// ResNet-50 with the templates of the house.
fn resnet50(level: Level) -> Plan {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/resnet50.onnx");
    let imported = crate::import::onnx::load(&path, &crate::import::Binding::default()).unwrap().graph;
    let graph = crate::fuse::rewrite(&imported, level).unwrap();
    let library = Library::embedded().unwrap();
    let target = Target::find(crate::target::DEFAULT).unwrap();
    let clusters = crate::fuse::cluster(&graph, level, &All).unwrap();
    let bind = |graph: &Graph, cluster: &Cluster, layout: &dyn Fn(ValueId) -> Layout| {
        crate::template::bind(graph, cluster, layout, &library, target, BindOptions::default())
    };
    let planned = crate::select::build::build("resnet50", Arc::new(imported), &graph, clusters, &bind).unwrap();
    assert!(planned.missing.is_empty(), "{:?}", planned.missing);
    planned.plan
}

struct All;

impl Capabilities for All {
    fn takes_epilogues(&self, graph: &Graph, anchor: NodeId) -> bool {
        !matches!(graph.node(anchor).op, Op::Map(_))
    }
}

#[test]
fn resnet50_reads_back() {
    for level in [Level::None, Level::Basic] {
        let plan = resnet50(level);
        let files = suite(&plan, &OPTIONS).unwrap();
        assert_reads_back(&plan, &files);
    }
}

/// What runs of the fused ResNet-50: a change of a template or rule shows in these files.
#[test]
fn fused_resnet50_is_blessed() {
    let mut files = suite(&resnet50(Level::Basic), &OPTIONS).unwrap();
    files.retain(|path, _| path.starts_with("kernels/") || path == "run.py");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emit/resnet50_basic");
    for path in files.keys() {
        expect_file![folder.join(path)].assert_eq(&text(&files, path));
    }
    let blessed: Vec<String> =
        std::fs::read_dir(folder.join("kernels")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    let stale: Vec<&String> = blessed.iter().filter(|name| !files.contains_key(&format!("kernels/{name}"))).collect();
    assert!(stale.is_empty(), "no longer emitted, remove from {}: {stale:?}", folder.display());
}

#[test]
fn prepare_folds_the_normalisation() {
    let plan = plan();
    let read = read_prepare(&plan, &files()).unwrap();
    let element =
        |name: &str| crate::reference::seeded::weight(&plan.graph, plan.graph.find(name).unwrap(), 0, false).unwrap().tensor();
    let prepared = crate::host::prepare_eval::evaluate(&read, |name| Ok(Cow::Owned(element(name).as_ref().clone()))).unwrap();
    let lanes = |name: &str| element(name).as_f32().unwrap().to_vec();
    let (w, gamma, beta) = (lanes("conv.weight"), lanes("bn.weight"), lanes("bn.bias"));
    let (mean, var) = (lanes("bn.running_mean"), lanes("bn.running_var"));
    for k in 0..4 {
        let scale = gamma[k] * (1.0 / (var[k] + 1e-5).sqrt());
        for c in 0..3 {
            assert_eq!(prepared[0].as_f32().unwrap()[3 * k + c], w[3 * k + c] * scale);
        }
        assert_eq!(prepared[1].as_f32().unwrap()[k], beta[k] - mean[k] * scale);
    }
}

/// Launches take two prepared values; a third is returned by the model and taken by no launch.
#[test]
fn the_manifest_names_what_prepare_returns() {
    let mut plan = plan();
    let graph = Arc::make_mut(&mut plan.graph);
    let weight = graph.find("bn.weight").unwrap();
    let ty = TensorType { dtype: graph.dtype(weight), shape: crate::shape::Shape::from_slice(&[2, 2]) };
    let view = Op::View(View::Reshape(ty.shape.clone()));
    let node = graph.add_node(view, &[Some(weight)], vec![("scales".into(), ty)], Vec::new());
    let scales = graph.find("scales").unwrap();
    graph.set_outputs(graph.outputs().iter().copied().chain([scales]).collect());
    plan.preparation.push(node);
    plan.layouts.push((scales, Slot::Weight(scales), Layout::contiguous(&[2, 2])));
    let files = suite(&plan, &OPTIONS).unwrap();
    let manifest: Manifest = serde_json::from_slice(&files[MANIFEST]).unwrap();
    assert_eq!(manifest.prepared, ["conv.weight.folded", "bn.shift", "scales"]);
    let read = read_prepare(&plan, &files).unwrap();
    let returned: Vec<&TensorType> = read.returned.iter().map(|&step| &read.steps[step].ty).collect();
    let named: Vec<&TensorType> = manifest.prepared.iter().map(|name| plan.graph.ty(plan.graph.find(name).unwrap())).collect();
    assert_eq!(returned, named);
}

/// The files with one text replaced, which must stand there exactly once.
fn mutated(path: &str, from: &str, to: &str) -> Files {
    let mut files = files();
    let path = files.keys().find(|p| p.contains(path)).unwrap().clone();
    let old = text(&files, &path);
    assert_eq!(old.matches(from).count(), 1, "`{from}` in {path}");
    files.insert(path, old.replace(from, to).into_bytes());
    files
}

#[test]
fn a_mutated_file_gives_another_trace() {
    let plan = plan();
    let truth = read_back(&plan, &files()).unwrap();
    // Spans differ where a text is longer: compared without them.
    let plain = |trace: &Trace| {
        let launches: Vec<KernelLaunch> =
            trace.launches().map(|l| KernelLaunch { span: crate::source::Span::default(), ..l.clone() }).collect();
        (launches, trace.returned.clone())
    };
    let run = text(&files(), "run.py");
    let dropped = "    relu__00000000relu.launch(b0.view(1, 4, 6, 6), b1.view(1, 4, 6, 6))\n";
    assert!(run.contains(dropped));
    let added = "    add__000000000add.launch(b0.view(4, 36), b1, b2.view(4, 36))\n";
    assert!(run.contains(added));
    for (path, from, to) in [
        ("relu__", "relu_kernel[(triton.cdiv(E, BLOCK),)]", "relu_kernel[(E // BLOCK,)]"),
        ("relu__", "    BLOCK = 64\n", "    BLOCK = 32\n"),
        ("relu__", "num_warps=4", "num_warps=8"),
        ("add__", "a.stride(0), 1, 4,", "a.stride(0), 4, 1,"),
        ("add__", "        a, b, y, N,", "        b, a, y, N,"),
        ("add__", "[(M, triton.cdiv(N, BN))]", "[(triton.cdiv(N, BN), M)]"),
        ("conv2d", "LOW=0.0", "LOW=1.0"),
        ("run.py", dropped, ""),
        ("run.py", added, "    add__000000000add.launch(b1.view(4, 36), b0, b2.view(4, 36))\n"),
        ("run.py", "return b2.view(4, 36)", "return b1.view(4, 36)"),
        ("run.py", "launch(x, conv_weight_folded, bn_shift,", "launch(x, weights[\"conv.weight\"], bn_shift,"),
    ] {
        let trace = read_back(&plan, &mutated(path, from, to)).unwrap_or_else(|e| panic!("{from}: {e}"));
        assert!(plain(&trace) != plain(&truth), "`{from}` → `{to}` is not seen");
    }
}

#[test]
fn a_wrapper_refuses_what_it_was_not_made_for() {
    let plan = plan();
    for (path, from, to, code) in [
        ("run.py", "launch(x, conv_weight_folded, bn_shift,", "launch(x, bn_shift, conv_weight_folded,", "H002"),
        ("run.py", "b1 = torch.empty(144, dtype=torch.float32", "b1 = torch.empty(144, dtype=torch.float16", "H002"),
        ("run.py", "relu.launch(b0.view(1, 4, 6, 6),", "relu.launch(b0.view(1, 4, 6, 6).permute(0, 1, 3, 2),", "H002"),
        ("run.py", "b2 = torch.empty(144", "b2 = torch.empty(145", "H005"),
        ("add__", "        BN=BN,\n", "", "H003"),
        ("add__", "        a, b, y, N,", "        a, b, y, N, N,", "H003"),
        ("run.py", "    return b2.view(4, 36)", "    return torch.relu(b2).view(4, 36)", "H001"),
        ("run.py", "(x, conv_weight_folded,", "(x + 1, conv_weight_folded,", "H001"),
    ] {
        match read_back(&plan, &mutated(path, from, to)) {
            Ok(_) => panic!("`{from}` → `{to}` is accepted"),
            Err(error) => assert_eq!(error.code.id, code, "`{from}` → `{to}`: {error}"),
        }
    }
}

#[test]
fn a_mutated_prepare_is_another_tree() {
    let plan = plan();
    let ops = |files: &Files| -> Vec<_> {
        let prepare = read_prepare(&plan, files).unwrap();
        prepare.steps.into_iter().map(|step| step.op).collect()
    };
    let truth = ops(&files());
    for (from, to) in [("+ 1e-5", "+ 1e-3"), ("weights[\"conv.weight\"] * ", "weights[\"conv.weight\"] / ")] {
        assert_ne!(ops(&mutated("run.py", from, to)), truth, "`{from}`");
    }
}

#[test]
fn names_of_the_model_end_no_text_around_them() {
    let mut plan = plan();
    plan.name = "m\"\"\"\nprint(1)".into();
    plan.launches.iter_mut().for_each(|launch| launch.layer = "a\"\"\"\\\nprint(1)\n\"\"\"`".into());
    let files = suite(&plan, &OPTIONS).unwrap();
    modules(&files).unwrap();
    for (path, bytes) in files.iter().filter(|(path, _)| path.ends_with(".py") || path.ends_with(".md")) {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.lines().any(|line| line.starts_with("print(1)")), "{path}");
        assert!(!text.contains("a\"\"\""), "{path}");
    }
}
