def _mix(h):
    h = ((h ^ (h >> 16)) * 0x208B9CB7) & 0xFFFFFFFF
    h = ((h ^ (h >> 16)) * 0x3406A979) & 0xFFFFFFFF
    return h ^ (h >> 14)


def hashed(shape, a, b):
    """32-bit hashes of the elements 0, 1, 2, ... of a tensor with the seed (a, b)."""
    index = numpy.arange(math.prod(shape), dtype=numpy.int64)
    low, high = index & 0xFFFFFFFF, index >> 32
    return _mix((_mix(low ^ a) + b + _mix(high)) & 0xFFFFFFFF).reshape(shape)


def uniform(shape, a, b, scale, offset, dtype="float32"):
    """Multiples of 2**-23 in [-1, 1), times scale, plus offset."""
    unit = ((hashed(shape, a, b) >> 8) - 8388608).astype(numpy.float32) * numpy.float32(2.0**-23)
    return (unit * numpy.float32(scale) + numpy.float32(offset)).astype(dtype)


def integers(shape, a, b, low, count, step, keep, dtype="float32"):
    """(low + k) * step for k in range(count); zero in (256 - keep) of 256 cases."""
    h = hashed(shape, a, b)
    value = (low + ((h * count) >> 32)) * step
    return (value * ((h & 255) < keep)).astype(dtype)


def powers(shape, a, b, low, count, dtype="float32"):
    """2 ** (low + k) for k in range(count)."""
    k = (hashed(shape, a, b) * count) >> 32
    return ((1 << k).astype(numpy.float32) * numpy.float32(2.0**low)).astype(dtype)


def constant(shape, value, dtype="float32"):
    return numpy.full(shape, value, dtype=numpy.float32).astype(dtype)
