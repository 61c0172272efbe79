"""resnet50: the whole model as 56 kernel launches.

`python run.py` runs it on generated inputs, `--check` compares with torch, `--bench` times both,
`--cuda-graph` launches everything at once, `--profile` counts the device's kernels against the plan.
"""

import argparse
import collections
import json
import pathlib
import sys
import tempfile

import torch
import torch.nn.functional as F

from kernels import conv2d_resnet__0d7f033933fc
from kernels import maxpool2d__07ce318b6aef
from kernels import conv2d_resnet__5d8bf0951792
from kernels import conv2d_resnet__bac2af47a413
from kernels import conv2d_resnet__0a7ed15e7775
from kernels import conv2d_resnet__f4b17b962e1e
from kernels import conv2d_resnet__1a85bac19a73
from kernels import conv2d_resnet__9b25b27bcb18
from kernels import conv2d_resnet__457c0159e476
from kernels import conv2d_resnet__610ebe86f65b
from kernels import conv2d_resnet__03d70873afcb
from kernels import conv2d_resnet__9556c763ae7e
from kernels import conv2d_resnet__c7f99871280a
from kernels import conv2d_resnet__183dc2739044
from kernels import conv2d_resnet__1b5bee334b4a
from kernels import conv2d_resnet__19adc88fd75e
from kernels import conv2d_resnet__1b7a3e665726
from kernels import conv2d_resnet__a911becf8463
from kernels import conv2d_resnet__a5422d2ec2c6
from kernels import conv2d_resnet__42ef8e7433d3
from kernels import conv2d_resnet__1bd2a60c4a00
from kernels import conv2d_resnet__59f2c4d0f571
from kernels import conv2d_resnet__14ebdfd1de7d
from kernels import conv2d_resnet__2a8f75777462
from kernels import conv2d_resnet__82ccf2f580e8
from kernels import conv2d_resnet__ee75b65fbd86
from kernels import conv2d_resnet__525a5e1ad04e
from kernels import conv2d_resnet__4b9684cb8dec
from kernels import conv2d_resnet__b816e5fd9f44
from kernels import adaptive_avgpool2d__b55bcefa2efe
from kernels import matmul__cf320c64e391
from weights import inputs, load


