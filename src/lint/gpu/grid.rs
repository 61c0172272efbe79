//! G005: a launch whose grid exceeds an axis's limit.
//!
//! Why: a grid has at most 2³¹ − 1 programs along x and 65,535 along y and z; the launch fails otherwise. Source: the
//! CUDA programming guide's table of compute capabilities; HIP gives the same.
//! Does not catch: grids that depend on sizes at run time.

use crate::lint::rule::Found;
use crate::lint::subject::Launch;
use crate::target::Target;

pub fn check(launch: &Launch<'_>, target: &Target, found: &mut Found<'_>) {
    let Some(axes) = &launch.grid else { return };
    for ((programs, limit), axis) in axes.iter().zip(target.max_grid_axes).zip(["x", "y", "z"]) {
        if *programs > limit as i64 {
            let message =
                format!("`{}` is launched with {programs} programs along {axis}; {} takes {limit}", launch.kernel, target.name);
            found.at(launch.grid_span, message).help("put the long axis first, or let each program do more");
        }
    }
}
