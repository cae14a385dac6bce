#!/usr/bin/env python3
"""Writes the twenty scenarios of this folder: pools, models, deadlines and floors drawn at random, half of them in a world as far
from the belief as calibrated devices are, half in one as far as data sheets are.

They were drawn before static-isotonic was designed, and it was tried on none of them before it was done:
docs/evidence/configuration.md. `generate.py --check` says whether the folder is what the seed gives.

`--set second --out FOLDER` writes twenty others, whose seed was fixed before what the first ones taught was fixed; `--seed N`
draws scenarios to design on. `--set design` writes the twelve of ../design, six in each world of the presets, on GPUs of today too:
static-isotonic is designed on them, so that they prove nothing of it.
"""

import argparse
import json
import pathlib
import random
import sys

SEEDS = {"first": 20261122, "second": 202611230915, "design": 202611291540}
COUNTS = {"first": 20, "second": 20, "design": 12}
STEMS = {"first": "sealed", "second": "second", "design": "design"}

CONVOLUTIONAL = [
    ("resnet18", "cifar10"), ("resnet32", "cifar10"), ("resnet34", "cifar10"), ("resnet50", "imagenet"), ("resnet101", "imagenet"),
    ("vgg16", "imagenet"), ("alexnet", "imagenet"), ("inception-v3", "imagenet")]
RECURRENT = [("rnnlm", "ptb"), ("deepspeech2", "cmu-arctic"), ("deepspeech2", "librispeech-100h"), ("nmt", "wmt16-en-de")]
CHEAP = ["p2.8xlarge", "g4dn.xlarge", "g4dn.12xlarge", "nc12s_v2"]
FAST = ["p3.2xlarge", "p3.8xlarge", "p3.16xlarge", "p4d.24xlarge", "nc24s_v2"]
TODAY = ["g5.12xlarge", "g6.48xlarge", "a2-highgpu-8g", "p4de.24xlarge", "p5.48xlarge", "nc24ads_a100_v4", "nc40ads_h100_v5"]
CPU = ["c5.9xlarge", "c5.18xlarge", "c5.24xlarge", "c5a.24xlarge"]
# Their trainings take days where the others take minutes: they arrive so seldom that most find devices free.
LONG = {"imagenet", "librispeech-100h", "wmt16-en-de"}
DEVICES = {"p2.8xlarge": 8, "g4dn.12xlarge": 4, "nc12s_v2": 2, "p3.8xlarge": 4, "p3.16xlarge": 8, "p4d.24xlarge": 8, "nc24s_v2": 4,
           "g5.12xlarge": 4, "g6.48xlarge": 8, "a2-highgpu-8g": 8, "p4de.24xlarge": 8, "p5.48xlarge": 8}
POLICIES = ["manual", "static-isotonic-shared", "random-search", "nearest-run", "ernest", "parametric", "monotone-boosting", "bayes-opt",
            "static-isotonic", "oracle"]


class Draw:
    """Of random() alone, whose course no version of Python changes."""

    def __init__(self, seed):
        self._random = random.Random(seed)

    def between(self, low, high, places):
        return round(low + (high - low) * self._random.random(), places)

    def below(self, count):
        return int(self._random.random() * count)

    def some(self, values, count):
        left = list(values)
        return [left.pop(self.below(len(left))) for _ in range(count)]


def pool(name, instance, devices):
    return {"name": name, "instance": instance, "nodes": max(2, devices // DEVICES.get(instance, 1))}


def scenario(seed, number, name):
    draw = Draw(seed * 1000 + number)
    pools = [pool("cheap", draw.some(CHEAP, 1)[0], 32), pool("fast", draw.some(FAST, 1)[0], 32)]
    if draw.below(3) > 0:
        pools.append(pool("cpu", draw.some(CPU, 1)[0], 8))
    models = [{"model": m, "dataset": d} for m, d in draw.some(CONVOLUTIONAL, 1 + draw.below(3))]
    models += [{"model": m, "dataset": d, "recurrent": True} for m, d in draw.some(RECURRENT, 1 + draw.below(2))]
    slack = draw.between(0.005, 0.03, 3)
    tight = draw.between(1.2, 2.5, 1)
    per_hour = draw.between(2, 8, 1) / (50 if any(m["dataset"] in LONG for m in models) else 1)
    jobs = {"generate": "mixed-cnn-rnn", "count": 100, "arrivals_per_hour": round(per_hour, 3),
            "accuracy_slack": [slack, round(slack + draw.between(0.02, 0.06, 3), 3)],
            "deadline_factor": [tight, round(tight + draw.between(1.5, 6, 1), 1)], "models": models}
    error = 0.1 if number % 2 == 0 else 0.3
    return {"$schema": "../../schema/scenario.schema.json", "name": name,
            "description": "drawn by generate.py: static-isotonic and its peers where nobody looked while it was made",
            "seed": 1 + draw.below(10**6), "repetitions": 3, "world": {"model_error": error}, "cluster": {"pools": pools},
            "jobs": [jobs], "profiling_reuse_jobs": 5000, "policies": POLICIES, "baseline": "manual"}


def design(seed, number, name):
    """Six in each preset's world; a fast pool of today; few policies, as peers are run where something is claimed."""
    drawn = scenario(seed, number, name)
    draw = Draw(seed * 1000 + 500 + number)
    drawn["description"] = "drawn by ../sealed/generate.py: static-isotonic was designed on it"
    drawn["world"] = "calibrated" if number % 2 == 0 else "datasheet"
    drawn["cluster"]["pools"][1] = pool("fast", draw.some(FAST + TODAY, 1)[0], 32)
    drawn["policies"] = ["manual", "static-isotonic", "oracle"]
    return drawn


def main():
    here = pathlib.Path(__file__).resolve().parent
    options = argparse.ArgumentParser(description="draws scenarios of pools, models, deadlines and floors")
    options.add_argument("--check", action="store_true", help="write nothing: does the folder hold what the seed gives?")
    options.add_argument("--set", choices=SEEDS, default="first")
    options.add_argument("--seed", type=int, help="instead of a set's")
    options.add_argument("--count", type=int, help="instead of a set's")
    options.add_argument("--out", type=pathlib.Path, help="where to; by default the folder that ships")
    given = options.parse_args()
    if given.out is None and (given.set == "second" or given.seed is not None):
        options.error("scenarios that do not ship need --out")
    shipped = here if given.set == "first" else here.parent / "design"
    folder = given.out or shipped
    stem = "drawn" if given.seed is not None else STEMS[given.set]
    draw = design if given.set == "design" else scenario
    differ = []
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(given.count or COUNTS[given.set]):
        name = f"{stem}-{number + 1:02}"
        path = folder / f"{name}.json"
        drawn = draw(SEEDS[given.set] if given.seed is None else given.seed, number, name)
        if folder != shipped:
            del drawn["$schema"]  # it stands relative to this folder
        text = json.dumps(drawn, indent=2) + "\n"
        if not given.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            differ.append(path.name)
    if differ:
        sys.exit("not what the seed gives: " + ", ".join(differ))


main()
