//! `schedule.yaml`: block sizes, num_warps and num_stages by target and shape class.
//!
//! A list; the first entry whose `target` and `when` fit is used. Values are expressions over sizes,
//! attributes and the values before them. `source` says where a figure comes from and must be there.

use super::expression::Expression;
use crate::diag::Result;
use crate::syntax::yaml::Yaml;
use crate::target;

#[derive(Clone, Debug)]
pub struct ScheduleEntry {
    /// Names of targets; empty fits all.
    pub targets: Vec<String>,
    pub when: Option<Expression>,
    /// Constexprs by name, in the order of evaluation.
    pub set: Vec<(String, Expression)>,
    pub num_warps: Expression,
    pub num_stages: Expression,
    pub source: String,
}

/// Reads the list; empty lists are refused.
pub fn parse(yaml: &Yaml) -> Result<Vec<ScheduleEntry>> {
    let entries = yaml.as_list()?.iter().map(entry).collect::<Result<Vec<_>>>()?;
    match entries.last() {
        None => Err(yaml.error("a schedule has at least one entry")),
        Some(last) if last.when.is_some() || !last.targets.is_empty() => {
            Err(yaml.as_list()?[entries.len() - 1].error("the last entry fits every target and shape: no `target`, no `when`"))
        }
        Some(_) => Ok(entries),
    }
}

fn entry(yaml: &Yaml) -> Result<ScheduleEntry> {
    yaml.only_keys(&["target", "when", "set", "num_warps", "num_stages", "source"])?;
    let mut targets = Vec::new();
    if let Some(list) = yaml.get("target")? {
        for item in list.as_list()? {
            let name = item.as_str()?;
            if target::Target::find(name).is_none() {
                let known: Vec<_> = target::ALL.iter().map(|t| t.name).collect();
                return Err(item.error(format!("unknown target `{name}`; known: {}", known.join(", "))));
            }
            targets.push(name.to_owned());
        }
    }
    let set = yaml.require("set")?.as_map()?;
    Ok(ScheduleEntry {
        targets,
        when: yaml.get("when")?.map(Expression::from_yaml).transpose()?,
        set: set.iter().map(|e| Ok((e.key.clone(), Expression::from_yaml(&e.value)?))).collect::<Result<Vec<_>>>()?,
        num_warps: Expression::from_yaml(yaml.require("num_warps")?)?,
        num_stages: Expression::from_yaml(yaml.require("num_stages")?)?,
        source: yaml.require("source")?.as_str()?.to_owned(),
    })
}
