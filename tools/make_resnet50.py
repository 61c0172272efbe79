"""Writes models/resnet50.onnx: the structure and shapes of torchvision's ResNet-50 v1.5, without its weights.

    pip install onnx numpy
    python tools/make_resnet50.py [models/resnet50.onnx]

Version 1.5 strides in the 3x3 convolution of a bottleneck (He et al. 2015 stride in the first 1x1). Nodes
and weights carry torchvision's module names. Every weight is a ConstantOfShape node, so the file stays
small; the fill values keep activations finite (a convolution averages, normalisations are the identity)
and stand for nothing else: `decompose` replaces them by seeded random weights. The bytes depend on this
script and the versions below alone.
"""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 17, 8
BLOCKS = [(64, 3), (128, 4), (256, 6), (512, 3)]  # width of the bottleneck, number of bottlenecks
EXPANSION = 4
EPSILON = 1e-5


class Builder:
    def __init__(self):
        self.weights, self.nodes, self.shapes = [], [], {}

    def filled(self, name, shape, value):
        """A weight: a ConstantOfShape node whose shape tensor is shared by all weights of that shape."""
        shape_name = "shape." + "x".join(map(str, shape))
        if shape_name not in self.shapes:
            self.shapes[shape_name] = numpy_helper.from_array(np.array(shape, np.int64), shape_name)
        fill = numpy_helper.from_array(np.array([value], np.float32), "")
        self.weights.append(helper.make_node("ConstantOfShape", [shape_name], [name], name=name, value=fill))
        return name

    def node(self, op, name, inputs, output=None, **attributes):
        output = output or name + ".out"
        self.nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))
        return output

    def conv(self, x, name, c_in, c_out, kernel, stride=1):
        weight = self.filled(name + ".weight", (c_out, c_in, kernel, kernel), 1.0 / (c_in * kernel * kernel))
        pad = kernel // 2
        return self.node(
            "Conv", name, [x, weight], kernel_shape=[kernel, kernel], strides=[stride, stride],
            pads=[pad, pad, pad, pad], dilations=[1, 1], group=1,
        )

    def batch_norm(self, x, name, channels):
        parameters = [("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)]
        operands = [self.filled(f"{name}.{part}", (channels,), value) for part, value in parameters]
        return self.node("BatchNormalization", name, [x, *operands], epsilon=EPSILON)

    def bottleneck(self, x, name, c_in, width, stride):
        c_out = width * EXPANSION
        out = self.batch_norm(self.conv(x, name + ".conv1", c_in, width, 1), name + ".bn1", width)
        out = self.node("Relu", name + ".relu", [out])
        out = self.batch_norm(self.conv(out, name + ".conv2", width, width, 3, stride), name + ".bn2", width)
        out = self.node("Relu", name + ".relu_1", [out])
        out = self.batch_norm(self.conv(out, name + ".conv3", width, c_out, 1), name + ".bn3", c_out)
        if stride != 1 or c_in != c_out:
            x = self.conv(x, name + ".downsample.0", c_in, c_out, 1, stride)
            x = self.batch_norm(x, name + ".downsample.1", c_out)
        out = self.node("Add", name + ".add", [out, x])
        return self.node("Relu", name + ".relu_2", [out])


def resnet50():
    b = Builder()
    out = b.batch_norm(b.conv("x", "conv1", 3, 64, 7, 2), "bn1", 64)
    out = b.node("Relu", "relu", [out])
    out = b.node("MaxPool", "maxpool", [out], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for layer, (width, count) in enumerate(BLOCKS, start=1):
        for i in range(count):
            stride = 2 if layer > 1 and i == 0 else 1
            out = b.bottleneck(out, f"layer{layer}.{i}", channels, width, stride)
            channels = width * EXPANSION
    out = b.node("GlobalAveragePool", "avgpool", [out])
    out = b.node("Flatten", "flatten", [out], axis=1)
    operands = [b.filled("fc.weight", (1000, channels), 1.0 / channels), b.filled("fc.bias", (1000,), 0.0)]
    b.node("Gemm", "fc", [out, *operands], output="logits", transB=1)

    graph = helper.make_graph(
        b.weights + b.nodes,
        "resnet50",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 224, 224])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1000])],
        initializer=list(b.shapes.values()),
    )
    return helper.make_model(
        graph, producer_name="decompose", ir_version=IR_VERSION, opset_imports=[helper.make_opsetid("", OPSET)]
    )


if __name__ == "__main__":
    path = sys.argv[1] if len(sys.argv) > 1 else "models/resnet50.onnx"
    model = resnet50()
    onnx.checker.check_model(model, full_check=True)
    with open(path, "wb") as file:
        file.write(model.SerializeToString(deterministic=True))
