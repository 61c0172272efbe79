# lint: ascend910b1
import triton
import triton.language as tl


@triton.jit
def half(x_ptr, y_ptr, n, BLOCK: tl.constexpr = 64):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        mask = i < n  #~ N020
        x = tl.load(x_ptr + i, mask=(mask))  # rows
        x += tl.load(
            x_ptr + i,
            mask=mask,
        )
        y = tl.float16(x) + tl.float16(x * 2.0) + tl.float16( x )
        tl.store(y_ptr + i, y.to(tl.float32), mask=mask)