def prepare(weights):
    """Tensors that depend on weights alone; computed once."""
    bn1_out_scale = weights["bn1.weight"] / torch.sqrt(weights["bn1.running_var"] + 1e-5)
    bn1_out_weight = weights["conv1.weight"] * bn1_out_scale.reshape(64, 1, 1, 1)
    bn1_out_bias = weights["bn1.bias"] - weights["bn1.running_mean"] * bn1_out_scale
    layer1_0_bn1_out_scale = (
        weights["layer1.0.bn1.weight"]
        / torch.sqrt(weights["layer1.0.bn1.running_var"] + 1e-5)
    )
    layer1_0_bn1_out_weight = (
        weights["layer1.0.conv1.weight"]
        * layer1_0_bn1_out_scale.reshape(64, 1, 1, 1)
    )
    layer1_0_bn1_out_bias = (
        weights["layer1.0.bn1.bias"]
        - weights["layer1.0.bn1.running_mean"] * layer1_0_bn1_out_scale
    )
    layer1_0_bn2_out_scale = (
        weights["layer1.0.bn2.weight"]
        / torch.sqrt(weights["layer1.0.bn2.running_var"] + 1e-5)
    )
    layer1_0_bn2_out_weight = (
        weights["layer1.0.conv2.weight"]
        * layer1_0_bn2_out_scale.reshape(64, 1, 1, 1)
    )
    layer1_0_bn2_out_bias = (
        weights["layer1.0.bn2.bias"]
        - weights["layer1.0.bn2.running_mean"] * layer1_0_bn2_out_scale
    )
    layer1_0_bn3_out_scale = (
        weights["layer1.0.bn3.weight"]
        / torch.sqrt(weights["layer1.0.bn3.running_var"] + 1e-5)
    )
    layer1_0_bn3_out_weight = (
        weights["layer1.0.conv3.weight"]
        * layer1_0_bn3_out_scale.reshape(256, 1, 1, 1)
    )
    layer1_0_bn3_out_bias = (
        weights["layer1.0.bn3.bias"]
        - weights["layer1.0.bn3.running_mean"] * layer1_0_bn3_out_scale
    )
    layer1_0_downsample_1_out_scale = (
        weights["layer1.0.downsample.1.weight"]
        / torch.sqrt(weights["layer1.0.downsample.1.running_var"] + 1e-5)
    )
    layer1_0_downsample_1_out_weight = (
        weights["layer1.0.downsample.0.weight"]
        * layer1_0_downsample_1_out_scale.reshape(256, 1, 1, 1)
    )
    layer1_0_downsample_1_out_bias = (
        weights["layer1.0.downsample.1.bias"]
        - weights["layer1.0.downsample.1.running_mean"] * layer1_0_downsample_1_out_scale
    )
    layer1_1_bn1_out_scale = (
        weights["layer1.1.bn1.weight"]
        / torch.sqrt(weights["layer1.1.bn1.running_var"] + 1e-5)
    )
    layer1_1_bn1_out_weight = (
        weights["layer1.1.conv1.weight"]
        * layer1_1_bn1_out_scale.reshape(64, 1, 1, 1)
    )
    layer1_1_bn1_out_bias = (
        weights["layer1.1.bn1.bias"]
        - weights["layer1.1.bn1.running_mean"] * layer1_1_bn1_out_scale
    )
    layer1_1_bn2_out_scale = (
        weights["layer1.1.bn2.weight"]
        / torch.sqrt(weights["layer1.1.bn2.running_var"] + 1e-5)
    )
    layer1_1_bn2_out_weight = (
        weights["layer1.1.conv2.weight"]
        * layer1_1_bn2_out_scale.reshape(64, 1, 1, 1)
    )
    layer1_1_bn2_out_bias = (
        weights["layer1.1.bn2.bias"]
        - weights["layer1.1.bn2.running_mean"] * layer1_1_bn2_out_scale
    )
    layer1_1_bn3_out_scale = (
        weights["layer1.1.bn3.weight"]
        / torch.sqrt(weights["layer1.1.bn3.running_var"] + 1e-5)
    )
    layer1_1_bn3_out_weight = (
        weights["layer1.1.conv3.weight"]
        * layer1_1_bn3_out_scale.reshape(256, 1, 1, 1)
    )
    layer1_1_bn3_out_bias = (
        weights["layer1.1.bn3.bias"]
        - weights["layer1.1.bn3.running_mean"] * layer1_1_bn3_out_scale
    )
    layer1_2_bn1_out_scale = (
        weights["layer1.2.bn1.weight"]
        / torch.sqrt(weights["layer1.2.bn1.running_var"] + 1e-5)
    )
    layer1_2_bn1_out_weight = (
        weights["layer1.2.conv1.weight"]
        * layer1_2_bn1_out_scale.reshape(64, 1, 1, 1)
    )
    layer1_2_bn1_out_bias = (
        weights["layer1.2.bn1.bias"]
        - weights["layer1.2.bn1.running_mean"] * layer1_2_bn1_out_scale
    )
    layer1_2_bn2_out_scale = (
        weights["layer1.2.bn2.weight"]
        / torch.sqrt(weights["layer1.2.bn2.running_var"] + 1e-5)
    )
    layer1_2_bn2_out_weight = (
        weights["layer1.2.conv2.weight"]
        * layer1_2_bn2_out_scale.reshape(64, 1, 1, 1)
    )
    layer1_2_bn2_out_bias = (
        weights["layer1.2.bn2.bias"]
        - weights["layer1.2.bn2.running_mean"] * layer1_2_bn2_out_scale
    )
    layer1_2_bn3_out_scale = (
        weights["layer1.2.bn3.weight"]
        / torch.sqrt(weights["layer1.2.bn3.running_var"] + 1e-5)
    )
    layer1_2_bn3_out_weight = (
        weights["layer1.2.conv3.weight"]
        * layer1_2_bn3_out_scale.reshape(256, 1, 1, 1)
    )
    layer1_2_bn3_out_bias = (
        weights["layer1.2.bn3.bias"]
        - weights["layer1.2.bn3.running_mean"] * layer1_2_bn3_out_scale
    )
    layer2_0_bn1_out_scale = (
        weights["layer2.0.bn1.weight"]
        / torch.sqrt(weights["layer2.0.bn1.running_var"] + 1e-5)
    )
    layer2_0_bn1_out_weight = (
        weights["layer2.0.conv1.weight"]
        * layer2_0_bn1_out_scale.reshape(128, 1, 1, 1)
    )
    layer2_0_bn1_out_bias = (
        weights["layer2.0.bn1.bias"]
        - weights["layer2.0.bn1.running_mean"] * layer2_0_bn1_out_scale
    )
    layer2_0_bn2_out_scale = (
        weights["layer2.0.bn2.weight"]
        / torch.sqrt(weights["layer2.0.bn2.running_var"] + 1e-5)
    )
    layer2_0_bn2_out_weight = (
        weights["layer2.0.conv2.weight"]
        * layer2_0_bn2_out_scale.reshape(128, 1, 1, 1)
    )
    layer2_0_bn2_out_bias = (
        weights["layer2.0.bn2.bias"]
        - weights["layer2.0.bn2.running_mean"] * layer2_0_bn2_out_scale
    )
    layer2_0_bn3_out_scale = (
        weights["layer2.0.bn3.weight"]
        / torch.sqrt(weights["layer2.0.bn3.running_var"] + 1e-5)
    )
    layer2_0_bn3_out_weight = (
        weights["layer2.0.conv3.weight"]
        * layer2_0_bn3_out_scale.reshape(512, 1, 1, 1)
    )
    layer2_0_bn3_out_bias = (
        weights["layer2.0.bn3.bias"]
        - weights["layer2.0.bn3.running_mean"] * layer2_0_bn3_out_scale
    )
    layer2_0_downsample_1_out_scale = (
        weights["layer2.0.downsample.1.weight"]
        / torch.sqrt(weights["layer2.0.downsample.1.running_var"] + 1e-5)
    )
    layer2_0_downsample_1_out_weight = (
        weights["layer2.0.downsample.0.weight"]
        * layer2_0_downsample_1_out_scale.reshape(512, 1, 1, 1)
    )
    layer2_0_downsample_1_out_bias = (
        weights["layer2.0.downsample.1.bias"]
        - weights["layer2.0.downsample.1.running_mean"] * layer2_0_downsample_1_out_scale
    )
    layer2_1_bn1_out_scale = (
        weights["layer2.1.bn1.weight"]
        / torch.sqrt(weights["layer2.1.bn1.running_var"] + 1e-5)
    )
    layer2_1_bn1_out_weight = (
        weights["layer2.1.conv1.weight"]
        * layer2_1_bn1_out_scale.reshape(128, 1, 1, 1)
    )
    layer2_1_bn1_out_bias = (
        weights["layer2.1.bn1.bias"]
        - weights["layer2.1.bn1.running_mean"] * layer2_1_bn1_out_scale
    )
    layer2_1_bn2_out_scale = (
        weights["layer2.1.bn2.weight"]
        / torch.sqrt(weights["layer2.1.bn2.running_var"] + 1e-5)
    )
    layer2_1_bn2_out_weight = (
        weights["layer2.1.conv2.weight"]
        * layer2_1_bn2_out_scale.reshape(128, 1, 1, 1)
    )
    layer2_1_bn2_out_bias = (
        weights["layer2.1.bn2.bias"]
        - weights["layer2.1.bn2.running_mean"] * layer2_1_bn2_out_scale
    )
    layer2_1_bn3_out_scale = (
        weights["layer2.1.bn3.weight"]
        / torch.sqrt(weights["layer2.1.bn3.running_var"] + 1e-5)
    )
    layer2_1_bn3_out_weight = (
        weights["layer2.1.conv3.weight"]
        * layer2_1_bn3_out_scale.reshape(512, 1, 1, 1)
    )
    layer2_1_bn3_out_bias = (
        weights["layer2.1.bn3.bias"]
        - weights["layer2.1.bn3.running_mean"] * layer2_1_bn3_out_scale
    )
    layer2_2_bn1_out_scale = (
        weights["layer2.2.bn1.weight"]
        / torch.sqrt(weights["layer2.2.bn1.running_var"] + 1e-5)
    )
    layer2_2_bn1_out_weight = (
        weights["layer2.2.conv1.weight"]
        * layer2_2_bn1_out_scale.reshape(128, 1, 1, 1)
    )
    layer2_2_bn1_out_bias = (
        weights["layer2.2.bn1.bias"]
        - weights["layer2.2.bn1.running_mean"] * layer2_2_bn1_out_scale
    )
    layer2_2_bn2_out_scale = (
        weights["layer2.2.bn2.weight"]
        / torch.sqrt(weights["layer2.2.bn2.running_var"] + 1e-5)
    )
    layer2_2_bn2_out_weight = (
        weights["layer2.2.conv2.weight"]
        * layer2_2_bn2_out_scale.reshape(128, 1, 1, 1)
    )
    layer2_2_bn2_out_bias = (
        weights["layer2.2.bn2.bias"]
        - weights["layer2.2.bn2.running_mean"] * layer2_2_bn2_out_scale
    )
    layer2_2_bn3_out_scale = (
        weights["layer2.2.bn3.weight"]
        / torch.sqrt(weights["layer2.2.bn3.running_var"] + 1e-5)
    )
    layer2_2_bn3_out_weight = (
        weights["layer2.2.conv3.weight"]
        * layer2_2_bn3_out_scale.reshape(512, 1, 1, 1)
    )
    layer2_2_bn3_out_bias = (
        weights["layer2.2.bn3.bias"]
        - weights["layer2.2.bn3.running_mean"] * layer2_2_bn3_out_scale
    )
    layer2_3_bn1_out_scale = (
        weights["layer2.3.bn1.weight"]
        / torch.sqrt(weights["layer2.3.bn1.running_var"] + 1e-5)
    )
    layer2_3_bn1_out_weight = (
        weights["layer2.3.conv1.weight"]
        * layer2_3_bn1_out_scale.reshape(128, 1, 1, 1)
    )
    layer2_3_bn1_out_bias = (
        weights["layer2.3.bn1.bias"]
        - weights["layer2.3.bn1.running_mean"] * layer2_3_bn1_out_scale
    )
    layer2_3_bn2_out_scale = (
        weights["layer2.3.bn2.weight"]
        / torch.sqrt(weights["layer2.3.bn2.running_var"] + 1e-5)
    )
    layer2_3_bn2_out_weight = (
        weights["layer2.3.conv2.weight"]
        * layer2_3_bn2_out_scale.reshape(128, 1, 1, 1)
    )
    layer2_3_bn2_out_bias = (
        weights["layer2.3.bn2.bias"]
        - weights["layer2.3.bn2.running_mean"] * layer2_3_bn2_out_scale
    )
    layer2_3_bn3_out_scale = (
        weights["layer2.3.bn3.weight"]
        / torch.sqrt(weights["layer2.3.bn3.running_var"] + 1e-5)
    )
    layer2_3_bn3_out_weight = (
        weights["layer2.3.conv3.weight"]
        * layer2_3_bn3_out_scale.reshape(512, 1, 1, 1)
    )
    layer2_3_bn3_out_bias = (
        weights["layer2.3.bn3.bias"]
        - weights["layer2.3.bn3.running_mean"] * layer2_3_bn3_out_scale
    )
    layer3_0_bn1_out_scale = (
        weights["layer3.0.bn1.weight"]
        / torch.sqrt(weights["layer3.0.bn1.running_var"] + 1e-5)
    )
    layer3_0_bn1_out_weight = (
        weights["layer3.0.conv1.weight"]
        * layer3_0_bn1_out_scale.reshape(256, 1, 1, 1)
    )
    layer3_0_bn1_out_bias = (
        weights["layer3.0.bn1.bias"]
        - weights["layer3.0.bn1.running_mean"] * layer3_0_bn1_out_scale
    )
    layer3_0_bn2_out_scale = (
        weights["layer3.0.bn2.weight"]
        / torch.sqrt(weights["layer3.0.bn2.running_var"] + 1e-5)
    )
    layer3_0_bn2_out_weight = (
        weights["layer3.0.conv2.weight"]
        * layer3_0_bn2_out_scale.reshape(256, 1, 1, 1)
    )
    layer3_0_bn2_out_bias = (
        weights["layer3.0.bn2.bias"]
        - weights["layer3.0.bn2.running_mean"] * layer3_0_bn2_out_scale
    )
    layer3_0_bn3_out_scale = (
        weights["layer3.0.bn3.weight"]
        / torch.sqrt(weights["layer3.0.bn3.running_var"] + 1e-5)
    )
    layer3_0_bn3_out_weight = (
        weights["layer3.0.conv3.weight"]
        * layer3_0_bn3_out_scale.reshape(1024, 1, 1, 1)
    )
    layer3_0_bn3_out_bias = (
        weights["layer3.0.bn3.bias"]
        - weights["layer3.0.bn3.running_mean"] * layer3_0_bn3_out_scale
    )
    layer3_0_downsample_1_out_scale = (
        weights["layer3.0.downsample.1.weight"]
        / torch.sqrt(weights["layer3.0.downsample.1.running_var"] + 1e-5)
    )
    layer3_0_downsample_1_out_weight = (
        weights["layer3.0.downsample.0.weight"]
        * layer3_0_downsample_1_out_scale.reshape(1024, 1, 1, 1)
    )
    layer3_0_downsample_1_out_bias = (
        weights["layer3.0.downsample.1.bias"]
        - weights["layer3.0.downsample.1.running_mean"] * layer3_0_downsample_1_out_scale
    )
    layer3_1_bn1_out_scale = (
        weights["layer3.1.bn1.weight"]
        / torch.sqrt(weights["layer3.1.bn1.running_var"] + 1e-5)
    )
    layer3_1_bn1_out_weight = (
        weights["layer3.1.conv1.weight"]
        * layer3_1_bn1_out_scale.reshape(256, 1, 1, 1)
    )
    layer3_1_bn1_out_bias = (
        weights["layer3.1.bn1.bias"]
        - weights["layer3.1.bn1.running_mean"] * layer3_1_bn1_out_scale
    )
    layer3_1_bn2_out_scale = (
        weights["layer3.1.bn2.weight"]
        / torch.sqrt(weights["layer3.1.bn2.running_var"] + 1e-5)
    )
    layer3_1_bn2_out_weight = (
        weights["layer3.1.conv2.weight"]
        * layer3_1_bn2_out_scale.reshape(256, 1, 1, 1)
    )
    layer3_1_bn2_out_bias = (
        weights["layer3.1.bn2.bias"]
        - weights["layer3.1.bn2.running_mean"] * layer3_1_bn2_out_scale
    )
    layer3_1_bn3_out_scale = (
        weights["layer3.1.bn3.weight"]
        / torch.sqrt(weights["layer3.1.bn3.running_var"] + 1e-5)
    )
    layer3_1_bn3_out_weight = (
        weights["layer3.1.conv3.weight"]
        * layer3_1_bn3_out_scale.reshape(1024, 1, 1, 1)
    )
    layer3_1_bn3_out_bias = (
        weights["layer3.1.bn3.bias"]
        - weights["layer3.1.bn3.running_mean"] * layer3_1_bn3_out_scale
    )
    layer3_2_bn1_out_scale = (
        weights["layer3.2.bn1.weight"]
        / torch.sqrt(weights["layer3.2.bn1.running_var"] + 1e-5)
    )
    layer3_2_bn1_out_weight = (
        weights["layer3.2.conv1.weight"]
        * layer3_2_bn1_out_scale.reshape(256, 1, 1, 1)
    )
    layer3_2_bn1_out_bias = (
        weights["layer3.2.bn1.bias"]
        - weights["layer3.2.bn1.running_mean"] * layer3_2_bn1_out_scale
    )
    layer3_2_bn2_out_scale = (
        weights["layer3.2.bn2.weight"]
        / torch.sqrt(weights["layer3.2.bn2.running_var"] + 1e-5)
    )
    layer3_2_bn2_out_weight = (
        weights["layer3.2.conv2.weight"]
        * layer3_2_bn2_out_scale.reshape(256, 1, 1, 1)
    )
    layer3_2_bn2_out_bias = (
        weights["layer3.2.bn2.bias"]
        - weights["layer3.2.bn2.running_mean"] * layer3_2_bn2_out_scale
    )
    layer3_2_bn3_out_scale = (
        weights["layer3.2.bn3.weight"]
        / torch.sqrt(weights["layer3.2.bn3.running_var"] + 1e-5)
    )
    layer3_2_bn3_out_weight = (
        weights["layer3.2.conv3.weight"]
        * layer3_2_bn3_out_scale.reshape(1024, 1, 1, 1)
    )
    layer3_2_bn3_out_bias = (
        weights["layer3.2.bn3.bias"]
        - weights["layer3.2.bn3.running_mean"] * layer3_2_bn3_out_scale
    )
    layer3_3_bn1_out_scale = (
        weights["layer3.3.bn1.weight"]
        / torch.sqrt(weights["layer3.3.bn1.running_var"] + 1e-5)
    )
    layer3_3_bn1_out_weight = (
        weights["layer3.3.conv1.weight"]
        * layer3_3_bn1_out_scale.reshape(256, 1, 1, 1)
    )
    layer3_3_bn1_out_bias = (
        weights["layer3.3.bn1.bias"]
        - weights["layer3.3.bn1.running_mean"] * layer3_3_bn1_out_scale
    )
    layer3_3_bn2_out_scale = (
        weights["layer3.3.bn2.weight"]
        / torch.sqrt(weights["layer3.3.bn2.running_var"] + 1e-5)
    )
    layer3_3_bn2_out_weight = (
        weights["layer3.3.conv2.weight"]
        * layer3_3_bn2_out_scale.reshape(256, 1, 1, 1)
    )
    layer3_3_bn2_out_bias = (
        weights["layer3.3.bn2.bias"]
        - weights["layer3.3.bn2.running_mean"] * layer3_3_bn2_out_scale
    )
    layer3_3_bn3_out_scale = (
        weights["layer3.3.bn3.weight"]
        / torch.sqrt(weights["layer3.3.bn3.running_var"] + 1e-5)
    )
    layer3_3_bn3_out_weight = (
        weights["layer3.3.conv3.weight"]
        * layer3_3_bn3_out_scale.reshape(1024, 1, 1, 1)
    )
    layer3_3_bn3_out_bias = (
        weights["layer3.3.bn3.bias"]
        - weights["layer3.3.bn3.running_mean"] * layer3_3_bn3_out_scale
    )
    layer3_4_bn1_out_scale = (
        weights["layer3.4.bn1.weight"]
        / torch.sqrt(weights["layer3.4.bn1.running_var"] + 1e-5)
    )
    layer3_4_bn1_out_weight = (
        weights["layer3.4.conv1.weight"]
        * layer3_4_bn1_out_scale.reshape(256, 1, 1, 1)
    )
    layer3_4_bn1_out_bias = (
        weights["layer3.4.bn1.bias"]
        - weights["layer3.4.bn1.running_mean"] * layer3_4_bn1_out_scale
    )
    layer3_4_bn2_out_scale = (
        weights["layer3.4.bn2.weight"]
        / torch.sqrt(weights["layer3.4.bn2.running_var"] + 1e-5)
    )
    layer3_4_bn2_out_weight = (
        weights["layer3.4.conv2.weight"]
        * layer3_4_bn2_out_scale.reshape(256, 1, 1, 1)
    )
    layer3_4_bn2_out_bias = (
        weights["layer3.4.bn2.bias"]
        - weights["layer3.4.bn2.running_mean"] * layer3_4_bn2_out_scale
    )
    layer3_4_bn3_out_scale = (
        weights["layer3.4.bn3.weight"]
        / torch.sqrt(weights["layer3.4.bn3.running_var"] + 1e-5)
    )
    layer3_4_bn3_out_weight = (
        weights["layer3.4.conv3.weight"]
        * layer3_4_bn3_out_scale.reshape(1024, 1, 1, 1)
    )
    layer3_4_bn3_out_bias = (
        weights["layer3.4.bn3.bias"]
        - weights["layer3.4.bn3.running_mean"] * layer3_4_bn3_out_scale
    )
    layer3_5_bn1_out_scale = (
        weights["layer3.5.bn1.weight"]
        / torch.sqrt(weights["layer3.5.bn1.running_var"] + 1e-5)
    )
    layer3_5_bn1_out_weight = (
        weights["layer3.5.conv1.weight"]
        * layer3_5_bn1_out_scale.reshape(256, 1, 1, 1)
    )
    layer3_5_bn1_out_bias = (
        weights["layer3.5.bn1.bias"]
        - weights["layer3.5.bn1.running_mean"] * layer3_5_bn1_out_scale
    )
    layer3_5_bn2_out_scale = (
        weights["layer3.5.bn2.weight"]
        / torch.sqrt(weights["layer3.5.bn2.running_var"] + 1e-5)
    )
    layer3_5_bn2_out_weight = (
        weights["layer3.5.conv2.weight"]
        * layer3_5_bn2_out_scale.reshape(256, 1, 1, 1)
    )
    layer3_5_bn2_out_bias = (
        weights["layer3.5.bn2.bias"]
        - weights["layer3.5.bn2.running_mean"] * layer3_5_bn2_out_scale
    )
    layer3_5_bn3_out_scale = (
        weights["layer3.5.bn3.weight"]
        / torch.sqrt(weights["layer3.5.bn3.running_var"] + 1e-5)
    )
    layer3_5_bn3_out_weight = (
        weights["layer3.5.conv3.weight"]
        * layer3_5_bn3_out_scale.reshape(1024, 1, 1, 1)
    )
    layer3_5_bn3_out_bias = (
        weights["layer3.5.bn3.bias"]
        - weights["layer3.5.bn3.running_mean"] * layer3_5_bn3_out_scale
    )
    layer4_0_bn1_out_scale = (
        weights["layer4.0.bn1.weight"]
        / torch.sqrt(weights["layer4.0.bn1.running_var"] + 1e-5)
    )
    layer4_0_bn1_out_weight = (
        weights["layer4.0.conv1.weight"]
        * layer4_0_bn1_out_scale.reshape(512, 1, 1, 1)
    )
    layer4_0_bn1_out_bias = (
        weights["layer4.0.bn1.bias"]
        - weights["layer4.0.bn1.running_mean"] * layer4_0_bn1_out_scale
    )
    layer4_0_bn2_out_scale = (
        weights["layer4.0.bn2.weight"]
        / torch.sqrt(weights["layer4.0.bn2.running_var"] + 1e-5)
    )
    layer4_0_bn2_out_weight = (
        weights["layer4.0.conv2.weight"]
        * layer4_0_bn2_out_scale.reshape(512, 1, 1, 1)
    )
    layer4_0_bn2_out_bias = (
        weights["layer4.0.bn2.bias"]
        - weights["layer4.0.bn2.running_mean"] * layer4_0_bn2_out_scale
    )
    layer4_0_bn3_out_scale = (
        weights["layer4.0.bn3.weight"]
        / torch.sqrt(weights["layer4.0.bn3.running_var"] + 1e-5)
    )
    layer4_0_bn3_out_weight = (
        weights["layer4.0.conv3.weight"]
        * layer4_0_bn3_out_scale.reshape(2048, 1, 1, 1)
    )
    layer4_0_bn3_out_bias = (
        weights["layer4.0.bn3.bias"]
        - weights["layer4.0.bn3.running_mean"] * layer4_0_bn3_out_scale
    )
    layer4_0_downsample_1_out_scale = (
        weights["layer4.0.downsample.1.weight"]
        / torch.sqrt(weights["layer4.0.downsample.1.running_var"] + 1e-5)
    )
    layer4_0_downsample_1_out_weight = (
        weights["layer4.0.downsample.0.weight"]
        * layer4_0_downsample_1_out_scale.reshape(2048, 1, 1, 1)
    )
    layer4_0_downsample_1_out_bias = (
        weights["layer4.0.downsample.1.bias"]
        - weights["layer4.0.downsample.1.running_mean"] * layer4_0_downsample_1_out_scale
    )
    layer4_1_bn1_out_scale = (
        weights["layer4.1.bn1.weight"]
        / torch.sqrt(weights["layer4.1.bn1.running_var"] + 1e-5)
    )
    layer4_1_bn1_out_weight = (
        weights["layer4.1.conv1.weight"]
        * layer4_1_bn1_out_scale.reshape(512, 1, 1, 1)
    )
    layer4_1_bn1_out_bias = (
        weights["layer4.1.bn1.bias"]
        - weights["layer4.1.bn1.running_mean"] * layer4_1_bn1_out_scale
    )
    layer4_1_bn2_out_scale = (
        weights["layer4.1.bn2.weight"]
        / torch.sqrt(weights["layer4.1.bn2.running_var"] + 1e-5)
    )
    layer4_1_bn2_out_weight = (
        weights["layer4.1.conv2.weight"]
        * layer4_1_bn2_out_scale.reshape(512, 1, 1, 1)
    )
    layer4_1_bn2_out_bias = (
        weights["layer4.1.bn2.bias"]
        - weights["layer4.1.bn2.running_mean"] * layer4_1_bn2_out_scale
    )
    layer4_1_bn3_out_scale = (
        weights["layer4.1.bn3.weight"]
        / torch.sqrt(weights["layer4.1.bn3.running_var"] + 1e-5)
    )
    layer4_1_bn3_out_weight = (
        weights["layer4.1.conv3.weight"]
        * layer4_1_bn3_out_scale.reshape(2048, 1, 1, 1)
    )
    layer4_1_bn3_out_bias = (
        weights["layer4.1.bn3.bias"]
        - weights["layer4.1.bn3.running_mean"] * layer4_1_bn3_out_scale
    )
    layer4_2_bn1_out_scale = (
        weights["layer4.2.bn1.weight"]
        / torch.sqrt(weights["layer4.2.bn1.running_var"] + 1e-5)
    )
    layer4_2_bn1_out_weight = (
        weights["layer4.2.conv1.weight"]
        * layer4_2_bn1_out_scale.reshape(512, 1, 1, 1)
    )
    layer4_2_bn1_out_bias = (
        weights["layer4.2.bn1.bias"]
        - weights["layer4.2.bn1.running_mean"] * layer4_2_bn1_out_scale
    )
    layer4_2_bn2_out_scale = (
        weights["layer4.2.bn2.weight"]
        / torch.sqrt(weights["layer4.2.bn2.running_var"] + 1e-5)
    )
    layer4_2_bn2_out_weight = (
        weights["layer4.2.conv2.weight"]
        * layer4_2_bn2_out_scale.reshape(512, 1, 1, 1)
    )
    layer4_2_bn2_out_bias = (
        weights["layer4.2.bn2.bias"]
        - weights["layer4.2.bn2.running_mean"] * layer4_2_bn2_out_scale
    )
    layer4_2_bn3_out_scale = (
        weights["layer4.2.bn3.weight"]
        / torch.sqrt(weights["layer4.2.bn3.running_var"] + 1e-5)
    )
    layer4_2_bn3_out_weight = (
        weights["layer4.2.conv3.weight"]
        * layer4_2_bn3_out_scale.reshape(2048, 1, 1, 1)
    )
    layer4_2_bn3_out_bias = (
        weights["layer4.2.bn3.bias"]
        - weights["layer4.2.bn3.running_mean"] * layer4_2_bn3_out_scale
    )
    logits_transpose = weights["fc.weight"].permute(1, 0).contiguous()
    return (
        bn1_out_weight, bn1_out_bias, layer1_0_bn1_out_weight, layer1_0_bn1_out_bias,
        layer1_0_bn2_out_weight, layer1_0_bn2_out_bias, layer1_0_bn3_out_weight,
        layer1_0_bn3_out_bias, layer1_0_downsample_1_out_weight, layer1_0_downsample_1_out_bias,
        layer1_1_bn1_out_weight, layer1_1_bn1_out_bias, layer1_1_bn2_out_weight,
        layer1_1_bn2_out_bias, layer1_1_bn3_out_weight, layer1_1_bn3_out_bias,
        layer1_2_bn1_out_weight, layer1_2_bn1_out_bias, layer1_2_bn2_out_weight,
        layer1_2_bn2_out_bias, layer1_2_bn3_out_weight, layer1_2_bn3_out_bias,
        layer2_0_bn1_out_weight, layer2_0_bn1_out_bias, layer2_0_bn2_out_weight,
        layer2_0_bn2_out_bias, layer2_0_bn3_out_weight, layer2_0_bn3_out_bias,
        layer2_0_downsample_1_out_weight, layer2_0_downsample_1_out_bias, layer2_1_bn1_out_weight,
        layer2_1_bn1_out_bias, layer2_1_bn2_out_weight, layer2_1_bn2_out_bias,
        layer2_1_bn3_out_weight, layer2_1_bn3_out_bias, layer2_2_bn1_out_weight,
        layer2_2_bn1_out_bias, layer2_2_bn2_out_weight, layer2_2_bn2_out_bias,
        layer2_2_bn3_out_weight, layer2_2_bn3_out_bias, layer2_3_bn1_out_weight,
        layer2_3_bn1_out_bias, layer2_3_bn2_out_weight, layer2_3_bn2_out_bias,
        layer2_3_bn3_out_weight, layer2_3_bn3_out_bias, layer3_0_bn1_out_weight,
        layer3_0_bn1_out_bias, layer3_0_bn2_out_weight, layer3_0_bn2_out_bias,
        layer3_0_bn3_out_weight, layer3_0_bn3_out_bias, layer3_0_downsample_1_out_weight,
        layer3_0_downsample_1_out_bias, layer3_1_bn1_out_weight, layer3_1_bn1_out_bias,
        layer3_1_bn2_out_weight, layer3_1_bn2_out_bias, layer3_1_bn3_out_weight,
        layer3_1_bn3_out_bias, layer3_2_bn1_out_weight, layer3_2_bn1_out_bias,
        layer3_2_bn2_out_weight, layer3_2_bn2_out_bias, layer3_2_bn3_out_weight,
        layer3_2_bn3_out_bias, layer3_3_bn1_out_weight, layer3_3_bn1_out_bias,
        layer3_3_bn2_out_weight, layer3_3_bn2_out_bias, layer3_3_bn3_out_weight,
        layer3_3_bn3_out_bias, layer3_4_bn1_out_weight, layer3_4_bn1_out_bias,
        layer3_4_bn2_out_weight, layer3_4_bn2_out_bias, layer3_4_bn3_out_weight,
        layer3_4_bn3_out_bias, layer3_5_bn1_out_weight, layer3_5_bn1_out_bias,
        layer3_5_bn2_out_weight, layer3_5_bn2_out_bias, layer3_5_bn3_out_weight,
        layer3_5_bn3_out_bias, layer4_0_bn1_out_weight, layer4_0_bn1_out_bias,
        layer4_0_bn2_out_weight, layer4_0_bn2_out_bias, layer4_0_bn3_out_weight,
        layer4_0_bn3_out_bias, layer4_0_downsample_1_out_weight, layer4_0_downsample_1_out_bias,
        layer4_1_bn1_out_weight, layer4_1_bn1_out_bias, layer4_1_bn2_out_weight,
        layer4_1_bn2_out_bias, layer4_1_bn3_out_weight, layer4_1_bn3_out_bias,
        layer4_2_bn1_out_weight, layer4_2_bn1_out_bias, layer4_2_bn2_out_weight,
        layer4_2_bn2_out_bias, layer4_2_bn3_out_weight, layer4_2_bn3_out_bias, logits_transpose,
    )


