#!/usr/bin/env python3
"""Weights and multiply-adds of one sample, by PyTorch's own shapes: the values of tests/traces/networks/accounts_test.cpp.

    count_products.py [FOLDER]

prints a line for each network of networks.py; with a folder it also writes those that are exported to ONNX there, the weights of each tensor all equal.
Independent of Rehearse: each call of PyTorch that multiplies is seen by its arguments as it runs, and counted by its definition.
Run with PyTorch 1.13 (python3-torch of Debian 12).
"""
import gzip
import io
import sys

import networks
import torch
from torch.overrides import TorchFunctionMode


class Products(TorchFunctionMode):
    total = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        name = function.__name__
        if name in ("conv1d", "conv2d"):  # each output number is a dot product over one filter
            self.total += out.numel() * args[1][0].numel()
        elif name == "conv_transpose2d":  # each input number meets all taps of its group's filters
            self.total += args[0].numel() * args[1][0].numel()
        elif name in ("linear", "matmul", "__matmul__", "bmm"):  # rows x columns x inner dimension
            self.total += out.numel() * args[0].shape[-1]
        elif name in ("lstm", "gru"):  # weights of inputs and states, once a step; states start at 0 and are multiplied all the same
            self.total += sum(w.numel() for w in args[2] if w.dim() == 2) * out[0].shape[0 if args[-1] is False else 1]
        return out


def main():
    for name, (make, sample) in networks.NETWORKS.items():
        torch.manual_seed(0)
        network = make().eval()
        with torch.no_grad(), Products() as products:
            network(sample())
        print(f"{name} {sum(p.numel() for p in network.parameters())} {products.total}")
        if len(sys.argv) > 1 and name in networks.EXPORTED:
            for number, tensor in enumerate([*network.parameters(), *network.buffers()]):
                tensor.data.fill_(number)  # small when packed; the exporter would join equal tensors
            onnx = io.BytesIO()
            keep = torch.onnx.TrainingMode.PRESERVE  # else batch norms are folded into convolutions
            torch.onnx.export(network, sample(), onnx, opset_version=13, training=keep, input_names=["x"])
            with gzip.GzipFile(f"{sys.argv[1]}/{name}.onnx.gz", "wb", mtime=0) as packed:
                packed.write(onnx.getvalue())


if __name__ == "__main__":
    main()
