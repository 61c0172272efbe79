//! Where one lane of an access lies in memory, byte by byte: pointers that are seen as another type, pointers that
//! are addresses, and atomics.
//!
//! An address is looked up among all buffers. Inside a buffer that the launch was given, it must lie in one of the
//! views that the launch has of it; any other buffer is reached as a whole.
//!
//! Misses: which tensor an address was meant for. One that leaves its tensor and lands in another one is not out of
//! bounds; buffers lie at least a page apart, so that it has to go far.

use std::ops::Range;

use super::assemble::{element_bits, mask, with_element};
use super::lanes::Access;
use super::load::first_undefined;
use super::tile::extent;
use super::{Machine, Step};
use crate::dtype::DType;
use crate::emulate::check::race::{Conflict, Touch};
use crate::emulate::check::{bounds, poison, race, read_only, uninitialised};
use crate::emulate::launch::BufferId;
use crate::emulate::tape::Instruction;
use crate::emulate::value::Origin;

/// Some bytes of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    pub buffer: BufferId,
    /// Of the buffer's elements.
    pub dtype: DType,
    pub first_byte: usize,
    pub size: usize,
}

impl Spot {
    /// The elements of the buffer that it touches.
    pub fn elements(&self) -> Range<usize> {
        let size = self.dtype.size();
        self.first_byte / size..(self.first_byte + self.size).div_ceil(size)
    }
}

