"""`rehearse plan --export` as a user meets it: what it writes must be right for the real parsers of each language, whatever the names.

Usage: deploy_test.py REHEARSE SOURCE_DIR PART. Exit status 77: the tool that the part needs is missing.
"""
import ast
import csv
import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import keras_stand_in

REHEARSE, SOURCE = sys.argv[1:3]
NEEDS = {"plain": lambda: True, "tensorflow": lambda: importlib.util.find_spec("tensorflow") is not None,
         "yaml": lambda: importlib.util.find_spec("yaml") is not None, "pyflakes": lambda: shutil.which("pyflakes3") is not None,
         "shellcheck": lambda: shutil.which("shellcheck") is not None}

BIG = {"cluster": {"pools": [{"name": "h100", "instance": "p5.48xlarge", "nodes": 4}]}}
OWN_DATA = {"name": "mine", "task": "image-classification", "training_samples": 1000, "height": 32, "width": 32, "classes": 10}
SMALL = {"name": "small", "network": {"cnn": {"conv_layers": 2, "filters": 4, "image_height": 32, "image_width": 32}},
         "dataset": OWN_DATA, "epochs": 20, "batch_size": 8}
REFUSED = {"yolov3": "expected an output that is a vector or a sequence, found (13, 13, 255)",
           "big-lstm": "recurrent layers without projection"}
NASTY = ["'", '"', "\\", "\n", "\r", "$(touch pwned)", "`touch pwned`", "${HOME}", "{{job}}", "}}", "{{", "#", ": ", "- ", "../", "/", ";",
         "&", "|", "--", "\t", "\x01", "\x7f", "\x85", "\u2028", "\ufeff", "é", "\U0001f600", "%s", "!", "*", "~", "EOF", "'''", '"""', " ",
         "\\n", "\\u0022", "a", "#SBATCH", "<<", "@", "\\'", "\x1b[31m", "null", "yes", "0x1"]


def run(*command, cwd=None, status=0, **environment):
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env={**os.environ, **environment}, check=False)
    assert status is None or done.returncode == status, (command, done.returncode, done.stdout, done.stderr)
    return done


