"""Exports small programs with torch, and packs them with their inputs and outputs for tests/import/torch.rs.

    pip install torch==2.15.0 safetensors
    python tools/pack_programs.py tests/import/programs.bin

Every program is exported twice, as `torch.export` gives it and after `run_decompositions()`. An archive gets one entry
more, `test/values.safetensors` (`input.0`, …, `output.0`, …, as torch computed them), and loses what import never reads:
the example's pickle, and the stack traces of its nodes. The pack holds the archives behind their lengths in eight bytes.

Programs use integers and simple fractions where they can, so that torch's fp32 results are close to exact.
"""

import copy
import io
import json
import sys
import zipfile

import torch
import torch.nn.functional as F
from safetensors.torch import save
from torch import nn

inf = float("inf")


class Of(nn.Module):
    """A function as a module, with parameters by name."""

    def __init__(self, function, **parameters):
        super().__init__()
        self.function = function
        for name, value in parameters.items():
            setattr(self, name, value if isinstance(value, nn.Module) else nn.Parameter(value, requires_grad=False))

    def forward(self, *inputs):
        return self.function(self, *inputs)


class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))
        self.register_buffer("table", torch.arange(12.0).reshape(3, 4), persistent=False)

    def forward(self, x):
        self.count.add_(x.sum(0))
        return self.table + x[:, :1]


class Tied(nn.Module):
    """One storage under two names, one of them a transposed view with an offset."""

    def __init__(self):
        super().__init__()
        whole = torch.arange(20.0).reshape(5, 4)
        self.a = nn.Parameter(whole, requires_grad=False)
        self.b = self.a
        self.register_buffer("part", whole[1:4, 1:].t())

    def forward(self, x):
        return x @ self.b.t() + 2 * (x @ self.a.t()), x[:, :3] @ self.part


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x
        return self.relu(y)


class Network(nn.Module):
    """The operators of a residual network."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.block = Block(8)
        self.gap = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        return self.fc(torch.flatten(self.gap(self.block(self.pool(self.stem(x)))), 1))


class Encoder(nn.Module):
    """The operators of a transformer's layer."""

    def __init__(self, width=8, heads=2):
        super().__init__()
        self.heads = heads
        self.embed = nn.Embedding(11, width)
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, tokens):
        x = self.embed(tokens)
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(batch, length, width)))
        return x + self.down(F.gelu(self.up(x), approximate="tanh"))


def grid(*shape, low=-2, high=3):
    """Small integers in halves, the same each time."""
    count = 1
    for size in shape:
        count *= size
    values = (torch.arange(count) * 7 % (2 * (high - low) - 1)) / 2 + low
    return values.reshape(shape)


def positive(*shape):
    return grid(*shape, low=1, high=4)


def indices(*shape, below):
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(count) * 5 % below).reshape(shape)


def whole(*shape):
    return (torch.arange(torch.Size(shape).numel()) * 3 % 7 - 3).reshape(shape)


X = grid(2, 3, 4)
P = positive(2, 3, 4)
I = whole(2, 3, 4)
B = whole(2, 3, 4) > 0
IMAGE = grid(2, 4, 7, 6)
VOLUME = grid(1, 4, 5, 4, 6)


def f(function, *inputs, **parameters):
    return Of(lambda self, *xs: function(*xs), **parameters), inputs


def m(function, *inputs, **parameters):
    return Of(function, **parameters), inputs


def in_place(x):
    y = x * 2
    y.add_(1).mul_(x)
    z = y.view(2, 12)
    z[:, 2:5].fill_(7)
    y[1].copy_(x[0])
    z.select(1, 11).zero_()
    return y, z.t()


def chunks(x):
    a, b = x.chunk(2, dim=2)
    c, d = torch.split(x, [1, 2], dim=1)
    e, g = x.unbind(0)
    return a - b, c + d.sum(1, keepdim=True), e * g


