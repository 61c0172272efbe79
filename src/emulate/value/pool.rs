//! Buffers of dead blocks, kept for the next block of the same size: a hot cache line costs less
//! than a fresh allocation. Also the account of what a program holds (the memory limit).

use std::sync::Arc;

use super::{Cell, Floats, IntLanes, MaskLanes};

/// Free vectors of one element type.
#[derive(Default)]
pub struct Shelf<T> {
    free: Vec<Vec<T>>,
}

/// At most this many free vectors are kept a type.
const SHELF: usize = 24;

impl<T: Copy + Default> Shelf<T> {
    /// A vector of `len` lanes with any values.
    fn take(&mut self, len: usize) -> Option<Vec<T>> {
        let found = self.free.iter().rposition(|v| v.capacity() >= len && v.capacity() / 4 <= len)?;
        let mut vector = self.free.swap_remove(found);
        vector.resize(len, T::default());
        Some(vector)
    }

    fn bytes(&self) -> usize {
        self.free.iter().map(|v| v.capacity() * size_of::<T>()).sum()
    }

    fn put(&mut self, vector: Vec<T>) -> usize {
        if vector.capacity() == 0 {
            return 0;
        }
        if self.free.len() == SHELF {
            let old = std::mem::replace(&mut self.free[0], vector);
            return old.capacity() * size_of::<T>();
        }
        self.free.push(vector);
        0
    }
}

/// One pool a worker.
#[derive(Default)]
pub struct Pool {
    f32: Shelf<f32>,
    f64: Shelf<f64>,
    i64: Shelf<i64>,
    u8: Shelf<u8>,
    /// Lazy forms are allowed (never in a dense run).
    pub lazy: bool,
    /// Bytes handed out and not given back; at least what blocks take.
    pub held: usize,
}

macro_rules! shelves {
    ($($take:ident $give:ident $ty:ident;)*) => {$(
        /// Lanes with any values.
        pub fn $take(&mut self, len: usize) -> Vec<$ty> {
            if let Some(vector) = self.$ty.take(len) {
                return vector;
            }
            self.held += len * size_of::<$ty>();
            vec![$ty::default(); len]
        }

        fn $give(&mut self, lanes: Arc<Vec<$ty>>) {
            if let Ok(vector) = Arc::try_unwrap(lanes) {
                let dropped = self.$ty.put(vector);
                self.held = self.held.saturating_sub(dropped);
            }
        }
    )*};
}

impl Pool {
    pub fn new(lazy: bool) -> Pool {
        Pool { lazy, ..Pool::default() }
    }

    shelves! {
        f32 give_f32 f32;
        f64 give_f64 f64;
        i64 give_i64 i64;
        u8 give_u8 u8;
    }

    /// Bytes kept for reuse.
    pub fn free_bytes(&self) -> usize {
        self.f32.bytes() + self.f64.bytes() + self.i64.bytes() + self.u8.bytes()
    }

    pub fn give_back_f32(&mut self, vector: Vec<f32>) {
        let dropped = self.f32.put(vector);
        self.held = self.held.saturating_sub(dropped);
    }

    /// Takes the buffers of a dead cell unless something still shares them.
    pub fn recycle(&mut self, cell: Cell) {
        match cell {
            Cell::Empty | Cell::Int(_) | Cell::Float(_) | Cell::Ptr(_) => {}
            Cell::Ints(block) => self.recycle_ints(block),
            Cell::Ptrs(block) => self.recycle_ints(block.offsets),
            Cell::Mask(block) => {
                if let MaskLanes::Dense(lanes) = block.lanes {
                    self.give_u8(lanes);
                }
            }
            Cell::Floats(block) => match block.lanes {
                Floats::F32(lanes) => self.give_f32(lanes),
                Floats::F64(lanes) => self.give_f64(lanes),
            },
        }
    }

    fn recycle_ints(&mut self, block: super::IntBlock) {
        if let IntLanes::Dense(lanes) = block.lanes {
            self.give_i64(lanes);
        }
    }
}