impl Machine<'_> {
    /// The spot of one active lane, after everything that is asked before memory is touched; `None` where there is
    /// none and nobody asks.
    pub(super) fn spot(
        &self,
        access: &Access,
        lane: usize,
        shape: &[usize],
        size: usize,
        store: bool,
        at: &Instruction,
    ) -> Step<Option<Spot>> {
        let launch = self.launch;
        let of_element = |arg: usize, element: Option<usize>| {
            let buffer = extent(launch, arg).buffer;
            element.map(|element| Spot { buffer, dtype: launch.dtypes[buffer.0], first_byte: element * size, size })
        };
        let arg = match Origin::of(access.arg) {
            Origin::Argument(arg) => return Ok(of_element(arg, self.check_lane(access, arg, lane, shape, store, at)?)),
            Origin::Cast { arg, pointee: _ } => arg,
        };
        if let Some(arg) = arg
            && launch.dtypes[extent(launch, arg).buffer.0].size() == size
        {
            return Ok(of_element(arg, self.check_lane(access, arg, lane, shape, store, at)?));
        }
        let start = arg.map_or(0, |arg| self.port.buffer(extent(launch, arg).buffer).base);
        let address = start.wrapping_add(access.offsets[lane].wrapping_mul(size as i64));
        let name = arg.map_or("memory", |arg| launch.names[arg].as_str());
        self.check_flags(access, lane, shape, name, at)?;
        let buffers = &self.port.memory().buffers;
        let after = buffers.partition_point(|b| b.base <= address);
        let found = after.checked_sub(1).map(|index| {
            let (buffer, dtype) = (&buffers[index], launch.dtypes[index]);
            let first_byte = (address - buffer.base) as usize;
            (first_byte.saturating_add(size) <= buffer.lanes.len() * dtype.size()).then_some(Spot {
                buffer: BufferId(index),
                dtype,
                first_byte,
                size,
            })
        });
        let Some(spot) = found.flatten().filter(|spot| !launch.checks.bounds || self.in_a_view(spot)) else {
            if !launch.checks.bounds {
                return Ok(None);
            }
            let nearest = after.checked_sub(1).map(|index| (buffers[index].name.as_str(), address - buffers[index].base));
            let masked = access.mask.is_some();
            let lost = bounds::Lost { address, size, nearest, masked, store };
            return self.stop(|| lost.message(self, &self.lane_name(shape, lane), at));
        };
        if store && launch.checks.read_only && buffers[spot.buffer.0].read_only {
            let element = spot.elements().start as i64;
            if let Some(arg) = launch.extents.iter().position(|e| e.as_ref().is_some_and(|e| e.buffer == spot.buffer)) {
                return self.stop(|| read_only::message(self, arg, element, &self.lane_name(shape, lane), at));
            }
        }
        Ok(Some(spot))
    }

    /// Whether one of the launch's views of its buffer has all of it; a buffer without view is one.
    fn in_a_view(&self, spot: &Spot) -> bool {
        let elements = spot.elements();
        let (first, last) = (elements.start as i64, elements.end as i64 - 1);
        let mut views = self.launch.extents.iter().flatten().filter(|e| e.buffer == spot.buffer).peekable();
        views.peek().is_none() || views.any(|view| (first..=last).all(|element| view.contains(element)))
    }

    /// Asks whether the elements of a spot have been written.
    pub(super) fn check_written(&self, spot: &Spot, shape: &[usize], lane: usize, at: &Instruction) -> Step {
        let elements = spot.elements();
        let undefined = first_undefined(self.port.buffer(spot.buffer), elements.start, elements.len());
        let (Some(element), true) = (undefined, self.launch.checks.uninitialised) else { return Ok(()) };
        let arg = self.launch.extents.iter().position(|e| e.as_ref().is_some_and(|e| e.buffer == spot.buffer));
        let pointer = arg.and_then(|arg| self.launch.extents[arg].as_ref()).map_or(0, |e| e.pointer);
        let name = arg.map_or(&self.port.buffer(spot.buffer).name, |arg| &self.launch.names[arg]);
        self.stop(|| uninitialised::message(self, name, element as i64 - pointer, &self.lane_name(shape, lane), at))
    }

    /// The bits of a spot, the first byte lowest.
    pub(super) fn spot_bits(&self, spot: &Spot, at: &Instruction) -> Step<u64> {
        let lanes = &self.port.buffer(spot.buffer).lanes;
        let each = spot.dtype.size();
        let mut bits = 0u64;
        for element in spot.elements() {
            let Some(found) = element_bits(lanes, element, spot.dtype) else { return self.unknown_bits(spot, at) };
            let shift = (element * each) as i64 - spot.first_byte as i64;
            bits |= if shift < 0 { found >> (-8 * shift) } else { found << (8 * shift) };
        }
        Ok(bits & mask(spot.size))
    }

    /// Puts bits into a spot. Whether two programs or lanes meet there is for the caller to tell.
    pub(super) fn write_spot(&mut self, spot: &Spot, bits: u64, touch: Touch, at: &Instruction) -> Step<Result<(), Conflict>> {
        let each = spot.dtype.size();
        for element in spot.elements() {
            let shift = (element * each) as i64 - spot.first_byte as i64;
            let lanes = &self.port.buffer(spot.buffer).lanes;
            let Some(old) = element_bits(lanes, element, spot.dtype) else { return self.unknown_bits(spot, at) };
            let (new, own) = if shift < 0 {
                (bits << (-8 * shift), mask(spot.size) << (-8 * shift))
            } else {
                (bits >> (8 * shift), mask(spot.size) >> (8 * shift))
            };
            let own = own & mask(each);
            let carrier = lanes.carrier();
            let port = &mut self.port;
            let written =
                with_element(carrier, old & !own | new & own, spot.dtype, |line| port.write(touch, spot.buffer, element, line));
            match written {
                Some(Ok(())) => {}
                Some(Err(conflict)) => return Ok(Err(conflict)),
                None => return self.unknown_bits(spot, at),
            }
        }
        Ok(Ok(()))
    }

    fn unknown_bits<T>(&self, spot: &Spot, at: &Instruction) -> Step<T> {
        self.unsupported(&format!("memory of {} through a pointer of another type", spot.dtype), at)
    }

    pub(super) fn conflict_at<T>(&mut self, conflict: Conflict, at: &Instruction) -> Step<T> {
        self.conflict = Some(conflict);
        self.stop(|| race::explain(self, conflict, at))
    }

    /// Poison in one lane's mask or address.
    pub(super) fn check_flags(&self, access: &Access, lane: usize, shape: &[usize], name: &str, at: &Instruction) -> Step {
        let mask_flag = access.mask_flag(lane);
        if mask_flag != 0 {
            return self.stop(|| poison::in_mask(self, mask_flag, &self.lane_name(shape, lane), name, at));
        }
        let address_flag = access.address_taints.as_ref().map_or(0, |t| t[lane]);
        if address_flag & poison::watched(self.launch.checks) != 0 {
            return self.stop(|| poison::in_address(self, address_flag, &self.lane_name(shape, lane), name, at));
        }
        Ok(())
    }
}
