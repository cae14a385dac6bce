"""Samples. FOLDER/train.pt and FOLDER/validation.pt are torch.save'd dictionaries: "inputs", a list of tensors, one for each input of
the network with the samples along the first dimension; "labels", int64, one a sample or one for each position. All processes read the same
permutation, and each takes its slice of every global batch, so that all have the same number of steps however the batch is split."""

import os

import torch

import layers
import settings


def noise(index, form, count, device, generator):
    channels, height, width = layers.LAYERS[index][3]
    if form == "tokens":
        return torch.randint(0, max(2, vocabulary(index)), (count, height), generator=generator).to(device)
    shape = {"image": (count, channels, height, width), "sequence": (count, height, channels), "vector": (count, channels)}[form]
    return torch.randn(shape, generator=generator).to(device)


def vocabulary(index):
    """Of the smallest table that looks the input's tokens up."""
    sizes = [figures["vocabulary"] for name, kind, inputs, _, figures in layers.LAYERS
             if kind == "embedding" and inputs == [index] and not name.endswith(("positions", "segments"))]
    return min(sizes, default=2)


class Samples:
    def __init__(self, folder, synthetic, device):
        self.device, self.synthetic, self.order = device, synthetic, (None, None)
        if not synthetic:
            self.train, self.held_out = (torch.load(os.path.join(folder, name)) for name in ("train.pt", "validation.pt"))

    def of_step(self, step, per_epoch, batch, first, count):
        """Inputs and labels of the samples [first, first + count) of the step's global batch."""
        if self.synthetic:
            generator = torch.Generator().manual_seed(settings.SEED + 1000003 * step + first)
            inputs = [noise(index, form, count, self.device, generator) for index, form in layers.INPUTS]
            steps = (layers.LAYERS[layers.OUTPUT][3][1],) if settings.LOSS == "positions" else ()
            return inputs, torch.randint(0, settings.CLASSES, (count, *steps), generator=generator).to(self.device)
        epoch, at = divmod(step, per_epoch)
        if self.order[0] != epoch:
            generator = torch.Generator().manual_seed(settings.SEED + epoch)
            self.order = (epoch, torch.randperm(len(self.train["labels"]), generator=generator))
        chosen = self.order[1][torch.arange(at * batch + first, at * batch + first + count) % len(self.order[1])]
        return [x[chosen].to(self.device) for x in self.train["inputs"]], self.train["labels"][chosen].to(self.device)

    def validation(self, rank, size, batch):
        mine = torch.arange(rank, len(self.held_out["labels"]), size)
        for chosen in mine.split(batch):
            yield [x[chosen].to(self.device) for x in self.held_out["inputs"]], self.held_out["labels"][chosen].to(self.device)