def forward(x, weights, prepared):
    """One inference.

    x: float32 [1, 3, 224, 224]

    Returns logits float32 [1, 1000].
    """
    (
        bn1_out_weight, bn1_out_bias, layer1_0_bn1_out_weight, layer1_0_bn1_out_bias,
        layer1_0_bn2_out_weight, layer1_0_bn2_out_bias, layer1_0_bn3_out_weight,
        layer1_0_bn3_out_bias, layer1_0_downsample_1_out_weight, layer1_0_downsample_1_out_bias,
        layer1_1_bn1_out_weight, layer1_1_bn1_out_bias, layer1_1_bn2_out_weight,
        layer1_1_bn2_out_bias, layer1_1_bn3_out_weight, layer1_1_bn3_out_bias,
        layer1_2_bn1_out_weight, layer1_2_bn1_out_bias, layer1_2_bn2_out_weight,
        layer1_2_bn2_out_bias, layer1_2_bn3_out_weight, layer1_2_bn3_out_bias,
        layer2_0_bn1_out_weight, layer2_0_bn1_out_bias, layer2_0_bn2_out_weight,
        layer2_0_bn2_out_bias, layer2_0_bn3_out_weight, layer2_0_bn3_out_bias,
        layer2_0_downsample_1_out_weight, layer2_0_downsample_1_out_bias, layer2_1_bn1_out_weight,
        layer2_1_bn1_out_bias, layer2_1_bn2_out_weight, layer2_1_bn2_out_bias,
        layer2_1_bn3_out_weight, layer2_1_bn3_out_bias, layer2_2_bn1_out_weight,
        layer2_2_bn1_out_bias, layer2_2_bn2_out_weight, layer2_2_bn2_out_bias,
        layer2_2_bn3_out_weight, layer2_2_bn3_out_bias, layer2_3_bn1_out_weight,
        layer2_3_bn1_out_bias, layer2_3_bn2_out_weight, layer2_3_bn2_out_bias,
        layer2_3_bn3_out_weight, layer2_3_bn3_out_bias, layer3_0_bn1_out_weight,
        layer3_0_bn1_out_bias, layer3_0_bn2_out_weight, layer3_0_bn2_out_bias,
        layer3_0_bn3_out_weight, layer3_0_bn3_out_bias, layer3_0_downsample_1_out_weight,
        layer3_0_downsample_1_out_bias, layer3_1_bn1_out_weight, layer3_1_bn1_out_bias,
        layer3_1_bn2_out_weight, layer3_1_bn2_out_bias, layer3_1_bn3_out_weight,
        layer3_1_bn3_out_bias, layer3_2_bn1_out_weight, layer3_2_bn1_out_bias,
        layer3_2_bn2_out_weight, layer3_2_bn2_out_bias, layer3_2_bn3_out_weight,
        layer3_2_bn3_out_bias, layer3_3_bn1_out_weight, layer3_3_bn1_out_bias,
        layer3_3_bn2_out_weight, layer3_3_bn2_out_bias, layer3_3_bn3_out_weight,
        layer3_3_bn3_out_bias, layer3_4_bn1_out_weight, layer3_4_bn1_out_bias,
        layer3_4_bn2_out_weight, layer3_4_bn2_out_bias, layer3_4_bn3_out_weight,
        layer3_4_bn3_out_bias, layer3_5_bn1_out_weight, layer3_5_bn1_out_bias,
        layer3_5_bn2_out_weight, layer3_5_bn2_out_bias, layer3_5_bn3_out_weight,
        layer3_5_bn3_out_bias, layer4_0_bn1_out_weight, layer4_0_bn1_out_bias,
        layer4_0_bn2_out_weight, layer4_0_bn2_out_bias, layer4_0_bn3_out_weight,
        layer4_0_bn3_out_bias, layer4_0_downsample_1_out_weight, layer4_0_downsample_1_out_bias,
        layer4_1_bn1_out_weight, layer4_1_bn1_out_bias, layer4_1_bn2_out_weight,
        layer4_1_bn2_out_bias, layer4_1_bn3_out_weight, layer4_1_bn3_out_bias,
        layer4_2_bn1_out_weight, layer4_2_bn1_out_bias, layer4_2_bn2_out_weight,
        layer4_2_bn2_out_bias, layer4_2_bn3_out_weight, layer4_2_bn3_out_bias, logits_transpose,
    ) = prepared
    b0 = torch.empty(802816, dtype=torch.float32, device=x.device)
    b1 = torch.empty(200704, dtype=torch.float32, device=x.device)
    b2 = torch.empty(200704, dtype=torch.float32, device=x.device)
    b3 = torch.empty(200704, dtype=torch.float32, device=x.device)
    b4 = torch.empty(802816, dtype=torch.float32, device=x.device)
    b5 = torch.empty(401408, dtype=torch.float32, device=x.device)
    b6 = torch.empty(100352, dtype=torch.float32, device=x.device)
    b7 = torch.empty(401408, dtype=torch.float32, device=x.device)
    b8 = torch.empty(100352, dtype=torch.float32, device=x.device)
    b9 = torch.empty(50176, dtype=torch.float32, device=x.device)
    b10 = torch.empty(50176, dtype=torch.float32, device=x.device)
    b11 = torch.empty(25088, dtype=torch.float32, device=x.device)
    b12 = torch.empty(25088, dtype=torch.float32, device=x.device)
    b13 = torch.empty(2048, dtype=torch.float32, device=x.device)
    b14 = torch.empty(1000, dtype=torch.float32, device=x.device)

    # conv1
    conv2d_resnet__0d7f033933fc.launch(x, bn1_out_weight, bn1_out_bias, b0.view(1, 64, 112, 112))

    # maxpool
    maxpool2d__07ce318b6aef.launch(b0.view(1, 64, 112, 112), b1.view(1, 64, 56, 56))

    # layer1.0.conv1
    conv2d_resnet__5d8bf0951792.launch(
        b1.view(1, 64, 56, 56), layer1_0_bn1_out_weight, layer1_0_bn1_out_bias,
        b2.view(1, 64, 56, 56),
    )

    # layer1.0.conv2
    conv2d_resnet__bac2af47a413.launch(
        b2.view(1, 64, 56, 56), layer1_0_bn2_out_weight, layer1_0_bn2_out_bias,
        b3.view(1, 64, 56, 56),
    )

    # layer1.0.conv3
    conv2d_resnet__0a7ed15e7775.launch(
        b3.view(1, 64, 56, 56), layer1_0_bn3_out_weight, layer1_0_bn3_out_bias,
        b0.view(1, 256, 56, 56),
    )

    # layer1.0.downsample.0
    conv2d_resnet__f4b17b962e1e.launch(
        b1.view(1, 64, 56, 56), layer1_0_downsample_1_out_weight, layer1_0_downsample_1_out_bias,
        b0.view(1, 256, 56, 56), b4.view(1, 256, 56, 56),
    )

    # layer1.1.conv1
    conv2d_resnet__1a85bac19a73.launch(
        b4.view(1, 256, 56, 56), layer1_1_bn1_out_weight, layer1_1_bn1_out_bias,
        b1.view(1, 64, 56, 56),
    )

    # layer1.1.conv2
    conv2d_resnet__bac2af47a413.launch(
        b1.view(1, 64, 56, 56), layer1_1_bn2_out_weight, layer1_1_bn2_out_bias,
        b3.view(1, 64, 56, 56),
    )

    # layer1.1.conv3
    conv2d_resnet__9b25b27bcb18.launch(
        b3.view(1, 64, 56, 56), layer1_1_bn3_out_weight, layer1_1_bn3_out_bias,
        b4.view(1, 256, 56, 56), b0.view(1, 256, 56, 56),
    )

    # layer1.2.conv1
    conv2d_resnet__1a85bac19a73.launch(
        b0.view(1, 256, 56, 56), layer1_2_bn1_out_weight, layer1_2_bn1_out_bias,
        b3.view(1, 64, 56, 56),
    )

    # layer1.2.conv2
    conv2d_resnet__bac2af47a413.launch(
        b3.view(1, 64, 56, 56), layer1_2_bn2_out_weight, layer1_2_bn2_out_bias,
        b1.view(1, 64, 56, 56),
    )

    # layer1.2.conv3
    conv2d_resnet__9b25b27bcb18.launch(
        b1.view(1, 64, 56, 56), layer1_2_bn3_out_weight, layer1_2_bn3_out_bias,
        b0.view(1, 256, 56, 56), b4.view(1, 256, 56, 56),
    )

    # layer2.0.conv1
    conv2d_resnet__457c0159e476.launch(
        b4.view(1, 256, 56, 56), layer2_0_bn1_out_weight, layer2_0_bn1_out_bias,
        b5.view(1, 128, 56, 56),
    )

    # layer2.0.conv2
    conv2d_resnet__610ebe86f65b.launch(
        b5.view(1, 128, 56, 56), layer2_0_bn2_out_weight, layer2_0_bn2_out_bias,
        b6.view(1, 128, 28, 28),
    )

    # layer2.0.conv3
    conv2d_resnet__03d70873afcb.launch(
        b6.view(1, 128, 28, 28), layer2_0_bn3_out_weight, layer2_0_bn3_out_bias,
        b5.view(1, 512, 28, 28),
    )

    # layer2.0.downsample.0
    conv2d_resnet__9556c763ae7e.launch(
        b4.view(1, 256, 56, 56), layer2_0_downsample_1_out_weight, layer2_0_downsample_1_out_bias,
        b5.view(1, 512, 28, 28), b7.view(1, 512, 28, 28),
    )

    # layer2.1.conv1
    conv2d_resnet__c7f99871280a.launch(
        b7.view(1, 512, 28, 28), layer2_1_bn1_out_weight, layer2_1_bn1_out_bias,
        b6.view(1, 128, 28, 28),
    )

    # layer2.1.conv2
    conv2d_resnet__183dc2739044.launch(
        b6.view(1, 128, 28, 28), layer2_1_bn2_out_weight, layer2_1_bn2_out_bias,
        b8.view(1, 128, 28, 28),
    )

    # layer2.1.conv3
    conv2d_resnet__1b5bee334b4a.launch(
        b8.view(1, 128, 28, 28), layer2_1_bn3_out_weight, layer2_1_bn3_out_bias,
        b7.view(1, 512, 28, 28), b5.view(1, 512, 28, 28),
    )

    # layer2.2.conv1
    conv2d_resnet__c7f99871280a.launch(
        b5.view(1, 512, 28, 28), layer2_2_bn1_out_weight, layer2_2_bn1_out_bias,
        b8.view(1, 128, 28, 28),
    )

    # layer2.2.conv2
    conv2d_resnet__183dc2739044.launch(
        b8.view(1, 128, 28, 28), layer2_2_bn2_out_weight, layer2_2_bn2_out_bias,
        b6.view(1, 128, 28, 28),
    )

    # layer2.2.conv3
    conv2d_resnet__1b5bee334b4a.launch(
        b6.view(1, 128, 28, 28), layer2_2_bn3_out_weight, layer2_2_bn3_out_bias,
        b5.view(1, 512, 28, 28), b7.view(1, 512, 28, 28),
    )

    # layer2.3.conv1
    conv2d_resnet__c7f99871280a.launch(
        b7.view(1, 512, 28, 28), layer2_3_bn1_out_weight, layer2_3_bn1_out_bias,
        b6.view(1, 128, 28, 28),
    )

    # layer2.3.conv2
    conv2d_resnet__183dc2739044.launch(
        b6.view(1, 128, 28, 28), layer2_3_bn2_out_weight, layer2_3_bn2_out_bias,
        b8.view(1, 128, 28, 28),
    )

    # layer2.3.conv3
    conv2d_resnet__1b5bee334b4a.launch(
        b8.view(1, 128, 28, 28), layer2_3_bn3_out_weight, layer2_3_bn3_out_bias,
        b7.view(1, 512, 28, 28), b5.view(1, 512, 28, 28),
    )

    # layer3.0.conv1
    conv2d_resnet__19adc88fd75e.launch(
        b5.view(1, 512, 28, 28), layer3_0_bn1_out_weight, layer3_0_bn1_out_bias,
        b1.view(1, 256, 28, 28),
    )

    # layer3.0.conv2
    conv2d_resnet__1b7a3e665726.launch(
        b1.view(1, 256, 28, 28), layer3_0_bn2_out_weight, layer3_0_bn2_out_bias,
        b9.view(1, 256, 14, 14),
    )

    # layer3.0.conv3
    conv2d_resnet__a911becf8463.launch(
        b9.view(1, 256, 14, 14), layer3_0_bn3_out_weight, layer3_0_bn3_out_bias,
        b1.view(1, 1024, 14, 14),
    )

    # layer3.0.downsample.0
    conv2d_resnet__a5422d2ec2c6.launch(
        b5.view(1, 512, 28, 28), layer3_0_downsample_1_out_weight, layer3_0_downsample_1_out_bias,
        b1.view(1, 1024, 14, 14), b3.view(1, 1024, 14, 14),
    )

    # layer3.1.conv1
    conv2d_resnet__42ef8e7433d3.launch(
        b3.view(1, 1024, 14, 14), layer3_1_bn1_out_weight, layer3_1_bn1_out_bias,
        b9.view(1, 256, 14, 14),
    )

    # layer3.1.conv2
    conv2d_resnet__1bd2a60c4a00.launch(
        b9.view(1, 256, 14, 14), layer3_1_bn2_out_weight, layer3_1_bn2_out_bias,
        b10.view(1, 256, 14, 14),
    )

    # layer3.1.conv3
    conv2d_resnet__59f2c4d0f571.launch(
        b10.view(1, 256, 14, 14), layer3_1_bn3_out_weight, layer3_1_bn3_out_bias,
        b3.view(1, 1024, 14, 14), b1.view(1, 1024, 14, 14),
    )

    # layer3.2.conv1
    conv2d_resnet__42ef8e7433d3.launch(
        b1.view(1, 1024, 14, 14), layer3_2_bn1_out_weight, layer3_2_bn1_out_bias,
        b10.view(1, 256, 14, 14),
    )

    # layer3.2.conv2
    conv2d_resnet__1bd2a60c4a00.launch(
        b10.view(1, 256, 14, 14), layer3_2_bn2_out_weight, layer3_2_bn2_out_bias,
        b9.view(1, 256, 14, 14),
    )

    # layer3.2.conv3
    conv2d_resnet__59f2c4d0f571.launch(
        b9.view(1, 256, 14, 14), layer3_2_bn3_out_weight, layer3_2_bn3_out_bias,
        b1.view(1, 1024, 14, 14), b3.view(1, 1024, 14, 14),
    )

    # layer3.3.conv1
    conv2d_resnet__42ef8e7433d3.launch(
        b3.view(1, 1024, 14, 14), layer3_3_bn1_out_weight, layer3_3_bn1_out_bias,
        b9.view(1, 256, 14, 14),
    )

    # layer3.3.conv2
    conv2d_resnet__1bd2a60c4a00.launch(
        b9.view(1, 256, 14, 14), layer3_3_bn2_out_weight, layer3_3_bn2_out_bias,
        b10.view(1, 256, 14, 14),
    )

    # layer3.3.conv3
    conv2d_resnet__59f2c4d0f571.launch(
        b10.view(1, 256, 14, 14), layer3_3_bn3_out_weight, layer3_3_bn3_out_bias,
        b3.view(1, 1024, 14, 14), b1.view(1, 1024, 14, 14),
    )

    # layer3.4.conv1
    conv2d_resnet__42ef8e7433d3.launch(
        b1.view(1, 1024, 14, 14), layer3_4_bn1_out_weight, layer3_4_bn1_out_bias,
        b10.view(1, 256, 14, 14),
    )

    # layer3.4.conv2
    conv2d_resnet__1bd2a60c4a00.launch(
        b10.view(1, 256, 14, 14), layer3_4_bn2_out_weight, layer3_4_bn2_out_bias,
        b9.view(1, 256, 14, 14),
    )

    # layer3.4.conv3
    conv2d_resnet__59f2c4d0f571.launch(
        b9.view(1, 256, 14, 14), layer3_4_bn3_out_weight, layer3_4_bn3_out_bias,
        b1.view(1, 1024, 14, 14), b3.view(1, 1024, 14, 14),
    )

    # layer3.5.conv1
    conv2d_resnet__42ef8e7433d3.launch(
        b3.view(1, 1024, 14, 14), layer3_5_bn1_out_weight, layer3_5_bn1_out_bias,
        b9.view(1, 256, 14, 14),
    )

    # layer3.5.conv2
    conv2d_resnet__1bd2a60c4a00.launch(
        b9.view(1, 256, 14, 14), layer3_5_bn2_out_weight, layer3_5_bn2_out_bias,
        b10.view(1, 256, 14, 14),
    )

    # layer3.5.conv3
    conv2d_resnet__59f2c4d0f571.launch(
        b10.view(1, 256, 14, 14), layer3_5_bn3_out_weight, layer3_5_bn3_out_bias,
        b3.view(1, 1024, 14, 14), b1.view(1, 1024, 14, 14),
    )

    # layer4.0.conv1
    conv2d_resnet__14ebdfd1de7d.launch(
        b1.view(1, 1024, 14, 14), layer4_0_bn1_out_weight, layer4_0_bn1_out_bias,
        b8.view(1, 512, 14, 14),
    )

    # layer4.0.conv2
    conv2d_resnet__2a8f75777462.launch(
        b8.view(1, 512, 14, 14), layer4_0_bn2_out_weight, layer4_0_bn2_out_bias,
        b11.view(1, 512, 7, 7),
    )

    # layer4.0.conv3
    conv2d_resnet__82ccf2f580e8.launch(
        b11.view(1, 512, 7, 7), layer4_0_bn3_out_weight, layer4_0_bn3_out_bias,
        b8.view(1, 2048, 7, 7),
    )

    # layer4.0.downsample.0
    conv2d_resnet__ee75b65fbd86.launch(
        b1.view(1, 1024, 14, 14), layer4_0_downsample_1_out_weight, layer4_0_downsample_1_out_bias,
        b8.view(1, 2048, 7, 7), b6.view(1, 2048, 7, 7),
    )

    # layer4.1.conv1
    conv2d_resnet__525a5e1ad04e.launch(
        b6.view(1, 2048, 7, 7), layer4_1_bn1_out_weight, layer4_1_bn1_out_bias,
        b11.view(1, 512, 7, 7),
    )

    # layer4.1.conv2
    conv2d_resnet__4b9684cb8dec.launch(
        b11.view(1, 512, 7, 7), layer4_1_bn2_out_weight, layer4_1_bn2_out_bias,
        b12.view(1, 512, 7, 7),
    )

    # layer4.1.conv3
    conv2d_resnet__b816e5fd9f44.launch(
        b12.view(1, 512, 7, 7), layer4_1_bn3_out_weight, layer4_1_bn3_out_bias,
        b6.view(1, 2048, 7, 7), b8.view(1, 2048, 7, 7),
    )

    # layer4.2.conv1
    conv2d_resnet__525a5e1ad04e.launch(
        b8.view(1, 2048, 7, 7), layer4_2_bn1_out_weight, layer4_2_bn1_out_bias,
        b12.view(1, 512, 7, 7),
    )

    # layer4.2.conv2
    conv2d_resnet__4b9684cb8dec.launch(
        b12.view(1, 512, 7, 7), layer4_2_bn2_out_weight, layer4_2_bn2_out_bias,
        b11.view(1, 512, 7, 7),
    )

    # layer4.2.conv3
    conv2d_resnet__b816e5fd9f44.launch(
        b11.view(1, 512, 7, 7), layer4_2_bn3_out_weight, layer4_2_bn3_out_bias,
        b8.view(1, 2048, 7, 7), b6.view(1, 2048, 7, 7),
    )

    # avgpool
    adaptive_avgpool2d__b55bcefa2efe.launch(b6.view(1, 2048, 7, 7), b13.view(1, 2048, 1, 1))

    # fc
    matmul__cf320c64e391.launch(
        b13.view(1, 2048), logits_transpose, weights["fc.bias"], b14.view(1, 1000),
    )

    return b14.view(1, 1000)


