"""The network of layers.py in PyTorch. Images are channels x height x width, sequences steps x features."""

import math

import torch
from torch import nn
from torch.nn import functional

import layers
import settings


class Heads(nn.Module):
    """Scaled dot products of queries, keys and values; projections are layers of their own."""

    def __init__(self, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal

    def forward(self, queries, keys, values):
        n, steps, width = queries.shape
        cut = [x.reshape(n, x.shape[1], self.heads, -1).transpose(1, 2) for x in (queries, keys, values)]
        scores = cut[0] @ cut[1].transpose(2, 3) / math.sqrt(width / self.heads)
        if self.causal and scores.shape[2] == scores.shape[3]:
            later = torch.ones(scores.shape[2:], dtype=torch.bool, device=scores.device).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        return (scores.softmax(-1) @ cut[2]).transpose(1, 2).reshape(n, steps, -1)


class Steps(nn.Module):
    """A recurrent layer's outputs at every step; of two directions their sum where the layer says so."""

    def __init__(self, cell, features, hidden, bidirectional, summed):
        super().__init__()
        self.summed = summed
        self.cell = {"lstm": nn.LSTM, "gru": nn.GRU, "vanilla": nn.RNN}[cell](features, hidden, batch_first=True, bidirectional=bidirectional)

    def forward(self, x):
        out = self.cell(x)[0]
        return sum(out.chunk(2, dim=2)) if self.summed else out


def activation(name, in_place):
    word = name.lower().replace("-", "_").replace("/", "_").split("_")[-1]
    if name.lower().endswith("leaky_relu"):
        return nn.LeakyReLU(0.2)
    if name.lower().endswith("clipped_relu"):
        return nn.Hardtanh(0, 20)
    kinds = {"tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "gelu": nn.GELU, "silu": nn.SiLU, "relu": nn.ReLU}
    return kinds.get(word, nn.ReLU if in_place else nn.GELU)()


def normalised(kind, form, channels):
    if kind == "layer_norm":
        return nn.LayerNorm(channels)
    return nn.BatchNorm2d(channels) if form == "image" else nn.BatchNorm1d(channels)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict()
        self.forms = dict(layers.INPUTS)
        for index, (name, kind, inputs, shape, figures) in enumerate(layers.LAYERS):
            if kind == "input":
                continue
            part, self.forms[index] = self.made(name, kind, inputs, shape, figures)
            if part is not None and figures.get("shares") is None:
                self.parts[str(index)] = part

    def made(self, name, kind, inputs, shape, figures):
        """The module of a layer, None where it has none, and the form of its output."""
        form, before = self.forms[inputs[0]], layers.LAYERS[inputs[0]][3]
        numbers = before[0] * before[1] * before[2] if form == "image" else before[0]
        if kind == "conv":
            return nn.Conv2d(before[0], shape[0], figures["window"], figures["stride"], figures["pad"], groups=figures["groups"], bias=figures["bias"]), "image"
        if kind == "transposed_conv":
            return nn.ConvTranspose2d(before[0], shape[0], figures["window"], figures["stride"], figures["pad"], bias=figures["bias"]), "image"
        if kind == "dense":
            return nn.Linear(numbers, shape[0], bias=figures["bias"]), "vector" if form == "image" else form
        if kind in ("batch_norm", "layer_norm"):
            return normalised(kind, form, before[0]), form
        if kind == "activation":
            return activation(name, figures["in_place"]), form
        if kind == "pool":
            made = nn.MaxPool2d if figures["pooling"] == "max" else nn.AvgPool2d
            return made(figures["window"], figures["stride"], figures["pad"]), "image"
        if kind == "upsample":
            return nn.Upsample(scale_factor=figures["factor"]), "image"
        if kind == "local_response_norm":
            return nn.LocalResponseNorm(figures["size"]), form
        if kind == "dropout":
            return nn.Dropout(settings.DROPOUT), form
        if kind == "embedding":
            return nn.Embedding(figures["vocabulary"], figures["width"]), "sequence"
        if kind == "recurrent":
            return Steps(figures["cell"], before[0], figures["hidden"], figures["bidirectional"], figures["sum"]), "sequence"
        if kind == "attention":
            return Heads(figures["heads"], figures["causal"]), "sequence"
        return None, {"flatten": "vector", "global_pool": "vector", "last_step": "vector", "to_sequence": "sequence"}.get(kind, form)

    def forward(self, *inputs):
        found = {index: x for (index, _), x in zip(layers.INPUTS, inputs)}
        for index, (name, kind, sources, shape, figures) in enumerate(layers.LAYERS):
            if kind != "input":
                part = self.parts[str(figures.get("shares", index))] if str(figures.get("shares", index)) in self.parts else None
                found[index] = self.applied(kind, name, part, [found[i] for i in sources], figures)
            if index == layers.OUTPUT:
                return found[index]
        raise AssertionError("no output")

    @staticmethod
    def applied(kind, name, part, given, figures):
        x = given[0]
        if kind == "dense":
            return part(x.flatten(1) if x.dim() == 4 else x)
        if kind == "batch_norm" and x.dim() == 3:
            return part(x.transpose(1, 2)).transpose(1, 2)
        if kind == "layer_norm" and x.dim() == 4:
            return part(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        if kind == "embedding":
            if name.endswith("positions"):
                x = torch.arange(x.shape[1], device=x.device).expand(x.shape)
            if name.endswith("segments"):
                x = torch.zeros_like(x)
            return part(x)
        if kind == "attention":
            return part(*given)
        if kind == "add":
            return sum(given)
        if kind == "concat":
            return torch.cat(given, dim=2 if x.dim() == 3 else 1)
        if kind == "flatten":
            return x.flatten(1)
        if kind == "global_pool":
            return x.mean((2, 3)) if x.dim() == 4 else x.mean(1)
        if kind == "to_sequence":
            return x.permute(0, 3, 1, 2).flatten(2)
        if kind == "last_step":
            return x[:, -1]
        if kind == "detach":
            return x.detach()
        return part(x)


def loss_of(outputs, labels):
    """The mean over samples (and positions)."""
    if settings.LOSS == "positions":
        return functional.cross_entropy(outputs.flatten(0, 1), labels.flatten())
    return functional.cross_entropy(outputs, labels)
