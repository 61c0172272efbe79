//! Loads and stores outside their view (A001, A002).
//!
//! The fast path asks whether the interval of a tile's, then of a line's addresses lies inside the
//! view, then lane by lane; here the message for one lane is written. The view, not the buffer, is
//! what counts: gaps between the rows of a strided view are outside.

use crate::diag::{Diagnostic, codes};
use crate::emulate::exec::Machine;
use crate::emulate::tape::Instruction;
use crate::emulate::view::Extent;

/// One active lane's access to `element`, which the view does not contain.
pub struct Outside<'l> {
    pub arg: usize,
    pub extent: &'l Extent,
    pub element: i64,
    pub masked: bool,
    pub store: bool,
}

impl Outside<'_> {
    pub fn message(&self, machine: &Machine<'_>, lane: &str, at: &Instruction) -> Diagnostic {
        let Outside { arg, extent, element, masked, store } = *self;
        let name = &machine.launch.names[arg];
        let parameter = &machine.launch.program.kernel.params[arg].name;
        let offset = element - extent.pointer;
        let verb = if store { "stores to" } else { "loads" };
        let code = if store { &codes::OUT_OF_BOUNDS_STORE } else { &codes::OUT_OF_BOUNDS_LOAD };
        let (cause, help) = if element < extent.lo {
            let by = extent.lo - element;
            (
                format!("{by} element{} before the view's first", plural(by)),
                "a term of the offset is negative here: mask lanes whose index is below zero",
            )
        } else if element > extent.hi {
            let by = element - extent.hi;
            let help = if masked {
                "the mask lets this lane through: compare every index with its own size"
            } else {
                "mask the lanes beyond the end: mask=offsets < n"
            };
            (format!("{by} element{} past the view's last", plural(by)), help)
        } else {
            ("in a gap between the view's rows".to_owned(), "check the strides that the offset is computed with")
        };
        machine
            .message(code, format!("{lane} {verb} {name}[{offset}], {cause}"), at)
            .note(format!("tensor: {name} (parameter `{parameter}`), view: {}", extent.describe()))
            .note(if masked { "mask: true in this lane" } else { "mask: none" })
            .help(help)
    }
}

/// One active lane's access to an address that no view of a tensor contains.
pub struct Lost<'l> {
    pub address: i64,
    pub size: usize,
    /// The buffer that begins last before it, and how many bytes before.
    pub nearest: Option<(&'l str, i64)>,
    pub masked: bool,
    pub store: bool,
}

impl Lost<'_> {
    pub fn message(&self, machine: &Machine<'_>, lane: &str, at: &Instruction) -> Diagnostic {
        let Lost { address, size, nearest, masked, store } = *self;
        let verb = if store { "stores to" } else { "loads from" };
        let code = if store { &codes::OUT_OF_BOUNDS_STORE } else { &codes::OUT_OF_BOUNDS_LOAD };
        let what = format!("{lane} {verb} address {address:#x}, where no tensor of this launch has {size} bytes");
        let nearest = match nearest {
            Some((name, bytes)) => format!("nearest: byte {bytes} of {name}, counted from its start"),
            None => "nearest: no tensor begins before that address".to_owned(),
        };
        machine
            .message(code, what, at)
            .note(nearest)
            .note(if masked { "mask: true in this lane" } else { "mask: none" })
            .help("make addresses of pointers alone: `ptr.to(tl.int64)`, or a table of `data_ptr()`")
    }
}

fn plural(n: i64) -> &'static str {
    if n == 1 { "" } else { "s" }
}
