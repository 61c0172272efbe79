//! The command line as clap reads it: words and flags, nothing resolved yet.
//!
//! Flags and verbs of the design that are not offered yet are listed too, so that they are refused by
//! name and not as typing errors; [`super::options`] does the refusing.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Shown by `decompose` without arguments.
pub const EXAMPLES: &str = "\
Usage: decompose MODEL [OPTIONS], or decompose VERB …; `decompose --help` lists all of them

Examples:
  decompose resnet50.onnx                      decompose the embedded ResNet-50 into resnet50-suite/
  decompose model.onnx --dim batch=8 -o out    bind a symbolic dimension, choose the folder
  decompose verify resnet50-suite              verify a suite again after an edit
";

#[derive(Parser, Debug)]
#[command(
    name = "decompose",
    version,
    about = "Turns a neural network into a suite of Triton kernels, each emulated on the CPU and verified",
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Option<Verb>,
    #[command(flatten)]
    pub decompose: DecomposeArgs,
}

#[derive(Subcommand, Debug)]
pub enum Verb {
    /// Show what a model holds: nodes, shapes, and (--map) which template serves each
    Inspect(InspectArgs),
    /// Show the plan of a model without emitting or verifying anything
    Plan(PlanArgs),
    /// Verify a suite again: what changed since the last verification, or all of it
    Verify(VerifyArgs),
    /// Break templates on purpose and show which mistakes verification catches and names
    Mutate(MutateArgs),
    /// Run a kernel on the CPU, watch what it does, and compare what comes out
    Emulate(EmulateArgs),
    /// Look for what a device or its compiler does not take, by static rules
    Lint(LintArgs),
    /// Turn a kernel file into the emulator dialect, or back into Triton
    Convert(ConvertArgs),
    /// Not offered yet
    #[command(hide = true)]
    Repair(Refused),
    /// Answer a KernelBench task with one file, whose ModelNew computes everything in Triton kernels
    Task(TaskArgs),
    /// Not offered yet
    #[command(hide = true)]
    Conform(Refused),
    /// Make, check or list operator templates
    Template(TemplateArgs),
    /// Explain a diagnostic code, or list all of them
    Explain(ExplainArgs),
    /// Print a script that completes verbs and flags in a shell
    Completions(CompletionsArgs),
}

/// Swallows whatever follows a verb that is refused.
#[derive(Args, Debug)]
pub struct Refused {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    pub rest: Vec<String>,
}

/// How a model is found and its shapes are bound.
#[derive(Args, Debug, Default, Clone)]
pub struct ModelArgs {
    /// Bind an input's whole shape (`x=1x3x224x224`); may be given several times
    #[arg(long = "shape", value_name = "INPUT=AxBxC")]
    pub shape: Vec<String>,
    /// Bind a symbolic dimension (`batch=8`); may be given several times
    #[arg(long = "dim", value_name = "NAME=SIZE")]
    pub dim: Vec<String>,
    /// Size of every symbolic dimension that nothing else binds
    #[arg(long, value_name = "N")]
    pub default_dim: Option<usize>,
    /// Which shapes of the registry to use for a model that it lists
    #[arg(long, value_enum, default_value_t = Shapes::Real)]
    pub shapes: Shapes,
}

/// How kernels are chosen.
#[derive(Args, Debug, Default, Clone)]
pub struct KernelArgs {
    /// Element type of floats: the model's own, or every float converted to one
    #[arg(long, default_value = "as-is", value_name = "as-is|f32|f16|bf16")]
    pub dtype: String,
    #[command(flatten)]
    pub planning: PlanningArgs,
}

/// What decides a plan, whatever the element type.
#[derive(Args, Debug, Default, Clone)]
pub struct PlanningArgs {
    /// Precision class of fp32 dots; tf32 truncates operands, the others split them
    #[arg(long, default_value = "ieee", value_name = "ieee|tf32|tf32x3|bf16x6")]
    pub precision: String,
    /// Hardware the kernels are scheduled for
    #[arg(long, default_value = "sm_90", value_name = "TARGET")]
    pub target: String,
    /// How much to fuse
    #[arg(long, default_value = "basic", value_name = "none|basic")]
    pub fuse: String,
    /// A folder of operator templates beside the built-in ones
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
}

