"""What Triton's interpreter asks of a tensor, over a numpy array: kernels run under TRITON_INTERPRET=1 without torch.

For scripts of this folder. It has no device and no arithmetic; a view is what numpy's strides say.
"""

import numpy as np

NAMES = {"float32": "fp32", "int64": "i64", "int32": "i32", "bool": "i1"}


class Array:
    """`dtype` is Triton's name of the elements, which an array of one of NAMES need not say."""

    def __init__(self, array, dtype=None):
        self.array, self.dtype = array, dtype or NAMES[array.dtype.name]
        self.device, self.shape = "cpu", array.shape

    def data_ptr(self):
        return self.array.ctypes.data

    def element_size(self):
        return self.array.itemsize

    def stride(self, axis=None):
        strides = tuple(s // self.array.itemsize for s in self.array.strides)
        return strides if axis is None else strides[axis]

    def size(self):
        return self.array.shape

    def numel(self):
        return self.array.size

    def storage_offset(self):
        return 0

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def contiguous(self):
        return self

    def copy_(self, other):
        self.array[...] = other.array
        return self

    def new_empty(self, *_size, **_options):
        return Array(np.empty(0, self.array.dtype), self.dtype)

    def set_(self, storage, _offset, _size, _stride):
        self.array = storage.array
