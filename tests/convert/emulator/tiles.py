# compile: transpose x_ptr=*f32 y_ptr=*f32 M=i32 N=i32 BLOCK=4
# buffer: x f32[30]
# buffer: y f32[30]
# launch: 2,2 x y 5 6
import torch
from emulators.common import tl as T
from emulators.common import launch_kernel_2d


def tile(at, BLOCK):
    return at * BLOCK + T.arange(0, BLOCK)


def transpose(x_ptr, y_ptr, M, N, BLOCK: int = 4):
    m, n = tile(T.program_id(0), BLOCK), tile(T.program_id(1), BLOCK)
    mask = (m[:, None] < M) & (n[None, :] < N)
    x = T.load(x_ptr,m[:, None] * N + n[None, :], mask=mask, other=0.0)
    T.store(y_ptr, (n[None, :] * M + m[:, None]), x, mask=mask)


def launch(x, M, N):
    y = torch.zeros(M * N)
    launch_kernel_2d(transpose, x, y, M, N, grid=(T.cdiv(M, 4), T.cdiv(N, 4)))
    return y