PROGRAMS = {
    # elements
    "unary": f(lambda x, p: (x.abs(), -x, x.exp(), p.log(), p.sqrt(), p.rsqrt(), x.sin(), x.cos(), x.tanh(), x.erf()), X, P),
    "unary_more": f(lambda x, p: (x.sigmoid(), x.floor(), x.ceil(), x.round(), x.trunc(), p.reciprocal(), x.square(), x.sign(), p.log1p(), x.expm1(), x.exp2(), p.log2(), p.log10()), X, P),
    "tests": f(lambda x: (x.isnan(), x.isinf(), torch.logical_not(x), ~(x > 0)), torch.tensor([1.0, inf, -inf, float("nan"), 0.0])),
    "integers": f(lambda i, b: (i.abs(), -i, i + 1, i * 2, i // 2, i % 3, torch.fmod(i, 3), i / 2, i.floor(), b & (i > 1), b | (i > 1), i.float(), i.bool()), I, B),
    "arithmetic": f(lambda x, p: (x + p, x - p, x * p, x / p, x + 1, 1 - x, 2 * x, x / 3, torch.add(x, p, alpha=2), torch.sub(x, p, alpha=0.5), torch.rsub(x, p)), X, P),
    "promotion": f(lambda x, i, b: (x + i, x * b, i + b, i * 1.5, b + 1), X, I, B),
    "powers": f(lambda x, p: (x**2, x**3, p**0.5, p**-0.5, p**1.5, p ** (x / 4)), X, P),
    "rounded": f(lambda x, p: (torch.div(x, p, rounding_mode="floor"), torch.div(x, p, rounding_mode="trunc"), torch.floor_divide(x, p)), X, P),
    "extremes": f(lambda x, p: (torch.maximum(x, -x), torch.minimum(x, p), x.clamp(-1, 1.5), x.clamp(min=0), x.clamp_max(1), torch.max(x, p), torch.min(x, p), x.clamp(-p, p)), X, P),
    "accumulated": f(lambda x, p: (torch.addcmul(x, p, x, value=0.5), torch.addcdiv(x, x, p, value=2)), X, P),
    "compared": f(lambda x, p: (x == p, x != p, x < p, x <= 1, x > 0, x >= p, torch.logical_and(x > 0, p > 2), torch.logical_or(x > 0, p > 2), torch.logical_xor(x > 0, p > 2)), X, P),
    "chosen": f(lambda x, p, b: (torch.where(b, x, p), torch.where(b, x, 0.0), torch.where(b, 1.0, x), x.masked_fill(b, -inf), x.masked_fill(b, p[0, 0, 0])), X, P, B),
    "activations": f(lambda x: (F.relu(x), F.leaky_relu(x, 0.1), F.elu(x), F.elu(x, 0.5), F.selu(x), F.celu(x, 2.0), F.hardsigmoid(x), F.hardswish(x), F.hardtanh(x, -0.5, 1), F.relu6(x * 4)), X),
    "activations_more": f(lambda x: (F.softplus(x), F.softplus(x * 9, 2, 3), F.logsigmoid(x), F.mish(x), F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.threshold(x, 0.5, -3), F.softsign(x), F.tanhshrink(x)), X),
    "prelu": m(lambda s, x: F.prelu(x, s.w), IMAGE, w=torch.tensor([0.5, 0.25, -1.0, 2.0])),
    # linear
    "linear": m(lambda s, x: s.l(x), grid(2, 3, 6), l=nn.Linear(6, 5)),
    "linear_no_bias": m(lambda s, x: (s.l(x), s.l(x[0])), grid(4, 6), l=nn.Linear(6, 5, bias=False)),
    "matmul": f(lambda a, b, c: (a @ b, a @ c, a[0] @ b, a[0, 0] @ c, a[0, 0] @ b, a @ c[:, 0], a @ b[:1]), grid(2, 3, 4), grid(2, 4, 5), grid(4, 5)),
    "products": f(lambda a, b, v: (torch.mm(a, b), torch.mv(a, v), torch.dot(v, v), torch.addmm(b[:1] * 2, a, b, beta=0.5, alpha=2), a.T @ a, a.t() @ a), grid(3, 4), grid(4, 4), grid(4)),
    "batched": f(lambda a, b, c: (torch.bmm(a, b), torch.baddbmm(c, a, b, beta=2, alpha=0.5)), grid(2, 3, 4), grid(2, 4, 5), grid(2, 3, 5)),
    "einsum": f(lambda a, b, c: (torch.einsum("bijl,lk->bijk", a, b), torch.einsum("bhqd,bhkd->bhqk", a, c), torch.einsum("ij,kj->ki", b, b)), grid(2, 3, 2, 4), grid(4, 4), grid(2, 3, 5, 4)),
    # convolutions and pools
    "conv1d": m(lambda s, x: (s.c(x), s.d(x)), grid(2, 4, 9), c=nn.Conv1d(4, 6, 3, stride=2, padding=1), d=nn.Conv1d(4, 4, 3, dilation=2, groups=2)),
    "conv2d": m(lambda s, x: (s.c(x), s.d(x), s.e(x[0])), IMAGE, c=nn.Conv2d(4, 6, 3, stride=2, padding=1), d=nn.Conv2d(4, 4, (3, 1), padding=(1, 0), groups=4, bias=False), e=nn.Conv2d(4, 3, 1)),
    "conv_same": m(lambda s, x: (s.c(x), s.d(x)), IMAGE, c=nn.Conv2d(4, 3, (3, 2), padding="same"), d=nn.Conv2d(4, 3, 3, padding="valid")),
    "conv3d": m(lambda s, x: s.c(x), VOLUME, c=nn.Conv3d(4, 6, 3, padding=1, stride=(1, 2, 1), groups=2)),
    "conv_transpose1d": m(lambda s, x: s.c(x), grid(2, 4, 5), c=nn.ConvTranspose1d(4, 3, 3, stride=2, dilation=2, padding=1, output_padding=1)),
    "conv_transpose2d": m(lambda s, x: (s.c(x), s.d(x)), grid(2, 4, 4, 3), c=nn.ConvTranspose2d(4, 6, (3, 2), stride=2, padding=1, groups=2), d=nn.ConvTranspose2d(4, 3, 3, bias=False)),
    "conv_transpose3d": m(lambda s, x: s.c(x), grid(1, 4, 3, 3, 2), c=nn.ConvTranspose3d(4, 2, 3, stride=2, padding=1, output_padding=1)),
    "max_pools": f(lambda a, b, c: (F.max_pool1d(a, 2), F.max_pool2d(b, 3, 2, 1), F.max_pool2d(b, 2, 2, dilation=2, ceil_mode=True), F.max_pool3d(c, 2, 1)), grid(2, 4, 9), IMAGE, VOLUME),
    "avg_pools": f(lambda a, b, c: (F.avg_pool1d(a, 2), F.avg_pool2d(b, 3, 2, 1), F.avg_pool2d(b, 3, 2, 1, count_include_pad=False), F.avg_pool2d(b, 2, ceil_mode=True), F.avg_pool3d(c, 2, 1)), grid(2, 4, 9), IMAGE, VOLUME),
    "adaptive_pools": f(lambda a, b, c: (F.adaptive_avg_pool1d(a, 4), F.adaptive_avg_pool2d(b, (3, 2)), F.adaptive_avg_pool2d(b, (None, 1)), F.adaptive_avg_pool3d(c, 1)), grid(2, 4, 9), IMAGE, VOLUME),
    # normalisations
    "batch_norm": (nn.Sequential(nn.Conv2d(4, 3, 1), nn.BatchNorm2d(3)).eval(), (IMAGE,)),
    "batch_norm_training": (nn.BatchNorm2d(4), (IMAGE,)),
    "batch_norm_rows": (nn.BatchNorm1d(5), (grid(7, 5),)),
    "batch_norm_plain": (nn.BatchNorm2d(4, affine=False, track_running_stats=False), (IMAGE,)),
    "layer_norm": m(lambda s, x: (s.a(x), s.b(x), F.layer_norm(x, (4,))), X, a=nn.LayerNorm(4), b=nn.LayerNorm((3, 4), elementwise_affine=False)),
    "group_norm": m(lambda s, x: (s.a(x), F.group_norm(x, 4)), IMAGE, a=nn.GroupNorm(2, 4)),
    "instance_norm": m(lambda s, x: (s.a(x), s.b(x)), IMAGE, a=nn.InstanceNorm2d(4), b=nn.InstanceNorm2d(4, affine=True)),
    "softmax": f(lambda x: (x.softmax(-1), x.softmax(1), x.log_softmax(0), F.softmax(x, 2, dtype=torch.float32)), X),
    # reductions
    "sums": f(lambda x, i, b: (x.sum(), x.sum(1), x.sum((0, 2), keepdim=True), i.sum(0), b.sum(), x.mean(), x.mean((1, 2)), x.prod(2), x.prod()), X, I, B),
    "extremes_along": f(lambda x: (x.amax(1), x.amin((0, 2), True), x.max(), x.min(), x.max(1)[0], x.min(2, keepdim=True)[0], *torch.max(x * 1.5, 0)), X),
    "positions": f(lambda x: (x.argmax(), x.argmin(1), x.argmax(2, keepdim=True), torch.min(x, 1)[1]), X),
    "judged": f(lambda b, x: (b.any(), b.all(), b.any(1), b.all(2, keepdim=True), x.any(0)), B, X),
    "spread": f(lambda x: (x.var(), x.std(1), x.var((0, 1), unbiased=False, keepdim=True), torch.var_mean(x, 2, correction=0)[0], torch.std(x, 1, correction=0)), X),
    "norms": f(lambda x: (torch.linalg.vector_norm(x), torch.norm(x, p=1, dim=1), torch.linalg.vector_norm(x, inf, dim=(0, 1)), torch.norm(x, p=2, dim=2, keepdim=True), x.norm()), X),
    "logsumexp": f(lambda x: (x.logsumexp(1), x.logsumexp((0, 2), keepdim=True)), X),
    "running": f(lambda x, i: (x.cumsum(1), x.cumprod(2), i.cumsum(0)), X, I),
    # movement
    "views": f(lambda x: (x.view(6, -1), x.reshape(4, 6), x.flatten(), x.flatten(1), x.unflatten(2, (2, -1)), x.unsqueeze(1), x[:1].squeeze(0), x.unsqueeze(-1).squeeze(), x.view_as(x)), X),
    "orders": f(lambda x: (x.permute(2, 0, 1), x.transpose(0, 2), x[0].t(), x[1].T, x.movedim(0, 2), x.contiguous().transpose(-1, -2).contiguous()), X),
    "expanded": f(lambda x: (x[:, :1].expand(2, 5, 4), x[0].expand(3, -1, -1), x[:1].expand_as(x), torch.broadcast_to(x[0, 0], (2, 4)), *torch.broadcast_tensors(x[:1], x[:, :1])), X),
    "sliced": f(lambda x: (x[:, 1:], x[..., ::2], x[1], x[:, -1], x.narrow(2, 1, 2), x[:, :, -3:-1]), X),
    "pieces": f(chunks, X),
    "joined": f(lambda x, p: (torch.cat([x, p]), torch.cat([x, p, x], 2), torch.stack([x, p]), torch.stack([x, p], -1), torch.cat([x, I], 1)), X, P),
    "padded": f(lambda x: (F.pad(x, (1, 2)), F.pad(x, (0, 1, 2, 0), value=3.0), F.pad(x, (-1, 1))), X),
    "turned": f(lambda x: (x.flip(0), x.flip(1, 2), x.roll(1, 2), x.roll((1, -1), (0, 1)), x.repeat(1, 2, 3), x.repeat(2, 1, 1, 1), x.repeat_interleave(2, 1)), X),
    "triangles": f(lambda x: (x.tril(), x.triu(), x.tril(-1), x.triu(2)), X),
    "indexed": f(lambda x, i, j: (x[:, i], x.index_select(1, i), torch.gather(x, 2, j), x[:, i, i], x[i[:2] % 2, :, i[:2]]), X, torch.tensor([2, 0, 1, 1]), indices(2, 3, 2, below=4)),
    "embedding": m(lambda s, i: s.e(i), indices(2, 5, below=7), e=nn.Embedding(7, 3)),
    "created": f(lambda x: (x + torch.arange(4), x * torch.ones(4), x + torch.full((3, 1), 2.5), torch.zeros_like(x) + x, torch.full_like(x, 3), torch.arange(1, 9, 3), torch.ones_like(x, dtype=torch.int64)), X),
    "converted": f(lambda x: (x.to(torch.float16), x.half().float(), x.int(), x.to(torch.bool), x.type_as(x.int()), x.bfloat16()), X),
    "in_place": f(in_place, X),
    "buffers": (Buffers(), (grid(3, 3),)),
    "tied": (Tied(), (grid(2, 4),)),
    # losses
    "losses": f(lambda x, p: (F.mse_loss(x, p), F.l1_loss(x, p, reduction="sum"), F.smooth_l1_loss(x, p), F.huber_loss(x, p, delta=0.5), F.mse_loss(x, p, reduction="none")), X, P),
    "kl_div": f(lambda x, p: (F.kl_div(x.log_softmax(-1), p.softmax(-1), reduction="batchmean"), F.kl_div(x, p, reduction="sum", log_target=True)), X, P),
    "cross_entropy": f(lambda x, t: (F.cross_entropy(x, t), F.cross_entropy(x, t, reduction="sum"), F.nll_loss(x, t)), grid(4, 5), indices(4, below=5)),
    "triplet": f(lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=2.0), grid(4, 5), positive(4, 5), grid(4, 5) + 1),
    "attention": f(lambda q, k, v: (F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, q, v[:, :, :3], is_causal=True)), grid(2, 2, 3, 4), positive(2, 2, 5, 4), grid(2, 2, 5, 4)),
    "attention_masks": f(lambda q, k, v, b: (F.scaled_dot_product_attention(q, k, v, attn_mask=b), F.scaled_dot_product_attention(q, k, v, attn_mask=b.float(), scale=0.25)), grid(2, 2, 3, 4), positive(2, 2, 5, 4), grid(2, 2, 5, 4), torch.tensor([[True] * 5, [False] * 5, [True, False, True, False, False]])),
    # whole networks
    "network": (Network().eval(), (grid(1, 3, 16, 16),)),
    "encoder": (Encoder().eval(), (indices(2, 6, below=11),)),
}


