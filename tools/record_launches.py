"""Records the Triton launches of a running program, for `decompose emulate --recording DIR`.

    python tools/record_launches.py -o DIR program.py [arguments of the program]
    python tools/record_launches.py -o DIR -m package.module [arguments]

or from inside of a program:

    from record_launches import Recorder
    with Recorder("DIR"):
        ...

Each recorded launch is a folder: `launch.json` (kernel, arguments, grid, options), `kernel.py` (the kernel with all that it
calls, see kernel_text.py) and `tensors.safetensors` (memory before, and where it changed, after). docs/replay.md
describes the fields. Launches of one kernel with one specialisation (types, constexprs, options, which integers are 1 or
multiples of 16) are recorded once; of one kernel, a few; none whose memory is larger than a limit. What is not recorded is
told in `skipped.json` with the reason. Needs nothing but the program's own torch and Triton (3.2 to 3.9).

How: `JITFunction.run` is where every launch passes, those of autotuners and heuristics with their choices made. Runs that
an autotuner makes to measure are not recorded.

Does not see: launches of kernels that are already compiled (`compiled[grid](…)`, CUDA graphs, Inductor's static launchers), and
what other streams do meanwhile.
"""

import argparse
import ctypes
import hashlib
import inspect
import json
import os
import runpy
import struct
import sys

from kernel_text import Text, literal, unwrapped

VERSION = 1

# Bytes that a storage may have to be recorded whole.
WHOLE = 1 << 16

# torch's element types and what safetensors calls them; fnuz types and others travel as bytes.
STORED = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8",
    "bool": "BOOL",
}


class Skip(Exception):
    """Why a launch is not recorded."""


