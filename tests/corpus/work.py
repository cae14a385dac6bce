"""What both programs are run on."""
import dataclasses
import glob
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time

from generate import Registry, default_schema, generate, write

HERE = os.path.dirname(os.path.realpath(__file__))
# What keeps the paths through the code and saves the minutes.
SHORT = {
    "side-by-side": ["/repetitions=2"], "peers": ["/repetitions=1", "/jobs/0/count=30"],
    "contributions": ["/repetitions=1"], "learning-curve": ["/repetitions=1", "/jobs/0/count=40", "/study/runs=[5,20]"],
    "measured-runs": ["/repetitions=1"], "placement-paper": ["/study/evaluations=20"], "placement-zoo": ["/study/evaluations=20"],
    "placement-tensorflow": ["/study/evaluations=10"], "placement-operations": ["/study/evaluations=5"],
    "placement-sensitivity": ["/study/evaluations=1"], "threads-operations": ["/repetitions=1"], "placement-pipedream": ["/study/evaluations=20"],
    "placement-splits": ["/study/evaluations=20"], "placement-transfer": ["/study/evaluations=20"], "placement-replay": ["/repetitions=1"],
    "search-cells": ["/repetitions=2", "/study/evaluations=200"], "search-cluster": ["/repetitions=1", "/study/evaluations=40"],
    "search-cnn": ["/repetitions=2", "/study/evaluations=100"], "search-rnn": ["/repetitions=2", "/study/evaluations=100"],
    "staged-rl": ["/jobs/0/count=20"], "staged-ablation": ["/jobs/0/count=20"], "threads-paper": ["/repetitions=1"],
    "threads-replay": ["/repetitions=1", "/jobs/0/count=20"], "train-staged-rl": ["/jobs/0/count=20"], "train-shared": ["/jobs/0/count=20"], "shared": ["/repetitions=1"],
    "spot-replay": ["/repetitions=1", "/jobs/0/count=5"], "thesis": ["/study/deadline_factors=[0.5,4]"],
    "spot-drawn": ["/study/jobs=10"], "staged-spot": ["/study/jobs=5", "/study/processes=4", "/study/training_processes=20"], "spot-traces": ["/study/jobs=5"], "heterogeneity": ["/repetitions=1"], "spot": ["/repetitions=1"], "priority": ["/repetitions=1"], "deadlines": ["/repetitions=1"],
    "failures": ["/repetitions=1"], "network": ["/repetitions=1"], "sharing": ["/repetitions=1"],
}


