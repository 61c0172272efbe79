//! Masks of lines, and those that were made before in this program: a convolution asks for the same few (one a
//! window row and column) again for every channel.
//!
//! A mask is what the bands of a tile leave of a line: a range, or bytes where a band's term along the line is no
//! range. Lines whose lanes of the other axis are of one class have one mask.

use smallvec::SmallVec;

use super::line::LineMask;
use super::tile::Band;

/// A mask, with a byte a lane where it is no range.
struct Made {
    mask: LineMask,
    lanes: Vec<u8>,
    /// The bytes as words: all ones for an active lane.
    words: Vec<u32>,
}

/// The masks of one tile.
#[derive(Default)]
struct OfTile {
    /// Of an earlier program where it is not the current one.
    generation: u64,
    /// What they were made for.
    bands: SmallVec<[Band; 2]>,
    by_class: Vec<Option<Made>>,
}

/// The mask of the current line, and those of lines before.
#[derive(Default)]
pub struct Masks {
    own: Vec<u8>,
    tiles: Vec<OfTile>,
    /// The current line's mask is that of a tile and class, else the own one.
    current: Option<(usize, usize)>,
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
        match self.current.and_then(|(tile, class)| self.tiles[tile].by_class[class].as_ref()) {
            Some(made) => &made.lanes,
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

    /// Forgets a tile's masks if they are not of these bands.
    #[inline]
    pub(super) fn begin(&mut self, tile: usize, bands: &[Band]) {
        if self.tiles.len() <= tile {
            self.tiles.resize_with(tile + 1, OfTile::default);
        }
        let masks = &mut self.tiles[tile];
        if masks.generation != self.generation || masks.bands.as_slice() != bands {
            masks.generation = self.generation;
            masks.bands = SmallVec::from_slice(bands);
            masks.by_class.iter_mut().for_each(|made| *made = None);
        }
    }

    /// The mask of a class of a tile that has begun, and its words, when it has been made.
    #[inline(always)]
    pub(super) fn made(&self, tile: usize, class: usize) -> Option<(LineMask, &[u32])> {
        let made = self.tiles[tile].by_class.get(class)?.as_ref()?;
        Some((made.mask, &made.words))
    }

    /// Makes the mask of a class of a tile that has begun current, by `make` when it is new.
    #[inline]
    pub(super) fn of_class(&mut self, tile: usize, class: usize, make: impl FnOnce(&mut Vec<u8>) -> LineMask) -> LineMask {
        let by_class = &mut self.tiles[tile].by_class;
        if by_class.len() <= class {
            by_class.resize_with(class + 1, || None);
        }
        self.current = Some((tile, class));
        by_class[class]
            .get_or_insert_with(|| {
                let mut lanes = Vec::new();
                let mask = make(&mut lanes);
                let words = lanes.iter().map(|&lane| word(lane)).collect();
                Made { mask, lanes, words }
            })
            .mask
    }
}

/// All ones for an active lane.
pub(super) fn word(lane: u8) -> u32 {
    0u32.wrapping_sub(lane.into())
}

/// What bytes leave of a line.
pub(super) fn left(lanes: &[u8]) -> LineMask {
    match (lanes.iter().position(|&lane| lane != 0), lanes.iter().rposition(|&lane| lane != 0)) {
        (Some(first), Some(last)) => LineMask::Lanes(first, last + 1),
        (None, _) | (_, None) => LineMask::Range(0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_is_made_once_a_program_and_anew_for_other_bands() {
        let mut masks = Masks::default();
        let band = |hi| [Band { base: 0, lo: 0, hi }];
        let mut made = 0;
        for hi in [9, 9, 8] {
            masks.new_program();
            for _ in 0..2 {
                masks.begin(2, &band(hi));
                for class in [1, 0, 1] {
                    let mask = masks.of_class(2, class, |lanes| {
                        made += 1;
                        lanes.extend([0, 1, class as u8, 0]);
                        left(lanes)
                    });
                    assert_eq!((mask, masks.lanes()), (LineMask::Lanes(1, 2 + class), &[0, 1, class as u8, 0][..]));
                }
            }
        }
        assert_eq!(made, 6);
        masks.begin(2, &band(7));
        assert_eq!(masks.of_class(2, 1, |_| LineMask::Range(0, 3)), LineMask::Range(0, 3));
        masks.fresh(2).fill(0);
        assert_eq!((masks.lanes(), left(masks.lanes())), (&[0, 0][..], LineMask::Range(0, 0)));
    }
}
