//! Whole suites: ResNet-50 from file to verdicts through the library, small models in every type and
//! precision class, suites that were edited, other people's networks, and the command line's refusals. One
//! binary, so that the crate is linked once.

#[path = "suite/ban.rs"]
mod ban;
#[path = "suite/cli.rs"]
mod cli;
#[path = "suite/dead.rs"]
mod dead;
#[path = "suite/dtypes.rs"]
mod dtypes;
#[path = "suite/edits.rs"]
mod edits;
#[path = "suite/equivalent.rs"]
mod equivalent;
#[path = "suite/explain.rs"]
mod explain;
#[path = "suite/families.rs"]
mod families;
#[path = "suite/given.rs"]
mod given;
#[path = "suite/internal.rs"]
mod internal;
#[path = "suite/lint.rs"]
mod lint;
#[path = "suite/irregular.rs"]
mod irregular;
#[path = "light/mod.rs"]
mod light;
#[path = "suite/mended.rs"]
mod mended;
#[path = "suite/only.rs"]
mod only;
#[path = "suite/operators.rs"]
mod operators;
#[path = "suite/own_operators.rs"]
mod own_operators;
#[path = "suite/pages/mod.rs"]
mod pages;
#[path = "suite/rare.rs"]
mod rare;
#[path = "suite/rerun.rs"]
mod rerun;
#[path = "suite/resnet50.rs"]
mod resnet50;
#[path = "suite/sampled.rs"]
mod sampled;
#[path = "suite/sketch.rs"]
mod sketch;
#[path = "suite/special.rs"]
mod special;
#[path = "suite/support.rs"]
mod support;
#[path = "suite/task.rs"]
mod task;
#[path = "suite/trials.rs"]
mod trials;
#[path = "suite/tutorials.rs"]
mod tutorials;
