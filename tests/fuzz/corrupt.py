#!/usr/bin/env python3
"""Damages what the program wrote, and looks at what it makes of it: the result is right, or refused.

  tests/fuzz/corrupt.py PROGRAM [--count 100] [--seed 1] [--minutes N] [--faults] [--only KIND]

A sweep's database, the .part folder of a run that was killed, a results folder, a bundle and an agent are truncated, bits in them
flipped, parts of them reordered, duplicated or removed: one change at a time. Then a command reads them. It must end with status 0 and
what it makes of the undamaged, or with another status and a sentence. --faults: the Nth write, rename or sync of a small run, a sweep, a
training and a bundle fails, or kills the process in the middle of it (REHEARSE_TEST_FAIL_IO), for every N; the same command then goes on
and must end as the undisturbed one. Ends with 1 where anything was found.
Standard library only."""
import argparse
import collections
import filecmp
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).parents[2]
SCENARIO = {"name": "s", "seed": 3, "repetitions": 2, "output": {"report": False},
            "cluster": {"pools": [{"name": "t4", "instance": "g4dn.12xlarge", "nodes": 2}]},
            "jobs": [{"generate": "mixed-cnn-rnn", "count": 6, "arrivals_per_hour": 20, "models": [{"model": "resnet18", "dataset": "cifar10"}]}],
            "policies": ["manual", "random-feasible"]}
SWEPT = {**SCENARIO, "seed": {"sweep": list(range(6))}, "repetitions": 1}
TRAIN = ("train", "staged-rl", str(ROOT / "scenarios" / "staged" / "train-staged-rl.json"), "--set", "/jobs/0/count=4")
OF_MACHINE = {"timing.json"}  # what was measured
QUIET_FAULTS = 5              # so many ends with 0, one after the other, are beyond the last operation


def files_below(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def same_folders(a, b):
    names = [{path for path in files_below(folder) if path.name not in OF_MACHINE} for folder in (a, b)]
    return names[0] == names[1] and all(filecmp.cmp(a / name, b / name, shallow=False) for name in names[0])


class Damage:
    """One change of a file or of a folder's files."""

    def __init__(self, rng):
        self.rng = rng

    def of_bytes(self, data):
        rng, kind = self.rng, self.rng.choice(["truncate", "flip", "flip", "flip", "reorder", "duplicate", "remove"])
        if kind == "truncate" or len(data) < 4:
            return kind, data[:rng.randrange(len(data) + 1)]
        if kind == "flip":
            at = rng.randrange(len(data))
            return kind, data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1:]
        cut = b"\n" if rng.random() < 0.6 and data.count(b"\n") > 3 else None
        parts = data.splitlines(keepends=True) if cut else [data[i:i + 512] for i in range(0, len(data), 512)]
        one, other = rng.randrange(len(parts)), rng.randrange(len(parts))
        if kind == "reorder":
            parts[one], parts[other] = parts[other], parts[one]
        elif kind == "duplicate":
            parts.insert(other, parts[one])
        else:
            del parts[one]
        return kind, b"".join(parts)

    def of_file(self, path):
        """What was done, in words; the file is another one then."""
        before = path.read_bytes()
        while True:
            kind, after = self.of_bytes(before)
            if after != before:
                path.write_bytes(after)
                return f"{kind} in {path.name}"
            if not before:
                path.write_bytes(b"x")
                return f"a byte in {path.name}"

    def of_folder(self, folder):
        files = [folder / name for name in files_below(folder)]
        one, other = self.rng.choice(files), self.rng.choice(files)
        kind = self.rng.choice(["file"] * 7 + ["remove", "reorder", "duplicate"])
        if kind == "file":
            return self.of_file(one)
        name = one.relative_to(folder)
        if kind == "remove":
            one.unlink()
            return f"remove {name}"
        if one.read_bytes() == other.read_bytes():
            return self.of_file(one)
        text = other.read_bytes()
        if kind == "reorder":
            other.write_bytes(one.read_bytes())
        one.write_bytes(text)
        return f"{kind} {name} and {other.relative_to(folder)}"


