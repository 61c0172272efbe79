"""What the recorder writes, with stand-ins for torch and Triton: `python tools/test_record_launches.py`."""

import ctypes
import importlib
import json
import os
import struct
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


def module(name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    sys.modules[name] = made
    return made


class Storage:
    def __init__(self, values, kind=ctypes.c_float):
        self.memory, self.device = (kind * len(values))(*values), "cpu"

    def data_ptr(self):
        return ctypes.addressof(self.memory)


class Tensor:
    def __init__(self, storage, shape, strides, offset=0, dtype="torch.float32"):
        self.storage, self.shape, self.strides, self.offset, self.dtype = storage, shape, strides, offset, dtype

    def data_ptr(self):
        return self.storage.data_ptr() + 4 * self.offset

    def untyped_storage(self):
        return self.storage

    def element_size(self):
        return 4

    def stride(self):
        return self.strides


class Bytes:
    """A flat tensor of bytes."""

    def set_(self, storage, start, count, _):
        self.at = storage.data_ptr() + start
        return self

    def cpu(self):
        return self

    contiguous = cpu

    def data_ptr(self):
        return self.at


class Param:
    def __init__(self, name, is_constexpr=False, do_not_specialize=False):
        self.name, self.is_constexpr, self.do_not_specialize = name, is_constexpr, do_not_specialize


class JITFunction:
    def __init__(self, fn, constexprs=()):
        self.fn = fn
        self.params = [Param(n, n in constexprs, n == "n") for n in fn.__code__.co_varnames[: fn.__code__.co_argcount]]

    def run(self, *args, grid, warmup, **kwargs):
        x, out, n = args[:3]
        for i in range(n):
            out.storage.memory[out.offset + i] += x.storage.memory[x.offset + i] * 2


class Autotuner:
    def __init__(self, fn):
        self.fn = fn

    def _bench(self, *args, **kwargs):
        self.fn.run(*args, **kwargs)

    def run(self, *args, **kwargs):
        self._bench(*args, BLOCK=32, **kwargs)
        self.fn.run(*args, BLOCK=64, **kwargs)


class constexpr:
    def __init__(self, value):
        self.value = value


constexpr.__module__ = "triton.language.core"

cuda = types.SimpleNamespace(is_available=lambda: False)
module("torch", __version__="2", cuda=cuda, uint8="uint8", empty=lambda *_, **__: Bytes())
tl = module("triton.language", constexpr=constexpr)
module("triton", __version__="3", language=tl)
module("triton.runtime")
module("triton.runtime.jit", JITFunction=JITFunction)
module("triton.runtime.autotuner", Autotuner=Autotuner)
record = importlib.import_module("record_launches")

SCALE = constexpr(2.0)
helpers = module("helpers_of_another_file")
helpers.constants = types.ModuleType("constants")
helpers.constants.SCALE = 7


def scaled(x):
    return x * SCALE + helpers.constants.SCALE


scaled = JITFunction(scaled)
helpers.inner = scaled


def kernel(x, out, n, BLOCK):
    value = helpers.inner(x)
    return scaled(value)


kernel = Autotuner(JITFunction(kernel, ["BLOCK"]))


class Recording(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.memory = Storage([1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 9.0])
        self.addCleanup(self.folder.cleanup)
        self.x, self.out = Tensor(self.memory, (2,), (1,), 1), Tensor(self.memory, (2,), (1,), 4)

    def launch(self, x=None, n=2, **limits):
        with record.Recorder(self.folder.name, **limits) as recorder:
            kernel.run(x or self.x, self.out, n, grid=lambda meta: (meta["n"] // 2, meta["BLOCK"] // 64), warmup=False)
        return recorder

    def folders(self):
        return sorted(name for name in os.listdir(self.folder.name) if name != "skipped.json")

    def read(self, name):
        with open(os.path.join(self.folder.name, self.folders()[0], name), "rb") as file:
            return file.read()

    def test_arguments_share_memory_that_starts_where_the_first_does(self):
        self.launch()
        launch = json.loads(self.read("launch.json"))
        self.assertEqual(launch["grid"], [1, 1, 1])
        views = [launch["arguments"][name]["view"] for name in ("x", "out")]
        self.assertEqual([(v["storage"], v["offset"], v["shape"], v["strides"]) for v in views], [(0, 0, [2], [1]), (0, 3, [2], [1])])
        self.assertEqual(launch["arguments"]["BLOCK"], {"kind": "int", "value": 64})
        self.assertEqual(launch["storages"], [{"dtype": "float32", "elements": 5, "written": True}])

    def test_memory_is_saved_before_and_after(self):
        self.launch()
        raw = self.read("tensors.safetensors")
        (length,) = struct.unpack("<Q", raw[:8])
        header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
        values = {name: struct.unpack("<5f", data[slice(*entry["data_offsets"])]) for name, entry in header.items()}
        # What an autotuner's measuring wrote was there before the launch that counts.
        self.assertEqual(values, {"0.before": (2, 3, 4, 4, 6), "0.after": (2, 3, 4, 8, 12)})

    def test_views_may_go_backwards_and_small_storages_are_whole(self):
        backwards = Tensor(self.memory, (2,), (-1,), 2)
        self.launch(x=backwards)
        launch = json.loads(self.read("launch.json"))
        self.assertEqual([launch["arguments"][name]["view"]["offset"] for name in ("x", "out")], [1, 3])
        self.memory.nbytes = lambda: 4 * len(self.memory.memory)
        self.assertEqual(record.Recorder(self.folder.name).size, 1 << 20)
        memory = record.Memory()
        memory.view(backwards, "float32")
        self.assertEqual(memory.bytes(), self.memory.nbytes())

    def test_the_text_stands_alone(self):
        self.launch()
        text = self.read("kernel.py").decode()
        compile(text, "kernel.py", "exec")
        self.assertIn("SCALE: tl.constexpr = 2.0", text)
        self.assertIn("SCALE_2: tl.constexpr = 7", text)
        self.assertIn("return x * SCALE + SCALE_2", text)
        self.assertIn("value = inner(x)\n    return inner(value)", text)
        self.assertIn("@triton.jit(do_not_specialize=['n'])\ndef kernel(", text)
        self.assertEqual(text.count("@triton.jit"), 2)

    def test_one_specialisation_is_recorded_once(self):
        with record.Recorder(self.folder.name) as recorder:
            for _ in range(3):
                kernel.run(self.x, self.out, 2, grid=(1,), warmup=False)
        self.assertEqual(len(self.folders()), 1)
        self.assertEqual(list(recorder.counts.values()), [1])

    def test_limits_and_refusals_are_told(self):
        recorder = self.launch(size=16)
        self.assertEqual(self.folders(), [])
        self.assertEqual(list(recorder.skipped.values()), [["its memory has 20 bytes"]])
        other = Tensor(self.memory, (2,), (1,), 1, "torch.int32")
        recorder = self.launch(x=other)
        self.assertEqual(list(recorder.skipped.values()), [["one memory is seen as int32 and as float32"]])

    def test_nothing_is_left_behind(self):
        before = JITFunction.run, Autotuner._bench
        self.launch()
        self.assertEqual((JITFunction.run, Autotuner._bench), before)


if __name__ == "__main__":
    unittest.main()
