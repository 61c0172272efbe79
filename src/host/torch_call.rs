//! Functions of torch that host code may call: allocations; in `prepare` also what computes weights.

use smallvec::SmallVec;

use super::call::Args;
use super::eval::Evaluator;
use super::frame::Frame;
use super::trace::{Event, Fill};
use super::value::Value;
use crate::diag;
use crate::dtype::DType;
use crate::graph::TensorType;
use crate::shape::Shape;

impl<'m> Evaluator<'m> {
    /// Calls `torch.…`.
    pub(super) fn torch(&mut self, frame: &Frame<'m>, path: &str, args: Args<'m>) -> diag::Result<Value<'m>> {
        let name = path.trim_start_matches("torch.");
        match name {
            "empty" => self.alloc(frame, Fill::Empty, args),
            "zeros" => self.alloc(frame, Fill::Zeros, args),
            "ones" => self.alloc(frame, Fill::Ones, args),
            "empty_like" => self.alloc_like(frame, Fill::Empty, args),
            "zeros_like" => self.alloc_like(frame, Fill::Zeros, args),
            "ones_like" => self.alloc_like(frame, Fill::Ones, args),
            _ if self.steps.is_some() => self.prepared_function(frame, name, args),
            _ => {
                let refused = *frame.unsupported(args.span, &format!("`{path}`"));
                Err(Box::new(refused.help("torch only allocates and views; compute it in a kernel")))
            }
        }
    }

    /// `torch.empty(sizes, dtype=, device=)`. Without `dtype` torch gives float32; without `device`
    /// it gives host memory, which no kernel can reach.
    fn alloc(&mut self, frame: &Frame<'m>, fill: Fill, mut args: Args<'m>) -> diag::Result<Value<'m>> {
        let sizes = self.ints(frame, args.span, &args.positional)?;
        let mut shape: Shape = SmallVec::new();
        for &size in &sizes {
            match usize::try_from(size) {
                Ok(size) => shape.push(size),
                Err(_) => return Err(frame.raises(args.span, format!("an allocation with a size of {size}"))),
            }
        }
        let dtype = self.dtype_argument(frame, &mut args)?.unwrap_or(DType::F32);
        if args.take("device").is_none() {
            return Err(frame.unsupported(args.span, "an allocation without device="));
        }
        args.no_more(frame)?;
        self.allocate(frame, fill, TensorType { dtype, shape }, &args)
    }

    fn alloc_like(&mut self, frame: &Frame<'m>, fill: Fill, mut args: Args<'m>) -> diag::Result<Value<'m>> {
        let [Value::Tensor(like)] = args.positional.as_slice() else {
            return Err(frame.unsupported(args.span, "this allocation"));
        };
        let like = like.clone();
        if !like.is_contiguous() {
            return Err(frame.unsupported(args.span, "an allocation like a tensor that is not contiguous"));
        }
        let dtype = self.dtype_argument(frame, &mut args)?.unwrap_or(like.dtype);
        args.take("device");
        args.no_more(frame)?;
        self.allocate(frame, fill, TensorType { dtype, shape: like.shape }, &args)
    }

    fn allocate(&mut self, frame: &Frame<'m>, fill: Fill, ty: TensorType, args: &Args<'m>) -> diag::Result<Value<'m>> {
        if self.steps.is_some() {
            return Err(frame.unsupported(args.span, "an allocation in prepare"));
        }
        let len = self.charge(frame, &ty, args.span)?;
        let tensor = self.new_storage(&ty, format!("an allocation of {}", frame.def.name));
        self.trace.events.push(Event::Alloc { storage: tensor.storage, dtype: ty.dtype, len, fill, span: args.span });
        Ok(Value::Tensor(tensor))
    }

    pub(super) fn dtype_argument(&self, frame: &Frame<'m>, args: &mut Args<'m>) -> diag::Result<Option<DType>> {
        match args.take("dtype") {
            None => Ok(None),
            Some(Value::DType(dtype)) => Ok(Some(dtype)),
            Some(other) => Err(frame.unsupported(args.span, &format!("{} as a dtype", other.kind()))),
        }
    }
}
