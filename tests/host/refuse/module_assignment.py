# x=f32[2]
import triton

triton.jit = None


def launch(x):
    return x