def reference(x, weights):
    """The model's own operators in torch."""
    conv1_out = F.conv2d(x, weights["conv1.weight"], stride=2, padding=3)
    bn1_out = F.batch_norm(
        conv1_out, weights["bn1.running_mean"], weights["bn1.running_var"], weights["bn1.weight"],
        weights["bn1.bias"], eps=1e-5,
    )
    relu_out = torch.relu(bn1_out)
    maxpool_out = F.max_pool2d(relu_out, 3, stride=2, padding=1)
    layer1_0_conv1_out = F.conv2d(maxpool_out, weights["layer1.0.conv1.weight"])
    layer1_0_bn1_out = F.batch_norm(
        layer1_0_conv1_out, weights["layer1.0.bn1.running_mean"],
        weights["layer1.0.bn1.running_var"], weights["layer1.0.bn1.weight"],
        weights["layer1.0.bn1.bias"], eps=1e-5,
    )
    layer1_0_relu_out = torch.relu(layer1_0_bn1_out)
    layer1_0_conv2_out = F.conv2d(layer1_0_relu_out, weights["layer1.0.conv2.weight"], padding=1)
    layer1_0_bn2_out = F.batch_norm(
        layer1_0_conv2_out, weights["layer1.0.bn2.running_mean"],
        weights["layer1.0.bn2.running_var"], weights["layer1.0.bn2.weight"],
        weights["layer1.0.bn2.bias"], eps=1e-5,
    )
    layer1_0_relu_1_out = torch.relu(layer1_0_bn2_out)
    layer1_0_conv3_out = F.conv2d(layer1_0_relu_1_out, weights["layer1.0.conv3.weight"])
    layer1_0_bn3_out = F.batch_norm(
        layer1_0_conv3_out, weights["layer1.0.bn3.running_mean"],
        weights["layer1.0.bn3.running_var"], weights["layer1.0.bn3.weight"],
        weights["layer1.0.bn3.bias"], eps=1e-5,
    )
    layer1_0_downsample_0_out = F.conv2d(maxpool_out, weights["layer1.0.downsample.0.weight"])
    layer1_0_downsample_1_out = F.batch_norm(
        layer1_0_downsample_0_out, weights["layer1.0.downsample.1.running_mean"],
        weights["layer1.0.downsample.1.running_var"], weights["layer1.0.downsample.1.weight"],
        weights["layer1.0.downsample.1.bias"], eps=1e-5,
    )
    layer1_0_add_out = layer1_0_bn3_out + layer1_0_downsample_1_out
    layer1_0_relu_2_out = torch.relu(layer1_0_add_out)
    layer1_1_conv1_out = F.conv2d(layer1_0_relu_2_out, weights["layer1.1.conv1.weight"])
    layer1_1_bn1_out = F.batch_norm(
        layer1_1_conv1_out, weights["layer1.1.bn1.running_mean"],
        weights["layer1.1.bn1.running_var"], weights["layer1.1.bn1.weight"],
        weights["layer1.1.bn1.bias"], eps=1e-5,
    )
    layer1_1_relu_out = torch.relu(layer1_1_bn1_out)
    layer1_1_conv2_out = F.conv2d(layer1_1_relu_out, weights["layer1.1.conv2.weight"], padding=1)
    layer1_1_bn2_out = F.batch_norm(
        layer1_1_conv2_out, weights["layer1.1.bn2.running_mean"],
        weights["layer1.1.bn2.running_var"], weights["layer1.1.bn2.weight"],
        weights["layer1.1.bn2.bias"], eps=1e-5,
    )
    layer1_1_relu_1_out = torch.relu(layer1_1_bn2_out)
    layer1_1_conv3_out = F.conv2d(layer1_1_relu_1_out, weights["layer1.1.conv3.weight"])
    layer1_1_bn3_out = F.batch_norm(
        layer1_1_conv3_out, weights["layer1.1.bn3.running_mean"],
        weights["layer1.1.bn3.running_var"], weights["layer1.1.bn3.weight"],
        weights["layer1.1.bn3.bias"], eps=1e-5,
    )
    layer1_1_add_out = layer1_1_bn3_out + layer1_0_relu_2_out
    layer1_1_relu_2_out = torch.relu(layer1_1_add_out)
    layer1_2_conv1_out = F.conv2d(layer1_1_relu_2_out, weights["layer1.2.conv1.weight"])
    layer1_2_bn1_out = F.batch_norm(
        layer1_2_conv1_out, weights["layer1.2.bn1.running_mean"],
        weights["layer1.2.bn1.running_var"], weights["layer1.2.bn1.weight"],
        weights["layer1.2.bn1.bias"], eps=1e-5,
    )
    layer1_2_relu_out = torch.relu(layer1_2_bn1_out)
    layer1_2_conv2_out = F.conv2d(layer1_2_relu_out, weights["layer1.2.conv2.weight"], padding=1)
    layer1_2_bn2_out = F.batch_norm(
        layer1_2_conv2_out, weights["layer1.2.bn2.running_mean"],
        weights["layer1.2.bn2.running_var"], weights["layer1.2.bn2.weight"],
        weights["layer1.2.bn2.bias"], eps=1e-5,
    )
    layer1_2_relu_1_out = torch.relu(layer1_2_bn2_out)
    layer1_2_conv3_out = F.conv2d(layer1_2_relu_1_out, weights["layer1.2.conv3.weight"])
    layer1_2_bn3_out = F.batch_norm(
        layer1_2_conv3_out, weights["layer1.2.bn3.running_mean"],
        weights["layer1.2.bn3.running_var"], weights["layer1.2.bn3.weight"],
        weights["layer1.2.bn3.bias"], eps=1e-5,
    )
    layer1_2_add_out = layer1_2_bn3_out + layer1_1_relu_2_out
    layer1_2_relu_2_out = torch.relu(layer1_2_add_out)
    layer2_0_conv1_out = F.conv2d(layer1_2_relu_2_out, weights["layer2.0.conv1.weight"])
    layer2_0_bn1_out = F.batch_norm(
        layer2_0_conv1_out, weights["layer2.0.bn1.running_mean"],
        weights["layer2.0.bn1.running_var"], weights["layer2.0.bn1.weight"],
        weights["layer2.0.bn1.bias"], eps=1e-5,
    )
    layer2_0_relu_out = torch.relu(layer2_0_bn1_out)
    layer2_0_conv2_out = F.conv2d(
        layer2_0_relu_out, weights["layer2.0.conv2.weight"], stride=2, padding=1,
    )
    layer2_0_bn2_out = F.batch_norm(
        layer2_0_conv2_out, weights["layer2.0.bn2.running_mean"],
        weights["layer2.0.bn2.running_var"], weights["layer2.0.bn2.weight"],
        weights["layer2.0.bn2.bias"], eps=1e-5,
    )
    layer2_0_relu_1_out = torch.relu(layer2_0_bn2_out)
    layer2_0_conv3_out = F.conv2d(layer2_0_relu_1_out, weights["layer2.0.conv3.weight"])
    layer2_0_bn3_out = F.batch_norm(
        layer2_0_conv3_out, weights["layer2.0.bn3.running_mean"],
        weights["layer2.0.bn3.running_var"], weights["layer2.0.bn3.weight"],
        weights["layer2.0.bn3.bias"], eps=1e-5,
    )
    layer2_0_downsample_0_out = F.conv2d(
        layer1_2_relu_2_out, weights["layer2.0.downsample.0.weight"], stride=2,
    )
    layer2_0_downsample_1_out = F.batch_norm(
        layer2_0_downsample_0_out, weights["layer2.0.downsample.1.running_mean"],
        weights["layer2.0.downsample.1.running_var"], weights["layer2.0.downsample.1.weight"],
        weights["layer2.0.downsample.1.bias"], eps=1e-5,
    )
    layer2_0_add_out = layer2_0_bn3_out + layer2_0_downsample_1_out
    layer2_0_relu_2_out = torch.relu(layer2_0_add_out)
    layer2_1_conv1_out = F.conv2d(layer2_0_relu_2_out, weights["layer2.1.conv1.weight"])
    layer2_1_bn1_out = F.batch_norm(
        layer2_1_conv1_out, weights["layer2.1.bn1.running_mean"],
        weights["layer2.1.bn1.running_var"], weights["layer2.1.bn1.weight"],
        weights["layer2.1.bn1.bias"], eps=1e-5,
    )
    layer2_1_relu_out = torch.relu(layer2_1_bn1_out)
    layer2_1_conv2_out = F.conv2d(layer2_1_relu_out, weights["layer2.1.conv2.weight"], padding=1)
    layer2_1_bn2_out = F.batch_norm(
        layer2_1_conv2_out, weights["layer2.1.bn2.running_mean"],
        weights["layer2.1.bn2.running_var"], weights["layer2.1.bn2.weight"],
        weights["layer2.1.bn2.bias"], eps=1e-5,
    )
    layer2_1_relu_1_out = torch.relu(layer2_1_bn2_out)
    layer2_1_conv3_out = F.conv2d(layer2_1_relu_1_out, weights["layer2.1.conv3.weight"])
    layer2_1_bn3_out = F.batch_norm(
        layer2_1_conv3_out, weights["layer2.1.bn3.running_mean"],
        weights["layer2.1.bn3.running_var"], weights["layer2.1.bn3.weight"],
        weights["layer2.1.bn3.bias"], eps=1e-5,
    )
    layer2_1_add_out = layer2_1_bn3_out + layer2_0_relu_2_out
    layer2_1_relu_2_out = torch.relu(layer2_1_add_out)
    layer2_2_conv1_out = F.conv2d(layer2_1_relu_2_out, weights["layer2.2.conv1.weight"])
    layer2_2_bn1_out = F.batch_norm(
        layer2_2_conv1_out, weights["layer2.2.bn1.running_mean"],
        weights["layer2.2.bn1.running_var"], weights["layer2.2.bn1.weight"],
        weights["layer2.2.bn1.bias"], eps=1e-5,
    )
    layer2_2_relu_out = torch.relu(layer2_2_bn1_out)
    layer2_2_conv2_out = F.conv2d(layer2_2_relu_out, weights["layer2.2.conv2.weight"], padding=1)
    layer2_2_bn2_out = F.batch_norm(
        layer2_2_conv2_out, weights["layer2.2.bn2.running_mean"],
        weights["layer2.2.bn2.running_var"], weights["layer2.2.bn2.weight"],
        weights["layer2.2.bn2.bias"], eps=1e-5,
    )
    layer2_2_relu_1_out = torch.relu(layer2_2_bn2_out)
    layer2_2_conv3_out = F.conv2d(layer2_2_relu_1_out, weights["layer2.2.conv3.weight"])
    layer2_2_bn3_out = F.batch_norm(
        layer2_2_conv3_out, weights["layer2.2.bn3.running_mean"],
        weights["layer2.2.bn3.running_var"], weights["layer2.2.bn3.weight"],
        weights["layer2.2.bn3.bias"], eps=1e-5,
    )
    layer2_2_add_out = layer2_2_bn3_out + layer2_1_relu_2_out
    layer2_2_relu_2_out = torch.relu(layer2_2_add_out)
    layer2_3_conv1_out = F.conv2d(layer2_2_relu_2_out, weights["layer2.3.conv1.weight"])
    layer2_3_bn1_out = F.batch_norm(
        layer2_3_conv1_out, weights["layer2.3.bn1.running_mean"],
        weights["layer2.3.bn1.running_var"], weights["layer2.3.bn1.weight"],
        weights["layer2.3.bn1.bias"], eps=1e-5,
    )
    layer2_3_relu_out = torch.relu(layer2_3_bn1_out)
    layer2_3_conv2_out = F.conv2d(layer2_3_relu_out, weights["layer2.3.conv2.weight"], padding=1)
    layer2_3_bn2_out = F.batch_norm(
        layer2_3_conv2_out, weights["layer2.3.bn2.running_mean"],
        weights["layer2.3.bn2.running_var"], weights["layer2.3.bn2.weight"],
        weights["layer2.3.bn2.bias"], eps=1e-5,
    )
    layer2_3_relu_1_out = torch.relu(layer2_3_bn2_out)
    layer2_3_conv3_out = F.conv2d(layer2_3_relu_1_out, weights["layer2.3.conv3.weight"])
    layer2_3_bn3_out = F.batch_norm(
        layer2_3_conv3_out, weights["layer2.3.bn3.running_mean"],
        weights["layer2.3.bn3.running_var"], weights["layer2.3.bn3.weight"],
        weights["layer2.3.bn3.bias"], eps=1e-5,
    )
    layer2_3_add_out = layer2_3_bn3_out + layer2_2_relu_2_out
    layer2_3_relu_2_out = torch.relu(layer2_3_add_out)
    layer3_0_conv1_out = F.conv2d(layer2_3_relu_2_out, weights["layer3.0.conv1.weight"])
    layer3_0_bn1_out = F.batch_norm(
        layer3_0_conv1_out, weights["layer3.0.bn1.running_mean"],
        weights["layer3.0.bn1.running_var"], weights["layer3.0.bn1.weight"],
        weights["layer3.0.bn1.bias"], eps=1e-5,
    )
    layer3_0_relu_out = torch.relu(layer3_0_bn1_out)
    layer3_0_conv2_out = F.conv2d(
        layer3_0_relu_out, weights["layer3.0.conv2.weight"], stride=2, padding=1,
    )
    layer3_0_bn2_out = F.batch_norm(
        layer3_0_conv2_out, weights["layer3.0.bn2.running_mean"],
        weights["layer3.0.bn2.running_var"], weights["layer3.0.bn2.weight"],
        weights["layer3.0.bn2.bias"], eps=1e-5,
    )
    layer3_0_relu_1_out = torch.relu(layer3_0_bn2_out)
    layer3_0_conv3_out = F.conv2d(layer3_0_relu_1_out, weights["layer3.0.conv3.weight"])
    layer3_0_bn3_out = F.batch_norm(
        layer3_0_conv3_out, weights["layer3.0.bn3.running_mean"],
        weights["layer3.0.bn3.running_var"], weights["layer3.0.bn3.weight"],
        weights["layer3.0.bn3.bias"], eps=1e-5,
    )
    layer3_0_downsample_0_out = F.conv2d(
        layer2_3_relu_2_out, weights["layer3.0.downsample.0.weight"], stride=2,
    )
    layer3_0_downsample_1_out = F.batch_norm(
        layer3_0_downsample_0_out, weights["layer3.0.downsample.1.running_mean"],
        weights["layer3.0.downsample.1.running_var"], weights["layer3.0.downsample.1.weight"],
        weights["layer3.0.downsample.1.bias"], eps=1e-5,
    )
    layer3_0_add_out = layer3_0_bn3_out + layer3_0_downsample_1_out
    layer3_0_relu_2_out = torch.relu(layer3_0_add_out)
    layer3_1_conv1_out = F.conv2d(layer3_0_relu_2_out, weights["layer3.1.conv1.weight"])
    layer3_1_bn1_out = F.batch_norm(
        layer3_1_conv1_out, weights["layer3.1.bn1.running_mean"],
        weights["layer3.1.bn1.running_var"], weights["layer3.1.bn1.weight"],
        weights["layer3.1.bn1.bias"], eps=1e-5,
    )
    layer3_1_relu_out = torch.relu(layer3_1_bn1_out)
    layer3_1_conv2_out = F.conv2d(layer3_1_relu_out, weights["layer3.1.conv2.weight"], padding=1)
    layer3_1_bn2_out = F.batch_norm(
        layer3_1_conv2_out, weights["layer3.1.bn2.running_mean"],
        weights["layer3.1.bn2.running_var"], weights["layer3.1.bn2.weight"],
        weights["layer3.1.bn2.bias"], eps=1e-5,
    )
    layer3_1_relu_1_out = torch.relu(layer3_1_bn2_out)
    layer3_1_conv3_out = F.conv2d(layer3_1_relu_1_out, weights["layer3.1.conv3.weight"])
    layer3_1_bn3_out = F.batch_norm(
        layer3_1_conv3_out, weights["layer3.1.bn3.running_mean"],
        weights["layer3.1.bn3.running_var"], weights["layer3.1.bn3.weight"],
        weights["layer3.1.bn3.bias"], eps=1e-5,
    )
    layer3_1_add_out = layer3_1_bn3_out + layer3_0_relu_2_out
    layer3_1_relu_2_out = torch.relu(layer3_1_add_out)
    layer3_2_conv1_out = F.conv2d(layer3_1_relu_2_out, weights["layer3.2.conv1.weight"])
    layer3_2_bn1_out = F.batch_norm(
        layer3_2_conv1_out, weights["layer3.2.bn1.running_mean"],
        weights["layer3.2.bn1.running_var"], weights["layer3.2.bn1.weight"],
        weights["layer3.2.bn1.bias"], eps=1e-5,
    )
    layer3_2_relu_out = torch.relu(layer3_2_bn1_out)
    layer3_2_conv2_out = F.conv2d(layer3_2_relu_out, weights["layer3.2.conv2.weight"], padding=1)
    layer3_2_bn2_out = F.batch_norm(
        layer3_2_conv2_out, weights["layer3.2.bn2.running_mean"],
        weights["layer3.2.bn2.running_var"], weights["layer3.2.bn2.weight"],
        weights["layer3.2.bn2.bias"], eps=1e-5,
    )
    layer3_2_relu_1_out = torch.relu(layer3_2_bn2_out)
    layer3_2_conv3_out = F.conv2d(layer3_2_relu_1_out, weights["layer3.2.conv3.weight"])
    layer3_2_bn3_out = F.batch_norm(
        layer3_2_conv3_out, weights["layer3.2.bn3.running_mean"],
        weights["layer3.2.bn3.running_var"], weights["layer3.2.bn3.weight"],
        weights["layer3.2.bn3.bias"], eps=1e-5,
    )
    layer3_2_add_out = layer3_2_bn3_out + layer3_1_relu_2_out
    layer3_2_relu_2_out = torch.relu(layer3_2_add_out)
    layer3_3_conv1_out = F.conv2d(layer3_2_relu_2_out, weights["layer3.3.conv1.weight"])
    layer3_3_bn1_out = F.batch_norm(
        layer3_3_conv1_out, weights["layer3.3.bn1.running_mean"],
        weights["layer3.3.bn1.running_var"], weights["layer3.3.bn1.weight"],
        weights["layer3.3.bn1.bias"], eps=1e-5,
    )
    layer3_3_relu_out = torch.relu(layer3_3_bn1_out)
    layer3_3_conv2_out = F.conv2d(layer3_3_relu_out, weights["layer3.3.conv2.weight"], padding=1)
    layer3_3_bn2_out = F.batch_norm(
        layer3_3_conv2_out, weights["layer3.3.bn2.running_mean"],
        weights["layer3.3.bn2.running_var"], weights["layer3.3.bn2.weight"],
        weights["layer3.3.bn2.bias"], eps=1e-5,
    )
    layer3_3_relu_1_out = torch.relu(layer3_3_bn2_out)
    layer3_3_conv3_out = F.conv2d(layer3_3_relu_1_out, weights["layer3.3.conv3.weight"])
    layer3_3_bn3_out = F.batch_norm(
        layer3_3_conv3_out, weights["layer3.3.bn3.running_mean"],
        weights["layer3.3.bn3.running_var"], weights["layer3.3.bn3.weight"],
        weights["layer3.3.bn3.bias"], eps=1e-5,
    )
    layer3_3_add_out = layer3_3_bn3_out + layer3_2_relu_2_out
    layer3_3_relu_2_out = torch.relu(layer3_3_add_out)
    layer3_4_conv1_out = F.conv2d(layer3_3_relu_2_out, weights["layer3.4.conv1.weight"])
    layer3_4_bn1_out = F.batch_norm(
        layer3_4_conv1_out, weights["layer3.4.bn1.running_mean"],
        weights["layer3.4.bn1.running_var"], weights["layer3.4.bn1.weight"],
        weights["layer3.4.bn1.bias"], eps=1e-5,
    )
    layer3_4_relu_out = torch.relu(layer3_4_bn1_out)
    layer3_4_conv2_out = F.conv2d(layer3_4_relu_out, weights["layer3.4.conv2.weight"], padding=1)
    layer3_4_bn2_out = F.batch_norm(
        layer3_4_conv2_out, weights["layer3.4.bn2.running_mean"],
        weights["layer3.4.bn2.running_var"], weights["layer3.4.bn2.weight"],
        weights["layer3.4.bn2.bias"], eps=1e-5,
    )
    layer3_4_relu_1_out = torch.relu(layer3_4_bn2_out)
    layer3_4_conv3_out = F.conv2d(layer3_4_relu_1_out, weights["layer3.4.conv3.weight"])
    layer3_4_bn3_out = F.batch_norm(
        layer3_4_conv3_out, weights["layer3.4.bn3.running_mean"],
        weights["layer3.4.bn3.running_var"], weights["layer3.4.bn3.weight"],
        weights["layer3.4.bn3.bias"], eps=1e-5,
    )
    layer3_4_add_out = layer3_4_bn3_out + layer3_3_relu_2_out
    layer3_4_relu_2_out = torch.relu(layer3_4_add_out)
    layer3_5_conv1_out = F.conv2d(layer3_4_relu_2_out, weights["layer3.5.conv1.weight"])
    layer3_5_bn1_out = F.batch_norm(
        layer3_5_conv1_out, weights["layer3.5.bn1.running_mean"],
        weights["layer3.5.bn1.running_var"], weights["layer3.5.bn1.weight"],
        weights["layer3.5.bn1.bias"], eps=1e-5,
    )
    layer3_5_relu_out = torch.relu(layer3_5_bn1_out)
    layer3_5_conv2_out = F.conv2d(layer3_5_relu_out, weights["layer3.5.conv2.weight"], padding=1)
    layer3_5_bn2_out = F.batch_norm(
        layer3_5_conv2_out, weights["layer3.5.bn2.running_mean"],
        weights["layer3.5.bn2.running_var"], weights["layer3.5.bn2.weight"],
        weights["layer3.5.bn2.bias"], eps=1e-5,
    )
    layer3_5_relu_1_out = torch.relu(layer3_5_bn2_out)
    layer3_5_conv3_out = F.conv2d(layer3_5_relu_1_out, weights["layer3.5.conv3.weight"])
    layer3_5_bn3_out = F.batch_norm(
        layer3_5_conv3_out, weights["layer3.5.bn3.running_mean"],
        weights["layer3.5.bn3.running_var"], weights["layer3.5.bn3.weight"],
        weights["layer3.5.bn3.bias"], eps=1e-5,
    )
    layer3_5_add_out = layer3_5_bn3_out + layer3_4_relu_2_out
    layer3_5_relu_2_out = torch.relu(layer3_5_add_out)
    layer4_0_conv1_out = F.conv2d(layer3_5_relu_2_out, weights["layer4.0.conv1.weight"])
    layer4_0_bn1_out = F.batch_norm(
        layer4_0_conv1_out, weights["layer4.0.bn1.running_mean"],
        weights["layer4.0.bn1.running_var"], weights["layer4.0.bn1.weight"],
        weights["layer4.0.bn1.bias"], eps=1e-5,
    )
    layer4_0_relu_out = torch.relu(layer4_0_bn1_out)
    layer4_0_conv2_out = F.conv2d(
        layer4_0_relu_out, weights["layer4.0.conv2.weight"], stride=2, padding=1,
    )
    layer4_0_bn2_out = F.batch_norm(
        layer4_0_conv2_out, weights["layer4.0.bn2.running_mean"],
        weights["layer4.0.bn2.running_var"], weights["layer4.0.bn2.weight"],
        weights["layer4.0.bn2.bias"], eps=1e-5,
    )
    layer4_0_relu_1_out = torch.relu(layer4_0_bn2_out)
    layer4_0_conv3_out = F.conv2d(layer4_0_relu_1_out, weights["layer4.0.conv3.weight"])
    layer4_0_bn3_out = F.batch_norm(
        layer4_0_conv3_out, weights["layer4.0.bn3.running_mean"],
        weights["layer4.0.bn3.running_var"], weights["layer4.0.bn3.weight"],
        weights["layer4.0.bn3.bias"], eps=1e-5,
    )
    layer4_0_downsample_0_out = F.conv2d(
        layer3_5_relu_2_out, weights["layer4.0.downsample.0.weight"], stride=2,
    )
    layer4_0_downsample_1_out = F.batch_norm(
        layer4_0_downsample_0_out, weights["layer4.0.downsample.1.running_mean"],
        weights["layer4.0.downsample.1.running_var"], weights["layer4.0.downsample.1.weight"],
        weights["layer4.0.downsample.1.bias"], eps=1e-5,
    )
    layer4_0_add_out = layer4_0_bn3_out + layer4_0_downsample_1_out
    layer4_0_relu_2_out = torch.relu(layer4_0_add_out)
    layer4_1_conv1_out = F.conv2d(layer4_0_relu_2_out, weights["layer4.1.conv1.weight"])
    layer4_1_bn1_out = F.batch_norm(
        layer4_1_conv1_out, weights["layer4.1.bn1.running_mean"],
        weights["layer4.1.bn1.running_var"], weights["layer4.1.bn1.weight"],
        weights["layer4.1.bn1.bias"], eps=1e-5,
    )
    layer4_1_relu_out = torch.relu(layer4_1_bn1_out)
    layer4_1_conv2_out = F.conv2d(layer4_1_relu_out, weights["layer4.1.conv2.weight"], padding=1)
    layer4_1_bn2_out = F.batch_norm(
        layer4_1_conv2_out, weights["layer4.1.bn2.running_mean"],
        weights["layer4.1.bn2.running_var"], weights["layer4.1.bn2.weight"],
        weights["layer4.1.bn2.bias"], eps=1e-5,
    )
    layer4_1_relu_1_out = torch.relu(layer4_1_bn2_out)
    layer4_1_conv3_out = F.conv2d(layer4_1_relu_1_out, weights["layer4.1.conv3.weight"])
    layer4_1_bn3_out = F.batch_norm(
        layer4_1_conv3_out, weights["layer4.1.bn3.running_mean"],
        weights["layer4.1.bn3.running_var"], weights["layer4.1.bn3.weight"],
        weights["layer4.1.bn3.bias"], eps=1e-5,
    )
    layer4_1_add_out = layer4_1_bn3_out + layer4_0_relu_2_out
    layer4_1_relu_2_out = torch.relu(layer4_1_add_out)
    layer4_2_conv1_out = F.conv2d(layer4_1_relu_2_out, weights["layer4.2.conv1.weight"])
    layer4_2_bn1_out = F.batch_norm(
        layer4_2_conv1_out, weights["layer4.2.bn1.running_mean"],
        weights["layer4.2.bn1.running_var"], weights["layer4.2.bn1.weight"],
        weights["layer4.2.bn1.bias"], eps=1e-5,
    )
    layer4_2_relu_out = torch.relu(layer4_2_bn1_out)
    layer4_2_conv2_out = F.conv2d(layer4_2_relu_out, weights["layer4.2.conv2.weight"], padding=1)
    layer4_2_bn2_out = F.batch_norm(
        layer4_2_conv2_out, weights["layer4.2.bn2.running_mean"],
        weights["layer4.2.bn2.running_var"], weights["layer4.2.bn2.weight"],
        weights["layer4.2.bn2.bias"], eps=1e-5,
    )
    layer4_2_relu_1_out = torch.relu(layer4_2_bn2_out)
    layer4_2_conv3_out = F.conv2d(layer4_2_relu_1_out, weights["layer4.2.conv3.weight"])
    layer4_2_bn3_out = F.batch_norm(
        layer4_2_conv3_out, weights["layer4.2.bn3.running_mean"],
        weights["layer4.2.bn3.running_var"], weights["layer4.2.bn3.weight"],
        weights["layer4.2.bn3.bias"], eps=1e-5,
    )
    layer4_2_add_out = layer4_2_bn3_out + layer4_1_relu_2_out
    layer4_2_relu_2_out = torch.relu(layer4_2_add_out)
    avgpool_out = F.adaptive_avg_pool2d(layer4_2_relu_2_out, (1, 1))
    flatten_out = avgpool_out.reshape(1, 2048)
    logits_transpose = weights["fc.weight"].permute(1, 0)
    logits_matmul = torch.matmul(flatten_out, logits_transpose)
    logits = logits_matmul + weights["fc.bias"]
    return logits


