# compile: device x_ptr=*f32 y_ptr=*i32
# buffer: x f32[1] 4
# buffer: y i32[3] zeros
# launch: 1 x y
# value: y 128 4 4
import triton
import triton.language as tl


@triton.jit
def device(x_ptr, y_ptr):
    """What only NVIDIA GPUs have: programs that begin before an earlier grid ends, and warps that are counted."""
    tl.extra.cuda.gdc_wait()
    tl.store(y_ptr, tl.extra.cuda.num_threads())
    tl.store(y_ptr + 1, tl.extra.cuda.num_warps())
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(y_ptr + 2, tl.load(x_ptr).to(tl.int32))
