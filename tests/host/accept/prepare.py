# weights={w:f32[4,3,1,1],gamma:f32[4],beta:f32[4],mean:f32[4],var:f32[4]}
import torch


def prepare(weights):
    scale = weights["gamma"] * torch.rsqrt(weights["var"] + 1e-05)
    w = weights["w"] * scale.view(4, 1, 1, 1)
    b = weights["beta"] - weights["mean"] * scale
    t = w.view(4, 3).permute(1, 0).contiguous()
    p = torch.nn.functional.pad(t, (0, 4), value=1.0)
    c = torch.cat((b, b), dim=0)
    return (w, b, p, c.to(torch.float64))
