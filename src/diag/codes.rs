//! Every diagnostic code, in one flat table: `id`, class, title.
//!
//! A code is never reused for another meaning. The first letter says the stage: U usage and files,
//! M model, S syntax of Python or YAML, K kernel language, A fault of a running kernel (with a
//! line), B wrong shape or grid, C wrong values, H host code, E launch descriptions, T templates, N rules for
//! NPUs, G rules for GPUs, F falls back to PyTorch, V conversion, L limits, X internal.

use super::Class;

/// A kind of message. Compare by address or by `id`.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    pub id: &'static str,
    pub class: Class,
    /// A few words, the same in every message of this code.
    pub title: &'static str,
}

macro_rules! codes {
    ($($name:ident = $id:literal, $class:ident, $title:literal;)*) => {
        $(pub static $name: Code = Code { id: $id, class: Class::$class, title: $title };)*
        /// The whole table, in order of appearance.
        pub static ALL: &[&Code] = &[$(&$name),*];
    };
}

codes! {
    USAGE = "U001", Usage, "wrong command line";
    FILE_UNREADABLE = "U002", Usage, "file cannot be read";
    FILE_NOT_A_MODEL = "U003", Usage, "file is not a model";
    OUTPUT_NOT_WRITABLE = "U004", Usage, "output cannot be written";
    OUTPUT_IN_THE_WAY = "U005", Usage, "output folder is not ours to replace";
    NOT_OFFERED = "U006", Unsupported, "not offered yet";
    YAML_INVALID = "U007", Usage, "invalid YAML";
    SUITE_INVALID = "U008", Usage, "not a kernel suite";
    INTERRUPTED = "U009", Usage, "interrupted";
    TASK_INVALID = "U010", Usage, "not a task that can be used";
    SKETCH_OTHER = "U011", Usage, "not a sketch of this run";
    SKETCH_REFUSED = "U012", Usage, "sketch that cannot be followed";

    MODEL_INVALID = "M001", Usage, "invalid model";
    MODEL_CYCLE = "M002", Usage, "cycle in the model";
    MODEL_NAMES = "M003", Usage, "missing or duplicate value name";
    MODEL_SHAPES = "M004", Usage, "contradictory shapes";
    MODEL_INITIALIZER = "M005", Usage, "initializer does not fit its type";
    MODEL_DIMENSION = "M006", Usage, "unbound dimension";
    MODEL_EMPTY_DIMENSION = "M007", Usage, "zero-sized dimension";
    OP_UNSUPPORTED = "M008", Unsupported, "operator not supported";
    DTYPE_UNSUPPORTED = "M009", Unsupported, "element type not supported";
    EXTERNAL_DATA = "M010", Usage, "external data cannot be used";
    MODEL_VERSION = "M011", Unsupported, "model version not supported";
    GRAPH_INVALID = "M012", Internal, "graph is not well formed";
    GRAPH_SYNTAX = "M013", Usage, "graph text syntax error";

    PYTHON_SYNTAX = "S001", Bug, "Python syntax error";
    EXPRESSION = "S002", Usage, "invalid expression";

    KERNEL_UNSUPPORTED = "K001", Unsupported, "Triton feature not supported";
    KERNEL_REJECTED = "K002", Bug, "Triton does not compile this";
    KERNEL_TYPE = "K003", Bug, "type error in a kernel";
    KERNEL_ENTRY = "K004", Usage, "no such kernel";
    IR_INVALID = "K005", Internal, "kernel IR is not well formed";
    IR_SYNTAX = "K006", Usage, "invalid TTIR";
    KERNEL_ARGUMENTS = "K007", Usage, "arguments do not fit the kernel";

    OUT_OF_BOUNDS_LOAD = "A001", Bug, "load out of bounds";
    OUT_OF_BOUNDS_STORE = "A002", Bug, "store out of bounds";
    POISON_STORED = "A003", Bug, "undefined lane reaches a store";
    POISON_ADDRESS = "A004", Bug, "undefined lane reaches an address";
    POISON_BRANCH = "A005", Bug, "undefined lane reaches a branch";
    NEVER_WRITTEN = "A006", Bug, "output element never written";
    WRITE_RACE = "A007", Bug, "two programs write one element";
    READ_RACE = "A008", Bug, "a program reads what another wrote";
    DIVISION_BY_ZERO = "A009", Bug, "integer division by zero";
    UNINITIALISED_READ = "A010", Bug, "load of memory that nothing has written";
    INTEGER_WRAPPED = "A011", Bug, "wrapped integer used";
    ASSERT_FAILED = "A012", Bug, "assertion failed";
    LANES_DISAGREE = "A013", Bug, "lanes of one store disagree";
    READ_ONLY_STORED = "A014", Bug, "store to an operand that is only read";
    DEADLOCK = "A015", Bug, "programs wait for ever";
    LANES_EXCHANGE = "A016", Bug, "lanes exchange a value without a barrier";
    FALSE_HINT = "A017", Bug, "a promise about a value does not hold";
    FALSE_ASSUMPTION = "A018", Bug, "an assumption does not hold";
    MIXED_ACCESS = "A019", Bug, "a plain access meets an atomic one";
    MISALIGNED = "A020", Bug, "misaligned address";
    ORDER_DEPENDENT = "A021", Bug, "results depend on the order of programs";
    NOT_FINITE = "A022", Bug, "NaN or Inf made and stored";
    SHIFT_RANGE = "A023", Bug, "shift out of range";
    LOSSY_CAST = "A024", Bug, "cast loses the value";
    UNUSED_MASK = "A025", Bug, "mask computed and not used";
    DEAD_STORE = "A026", Bug, "element stored twice";

    SHAPE_MISMATCH = "B001", Bug, "output has the wrong shape";
    GRID_MISMATCH = "B002", Bug, "grid does not cover the output";

    HAS_NAN = "C001", Bug, "NaN or Inf where the reference is finite";
    ALL_ZERO = "C002", Bug, "output is all zero";
    VALUE_MISMATCH = "C003", Bug, "values differ from the reference";
    SIGNAL_DEAD = "C004", Bug, "activations carry no signal";
    CHAIN_MISMATCH = "C005", Bug, "the chain drifts from the reference";

    HOST_SYNTAX = "H001", Unsupported, "outside the host subset";
    HOST_RAISED = "H002", Bug, "wrapper refuses its arguments";
    HOST_LAUNCH = "H003", Bug, "launch does not fit its kernel";
    HOST_EDITED = "H004", Bug, "file differs from what the manifest's graph gives";
    HOST_ERROR = "H005", Bug, "host code raises an error";
    PARAMETERS_DIFFER = "H007", Bug, "other parameters than the task's";
    FUNCTION_EDITED = "H006", Bug, "not what the manifest's graph gives";

    LAUNCH_INVALID = "E001", Usage, "invalid launch description";
    LAUNCH_INCOMPLETE = "E002", Usage, "nothing says how the kernel is launched";
    LAUNCH_FORMULA = "E003", Usage, "expected values cannot be computed";

    TEMPLATE_INVALID = "T001", Usage, "invalid operator template";
    TEMPLATE_ANCHOR = "T002", Bug, "fusion anchor does not hold";
    TEMPLATE_NONE = "T003", Unsupported, "no template serves this operator";

    NPU_ACCUMULATOR = "N001", Bug, "accumulator is a block of one element";
    NPU_IN_PLACE = "N002", Bug, "accumulation is not in place";
    NPU_AXIS = "N003", Bug, "axis of a one-dimensional reduction";
    NPU_GRID = "N004", Bug, "grid too large for the NPU";
    NPU_LOOP = "N005", Bug, "programs do not loop over the work";
    NPU_UNIFIED_BUFFER = "N006", Bug, "blocks exceed the unified buffer";
    NPU_L1 = "N007", Bug, "operands of a dot exceed L1";
    NPU_L0 = "N008", Bug, "block of a dot exceeds L0";
    NPU_BLOCK_SIZE = "N009", Bug, "block axis too long for the NPU";
    NPU_ALIGNED = "N010", Bug, "rows are not aligned for the NPU";
    NPU_CONTROL = "N011", Bug, "control flow that the NPU compiler lacks";
    NPU_CHAIN = "N012", Bug, "`and` or `or` of run-time values";
    NPU_INDEXING = "N013", Bug, "block indexed or sliced";
    NPU_WHERE = "N014", Bug, "`tl.where` in an address";
    NPU_MASK = "N015", Bug, "access without mask or `other`";
    NPU_CAST = "N016", Bug, "type called as a cast";
    NPU_DOT_ACCUMULATOR = "N017", Bug, "dot accumulates in fewer bits than fp32";
    NPU_CONSTEXPR = "N018", Bug, "`tl.constexpr` on a variable";
    NPU_AUTOTUNE = "N019", Bug, "autotune as for GPUs";
    NPU_SCALAR_CODE = "N020", Bug, "integer arithmetic that becomes scalar code";
    NPU_MEMORY_TYPE = "N021", Bug, "element type that the NPU does not load or store";
    NPU_DOT_TYPE = "N022", Bug, "operand type that the NPU's dot lacks";
    NPU_FUNCTION_TYPE = "N023", Bug, "function of a type that the NPU lacks";
    NPU_FP8 = "N024", Bug, "8-bit float on an NPU";
    NPU_ATOMIC = "N025", Bug, "atomic addition of a type that the NPU lacks";

    GPU_SHARED_MEMORY = "G001", Bug, "blocks exceed shared memory";
    GPU_REGISTERS = "G002", Bug, "blocks exceed registers";
    GPU_WARPS = "G003", Bug, "number of warps that the device lacks";
    GPU_POWER_OF_TWO = "G004", Bug, "block axis is no power of two";
    GPU_GRID = "G005", Bug, "grid too large for the GPU";
    GPU_PRECISION = "G006", Bug, "precision class that the target lacks";
    GPU_FP8 = "G007", Bug, "8-bit float that the target lacks";

    BAN_TORCH = "F001", Bug, "function of torch";
    BAN_FUNCTIONAL = "F002", Bug, "function of torch.nn.functional";
    BAN_METHOD = "F003", Bug, "method of a tensor";
    BAN_OPERATOR = "F004", Bug, "operator on a tensor";
    BAN_MODULE = "F005", Bug, "module of torch called";
    BAN_INDEX = "F006", Bug, "tensor indexed";
    BAN_NO_KERNEL = "F007", Bug, "no kernel at all";
    BAN_UNLAUNCHED = "F008", Bug, "kernel never launched";
    BAN_PLACEHOLDER = "F009", Bug, "kernels that compute nothing";
    BAN_GUARDED = "F010", Bug, "`try` or `pass`";
    BAN_BYPASS = "F011", Bug, "way round Triton";
    BAN_UNREAD = "F012", Bug, "forward cannot be followed";
    BAN_COPY = "F013", Bug, "copy made by torch";
    BAN_CLASS = "F014", Bug, "class that does more than its forward";

    NOT_CONVERTIBLE = "V001", Unsupported, "no counterpart in the other form";

    FUEL = "L001", Limit, "out of fuel";
    MEMORY = "L002", Limit, "out of memory";

    INTERNAL = "X001", Internal, "internal error";
}

/// By id, in either case.
pub fn find(id: &str) -> Option<&'static Code> {
    ALL.iter().copied().find(|code| code.id.eq_ignore_ascii_case(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_distinct() {
        let mut ids: Vec<_> = ALL.iter().map(|c| c.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), ALL.len());
    }
}