/// How results are shown.
#[derive(Args, Debug, Default, Clone)]
pub struct OutputArgs {
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
    /// Say more
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Args, Debug, Default)]
pub struct DecomposeArgs {
    /// A model file (.onnx), or a name of shapes_registry.yaml
    #[arg(value_name = "MODEL", required = true)]
    pub model: Option<PathBuf>,
    /// Folder to write the suite to [default: <model>-suite]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub binding: ModelArgs,
    #[command(flatten)]
    pub kernels: KernelArgs,
    /// Which weights to use
    #[arg(long, default_value = "auto", value_name = "auto|model|seeded")]
    pub weights: String,
    /// Seed of generated weights and inputs
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// What to verify: each kernel once, each launch, or of each kernel every access and some values
    #[arg(long, default_value = "unique", value_name = "unique|all|sampled|none")]
    pub verify: String,
    /// Only this kernel, node, template or operator; the beginning of a name will do
    #[arg(long, value_name = "KERNEL|NODE|TEMPLATE|OPERATOR")]
    pub only: Option<String>,
    /// What to write: a suite of kernels, each distinct layer as a task in KernelBench's format, or the algorithm sketch
    #[arg(long, default_value = "suite", value_name = "suite|tasks|sketch")]
    pub emit: String,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Overwrite a suite with edited files; files that were added to it go, too
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub output_form: OutputArgs,
    /// Panics where this stage begins: for tests of what an internal error leaves
    #[arg(long, hide = true, value_name = "STAGE")]
    pub inject_fault: Option<String>,
    /// A sketch (of --emit sketch, edited) whose kernels, blocks and order the plan follows
    #[arg(long, value_name = "FILE")]
    pub sketch: Option<PathBuf>,
    /// Not offered yet
    #[arg(long, hide = true)]
    pub init_seed: Option<String>,
    #[command(flatten)]
    pub data: DataArgs,
}

/// A user's own arrays.
#[derive(Args, Debug, Default)]
pub struct DataArgs {
    /// Verify on an array of your own, too: an input of the model, or with --only an operand of the kernel
    #[arg(long, value_name = "[NAME=]X.npy")]
    pub input: Vec<String>,
    /// What must come out for --input, under the derived bound [default: what the reference gives]
    #[arg(long, value_name = "[NAME=]Y.npy", requires = "input")]
    pub expect: Vec<String>,
}

#[derive(Args, Debug)]
pub struct InspectArgs {
    /// A model file (.onnx), or a name of shapes_registry.yaml
    pub model: PathBuf,
    /// Print source node → operator → template
    #[arg(long)]
    pub map: bool,
    #[command(flatten)]
    pub binding: ModelArgs,
    #[command(flatten)]
    pub kernels: KernelArgs,
    #[command(flatten)]
    pub output_form: OutputArgs,
}

#[derive(Args, Debug)]
pub struct PlanArgs {
    /// A model file (.onnx), or a name of shapes_registry.yaml
    pub model: PathBuf,
    /// Print Graphviz
    #[arg(long)]
    pub dot: bool,
    /// Print for each launch why its nodes are computed together, and why no others
    #[arg(long, conflicts_with = "dot")]
    pub why: bool,
    #[command(flatten)]
    pub binding: ModelArgs,
    #[command(flatten)]
    pub kernels: KernelArgs,
    #[command(flatten)]
    pub output_form: OutputArgs,
}

#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// A suite's folder
    pub suite: PathBuf,
    /// What to verify: each kernel once, each launch, or of each kernel every access and some values
    #[arg(long, default_value = "unique", value_name = "unique|all|sampled")]
    pub verify: String,
    /// Verify everything, changed or not
    #[arg(long)]
    pub all: bool,
    /// Only this kernel, node, template or operator; the beginning of a name will do
    #[arg(long, value_name = "KERNEL|NODE|TEMPLATE|OPERATOR")]
    pub only: Option<String>,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Seed of generated inputs [default: the suite's]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Verify on the inputs of so many seeds: N, N + 1, …
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub trials: u64,
    #[command(flatten)]
    pub data: DataArgs,
    /// Verify again after every save, until Ctrl-C
    #[arg(long)]
    pub rerun: bool,
    #[command(flatten)]
    pub output_form: OutputArgs,
    /// The task that a modelnew.py answers (TASK.py, or the pair that it was exported to)
    #[arg(long, value_name = "TASK", conflicts_with_all = ["all", "only", "trials", "input", "expect", "rerun"])]
    pub task: Option<PathBuf>,
    #[command(flatten)]
    pub exporting: ExportArgs,
    /// With --task: precision class that fp32 dots are held to
    #[arg(long, default_value = "ieee", value_name = "ieee|tf32|tf32x3|bf16x6", requires = "task")]
    pub precision: String,
    /// With --task: hardware whose coding rules are errors
    #[arg(long, default_value = "sm_90", value_name = "TARGET", requires = "task")]
    pub target: String,
}

/// How a task is exported.
#[derive(Args, Debug, Default, Clone)]
pub struct ExportArgs {
    /// The interpreter that exports a task; it needs torch
    #[arg(long, value_name = "PYTHON", default_value = "python3")]
    pub python: PathBuf,
    /// Start no Python: take the pair that lies beside the task
    #[arg(long, conflicts_with = "python")]
    pub no_python: bool,
    /// What torch.manual_seed is given first, or none where the harness seeds both models
    #[arg(long, default_value = "0", value_name = "N|none")]
    pub init_seed: String,
    /// Lower module-level integers of the task above N to N, for shapes that are verified quickly
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    pub reduce: Option<i64>,
}

