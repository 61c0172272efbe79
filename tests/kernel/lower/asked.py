# compile: same_width x_ptr=*f32 h_ptr=*f16
# compile: pointers_as_bits x_ptr=*f32
# compile: a_type_is_no_number x_ptr=*f16 Q=3 D=dtype:f16
# compile: written x_ptr=*f32 B=16
# compile: what_is_known x_ptr=*f16
# compile: launch x_ptr=*i32
import triton
import triton.language as tl

CONSTRAINTS = tl.constexpr(",".join("=f" for _ in range(1)) + "," + ",".join("f" for _ in range(1)))
PARTS = tl.constexpr(" ".join("add.f32 $0, $1, $1;\n".split("\n")))


@triton.constexpr_function
def element_type(what):
    if isinstance(what, tl.tensor):
        return what.dtype.element_ty
    return what


@triton.jit
def same_width(x_ptr, h_ptr):
    """A rounding is allowed where nothing is rounded."""
    x = tl.load(x_ptr)
    tl.store(x_ptr, x.to(tl.float32, fp_downcast_rounding="rtne"))
    tl.store(h_ptr, tl.cast(x.to(tl.float16), tl.float16, fp_downcast_rounding="rtz"))


@triton.jit
def pointers_as_bits(x_ptr):
    """A bitcast of an address is a cast."""
    address = x_ptr.to(tl.int64, bitcast=True)
    tl.store((address + 4).to(tl.pointer_type(tl.int32), bitcast=True), 1)


@triton.jit
def a_type_is_no_number(x_ptr, Q: tl.constexpr, D: tl.constexpr):
    a = 1.0 if D == 3 else 2.0
    b = 1.0 if "int8" != D else 2.0
    c = 1.0 if x_ptr.dtype.element_ty == D and Q == 3 else 2.0
    tl.store(x_ptr, a + b + c)


@triton.jit
def written(x_ptr, B: tl.constexpr):
    tl.static_assert(B == 16, f"{B=} must be 16")
    x = tl.load(x_ptr)
    tl.store(x_ptr, tl.inline_asm_elementwise(PARTS, CONSTRAINTS, [x], dtype=tl.float32, is_pure=True, pack=1))


@triton.jit
def what_is_known(x_ptr):
    kind: tl.constexpr = element_type(x_ptr)
    block = tl.zeros((4, 8), kind)
    tl.store(x_ptr, tl.sum(tl.sum(tl.full(block.type.get_block_shapes(), 1, kind), 1), 0))


@triton.jit
def launch(x_ptr):
    tl.extra.cuda.gdc_wait()
    tl.store(x_ptr, tl.extra.cuda.num_threads() + tl.extra.cuda.num_warps())
    tl.extra.cuda.gdc_launch_dependents()
