"""Single operations for measure.py --ops, in the JSON of the measurement format's `op` column (traces/measurements/subject_json).

Each allocates its result, as in a training step. A backward pass is timed on its own: its forward pass ran once before. The
recurrent kernels are PyTorch's layers with one input feature, whose product with the weights is negligible.
"""
import torch
from torch import nn

CONVOLUTIONS = (  # height = width, channels, filters, kernel, stride: of ResNet, Inception-v3 and AlexNet
    (32, 64, 64, 3, 1), (16, 128, 128, 3, 1), (8, 256, 256, 3, 1), (32, 64, 128, 3, 2), (56, 64, 64, 1, 1), (56, 64, 256, 1, 1),
    (14, 1024, 256, 1, 1), (17, 768, 192, 1, 1), (35, 48, 64, 5, 1), (27, 64, 192, 5, 1), (112, 3, 64, 7, 2), (28, 128, 128, 3, 1))
PASSES = ("forward", "data_gradient", "filter_gradient")


def gemm_list():
    squares = [(n, n, n) for n in (16, 32, 64, 128, 256, 512, 1024, 2048)]
    thin = [(batch, 4 * hidden, hidden) for batch in (1, 8, 64) for hidden in (256, 650, 1500)]
    tall = [(rows, 256, 1152) for rows in (64, 1024, 16384)] + [(64, 576, rows) for rows in (1024, 16384)]
    return [{"gemm": list(shape)} for shape in squares + thin + tall]


def conv_list():
    return [{"conv": {"batch": batch, "height": size, "width": size, "channels": channels, "filters": filters,
                      "kernel": [kernel, kernel], "stride": [stride, stride], "pad": [kernel // 2, kernel // 2], "pass": name}}
            for size, channels, filters, kernel, stride in CONVOLUTIONS for batch in (2, 16) for name in PASSES
            if not (channels == 3 and name == "data_gradient")]  # which training never needs


def rnn_list():
    return [{"rnn": {"cell": "lstm", "batch": batch, "hidden": hidden, "steps": 10, "pass": name}}
            for hidden in (64, 256, 650, 1500) for batch in (1, 8, 32) for name in ("forward", "backward")]


def elementwise_list():
    return [{"elementwise": {"numbers": numbers, "inputs": inputs}}
            for numbers in (1000, 10_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000) for inputs in (1, 2)]


KINDS = {"gemm": gemm_list, "conv": conv_list, "rnn": rnn_list, "elementwise": elementwise_list}


def gemm(shape, device):
    m, n, k = shape
    a, b = torch.randn(m, k, device=device), torch.randn(k, n, device=device)
    return lambda: torch.mm(a, b)


def backward(output, wanted):
    """Runs the backward pass of a graph that is kept."""
    gradient = torch.randn_like(output)
    return lambda: torch.autograd.grad(output, wanted, gradient, retain_graph=True)


def conv(c, device):
    x = torch.randn(c["batch"], c["channels"], c["height"], c["width"], device=device)
    w = torch.randn(c["filters"], c["channels"], *c["kernel"], device=device)
    wanted = {"data_gradient": x, "filter_gradient": w}.get(c["pass"])
    if wanted is not None:
        wanted.requires_grad_()

    def run():
        return torch.conv2d(x, w, stride=c["stride"], padding=c["pad"])
    return run if wanted is None else backward(run(), wanted)


def rnn(r, device):
    layer = {"lstm": nn.LSTM, "gru": nn.GRU, "vanilla": nn.RNN}[r["cell"]](1, r["hidden"]).to(device)
    x = torch.randn(r["steps"], r["batch"], 1, device=device)
    if r["pass"] == "backward":
        return backward(layer(x)[0], list(layer.parameters()))
    return lambda: layer(x)


def elementwise(e, device):
    inputs = [torch.randn(e["numbers"], device=device) for _ in range(e["inputs"])]
    return (lambda: torch.relu(inputs[0])) if e["inputs"] == 1 else (lambda: torch.add(*inputs))


def kernel(op, device):
    """What runs one of the lists' operations once."""
    (kind, shape), = op.items()
    with torch.set_grad_enabled(kind == "rnn" or shape_pass(shape) != "forward"):
        return {"gemm": gemm, "conv": conv, "rnn": rnn, "elementwise": elementwise}[kind](shape, device)


def shape_pass(shape):
    return shape.get("pass", "forward") if isinstance(shape, dict) else "forward"