def largest_error(actual, expected):
    """The largest difference, against the largest element of `expected`."""
    scale = expected.abs().max().clamp(min=1e-30)
    return ((actual.double() - expected).abs().max() / scale).item()


def captured(call):
    """The call as a CUDA graph, which launches everything at once, and its results."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = call()
    return graph.replay, results


def milliseconds(call, warm_up=10, runs=50):
    """The median of many runs, by CUDA events."""
    for _ in range(warm_up):
        call()
    times = []
    for _ in range(runs):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[runs // 2]


def bench(given, weights, prepared):
    """Prints milliseconds an inference, of this suite and of torch in the same precision class."""
    tf32 = "ieee" == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    calls = {
        "this suite": lambda: forward(*given, weights, prepared),
        "torch": lambda: reference(*given, weights),
    }
    print("precision class:", "ieee", "(torch: tf32 allowed)" if tf32 else "(torch: fp32)")
    with torch.no_grad():
        for name, call in calls.items():
            print(f"{name + ', eager':24} {milliseconds(call):9.4f} ms", flush=True)
            replay, _ = captured(call)
            print(f"{name + ', CUDA graph':24} {milliseconds(replay):9.4f} ms", flush=True)
        compiled = torch.compile(reference)
        try:
            print(f"{'torch.compile':24} {milliseconds(lambda: compiled(*given, weights)):9.4f} ms")
        except Exception as error:
            print(f"{'torch.compile':24} failed: {type(error).__name__}: {error}".splitlines()[0])


def planned():
    """Device kernels of one inference as the manifest plans them: how often each function is launched."""
    manifest = json.loads((pathlib.Path(__file__).resolve().parent / "manifest.json").read_text())
    counts = collections.Counter()
    for launch in manifest["launches"]:
        counts.update(part["function"] for part in manifest["kernels"][launch["kernel"]]["launches"])
    return counts


def device_work(trace):
    """What a profiler's trace says the device did: kernels, copies and fills, by name."""
    kinds = ("kernel", "gpu_memcpy", "gpu_memset")
    return collections.Counter(event["name"] for event in trace["traceEvents"] if event.get("cat") in kinds)


