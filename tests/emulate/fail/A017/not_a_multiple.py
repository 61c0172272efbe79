import triton
import triton.language as tl


# compile: aligned x_ptr=*f32 stride=i32
# buffer: x f32[64] zeros
# launch: 4 x 6
@triton.jit
def aligned(x_ptr, stride):
    stride = tl.multiple_of(stride, 8)  #~ A017
    at = tl.arange(0, 4)
    tl.store(x_ptr + tl.program_id(0) * stride + at, 1.0)
