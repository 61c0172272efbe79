//! Storage for the values that launches write: buffers shared by values that never live together.
//!
//! A value lives from the launch that writes it to the last one that reads it, both included, so a
//! launch never reads and writes one buffer. Values are visited in order of their first write; each
//! takes a buffer of exactly its dtype and length that is free by then (host code reuses storage by
//! a plain view), the one freed last, or a new one. Within one dtype and length this gives the
//! fewest buffers possible (interval graph colouring). What the model returns is never shared.

use crate::dtype::DType;
use crate::select::plan::Buffer;

/// A value that needs storage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lifetime {
    pub dtype: DType,
    /// In elements.
    pub len: usize,
    /// The launch that writes it.
    pub first: usize,
    /// The last launch that uses it.
    pub last: usize,
    /// Returned by the model.
    pub returned: bool,
}

/// The buffers, and the buffer of each value.
pub fn assign(values: &[Lifetime]) -> (Vec<Buffer>, Vec<usize>) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|&v| (values[v].first, v));
    let mut buffers: Vec<Buffer> = Vec::new();
    let mut shared: Vec<bool> = Vec::new();
    let mut places = vec![0; values.len()];
    for v in order {
        let value = values[v];
        let fits = |b: &usize| {
            let buffer = &buffers[*b];
            shared[*b] && buffer.dtype == value.dtype && buffer.len == value.len && buffer.live.1 < value.first
        };
        let free = (0..buffers.len()).filter(fits).max_by_key(|&b| buffers[b].live.1).filter(|_| !value.returned);
        places[v] = match free {
            Some(b) => {
                buffers[b].live.1 = value.last;
                b
            }
            None => {
                buffers.push(Buffer { dtype: value.dtype, len: value.len, live: (value.first, value.last) });
                shared.push(!value.returned);
                buffers.len() - 1
            }
        };
    }
    (buffers, places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lifetimes() -> impl Strategy<Value = Vec<Lifetime>> {
        let one = (0usize..3, 0usize..20, 0usize..6, 0u8..8).prop_map(|(kind, first, length, returned)| Lifetime {
            dtype: [DType::F32, DType::F32, DType::I64][kind],
            len: [10, 20, 10][kind],
            first,
            last: first + length,
            returned: returned == 0,
        });
        proptest::collection::vec(one, 0..30)
    }

    proptest! {
        #[test]
        fn no_two_live_values_share(values in lifetimes()) {
            let (buffers, places) = assign(&values);
            for (a, x) in values.iter().enumerate() {
                let buffer = &buffers[places[a]];
                prop_assert_eq!((buffer.dtype, buffer.len), (x.dtype, x.len));
                prop_assert!(buffer.live.0 <= x.first && x.last <= buffer.live.1);
                for (b, y) in values.iter().enumerate().skip(a + 1).filter(|&(b, _)| places[b] == places[a]) {
                    prop_assert!(x.last < y.first || y.last < x.first, "{} and {} share", a, b);
                    prop_assert!(!x.returned && !y.returned);
                }
            }
        }

        #[test]
        fn no_more_buffers_than_live_together(values in lifetimes()) {
            let values: Vec<Lifetime> = values.into_iter().map(|v| Lifetime { returned: false, ..v }).collect();
            let (buffers, _) = assign(&values);
            let most: usize = [(DType::F32, 10), (DType::F32, 20), (DType::I64, 10)]
                .iter()
                .map(|&(dtype, len)| {
                    let alive = |t: usize| values.iter().filter(|v| v.dtype == dtype && v.len == len && v.first <= t && t <= v.last).count();
                    (0..30).map(alive).max().unwrap_or(0)
                })
                .sum();
            prop_assert_eq!(buffers.len(), most);
        }
    }
}
