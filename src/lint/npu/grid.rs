//! N004: a launch of more programs than the NPU takes.
//!
//! Why: the number of programs, the product of the grid, is a 16-bit number on Ascend: 65,535 at most (the launch
//! fails with "coreDim can't be greater than UINT16_MAX"). Source: triton-ascend's programming guide.
//! Does not catch: grids that depend on sizes at run time.

use crate::lint::rule::Found;
use crate::lint::subject::Launch;
use crate::target::Target;

pub fn check(launch: &Launch<'_>, target: &Target, found: &mut Found<'_>) {
    let Some(axes) = &launch.grid else { return };
    let programs = axes.iter().fold(1i64, |product, n| product.saturating_mul(*n));
    if programs > target.max_grid as i64 {
        let message =
            format!("`{}` is launched with {programs} programs; {} takes {}", launch.kernel, target.name, target.max_grid);
        found.at(launch.grid_span, message).help("launch one program a core, and loop over the work inside the kernel");
    }
}
