//! What the names of a program stand for.

use std::collections::HashMap;

use super::alias::{Slot, Step, Storages};
use super::arguments::{Arg, TensorArg};
use super::dtypes::dtype;
use super::program::{Argument, Symbolic};
use crate::import::build::{Failure, Operand, Site};

enum Entry {
    Tensor(Slot),
    Number(Arg),
    /// Nothing: what this names is not supported.
    Refused(String),
    /// Nothing: an error was reported.
    Wrong,
}

/// Why a name stands for nothing.
pub enum Missing {
    Refused(String),
    Wrong,
    Failure(Failure),
}

#[derive(Default)]
pub struct Scope {
    entries: HashMap<String, Entry>,
    storages: Storages,
}

impl Scope {
    /// A tensor with memory of its own.
    pub fn define(&mut self, name: &str, operand: Operand) {
        let slot = self.storages.fresh(operand);
        self.entries.insert(name.to_owned(), Entry::Tensor(slot));
    }

    /// A tensor that shares memory with another.
    pub fn view(&mut self, name: &str, of: &str, step: Step, operand: Operand) {
        match self.entries.get(of) {
            Some(Entry::Tensor(slot)) => {
                let slot = self.storages.view(slot, step, operand);
                self.entries.insert(name.to_owned(), Entry::Tensor(slot));
            }
            Some(Entry::Number(_) | Entry::Refused(_) | Entry::Wrong) | None => self.define(name, operand),
        }
    }

    pub fn define_number(&mut self, name: &str, value: Arg) {
        self.entries.insert(name.to_owned(), Entry::Number(value));
    }

    pub fn refuse(&mut self, name: &str, cause: &str) {
        self.entries.insert(name.to_owned(), Entry::Refused(cause.to_owned()));
    }

    pub fn wrong(&mut self, name: &str) {
        self.entries.insert(name.to_owned(), Entry::Wrong);
    }

    /// A tensor's elements now.
    pub fn read(&mut self, name: &str, site: &mut Site) -> Result<Operand, Missing> {
        match self.entries.get_mut(name) {
            Some(Entry::Tensor(slot)) => self.storages.read(site, slot).map_err(Missing::Failure),
            Some(Entry::Refused(cause)) => Err(Missing::Refused(cause.clone())),
            Some(Entry::Wrong) => Err(Missing::Wrong),
            Some(Entry::Number(_)) => Err(Missing::Failure(Failure::invalid(format!("`{name}` is a number, not a tensor")))),
            None => Err(Missing::Failure(Failure::invalid(format!("`{name}` is read before it is made")))),
        }
    }

    /// Writes all elements of a tensor.
    pub fn write(&mut self, name: &str, site: &mut Site, new: Operand) -> Result<(), Failure> {
        match self.entries.get_mut(name) {
            Some(Entry::Tensor(slot)) => self.storages.write(site, slot, new),
            Some(Entry::Number(_) | Entry::Refused(_) | Entry::Wrong) | None => Ok(()),
        }
    }

    /// The elements of the memory behind a name, when something wrote there.
    pub fn written(&self, name: &str) -> Option<Operand> {
        match self.entries.get(name)? {
            Entry::Tensor(slot) => self.storages.written(slot),
            Entry::Number(_) | Entry::Refused(_) | Entry::Wrong => None,
        }
    }

    /// An argument with the names in it looked up.
    pub fn argument(&mut self, argument: &Argument, site: &mut Site) -> Result<Arg, Missing> {
        let mut tensor = |name: &String| Ok(TensorArg { operand: self.read(name, site)?, name: name.clone() });
        match argument {
            Argument::Tensor(name) => tensor(name).map(Arg::Tensor),
            Argument::Tensors(names) => {
                names.iter().map(|name| tensor(name).map(Some)).collect::<Result<_, _>>().map(Arg::Tensors)
            }
            Argument::OptionalTensors(names) => {
                let each = |name: &Option<String>| name.as_ref().map(&mut tensor).transpose();
                names.iter().map(each).collect::<Result<_, _>>().map(Arg::Tensors)
            }
            Argument::Other(kind) => Err(Missing::Failure(Failure::unsupported(format!("an argument is `{kind}`")))),
            Argument::None
            | Argument::Int(_)
            | Argument::Ints(_)
            | Argument::Float(_)
            | Argument::Floats(_)
            | Argument::Bool(_)
            | Argument::Bools(_)
            | Argument::String(_)
            | Argument::Dtype(_)
            | Argument::Placement => self
                .number(argument)
                .ok_or_else(|| Missing::Failure(Failure::unsupported("an argument is a number that is not known"))),
        }
    }

    /// An argument that is no tensor; `None` when it is one, or a number that is not known.
    pub fn number(&self, argument: &Argument) -> Option<Arg> {
        Some(match argument {
            Argument::None => Arg::None,
            Argument::Int(Symbolic::Is(i)) => Arg::Int(*i),
            Argument::Float(Symbolic::Is(f)) => Arg::Float(*f),
            Argument::Bool(Symbolic::Is(b)) => Arg::Bool(*b),
            Argument::Int(Symbolic::Name(name))
            | Argument::Float(Symbolic::Name(name))
            | Argument::Bool(Symbolic::Name(name)) => self.named_number(name)?.clone(),
            Argument::Ints(all) => {
                let each = |size: &Symbolic<i64>| match size {
                    Symbolic::Is(i) => Some(*i),
                    Symbolic::Name(name) => {
                        if let Arg::Int(i) = self.named_number(name)? {
                            Some(*i)
                        } else {
                            None
                        }
                    }
                };
                Arg::Ints(all.iter().map(each).collect::<Option<_>>()?)
            }
            Argument::Floats(floats) => Arg::Floats(floats.clone()),
            Argument::Bools(bools) => Arg::Bools(bools.clone()),
            Argument::String(text) => Arg::Text(text.clone()),
            Argument::Dtype(number) => Arg::Dtype(dtype(*number)),
            Argument::Placement => Arg::Placement,
            Argument::Tensor(_) | Argument::Tensors(_) | Argument::OptionalTensors(_) | Argument::Other(_) => return None,
        })
    }

    fn named_number(&self, name: &str) -> Option<&Arg> {
        match self.entries.get(name)? {
            Entry::Number(value) => Some(value),
            Entry::Tensor(_) | Entry::Refused(_) | Entry::Wrong => None,
        }
    }
}