class Recorder:
    """Hooks Triton's launcher while it is entered.

    folder: where recordings go; launches: at most so many of a kernel; size: bytes that the memory of one launch may have, before
    and after together; total: bytes that all recordings may have.
    """

    def __init__(self, folder, launches=2, size=1 << 20, total=1 << 30):
        self.folder, self.launches, self.size, self.left = folder, launches, size, total
        self.seen, self.counts, self.skipped, self.measuring = set(), {}, {}, 0
        self.undo = []

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        for owner, name, around in hooks():
            original = getattr(owner, name)
            setattr(owner, name, getattr(self, around)(original))
            self.undo.append((owner, name, original))
        return self

    def __exit__(self, *_):
        for owner, name, original in reversed(self.undo):
            setattr(owner, name, original)
        self.undo = []
        with open(os.path.join(self.folder, "skipped.json"), "w") as file:
            json.dump(self.skipped, file, indent=1, sort_keys=True)

    def measured(self, original):
        """Around an autotuner's measuring."""

        def run(*args, **kwargs):
            self.measuring += 1
            try:
                return original(*args, **kwargs)
            finally:
                self.measuring -= 1

        return run

    def launched(self, original):
        """Around a launch."""

        def run(jitted, *args, grid, warmup=False, **kwargs):
            prepared = None
            if not warmup and not self.measuring:
                prepared = self.prepare(jitted, args, kwargs, grid)
            outcome = original(jitted, *args, grid=grid, warmup=warmup, **kwargs)
            if prepared is not None:
                self.guarded(jitted, lambda: self.finish(*prepared))
            return outcome

        return run

    def guarded(self, jitted, work):
        """A recorder never makes the program fail that it records, and does not record what it does itself."""
        self.measuring += 1
        try:
            return work()
        except Skip as reason:
            self.skipped.setdefault(full_name(jitted), []).append(str(reason))
        except Exception as error:  # noqa: BLE001
            self.skipped.setdefault(full_name(jitted), []).append(f"{type(error).__name__}: {error}")
        finally:
            self.measuring -= 1
        return None

    def prepare(self, jitted, args, kwargs, grid):
        return self.guarded(jitted, lambda: self.before(jitted, args, kwargs, grid))

    def before(self, jitted, args, kwargs, grid):
        bound, options = bind(jitted, args, kwargs)
        sizes = grid({**bound, **options}) if callable(grid) else grid
        sizes = [int(n) for n in (sizes if isinstance(sizes, (tuple, list)) else (sizes,))]
        sizes += [1] * (3 - len(sizes))
        if 0 in sizes:
            return None
        key = specialisation(jitted, bound, options)
        name = full_name(jitted)
        if key in self.seen or self.counts.get(name, 0) >= self.launches:
            return None
        memory = Memory()
        text = Text()
        entry = text.kernel(jitted)
        arguments = {name: described(value, memory, text) for name, value in bound.items()}
        arguments = {name: placed(argument, memory) for name, argument in arguments.items()}
        if memory.bytes() * 2 > self.size:
            raise Skip(f"its memory has {memory.bytes()} bytes")
        before = memory.snapshot()
        launch = {
            "version": VERSION, "kernel": entry, "function": name, "line": jitted.fn.__code__.co_firstlineno, **surroundings(jitted),
            "grid": sizes, "options": {k: v for k, v in sorted(options.items()) if type(v) in (bool, int, float, str)},
            "arguments": arguments,
        }
        return key, launch, text.text(), memory, before

    def finish(self, key, launch, text, memory, before):
        after = memory.snapshot()
        tensors = {}
        launch["storages"] = []
        for number, (range_, old, new) in enumerate(zip(memory.ranges(), before, after)):
            stored = STORED.get(range_.dtype, "U8")
            tensors[f"{number}.before"] = (stored, old)
            if new != old:
                tensors[f"{number}.after"] = (stored, new)
            launch["storages"].append(
                {"dtype": range_.dtype, "elements": len(old) // range_.itemsize, "written": new != old}
            )
        size = sum(len(data) for _, data in tensors.values())
        if size > self.left:
            raise Skip("the limit of all recordings is reached")
        self.left -= size
        name = launch["function"]
        folder = os.path.join(self.folder, f"{launch['kernel'][:60]}-{key[:10]}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "kernel.py"), "w") as file:
            file.write(text)
        with open(os.path.join(folder, "tensors.safetensors"), "wb") as file:
            file.write(safetensors(tensors))
        with open(os.path.join(folder, "launch.json"), "w") as file:
            json.dump(launch, file, indent=1)
        self.seen.add(key)
        self.counts[name] = self.counts.get(name, 0) + 1


def hooks():
    """(class, method, which wrapper) of the Triton that the program uses."""
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    found = [(JITFunction, "run", "launched"), (Autotuner, "_bench", "measured")]
    if os.environ.get("TRITON_INTERPRET") == "1":
        from triton.runtime.interpreter import InterpretedFunction

        found.append((InterpretedFunction, "run", "launched"))
    return [hook for hook in found if hasattr(hook[0], hook[1])]


def full_name(jitted):
    return f"{jitted.fn.__module__}.{jitted.fn.__qualname__}"


def surroundings(jitted):
    """Where the kernel comes from and what ran it."""
    import torch
    import triton

    package = jitted.fn.__module__.partition(".")[0]
    found = {"package": package, "triton": triton.__version__, "torch": str(torch.__version__)}
    if torch.cuda.is_available():
        major, minor = torch.cuda.get_device_capability()
        found |= {"device": torch.cuda.get_device_name(), "target": f"sm_{major}{minor}"}
    return found


def bind(jitted, args, kwargs):
    """Arguments by parameter, defaults filled in; and the launch's options."""
    signature = inspect.signature(jitted.fn)
    options = {name: value for name, value in kwargs.items() if name not in signature.parameters}
    bound = signature.bind(*args, **{name: value for name, value in kwargs.items() if name in signature.parameters})
    bound.apply_defaults()
    return dict(bound.arguments), options


def specialisation(jitted, bound, options):
    """Equal for launches that run the same code."""
    constant = {p.name for p in getattr(jitted, "params", []) if getattr(p, "is_constexpr", False)}

    def of(name, value):
        if is_tensor(value):
            return f"*{dtype_of(value)} {len(value.shape)}"
        if type(value) is int and name not in constant:
            return f"int {value == 1} {value % 16 == 0} {value.bit_length() > 31}"
        if type(value) is float and name not in constant:
            return "float"
        if isinstance(value, (tuple, list)):
            return str([of("", item) for item in value])
        inner = unwrapped(value)
        return full_name(inner) if inner is not None else f"{type(value).__name__} {getattr(value, 'block_shape', value)}"

    parts = [full_name(jitted), *(f"{n}={of(n, v)}" for n, v in bound.items()), *(f"{k}={v}" for k, v in sorted(options.items()))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


# --- tensors -------------------------------------------------------------------------------------------------------


def plain(value):
    """The tensor inside of `triton.reinterpret(tensor, dtype)`, else the value itself."""
    return value.base if type(value).__name__ == "TensorWrapper" else value


def is_tensor(value):
    return hasattr(value, "data_ptr") and hasattr(value, "stride")


def dtype_of(value):
    """As torch names it."""
    name = str(value.dtype).rpartition(".")[2]
    triton = {"fp64": "float64", "fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2",
              "int1": "bool"}
    return triton.get(name, name)


class Range:
    """Bytes of one storage that some arguments reach, or all of a small one, as one element type."""

    def __init__(self, storage, dtype, itemsize):
        self.storage, self.dtype, self.itemsize, self.start, self.end = storage, dtype, itemsize, None, 0


class Memory:
    """The memory that a launch's arguments view: one range a storage."""

    def __init__(self):
        self.by_address = {}

    def view(self, tensor, dtype):
        """Notes a tensor; what places it in its range."""
        inner = plain(tensor)
        storage, itemsize = inner.untyped_storage(), inner.element_size()
        address = storage.data_ptr()
        range_ = self.by_address.setdefault(address, Range(storage, dtype, itemsize))
        if range_.dtype != dtype:
            raise Skip(f"one memory is seen as {range_.dtype} and as {dtype}")
        shape, strides = [int(n) for n in inner.shape], [int(n) for n in inner.stride()]
        first = (inner.data_ptr() - address) // itemsize
        low = high = first
        for n, s in zip(shape, strides):
            low, high = low + min((n - 1) * s, 0), high + max((n - 1) * s, 0)
        if 0 in shape:
            low, high = first, first - 1
        if whole(storage):
            low, high = 0, max(storage.nbytes() // itemsize - 1, high)
        range_.start = low if range_.start is None else min(range_.start, low)
        range_.end = max(range_.end, high + 1)
        return {"storage": address, "dtype": dtype, "shape": shape, "strides": strides, "offset": first}

    def ranges(self):
        return list(self.by_address.values())

    def bytes(self):
        return sum(max(r.end - r.start, 0) * r.itemsize for r in self.ranges())

    def placed(self, view):
        """A view with its range's number, and its offset from where the range starts."""
        number = list(self.by_address).index(view["storage"])
        return {**view, "storage": number, "offset": view["offset"] - self.by_address[view["storage"]].start}

    def snapshot(self):
        """The bytes of each range."""
        return [content(r.storage, r.start * r.itemsize, max(r.end - r.start, 0) * r.itemsize) for r in self.ranges()]


def whole(storage):
    """Whether all of it is recorded: kernels may go beyond the views that they are given."""
    return hasattr(storage, "nbytes") and storage.nbytes() <= WHOLE


def content(storage, start, count):
    import torch

    flat = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage, start, (count,), (1,))
    here = flat.cpu().contiguous()
    return ctypes.string_at(here.data_ptr(), count)


def described(value, memory, text):
    """One argument, as launch.json says it; its place in memory is final only when all are known ([`placed`])."""
    if is_tensor(value):
        return {"kind": "tensor", "view": memory.view(value, dtype_of(value))}
    if type(value).__name__ == "TensorDescriptor":
        view = memory.view(value.base, dtype_of(value.base))
        view |= {"shape": [int(n) for n in value.shape], "strides": [int(n) for n in value.strides]}
        return {"kind": "descriptor", "view": view, "block": [int(n) for n in value.block_shape], "padding": str(getattr(value, "padding", "zero"))}
    if isinstance(value, (tuple, list)) and literal(value) is None:
        return {"kind": "tuple", "items": [described(item, memory, text) for item in value]}
    if unwrapped(value) is not None:
        return {"kind": "function", "value": text.value(unwrapped(value).fn.__name__, value)}
    if type(value) is float and (value != value or abs(value) == float("inf")):
        return {"kind": "float", "value": str(value)}
    if type(value) in (bool, int, float, str) or value is None:
        return {"kind": "none" if value is None else type(value).__name__, "value": value}
    written = literal(value)
    if written is None:
        raise Skip(f"an argument is a {type(value).__module__}.{type(value).__name__}")
    return {"kind": "python", "value": written}


def placed(argument, memory):
    """The same with offsets that count from where its memory starts."""
    if "view" in argument:
        return {**argument, "view": memory.placed(argument["view"])}
    if "items" in argument:
        return {**argument, "items": [placed(item, memory) for item in argument["items"]]}
    return argument


def safetensors(tensors):
    """A safetensors file of flat tensors: name → (type, bytes)."""
    sizes = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2}
    header, data, at = {}, [], 0
    for name, (stored, raw) in tensors.items():
        header[name] = {"dtype": stored, "shape": [len(raw) // sizes.get(stored, 1)], "data_offsets": [at, at + len(raw)]}
        data.append(raw)
        at += len(raw)
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    return struct.pack("<Q", len(head)) + head + b"".join(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", dest="folder", required=True, help="where recordings go")
    parser.add_argument("--launches", type=int, default=2, help="at most so many launches of a kernel [2]")
    parser.add_argument("--size", type=int, default=1 << 20, help="bytes of one launch's memory, before and after [1 MiB]")
    parser.add_argument("--total", type=int, default=1 << 30, help="bytes of all recordings [1 GiB]")
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    sys.argv = [asked.program, *asked.arguments]
    with Recorder(asked.folder, asked.launches, asked.size, asked.total):
        if asked.module:
            runpy.run_module(asked.program, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(asked.program)))
            runpy.run_path(asked.program, run_name="__main__")


if __name__ == "__main__":
    main()
