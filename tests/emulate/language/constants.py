# compile: constants y_ptr=*f32
# buffer: y f32[8] zeros
# launch: 1 y
# warns: A022
# value: y inf -inf 1.5 0 3 0 0 0
import triton
import triton.language as tl


@triton.jit
def constants(y_ptr):
    tl.store(y_ptr, float("inf"))
    tl.store(y_ptr + 1, float("-inf"))
    tl.store(y_ptr + 2, float(3) / 2)
    unknown = tl.full((4,), float("nan"), tl.float32)
    tl.store(y_ptr + 3, tl.sum((unknown == unknown).to(tl.float32)))
    tl.store(y_ptr + 4, tl.sum(tl.zeros_like(unknown) + tl.zeros([4], dtype=tl.float32) + 0.75))