def text(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


class Exported(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.scratch)

    def export(self, job, cluster=None, name="out"):
        for file, value in (("job.json", job), ("cluster.json", cluster or BIG)):
            with open(os.path.join(self.scratch, file), "w", encoding="utf-8") as out:
                json.dump(value, out)
        run(REHEARSE, "plan", "job.json", "--cluster", "cluster.json", "--export", name, cwd=self.scratch)
        return os.path.join(self.scratch, name)

    def zoo(self):
        """(name, millions of parameters, folder) of every model that is exported."""
        for entry in json.loads(run(REHEARSE, "list", "models", "--json").stdout):
            model = entry["model"]
            if model in REFUSED:
                continue
            yield model, entry["parameters_millions"], self.export({"name": model, "model": model, "epochs": 12, "batch_size": 30, "workers": 4}, name=model)

    def hostile(self, rounds):
        """(job's name, dataset's, pool's, folder)."""
        draw = random.Random(7)
        for i in range(rounds):
            names = [["null", "yes", "1e3"][i]] * 3 if i < 3 else ["".join(draw.choices(NASTY, k=draw.randint(1, 12))) for _ in range(3)]
            cluster = {"cluster": {"pools": [{"name": names[2], "instance": "p3.8xlarge", "nodes": 2}]}}
            job = {**SMALL, "name": names[0], "dataset": {**OWN_DATA, "name": names[1]}, "workers": draw.choice([1, 4, 6])}
            yield (*names, self.export(job, cluster, "out%d" % i))


def constants(path):
    """The names that a file assigns, with their values."""
    found = {}
    for node in ast.parse(text(path)).body:
        if isinstance(node, ast.Assign):
            found[node.targets[0].id] = ast.literal_eval(node.value)
        else:
            assert isinstance(node, ast.Expr) and isinstance(node.value.value, str), ast.dump(node)
    return found


class Plain(Exported):
    """Needs Python and bash alone."""

    def test_every_model_of_the_zoo(self):
        for model, millions, folder in self.zoo():
            for file in os.listdir(folder):
                if file.endswith(".py"):
                    compile(text(os.path.join(folder, file)), file, "exec")
            settings = constants(os.path.join(folder, "settings.py"))
            self.assertEqual(settings["BATCHES"], [8, 8, 7, 7])
            inputs, outputs, parameters = keras_stand_in.build(folder)
            # the list's parameters, in millions with two digits
            self.assertAlmostEqual(parameters / 1e6, millions, delta=0.0051)
            self.assertEqual(len(outputs), 3 if model == "dcgan" else 1)
            if model in ("resnet50", "vgg16"):
                self.assertEqual((inputs, outputs), ([(224, 224, 3)], [(1000,)]))
            objective = {"dcgan": "adversarial", "rnnlm": "positions", "nmt": "positions", "gpt2": "positions", "bert": "span",
                         "deepspeech2": "ctc"}.get(model, "classes")
            self.assertEqual(settings["LOSS"], objective)

    def test_models_that_no_code_is_written_of_are_refused(self):
        for model, reason in REFUSED.items():
            with self.assertRaises(AssertionError) as refused:
                self.export({"model": model, "epochs": 1, "batch_size": 8})
            self.assertIn(reason, str(refused.exception))

    def test_an_adversarial_training_has_two_groups_of_layers(self):
        settings = constants(os.path.join(self.export({"model": "dcgan", "epochs": 1, "batch_size": 8}), "settings.py"))
        self.assertEqual(settings["NOISE_INPUTS"], ["noise"])
        self.assertIn("on_real1", settings["DISCRIMINATOR"])
        self.assertNotIn("generator1", settings["DISCRIMINATOR"])
        self.assertEqual(settings["FEATURES"], {"real": "image/encoded", "label": "label"})

    def test_names_are_data_in_python_and_bash(self):
        tame = self.export(SMALL)
        keys = list(constants(os.path.join(tame, "settings.py")))
        docker = [line.split()[0] for line in text(os.path.join(tame, "Dockerfile")).splitlines()]
        for job, dataset, pool, folder in self.hostile(30):
            settings = constants(os.path.join(folder, "settings.py"))
            self.assertEqual(list(settings), keys)
            self.assertEqual((settings["JOB"], settings["DATASET"], settings["POOL"]), (job, dataset, pool))
            self.assertEqual([line.split()[0] for line in text(os.path.join(folder, "Dockerfile")).split("\n")[:-1]], docker)
            for file in ("slurm.sh", "preload.sh", "launch.sh"):
                run("bash", "-n", file, cwd=folder)
            # the assignments alone, as bash understands them
            for file, variable, value in (("slurm.sh", "job", job), ("preload.sh", "dataset", dataset)):
                line = next(line for line in text(os.path.join(folder, file)).splitlines() if line.startswith(variable + "="))
                self.assertEqual(subprocess.run(["bash", "-c", line + '\nprintf %s "$' + variable + '"'], cwd=folder, check=True,
                                                capture_output=True).stdout.decode(), value)
            self.assertFalse(os.path.exists(os.path.join(folder, "pwned")))
            self.assertTrue(all(line.isascii() for file in os.listdir(folder) if file != "Dockerfile"
                                for line in text(os.path.join(folder, file))))

    def test_a_training_stops_politely_without_tensorflow(self):
        if NEEDS["tensorflow"]():
            self.skipTest("TensorFlow is installed")
        ended = run(sys.executable, "train.py", cwd=self.export(SMALL), status=1)
        self.assertEqual(ended.stdout, "")
        self.assertEqual(len(ended.stderr.splitlines()), 1)
        self.assertIn("needs TensorFlow 2, which is not installed here", ended.stderr)

    def test_schedule_and_shares(self):
        folder = self.export(SMALL)
        script = """if True:
            import types, schedule
            s = types.SimpleNamespace(BATCHES=[4, 1, 3], LEARNING_RATE=0.9, WARMUP_EPOCHS=5, EPOCHS=90, SCHEDULE='steps', TRAINING_SAMPLES=100)
            # the rate of one of three processes is 0.3; half-way 0.6; then 0.9, and a tenth after 30, 60 and 80 of 90 epochs
            for epoch in (0, 2.5, 5, 29, 30, 60, 80): print('%.6g' % schedule.learning_rate(s, epoch), end=' ')
            # 100 samples in steps of 8: 12 whole ones
            print(schedule.share([4, 1, 3], 2), schedule.share([4, 1, 3], 0), schedule.steps_per_epoch(s))"""
        self.assertEqual(run(sys.executable, "-c", script, cwd=folder).stdout.split(" ", 7),
                         ["0.3", "0.6", "0.9", "0.9", "0.09", "0.009", "0.0009", "(5, 3, 0.375) (0, 4, 0.5) 12\n"])

    def test_results_are_read_again(self):
        out = os.path.join(self.scratch, "run")
        folder = self.export({"name": "measured", "model": "resnet18", "dataset": "cifar10", "epochs": 2, "batch_size": 128})
        os.mkdir(out)
        with open(os.path.join(out, "metrics.jsonl"), "w", encoding="utf-8") as file:
            for row in ({"step": 20, "step_s": 9, "samples_per_s": 1, "loss": 2.0}, {"step": 40, "step_s": 0.25, "samples_per_s": 512, "loss": 1.5},
                        {"step": 390, "epoch": 1, "accuracy": 0.4}, {"step": 390, "epoch": 1, "accuracy": 0.5},
                        {"step": 780, "epoch": 2, "accuracy": 0.6}):
                file.write(json.dumps(row) + "\n")
            file.write('{"step": 800, "lo')
        self.assertIn("step 780 of 780 (100.0 %), 512.0 samples/s, 0.0 h left, loss 1.5000, accuracy 0.6000",
                      run(sys.executable, "monitor.py", out, "--once", cwd=folder).stdout)
        run(sys.executable, "monitor.py", out, "--collect", self.scratch + "/r", cwd=folder)
        rows = list(csv.DictReader(text(self.scratch + "/r/trainings.csv").splitlines()))
        self.assertEqual([(row["epoch"], row["metric"]) for row in rows], [("1", "0.5"), ("2", "0.6")])
        self.assertIn("0.25", text(self.scratch + "/r/steps.csv"))
        for file in ("trainings.csv", "steps.csv"):
            answer = run(REHEARSE, "validate", self.scratch + "/r/" + file).stdout
            self.assertIn("resnet18", answer)
        self.assertEqual(text(self.scratch + "/r/curves.svg").count("<polyline"), 2)

    def test_a_training_that_is_told_to_end_is_asked_to_save(self):
        folder = self.export(SMALL)
        out = self.scratch + "/out dir"
        waits = "while [[ ! -e $OUT/stop ]]; do sleep 0.05; done"
        launched = subprocess.Popen(["bash", "launch.sh", "bash", "-c", "touch \"$OUT/began\"; " + waits], cwd=folder, env={**os.environ, "OUT": out})
        while not os.path.exists(out + "/began"):
            time.sleep(0.02)
        launched.send_signal(signal.SIGTERM)
        self.assertEqual(launched.wait(), 75)
        run("bash", "launch.sh", "true", cwd=folder, OUT=out)
        run("bash", "launch.sh", "bash", "-c", "exit 3", cwd=folder, OUT=out, status=3)

    def test_data_is_copied_once(self):
        folder = self.export(SMALL)
        source, data = self.scratch + "/from here", self.scratch + "/to there"
        os.mkdir(source)
        with open(source + "/train-0", "w", encoding="utf-8") as file:
            file.write("x" * 5000)
        first = run("bash", "preload.sh", cwd=folder, DATA_SOURCE=source, DATA=data)
        self.assertIn("copied mine", first.stdout)
        self.assertEqual(len(text(data + "/train-0")), 5000)
        self.assertIn("is there already", run("bash", "preload.sh", cwd=folder, DATA_SOURCE=source, DATA=data).stdout)
        missing = run("bash", "preload.sh", cwd=folder, DATA_SOURCE=source + "2", DATA=data + "2", status=1)
        self.assertIn("set DATA_SOURCE to where mine is", missing.stderr)

    def test_slurm_starts_a_worker_for_each_share(self):
        cluster = {"cluster": {"pools": [{"name": "v100", "instance": "p3.8xlarge", "nodes": 2}]}}
        folder = self.export({**SMALL, "batch_size": 13, "workers": 6}, cluster)
        self.assertEqual(constants(folder + "/settings.py")["BATCHES"], [3, 2, 2, 2, 2, 2])
        self.assertFalse(os.path.exists(folder + "/job.yaml"))  # one node is not enough
        tools = self.scratch + "/bin"
        os.mkdir(tools)
        for name, body in (("srun", ""), ("scontrol", '[[ $1 == show ]] && printf "n1\\nn2\\n" || echo "$@" >>calls'), ("horovodrun", 'echo "$@" >>calls')):
            with open(os.path.join(tools, name), "w", encoding="utf-8") as file:
                file.write("#!/usr/bin/env bash\n%s\n" % body)
            os.chmod(os.path.join(tools, name), 0o755)
        run("bash", "slurm.sh", cwd=folder, PATH=tools + ":" + os.environ["PATH"], SLURM_JOB_NODELIST="n[1-2]", SLURM_JOB_ID="5", OUT=folder + "/o",
            DATA=folder + "/d")
        self.assertEqual(text(folder + "/calls"), "-np 6 -H n1:4,n2:2 python3 train.py --data %s/d --out %s/o\n" % (folder, folder))

    def test_the_same_plan_writes_the_same_bytes(self):
        one, two = self.export(SMALL, name="one"), self.export(SMALL, name="two")
        self.assertEqual(run("diff", "-r", one, two).stdout, "")


class Yaml(Exported):
    """No schema checker is in Debian: what the API server requires is checked here."""

    def container(self, spec):
        self.assertRegex(spec["name"], r"\A[a-z0-9]([a-z0-9-]*[a-z0-9])?\Z")
        self.assertIsInstance(spec["image"], str)
        for word in spec.get("command", []) + spec.get("args", []):
            self.assertIsInstance(word, str)
        for limits in spec.get("resources", {}).values():
            self.assertEqual(list(limits), ["nvidia.com/gpu"])

    def pod(self, spec):
        self.assertGreaterEqual(len(spec["containers"]), 1)
        volumes = {volume["name"] for volume in spec["volumes"]}
        for one in spec["containers"] + spec.get("initContainers", []):
            self.container(one)
            self.assertLessEqual({mount["name"] for mount in one.get("volumeMounts", [])}, volumes)

    def document(self, path):
        import yaml
        found = list(yaml.safe_load_all(text(path)))
        self.assertEqual(len(found), 1)
        self.assertRegex(found[0]["metadata"]["name"], r"\A[a-z]([a-z0-9-]{0,50}[a-z0-9])?\Z")
        return found[0]

    def test_names_are_data(self):
        for job, dataset, pool, folder in self.hostile(20):
            workers = len(constants(folder + "/settings.py")["BATCHES"])
            documents = [self.document(folder + "/mpijob.yaml")]
            if workers <= 4:
                documents.append(self.document(folder + "/job.yaml"))
            for document in documents:
                self.assertEqual(document["metadata"]["annotations"],
                                 {"rehearse/job": job, "rehearse/model": "cnn", "rehearse/dataset": dataset, "rehearse/pool": pool})
            mpi = documents[0]
            self.assertEqual((mpi["apiVersion"], mpi["kind"]), ("kubeflow.org/v2beta1", "MPIJob"))
            replicas = mpi["spec"]["mpiReplicaSpecs"]
            self.assertEqual(set(replicas), {"Launcher", "Worker"})
            self.assertEqual(replicas["Launcher"]["replicas"], 1)
            self.assertEqual(replicas["Worker"]["replicas"], -(-workers // 4))
            self.assertEqual(mpi["spec"]["slotsPerWorker"], min(workers, 4))
            for replica in replicas.values():
                self.pod(replica["template"]["spec"])
            arguments = replicas["Launcher"]["template"]["spec"]["containers"][0]["args"]
            self.assertEqual(arguments[arguments.index("-np") + 1], str(workers))
            for document in documents[1:]:
                self.assertEqual((document["apiVersion"], document["kind"]), ("batch/v1", "Job"))
                spec = document["spec"]["template"]["spec"]
                self.pod(spec)
                self.assertIn(spec["restartPolicy"], ("OnFailure", "Never"))  # a Job takes no other
                self.assertEqual(spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], workers)


class Pyflakes(Exported):
    def test_every_model_of_the_zoo(self):
        for _, _, folder in self.zoo():
            self.assertEqual(run("pyflakes3", folder).stdout, "")

    def test_hostile_names(self):
        for *_, folder in self.hostile(5):
            self.assertEqual(run("pyflakes3", folder).stdout, "")


class Shellcheck(Exported):
    def test_all_scripts(self):
        scripts = ("slurm.sh", "preload.sh", "launch.sh")
        self.assertEqual(run("shellcheck", *scripts, cwd=self.export(SMALL)).stdout, "")
        for *_, folder in self.hostile(10):
            self.assertEqual(run("shellcheck", *scripts, cwd=folder).stdout, "")


class Tensorflow(Exported):
    def test_a_small_network_trains(self):
        folder = self.export({**SMALL, "workers": 1})
        answer = run(sys.executable, "train.py", "--synthetic", "--steps", "20", "--out", self.scratch + "/run", cwd=folder)
        self.assertIn("step 20 of 20", answer.stdout)
        self.assertTrue(os.listdir(self.scratch + "/run/checkpoints"))


if __name__ == "__main__":
    part = sys.argv[3]
    if not NEEDS[part]():
        print("skipped: %s is not installed" % {"yaml": "python3-yaml", "pyflakes": "pyflakes3"}.get(part, part))
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], part.capitalize()])
