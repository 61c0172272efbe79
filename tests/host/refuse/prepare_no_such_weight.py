# weights={w:f32[4,3]}
def prepare(weights):
    return weights["v"]
