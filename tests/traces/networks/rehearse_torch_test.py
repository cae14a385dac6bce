"""python/rehearse_torch.py: what Rehearse reads of the files that it writes, against the live modules.

Usage: rehearse_torch_test.py REHEARSE SOURCE_FOLDER. Exit 77 where there is no PyTorch.
"""

import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

REHEARSE, SOURCE = sys.argv[1], Path(sys.argv[2])
del sys.argv[1:3]
SCRIPT = SOURCE / "python" / "rehearse_torch.py"
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "tests" / "traces" / "networks")]

try:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
except ImportError:
    print("PyTorch is not installed")
    sys.exit(77)

import rehearse_torch
import torch_models


class Products(TorchDispatchMode):
    """Multiply-adds of the operations that PyTorch runs, recurrent layers and attention taken apart."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        name = str(function).split(".")[1]
        if name == "convolution":
            turned = args[6]
            self.count += (args[0] if turned else out).numel() * args[1][0].numel()
        elif name == "addmm":
            self.count += args[1].numel() * args[2].shape[1]
        elif name == "baddbmm":
            self.count += args[1].numel() * args[2].shape[2]
        elif name in ("mm", "bmm"):
            self.count += args[0].numel() * args[1].shape[-1]
        return out


def ran(module, example):
    """Multiply-adds of one sample; the examples have two."""
    args, kwargs = ((), example) if isinstance(example, dict) else (example if isinstance(example, tuple) else (example,), {})
    with torch.no_grad(), Products() as products:
        module(*args, **kwargs)
    return products.count / 2


def parameters(module):
    return sum(p.numel() for p in module.parameters())


def written(module, example, **options):
    with contextlib.redirect_stderr(io.StringIO()) as notes:
        found = rehearse_torch.layers(module, example, **options)
    return found, notes.getvalue()


def read(path):
    """Weights and multiply-adds that Rehearse reads."""
    done = subprocess.run([REHEARSE, "graph", str(path)], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)
    weights, products = re.search(r"^all +([\d,]+) +([\d,]+)$", done.stdout, re.M).groups()
    return int(weights.replace(",", "")), int(products.replace(",", ""))


def recorded(graph, args):
    """Nodes of a graph that know what they make, as the script's own tracer leaves them."""
    class Recorder(torch.fx.Interpreter):
        def run_node(self, node):
            result = super().run_node(node)
            node.meta["rehearse"] = result
            node.meta["rehearse_copied"] = str(node.target).startswith("aten.clone")
            return result

    with torch.no_grad():
        Recorder(graph).run(*args)
    return list(graph.graph.nodes)


