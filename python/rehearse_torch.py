"""Write the layers of a PyTorch module as a file that Rehearse reads (rehearse rent net.json, rehearse graph net.json).

    python3 rehearse_torch.py my_model.py:Net --input 3,224,224 -o net.json

From Python: rehearse_torch.write(module, example_input, "net.json"). Python 3.9 and PyTorch 1.13 or later, no GPU.
The module is traced by torch.fx, or by torch.export where torch.fx cannot follow it and torch.export exists (PyTorch 2.1 or later).
It runs with two batches, of 2 and of 3 samples: a size that grows with the batch is the batch's. docs/guide/python.md says more.
"""

import argparse
import importlib
import importlib.util
import inspect
import itertools
import json
import math
import operator
import sys
from pathlib import Path

try:
    import torch
    import torch.fx
except ImportError as missing:  # said when it is needed: the help works without
    torch, _MISSING = None, missing

_BATCHES = (2, 3)
_RECURRENT = {"LSTM": "lstm", "GRU": "gru", "RNN": "vanilla"}
_IN_PLACE = set("relu relu6 hardtanh leaky_relu elu celu selu sigmoid hardsigmoid tanh softmax _softmax log_softmax _log_softmax softmin "
                "clamp clamp_min clamp_max threshold exp sqrt rsqrt rrelu logsigmoid log_sigmoid softsign".split())
_FROM_INPUT = set("gelu silu hardswish mish softplus abs neg negative pow square log log2 log1p log10 sin cos erf reciprocal sign "
                  "hardshrink softshrink tanhshrink masked_fill where sqrt_ rsub".split())
_SAME_SHAPE = set("contiguous clone detach to _to_copy type type_as float half double bfloat16 alias lift_fresh_copy requires_grad_ "
                  "identity view_as expand_as cpu cuda nan_to_num".split())
_OTHER_SHAPE = set("view reshape unsafe_view _unsafe_view _reshape_alias flatten unflatten permute transpose t swapaxes swapdims movedim "
                   "moveaxis squeeze unsqueeze mT contiguous clone channel_shuffle pixel_shuffle pixel_unshuffle native_channel_shuffle "
                   "T".split())
_PARTS = set("getitem select slice narrow chunk split split_with_sizes tensor_split unbind index_select unsafe_chunk unsafe_split".split())
_REDUCTIONS = set("mean sum amax amin max min prod norm var std logsumexp linalg_vector_norm".split())
_NOTHING = set("size sym_size dim ndimension numel shape device dtype is_floating_point getattr _assert _assert_is_none eq_ "
               "get_device is_cuda __bool__ sym_constrain_range_for_size _assert_tensor_metadata _guards_fn".split())
_LOSSES = set("cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss smooth_l1_loss huber_loss "
              "kl_div cross_entropy_loss nll_loss_forward nll_loss_nd".split())


class NotSupported(ValueError):
    """The module has parts that cannot be written; the message names all of them, each with its path in the module."""


class _NotFollowed(NotSupported):
    """The module does not run, or not with stand-ins: perhaps with the batch on another axis."""


class _Refusal(Exception):
    """One part that cannot be written."""


class _WrongBatch(Exception):
    """A layer that takes steps first, or the batch first, and was given the other."""


def write(module, example_input, path, *, name=None, batch_axis=None):
    """Writes the file and returns what it holds.

    example_input: a tensor, a tuple of arguments, or a dict of arguments by name; of any batch size
    batch_axis: where the batch is in all inputs; left out, it is found: 0, else 1 (recurrent layers that take steps first)
    Raises NotSupported.
    """
    found = layers(module, example_input, name=name, batch_axis=batch_axis)
    listed = ",\n".join("  " + json.dumps(layer) for layer in found["layers"])
    text = f'{{"name": {json.dumps(found["name"])}, "only_costs": true, "layers": [\n{listed}]}}\n'
    Path(path).write_text(text, encoding="utf-8")
    return found


def layers(module, example_input, *, name=None, batch_axis=None):
    """The network as write() writes it."""
    _require_torch()
    inputs = example_input if isinstance(example_input, _Inputs) else _Inputs(example_input)
    tries = [(batch_axis,) * len(inputs.tensors)] if batch_axis is not None else inputs.batch_axes()
    first = None
    for axes in tries:
        try:
            return _layers(module, inputs, axes, name or type(module).__name__)
        except (_WrongBatch, _NotFollowed) as error:
            first = error if first is None or isinstance(error, _NotFollowed) and not isinstance(first, _NotFollowed) else first
    raise first if isinstance(first, NotSupported) else NotSupported(f"{first}. Say where the batch is: batch_axis=0 or 1")


def _layers(module, inputs, axes, name):
    buffers = [(buffer, buffer.clone()) for buffer in module.buffers() if buffer is not None]
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            steps = _trace(module, inputs, axes)
    finally:
        with torch.no_grad():  # running means of the user's module
            for buffer, kept in buffers:
                buffer.copy_(kept)
    return _Network(module, inputs).read(steps, name)


def _require_torch():
    if torch is None:
        raise NotSupported(f"rehearse_torch.py needs PyTorch in the Python that runs it ({sys.executable}): pip install torch, or Debian's "
                           f"python3-torch with /usr/bin/python3 ({_MISSING})")


class _Inputs:
    """Example inputs, which can be had with any number of samples."""

    def __init__(self, example, in_front=False):
        """`in_front`: the batch stands in front, wherever the module wants it."""
        self.in_front = in_front
        self.args, self.kwargs = example if isinstance(example, (tuple, list)) else (example,), {}
        if isinstance(example, dict):
            self.args = [example[key] for key in example if isinstance(key, int)]
            self.kwargs = {key: value for key, value in example.items() if isinstance(key, str)}
        self.keys = [*range(len(self.args)), *self.kwargs]
        self.tensors = [key for key in self.keys if isinstance(self.of(key), torch.Tensor)]
        if not self.tensors:
            raise NotSupported("an example input with a tensor is needed")

    def of(self, key):
        return self.args[key] if isinstance(key, int) else self.kwargs[key]

    def batch_axes(self):
        """Where the batch may be, the likeliest first."""
        count = len(self.tensors)
        same = [(0,) * count, (1,) * count]
        return same + [axes for axes in itertools.product((0, 1, None), repeat=count) if axes not in same and any(a is not None for a in axes)][:25]

    def with_batch(self, samples, axes):
        """Arguments by position, then by name, with this many samples."""
        def resized(tensor, axis):
            if axis is None:
                return tensor[0] if self.in_front else tensor
            if self.in_front and axis < tensor.dim():
                tensor = tensor.movedim(0, axis)
            if tensor.dim() <= axis:
                raise _WrongBatch(f"an input of {tensor.dim()} sizes has no axis {axis} for the batch")
            return tensor.index_select(axis, torch.arange(samples, device=tensor.device) % tensor.shape[axis])

        made = {key: resized(self.of(key), axis) for key, axis in zip(self.tensors, axes)}
        given = {key: made.get(key, self.of(key)) for key in self.keys}
        return [given[i] for i in range(len(self.args))], {key: given[key] for key in self.kwargs}


class _Fact:
    """A tensor as it came out of a node: its sizes of one sample, its batch's axis (None: it has none), and whether it was copied."""

    def __init__(self, small, large, copied):
        self.is_float, self.copied = small.dtype.is_floating_point or small.dtype.is_complex, copied
        self.sizes, self.batch = list(small.shape), None
        if small.shape == large.shape:
            return
        grown = [i for i, sizes in enumerate(zip(small.shape, large.shape)) if sizes[0] != sizes[1]]
        if len(small.shape) != len(large.shape) or len(grown) != 1 or small.shape[grown[0]] * _BATCHES[1] != large.shape[grown[0]] * _BATCHES[0]:
            raise _WrongBatch(f"a tensor of {tuple(small.shape)} with {_BATCHES[0]} samples has {tuple(large.shape)} with {_BATCHES[1]}")
        self.batch = grown[0]
        self.sizes[self.batch] = small.shape[self.batch] // _BATCHES[0]


def _facts(small, large, copied):
    if hasattr(small, "shape") and hasattr(small, "dtype"):
        return _Fact(small, large, copied)
    if isinstance(small, (tuple, list)) and isinstance(large, (tuple, list)) and len(small) == len(large):
        return [_facts(a, b, copied) for a, b in zip(small, large)]
    return small


class _Step:
    """A node of the traced module, with the fact of what it makes; `stored`: the tensor, where it is one of the module or a constant."""

    def __init__(self, node, fact, path, stored=None):
        self.node, self.fact, self.path, self.stored = node, fact, path, stored


def _trace(module, inputs, axes):
    """Steps in order, by torch.fx, else by torch.export."""
    runs = []
    for samples in _BATCHES:
        tracer = _tracer(inputs, *inputs.with_batch(samples, axes))
        try:
            runs.append(list(tracer.trace(module).nodes))
        except (_WrongBatch, NotSupported):
            raise
        except Exception as error:  # whatever the user's code raises when it meets a stand-in
            if hasattr(torch, "export"):
                return _exported(module, inputs, axes)
            raise _NotFollowed(f"torch.fx cannot follow {type(module).__name__}.forward with {samples} samples on axis {axes[0]}: {_short(error)}. "
                               "PyTorch 2.1 or later has torch.export, which follows more") from error
    return _steps(module, *runs)


def _steps(module, small, large):
    """Of the nodes of two runs that are one program."""
    if [(node.op, str(node.target)) for node in small] != [(node.op, str(node.target)) for node in large]:
        raise NotSupported(f"{type(module).__name__}.forward does other things with other batch sizes")
    steps = []
    for one, other in zip(small, large):
        live = one.meta.get("rehearse")
        stored = live if one.op == "get_attr" or one.meta.get("rehearse_stored") else None
        steps.append(_Step(one, _facts(live, other.meta.get("rehearse"), one.meta.get("rehearse_copied", False)), one.meta.get("rehearse_path", ""), stored))
    return steps


def _short(error):
    return " ".join(str(error).split())[:300] or type(error).__name__


