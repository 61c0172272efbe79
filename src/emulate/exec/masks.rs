//! Masks of lines as bytes, and those that were made before in this program: a convolution asks for the same
//! few (one a window row and column) again for every channel.
//!
//! A mask is made of the bands of a tile whose terms along the line are no ranges. It is remembered whole, with the
//! range of its active lanes, under the tile and the limits of those bands.

use smallvec::SmallVec;

/// A band that narrows a line: which of the mask's conjuncts it is, and `lo <= term < hi`.
pub(super) type Narrow = (usize, i64, i64);

/// What a mask is remembered by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// The tile, by name.
    pub tile: usize,
    /// Lanes beside the range are not active.
    pub range: (usize, usize),
    pub bands: SmallVec<[Narrow; 2]>,
}

impl Key {
    fn slot(&self) -> usize {
        let mixed = self.bands.iter().fold(self.tile ^ self.range.0, |mixed, &(band, lo, hi)| {
            (mixed ^ band).wrapping_mul(31).wrapping_add(lo as usize).wrapping_mul(31).wrapping_add(hi as usize)
        });
        // Fibonacci hashing: the upper bits of a product depend on all of its factor's.
        mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - REMEMBERED.trailing_zeros())
    }
}

struct Remembered {
    generation: u64,
    key: Key,
    lanes: Vec<u8>,
    active: (usize, usize),
}

/// Masks remembered at a time.
const REMEMBERED: usize = 256;

/// The mask of the current line, and those of lines before.
#[derive(Default)]
pub struct Masks {
    own: Vec<u8>,
    remembered: Vec<Option<Remembered>>,
    /// The current line's mask is this one, else the own one.
    current: Option<usize>,
    generation: u64,
}

impl Masks {
    /// Forgets the masks of the program before.
    pub fn new_program(&mut self) {
        self.generation += 1;
        self.current = None;
    }

    /// Bytes of the current line: which of its lanes are active.
    #[inline]
    pub fn lanes(&self) -> &[u8] {
        match self.current.and_then(|at| self.remembered[at].as_ref()) {
            Some(found) => &found.lanes,
            None => &self.own,
        }
    }

    /// A mask of the current line's own, all active.
    pub(super) fn fresh(&mut self, n: usize) -> &mut Vec<u8> {
        self.current = None;
        self.own.clear();
        self.own.resize(n, 1);
        &mut self.own
    }

    /// Makes the mask under a key current, by `make` when it is new; the range of its active lanes.
    #[inline]
    pub(super) fn remember(&mut self, key: Key, make: impl FnOnce(&mut Vec<u8>)) -> (usize, usize) {
        if self.remembered.is_empty() {
            self.remembered.resize_with(REMEMBERED, || None);
        }
        let slot = key.slot();
        self.current = Some(slot);
        match &self.remembered[slot] {
            Some(old) if old.generation == self.generation && old.key == key => old.active,
            Some(_) | None => {
                let mut lanes = self.remembered[slot].take().map_or_else(Vec::new, |old| old.lanes);
                make(&mut lanes);
                let active = active(&lanes);
                self.remembered[slot] = Some(Remembered { generation: self.generation, key, lanes, active });
                active
            }
        }
    }
}

/// From the first active lane to behind the last; an empty range when there is none.
pub(super) fn active(lanes: &[u8]) -> (usize, usize) {
    match (lanes.iter().position(|&lane| lane != 0), lanes.iter().rposition(|&lane| lane != 0)) {
        (Some(first), Some(last)) => (first, last + 1),
        (None, _) | (_, None) => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_made_once_a_program() {
        let mut masks = Masks::default();
        let key = |lo| Key { tile: 64, range: (0, 4), bands: SmallVec::from_slice(&[(0, lo, 9)]) };
        let mut made = 0;
        for _ in 0..2 {
            masks.new_program();
            for lo in [1, 2, 1, 2] {
                let active = masks.remember(key(lo), |lanes| {
                    made += 1;
                    lanes.clear();
                    lanes.extend([0, 1, u8::from(lo == 1), 0]);
                });
                assert_eq!(
                    (active, masks.lanes()),
                    if lo == 1 { ((1, 3), &[0, 1, 1, 0][..]) } else { ((1, 2), &[0, 1, 0, 0][..]) }
                );
            }
        }
        assert_eq!(made, 4);
        masks.fresh(2).fill(0);
        assert_eq!((masks.lanes(), active(masks.lanes())), (&[0, 0][..], (0, 0)));
    }
}
