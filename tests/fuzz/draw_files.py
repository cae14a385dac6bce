"""Small networks in every format that is read, and bytes of any file changed."""
import json
import os
import re

from mutate import NUMBERS, TEXTS

TORCH = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "traces", "networks", "torch")
TOKENS = [b"", b"\0", b"-1", b"0", b"1e400", b"nan", b"999999999999999999999", b"\"", b",", b"\n", b"{", b"}", b"[[", b"\xff\xfe", b"\r\n", b": ", b"- ", b"&a", b"*a", b"x" * 300]


def mutated_bytes(rng, content):
    """One to a few places cut, doubled, overwritten, or swapped by lines."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        start = rng.randrange(len(content) + 1)
        end = min(len(content), start + rng.choice([1, 1, 2, 8, 60]))
        what = rng.choice(["cut", "double", "token", "bit", "lines", "short"])
        if what == "cut":
            del content[start:end]
        elif what == "double":
            content[start:start] = content[start:end]
        elif what == "token":
            content[start:end] = rng.choice(TOKENS)
        elif what == "bit" and start < len(content):
            content[start] ^= 1 << rng.randrange(8)
        elif what == "lines":
            lines = bytes(content).split(b"\n")
            a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[a], lines[b] = lines[b], lines[a]
            content = bytearray(b"\n".join(lines))
        elif what == "short" and rng.random() < 0.3:
            del content[start:]
    return bytes(content)


def mutated_cells(rng, content):
    """Of a table: one to a few cells become others, or a row or a column goes or comes twice. What is quoted is not looked into."""
    rows = [line.split(b",") for line in content.split(b"\n")]
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        row = rng.randrange(len(rows))
        cell = rng.randrange(len(rows[row]))
        what = rng.random()
        if what < 0.7:
            rows[row][cell] = rng.choice([*(str(number).encode() for number in NUMBERS), *(text.encode() for text in TEXTS), b"nan", b"inf", b"true", b"1e400", rng.choice(rng.choice(rows))])
        elif what < 0.8:
            rows.insert(row, rows[row][:])
        elif what < 0.9 and len(rows) > 1:
            del rows[row]
        else:
            for other in rows:
                if len(other) > max(cell, 1):
                    other.insert(cell, other[cell]) if what < 0.95 else other.pop(cell)
    return b"\n".join(b",".join(row) for row in rows)


def mutated_tags(rng, content):
    """Of a file in XML: one to a few attributes become others, or a line goes, comes twice or moves."""
    for _ in range(rng.choice([1, 1, 2, 4])):
        attributes = list(re.finditer(rb'="([^"]*)"', content))
        if attributes and rng.random() < 0.7:
            value = rng.choice(attributes)
            new = rng.choice([*(str(number).encode() for number in NUMBERS), b"", b"nan", b"-1GBps", b"1e400us", b"0-3", b"3-0", b"0-999999999", b"x" * 300, b"&lt;", b"&a;", rng.choice(attributes).group(1)])
            content = content[: value.start(1)] + new + content[value.end(1):]
            continue
        lines = content.split(b"\n")
        line = lines.pop(rng.randrange(len(lines)))
        for _ in range(rng.choice([0, 1, 2])):
            lines.insert(rng.randrange(len(lines) + 1), line)
        content = b"\n".join(lines)
    return content


def network(draw):
    """The name of a file of one: layers of our own, Keras's, ONNX or what PyTorch prints."""
    rng = draw.rng
    kind = rng.choice(["layers", "keras", "onnx", "torch"])
    if kind == "torch":
        name = rng.choice(sorted(name for name in os.listdir(TORCH) if name.endswith(".txt")))
        with open(os.path.join(TORCH, name), encoding="utf-8") as file:
            return draw.file("net.txt", file.read())
    side, filters, units = rng.choice([8, 32, 224]), rng.choice([1, 8, 64]), rng.choice([1, 10, 1000])
    if kind == "onnx":
        return draw.file("net.onnx", onnx(side, filters, units))
    if kind == "keras":
        layer = lambda name, **config: {"class_name": name, "config": {"name": f"{name.lower()}_{rng.randrange(99)}", **config}}
        return draw.file("net.json", json.dumps({"class_name": "Sequential", "config": {"name": "s", "layers": [
            layer("InputLayer", batch_input_shape=[None, side, side, 3]), layer("Conv2D", filters=filters, kernel_size=[3, 3], strides=[1, 1], padding=rng.choice(["same", "valid"]), activation="relu"),
            layer("MaxPooling2D", pool_size=[2, 2]), layer("Flatten"), layer("Dense", units=units, activation="softmax")]}}))
    return draw.file("net.json", json.dumps({"name": "small", "layers": [
        {"type": "input", "channels": 3, "height": side, "width": side}, {"type": "conv", "filters": filters, "kernel": 3, "pad": 1}, {"type": "relu"},
        {"type": "global_pool"}, {"type": "flatten"}, {"type": "dense", "units": units}]}))


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """Of a protocol buffer: a number, or bytes, a text or a message with its length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def onnx(side, filters, units):
    """A convolution, an activation, a pooling over the whole image, a dense layer."""
    def node(kind, inputs, output, **attributes):
        parts = b"".join(field(1, name) for name in inputs) + field(2, output) + field(3, f"n-{output}") + field(4, kind)
        for name, value in attributes.items():
            held = field(3, value) + field(20, 2) if isinstance(value, int) else b"".join(field(8, one) for one in value) + field(20, 7)
            parts += field(5, field(1, name) + held)
        return field(1, parts)

    def weights(name, *sizes):
        return field(5, b"".join(field(1, size) for size in sizes) + field(2, 1) + field(8, name))

    def value(number, name, *sizes):
        shape = b"".join(field(1, field(1, size)) for size in sizes)
        return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))

    graph = (node("Conv", ["x", "w"], "a", kernel_shape=[3, 3], pads=[1, 1, 1, 1]) + node("Relu", ["a"], "b") + node("GlobalAveragePool", ["b"], "c") + node("Flatten", ["c"], "d", axis=1) +
             node("Gemm", ["d", "v"], "y", transB=1) + field(2, "small") + weights("w", filters, 3, 3, 3) + weights("v", units, filters) +
             value(11, "x", 1, 3, side, side) + value(12, "y", 1, units))
    return field(1, 8) + field(7, graph) + field(8, field(2, 13))