#[derive(Args, Debug)]
pub struct TaskArgs {
    /// A task (TASK.py), or the pair that tools/export_task.py wrote (TASK.pt2, TASK.json)
    #[arg(value_name = "TASK")]
    pub task: PathBuf,
    /// File to write [default: modelnew.py, or sketch.md]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub exporting: ExportArgs,
    #[command(flatten)]
    pub planning: PlanningArgs,
    /// What the names of kernels begin with [default: after the task's file]
    #[arg(long, value_name = "NAME")]
    pub op_name: Option<String>,
    /// What to write: the answer, or the algorithm sketch that it follows
    #[arg(long, default_value = "modelnew", value_name = "modelnew|sketch")]
    pub emit: String,
    /// A sketch (of --emit sketch, edited) whose kernels, blocks and order the plan follows
    #[arg(long, value_name = "FILE")]
    pub sketch: Option<PathBuf>,
    /// Whether to verify the file: at its own sizes, or in its place the one that the task gets at smaller sizes (--reduce N,
    /// 32 where nothing is said)
    #[arg(long, default_value = "unique", value_name = "unique|reduced|none")]
    pub verify: String,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub output_form: OutputArgs,
}

#[derive(Args, Debug)]
pub struct EmulateArgs {
    /// A file with kernels (.py)
    #[arg(value_name = "KERNEL", required_unless_present_any = ["lower_batch", "recording"])]
    pub kernel: Option<PathBuf>,
    /// Replay a launch that tools/record_launches.py recorded, or all below a folder, and compare with what the device wrote
    #[arg(long, value_name = "DIR", conflicts_with_all = ["kernel", "entry", "run", "args", "grid", "expect", "save", "config", "target", "dense", "stats", "trace", "show", "step", "lower", "lower_batch", "dump"])]
    pub recording: Option<PathBuf>,
    /// Which kernel of the file [default: every one that a launch is described of]
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    /// Launch descriptions [default: the `# run:` comments of the file]
    #[arg(long, value_name = "FILE.yaml")]
    pub run: Option<PathBuf>,
    /// What an argument is, whatever the descriptions say: `x_ptr=f32[64, 32] normal`, `n=1000`; may be given several times
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub args: Vec<String>,
    /// The grid, whatever the descriptions say: `cdiv(n, BLOCK)`
    #[arg(long, value_name = "EXPR")]
    pub grid: Option<String>,
    /// What a tensor must hold in the end, as a formula or a file: `y_ptr=x_ptr * 2`, `y_ptr=y.npy`
    #[arg(long, value_name = "NAME=FORMULA|FILE")]
    pub expect: Vec<String>,
    /// Write what the kernel stored: one tensor (`y=out.npy`), all into a folder, or all into a .safetensors file
    #[arg(long, value_name = "[NAME=]PATH")]
    pub save: Vec<String>,
    /// Which configuration of @triton.autotune, counted from 0, or all [default: the first, where no description says more]
    #[arg(long, value_name = "N|all")]
    pub config: Option<String>,
    /// Hardware whose rules and limits are looked at
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Seed of generated inputs
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Instructions that one program may execute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub fuel: Option<u64>,
    /// Bytes of block values that one program may hold
    #[arg(long, value_name = "BYTES")]
    pub memory: Option<usize>,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Hold every block value lane by lane (slower; the oracle of the fast forms)
    #[arg(long)]
    pub dense: bool,
    /// Count bytes, sectors and FLOPs, and what --target makes of them [default target: sm_90]
    #[arg(long)]
    pub stats: bool,
    /// Only faults: say nothing of dead stores, unused masks, lossy casts, NaN made, and results that depend on the order of programs
    #[arg(long)]
    pub no_warnings: bool,
    /// Tell each line of one program as it is executed, with values (`3`, or `1,0,2`)
    #[arg(long, value_name = "PROGRAM", conflicts_with_all = ["show", "step", "stats", "json"])]
    pub trace: Option<String>,
    /// Tell what a variable of the kernel holds in the end, in each program
    #[arg(long, value_name = "NAME", conflicts_with_all = ["step", "stats", "json"])]
    pub show: Option<String>,
    /// Step through one program, line by line (commands on stdin: n, c, p NAME, m, q)
    #[arg(long, value_name = "PROGRAM", num_args = 0..=1, default_missing_value = "0", conflicts_with_all = ["stats", "json"])]
    pub step: Option<String>,
    /// Only lower the kernel to the verified IR, for the types given by --arg (`x_ptr=*f32`, `n=i32`, `BLOCK=64`); prints a line of JSON
    #[arg(long)]
    pub lower: bool,
    /// Lower the kernels that stdin asks for, one line of JSON each ({"file": …, "entry": …, "args": {…}})
    #[arg(long, conflicts_with_all = ["kernel", "entry", "args", "lower"])]
    pub lower_batch: bool,
    /// Print the IR of the kernel, in TTIR's syntax, and run nothing
    #[arg(long, value_name = "ir|ttir")]
    pub dump: Option<String>,
    #[command(flatten)]
    pub output_form: OutputArgs,
}

