#!/usr/bin/env python3
"""An outsider's books: reads nothing but the files of a results folder and reckons again what they claim.

    books.py FOLDER...          the rules that do not hold, a line each; status 1 when there are any

Each rule is a function that yields what is wrong; RULES in the book_... modules names them. What a folder does not hold (files that
are switched off, other repetitions' events) is not looked at.
"""
import collections
import csv
import json
import math
import os
import sys

import book_jobs
import book_money
import book_nodes
import book_summary
from book_values import number, on_grid

RULES = {**book_jobs.RULES, **book_nodes.RULES, **book_money.RULES, **book_summary.RULES}

KNOWN_RECORDS = frozenset("jobs decisions stages curves predictions utilization life nodes".split())
DEFAULT_RECORDS = {"jobs": "all", "curves": "none"}  # of the others the first


class Run:
    """The rows of one policy in one repetition."""

    def __init__(self, policy, repetition):
        self.policy, self.repetition = policy, repetition
        self.rows = collections.defaultdict(list)  # by file, as dictionaries of texts
        self.events = []

    def __str__(self):
        return f"{self.policy}, repetition {self.repetition}"


class Books:
    """`beside`: the folder of the scenario's file, where files of prices are."""

    def __init__(self, folder, beside=None):
        self.folder, self.beside = folder, beside
        self.summary = self.read_json("summary.json")
        self.scenario = self.read_json("scenario.json")
        self.runs = {}  # (policy, repetition): Run
        self.files = set()  # whose rows are those of every repetition
        self.first = set()  # whose rows are those of repetition 0 alone
        self.study = "study" in self.summary
        if self.study:
            return
        for name in sorted(os.listdir(folder)):
            if name.endswith(".csv"):
                self.read_csv(name)
                (self.files if self.record(name) == "all" else self.first).add(name)
        self.read_events()
        self.pools = {pool["pool"]: {**pool, **given} for pool, given in zip(self.summary["pools"], self.given_pools())}

    def given_pools(self):
        """The pools as the scenario has them, in the summary's order; a platform has none."""
        by_name = {pool["name"]: pool for pool in self.scenario.get("cluster", {}).get("pools", [])}
        return [by_name.get(pool["pool"], {}) for pool in self.summary["pools"]]

    def read_json(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return json.load(file)

    def run(self, policy, repetition):
        key = policy, int(repetition)
        if key not in self.runs:
            self.runs[key] = Run(*key)
        return self.runs[key]

    def record(self, name):
        """Of which repetitions a file has rows, by the scenario: "none", "first" or "all"."""
        record = name.partition(".")[0]
        given = self.scenario.get("output", {}).get(record, DEFAULT_RECORDS.get(record, "first"))
        if isinstance(given, bool):  # as scenarios of 0.1 have it
            given = "all" if given else "none"
        return "all" if record not in KNOWN_RECORDS or given == "first" and self.scenario.get("repetitions", 1) == 1 else given

    def has(self, run, *names):
        """Whether these files have the rows of this run, where it has any."""
        return all(name in self.files or name in self.first and run.repetition == 0 for name in names)

    def read_csv(self, name):
        with open(os.path.join(self.folder, name), encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                self.run(row["policy"], row["repetition"]).rows[name].append(row if name == "curves.csv" else on_grid(row))

    def read_events(self):
        path = os.path.join(self.folder, "events.jsonl")
        self.with_events = set()
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    event = json.loads(line)
                    run = self.run(event["policy"], event["repetition"])
                    run.events.append({**event, "time_s": float(on_grid({"time_s": event["time_s"]})["time_s"])})
                    self.with_events.add((run.policy, run.repetition))

    def devices(self, pool):
        return self.pools[pool]["nodes"] * self.pools[pool]["devices_per_node"]

    def is_plain(self, pool):
        """Its nodes are always there."""
        return "autoscale" not in self.pools[pool] and "spot" not in self.pools[pool]

    def counted(self, rows):
        """The rows of jobs.csv that the summary is about."""
        window = self.scenario.get("measure")
        if window is None:
            return rows
        low, high = window.get("warmup_s", 0), window.get("until_s", math.inf)
        return [row for row in rows if low <= number(row["submit_s"]) < high]


def mistakes(folder, beside=None):
    """(rule, what is wrong) for everything that does not hold in a results folder."""
    books = Books(folder, beside)
    if books.study:
        return []
    return [(name, text) for name, rule in RULES.items() for text in rule(books)]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    found = 0
    for folder in sys.argv[1:]:
        for rule, text in mistakes(folder):
            found += 1
            print(f"{folder}: {rule}: {text}")
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
