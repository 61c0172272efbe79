//! Arrays of f64 with an error bound an element, and how shapes meet.

/// What the elements are, for the rounding that computing them costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Bool,
    Int,
    Float,
}

/// A dense row-major array.
#[derive(Clone, Debug)]
pub struct Array {
    pub kind: Kind,
    pub shape: Vec<usize>,
    pub value: Vec<f64>,
    /// What a kernel's element may be off by; empty when all are exact. A bool that may be either has 1.
    pub error: Vec<f64>,
}

pub type Result<T> = std::result::Result<T, String>;

/// Elements that an intermediate may have.
const LARGEST: usize = 1 << 27;

/// The number of elements of a shape.
pub fn count(shape: &[usize]) -> Result<usize> {
    let n = crate::shape::numel(shape).filter(|&n| n <= LARGEST);
    n.ok_or_else(|| format!("an intermediate of shape {} is too large", crate::shape::display(shape)))
}

impl Array {
    pub fn exact(kind: Kind, shape: Vec<usize>, value: Vec<f64>) -> Array {
        Array { kind, shape, value, error: Vec::new() }
    }

    pub fn scalar(kind: Kind, value: f64) -> Array {
        Array::exact(kind, Vec::new(), vec![value])
    }

    pub fn error_at(&self, at: usize) -> f64 {
        self.error.get(at).copied().unwrap_or(0.0)
    }

    /// Elements picked from this one, by place.
    pub fn pick(&self, shape: Vec<usize>, places: impl Iterator<Item = usize> + Clone) -> Array {
        let error = if self.error.is_empty() { Vec::new() } else { places.clone().map(|at| self.error[at]).collect() };
        Array { kind: self.kind, shape, value: places.map(|at| self.value[at]).collect(), error }
    }

    /// The axis that a number names.
    pub fn axis(&self, axis: i64) -> Result<usize> {
        let rank = self.shape.len() as i64;
        let at = if axis < 0 { axis + rank } else { axis };
        usize::try_from(at).ok().filter(|at| *at < self.shape.len()).ok_or_else(|| format!("axis {axis} of {rank} axes"))
    }

    /// Sizes before, of, and behind an axis.
    pub fn around(&self, axis: usize) -> [usize; 3] {
        [self.shape[..axis].iter().product(), self.shape[axis], self.shape[axis + 1..].iter().product()]
    }

    pub fn reshaped(mut self, shape: Vec<usize>) -> Result<Array> {
        if count(&shape)? != self.value.len() {
            let (from, to) = (crate::shape::display(&self.shape), crate::shape::display(&shape));
            return Err(format!("{from} cannot be reshaped to {to}"));
        }
        self.shape = shape;
        Ok(self)
    }

    pub fn permuted(&self, order: &[usize]) -> Array {
        let strides = crate::shape::contiguous_strides(&self.shape);
        let shape: Vec<usize> = order.iter().map(|&axis| self.shape[axis]).collect();
        let moved: Vec<usize> = order.iter().map(|&axis| strides[axis] as usize).collect();
        let places = Places::new(&shape, moved);
        self.pick(shape, places)
    }

    pub fn broadcast(&self, shape: &[usize]) -> Array {
        if self.shape == shape {
            return self.clone();
        }
        let places = Places::new(shape, broadcast_strides(&self.shape, shape));
        self.pick(shape.to_vec(), places)
    }
}

/// Strides of `from` seen as `to`: zero where an axis of size 1 grows.
fn broadcast_strides(from: &[usize], to: &[usize]) -> Vec<usize> {
    let own = crate::shape::contiguous_strides(from);
    let missing = to.len() - from.len();
    (0..to.len())
        .map(|axis| match axis.checked_sub(missing) {
            Some(at) if from[at] != 1 => own[at] as usize,
            Some(_) | None => 0,
        })
        .collect()
}

/// The shape that several shapes broadcast to.
pub fn common(arrays: &[&Array]) -> Result<Vec<usize>> {
    let mut shape = Vec::new();
    for array in arrays {
        let met = crate::shape::broadcast(&shape, &array.shape);
        let met = met.ok_or_else(|| {
            format!("shapes {} and {} do not fit", crate::shape::display(&shape), crate::shape::display(&array.shape))
        })?;
        shape = met.to_vec();
    }
    count(&shape)?;
    Ok(shape)
}

/// Places of a strided walk in row-major order.
#[derive(Clone)]
pub struct Places {
    shape: Vec<usize>,
    strides: Vec<usize>,
    index: Vec<usize>,
    at: usize,
    left: usize,
}

impl Places {
    pub fn new(shape: &[usize], strides: Vec<usize>) -> Places {
        let left = shape.iter().product();
        Places { shape: shape.to_vec(), strides, index: vec![0; shape.len()], at: 0, left }
    }
}

impl Iterator for Places {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let here = self.at;
        for axis in (0..self.shape.len()).rev() {
            self.index[axis] += 1;
            self.at += self.strides[axis];
            if self.index[axis] < self.shape[axis] {
                break;
            }
            self.at -= self.strides[axis] * self.shape[axis];
            self.index[axis] = 0;
        }
        Some(here)
    }
}
