"""The network as it was timed: name, kind, indices of inputs, shape of the output (channels, height, width), figures."""

LAYERS = [
{{lines}}
]
INPUTS = {{inputs}}  # index of each input and its form: image, sequence, vector or tokens
OUTPUT = {{output}}  # index of what goes into the loss