#[derive(Args, Debug)]
pub struct TemplateArgs {
    #[command(subcommand)]
    pub verb: TemplateVerb,
}

#[derive(Subcommand, Debug)]
pub enum TemplateVerb {
    /// Write a template to start from
    New(TemplateNewArgs),
    /// Probe the fusion anchors of templates
    Check(TemplateCheckArgs),
    /// List templates with what they implement
    List(TemplateListArgs),
}

#[derive(Args, Debug)]
pub struct TemplateNewArgs {
    /// The template's folder; its last part is the template's name
    #[arg(value_name = "NAME")]
    pub folder: PathBuf,
    /// What it computes: an operator (Relu, Conv), a template (matmul), or an operator of your own (com.example.Swoosh)
    #[arg(long, value_name = "OP")]
    pub implements: String,
    /// What one element of an operator of your own is ("X * sigmoid(X)")
    #[arg(long)]
    pub formula: Option<String>,
}

#[derive(Args, Debug)]
pub struct TemplateCheckArgs {
    /// Folders of templates, or names; all templates when there is none
    #[arg(value_name = "DIR|NAME")]
    pub which: Vec<String>,
    /// A folder of operator templates beside the built-in ones
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
    /// One row a run
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Args, Debug)]
pub struct TemplateListArgs {
    /// A folder of operator templates beside the built-in ones
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct CompletionsArgs {
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// A code of a message (A001)
    pub code: Option<String>,
}

#[derive(Args, Debug)]
pub struct MutateArgs {
    /// Templates to break, or `run.py` [default: all]
    #[arg(value_name = "TEMPLATE")]
    pub subjects: Vec<String>,
    /// A folder of operator templates beside the built-in ones
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
    /// Only every N-th mutation of each operator
    #[arg(long, value_name = "N", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    pub every: Option<usize>,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    #[command(flatten)]
    pub output_form: OutputArgs,
}

#[derive(Args, Debug)]
pub struct ConvertArgs {
    /// A file with kernels (.py)
    #[arg(value_name = "KERNEL")]
    pub file: PathBuf,
    /// The form to write
    #[arg(long, value_name = "triton|emulator")]
    pub to: String,
    /// Where to write it [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct LintArgs {
    /// Files with kernels (.py), or folders of such files
    #[arg(value_name = "KERNEL", required = true)]
    pub files: Vec<PathBuf>,
    /// The device: sm_90, sm_80, gfx942, ascend910b1 … [default: none; only rules for every device]
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Instead: whether `ModelNew.forward` computes anything in PyTorch
    #[arg(long, value_name = "MODE", conflicts_with_all = ["target", "fix"])]
    pub ban: Option<BanMode>,
    /// Mend what is mechanical, in the files
    #[arg(long)]
    pub fix: bool,
    /// Print SARIF 2.1.0
    #[arg(long)]
    pub sarif: bool,
    /// Print one JSON document
    #[arg(long, conflicts_with = "sarif")]
    pub json: bool,
    /// The value of a constexpr (`BM=64`); launches, configs and defaults in the file give the rest
    #[arg(long = "constexpr", value_name = "NAME=VALUE")]
    pub constexprs: Vec<String>,
    /// The type of a parameter (`x_ptr=*fp16`) [default: pointers to fp32, int32]
    #[arg(long = "arg", value_name = "NAME=TYPE")]
    pub args: Vec<String>,
    /// Where neither a launch nor a config says it
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = warps)]
    pub num_warps: i64,
    /// Where neither a launch nor a config says it
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(i64).range(1..))]
    pub num_stages: i64,
}

/// How much the ban on PyTorch allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BanMode {
    /// Buffers, strides, metadata and launches
    Strict,
    /// Copies and fills of buffers, too
    Lenient,
}

/// A number of warps, as Triton takes it.
fn warps(text: &str) -> Result<i64, String> {
    match text.parse::<i64>() {
        Ok(n @ 1..) if (n as u64).is_power_of_two() => Ok(n),
        _ => Err("not a power of two from 1 on".to_owned()),
    }
}

/// Which of the registry's shapes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Shapes {
    /// The shapes of real use
    #[default]
    Real,
    /// Small spatial sizes (8 to 32), for quick tests
    Unit,
}