def profiled(call):
    """`device_work` of one call."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
            call()
            torch.cuda.synchronize()
        profiler.export_chrome_trace(str(path))
        return device_work(json.loads(path.read_text()))


def profile(wanted, seen):
    """Prints what ran against the plan; whether they are the same."""
    for name in sorted(wanted | seen):
        remark = "" if wanted[name] == seen[name] else "  not as planned" if name in wanted else "  not in the plan"
        print(f"{seen[name]:6} of {wanted[name]:4} {name}{remark}")
    ours = sum(count for name, count in seen.items() if name in wanted)
    others = sum(seen.values()) - ours
    print(f"launches: {sum(wanted.values())} planned, {ours} seen; other device kernels: {others}")
    return wanted == seen


def main():
    parser = argparse.ArgumentParser(description="resnet50")
    parser.add_argument("--check", action="store_true", help="compare with torch in float64")
    parser.add_argument("--cuda-graph", action="store_true", help="run as a CUDA graph")
    parser.add_argument("--bench", action="store_true", help="time against torch")
    parser.add_argument("--profile", action="store_true", help="compare the device's kernels with the plan")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    if (options.bench or options.cuda_graph or options.profile) and not torch.cuda.is_available():
        parser.error("--bench, --cuda-graph and --profile need a GPU")

    with torch.device(options.device):  # Where tensors are generated, too.
        weights = load(options.device)
        given = inputs(options.device)
    prepared = prepare(weights)
    if options.cuda_graph:
        replay, results = captured(lambda: forward(*given, weights, prepared))
        replay()
    else:
        results = forward(*given, weights, prepared)
    results = results if isinstance(results, tuple) else (results,)
    for result in results:
        print(tuple(result.shape), result.dtype)
    if options.bench:
        bench(given, weights, prepared)
    as_planned = True
    if options.profile:
        profiled(lambda: forward(*given, weights, prepared))  # Sets the profiler up.
        as_planned = profile(planned(), profiled(lambda: forward(*given, weights, prepared)))
    if not options.check:
        return 0 if as_planned else 1

    def widened(t):
        return t.double() if t.is_floating_point() else t

    wide = {name: widened(t) for name, t in weights.items()}
    expected = reference(*map(widened, given), wide)
    expected = expected if isinstance(expected, tuple) else (expected,)
    errors = [largest_error(a, e) for a, e in zip(results, expected)]
    print("largest error against torch in float64:", max(errors))
    return 0 if max(errors) <= 0.001 and as_planned else 1


if __name__ == "__main__":
    sys.exit(main())
