"""Rehearse from Python: run a scenario and read its results, be a policy, or be the environment of an agent that learns.

Standard library only, Python 3.9 or later. docs/guide/python.md has examples, docs/reference/protocol.md what a policy is asked and may answer.
"""

import csv
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

PROTOCOL_VERSION = 1


class ScenarioError(ValueError):
    """The scenario has mistakes; the message has all of them, with line, column and JSON pointer."""


class RunError(RuntimeError):
    """The program itself failed."""


def program():
    """The command that runs Rehearse: $REHEARSE, else the launcher of the folder above this file, else `rehearse` in PATH."""
    launcher = Path(__file__).resolve().parent.parent / "rehearse"
    found = os.environ.get("REHEARSE") or (str(launcher) if launcher.is_file() else shutil.which("rehearse"))
    if not found:
        raise RunError("no rehearse program: set REHEARSE to its path")
    return found


def run(scenario, out=None, *, overrides=(), options=()):
    """Runs a scenario and returns its Results.

    scenario: path of a scenario file, or a dict (its paths are then relative to the working folder)
    out: the results folder; results/NAME if left out. Results of a dict take the place of whichever are there
    overrides: {JSON pointer: value} or pairs of them, as --set takes them
    options: further options of `rehearse run`, such as ["--processes", "1"], or ["--resume"] after an interrupted run
    Raises ScenarioError, RunError. A policy that fails is a row of the results.
    """
    if isinstance(scenario, dict):
        options = ["--replace", *options]  # its file has another name each time
    with _ScenarioFile(scenario) as path:
        return _run_file(path, out, overrides, options)


def _command(path, out, overrides, options):
    pairs = overrides.items() if isinstance(overrides, dict) else overrides
    command = [program(), "run", str(path), *map(str, options)]
    for pointer, value in pairs:
        command += ["--set", f"{pointer}={json.dumps(value)}"]
    return command + (["--out", str(out)] if out is not None else [])


