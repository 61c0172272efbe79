"""Packs ONNX's own backend node tests into one file for tests/import.rs.

    pip install onnx==1.23.2 numpy
    python tools/pack_node_tests.py tests/import/node_tests.txt tests/import/node_tests.bin

The list names one case a line. The pack holds length-delimited ModelProto messages, in the order of the
list; the tensors of the case's first data set, inputs before outputs, travel in
`training_info[0].initialization.initializer` of its model.
"""

import sys

import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests


def tensor(value, name):
    return value if isinstance(value, TensorProto) else numpy_helper.from_array(value, name)


def packed(case):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    model.graph.name = case.name
    inputs, outputs = (case.data_sets() if callable(case.data_sets) else case.data_sets)[0]
    initialization = model.training_info.add().initialization
    for values, infos in ((inputs, model.graph.input), (outputs, model.graph.output)):
        initialization.initializer.extend(tensor(value, info.name) for value, info in zip(values, infos))
    return model.SerializeToString(deterministic=True)


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


if __name__ == "__main__":
    names = open(sys.argv[1]).read().split()
    cases = {case.name: case for case in load_model_tests(kind="node")}
    with open(sys.argv[2], "wb") as file:
        for name in names:
            message = packed(cases[name])
            file.write(varint(len(message)) + message)