class Networks(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name) / "net.json"

    def test_weights_and_products(self):
        for name, (module, example) in torch_models.cases().items():
            with self.subTest(name), contextlib.redirect_stderr(io.StringIO()):
                rehearse_torch.write(module, example, self.path)
                self.assertEqual(read(self.path), (parameters(module), ran(module, example)))

    def test_the_operations_of_torch_export(self):
        """ATen's operations, as make_fx has them, are read like those that torch.fx names."""
        from torch.fx.experimental.proxy_tensor import make_fx

        for name in ("shuffle", "vision", "windows"):
            module, example = torch_models.cases()[name]
            example = example if isinstance(example, tuple) else (example,)
            with self.subTest(name):
                plain = rehearse_torch.layers(module, example)
                inputs = rehearse_torch._Inputs(example)
                runs = []
                for samples in (2, 3):
                    args, _ = inputs.with_batch(samples, (0,) * len(example))
                    runs.append(recorded(make_fx(module)(*args), args))
                aten = rehearse_torch._Network(module, inputs).read(rehearse_torch._steps(module, *runs), "aten")
                products = ("conv", "dense", "transposed_conv", "product", "attention")
                self.assertEqual([layer["type"] for layer in aten["layers"] if layer["type"] in products],
                                 [layer["type"] for layer in plain["layers"] if layer["type"] in products])
                self.assertEqual(aten["parameters"], plain["parameters"])

    def test_a_running_module_stays_as_it_is(self):
        module, example = torch_models.cases()["residual"]
        before = {name: value.clone() for name, value in module.state_dict().items()}
        written(module, example)
        for name, value in module.state_dict().items():
            self.assertTrue(torch.equal(value, before[name]), name)

    def test_the_batch(self):
        """It is found whatever its size; where it stands can be said."""
        module = torch_models.StepsFirst()
        for example in (torch.rand(35, 1, 128), torch.rand(35, 35, 128)):
            self.assertEqual(written(module, example)[0]["layers"][0], {"name": "input_0", "type": "input", "channels": 128, "height": 35, "width": 1})
        with self.assertRaisesRegex(rehearse_torch.NotSupported, "takes the batch on axis 1"):
            written(module, torch.rand(35, 2, 128), batch_axis=0)

    def test_results(self):
        """A loss behind each, none behind states that are returned too."""
        found, _ = written(*torch_models.cases()["two heads"])
        self.assertEqual([layer["inputs"] for layer in found["layers"] if layer["type"] == "loss"], [["first"], ["second"]])
        found, _ = written(torch.nn.LSTM(8, 4, batch_first=True), torch.rand(2, 5, 8))
        self.assertEqual([layer["type"] for layer in found["layers"]], ["input", "lstm", "loss"])

    def test_what_nothing_uses_is_named(self):
        class Dead(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.c = (torch.nn.Linear(4, 4) for _ in range(3))

            def forward(self, x):
                self.b(x)
                return self.a(x)

        found, notes = written(Dead(), torch.rand(2, 4))
        self.assertIn("b", [layer["name"] for layer in found["layers"]])
        self.assertIn("nothing uses what b (dense) makes", notes)
        self.assertIn("forward does not use c.weight", notes)

    def test_refusals(self):
        with self.assertRaises(rehearse_torch.NotSupported) as refused:
            written(torch_models.Unsupported(), torch.rand(2, 1, 6, 6, 6))
        self.assertIn("parts.0 (Conv3d)", str(refused.exception))
        self.assertIn("fft_fft", str(refused.exception))
        with self.assertRaisesRegex(rehearse_torch.NotSupported, "torch.fx cannot follow Conditional.forward"):
            written(torch_models.Conditional(), torch.rand(2, 8))
        with self.assertRaisesRegex(rehearse_torch.NotSupported, "rnn \\(LSTM\\): an LSTM with proj_size"):
            written(Holder(torch.nn.LSTM(8, 4, proj_size=2, batch_first=True)), torch.rand(2, 5, 8))


class Holder(torch.nn.Module):
    def __init__(self, rnn):
        super().__init__()
        self.rnn = rnn

    def forward(self, x):
        return self.rnn(x)[0]


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = Path(self.folder.name) / "net.json"

    def run_script(self, *arguments, python=(sys.executable, "-B")):
        return subprocess.run([*python, str(SCRIPT), *arguments], capture_output=True, text=True)

    def test_writes_a_file(self):
        models = str(SOURCE / "tests" / "traces" / "networks" / "torch_models.py")
        done = self.run_script(f"{models}:Residual", "--input", "3,64,64", "-o", str(self.out))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        module = torch_models.Residual()
        self.assertEqual(done.stdout, f"{self.out}: 33 layers, {parameters(module):,} weights\n")
        self.assertTrue(json.loads(self.out.read_text())["only_costs"])
        self.assertEqual(read(self.out)[0], parameters(module))
        # Steps first: the sizes are those of one sample.
        self.run_script(f"{models}:StepsFirst", "--input", "35,128", "-o", str(self.out))
        self.assertEqual(read(self.out), (parameters(torch_models.StepsFirst()), 35 * 1024 * 384 + 2560))
        # Arguments by name, tokens, and those of the class.
        done = self.run_script(f"{models}:Cross", "--input", "tokens=11:int64", "--input", "memory=6,32", "-o", str(self.out))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.run_script(f"{models}:Encoder", "--input", "32:int64", "--with", '{"norm_first": true}', "--name", "mine", "-o", str(self.out))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(self.out.read_text())["name"], "mine")

    def test_mistakes(self):
        models = str(SOURCE / "tests" / "traces" / "networks" / "torch_models.py")
        for arguments, words in ((("nowhere.py:Net", "--input", "3"), "nowhere.py: no such file"), ((models + ":Net", "--input", "3"), "has no Net"),
                                 ((models, "--input", "3"), "expected FILE.py:NAME"), ((models + ":Residual", "--input", "a"), "sizes of one sample"),
                                 ((models + ":Residual", "--input", "3,64"), "rehearse_torch: "), ((models + ":image", "--input", "3"), "no torch.nn.Module")):
            done = self.run_script(*arguments, "-o", str(self.out))
            self.assertNotEqual(done.returncode, 0, arguments)
            self.assertIn(words, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
        self.assertFalse(self.out.exists())

    def test_without_torch(self):
        """A sentence, and the help works."""
        hidden = (sys.executable, "-c", "import sys, runpy; sys.modules['torch'] = None; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')")
        done = self.run_script("a.py:Net", "--input", "3", python=hidden)
        self.assertIn("needs PyTorch in the Python that runs it", done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        self.assertIn("3,224,224", self.run_script("--help", python=hidden).stdout)


if __name__ == "__main__":
    unittest.main()
