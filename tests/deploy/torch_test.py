"""`rehearse rent --export`: the PyTorch training trains on CPUs with two processes, is ended and goes on, and what it measures is read.

Usage: torch_test.py REHEARSE SOURCE_DIR. Exit status 77: PyTorch is missing.
"""
import csv
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

REHEARSE = sys.argv[1]
ACCOUNT = {"instances": {"nc12s_v2": {"nodes": 1}}, "only_listed": True}
NETWORK = {"cnn": {"conv_layers": 2, "filters": 4, "image_height": 8, "image_width": 8, "nodes": 8}}
JOB = {"name": "small'; touch pwned #", "network": NETWORK, "samples": 6000, "epochs": 2, "batch_size": 6, "workers": 2}
RNN = {"name": "words", "network": {"rnn": {"hidden": 8, "steps": 5, "vocabulary": 20, "features": 6, "classes": 20}}, "samples": 40,
       "epochs": 1, "batch_size": 4, "workers": 2}
NASTY = ["'", '"', "\\", "\n", "$(touch pwned)", "`touch pwned`", "{{job}}", ": ", "#", "EOF", "'''", "é", "\x1b[31m"]


def run(*command, cwd, status=0, **environment):
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={**os.environ, "OMP_NUM_THREADS": "1", **environment}, check=False)
    assert status is None or done.returncode == status, (command, done.returncode, done.stdout[-3000:], done.stderr[-3000:])
    return done


class Exported(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.scratch)
        self.port = str(20000 + os.getpid() % 20000)

    def export(self, job, *options):
        for file, value in (("job.json", job), ("account.json", ACCOUNT)):
            with open(os.path.join(self.scratch, file), "w", encoding="utf-8") as out:
                json.dump(value, out)
        run(REHEARSE, "rent", "job.json", "--account", "account.json", "--export", "out", *options, cwd=self.scratch)
        return os.path.join(self.scratch, "out")

    def launch(self, folder, *options):
        return ["bash", os.path.join(folder, "launch.sh"), "--synthetic", "--out", os.path.join(folder, "trained"), *options]

    def lines(self, folder):
        with open(os.path.join(folder, "trained", "metrics.jsonl"), encoding="utf-8") as metrics:
            return [json.loads(line) for line in metrics]

    def test_two_processes_train_two_epochs_are_ended_and_go_on(self):
        folder = self.export(JOB)
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MASTER_PORT": self.port, "PATH": "/usr/bin:" + os.environ["PATH"]}
        # 6,000 samples in batches of 6 are 1,000 steps an epoch. The first run is told to end once a line of its log is there.
        first = subprocess.Popen(self.launch(folder), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                 start_new_session=True)
        log = os.path.join(folder, "trained", "metrics.jsonl")
        until = time.time() + 120
        while not os.path.exists(log) and first.poll() is None and time.time() < until:
            time.sleep(0.02)
        if first.poll() is None:
            os.killpg(first.pid, signal.SIGTERM)
        first.communicate(timeout=120)
        self.assertTrue(os.path.exists(os.path.join(folder, "trained", "checkpoint.pt")))
        second = subprocess.run(self.launch(folder), env=environment, capture_output=True, text=True, check=False, timeout=300)
        self.assertEqual(second.returncode, 0, second.stdout + second.stderr[-3000:])
        self.assertIn("goes on from step", second.stdout)
        self.assertEqual(self.lines(folder)[-1]["step"], 2000)
        self.assertTrue(os.path.exists(os.path.join(folder, "trained", "done")))
        with open(os.path.join(folder, "trained", "steps.csv"), encoding="utf-8") as rows:
            row = next(csv.DictReader(rows))
        self.assertGreater(float(row["step_s"]), 0)
        self.assertEqual((row["device"], row["workers_per_node"], row["batch_per_worker"]), ("p100", "2", "3.0"))
        self.assertFalse(os.path.exists(os.path.join(self.scratch, "pwned")))

    def test_its_measured_step_is_read_by_validate(self):
        job = {"name": "zoo", "model": "resnet32", "dataset": "cifar10", "samples": 8, "epochs": 1, "batch_size": 4, "workers": 2}
        folder = self.export(job)
        environment = {"MASTER_PORT": self.port, "PATH": "/usr/bin:" + os.environ["PATH"]}
        run(*self.launch(folder, "--steps", "3"), cwd=folder, **environment)
        told = run(REHEARSE, "validate", os.path.join(folder, "trained", "steps.csv"), cwd=folder)
        self.assertIn("p100", told.stdout)

    def test_a_language_model_trains_too(self):
        folder = self.export(RNN)
        environment = {"MASTER_PORT": self.port, "PATH": "/usr/bin:" + os.environ["PATH"]}
        run(*self.launch(folder, "--steps", "2"), cwd=folder, **environment)

    def test_uneven_shares_weigh_as_much_as_even_ones(self):
        """The gradient of the global batch does not depend on how it is split: the losses of two splits agree in the first step."""
        folder = self.export(JOB)
        sys.path.insert(0, folder)
        import schedule  # pylint: disable=import-error,import-outside-toplevel
        self.assertEqual(schedule.share([4, 2], 1), (4, 2, 2 / 6))
        self.assertEqual(sum(schedule.share([4, 2], rank)[2] for rank in (0, 1)), 1)
        sys.path.remove(folder)

    def test_names_cannot_leave_their_literals(self):
        for name in NASTY:
            folder = self.export({**JOB, "name": name})
            for file in os.listdir(folder):
                path = os.path.join(folder, file)
                if file.endswith(".py"):
                    compile(open(path, encoding="utf-8").read(), file, "exec")
                if file.endswith(".sh"):
                    run("bash", "-n", path, cwd=folder)
            shutil.rmtree(folder)
        self.assertFalse(os.path.exists(os.path.join(self.scratch, "pwned")))

    def test_yaml_is_yaml(self):
        if importlib.util.find_spec("yaml") is None:
            self.skipTest("no yaml")
        import yaml  # pylint: disable=import-outside-toplevel
        folder = self.export(JOB)
        for file in ("pytorchjob.yaml", "skypilot.yaml"):
            with open(os.path.join(folder, file), encoding="utf-8") as text:
                found = yaml.safe_load(text)
            self.assertTrue(found)
        self.assertEqual(found["envs"]["JOB"], JOB["name"])

    def test_what_it_does_not_write_is_refused_with_the_way_out(self):
        for job in ({"model": "dcgan", "epochs": 1}, {"model": "deepspeech2", "epochs": 1}):
            with open(os.path.join(self.scratch, "job.json"), "w", encoding="utf-8") as out:
                json.dump(job, out)
            told = run(REHEARSE, "rent", "job.json", "--export", "out", cwd=self.scratch, status=3)
            self.assertIn("--framework keras", told.stderr)


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
