//! Masks: a range of lanes along one axis, or a byte a lane.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Layout, Pool, Taints};

#[derive(Clone, Debug)]
pub enum MaskLanes {
    /// Lanes `from..to` of the only axis are true.
    Range { from: usize, to: usize },
    /// 0 or 1.
    Dense(Arc<Vec<u8>>),
}

#[derive(Clone, Debug)]
pub struct MaskBlock {
    pub layout: Layout,
    pub lanes: MaskLanes,
    pub taints: Taints,
}

impl MaskBlock {
    pub fn range(n: usize, from: usize, to: usize) -> MaskBlock {
        let to = to.min(n);
        MaskBlock { layout: Layout::line(n), lanes: MaskLanes::Range { from: from.min(to), to }, taints: None }
    }

    pub fn dense(layout: Layout, lanes: Vec<u8>, taints: Taints) -> MaskBlock {
        MaskBlock { layout, lanes: MaskLanes::Dense(Arc::new(lanes)), taints }
    }

    pub fn values(&self) -> Cow<'_, [u8]> {
        match &self.lanes {
            MaskLanes::Dense(lanes) => Cow::Borrowed(lanes),
            MaskLanes::Range { from, to } => {
                let mut lanes = vec![0; self.layout.size(0)];
                lanes[*from..*to].fill(1);
                Cow::Owned(lanes)
            }
        }
    }

    pub fn with_layout(&self, layout: Layout, _pool: &mut Pool) -> MaskBlock {
        let lanes = match &self.lanes {
            MaskLanes::Range { .. } if layout.rank() == 1 && layout.is_full() => self.lanes.clone(),
            MaskLanes::Range { .. } => MaskLanes::Dense(Arc::new(self.values().into_owned())),
            MaskLanes::Dense(lanes) => MaskLanes::Dense(lanes.clone()),
        };
        MaskBlock { layout, lanes, taints: self.taints.clone() }
    }
}
