"""Weights and inputs of the model.

Generated ones come from a counter-based integer hash: element i is a function of a seed and i, the
same on every machine.
"""

import math

import torch
