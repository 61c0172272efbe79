//! Loads and stores lane by lane: scalars, pointers that do not split along axes, and everything on
//! the dense tape. Here, where it does not cost, faults get their messages.

use std::sync::Arc;

use super::int::wrapped;
use super::load::first_undefined;
use super::shape::materialise;
use super::store::unsigned_pointee;
use super::tile::extent;
use super::{Machine, Step};
use crate::emulate::check::race::TouchKind;
use crate::emulate::check::{bounds, overlap, poison, read_only, uninitialised};
use crate::emulate::launch::Event;
use crate::emulate::memory::Line;
use crate::emulate::tape::{Instruction, Slot};
use crate::emulate::value::int::{unsigned, wrap};
use crate::emulate::value::{Cell, FloatBlock, Floats, IntBlock, Layout, MaskBlock, Origin, Scalar, Taints, misfit, taint};
use crate::kernel::ir::Elem;
use crate::tensor::Storage;

/// Stands for an element outside the buffer.
const NOWHERE: usize = usize::MAX;

/// Addresses and mask of an access, in row-major lanes.
pub(super) struct Access {
    /// The provenance, packed.
    pub arg: u32,
    pub offsets: Vec<i64>,
    pub address_taints: Taints,
    pub mask: Option<Mask>,
}

pub(super) struct Mask {
    lanes: Vec<u8>,
    taints: Taints,
}

impl Access {
    /// What the checks mind about a lane of the mask.
    pub fn mask_flag(&self, lane: usize) -> u8 {
        self.mask.as_ref().map_or(0, |mask| mask.taints.as_ref().map_or(0, |t| t[lane]))
    }

    pub fn active(&self, lane: usize) -> bool {
        self.mask.as_ref().is_none_or(|mask| mask.lanes[lane] != 0)
    }
}

/// A float of a block in row-major order that is NaN or infinite.
fn is_not_finite(value: &Cell, lane: usize) -> bool {
    match value {
        Cell::Floats(FloatBlock { lanes: Floats::F32(v), .. }) => !v[lane].is_finite(),
        Cell::Floats(FloatBlock { lanes: Floats::F64(v), .. }) => !v[lane].is_finite(),
        _ => false,
    }
}

