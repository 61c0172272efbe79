# lint: ascend910b2c
import triton
import triton.language as tl


@triton.autotune(  #~ N019
    configs=[
        triton.Config({"BLOCK": 1024}, num_warps=4),  #~ N019
        triton.Config({"BLOCK": 2048}),
    ],
    key=["n"],
)
@triton.jit
def fill(y_ptr, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(y_ptr + i, 0.0, mask=i < n)  #~ N020


@triton.autotune(configs=[triton.Config({"BLOCK": 512})], key=["n"], restore_value=["y_ptr"])
@triton.jit
def ones(y_ptr, n, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(y_ptr + i, 1.0, mask=i < n)  #~ N020
