"""traces/measure/measure.py as a user meets it: what it says, what it refuses, and that its rows are what `rehearse` reads.

Usage: measure_test.py REHEARSE SOURCE_DIR plain|torch. Exit status 77: PyTorch is missing, and `torch` was asked for.
"""
import csv
import json
import importlib.util
import os
import resource
import subprocess
import sys
import tempfile
import unittest

REHEARSE, SOURCE = sys.argv[1:3]
MEASURE = os.path.join(SOURCE, "traces", "measure", "measure.py")
RESULTS = os.path.join(SOURCE, "traces", "measure", "results")
CATALOGUE = os.path.join(RESULTS, "catalogue.json")


def run(*command, memory=None, **environment):
    def limit():
        if memory:
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, preexec_fn=limit, check=False)


def measure(*arguments, **more):
    return run(sys.executable, MEASURE, *arguments, **more)


def rehearse(*arguments):
    return run(REHEARSE, *arguments)


class Plain(unittest.TestCase):
    """Needs no PyTorch."""

    def test_help_names_every_option(self):
        answer = measure("--help")
        self.assertEqual(answer.returncode, 0)
        for option in ("--models", "--ops", "--batches", "--threads", "--device", "--name", "--seconds", "--rounds", "--out", "--list",
                       "--count", "--system-malloc"):
            self.assertIn(option, answer.stdout)

    def test_lists_models_of_the_zoo(self):
        answer = measure("--list")
        self.assertEqual(answer.returncode, 0)
        zoo = {entry["model"] for entry in json.loads(rehearse("list", "models", "--json").stdout)}
        listed = {line.split()[0] for line in answer.stdout.split("\n\n")[0].splitlines()[1:]}
        self.assertLessEqual({"resnet18", "resnet34", "resnet50", "vgg16", "alexnet", "rnnlm", "dcgan"}, listed)
        self.assertLessEqual(listed, zoo)

    def test_mistakes_are_named(self):
        for arguments, said in ((["--models", "resnet81"], '"resnet81" is not a model that can be measured (did you mean "resnet18"?)'),
                                (["--models", "vgg16/ptb"], 'vgg16 has no samples of "ptb" (known: imagenet)'),
                                (["--ops", "gem"], '(did you mean "gemm"?)'),
                                (["--models", "vgg16", "--batches", "8,0"], '"8,0" is not a list of whole numbers'),
                                (["--ops", "--seconds", "nan"], "between 0 and 3600"),
                                (["--ops", "--device", "tpu"], '"tpu" is none of cpu'),
                                (["--ops", "--device", "cuda", "--threads", "2"], "only a CPU has threads"),
                                ([], "say what to measure")):
            answer = measure(*arguments)
            self.assertEqual(answer.returncode, 2, arguments)
            self.assertIn(said, answer.stderr)

    def test_says_that_pytorch_is_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as file:
                file.write("raise ImportError('no torch here')\n")
            answer = measure("--ops", "gemm", PYTHONPATH=folder)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("PyTorch is missing (no torch here)", answer.stderr)
        self.assertNotIn("Traceback", answer.stderr)

    def test_kept_results_are_read_whole(self):
        for name in ("steps.csv", "ops.csv"):
            path = os.path.join(RESULTS, name)
            with open(path, encoding="utf-8") as file:
                rows = sum(1 for _ in csv.DictReader(file))
            answer = rehearse("validate", path, "--catalogue", CATALOGUE)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            self.assertIn(f"{rows} measurements, {rows} used\n", answer.stdout)
            self.assertNotIn("warning", answer.stderr)


class WithTorch(unittest.TestCase):
    def test_networks_are_those_of_the_zoo(self):
        zoo = {entry["model"]: entry for entry in json.loads(rehearse("list", "models", "--json").stdout)}
        answer = measure("--count")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        counted = [line.split() for line in answer.stdout.splitlines()[1:]]
        self.assertGreater(len(counted), 10)
        for model, dataset, parameters, gflop in counted:
            self.assertEqual(dataset, zoo[model]["dataset"])
            self.assertAlmostEqual(int(parameters) / 1e6, zoo[model]["parameters_millions"], delta=0.005, msg=model)
            self.assertAlmostEqual(float(gflop), zoo[model]["forward_gflop"], delta=0.006, msg=model)
        # ResNet-18 with the 3 x 3 stem: 11,173,962 parameters and 0.556 G multiply-adds, as tests/workloads/zoo/zoo_test.cpp has them.
        small = measure("--count", "--models", "resnet18/cifar10").stdout.splitlines()[1].split()
        self.assertEqual(small[2], "11173962")
        self.assertAlmostEqual(float(small[3]), 2 * 0.556, delta=0.006)

    def measured(self, *arguments):
        """The rows, and what `rehearse validate` says of them."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.csv")
            answer = measure(*arguments, "--name", "epyc-turin-2", "--out", path)
            self.assertEqual(answer.returncode, 0, answer.stderr)
            with open(path, encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file))
            validated = rehearse("validate", path, "--catalogue", CATALOGUE)
            self.assertEqual(validated.returncode, 0, validated.stderr)
            self.assertIn(f"{len(rows)} measurements, {len(rows)} used\n", validated.stdout)
            return rows, validated.stdout

    def test_a_step(self):
        rows, said = self.measured("--models", "resnet32", "--batches", "2", "--threads", "1", "--seconds", "0.2")
        self.assertEqual(len(rows), 1)
        row = rows[0]
        self.assertEqual((row["model"], row["dataset"], row["batch_per_worker"], row["threads"]), ("resnet32", "cifar10", "2", "1"))
        step, forward, backward = (float(row[column]) for column in ("step_s", "forward_s", "backward_s"))
        self.assertGreater(min(forward, backward), 0)
        self.assertLess(forward + backward, 1.2 * step)  # medians of each; the update is the rest
        self.assertIn("epyc-turin-2 resnet32/cifar10", said)

    def test_both_networks_of_dcgan(self):
        rows, _ = self.measured("--models", "dcgan", "--batches", "1", "--threads", "1", "--seconds", "0.2", "--rounds", "2")
        self.assertEqual(len(rows), 1)

    def test_operations(self):
        rows, said = self.measured("--ops", "elementwise,rnn", "--threads", "1", "--seconds", "0.002")
        self.assertEqual({row["threads"] for row in rows}, {"1"})
        for subject in ("elementwise", "lstm forward", "lstm backward"):
            self.assertIn(f"epyc-turin-2 {subject}", said)

    def test_a_batch_that_does_not_fit_is_left_out(self):
        answer = measure("--models", "resnet32", "--batches", "2,1000000", "--threads", "1", "--seconds", "0.1", memory=3 << 30)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("resnet32/cifar10 batch 1000000: out of memory, left out", answer.stderr)
        self.assertEqual(len(answer.stdout.splitlines()), 2)


if __name__ == "__main__":
    with_torch = sys.argv[3] == "torch"
    if with_torch and not importlib.util.find_spec("torch"):
        print("skipped: there is no PyTorch")
        sys.exit(77)
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(WithTorch if with_torch else Plain)
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())
