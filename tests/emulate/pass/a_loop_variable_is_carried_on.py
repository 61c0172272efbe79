import triton
import triton.language as tl


# compile: sums y_ptr=*i32 n=i32
# buffer: y i32[4] empty
# launch: 1 y 3
# value: y 8 16 9 9
@triton.jit
def sums(y_ptr, n):
    # What an inner loop starts with is the outer one's variable, which still has to go up.
    for i in range(1, 3):
        for _ in range(n):
            i += i
        tl.store(y_ptr + i // 8 - 1, i)
    # One value is handed to two variables, and read besides.
    a, b, c = 1, 2, 3
    for _ in range(n):
        a, b, c = a + c, a, a
    tl.store(y_ptr + 2 + tl.arange(0, 2), a + b * 0 + c - c)