class Campaign:
    def __init__(self, program, folder, seed):
        self.program, self.folder, self.rng, self.findings = os.path.abspath(program), folder, random.Random(seed), []
        self.right, self.refused = collections.Counter(), collections.Counter()
        self.here = folder / "here"
        self.undamaged = {}  # by command: what it says and writes

    def call(self, *words, cwd=None, fault=None):
        environment = {**os.environ, "REHEARSE_TEST_FAIL_IO": fault} if fault else None
        return subprocess.run([self.program, *map(str, words)], cwd=cwd or self.here, env=environment, capture_output=True, text=True, errors="replace")

    def must(self, *words):
        ended = self.call(*words, cwd=self.folder)
        if ended.returncode != 0:
            sys.exit(f"{words} ended with {ended.returncode}: {ended.stderr}")
        return ended.stdout

    def prepare(self):
        for name, scenario in (("s", SCENARIO), ("w", SWEPT)):
            self.folder.joinpath(f"{name}.json").write_text(json.dumps(scenario))
        self.must("run", "s.json", "--out", "whole")
        shutil.copytree(self.folder / "whole", self.folder / "twin")
        self.must("sweep", "w.json", "--out", "whole.sqlite", "--csv", "whole.csv")
        self.must("bundle", "whole", "-o", "artifact")
        self.must(*TRAIN, "--iterations", "1", "-o", "agent.json")
        self.must(*TRAIN, "--iterations", "0", "--resume", "agent.json", "-o", "read.json")
        self.killed = self.folder / "killed"
        for number in range(60, 20, -1):  # a run that was killed when most repetitions were finished
            shutil.rmtree(self.killed, ignore_errors=True)
            self.killed.mkdir()
            shutil.copy(self.folder / "s.json", self.killed)
            self.call("run", "s.json", "--out", "out", "--processes", "1", cwd=self.killed, fault=f"tear:{number}")
            if len(list(self.killed.glob("*.part/*/finished.json"))) >= 2:
                return
        sys.exit("no run was killed with finished repetitions")

    def judge(self, what, ended, is_right):
        said = ended.stdout + ended.stderr
        kind = what.split(":")[0]
        if ended.returncode == 0:
            if not is_right():
                return self.find(f"{what}: ended with 0 and another result")
            self.right[kind] += 1
        elif ended.returncode < 0 or "bug of rehearse" in said or not said.strip():
            self.find(f"{what}: ended with {ended.returncode}: {said[-400:]}")
        else:
            self.refused[kind] += 1

    def find(self, what):
        self.findings.append(what)
        print(f"found: {what}", flush=True)

    def fresh(self, *names):
        shutil.rmtree(self.here, ignore_errors=True)
        self.here.mkdir()
        for name in names:
            source = self.folder / name
            shutil.copytree(source, self.here / source.name) if source.is_dir() else shutil.copy(source, self.here)

    def same_file(self, name, whole):
        return filecmp.cmp(self.here / name, self.folder / whole, shallow=False)

    def database(self):
        self.fresh("w.json", "whole.sqlite")
        done = Damage(self.rng).of_file(self.here / "whole.sqlite")
        ended = self.call("sweep", "w.json", "--out", "whole.sqlite", "--csv", "o.csv")
        self.judge(f"database: {done}", ended, lambda: self.same_file("o.csv", "whole.csv"))
        if ended.returncode == 1:  # the command that it names
            again = self.call("sweep", "w.json", "--out", "whole.sqlite", "--csv", "o.csv", "--retry")
            if again.returncode != 0 or not self.same_file("o.csv", "whole.csv"):
                self.find(f"database: {done}: not repaired: {again.stderr[-400:]}")

    def part(self):
        self.fresh()
        shutil.rmtree(self.here)
        shutil.copytree(self.killed, self.here)
        (part,) = self.here.glob("*.part")
        done = Damage(self.rng).of_folder(part)
        ended = self.call("run", "s.json", "--out", "out", "--resume")
        self.judge(f"part: {done}", ended, lambda: same_folders(self.here / "out", self.folder / "whole"))

    def results(self):
        words = self.rng.choice([("compare", "twin", "whole"), ("regress", "whole", "--against", "twin"), ("explain", "whole", "mixed-0001"),
                                 ("export", "results", "paje", "whole", "-o", "o.paje"), ("bundle", "whole", "-o", "b")])
        if words not in self.undamaged:
            self.fresh("whole", "twin")
            self.undamaged[words] = self.call(*words).stdout, self.made()
            assert self.undamaged[words][0], words
        self.fresh("whole", "twin")
        done = Damage(self.rng).of_folder(self.here / "whole")
        ended = self.call(*words)
        self.judge(f"results: {done}, then {words[0]}", ended, lambda: (ended.stdout, self.made()) == self.undamaged[words])

    def made(self):
        """What a command wrote, but for what was measured and the sums of that."""
        names = [name for name in files_below(self.here) if name.parts[0] in ("o.paje", "b") and name.name not in {*OF_MACHINE, "bundle.json"}]
        return {name: (self.here / name).read_bytes() for name in names}

    def bundle(self):
        self.fresh("artifact")
        done = Damage(self.rng).of_folder(self.here / "artifact")
        ended = self.call("reproduce", "artifact", "-o", "again")
        self.judge(f"bundle: {done}", ended, lambda: same_folders(self.here / "again" / "results", self.folder / "whole"))

    def agent(self):
        self.fresh("agent.json")
        done = Damage(self.rng).of_file(self.here / "agent.json")
        ended = self.call(*TRAIN, "--iterations", "0", "--resume", "agent.json", "-o", "read.json")
        self.judge(f"agent: {done}", ended, lambda: self.same_file("read.json", "read.json"))

    KINDS = ("database", "part", "results", "bundle", "agent")

    def corruptions(self, count, minutes, only):
        ends = time.monotonic() + 60 * minutes
        kinds = [only] if only else self.KINDS
        done = 0
        while done < count and time.monotonic() < ends:
            getattr(self, kinds[done % len(kinds)])()
            done += 1
        print(f"{done} corruptions: {sum(self.right.values())} right, {sum(self.refused.values())} refused; of "
              + ", ".join(f"{kind} {self.right[kind]} and {self.refused[kind]}" for kind in kinds), flush=True)

    def faults(self):
        """What is done, what goes on after a fault, and whether its result is right."""
        run = ("run", "s.json", "--processes", "1", "--out", "out")
        sweep = ("sweep", "w.json", "--processes", "1", "--out", "o.sqlite", "--csv", "o.csv")
        train = (*TRAIN, "--iterations", "1", "-o", "agent.json")
        is_run = lambda: same_folders(self.here / "out", self.folder / "whole")
        cases = ((("s.json",), run, ((*run, "--resume"), (*run, "--replace")), is_run),
                 (("s.json", "whole"), (*run[:-1], "whole", "--replace"), ((*run[:-1], "whole", "--replace"),),
                  lambda: same_folders(self.here / "whole", self.folder / "whole")),
                 (("w.json",), sweep, (sweep,), lambda: self.same_file("o.csv", "whole.csv")),
                 ((), train, (train,), lambda: self.same_file("agent.json", "agent.json")),
                 (("whole",), ("bundle", "whole", "-o", "b"), (("bundle", "whole", "-o", "b"),), lambda: not (self.here / "b").exists() or same_folders(self.here / "b", self.folder / "artifact")))
        for needs, words, after, is_right in cases:
            for mode in ("fail", "tear"):
                number = quiet = 0
                while quiet < QUIET_FAULTS:
                    number += 1
                    self.fresh(*needs)
                    self.fault(f"{words[0]}: {mode}:{number}", words, f"{mode}:{number}", after, is_right)
                    quiet = quiet + 1 if self.ended_well else 0
                print(f"{words[0]}, {mode}: {number - quiet} operations", flush=True)

    def fault(self, what, words, fault, after, is_right):
        ended = self.call(*words, fault=fault)
        self.ended_well = ended.returncode == 0
        if self.ended_well:
            if not is_right():
                self.find(f"{what}: ended with 0 and another result")
            return
        said = ended.stdout + ended.stderr
        if "bug of rehearse" in said or (not said.strip() and ended.returncode != -9):
            self.find(f"{what}: ended with {ended.returncode}: {said[-400:]}")
        for again in after:
            ended = self.call(*again)
            if ended.returncode == 0 and is_right():
                return
            if ended.returncode == 0:
                return self.find(f"{what}, then {' '.join(again[:1] + again[-1:])}: another result")
            if "bug of rehearse" in ended.stderr or ended.returncode < 0:
                return self.find(f"{what}, then {' '.join(again[:1] + again[-1:])}: ended with {ended.returncode}: {ended.stderr[-400:]}")
        self.find(f"{what}: nothing repairs it: {ended.stderr[-400:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=100, help="corruptions (default 100)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="no more corruptions after so many")
    parser.add_argument("--faults", action="store_true", help="every write, rename and sync of small commands too")
    parser.add_argument("--only", choices=Campaign.KINDS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        campaign = Campaign(arguments.program, pathlib.Path(name), arguments.seed)
        began = time.monotonic()
        campaign.prepare()
        campaign.corruptions(arguments.count, arguments.minutes, arguments.only)
        if arguments.faults:
            campaign.faults()
        print(f"{len(campaign.findings)} findings in {time.monotonic() - began:.0f} s")
        return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main())
