import triton
import triton.language as tl


# compile: dots y_ptr=*f32
# buffer: y f32[3] empty
# launch: 1 y
# value: y 16 16.0078125 16.0078125
@triton.jit
def dots(y_ptr):
    # 1 + 2^-11: one bit more than a tf32 has. A dot that says nothing takes tf32, as on CUDA.
    a = tl.full([16, 16], 1.00048828125, tl.float32)
    ones = tl.full([16, 16], 1.0, tl.float32)
    tl.store(y_ptr, tl.max(tl.dot(a, ones)))
    tl.store(y_ptr + 1, tl.max(tl.dot(a, ones, input_precision="ieee")))
    tl.store(y_ptr + 2, tl.max(tl.dot(a, ones, input_precision="tf32x3")))