def _tracer(inputs, args, kwargs):
    """A tracer whose stand-ins know the tensors that they stand for, so that lengths, sizes and conditions are what they are in a run."""

    class StandIn(torch.fx.Proxy):
        def __iter__(self):
            return (self[i] for i in range(len(self.node.meta["rehearse"])))

        def __len__(self):
            return len(self.node.meta["rehearse"])

        def __bool__(self):
            return bool(self.node.meta["rehearse"])

        def __index__(self):
            return int(self.node.meta["rehearse"])

        __int__ = __index__

        def __float__(self):
            return float(self.node.meta["rehearse"])

        def __getattr__(self, name):
            value = getattr(self.node.meta["rehearse"], name)
            if isinstance(value, torch.Tensor):
                return self.tracer.create_proxy("call_function", getattr, (self, name), {})
            return super().__getattr__(name) if callable(value) else value

    class Tracer(torch.fx.Tracer):
        """PyTorch's own modules stay whole; each node remembers in which module of the user's it stands."""

        inside, running = "", False

        def create_args_for_root(self, root_fn, is_module, concrete_args=None):
            def stand_in(key, value):
                return self.create_proxy("placeholder", f"input_{key}" if isinstance(key, int) else key, (), {}, live=value) if key in inputs.tensors else value

            made = [stand_in(i, value) for i, value in enumerate(args)]
            named = {key: stand_in(key, value) for key, value in kwargs.items()}
            return (lambda *stand_ins: root_fn(self.root, *made, **named)), []

        def call_module(self, m, forward, args, kwargs):
            if self.running:
                return forward(*args, **kwargs)
            outer, self.inside = self.inside, self.path_of_module(m)
            try:
                return super().call_module(m, forward, args, kwargs)
            finally:
                self.inside = outer

        def getattr(self, attr, value, cache):
            if self.running or not isinstance(value, torch.nn.Parameter):
                return value
            return self.create_proxy("get_attr", "parameter", (), {}, live=value)

        _module_getattr = getattr

        def create_arg(self, a):
            if isinstance(a, torch.Tensor):
                return self.create_proxy("get_attr", "tensor", (), {}, live=a).node
            return super().create_arg(a)

        def create_proxy(self, kind, target, args, kwargs, *names, live=None, **options):
            node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs))
            node.meta["rehearse_path"] = self.inside
            if live is None:
                live = self.live(node)
            node.meta["rehearse"] = live
            sources = [n.meta["rehearse"] for n in node.all_input_nodes if isinstance(n.meta["rehearse"], torch.Tensor)]
            same = bool(sources) and isinstance(live, torch.Tensor) and live.data_ptr() == sources[0].data_ptr()
            node.meta["rehearse_copied"] = not same
            return self.standing_for(node)

        def standing_for(self, node):
            live = node.meta["rehearse"]
            if type(live) in (tuple, list) and any(isinstance(one, (torch.Tensor, tuple, list)) for one in live):
                return type(live)(self.create_proxy("call_function", operator.getitem, (StandIn(node, self), i), {}) for i in range(len(live)))
            has_tensors = isinstance(live, torch.Tensor) or isinstance(live, tuple) and any(isinstance(one, torch.Tensor) for one in live)
            return StandIn(node, self) if has_tensors else live

        def live(self, node):
            args, kwargs = (torch.fx.node.map_arg(a, lambda n: n.meta["rehearse"]) for a in (node.args, node.kwargs))
            self.running = True
            try:
                if node.op == "call_module":
                    return self.root.get_submodule(node.target)(*args, **kwargs)
                if node.op == "call_method":
                    return getattr(args[0], node.target)(*args[1:], **kwargs)
                return node.target(*args, **kwargs)
            finally:
                self.running = False

    return Tracer()


def _exported(module, inputs, axes):
    """Steps of torch.export's programs for both batches."""
    runs = []
    tensors = {**dict(_named(module)), **{f"{path}.{name}" if path else name: buffer for path, inner in module.named_modules(remove_duplicate=False)
                                          for name, buffer in inner.named_buffers(recurse=False)}}
    for samples in _BATCHES:
        args, kwargs = inputs.with_batch(samples, axes)
        try:
            program = torch.export.export(module, tuple(args), kwargs)
        except Exception as error:
            raise _NotFollowed(f"neither torch.fx nor torch.export can follow {type(module).__name__}.forward: {_short(error)}") from error
        signature = program.graph_signature
        kinds = ("inputs_to_parameters", "inputs_to_buffers", "inputs_to_lifted_tensor_constants")
        stored = {name: target for kind in kinds for name, target in getattr(signature, kind, {}).items()}
        nodes = list(program.graph.nodes)
        for node in nodes:
            node.meta["rehearse"] = tensors.get(stored.get(node.name), node.meta.get("val"))
            node.meta["rehearse_stored"] = node.op == "placeholder" and node.name in stored
            node.meta["rehearse_copied"] = "clone" in str(node.target)
            stack = list((node.meta.get("nn_module_stack") or {}).values())
            node.meta["rehearse_path"] = stack[-1][0] if stack and isinstance(stack[-1], tuple) else ""
        runs.append(nodes)
    return _steps(module, *runs)


class _Value:
    """Numbers of one sample: the layer that makes them, of which shape (channels, height, width), and as which sizes PyTorch sees them."""

    def __init__(self, layer, shape, fact, zeros=None):
        self.layer, self.shape, self.sizes, self.batch, self.is_float = layer, tuple(shape), list(fact.sizes), fact.batch, fact.is_float
        self.zeros = zeros  # around the image, that the next window takes: top, bottom, left, right
        self.full = None  # fact of the tensor that this one is repeated to


class _Const:
    """A tensor that the input does not change: made of parameters (by id), or of nothing."""

    def __init__(self, sizes, parameters=(), batch=None, is_float=True):
        self.sizes, self.parameters, self.batch, self.is_float = list(sizes), frozenset(parameters), batch, is_float


class _Aside:
    """Whole numbers or truth values made of the input: masks, positions, lengths. They cost nothing."""

    def __init__(self, fact):
        self.sizes, self.batch, self.is_float = list(fact.sizes), fact.batch, fact.is_float


class _Later:
    """A result whose layers are only written where something uses it: the last state of a recurrent layer, a part of a tensor."""

    def __init__(self, make):
        self.make, self.value = make, None

    def made(self):
        self.value = self.value or self.make()
        return self.value


class _Unknown:
    """What a part that cannot be written makes."""


def _two(value, dims, fallback=1):
    """Height and width; the width of steps is 1."""
    values = list(value) if isinstance(value, (tuple, list)) else [value] * dims
    values = values * dims if len(values) == 1 else values
    return [int(values[0]), int(values[1]) if dims == 2 else fallback]


def _name_of(target):
    name = target if isinstance(target, str) else getattr(target, "__name__", str(target))
    name = name.split(".")[0]
    return name if name.startswith("__") else name.rstrip("_") or name


def _tensors(value):
    """What stands for tensors in arguments, however deep."""
    if isinstance(value, (_Value, _Const, _Aside, _Later, _Unknown)):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _tensors(one)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _flat(facts):
    for fact in facts if isinstance(facts, (tuple, list)) else [facts]:
        yield from _flat(fact) if isinstance(fact, (tuple, list)) else [fact]


def _named(module, prefix=""):
    """Parameters with every name that they have."""
    for path, inner in module.named_modules(remove_duplicate=False):
        for name, parameter in inner.named_parameters(recurse=False):
            yield (f"{path}.{name}" if path else name), parameter


