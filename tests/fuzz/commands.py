"""Random command lines, valid ones and mutated ones, with the files that they read, of which some are mutated between two of them: agents,
results, databases, catalogues. And what such lines are put through."""
import dataclasses
import json
import os
import random
import re

import draw_commands
import draw_policies
import draw_reading
from draw_commands import TAMPER
from draw_files import mutated_bytes, mutated_cells
from generate import ROOT, Generator, generate
from mutate import NUMBERS, TEXTS, at, mutant, replaced, without_long_work
from program import OK, POLICY_FAILED, finding

# Paths of what is written stay in the case's folder, and nobody starts thousands of processes or trains for days.
WRITTEN = {"--out", "--plots", "-o", "--csv", "--data", "--dot", "--export", "--html", "--json", "--junit", "--markdown", "--report", "--rows", "--state"}
WRITTEN_ODDLY = ["", ".", "no/such/folder/x.csv", "x" * 300, "case.json"]
KEPT = {"--processes", "--iterations", "--resume", "--watch"}
# Wall-clock times are in databases, pages, logs and a regression's verdicts, and their digests in a bundle's list; keys in tables of sweeps are of the
# program's file.
NOT_COMPARED = re.compile(r"\.(sqlite|html)(-\w+)?$|(^|/)r\.(md|xml)$|(^|/)(timing|manifest|bundle)\.json$")

MAKERS = {maker.__name__: maker for maker in (draw_commands.rent, draw_commands.plan, draw_commands.sweep, draw_commands.train, draw_commands.process, draw_commands.run,
                                              draw_reading.results, draw_reading.tables)}


@dataclasses.dataclass
class Command:
    """Lines are run one after the other in a folder that has the files."""
    kind: str
    lines: list
    files: dict
    seed: int

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        for name, content in self.files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        with open(os.path.join(folder, "commands.json"), "w", encoding="utf-8") as file:
            json.dump({"seed": self.seed, "lines": self.lines}, file, indent=1)


class CommandTrial:
    def __init__(self, first, second, scratch):
        self.first, self.second, self.scratch = first, second, scratch
        self.accepted = self.refused = self.ran = 0

    def __call__(self, command):
        """The signature of the first defect that shows, or None. Every fourth is run twice, and must write the same bytes."""
        found, status = self.run(command, self.first, "case")
        if found:
            return found
        self.accepted += status in (OK, POLICY_FAILED)
        self.refused += status not in (OK, POLICY_FAILED)
        if status != OK or command.seed % 4 or command.kind == "process":  # of those timeouts may strike
            return None
        program = self.first if command.kind == "sweep" else self.second
        found, again = self.run(command, program, "again")
        if found or again != status:
            return found or f"{command.kind} again: status {again} after {status}"
        different = self.differences()
        return f"{command.kind} again: other bytes in {different[0]}" if different else None

    def run(self, command, program, folder):
        case = self.scratch.empty(folder)
        command.write(case)
        status = OK
        for line in command.lines:
            if line[:1] == [TAMPER]:
                tamper(case, line)
                continue
            self.ran += 1
            ended = program(*line, cwd=case)
            name = line[0] if line else "no command"
            found = finding(ended, name)
            beside = set(os.listdir(self.scratch.path)) - {"case", "again"}
            for left in beside:  # or the next trial would be told of it
                self.scratch.empty(left)
            if beside and not found:
                found = f"{name}: writes beside its folder"
            status = status or ended.status
            if found:
                return found, status
        return None, status

    def differences(self):
        def contents(folder):
            found = {}
            for path, _, names in os.walk(os.path.join(self.scratch.path, folder)):
                for name in names:
                    whole = os.path.join(path, name)
                    shown = re.sub(r"\.\w{6}\.(old|part)/", r".\1/", os.path.relpath(whole, os.path.join(self.scratch.path, folder)))
                    if not NOT_COMPARED.search(shown):
                        with open(whole, "rb") as file:
                            content = file.read()
                        if not content.lower().startswith((b"sqlite format 3", b"<!doctype html")):  # under any name
                            found[shown] = content
            return found

        first, again = contents("case"), contents("again")
        return sorted(name for name in first.keys() | again.keys() if first.get(name) != again.get(name))


def tamper(case, line):
    """[TAMPER, FILE or FOLDER, SEED]"""
    rng = random.Random(f"tamper {line[2]}")
    path = os.path.join(case, line[1])
    if os.path.isdir(path):
        names = sorted(os.path.join(at_, name) for at_, _, names in os.walk(path) for name in names if not name.endswith(".html"))
        path = rng.choice(names) if names else path
    if not os.path.isfile(path):
        return
    if os.path.dirname(path) != case and rng.random() < 0.05:
        os.remove(path)
        return
    with open(path, "rb") as file:
        content = file.read()
    try:
        value = json.loads(content)
    except ValueError:
        value = None
    if value is not None and rng.random() < 0.6:
        where = some_path(rng, value)
        content = json.dumps(replaced(value, where, rng.choice([*NUMBERS, *TEXTS, None, [], {}, at(value, where)]))).encode()
    elif path.endswith(".csv") and rng.random() < 0.7:
        content = mutated_cells(rng, content)
    else:
        content = mutated_bytes(rng, content)
    with open(path, "wb") as file:
        file.write(content)


def some_path(rng, value):
    """Level by level, so that thousands of numbers do not hide the few keys above them."""
    path = ()
    while isinstance(value, (dict, list)) and value and (not path or rng.random() < 0.75):
        key = rng.choice(sorted(value)) if isinstance(value, dict) else rng.randrange(len(value))
        path, value = path + (key,), value[key]
    return path