def archive(program, values):
    file = io.BytesIO()
    torch.export.save(program, file)
    packed = io.BytesIO()
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(packed, "w") as target:
        root = source.namelist()[0].split("/")[0]
        for name in source.namelist():
            if "/sample_inputs/" in name:
                continue
            content = source.read(name)
            if name.endswith("/model.json"):
                model = json.loads(content)
                for node in model["graph_module"]["graph"]["nodes"]:
                    stack = node["metadata"].get("nn_module_stack")
                    node["metadata"] = {"nn_module_stack": stack} if stack else {}
                model["graph_module"]["module_call_graph"] = []
                model["guards_code"] = []
                content = json.dumps(model, separators=(",", ":")).encode()
            target.writestr(zipfile.ZipInfo("program/" + name.split("/", 1)[1]), content)
        target.writestr(zipfile.ZipInfo("program/test/values.safetensors"), save(values))
    return packed.getvalue()


def main(path):
    with open(path, "wb") as pack, torch.no_grad():
        for name, (module, inputs) in PROGRAMS.items():
            torch.manual_seed(0)
            for parameter in module.parameters():
                if parameter.requires_grad:
                    parameter.copy_(torch.randint(-4, 5, parameter.shape) / 8)
            outputs = copy.deepcopy(module)(*copy.deepcopy(inputs))
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            values = {f"{kind}.{i}": t.contiguous().clone() for kind, all in (("input", inputs), ("output", outputs)) for i, t in enumerate(all)}
            for decomposed in (False, True):
                program = torch.export.export(copy.deepcopy(module), inputs, strict=False)
                if decomposed:
                    program = program.run_decompositions()
                content = archive(program, values)
                label = (name + (".core" if decomposed else "")).encode()
                pack.write(len(label).to_bytes(8, "little") + label + len(content).to_bytes(8, "little") + content)


if __name__ == "__main__":
    main(sys.argv[1])