class _Network:
    """Goes through the steps and writes layers."""

    def __init__(self, module, inputs):
        self.module, self.inputs, self.layers, self.used = module, inputs, [], set()
        self.parameters = {id(p): (n, p.numel()) for n, p in _named(module)}
        self.whole = {}  # of a part of a parameter
        self.names, self.refused, self.owners, self.counted, self.values, self.notes = set(), [], {}, set(), {}, []
        self.fixed, self.path, self.expected, self.kept = {}, "", None, inputs  # kept: objects whose ids are keys

    # From steps to layers.

    def read(self, steps, name):
        for step in steps:
            self.step, self.expected = step, None
            self.path = step.node.target if step.node.op == "call_module" else ".".join(filter(None, [step.path, step.node.name]))
            if step.node.op == "output":
                if not self.refused:
                    self.finish(step.node.args[0])
                continue
            try:
                made = self.values[step.node] = self.value_of(step)
                if step.node.op == "call_method" and step.node.target.endswith("_") and not step.node.target.endswith("__"):
                    self.values[step.node.args[0]] = made  # changed in place
            except _Refusal as error:
                self.values[step.node] = _Unknown()
                self.refused.append(f"{step.path or 'forward'}: {self.what(step)}: {error}")
        if self.refused:
            raise NotSupported(f"{name} has parts that cannot be written:\n  " + "\n  ".join(dict.fromkeys(self.refused)))
        self.warn()
        return {"name": name, "layers": self.layers, "parameters": sum(self.parameters[i][1] for i in self.counted if i not in self.whole)}

    def what(self, step):
        if step.node.op != "call_module":
            return f"{step.node.name} ({_name_of(step.node.target)})"
        return f"{step.node.target} ({type(self.module.get_submodule(step.node.target)).__name__})"

    def warn(self):
        for n, p in self.module.named_parameters():
            if id(p) not in self.counted:
                self.notes.append(f"forward does not use {n} ({p.numel()} numbers), which is left out")
        for layer in self.layers:
            if layer["name"] not in self.used and layer["type"] != "loss":
                self.notes.append(f"nothing uses what {layer['name']} ({layer['type']}) makes; it is written and counts")
        for note in self.notes:
            print(f"rehearse_torch: warning: {note}", file=sys.stderr)

    def finish(self, output):
        """A loss behind each result; states that are returned beside one have none."""
        results = list(_tensors(torch.fx.node.map_arg(output, lambda node: self.values[node])))
        found = [v for v in results if isinstance(v, _Value)] or [self.value(v) for v in results if isinstance(v, _Later)]
        if not found:
            raise NotSupported("forward returns nothing that layers make")
        for value in dict.fromkeys(found):
            value = self.value(value)
            if self.layer(value.layer)["type"] != "loss":
                self.path = "loss"
                self.put("loss", [value], value.shape)

    def argument(self, value):
        """Arguments of a node, with values in the place of nodes."""
        def known(node):
            value = self.values[node]
            return value.made() if isinstance(value, _Later) else value

        return torch.fx.node.map_arg(value, known)

    def value_of(self, step):
        node, fact = step.node, step.fact
        if step.stored is not None:
            return self.own(step.stored)
        if node.op == "placeholder":
            return self.input(node.name, fact)
        args, kwargs = self.argument(list(node.args)), self.argument(dict(node.kwargs))
        flat = list(_tensors((args, kwargs)))
        if any(isinstance(v, _Unknown) for v in flat):
            return _Unknown()
        if node.op == "call_module":
            return self.call(self.module.get_submodule(node.target), node.target, args, kwargs)
        return self.function(_name_of(node.target), args, kwargs, flat)

    def input(self, name, fact):
        if fact.batch is None:
            return _Const(fact.sizes, is_float=fact.is_float)
        others = [n for i, n in enumerate(fact.sizes) if i != fact.batch]
        shape = self.natural(others, fact.is_float)
        return self.made(self.put("input", [], shape, name=name, channels=shape[0], height=shape[1], width=shape[2]), shape, fact)

    @staticmethod
    def natural(sizes, is_float=True):
        """(c, h, w) are channels first, two sizes steps of features, whole numbers tokens."""
        if not is_float:
            return (1, math.prod(sizes), 1)
        if len(sizes) <= 1:
            return (sizes[0] if sizes else 1, 1, 1)
        return (sizes[1], sizes[0], 1) if len(sizes) == 2 else (*sizes[:2], math.prod(sizes[2:]))

    def own(self, tensor):
        if tensor is None:
            return None
        found = id(tensor) in self.parameters
        return _Const(tensor.shape, [id(tensor)] if found else [], is_float=tensor.dtype.is_floating_point)

    def made(self, layer, shape, fact=None, zeros=None):
        fact = fact or self.fact()
        if math.prod(shape) != math.prod(fact.sizes) and zeros is None:
            raise _Refusal(f"{tuple(fact.sizes)} numbers a sample, where its layer makes {shape}")
        return _Value(layer, shape, fact, zeros)

    def fact(self):
        fact = self.expected or self.step.fact
        return fact[0] if isinstance(fact, list) else fact

    def layer(self, name):
        return next(layer for layer in self.layers if layer["name"] == name)

    def put(self, kind, inputs, shape, parameters=(), count=0, name=None, **keys):
        """Writes a layer and returns its name. `parameters`: tensors, in whose place `count` numbers of the layer stand."""
        name = name or self.path
        name = next(n for n in itertools.chain([name], (f"{name}/{i}" for i in itertools.count(2))) if n not in self.names)
        layer = {"name": name, "type": kind, **keys}
        ids = frozenset().union(*(p.parameters for p in parameters if p is not None)) if parameters else frozenset()
        if ids and ids <= self.owners.keys():
            owners = {self.owners[i] for i in ids}
            owner, owned = next(iter(owners))
            if len(owners) != 1 or owned != ids:
                raise _Refusal("it shares a part of its weights with another layer")
            layer["shares"] = owner
        elif ids & self.owners.keys():
            raise _Refusal("it shares a part of its weights with another layer")
        elif ids and sum(self.parameters[i][1] for i in ids) != count:
            raise _Refusal(f"{sum(self.parameters[i][1] for i in ids)} numbers in its parameters, where its layer has {count}")
        elif count and not ids:
            self.notes.append(f"{name} has {count} fixed numbers, which are counted as weights")
        self.owners.update({i: (layer.get("shares", name), ids) for i in ids})
        self.counted |= ids | {self.whole[i] for i in ids if i in self.whole}
        if inputs:
            layer["inputs"] = [v.layer for v in inputs]
            self.used.update(layer["inputs"])
        self.names.add(name)
        self.layers.append(layer)
        return name

    def shaped(self, value, shape, moves=False):
        """A value whose layer has this shape."""
        if value.zeros:
            raise _Refusal("zeros around it are only read in front of a convolution or a pooling")
        if tuple(shape) == value.shape and not moves:
            return value
        if math.prod(shape) != math.prod(value.shape):
            raise _Refusal(f"{math.prod(shape)} numbers of {math.prod(value.shape)}")
        base = value.layer
        name = self.put("transpose" if moves else "reshape", [value], shape, name=f"{base}/as", channels=shape[0], height=shape[1], width=shape[2])
        return _Value(name, shape, value)

    def value(self, value):
        """Parameters that are added, multiplied or put beside something are rows of a table; other constants are inputs."""
        if isinstance(value, _Value):
            return value if value.full is None else self.copied(value)
        if isinstance(value, _Later):
            return self.value(value.made())
        if not isinstance(value, (_Const, _Aside)):
            raise _Refusal("a tensor is expected")
        key = (value.parameters, tuple(value.sizes)) if isinstance(value, _Const) else value
        if key not in self.fixed:
            count, total = math.prod(value.sizes), 0
            if getattr(value, "parameters", None):
                total = sum(self.parameters[i][1] for i in value.parameters)
            width = value.sizes[-1] if value.sizes and value.sizes[-1] and total % value.sizes[-1] == 0 else 1
            rows = count // width
            base = "+".join(sorted(self.parameters[i][0] for i in getattr(value, "parameters", ()))) or self.step.node.name + "/constant"
            if not total:
                self.fixed[key] = (self.put("input", [], (), name=base, channels=width, height=rows, width=1), (width, rows, 1))
            else:
                tokens = _Value(self.put("input", [], (), name=base + "/rows", channels=1, height=rows, width=1), (1, rows, 1), value)
                table = self.put("embedding", [tokens], (), [value], total, name=base, vocabulary=total // width, units=width)
                self.fixed[key] = (table, (width, rows, 1))
        return _Value(*self.fixed[key], value)

    # Where sizes go.

    def batch_first(self, value, axis=0):
        if isinstance(value, _Const):
            return
        if value.batch != axis:
            raise _WrongBatch(f"{self.what(self.step)} takes the batch on axis {axis}, and has it on {value.batch}")

    def image(self, value, dims):
        """(batch, channels, height, width), or (batch, channels, steps)."""
        value = self.value(value)
        self.batch_first(value)
        if len(value.sizes) != dims + 2 or value.sizes[0] != 1:
            several = len(value.sizes) == dims + 2 and f" (it takes {value.sizes[0]} at once of each sample)" or ""
            raise _Refusal(f"{tuple(value.sizes)} numbers a sample, where (1, channels, {'height, width' if dims == 2 else 'steps'}) is expected{several}")
        shape = (*value.sizes[1:], 1)[:3]
        if value.zeros:
            top, bottom, left, right = value.zeros
            value = _Value(value.layer, (shape[0], shape[1] - top - bottom, shape[2] - left - right), value)
            value.zeros = (top, bottom, left, right)
            return value
        return self.shaped(value, shape)

    def steps_of(self, value):
        """The last size is features, the others are places."""
        value = self.value(value)
        if value.batch == len(value.sizes) - 1 and len(value.sizes) > 1:
            raise _Refusal("the batch stands last, where features are expected")
        width = value.sizes[-1] if len(value.sizes) > 1 or value.batch is None else 1
        return self.shaped(value, (width, math.prod(value.sizes) // width, 1))

    def arranged(self, sizes, shapes, special=None):
        """Axes of tensors of one rank as channels, height and width, the same for all, and the place of the axis `special`; such that most
        tensors have the shape that they have."""
        groups = []  # [sizes of all tensors, is special]
        for i, axis in enumerate(zip(*sizes)):
            if i == special or any(n > 1 for n in axis):
                groups.append([list(axis), i == special])

        def pattern(group):
            return [n == max(group[0]) for n in group[0]], group[1]

        while len(groups) > 3:
            at = next((i for i in range(len(groups) - 1, 0, -1) if pattern(groups[i]) == pattern(groups[i - 1])), None)
            if at is None:
                raise _Refusal("more than three axes, each of which is treated another way")
            groups[at - 1][0] = [a * b for a, b in zip(groups[at - 1][0], groups[at][0])]
            del groups[at]
        default = (1, 0, 2) if len(groups) == 2 else (0, 1, 2)  # steps of features, or an image
        groups += [[[1] * len(sizes), False]] * (3 - len(groups))
        orders = [default] + [o for o in itertools.permutations(range(3)) if o != default]

        def shapes_by(order):
            return [tuple(groups[g][0][k] for g in order) for k in range(len(sizes))]

        best = max(orders, key=lambda order: sum(a == b for a, b in zip(shapes, shapes_by(order))))
        return shapes_by(best), next((i for i, g in enumerate(best) if groups[g][1]), 0)

    def aligned(self, values, special=None, whole=True):
        values = [self.value(v) if whole else v for v in values]
        rank = max(len(v.sizes) for v in values)
        shapes, place = self.arranged([[1] * (rank - len(v.sizes)) + v.sizes for v in values], [v.shape for v in values], special)
        return [self.shaped(v, s) for v, s in zip(values, shapes)], place

    # Modules.

    def call(self, m, path, args, kwargs):
        kind = type(m).__name__
        handler = getattr(self, "module_" + kind, None) or self.module_kinds(kind)
        if handler is None:
            if type(m).forward is torch.nn.Module.forward or not type(m).__module__.startswith("torch."):
                raise _Refusal("a module that is not supported")
            raise _Refusal("a module of PyTorch that is not supported")
        return handler(m, *args, **kwargs)

    def module_kinds(self, kind):
        plain = {"Linear": lambda m, x: self.linear(x, self.own(m.weight), self.own(m.bias), m),
                 "Embedding": lambda m, x: self.embedding(x, self.own(m.weight)), "EmbeddingBag": self.embedding_bag,
                 "Identity": lambda m, x, *a, **k: x,
                 "PReLU": lambda m, x: self.prelu(x, self.own(m.weight)),
                 "LocalResponseNorm": lambda m, x: self.local_response_norm(x, m.size),
                 "Upsample": lambda m, x: self.resized(x), "UpsamplingNearest2d": lambda m, x: self.resized(x),
                 "UpsamplingBilinear2d": lambda m, x: self.resized(x), "GLU": lambda m, x: self.glu(x),
                 "LayerNorm": lambda m, x: self.layer_norm(x, m.normalized_shape, self.own(m.weight), self.own(m.bias)),
                 "RMSNorm": lambda m, x: self.layer_norm(x, m.normalized_shape, self.own(m.weight), None),
                 "GroupNorm": lambda m, x: self.group_norm(x, m.num_groups, self.own(m.weight), self.own(m.bias)),
                 "LSTMCell": self.cell, "GRUCell": self.cell, "RNNCell": self.cell,
                 "LSTM": self.recurrent_module, "GRU": self.recurrent_module, "RNN": self.recurrent_module}
        if kind in plain:
            return plain[kind]
        stem, dims = kind[:-2], {"1d": 1, "2d": 2}.get(kind[-2:])
        if dims and stem == "Conv":
            return lambda m, x: self.convolution(x, self.own(self.weight(m)), self.own(m.bias), m.stride, m.padding, m.dilation, m.groups, dims=dims, module=m)
        if dims and stem == "ConvTranspose":
            return lambda m, x, size=None: self.transposed(x, self.own(self.weight(m)), self.own(m.bias), m.stride, m.padding, 0, m.groups, m.dilation, dims=dims, module=m)
        if dims and stem in ("MaxPool", "AvgPool"):
            return lambda m, x: self.pool(x, "max" if stem == "MaxPool" else "average", m.kernel_size, m.stride, m.padding, getattr(m, "dilation", 1), dims)
        if dims and stem in ("AdaptiveAvgPool", "AdaptiveMaxPool"):
            return lambda m, x: self.adaptive(x, "max" if "Max" in stem else "average", dims)
        if stem in ("BatchNorm", "InstanceNorm") or kind == "SyncBatchNorm":
            return lambda m, x: self.norm(x, self.own(m.weight), self.own(m.bias), "batch_norm" if "Batch" in kind else "layer_norm")
        if kind.startswith(("ZeroPad", "ConstantPad", "ReflectionPad", "ReplicationPad")):
            return lambda m, x: self.pad(x, m.padding)
        if "Dropout" in kind:
            return lambda m, x: self.simple("dropout", x)
        if kind in ("Flatten", "Unflatten", "PixelShuffle", "PixelUnshuffle", "ChannelShuffle"):
            return lambda m, x: self.reshaped(x)
        if kind.endswith("Loss") and kind != "CTCLoss":
            return lambda m, x, *targets: self.loss(x, *targets)
        name = {name.replace("_", ""): name for name in _IN_PLACE | _FROM_INPUT}.get(kind.lower().replace("softmax2d", "softmax"))
        return None if name is None else lambda m, x: self.activation(x, name)

    @staticmethod
    def weight(m):
        return getattr(m, "weight_orig", None) if isinstance(getattr(m, "weight_orig", None), torch.nn.Parameter) else \
            m.weight_v if hasattr(m, "weight_v") else m.weight

    def linear(self, x, weight, bias=None, module=None):
        if isinstance(x, _Const):
            return self.constant([x, weight, bias])
        if module is not None:
            weight = self.own(self.weight(module))
        x = self.steps_of(x)
        units = weight.sizes[0] if len(weight.sizes) > 1 else 1
        if math.prod(weight.sizes) != units * x.shape[0]:
            raise _Refusal(f"weights of {tuple(weight.sizes)} on {x.shape[0]} features")
        return self.product_with(x, weight, bias, units, module)

    def product_with(self, x, weight, bias, units, module=None):
        shape = (units, *x.shape[1:])
        tied = bool(weight.parameters & self.owners.keys()) and bias is not None and not bias.parameters & self.owners.keys()
        given = [weight] if tied or bias is None else [weight, bias]
        name = self.put("dense", [x], shape, given, math.prod(weight.sizes) + (0 if bias is None or tied else units), units=units,
                        bias=len(given) > 1)
        result = self.scaled(self.made(name, shape), module)
        return self.elementwise("add", [result, bias]) if tied else result

    def scaled(self, result, module):
        """weight_norm's own factors, a number an output."""
        if module is None or not hasattr(module, "weight_g"):
            return result
        factors = self.own(module.weight_g)
        if math.prod(factors.sizes) != result.shape[0]:
            raise _Refusal("weight_norm of other than the outputs")
        return self.spread("multiply", result, factors)

    def spread(self, kind, value, parameter):
        """A number a channel, or one for all."""
        table = self.value(_Const([math.prod(parameter.sizes)], parameter.parameters))
        name = self.put(kind, [value, self.shaped(table, (math.prod(parameter.sizes), 1, 1))], value.shape)
        return _Value(name, value.shape, value)

    def prelu(self, x, weight):
        x = self.activation(x, "gelu")
        channels_second = len(x.sizes) > 1 and math.prod(weight.sizes) > 1
        return self.spread("multiply", self.shaped(x, (x.sizes[1], math.prod(x.sizes[2:]), 1)) if channels_second else x, weight)

    def embedding(self, x, weight, *args, **kwargs):
        if isinstance(x, _Const) and not x.parameters and x.batch is None or isinstance(weight, (_Value, _Aside)):
            return self.constant([weight])
        x = self.value(x)
        x = self.shaped(x, (1, math.prod(x.sizes), 1))
        vocabulary, units = weight.sizes
        shape = (units, x.shape[1], 1)
        return self.made(self.put("embedding", [x], shape, [weight], vocabulary * units, vocabulary=vocabulary, units=units), shape)

    def embedding_bag(self, m, x, offsets=None, per_sample_weights=None):
        x = self.value(x)
        if offsets is not None or per_sample_weights is not None or len(x.sizes) != 2:
            raise _Refusal("other than as many rows for each sample")
        rows = self.inside("rows", lambda: self.embedding(x, self.own(m.weight)), sizes=[*x.sizes, m.embedding_dim])
        return self.made(self.put("global_pool", [rows], (m.embedding_dim, 1, 1)), (m.embedding_dim, 1, 1))

    def convolution(self, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, *, dims=None, module=None):
        dims = dims or len(weight.sizes) - 2
        if dims not in (1, 2):
            raise _Refusal("a convolution over three axes, which is not supported")
        x = self.image(x, dims)
        kernel = [*weight.sizes[2:], 1][:2]
        if weight.sizes[1] * groups != x.shape[0]:
            raise _Refusal(f"weights for {weight.sizes[1] * groups} channels on {x.shape[0]}")
        out = [*self.fact().sizes[1:], 1][:3]
        keys = self.window(x, kernel, stride, padding, dilation, out, dims)
        shape, filters = tuple(out), weight.sizes[0]
        name = self.put("conv", [x], shape, [weight, bias], math.prod(weight.sizes) + (filters if bias is not None else 0), filters=filters,
                        **keys, groups=groups, bias=bias is not None)
        return self.scaled(self.made(name, shape), module)

    def window(self, x, kernel, stride, padding, dilation, out, dims):
        """Keys of a window; zeros at the end make what PyTorch makes of it, with "same", uneven padding and ceil_mode."""
        stride, dilation = _two(stride, dims), _two(dilation, dims)
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
        if padding == "valid":
            padding = 0
        if padding == "same":
            pad = [(r - 1) // 2 for r in reach][:dims] + [0] * (2 - dims)
        else:
            pad = _two(padding, dims, 0)
        top, bottom, left, right = x.zeros or (0, 0, 0, 0)
        pad = [pad[0] + top, pad[1] + left]
        # The end has the zeros that stand there, and what the last window needs.
        end = [max(more, (places - 1) * s + r - size - 2 * p)
               for more, places, s, r, size, p in zip((bottom - top, right - left), out[1:], stride, reach, x.shape[1:], pad)]
        keys = {"kernel": kernel, "stride": stride, "pad": pad}
        if dilation != [1, 1]:
            keys["dilation"] = dilation
        if end != [0, 0]:
            keys["end"] = end
        places = [(size + 2 * p + e - r) // s + 1 for size, p, e, r, s in zip(x.shape[1:], pad, end, reach, stride)]
        if places != list(out[1:]):
            raise _Refusal(f"{places[0]} x {places[1]} places, where PyTorch has {out[1]} x {out[2]}")
        return keys

    def transposed(self, x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1, *, dims=None, module=None):
        dims = dims or len(weight.sizes) - 2
        x = self.image(x, dims)
        if x.zeros:
            raise _Refusal("zeros around its input")
        kernel, stride, pad, dilation = [*weight.sizes[2:], 1][:2], _two(stride, dims), _two(padding, dims, 0), _two(dilation, dims)
        out = [*self.fact().sizes[1:], 1][:3]
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
        end = [(size - 1) * s - 2 * p + r - places for size, s, p, r, places in zip(x.shape[1:], stride, pad, reach, out[1:])]
        keys = {"kernel": kernel, "stride": stride, "pad": pad}
        if dilation != [1, 1]:
            keys["dilation"] = dilation
        if end != [0, 0]:
            keys["end"] = end
        filters = weight.sizes[1] * groups
        name = self.put("transposed_conv", [x], out, [weight, bias], math.prod(weight.sizes) + (filters if bias is not None else 0),
                        filters=filters, **keys, groups=groups, bias=bias is not None)
        return self.scaled(self.made(name, tuple(out)), module)

    def pool(self, x, kind, kernel, stride, padding, dilation, dims):
        x = self.image(x, dims)
        kernel = _two(kernel, dims)
        stride = kernel if stride in (None, [], ()) else _two(stride, dims)
        fact = self.step.fact
        if isinstance(fact, list):  # values and indices
            fact = fact[0]
        out = [*fact.sizes[1:], 1][:3]
        keys = self.window(x, kernel, stride[:dims], padding, _two(dilation, dims)[:dims], out, dims)
        result = self.made(self.put(f"{kind}_pool", [x], out, **keys), tuple(out), fact)
        return (result, _Aside(fact)) if isinstance(self.step.fact, list) else result

    def adaptive(self, x, kind, dims):
        x = self.image(x, dims)
        out = [*self.fact().sizes[1:], 1][:3]
        if out[1:] == [1, 1]:
            return self.made(self.put("global_pool", [x], out), tuple(out))
        stride = [size // places for size, places in zip(x.shape[1:], out[1:])]
        if min(stride) < 1:
            return self.resized(x)
        kernel = [size - (places - 1) * s for size, places, s in zip(x.shape[1:], out[1:], stride)]
        return self.made(self.put(f"{kind}_pool", [x], out, kernel=kernel, stride=stride, pad=0), tuple(out))

    def norm(self, x, weight, bias, kind):
        """(batch, channels, ...)."""
        x = self.value(x)
        self.batch_first(x)
        channels = x.sizes[1]
        shape = (channels, *([*x.sizes[2:], 1, 1][:2] if len(x.sizes) <= 4 else [math.prod(x.sizes[2:]), 1]))
        if x.sizes[0] != 1:  # rows of several places
            shape = (channels, math.prod(x.sizes) // channels, 1)
        return self.normalised(self.shaped(x, shape), weight, bias, kind, channels)

    def normalised(self, x, weight, bias, kind, channels):
        given = [p for p in (weight, bias) if p is not None]
        keys = {key: False for key, p in (("scale", weight), ("shift", bias)) if p is None}
        return self.made(self.put(kind, [x], x.shape, given, channels * len(given), **keys), x.shape)

    def group_norm(self, x, num_groups, weight=None, bias=None, *args, **kwargs):
        return self.norm(x, weight, bias, "layer_norm")

    def layer_norm(self, x, normalized_shape, weight=None, bias=None, *args, **kwargs):
        if isinstance(x, _Const):
            return self.constant([x, weight, bias])
        x = self.value(x)
        channels = math.prod(normalized_shape)
        return self.normalised(self.shaped(x, (channels, math.prod(x.sizes) // channels, 1)), weight, bias, "layer_norm", channels)

    def local_response_norm(self, x, size, *args, **kwargs):
        x = self.value(x)
        return self.made(self.put("local_response_norm", [x], x.shape, size=size), x.shape)

    def pad(self, x, padding, *args, **kwargs):
        x = self.value(x)
        padding = [int(p) for p in (padding if isinstance(padding, (tuple, list)) else [padding] * 4)]
        axes = len(padding) // 2
        rank = len(x.sizes)
        sides = [0] * (2 * rank)
        for i in range(axes):  # from the last axis on
            sides[2 * (rank - 1 - i):2 * (rank - i)] = padding[2 * i:2 * i + 2]
        if not any(sides):
            return x
        self.batch_first(x)
        if rank not in (3, 4) or any(sides[:4]) or min(sides) < 0 or x.zeros:
            raise _Refusal("padding that is not zeros around an image or a sequence")
        top, bottom, left, right = (sides[4:] + [0, 0])[:4]
        shape = (*x.sizes[1:], 1)[:3]
        x = self.shaped(x, shape)
        return _Value(x.layer, shape, self.fact(), (top, bottom, left, right))

    def resized(self, x, *args, **kwargs):
        x, fact = self.value(x), self.fact()
        dims = len(fact.sizes) - 2
        shape = (*fact.sizes[1:], 1)[:3]
        x = self.shaped(x, (*x.sizes[1:], 1)[:3])
        if dims > 2:
            raise _Refusal("three axes")
        return self.made(self.put("resize", [x], shape, channels=shape[0], height=shape[1], width=shape[2]), shape, fact)

    # Recurrent layers.

    def recurrent_module(self, m, x, state=None):
        if getattr(m, "proj_size", 0):
            raise _Refusal("an LSTM with proj_size")
        kind, ways = _RECURRENT[type(m).__name__], 2 if m.bidirectional else 1
        weights = []
        for layer in range(m.num_layers):
            names = [f"{stem}_l{layer}{'_reverse' * way}" for way in range(ways) for stem in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            weights.append([self.own(getattr(m, n)) for n in names if hasattr(m, n)])
        y, h, c = self.recurrent(kind, x, state, weights, m.hidden_size, ways, m.batch_first, m.dropout)
        return (y, (h, c)) if kind == "lstm" else (y, h)

    def recurrent(self, kind, x, state, weights, hidden, ways, batch_first, dropout):
        """Sequences, last states and last cells of layers on layers."""
        x, facts = self.value(x), self.step.fact
        if len(x.sizes) != 3:
            raise _Refusal("a sequence without a batch")
        self.batch_first(x, 0 if batch_first else 1)
        states = [s for s in (state if isinstance(state, (tuple, list)) else [state]) if isinstance(s, _Value)]
        features, biases = x.sizes[2], 2 if len(weights[0]) == 4 * ways else 0
        current = self.shaped(x, (features, math.prod(x.sizes) // features, 1))
        steps, outputs, count = current.shape[1], [], len(weights) * ways
        for i, given in enumerate(weights):
            parts = [self.part(s, i * ways, ways, count) for s in states]
            shape = (hidden * ways, steps, 1)
            size = ways * {"lstm": 4, "gru": 3, "vanilla": 1}[kind] * hidden * (current.shape[0] + hidden + biases)
            name = self.put(kind, [current, *parts], shape, given, size, units=hidden, bidirectional=ways == 2, biases=biases)
            current = _Value(name, shape, x)
            outputs.append(current)
            if dropout and i + 1 < len(weights):
                current = _Value(self.put("dropout", [current], shape), shape, x)
        last = lambda fact: _Later(lambda: self.last_states(outputs, hidden, count, fact))
        flat = list(_flat(facts))
        return _Value(outputs[-1].layer, outputs[-1].shape, flat[0]), last(flat[1]), last(flat[-1])

    def part(self, state, first, ways, count):
        """States of one layer, of (layers x directions, batch, hidden)."""
        hidden = state.sizes[2]
        state = self.shaped(state, (hidden, count, 1) if count > 1 else (hidden, 1, 1))
        if ways < count:
            state = _Value(self.put("slice", [state], (), channels=hidden, height=ways, width=1), (hidden, ways, 1), state)
        return _Value(self.shaped(state, (hidden * ways, 1, 1)).layer, (hidden * ways, 1, 1), state)

    def last_states(self, outputs, hidden, count, fact):
        ends = [_Value(self.put("last_step", [o], (), name=o.layer + "/last"), (o.shape[0], 1, 1), o) for o in outputs]
        shape = (hidden * count, 1, 1)
        end = ends[0] if len(ends) == 1 else _Value(self.put("concat", ends, shape, name=ends[0].layer + "/all"), shape, ends[0])
        return self.shaped(_Value(end.layer, shape, fact), (hidden, count, 1))

    def cell(self, m, x, state=None):
        kind = _RECURRENT[type(m).__name__[:-4]]
        x = self.steps_of(x)
        states = [self.steps_of(s) for s in (state if isinstance(state, (tuple, list)) else [state]) if isinstance(s, _Value)]
        given = [self.own(p) for p in (m.weight_ih, m.weight_hh, m.bias_ih, m.bias_hh) if p is not None]
        biases, hidden, shape = len(given) - 2, m.hidden_size, (m.hidden_size, *x.shape[1:])
        size = {"lstm": 4, "gru": 3, "vanilla": 1}[kind] * hidden * (x.shape[0] + hidden + biases)
        name = self.put(kind, [x, *states], shape, given, size, units=hidden, bidirectional=False, biases=biases)
        results = [_Value(name, shape, fact) for fact in _flat(self.step.fact)]
        return tuple(results) if kind == "lstm" else results[0]

    def aten_recurrent(self, name, x, state, weights, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        kind, ways, given = name if name in ("lstm", "gru") else "vanilla", 2 if bidirectional else 1, (4 if has_biases else 2)
        hidden = weights[1].sizes[1]
        rows = [weights[i * ways * given:(i + 1) * ways * given] for i in range(num_layers)]
        results = self.recurrent(kind, x, state, rows, hidden, ways, batch_first, dropout)
        return results[:3 if kind == "lstm" else 2]

    # Attention.

    def module_MultiheadAttention(self, m, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
                                  is_causal=False):
        facts = self.step.fact
        fact = facts[0] if isinstance(facts, list) else facts
        out = self.attend(m, query, key, value, fact)
        return (out, _Later(lambda: self.no_weights())) if isinstance(facts, list) else out

    def no_weights(self):
        raise _Refusal("the weights of an attention, which no layer makes (need_weights=False)")

    def attend(self, m, query, key, value, fact):
        if m.bias_k is not None or m.add_zero_attn:
            raise _Refusal("add_bias_kv or add_zero_attn")
        width, path = m.embed_dim, self.path
        for v in (query, key, value):
            self.batch_first(self.value(v), 0 if m.batch_first else 1)
        packed = m.in_proj_weight is not None
        if packed and key is query and value is query:
            x = self.steps_of(query)
            shape = (3 * width, *x.shape[1:])
            bias = self.own(m.in_proj_bias)
            name = self.put("dense", [x], shape, [self.own(m.in_proj_weight), bias], 3 * width * width + (0 if bias is None else 3 * width),
                            name=f"{path}.in_proj", units=3 * width, bias=bias is not None)
            projected = self.pieces(_Value(name, shape, x), (width, *x.shape[1:]), "qkv", path)
        else:
            projected = self.projected(m, path, packed, query, key, value)
        shape = projected[0].shape
        context = _Value(self.put("attention", projected, shape, name=path, heads=m.num_heads), shape, fact)
        given = [self.own(m.out_proj.weight)] + ([self.own(m.out_proj.bias)] if m.out_proj.bias is not None else [])
        name = self.put("dense", [context], shape, given, width * width + (width if len(given) > 1 else 0), name=f"{path}.out_proj", units=width,
                        bias=len(given) > 1)
        return _Value(name, shape, fact)

    def projected(self, m, path, packed, query, key, value):
        """Products of each tensor with its rows of the weights; keys and values that are one tensor take theirs together."""
        width = m.embed_dim
        weights, biases = [self.own(w) for w in (m.q_proj_weight, m.k_proj_weight, m.v_proj_weight)], [None] * 3
        if packed:
            weights = self.rows_of(m.in_proj_weight, (width, 2 * width) if key is value else (width,) * 3)
        if m.in_proj_bias is not None:
            biases = self.rows_of(m.in_proj_bias, (width, 2 * width) if packed and key is value else (width,) * 3)
        made = []
        for part, x, weight, bias in zip("qkv", (query, key, value), weights, biases):
            x = self.steps_of(x)
            units = weight.sizes[0]
            shape = (units, *x.shape[1:])
            name = self.put("dense", [x], shape, [weight, bias], math.prod(weight.sizes) + (units if bias is not None else 0),
                            name=f"{path}.{part if units == width else 'kv'}", units=units, bias=bias is not None)
            made += self.pieces(_Value(name, shape, x), (width, *x.shape[1:]), part if units == width else "kv", path)
        return made

    def pieces(self, value, shape, parts, path):
        """Equal slices of a product's units."""
        if len(parts) == 1:
            return [value]
        keys = dict(zip(("channels", "height", "width"), shape))
        return [_Value(self.put("slice", [value], shape, name=f"{path}.{part}", **keys), shape, value) for part in parts]

    def rows_of(self, parameter, counts):
        """Parts of a parameter, which layers of their own have."""
        made, name = [], self.parameters[id(parameter)][0]
        for i, rows in enumerate(counts):
            key, sizes = (id(parameter), i, len(counts)), [rows, *parameter.shape[1:]]
            self.parameters[key] = (f"{name}[{i}]", math.prod(sizes))
            self.whole[key] = id(parameter)
            made.append(_Const(sizes, [key]))
        return made

    def scaled_dot_product_attention(self, query, key, value, *args, **kwargs):
        """(batch, heads, steps, width)."""
        query, key, value = (self.value(v) for v in (query, key, value))
        for v in (query, key, value):
            self.batch_first(v)
        heads = query.sizes[1] if len(query.sizes) == 4 else 1
        if len(query.sizes) not in (3, 4) or query.sizes[0] != 1:
            raise _Refusal("queries of (batch, heads, steps, width)")
        if key.sizes[-3] != query.sizes[-3] and len(query.sizes) == 4:
            raise _Refusal("fewer heads for keys than for queries")
        flat = [self.shaped(v, (heads * v.sizes[-1], v.sizes[-2], 1)) for v in (query, key, value)]
        shape = (flat[2].shape[0], flat[0].shape[1], 1)
        return self.made(self.put("attention", flat, shape, heads=heads), shape)

    def module_TransformerEncoder(self, m, src, mask=None, src_key_padding_mask=None, is_causal=None):
        for i, layer in enumerate(m.layers):
            src = self.inside(f"layers.{i}", lambda: self.module_TransformerEncoderLayer(layer, src))
        return self.normed(m, src)

    def module_TransformerEncoderLayer(self, m, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        return self.transformer(m, src, [(m.self_attn, None, m.norm1)], m.norm2)

    def module_TransformerDecoder(self, m, tgt, memory, *args, **kwargs):
        for i, layer in enumerate(m.layers):
            tgt = self.inside(f"layers.{i}", lambda: self.module_TransformerDecoderLayer(layer, tgt, memory))
        return self.normed(m, tgt)

    def normed(self, m, x):
        self.expected = _sized(x, x.sizes)
        return x if m.norm is None else self.inside("norm", lambda: self.module_kinds("LayerNorm")(m.norm, x))

    def module_TransformerDecoderLayer(self, m, tgt, memory, *args, **kwargs):
        return self.transformer(m, tgt, [(m.self_attn, None, m.norm1), (m.multihead_attn, memory, m.norm2)], m.norm3)

    def module_Transformer(self, m, src, tgt, *args, **kwargs):
        memory = self.inside("encoder", lambda: self.module_TransformerEncoder(m.encoder, src))
        return self.inside("decoder", lambda: self.module_TransformerDecoder(m.decoder, tgt, memory))

    def inside(self, name, make, width=None, sizes=None):
        """What a module inside a module makes; `width`: its last size, where that is another; `sizes`: all of them."""
        outer, kept = self.path, self.expected
        self.path = f"{outer}.{name}"
        if width is not None:
            self.expected = _sized(self.fact(), [*self.fact().sizes[:-1], width])
        if sizes is not None:
            self.expected = _sized(self.fact(), sizes)
        try:
            return make()
        finally:
            self.path, self.expected = outer, kept

    def transformer(self, m, x, attentions, last_norm):
        """Attention, then two products, each with its input added and normalised, before (norm_first) or behind."""
        self.expected = fact = _sized(x, x.sizes)
        linear, norm = self.module_kinds("Linear"), self.module_kinds("LayerNorm")
        first = getattr(m, "norm_first", False)

        def feed(value):
            value = self.inside("linear1", lambda: linear(m.linear1, value), m.linear1.out_features)
            value = self.inside("activation", lambda: self.activation(value, getattr(m.activation, "__name__", type(m.activation).__name__.lower())))
            value = self.inside("dropout", lambda: self.simple("dropout", value)) if m.dropout.p else value
            return self.inside("linear2", lambda: linear(m.linear2, value), m.linear2.out_features)

        def attention(inner, memory):
            return lambda value: self.inside("self_attn" if memory is None else "multihead_attn",
                                             lambda: self.attend(inner, value, *[value if memory is None else memory] * 2, fact))

        blocks = [(attention(inner, memory), after) for inner, memory, after in attentions] + [(feed, last_norm)]
        for i, (block, after) in enumerate(blocks, 1):
            made = block(self.inside(f"norm{i}", lambda: norm(after, x)) if first else x)
            made = self.inside(f"dropout{i}", lambda: self.simple("dropout", made)) if m.dropout.p else made
            x = self.inside(f"add{i}", lambda: self.elementwise("add", [x, made]))
            x = x if first else self.inside(f"norm{i}", lambda: norm(after, x))
        return x

    # Functions, under the names that torch.fx and torch.export have for them.

    def function(self, name, args, kwargs, flat):
        fact = self.step.fact
        if name in ("getitem", "getattr") and isinstance(args[0], (tuple, list)):
            return args[0][{"values": 0, "indices": 1}.get(args[1], args[1])]
        facts = [f for f in _flat(fact) if isinstance(f, _Fact)]
        if not facts:
            return fact
        if not any(isinstance(v, (_Value, _Later)) for v in flat) and name not in ("embedding", "lstm", "gru", "rnn_tanh", "rnn_relu"):
            return self.aside(flat, fact)
        functional = "functional" in (getattr(self.step.node.target, "__module__", None) or "")
        handler = self.handler(name, functional)
        if not facts[0].is_float and name not in _PARTS | _OTHER_SHAPE and name not in ("cat", "stack", "expand"):
            return self.tree(fact, _Aside)
        if handler is None:
            raise _Refusal("an operation that is not supported")
        return handler(*args, **kwargs)

    def aside(self, flat, fact):
        """What is made without the network: of parameters, of constants, of whole numbers."""
        if any(isinstance(v, _Aside) for v in flat):
            return self.tree(fact, _Aside)
        ids = frozenset().union(*(v.parameters for v in flat)) if flat else ()
        return self.tree(fact, lambda f: _Const(f.sizes, ids, f.batch, f.is_float))

    @staticmethod
    def tree(fact, make):
        return [make(f) if isinstance(f, _Fact) else f for f in fact] if isinstance(fact, list) else make(fact)

    def constant(self, values):
        return self.aside([v for v in values if v is not None], self.step.fact)

    def handler(self, name, functional):
        first = (lambda make: lambda *a, **k: self.first_of(make(*a, **k)))
        table = {
            "linear": self.linear, "addmm": lambda b, x, w, **k: self.product_with(self.steps_of(x), w, b, w.sizes[1]),
            "embedding": self.embedding if functional else lambda w, x, *a, **k: self.embedding(x, w),
            "convolution": lambda x, w, b, stride, pad, dilation, turned, out, groups, *a: (self.transposed(x, w, b, stride, pad, out, groups, dilation)
                                                                                      if turned else self.convolution(x, w, b, stride, pad, dilation, groups)),
            "batch_norm": (lambda x, mean, var, w=None, b=None, *a, **k: self.norm(x, w, b, "batch_norm")) if functional else
                          (lambda x, w=None, b=None, *a, **k: self.norm(x, w, b, "batch_norm")),
            "instance_norm": (lambda x, mean=None, var=None, w=None, b=None, *a, weight=None, bias=None, **k: self.norm(x, w or weight, b or bias, "layer_norm"))
                             if functional else (lambda x, w=None, b=None, *a, **k: self.norm(x, w, b, "layer_norm")),
            "layer_norm": self.layer_norm, "native_layer_norm": first(self.layer_norm),
            "group_norm": self.group_norm, "native_group_norm": first(lambda x, w, b, *a: self.norm(x, w, b, "layer_norm")),
            "rms_norm": lambda x, shape, w=None, *a, **k: self.layer_norm(x, shape, w),
            "local_response_norm": self.local_response_norm, "pad": self.pad, "constant_pad_nd": self.pad, "zero_pad2d": self.pad,
            "lstm": self.aten_call("lstm"), "gru": self.aten_call("gru"), "rnn_tanh": self.aten_call("vanilla"), "rnn_relu": self.aten_call("vanilla"),
            "scaled_dot_product_attention": self.scaled_dot_product_attention,
            "einsum": self.einsum, "cat": self.concat, "concat": self.concat, "concatenate": self.concat, "stack": self.stack, "glu": self.glu, "prelu": self.prelu,
            "native_dropout": first(lambda x, *a: self.simple("dropout", x)), "cosine_similarity": self.compared, "pairwise_distance": self.compared,
            "expand": self.expand, "expand_as": self.expand, "broadcast_to": self.expand, "getattr": lambda x, *a: self.reshaped(x),
            "repeat": self.repeated, "tile": self.repeated, "repeat_interleave": self.repeated,
            "roll": self.moved, "flip": self.moved, "normalize": lambda x, *a, **k: self.activation(x, "gelu"),
            "pow": lambda x, *a: self.activation(x, "gelu"), "detach": self.same, "argmax": self.same,
            "linalg_vector_norm": lambda x, order=2, dim=None, keepdim=False, **k: self.reduced(x, dim, keepdim),
            "norm": lambda x, order=2, dim=None, keepdim=False, **k: self.reduced(x, dim, keepdim),
            "masked_fill": lambda x, *a, **k: self.activation(x, "gelu"),
            "where": lambda condition, a, b: self.elementwise("add", [a, b], "gelu"),
        }
        if name in table:
            return table[name]
        dims = {"1d": 1, "2d": 2}.get(name[-2:])
        if name in ("conv1d", "conv2d"):
            return self.convolution
        if name in ("conv_transpose1d", "conv_transpose2d"):
            return self.transposed
        if name in ("max_pool1d", "max_pool2d", "max_pool2d_with_indices"):
            return lambda x, kernel_size, stride=None, padding=0, dilation=1, *a, **k: self.pool(x, "max", kernel_size, stride, padding, dilation, dims or 2)
        if name in ("avg_pool1d", "avg_pool2d"):
            return lambda x, kernel_size, stride=None, padding=0, *a, **k: self.pool(x, "average", kernel_size, stride, padding, 1, dims)
        if dims and name.lstrip("_").startswith(("adaptive_avg_pool", "adaptive_max_pool")):
            return lambda x, *a, **k: self.adaptive(x, "max" if "max" in name else "average", dims)
        if name == "interpolate" or name.startswith(("upsample", "_upsample")):
            return self.resized
        if "batch_norm" in name:  # native_batch_norm, _native_batch_norm_legit_functional, ...
            return first(lambda x, w=None, b=None, *a, **k: self.norm(x, w, b, "batch_norm"))
        if "dropout" in name:
            return self.dropout
        if name in ("matmul", "mm", "bmm", "__matmul__", "__rmatmul__"):
            return self.matmul
        if name in ("add", "sub", "iadd", "isub", "__radd__", "subtract", "maximum", "minimum", "rsub"):
            return lambda a, b, **k: self.elementwise("add", [a, b])
        if name in ("mul", "imul", "div", "truediv", "itruediv", "multiply", "divide", "true_divide"):
            return lambda a, b, **k: self.elementwise("multiply", [a, b])
        if name in ("max", "min") or name in _REDUCTIONS:
            return lambda x, dim=None, keepdim=False, **k: self.reduced(x, dim, keepdim, **k)
        if name in _LOSSES:
            return self.loss
        if name in _PARTS:
            return lambda x, *a, **k: self.part_of(name, x, *a, **k)
        if name in _IN_PLACE or name in _FROM_INPUT:
            return lambda x, *a, **k: self.activation(x, name)
        if name in _OTHER_SHAPE:
            return lambda x, *a, **k: self.reshaped(x)
        return self.same if name in _SAME_SHAPE else None

    def first_of(self, value):
        """Behind a layer's result stand statistics and masks."""
        return [value, *[_Aside(f) for f in self.step.fact[1:]]]

    def aten_call(self, name):
        return lambda *args, **kwargs: self.aten_recurrent(name, *args, **kwargs)

    def same(self, x, *args, **kwargs):
        return _Value(self.value(x).layer, self.value(x).shape, self.fact(), self.value(x).zeros)

    def simple(self, kind, x):
        x = self.value(x)
        return _Value(self.put(kind, [self.shaped(x, x.shape)], x.shape), x.shape, x)

    def activation(self, x, name):
        """Numbers become others one by one; "relu" where the gradient follows from the result, else "gelu"."""
        return self.simple("relu" if name in _IN_PLACE else "gelu", x)

    def dropout(self, x, p=0.5, training=True, *args, **kwargs):
        training = kwargs.get("train", training)
        return self.same(x) if not training or not p else self.simple("dropout", x)

    def loss(self, x, *targets, **kwargs):
        self.used.update(v.layer for v in _tensors(targets) if isinstance(v, _Value))
        x = self.value(x)
        return _Value(self.put("loss", [x], x.shape), (1, *x.shape[1:]), self.fact())

    def reshaped(self, x):
        x, fact = self.value(x), self.fact()
        if fact.copied and fact.is_float and math.prod(fact.sizes) > 1:
            others = [n for i, n in enumerate(fact.sizes) if i != fact.batch]
            shape = self.natural(others) if len(others) <= 3 else x.shape
            return _Value(self.shaped(x, shape, moves=True).layer, shape, fact)
        return _Value(x.layer, x.shape, fact, x.zeros)

    def moved(self, x, *args, **kwargs):
        x = self.value(x)
        return _Value(self.shaped(x, x.shape, moves=True).layer, x.shape, self.fact())

    def elementwise(self, kind, operands, alone=None):
        """Of two tensors; beside numbers, masks and constants the other passes at no cost."""
        operands = [v.made() if isinstance(v, _Later) else v for v in operands]
        values = [v for v in operands if isinstance(v, _Value) or isinstance(v, _Const) and v.parameters or isinstance(v, _Aside) and v.is_float]
        fact = self.fact()
        if alone and len(values) == 1:
            values = [self.activation(values[0], alone)]
        if len(values) == 1:
            x = self.value(values[0])
            if math.prod(x.sizes) == math.prod(fact.sizes):
                return _Value(x.layer, x.shape, fact, x.zeros)
            return self.grown(x, fact)
        values = [v if isinstance(v, _Value) else self.value(v) for v in values]  # a repeated one need not be copied
        rank = max(len(v.sizes) for v in values)
        sizes = [max(sides) for sides in zip(*[[1] * (rank - len(v.sizes)) + v.sizes for v in values])]
        values, _ = self.aligned(values, whole=False)
        shape = tuple(max(sides) for sides in zip(*[v.shape for v in values]))
        made = _Value(self.put(kind, values, shape), shape, _sized(fact, sizes))
        return self.grown(made, fact) if math.prod(sizes) != math.prod(fact.sizes) else _Value(made.layer, shape, fact)

    def grown(self, x, fact):
        """Repeated along some axes."""
        rank = max(len(x.sizes), len(fact.sizes))
        (small, large), _ = self.arranged([[1] * (rank - len(s)) + list(s) for s in (x.sizes, fact.sizes)], [x.shape, None])
        x = self.shaped(x, small)
        return self.made(self.put("resize", [x], large, channels=large[0], height=large[1], width=large[2]), large, fact)

    def expand(self, x, *args, **kwargs):
        x, fact = self.value(x), self.fact()
        result = _Value(x.layer, x.shape, x)
        result.sizes = [1] * (len(fact.sizes) - len(x.sizes)) + x.sizes
        result.batch = fact.batch
        if math.prod(fact.sizes) != math.prod(x.sizes):
            result.full = fact
        return result

    def copied(self, value):
        plain = _Value(value.layer, value.shape, value)
        return self.grown(plain, value.full)

    def repeated(self, x, *args, **kwargs):
        x, fact = self.value(x), self.fact()
        if math.prod(fact.sizes) == math.prod(x.sizes):
            return _Value(x.layer, x.shape, fact)
        rank = len(fact.sizes)
        sizes = [1] * (rank - len(x.sizes)) + x.sizes
        (small, large), _ = self.arranged([sizes, fact.sizes], [x.shape, None])
        return self.made(self.put("resize", [self.shaped(x, small)], large, channels=large[0], height=large[1], width=large[2]), large, fact)

    def concat(self, tensors, dim=0, axis=None):
        dim = dim if axis is None else axis
        values = [self.value(v) for v in tensors]
        if len(values) == 1:
            return self.same(values[0])
        dim = dim + len(values[0].sizes) if dim < 0 else dim
        if dim in {v.batch for v in values}:
            raise _Refusal("tensors one behind the other along the batch")
        values, place = self.aligned(values, dim)
        shape = list(values[0].shape)
        shape[place] = sum(v.shape[place] for v in values)
        axis = ("channels", "height", "width")[place]
        return self.made(self.put("concat", values, shape, **({} if place == 0 else {"axis": axis})), tuple(shape))

    def stack(self, tensors, dim=0):
        values = []
        for v in map(self.value, tensors):
            one = _Value(v.layer, v.shape, v, v.zeros)
            at = dim + len(v.sizes) + 1 if dim < 0 else dim
            one.sizes = [*v.sizes[:at], 1, *v.sizes[at:]]
            one.batch = v.batch if v.batch is None or v.batch < at else v.batch + 1
            values.append(one)
        return self.concat(values, dim)

    def glu(self, x, dim=-1):
        x = self.value(x)
        halves = [self.cut(x, list(self.fact().sizes), self.fact()) for _ in range(2)]
        gate = self.activation(halves[1], "sigmoid")
        return self.elementwise("multiply", [halves[0], gate])

    def compared(self, a, b, *args, **kwargs):
        """A number for each pair of vectors."""
        values, _ = self.aligned([self.value(a), self.value(b)])
        shape = tuple(max(sides) for sides in zip(*[v.shape for v in values]))
        product = self.put("multiply", values, shape)
        rows = math.prod(self.fact().sizes)
        return _Value(self.put("reduce", [_Value(product, shape, values[0])], (), channels=1, height=rows, width=1), (1, rows, 1), self.fact())

    def part_of(self, name, x, *args, **kwargs):
        """Some places of some axes. Parts that nothing uses are not written."""
        x, fact = self.value(x), self.step.fact
        if name == "getitem":
            return self.item(x, args[0], fact)
        dim = kwargs.get("dim", {"split": 1, "chunk": 1, "split_with_sizes": 1, "unsafe_chunk": 1, "unsafe_split": 1, "tensor_split": 1}.get(name, 0))
        dim = args[dim] if isinstance(dim, int) and "dim" not in kwargs and len(args) > dim else dim if "dim" in kwargs else 0
        dim = dim + len(x.sizes) if dim < 0 else dim
        facts = fact if isinstance(fact, list) else [fact]
        if any(one.batch is None for one in facts) or dim == x.batch and (name in ("select", "unbind") or facts[0].sizes[dim] != x.sizes[dim]):
            raise _Refusal("a part of the batch")
        made = []
        for i, one in enumerate(facts):
            kept = list(x.sizes)
            kept[dim] = 1 if name in ("select", "unbind") else one.sizes[dim]
            index = args[1] if name == "select" and len(args) > 1 else i - len(facts) if name == "unbind" else None
            last = kept[dim] == 1 and index in (-1, x.sizes[dim] - 1)
            made.append(_Later(lambda kept=kept, one=one, last=last: self.cut(x, kept, one, last)))
        return made if isinstance(fact, list) else made[0].made()

    def item(self, x, index, fact):
        """x[index], by its numbers, slices, None and "..."."""
        index = list(index) if isinstance(index, (tuple, list)) else [index]
        if any(isinstance(one, (_Value, _Aside, _Later)) for one in index):
            raise _Refusal("an index that the input makes")
        taken = sum(one is not None and one is not Ellipsis for one in index)
        at = index.index(Ellipsis) if Ellipsis in index else len(index)
        index[at:at + 1] = [slice(None)] * (len(x.sizes) - taken)
        kept, axis, cuts = list(x.sizes), 0, []
        sizes = iter(fact.sizes)
        for one in index:
            if one is None:
                next(sizes)
                continue
            if isinstance(one, slice):
                kept[axis] = next(sizes)
            elif isinstance(one, int):
                kept[axis] = 1
            else:
                raise _Refusal("an index that is no number and no slice")
            if kept[axis] != x.sizes[axis] or axis == x.batch and isinstance(one, int):
                cuts.append((axis, one))
            axis += 1
        if any(axis == x.batch for axis, _ in cuts):
            raise _Refusal("a part of the batch")
        last = len(cuts) == 1 and kept[cuts[0][0]] == 1 and (cuts[0][1] in (-1, x.sizes[cuts[0][0]] - 1) or cuts[0][1] == slice(-1, None, None))
        return self.cut(x, kept, fact, last)

    def cut(self, x, kept, fact, last=False):
        """A part; `kept` are its sizes with all axes of the whole."""
        if math.prod(kept) == math.prod(x.sizes):
            return _Value(x.layer, x.shape, fact, x.zeros)
        (whole, part), _ = self.arranged([x.sizes, kept], [x.shape, None])
        x = self.shaped(x, whole)
        if last and whole[2] == 1 and part == (whole[0], 1, 1):
            return self.made(self.put("last_step", [x], part), part, fact)
        return self.made(self.put("slice", [x], part, channels=part[0], height=part[1], width=part[2]), part, fact)

    def reduced(self, x, dim=None, keepdim=False, axis=None, keepdims=None, **kwargs):
        """A mean, sum or maximum over axes."""
        if isinstance(dim, (_Value, _Const, _Later)):  # torch.max(a, b)
            return self.elementwise("add", [x, dim])
        x, fact = self.value(x), self.fact()
        if self.layer(x.layer)["type"] == "loss":
            return _Value(x.layer, x.shape, x)
        dims = range(len(x.sizes)) if dim is None else dim if isinstance(dim, (tuple, list)) else [dim]
        dims = [d + len(x.sizes) if d < 0 else d for d in dims] or range(len(x.sizes))
        if x.batch in dims or fact.batch is None:
            raise _Refusal("one result for the whole batch")
        kept = [1 if i in dims else n for i, n in enumerate(x.sizes)]
        result = self.fact()
        if math.prod(kept) == math.prod(x.sizes):
            made = _Value(x.layer, x.shape, result)
        else:
            (whole, part), _ = self.arranged([x.sizes, kept], [x.shape, None])
            x = self.shaped(x, whole)
            if part == (whole[0], 1, 1):
                made = self.made(self.put("global_pool", [x], part), part, result)
            else:
                made = self.made(self.put("reduce", [x], part, channels=part[0], height=part[1], width=part[2]), part, result)
        return [made, *[_Aside(f) for f in self.step.fact[1:]]] if isinstance(self.step.fact, list) else made

    def matmul(self, a, b):
        if isinstance(b, _Const):
            if len(b.sizes) != 2:
                raise _Refusal("a product with weights of more than two axes")
            return self.product_with(self.steps_of(a), b, None, b.sizes[1])
        if isinstance(a, _Const):
            return self.left_product(a, self.value(b))
        a, b = self.value(a), self.value(b)
        if min(len(a.sizes), len(b.sizes)) < 3 or a.batch is None or b.batch is None or max(a.batch - len(a.sizes), b.batch - len(b.sizes)) >= -2:
            raise _Refusal("a matrix product across the batch")
        (m, k), n = a.sizes[-2:], b.sizes[-1]
        groups = math.prod(a.sizes[:-2]), math.prod(b.sizes[:-2])
        if groups[0] != groups[1]:
            if groups[1] != 1:
                raise _Refusal("a product of other numbers of matrices")
            m, groups = m * groups[0], (1, 1)
        left, right = self.shaped(a, (groups[0], m, k)), self.shaped(b, (groups[0], k, n))
        return self.made(self.put("product", [left, right], (groups[0], m, n)), (groups[0], m, n))

    def einsum(self, equation, *operands):
        """Of two tensors, or of one and weights: axes of both are summed, or matrices of their own where the result has them."""
        operands = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else list(operands)
        terms, _, result = equation.replace(" ", "").partition("->")
        terms = terms.split(",")
        if len(operands) != 2 or len(terms) != 2 or not result or "." in equation or any(len(set(t)) != len(t) for t in terms):
            raise _Refusal("an einsum of other than two tensors with named axes")
        if isinstance(operands[0], _Const):
            operands, terms = operands[::-1], terms[::-1]
        (a, b), (left, right) = operands, terms
        sides = dict(zip(left + right, list(self.value(a).sizes) + list(b.sizes if isinstance(b, _Const) else self.value(b).sizes)))

        def size(letters):
            return math.prod(sides[letter] for letter in letters)

        both = [letter for letter in left if letter in right]
        groups, summed = [x for x in both if x in result], [x for x in both if x not in result]
        rows, columns = [x for x in left if x not in right], [x for x in right if x not in left]
        if not set(rows + columns) <= set(result) or not summed:
            raise _Refusal("an einsum that is no matrix product")
        if isinstance(b, _Const):
            if groups:
                raise _Refusal("an einsum with weights for each place")
            x = self.shaped(self.value(a), (size(summed), size(rows), 1))
            return self.product_with(x, b, None, size(columns))
        if self.value(a).batch is None or left[self.value(a).batch] not in groups:
            raise _Refusal("a matrix product across the batch")
        shape = (size(groups), size(rows), size(columns))
        return self.made(self.put("product", [self.shaped(self.value(a), (shape[0], shape[1], size(summed))),
                                              self.shaped(self.value(b), (shape[0], size(summed), shape[2]))], shape), shape)

    def left_product(self, weight, x):
        """Weights (m, k) times (batch, k, n): a product at each of n places."""
        if len(weight.sizes) != 2 or len(x.sizes) != 3 or x.batch != 0:
            raise _Refusal("a product of weights with other than (batch, k, n)")
        x = self.shaped(x, (x.sizes[1], x.sizes[2], 1))
        return self.product_with(x, weight, None, weight.sizes[0])


def _sized(fact, sizes):
    made = object.__new__(_Fact)
    made.sizes, made.batch, made.is_float, made.copied = list(sizes), fact.batch, fact.is_float, False
    return made


# The command line.


def _example(texts):
    """Tensors of --input SIZES[:TYPE] or NAME=SIZES[:TYPE], a sample's sizes; the batch is put in."""
    args, kwargs = [], {}
    for text in texts:
        name, _, rest = text.rpartition("=")
        sizes, _, dtype = rest.partition(":")
        try:
            sizes = [int(size) for size in sizes.split(",") if size.strip()]
            kind = getattr(torch, dtype or "float32")
        except (ValueError, AttributeError):
            raise NotSupported(f"--input {text}: sizes of one sample are expected, such as 3,224,224, or 128:int64 for 128 tokens") from None
        sizes.insert(0, 2)
        made = torch.rand(sizes).to(kind) if kind.is_floating_point else torch.zeros(sizes, dtype=kind)
        if name:
            kwargs[name] = made
        else:
            args.append(made)
    return _Inputs({**dict(enumerate(args)), **kwargs}, in_front=True)


def _module(text, arguments):
    """FILE.py:NAME or PACKAGE:NAME: a class, a function that makes a module, or a module."""
    where, _, name = text.rpartition(":")
    if not where:
        raise NotSupported(f"{text}: expected FILE.py:NAME or PACKAGE:NAME")
    if where.endswith(".py"):
        if not Path(where).is_file():
            raise NotSupported(f"{where}: no such file")
        sys.path.insert(0, str(Path(where).resolve().parent))
        spec = importlib.util.spec_from_file_location(Path(where).stem, where)
        source = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = source
        spec.loader.exec_module(source)
    else:
        source = importlib.import_module(where)
    if not hasattr(source, name):
        raise NotSupported(f"{where} has no {name}")
    found = getattr(source, name)
    made = found if isinstance(found, torch.nn.Module) else found(**arguments)
    if not isinstance(made, torch.nn.Module):
        raise NotSupported(f"{text} is no torch.nn.Module and makes none")
    return made


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="rehearse_torch.py", description="Write the layers of a PyTorch module as a file that Rehearse reads.",
                                     epilog="example: python3 rehearse_torch.py my_model.py:Net --input 3,224,224 -o net.json && rehearse rent net.json")
    parser.add_argument("module", help="FILE.py:NAME or PACKAGE:NAME, of a class, of a function that makes a module, or of a module")
    parser.add_argument("--input", action="append", required=True, metavar="[NAME=]SIZES[:TYPE]",
                        help="sizes of one sample of an input, without the batch: 3,224,224; 128:int64 for tokens; mask=128:bool for an argument by "
                             "name. Once for each input, in order")
    parser.add_argument("--with", dest="arguments", type=json.loads, default={}, metavar="JSON", help="arguments of the class: '{\"classes\": 10}'")
    parser.add_argument("--batch-axis", type=int, choices=(0, 1), help="where the batch is in the inputs: 0 in front, 1 behind the steps (default: found)")
    parser.add_argument("--name", help="of the network (default: the class's)")
    parser.add_argument("-o", "--output", default="net.json", help="the file to write (default: net.json)")
    given = parser.parse_args(arguments)
    try:
        _require_torch()
        module = _module(given.module, given.arguments).train()
        found = write(module, _example(given.input), given.output, name=given.name, batch_axis=given.batch_axis)
    except NotSupported as error:
        sys.exit(f"rehearse_torch: {error}")
    print(f"{given.output}: {len(found['layers'])} layers, {found['parameters']:,} weights")


if __name__ == "__main__":
    main()
