"""Stands in for TensorFlow where there is none: layers of Keras that know the shape of their output and how many numbers they train, by
Keras's documentation. Enough to build a network of `rehearse plan --export` and to hold it against our own counts."""
import sys
import types


class Tensor:
    def __init__(self, shape):
        self.shape = tuple(shape)


class Layer:
    made = []
    parameters = 0

    def __init__(self, *arguments, **options):
        self.arguments, self.options, self.width = arguments, options, None
        Layer.made.append(self)

    def __call__(self, inputs):
        shapes = [t.shape for t in inputs] if isinstance(inputs, list) else inputs.shape
        if self.width is None:  # parameters are made at the first call, and have its width for ever
            self.width = shapes[-1]
            self.parameters = self.count(shapes)
        elif not isinstance(shapes, list):
            assert self.parameters == self.count(shapes), (self.options, shapes)
        return Tensor(self.out(shapes))

    def count(self, shape):
        return 0

    def out(self, shape):
        return shape


def side(size, window, stride, padding):
    assert padding == "same" or size >= window, (size, window)
    return -(-size // stride) if padding == "same" else (size - window) // stride + 1


def slid(shape, window, strides, padding, channels):
    assert len(shape) == 3, shape
    return (side(shape[0], window[0], strides[0], padding), side(shape[1], window[1], strides[1], padding), channels)


class Conv2D(Layer):
    def count(self, shape):
        filters, (height, width) = self.arguments
        groups = self.options.get("groups", 1)
        assert shape[-1] % groups == 0 and filters % groups == 0
        return height * width * shape[-1] // groups * filters + (filters if self.options["use_bias"] else 0)

    def out(self, shape):
        return slid(shape, self.arguments[1], self.options["strides"], self.options["padding"], self.arguments[0])


class Conv2DTranspose(Conv2D):
    def out(self, shape):
        assert len(shape) == 3, shape
        (filters, window), strides = self.arguments, self.options["strides"]
        return tuple(n * s + max(w - s, 0) for n, w, s in zip(shape, window, strides)) + (filters,)


class Pooling2D(Layer):
    def out(self, shape):
        return slid(shape, self.arguments[0], self.options["strides"], self.options["padding"], shape[-1])


class ZeroPadding2D(Layer):
    def out(self, shape):
        height, width, channels = shape
        return (height + 2 * self.arguments[0][0], width + 2 * self.arguments[0][1], channels)


class Cropping2D(Layer):
    def out(self, shape):
        height, width, channels = shape
        return (height - sum(self.arguments[0][0]), width - sum(self.arguments[0][1]), channels)


class Cropping1D(Layer):
    def out(self, shape):
        steps, width = shape
        return (steps - sum(self.arguments[0]), width)


class Dense(Layer):
    def count(self, shape):
        return (shape[-1] + (1 if self.options["use_bias"] else 0)) * self.arguments[0]

    def out(self, shape):
        return shape[:-1] + (self.arguments[0],)


class Normalization(Layer):
    def count(self, shape):
        return 2 * shape[-1]


class Embedding(Layer):
    def count(self, shape):
        return self.arguments[0] * self.arguments[1]

    def out(self, shape):
        assert len(shape) == 1, shape
        return shape + (self.arguments[1],)


class Recurrent(Layer):
    gates = 1

    def count(self, shape):  # one bias a gate, as the zoo counts; a GRU of Keras has two, unless reset_after=False
        assert len(shape) == 2, shape
        hidden = self.arguments[0]
        return self.gates * hidden * (shape[-1] + hidden + 1)

    def out(self, shape):
        assert self.options["return_sequences"] is True
        return shape[:-1] + (self.arguments[0],)


class GRU(Recurrent):
    gates = 3


class LSTM(Recurrent):
    gates = 4


class Bidirectional(Layer):
    def count(self, shape):
        return 2 * self.arguments[0].count(shape)

    def out(self, shape):
        one = self.arguments[0].out(shape)
        return one[:-1] + (one[-1] * {"concat": 2, "sum": 1}[self.options["merge_mode"]],)


class Add(Layer):
    def out(self, shapes):
        assert len(shapes) > 1 and all(shape == shapes[0] for shape in shapes), shapes
        return shapes[0]


class Concatenate(Layer):
    def out(self, shapes):
        assert len(shapes) > 1 and all(shape[:-1] == shapes[0][:-1] for shape in shapes), shapes
        return shapes[0][:-1] + (sum(shape[-1] for shape in shapes),)


def product(shape):
    result = 1
    for size in shape:
        result *= size
    return result


class Reshape(Layer):
    def out(self, shape):
        assert product(shape) == product(self.arguments[0]), (shape, self.arguments)
        return self.arguments[0]


class Permute(Layer):
    def out(self, shape):
        return tuple(shape[i - 1] for i in self.arguments[0])


class Flatten(Layer):
    def out(self, shape):
        return (product(shape),)


class GlobalAveragePooling2D(Layer):
    def out(self, shape):
        assert len(shape) == 3, shape
        return shape[-1:]


class Heads(Layer):
    def out(self, shapes):
        query, key, value = shapes
        assert query[-1] == key[-1] and key[0] == value[0] and query[-1] % self.arguments[0] == 0
        return (query[0], value[-1])


class Tied(Layer):
    def out(self, shape):
        vocabulary, width = self.arguments[0].arguments
        assert shape[-1] == width
        return shape[:-1] + (vocabulary,)


class Model:
    def __init__(self, inputs, outputs, name):
        self.inputs, self.outputs, self.name = inputs, outputs, name


def build(folder):
    """The network of a folder: (shapes of inputs, shapes of outputs, numbers that are trained)."""
    modules = {name: types.ModuleType(name) for name in ("tensorflow", "tensorflow.keras", "tensorflow.keras.layers", "blocks")}
    layers, keras, blocks = modules["tensorflow.keras.layers"], modules["tensorflow.keras"], modules["blocks"]
    for kind in (Conv2D, Conv2DTranspose, ZeroPadding2D, Cropping2D, Cropping1D, Dense, Embedding, GRU, LSTM, Bidirectional, Add,
                 Concatenate, Reshape, Permute, Flatten, GlobalAveragePooling2D):
        setattr(layers, kind.__name__, kind)
    layers.SimpleRNN = Recurrent
    layers.MaxPooling2D = layers.AveragePooling2D = Pooling2D
    layers.BatchNormalization = layers.LayerNormalization = Normalization
    layers.Activation = layers.ReLU = layers.LeakyReLU = layers.Dropout = Layer
    blocks.Heads, blocks.Tied = Heads, Tied
    blocks.LocalResponseNorm = blocks.Positions = blocks.Segments = blocks.Detached = Layer
    keras.layers, keras.Model = layers, Model
    keras.Input = lambda shape, name, dtype="float32": Tensor(shape)
    modules["tensorflow"].keras = keras
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    Layer.made = []
    try:
        names = {}
        with open(folder + "/network.py", encoding="utf-8") as file:
            exec(compile(file.read(), "network.py", "exec"), names)
        model = names["build_network"]()
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    inner = {id(layer.arguments[0]) for layer in Layer.made if isinstance(layer, Bidirectional)}
    taken = [layer.options["name"] for layer in Layer.made if "name" in layer.options]
    assert len(taken) == len(set(taken)), "two layers of one name"
    return ([t.shape for t in model.inputs], [t.shape for t in model.outputs],
            sum(layer.parameters for layer in Layer.made if id(layer) not in inner))