impl Machine<'_> {
    pub(super) fn access(&mut self, ptr: Slot, mask: Option<Slot>, shape: &[usize]) -> Access {
        let pointers = materialise(self.state.cells.get(ptr), Elem::Ptr(crate::dtype::DType::F32), shape, &mut self.pool);
        let Cell::Ptrs(block) = pointers else { misfit(&pointers, "pointers") };
        let mask = mask.map(|slot| materialise(self.state.cells.get(slot), Elem::I1, shape, &mut self.pool));
        let mask = match mask {
            None => None,
            Some(Cell::Mask(mask)) => {
                // A false lane that nobody's check minds is a false lane.
                let watched = poison::watched(self.launch.checks);
                let flags = mask.taints.as_ref().and_then(|t| taint::seal(t.iter().map(|flag| flag & watched).collect()));
                Some(Mask { lanes: mask.values().into_owned(), taints: flags })
            }
            Some(other) => misfit(&other, "a mask"),
        };
        Access {
            arg: block.arg,
            offsets: block.offsets.values().into_owned(),
            address_taints: block.offsets.taints.clone(),
            mask,
        }
    }

    /// `lane [3, 5]`, or `the program` for a scalar.
    pub(super) fn lane_name(&self, shape: &[usize], lane: usize) -> String {
        if shape.is_empty() {
            return "the program".to_owned();
        }
        let index = Layout::row_major(shape).unravel(lane);
        match index.as_slice() {
            [one] => format!("lane {one}"),
            many => format!("lane {many:?}"),
        }
    }

    /// Everything that is asked of one active lane before it touches memory; `None` outside the
    /// buffer when nobody checks bounds (such loads give zero, such stores are dropped).
    pub(super) fn check_lane(
        &self,
        access: &Access,
        arg: usize,
        lane: usize,
        shape: &[usize],
        store: bool,
        at: &Instruction,
    ) -> Step<Option<usize>> {
        self.check_flags(access, lane, shape, &self.launch.names[arg], at)?;
        let element = access.offsets[lane];
        let extent = extent(self.launch, arg);
        let exists = element >= 0 && (element as usize) < self.port.buffer(extent.buffer).lanes.len();
        if self.launch.checks.bounds && !(exists && extent.contains(element)) {
            let masked = access.mask.is_some();
            let access = bounds::Outside { arg, extent, element, masked, store };
            return self.stop(|| access.message(self, &self.lane_name(shape, lane), at));
        }
        if store && self.launch.checks.read_only && self.port.buffer(extent.buffer).read_only {
            let offset = element - extent.pointer;
            return self.stop(|| read_only::message(self, arg, offset, &self.lane_name(shape, lane), at));
        }
        Ok(exists.then_some(element as usize))
    }

    pub(super) fn load_lanes(
        &mut self,
        ptr: Slot,
        mask: Option<Slot>,
        other: Option<Slot>,
        elem: Elem,
        shape: &[usize],
        at: &Instruction,
    ) -> Step<Cell> {
        let access = self.access(ptr, mask, shape);
        let n = access.offsets.len();
        let other = other.map(|slot| materialise(&wrapped(self.state.cells.get(slot), elem), elem, shape, &mut self.pool));
        let Origin::Argument(arg) = Origin::of(access.arg) else {
            return self.load_cast(&access, other.as_ref(), elem, shape, at);
        };
        let id = extent(self.launch, arg).buffer;
        let mut elements = vec![None; n];
        for (lane, element) in elements.iter_mut().enumerate() {
            // A poisoned mask is asked even where its value is false: nobody knows that it is.
            if !access.active(lane) && access.mask_flag(lane) == 0 {
                continue;
            }
            let Some(found) = self.check_lane(&access, arg, lane, shape, false, at)? else {
                *element = Some(NOWHERE);
                continue;
            };
            if self.launch.checks.uninitialised && first_undefined(self.port.buffer(id), found, 1).is_some() {
                let offset = found as i64 - extent(self.launch, arg).pointer;
                return self.stop(|| uninitialised::undefined(self, arg, offset, &self.lane_name(shape, lane), at));
            }
            if self.port.watches_reads(id)
                && let Err(conflict) = self.port.read(self.touch(lane, TouchKind::Plain), id, found, 1)
            {
                return self.conflict_at(conflict, at);
            }
            self.note_access(id, found, at);
            *element = Some(found);
        }
        let mut taints = match &other {
            Some(cell) => cell.taints().as_ref().map(|t| t.as_ref().clone()),
            None => elements.iter().any(Option::is_none).then(|| vec![taint::MASKED; n]),
        };
        if let Some(taints) = &mut taints {
            elements.iter().zip(taints.iter_mut()).for_each(|(e, t)| {
                if e.is_some() {
                    *t = 0;
                }
            });
        }
        self.report.lines_gathered += 1;
        let lanes = &self.port.buffer(id).lanes;
        let int = |element: usize| match lanes {
            _ if element == NOWHERE => 0,
            Storage::I64(v) => wrap(v[element], elem),
            Storage::Bool(v) => v[element].into(),
            Storage::F32(_) | Storage::F64(_) => unreachable!("invariant: launch arguments have their parameters' carriers"),
        };
        let layout = Layout::row_major(shape);
        let scalar_taint = taints.as_ref().map_or(0, |t| t[0]);
        let taints = taints.and_then(taint::seal);
        Ok(match (elem, &other) {
            (
                Elem::F8E4M3
                | Elem::F8E5M2
                | Elem::F8E4M3Fnuz
                | Elem::F8E5M2Fnuz
                | Elem::F16
                | Elem::BF16
                | Elem::F32
                | Elem::F64,
                _,
            ) => {
                let value = |lane: usize| match (elements[lane], &other) {
                    (Some(NOWHERE), _) => 0.0,
                    (Some(element), _) => lanes.get_f64(element),
                    (None, Some(Cell::Floats(FloatBlock { lanes: Floats::F32(v), .. }))) => v[lane].into(),
                    (None, Some(Cell::Floats(FloatBlock { lanes: Floats::F64(v), .. }))) => v[lane],
                    (None, Some(other)) => misfit(other, "floats"),
                    (None, None) => 0.0,
                };
                if shape.is_empty() {
                    return Ok(Cell::Float(Scalar { value: value(0), taint: scalar_taint }));
                }
                let lanes = if elem == Elem::F64 {
                    Floats::F64(Arc::new((0..n).map(value).collect()))
                } else {
                    Floats::F32(Arc::new((0..n).map(|i| value(i) as f32).collect()))
                };
                Cell::Floats(FloatBlock { layout, lanes, taints })
            }
            (Elem::Ptr(_), _) => return self.unsupported("a load of pointers", at),
            (Elem::I1, _) => {
                let value = |lane: usize| match (elements[lane], &other) {
                    (Some(element), _) => int(element) as u8 & 1,
                    (None, Some(Cell::Mask(mask))) => mask.values()[lane],
                    (None, Some(other)) => misfit(other, "a mask"),
                    (None, None) => 0,
                };
                if shape.is_empty() {
                    return Ok(Cell::Int(Scalar { value: value(0).into(), taint: scalar_taint }));
                }
                Cell::Mask(MaskBlock::dense(layout, (0..n).map(value).collect(), taints))
            }
            (Elem::I8 | Elem::I16 | Elem::I32 | Elem::I64, _) => {
                let value = |lane: usize| match (elements[lane], &other) {
                    (Some(element), _) => int(element),
                    (None, Some(Cell::Ints(block))) => block.at(lane),
                    (None, Some(other)) => misfit(other, "integers"),
                    (None, None) => 0,
                };
                if shape.is_empty() {
                    return Ok(Cell::Int(Scalar { value: value(0), taint: scalar_taint }));
                }
                Cell::Ints(IntBlock::dense(layout, (0..n).map(value).collect(), taints))
            }
        })
    }

    pub(super) fn store_lanes(
        &mut self,
        ptr: Slot,
        value: Slot,
        mask: Option<Slot>,
        elem: Elem,
        shape: &[usize],
        at: &Instruction,
    ) -> Step {
        let access = self.access(ptr, mask, shape);
        let value = wrapped(self.state.cells.get(value), elem);
        let value = materialise(&value, elem, shape, &mut self.pool);
        let watched = poison::watched(self.launch.checks);
        self.report.lines_gathered += 1;
        let Origin::Argument(arg) = Origin::of(access.arg) else {
            return self.store_cast(&access, &value, elem, shape, at);
        };
        let id = extent(self.launch, arg).buffer;
        let unsigned_elem = unsigned_pointee(self.launch, arg);
        let mut stored: Vec<(i64, u32)> = Vec::new();
        self.talk.stores += 1;
        for lane in 0..access.offsets.len() {
            if !access.active(lane) && access.mask_flag(lane) == 0 {
                continue;
            }
            let Some(element) = self.check_lane(&access, arg, lane, shape, true, at)? else { continue };
            let flag = value.taints().as_ref().map_or(0, |t| t[lane]);
            if flag & watched != 0 {
                let name = &self.launch.names[arg];
                return self.stop(|| poison::in_store(self, flag, &self.lane_name(shape, lane), name, at));
            }
            self.note_access(id, element, at);
            stored.push((element as i64, lane as u32));
            self.talk.changes += 1;
            let touch = self.touch(lane, TouchKind::Plain);
            if self.launch.checks.births && self.report.noticed.not_finite.is_none() && is_not_finite(&value, lane) {
                self.report.noticed.not_finite = Some(Event { program: self.linear, buffer: id, element });
            }
            let to_bool = matches!(self.port.buffer(id).lanes, Storage::Bool(_));
            let int = |v: i64| if unsigned_elem { unsigned(v, elem) as i64 } else { v };
            let written = match &value {
                Cell::Floats(FloatBlock { lanes: Floats::F32(v), .. }) => {
                    self.port.write(touch, id, element, Line::F32(&[v[lane]]))
                }
                Cell::Floats(FloatBlock { lanes: Floats::F64(v), .. }) => {
                    self.port.write(touch, id, element, Line::F64(&[v[lane]]))
                }
                Cell::Ints(block) if to_bool => self.port.write(touch, id, element, Line::Bool(&[u8::from(block.at(lane) != 0)])),
                Cell::Ints(block) => self.port.write(touch, id, element, Line::I64(&[int(block.at(lane))])),
                Cell::Mask(block) if to_bool => self.port.write(touch, id, element, Line::Bool(&[block.values()[lane]])),
                Cell::Mask(block) => self.port.write(touch, id, element, Line::I64(&[block.values()[lane].into()])),
                Cell::Ptrs(_) => return self.unsupported("a store of pointers", at),
                Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) => misfit(&value, "a block"),
            };
            if let Err(conflict) = written {
                return self.conflict_at(conflict, at);
            }
        }
        let to_bool = matches!(self.port.buffer(id).lanes, Storage::Bool(_));
        let differ = |a: u32, b: u32| {
            let (a, b) = (a as usize, b as usize);
            match &value {
                Cell::Floats(FloatBlock { lanes: Floats::F32(v), .. }) => v[a].to_bits() != v[b].to_bits(),
                Cell::Floats(FloatBlock { lanes: Floats::F64(v), .. }) => v[a].to_bits() != v[b].to_bits(),
                Cell::Ints(block) if to_bool => (block.at(a) != 0) != (block.at(b) != 0),
                Cell::Ints(block) => block.at(a) != block.at(b),
                Cell::Mask(block) => block.values()[a] != block.values()[b],
                Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) | Cell::Ptrs(_) => misfit(&value, "a block"),
            }
        };
        if self.launch.checks.overlap
            && let Some((element, lanes)) = overlap::conflict(&mut stored, differ)
        {
            let offset = element - extent(self.launch, arg).pointer;
            let [first, second] = lanes.map(|lane| self.lane_name(shape, lane as usize));
            return self.stop(|| overlap::explain(self, arg, offset, [&first, &second], at));
        }
        Ok(())
    }

    /// Remembers the instruction when a race at this element is being explained.
    pub(super) fn note_access(&mut self, id: crate::emulate::launch::BufferId, element: usize, at: &Instruction) {
        if let Some(watch) = &mut self.watch
            && watch.buffer == id
            && watch.element == element
        {
            watch.span = Some(at.span);
            let number = self.talk.stores;
            match watch.all {
                [None, _] => watch.all[0] = Some((number, at.span)),
                [Some((first, _)), None] if first != number => watch.all[1] = Some((number, at.span)),
                [Some(_), _] => {}
            }
        }
    }
}