def draw_command(schema, registry, seed):
    draw = Generator(schema, registry, f"command {seed}")
    kind = draw.rng.choice(list(MAKERS))
    command = Command(kind, MAKERS[kind](draw), draw.files, seed)
    if draw.chance(0.5):
        spoil(draw, command)
    draw.rng = random.Random(f"rarer command {seed}")
    add_rarer(draw, command)
    return command


# Of those who read a trace.
TRACED = {"--sample": lambda r: r.choice([0.5, 1]), "--seed": lambda r: r.randrange(99), "--from": lambda r: r.choice([0, 1000]), "--to": lambda r: r.choice([1e5, 1e10]),
          "--scale-load": lambda r: r.choice([0.5, 3])}
# By command, or by it and what it is of: what few give it. Others are drawn where the line is.
RARER = {
    "describe": {"--plots": lambda _: "pictures", **TRACED}, "plot": {"--higher": lambda r: r.choice(draw_reading.COLUMNS)}, "explain": {"--inputs": lambda _: "."}, "bundle": {"--inputs": lambda _: "."},
    "reproduce": {"--processes": lambda _: 1, "--csv-safe": None, "--run-programs": None}, "synthesize": {**TRACED, "--csv-safe": None},
    "sweep": {"--limit": lambda r: r.choice([1, 4, 100])}, "train": {"--set": lambda r: f"/seed={r.randrange(99)}"}, "validate": {"--csv-safe": None}, "calibrate": {"--csv-safe": None},
    "graph": {"--granularity": lambda r: r.choice(["layers", "tensorflow"]), "--unroll": None, "--dropout": None, "--layers": lambda r: r.choice([1, 3]), "--steps": lambda r: r.choice([1, 8]),
              "--hidden": lambda r: r.choice([1, 64]), "--vocabulary": lambda r: r.choice([10, 5000]), "--dataset": lambda r: r.choice(["cifar10", "wmt16"])},
    "import": {"--csv-safe": None}, "import jobs": TRACED, "profile": {"--csv-safe": None, "--seed": lambda r: r.randrange(99)}, "export jobs": {"--csv-safe": None, **TRACED}, "split": {"--dataset": lambda _: "cifar10"}, "list": {"--json": None}}


def add_rarer(draw, command):
    """Options that few give, a suite of regressions of one scenario, a policy among those of the leaderboard."""
    for line in command.lines:
        if line and draw.chance(0.2):
            line += draw_commands.options(draw, {**RARER.get(line[0], {}), **RARER.get(" ".join(line[:2]), {}), "--max-memory": lambda r: r.choice(["2GB", "500MB"])}, 0.4)
    if draw.chance(0.02):
        scenario, files = generate(draw.schema, draw.registry, draw.rng.randrange(10**6))
        command.files |= {f"suite/{name}": text for name, text in {**files, "one.json": json.dumps(scenario), "suite.json": '{"scenarios": ["one"], "policy_seeds": 2}'}.items()}
        regress = ["regress", "suite", "--processes", "1", "--out"]
        command.lines += [[*regress, "before", "--update"], *([draw_commands.tampering(draw, "suite")] if draw.chance(0.7) else []),
                          [*regress, "after", *draw_commands.options(draw, {"--policy-seed": lambda r: r.randrange(9), "--replace": None})]]
    if draw.pools and draw.chance(0.005):
        policy = draw.file("mine.json", json.dumps(draw_policies.policy(draw, "mine")))
        command.lines.append(["leaderboard", os.path.join(ROOT, "scenarios", "leaderboard"), "--policy", policy, "--worlds", "4", "--seed", str(draw.rng.randrange(999)), "--out", "board", "--processes", "1"])
    if draw.chance(0.02):
        command.lines.append(["list", draw.rng.choice(["models", "strategies", "instances", "devices", "studies", "datasets", "recipes", "stacks", "none"]), *draw_commands.options(draw, RARER["list"])])


def spoil(draw, command):
    """A file's bytes or JSON, or words of the line, become others."""
    rng = draw.rng
    if command.files and draw.chance(0.6):
        name = rng.choice(sorted(command.files))
        content = command.files[name]
        if name.endswith(".py"):  # policies' programs answer nonsense of themselves, and are ours
            return
        if name.endswith(".json") and draw.chance(0.6):
            content = json.dumps(without_long_work(mutant(rng, draw.schema, json.loads(content), [])))
        else:
            cells = name.endswith(".csv") and draw.chance(0.6)
            content = (mutated_cells if cells else mutated_bytes)(rng, content if isinstance(content, bytes) else content.encode())
        command.files[name] = content
        return
    line = rng.choice([line for line in command.lines if line[:1] != [TAMPER]])
    for _ in range(rng.choice([1, 1, 2, 4])):
        spoil_words(rng, line)


def spoil_words(rng, line):
    if not line:  # every word is gone already
        return
    where = rng.randrange(1, len(line)) if len(line) > 1 else 0
    before = line[where - 1] if where else ""
    if line[where] in KEPT or before in KEPT:
        return
    if before in WRITTEN:
        line[where] = rng.choice(WRITTEN_ODDLY)
        return
    if line[where] in WRITTEN:
        return
    what = rng.random()
    if what < 0.6 and where > 1 and not line[where].startswith("--"):
        line[where] = rng.choice([*map(str, NUMBERS), *(text.replace("\0", "0") for text in TEXTS), "12h", "-1h", "1e400d", "nan", "inf", line[where] * 2, line[where] + ",", "1,2,3"])
    elif what < 0.75:
        del line[where]
    elif what < 0.9:
        line.insert(where, line[where])
    else:
        line[where] = line[where][:-1]
