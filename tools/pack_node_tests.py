"""Packs ONNX's own backend node tests into one file for tests/import.rs.

    pip install onnx==1.23.2 numpy
    python tools/pack_node_tests.py tests/import/node_tests.txt tests/import/node_tests.bin

The list names one case a line, and behind it the inputs that a model file would hold as constants (the axes of
a reduction): they become initializers with the values of the case. The pack holds length-delimited ModelProto messages, in the order of the
list; the tensors of the case's first data set, inputs before outputs, travel in
`training_info[0].initialization.initializer` of its model.
"""

import sys

import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests


def tensor(value, name):
    return value if isinstance(value, TensorProto) else numpy_helper.from_array(value, name)


def packed(case, constants):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    model.graph.name = case.name
    inputs, outputs = (case.data_sets() if callable(case.data_sets) else case.data_sets)[0]
    values = list(zip(inputs, model.graph.input))
    kept = [(value, info) for value, info in values if info.name not in constants]
    assert len(kept) + len(constants) == len(values), f"{case.name} has no input of {constants}"
    model.graph.initializer.extend(tensor(value, info.name) for value, info in values if info.name in constants)
    infos = [info for _, info in kept]
    del model.graph.input[:]
    model.graph.input.extend(infos)
    initialization = model.training_info.add().initialization
    for value, info in kept + list(zip(outputs, model.graph.output)):
        initialization.initializer.append(tensor(value, info.name))
    return model.SerializeToString(deterministic=True)


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


if __name__ == "__main__":
    names = [line.split() for line in open(sys.argv[1])]
    cases = {case.name: case for case in load_model_tests(kind="node")}
    with open(sys.argv[2], "wb") as file:
        for name, *constants in names:
            message = packed(cases[name], constants)
            file.write(varint(len(message)) + message)
