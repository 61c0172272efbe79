# compile: gluon x_ptr=*f32
# compile: shared_memory x_ptr=*f32
# compile: pointer_into_it x_ptr=*f32
# compile: tensor_map x_ptr=*f32
# compile: fence x_ptr=*f32
# compile: stage x_ptr=*f32
import triton
import triton.experimental.gluon.language as ttgl
import triton.experimental.tle.language as tle
import triton.language as tl


@triton.jit
def gluon(x_ptr):
    tl.store(x_ptr, ttgl.full([4], 1.0, ttgl.float32))


@triton.jit
def shared_memory(x_ptr):
    tile = tle.gpu.alloc([4], dtype=tl.float32, scope=tle.gpu.smem)


@triton.jit
def pointer_into_it(x_ptr):
    at = tle.gpu.local_ptr(x_ptr, (0,))


@triton.jit
def tensor_map(x_ptr):
    tl.extra.cuda.experimental_device_tensormap_create2d(desc_ptr=x_ptr, global_address=x_ptr, load_size=[4, 4])


@triton.jit
def fence(x_ptr):
    tl.extra.cuda.experimental_tensormap_fenceproxy_acquire(x_ptr)


@triton.jit
def stage(x_ptr):
    with ttgl.amd.warp_pipeline_stage("load"):
        tl.store(x_ptr, 1.0)
