//! Compile-time arguments of a launch with another value: attributes off by one, blocks halved or
//! doubled, the precision class of a dot.

use super::{Operator, WRAPPER};
use crate::mutate::mutation::Edit;
use crate::mutate::site::Site;
use crate::syntax::ast::ExprKind;

pub const VALUE: Operator =
    Operator { name: "constexpr", what: "an attribute off by one, a block halved or doubled", parts: WRAPPER, edits };

fn edits(site: &Site) -> Vec<Edit> {
    let mut found = Vec::new();
    for launch in super::grid::launches(site) {
        for keyword in launch.keywords {
            let name = keyword.name.as_deref().unwrap_or_default();
            if matches!(name, "num_warps" | "num_stages") {
                continue;
            }
            let span = keyword.value.span;
            let block = name.starts_with('B');
            match &keyword.value.kind {
                ExprKind::Int(value) if block => {
                    found.push(Edit::new(span, (value * 2).to_string()));
                    found.extend((*value > 1).then(|| Edit::new(span, (value / 2).to_string())));
                }
                ExprKind::Int(value) => {
                    found.push(Edit::new(span, (value + 1).to_string()));
                    found.extend((*value > 0).then(|| Edit::new(span, (value - 1).to_string())));
                }
                ExprKind::Name(value) if block => {
                    found.push(Edit::new(span, format!("{value} * 2")));
                    found.push(Edit::new(span, format!("max(1, {value} // 2)")));
                }
                ExprKind::Name(value) => found.push(Edit::new(span, format!("{value} + 1"))),
                ExprKind::Float(value) => {
                    found.push(Edit::new(span, if *value == 0.0 { "1.0".to_owned() } else { format!("{:?}", value * 2.0) }));
                }
                ExprKind::Str(class) if class == "ieee" => found.push(Edit::new(span, "\"tf32\"")),
                _ => {}
            }
        }
    }
    found
}