def _run_file(path, out, overrides, options):
    done = subprocess.run(_command(path, out, overrides, options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return _results_of(done.returncode, done.stdout, done.stderr)


def _results_of(status, printed, complaints):
    if status == 3:
        raise ScenarioError(complaints.strip())
    if status == 130:
        raise KeyboardInterrupt
    if status not in (0, 5):
        raise RunError(f"rehearse ended with status {status}: {complaints.strip()}")
    folder = printed.rstrip().rsplit("\nResults: ", 1)[-1]
    return Results(folder, printed)


class _ScenarioFile:
    """A path as it is; a dict in a file of the working folder for a while."""

    def __init__(self, scenario):
        self.scenario, self.path = scenario, None

    def __enter__(self):
        if not isinstance(self.scenario, dict):
            return self.scenario
        with tempfile.NamedTemporaryFile("w", prefix=".rehearse-", suffix=".json", dir=".", delete=False) as file:
            self.path = file.name
            json.dump({"name": "scenario", **self.scenario}, file)
        return self.path

    def __exit__(self, *_):
        if self.path is not None:
            os.unlink(self.path)


# Columns that hold names, also where all of them look like numbers.
_TEXT = frozenset(
    "policy job user model dataset pool state reason decision note event node device instance sync quantity strategy method".split())


# Files that a run may leave out, or write of its first repetition only ("output" in docs/reference/scenario.md).
_RECORDS = frozenset("jobs decisions events stages curves predictions utilization life nodes".split())


class Results:
    """A results folder: `summary` is its summary.json, `printed` what the program printed (empty when only read)."""

    def __init__(self, folder, printed=""):
        self.folder, self.printed = Path(folder), printed
        with open(self.folder / "summary.json", encoding="utf-8") as file:
            self.summary = json.load(file)

    @property
    def policies(self):
        """{policy: {quantity: mean}}, without those that failed. docs/reference/metrics.md defines the quantities."""
        return {row["policy"]: {name: value["mean"] for name, value in row.items() if isinstance(value, dict)}
                for row in self._rows_of_summary() if row["status"] == "ok"}

    @property
    def failed(self):
        """{policy: reason} of those that failed."""
        return {row["policy"]: row["reason"] for row in self._rows_of_summary() if row["status"] == "failed"}

    def _rows_of_summary(self):
        if "policies" not in self.summary:
            raise ValueError(f"{self.folder}: results of a study have no policies; see summary and rows()")
        return self.summary["policies"]

    @property
    def tables(self):
        """Names of the CSV files: "jobs", "decisions" and others."""
        return sorted(path.stem for path in self.folder.glob("*.csv"))

    def _file(self, name):
        path, record = self.folder / name, name.partition(".")[0]
        if not path.exists() and record in _RECORDS:
            raise FileNotFoundError(f"{self.folder} has no {name}: the scenario's \"output\": {{\"{record}\": \"all\"}} writes it")
        return path

    def rows(self, table, **where):
        """Rows of a CSV file as dicts: None where a field is empty, bool, int, float, str. `where`: columns with these values."""
        with open(self._file(f"{table}.csv"), newline="", encoding="utf-8") as file:
            rows = [{name: _value(name, text) for name, text in row.items()} for row in csv.DictReader(file)]
        return [row for row in rows if all(row[name] == value for name, value in where.items())]

    def frame(self, table):
        """A CSV file as a pandas DataFrame; needs pandas."""
        import pandas

        path = self._file(f"{table}.csv")
        names = pandas.read_csv(path, nrows=0).columns
        return pandas.read_csv(path, dtype={name: str for name in names if name in _TEXT}, na_values=[""], keep_default_na=False)

    def events(self):
        """Objects of events.jsonl, one by one."""
        with open(self._file("events.jsonl"), encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)


def _value(name, text):
    if text == "" or text is None:
        return None
    if name in _TEXT:
        return text
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


class Policy:
    """A policy in a process of its own: override what it decides, and call serve().

    Requests and answers are those of docs/reference/protocol.md as dicts, without type and id. For convenience `graph` of a request is the
    graph itself, and a queue's requests have `present`: {job_id: everything that is known of it}, in order of arrival.
    """

    wants = ()  #: parts of requests that come only when they are wanted: "candidates", "nodes", "now"

    def hello(self, hello):
        """Before anything is asked: the decision, a seed for random numbers, the cluster."""

    def configure(self, request):
        """A list of choices, best first."""
        return [request["manual"]]

    def place(self, request):
        """{"device_of_op": [...]}; {} is data-parallel."""
        return {}

    def threads(self, request):
        """{"inter_op", "intra_op"} or {"threads_of_op": [...]}; {} is what is recommended."""
        return {}

    def queue(self, request):
        """{"start": [...], "preempt": [...], ...}"""
        raise NotImplementedError

    def bye(self):
        """After the last request."""


class _Memory:
    """What has been said once and is meant again."""

    def __init__(self):
        self.graphs, self.present = {}, {}

    def complete(self, request):
        if "graph" in request:
            if "new_graph" in request:
                self.graphs[request["graph"]] = request.pop("new_graph")
            request["graph"] = self.graphs[request["graph"]]
        if request["type"] == "queue":
            for name in request["ended"]:
                self.present.pop(name, None)
            for job in request["jobs"]:
                known = self.present.setdefault(job["job_id"], {})
                for gone in ("entry", "devices"):
                    known.pop(gone, None)
                known.update(job)
            request["present"] = self.present
        return request


def _members(decision, answer):
    return {"menu": answer} if decision == "configure" and isinstance(answer, list) else answer


def serve(policy):
    """Answers for a Policy until the simulator says bye. What it prints goes to standard error."""
    requests, answers, memory = sys.stdin, sys.stdout, _Memory()
    sys.stdout = sys.stderr
    for line in requests:
        request = json.loads(line)
        kind = request["type"]
        if kind == "bye":
            policy.bye()
            return
        if kind == "hello":
            policy.hello(request)
            answer = {"version": PROTOCOL_VERSION, "wants": list(policy.wants)}
        else:
            number = request["id"]
            answer = {"id": number, **_members(kind, getattr(policy, kind)(memory.complete(request)))}
        answers.write(json.dumps(answer, allow_nan=False) + "\n")
        answers.flush()


def _bridge(address):
    """The process of rehearse_gym's episodes: hands every request on to a socket, and the answer back."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        answers = connection.makefile("rb")
        for line in sys.stdin.buffer:
            connection.sendall(line)
            answer = answers.readline()
            if not answer:
                return
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    _bridge(sys.argv[1])
