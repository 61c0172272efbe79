# x=f32[2]
import triton


@triton.autotune
@triton.jit
def k(x):
    pass


def launch(x):
    return x