@dataclasses.dataclass
class Side:
    """A program, and the checkout that its scenarios are in."""
    program: str
    root: str
    label: str

    def __post_init__(self):
        self.program, self.root = os.path.realpath(self.program), os.path.realpath(self.root)

    def files(self):
        """Of everything that ships, by name: a file is found again wherever it has moved to."""
        if not hasattr(self, "by_name"):
            listed = subprocess.run(["git", "-C", self.root, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout.split("\0")
            self.by_name = {}
            for path in sorted(filter(None, listed), key=lambda path: ("tests/" in path, path)):
                self.by_name.setdefault(os.path.basename(path), path)
        return self.by_name


@dataclasses.dataclass
class Ended:
    status: int
    out: str
    err: str
    folder: str
    timed_out: bool


@dataclasses.dataclass
class Work:
    """One or more commands, in a folder of their own. `{program}`, `{results}` and `{file:NAME}` stand for what differs."""
    name: str
    commands: list
    folder: str = ""  # that the commands are run in; one of its own when empty

    def run(self, side, folder, limit_s):
        results = os.path.join(folder, "results")
        os.makedirs(results, exist_ok=True)
        texts, status, ends = [[], []], 0, time.monotonic() + limit_s
        for command in self.commands:
            words = [self.filled(word, side, results) for word in command]
            with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
                child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.folder or results, start_new_session=True,
                                         env={**os.environ, "NO_COLOR": "1"})
                try:
                    status = child.wait(max(0.1, ends - time.monotonic()))
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
                    return Ended(-9, "", "", results, True)
                for text, file in zip(texts, (out, err)):
                    file.seek(0)
                    text.append(self.neutral(file.read().decode("utf-8", "replace"), side, results))
            if status != 0:
                break
        return Ended(status, "".join(texts[0]), "".join(texts[1]), results, False)

    def filled(self, word, side, results):
        word = word.replace("{program}", side.program).replace("{results}", results).replace("{inputs}", os.path.join(HERE, "inputs"))
        return re.sub(r"\{file:([^}]*)\}", lambda match: os.path.join(side.root, side.files().get(match.group(1), match.group(1))), word)

    def neutral(self, text, side, results):
        """Without where things are, and without how long they took."""
        text = text.replace(results, "RESULTS").replace(self.folder or results, "FOLDER").replace(side.program, "PROGRAM")
        for path in sorted(set(side.files().values()), key=len, reverse=True) if side.root in text else ():
            text = text.replace(os.path.join(side.root, path), "ROOT/" + os.path.basename(path))
        return took(text.replace(side.root, "ROOT"))


def took(text):
    """Without the terminal table's last column "policy took", and lines that tell how long something took."""
    lines = text.splitlines()
    column = None
    for number, line in enumerate(lines):
        if "policy took" in line:
            column = line.index("policy took")
        elif column is not None and not line.strip():
            column = None
        if column is not None:
            lines[number] = line[:column].rstrip()
    kept = [line for line in lines if "outside the runs themselves" not in line]
    return re.sub(r"\b(in|took|after) \d+(\.\d+)? (ms|s|min)\b", r"\1 TIME", "\n".join(kept))


def shipped_work(old, new, deep):
    """Of the old root, everything under scenarios/ that is a scenario."""
    found = []
    for path in sorted(glob.glob(os.path.join(old.root, "scenarios", "**", "*.json"), recursive=True)):
        name = os.path.basename(path)
        with open(path, encoding="utf-8") as file:
            scenario = json.load(file)
        if not ("policies" in scenario or "study" in scenario) or "cases" in scenario or "recorded" in path:
            continue
        if "REHEARSE_DATA" in json.dumps(scenario) and "REHEARSE_DATA" not in os.environ:
            continue
        kind = "regression" if "/regression/" in path else "scenario"
        place = "{file:" + name + "}"
        sets = [] if deep else [word for value in SHORT.get(name.removesuffix(".json"), []) for word in ("--set", value) if fits(scenario, value)]
        found.append(Work(f"{kind} {name.removesuffix('.json')}", [["{program}", "run", place, "--out", "out", "--processes", "1", *sets]]))
        found.append(Work(f"check {name.removesuffix('.json')}", [["{program}", "check", place]]))
    return found


def fits(scenario, override):
    """The key is there: `--set` would make it, or be a mistake."""
    value = scenario
    for key in override.partition("=")[0].split("/")[1:]:
        try:
            value = value[int(key) if isinstance(value, list) else key]
        except (KeyError, IndexError, ValueError, TypeError):
            return False
    return True


def generated_work(old, folder, seed, count):
    """Drawn once, by the old program's registry, for both."""
    schema, registry = default_schema(), Registry(old.program)
    found = []
    for number in range(seed, seed + count):
        path = write(os.path.join(folder, str(number)), *generate(schema, registry, number))
        found.append(Work(f"generated {number}", [["{program}", "run", path, "--out", "{results}", "--processes", "1"]], os.path.dirname(path)))
    return found


def command_work(old, new):
    """Blocks of tests/corpus/commands.txt: a line `# name`, then commands until an empty line. Data is asked for where it is needed."""
    found, name, commands = [], None, []
    with open(os.path.join(HERE, "commands.txt"), encoding="utf-8") as file:
        for line in [*file.read().splitlines(), ""]:
            if line.startswith("# "):
                name, commands = line[2:], []
            elif name and line.strip():
                commands.append([{"rehearse": "{program}"}.get(word, word) for word in shlex.split(os.path.expandvars(line))])
            elif name and commands:
                if not any(word.startswith("$") for command in commands for word in command):
                    found.append(Work(f"command {name}", commands))
                name, commands = None, []
    return found
