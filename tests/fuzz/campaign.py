#!/usr/bin/env python3
"""Puts scenarios through the program, and keeps what shows a defect.

    campaign.py generated --minutes N     random valid scenarios: run, books, the same bytes again
    campaign.py mutated --minutes N       mutants of all that ship and of generated ones: check, and where accepted run
    campaign.py commands --minutes N      random and mutated command lines, hostile policy processes, agents, results, bundles and tables that were changed
    campaign.py replay [CASE...]          cases that were found once (default: all of tests/fuzz/cases): none may show a defect

Seeds count on from --seed: the same seed, the same scenarios. --ledger FILE gets a line of the campaign when it ends, also by SIGINT or
SIGTERM (ledger.py). Findings are minimised and written to --found, a folder each with
scenario.json, the files that it names and finding.txt; one that is mended moves to tests/fuzz/cases, without finding.txt. Status 1
when there are any.
"""
import argparse
import copy
import glob
import json
import os
import random
import signal
import sys
import time

import ledger
from commands import CommandTrial, draw_command
from generate import ROOT, Registry, default_schema, generate, write
from minimise import minimised
from mutate import mutant, without_long_work
from program import LONG_WORK, Program, Scratch, Server, is_sanitized
from trial import Trial, default_limits

CASES = os.path.join(ROOT, "tests", "fuzz", "cases")


def shipped(root):
    """(scenario, files beside it) of all that ship, and of the tests' good ones. Scenarios that read other files keep their paths."""
    found = []
    names = [*glob.glob(os.path.join(root, "scenarios", "**", "*.json"), recursive=True),
             *glob.glob(os.path.join(root, "tests", "scenarios", "corpus", "**", "*.json"), recursive=True)]
    for name in sorted(names):
        try:
            with open(name, encoding="utf-8") as file:
                scenario = json.load(file)
        except (ValueError, UnicodeDecodeError):
            continue
        if isinstance(scenario, dict) and ("cluster" in scenario or "study" in scenario) and '"granularity": "tensorflow"' not in json.dumps(scenario):
            found.append(shortened(scenario))
    return found


def shortened(scenario):
    """Fewer jobs, repetitions and evaluations: mutants are run by the thousand."""
    scenario = copy.deepcopy(scenario)
    if isinstance(scenario.get("repetitions"), int):
        scenario["repetitions"] = min(scenario["repetitions"], 2)
    for job in scenario.get("jobs", []) if isinstance(scenario.get("jobs"), list) else []:
        if isinstance(job, dict) and isinstance(job.get("count"), int):
            job["count"] = min(job["count"], 10)
    study = scenario.get("study")
    if isinstance(study, dict):
        for key, most in (("evaluations", 50), ("jobs", 2), ("folds", 1), ("strides", 1), ("factors", 1), ("graphs", 2), ("machines", 1), ("processes", 5), ("training_processes", 20)):
            if isinstance(study.get(key), int):
                study[key] = min(study[key], most)
            elif isinstance(study.get(key), list):
                study[key] = study[key][:most]
    return scenario


class Campaign:
    def __init__(self, options):
        self.options = options
        self.schema = default_schema()
        limits = default_limits(options.limit_s)
        self.program = Program(options.program, limits)
        self.sanitized = Program(options.sanitized, default_limits(4 * options.limit_s)) if options.sanitized else None
        self.server = Server(options.server, 4 * options.limit_s if is_sanitized(options.server) else options.limit_s) if options.server else None
        self.registry = Registry(self.program.path)
        self.findings = {}
        self.expected = {}
        self.stopped = False
        self.begun_cpu_s = self.quiet_since_cpu_s = self.cpu_s()

    def cpu_s(self):
        return ledger.cpu_s([self.server.child.pid] if self.server and self.server.child else [])

    # A queue whose rounds are shorter than jobs take to start gets nobody any further, and one whose own dates lie years ahead starts
    # nobody; the program says which. Jobs that wait for no reason that it knows are a finding.
    # Nor are nodes that fail faster than jobs get anywhere.
    # Nor is a device so slow that a step takes a century, which the program says.
    # Nor is a run that fills the campaign's 512 MiB a file: of 35 years of rounds every date is kept where everything is asked for.
    # Nor is a run of decades that says how far it is.
    NO_FINDING = (LONG_WORK, "got any further: whoever is started is stopped", "got any further: the queue waits until", "got any further: too few nodes are there", "File too large",
                  "ticks of N^N s altogether")

    def is_new(self, signature):
        """Counts it; what is expected is no finding."""
        if any(known in signature for known in (*self.NO_FINDING, *self.options.known)):
            self.expected[signature] = self.expected.get(signature, 0) + 1
            return False
        self.quiet_since_cpu_s = self.cpu_s()
        self.findings[signature] = self.findings.get(signature, 0) + 1
        return self.findings[signature] == 1

    def told(self, signature, scenario, files, trial, valid, thorough):
        """A finding is told, minimised and kept once for each signature."""
        if not self.is_new(signature):
            return
        print(f"FOUND {signature}", flush=True)
        if self.options.minimise_s > 0:
            scenario = minimised(scenario, lambda smaller: trial(smaller, files, valid, thorough) == signature, self.options.minimise_s)
        folder = self.folder()
        used = {name: text for name, text in files.items() if name in json.dumps(scenario)}
        write(folder, scenario, used)
        self.say(folder, signature, json.dumps(scenario))
        self.quiet_since_cpu_s = self.cpu_s()

    def folder(self):
        return os.path.join(self.options.found, f"{self.options.what}-{len(self.findings)}-{time.strftime('%H%M%S')}")

    def say(self, folder, signature, what):
        with open(os.path.join(folder, "finding.txt"), "w", encoding="utf-8") as file:
            file.write(signature + "\n")
        print(f"      {folder}: {what[:600]}", flush=True)

    def generated(self, trial):
        for seed in self.seeds():
            scenario, files = generate(self.schema, self.registry, seed)
            signature = trial(scenario, files, valid=True)
            if signature:
                print(f"seed {seed}: {signature}", flush=True)
                self.told(signature, scenario, files, trial, True, True)

    def mutated(self, trial):
        seeds = [(scenario, {}) for scenario in shipped(ROOT)] + [generate(self.schema, self.registry, seed) for seed in range(1, 81)]
        for seed in self.seeds():
            rng = random.Random(f"mutant {seed}")
            scenario, files = rng.choice(seeds)
            others = [other for other, _ in rng.sample(seeds, 3)]
            changed = without_long_work(mutant(rng, self.schema, scenario, others))
            signature = trial(changed, files, valid=False, thorough=False)
            if signature:
                print(f"seed {seed}: {signature}", flush=True)
                self.told(signature, changed, files, trial, False, False)

    def commands(self, _):
        """Not minimised: a command line is short, and its files are kept with it."""
        self.trial = trial = CommandTrial(self.sanitized or self.program, self.program, self.scratch)
        for seed in self.seeds():
            command = draw_command(self.schema, self.registry, seed)
            signature = trial(command)
            if not signature:
                continue
            print(f"seed {seed}: {signature}", flush=True)
            if self.is_new(signature):
                print(f"FOUND {signature}", flush=True)
                folder = self.folder()
                command.write(folder)
                self.say(folder, signature, "; ".join(" ".join(map(str, line)) for line in command.lines))

    def replay(self, trial):
        for case in self.options.cases or sorted(glob.glob(os.path.join(CASES, "*"))):
            folder = case if os.path.isdir(case) else os.path.dirname(case)
            files = {}
            for name in os.listdir(folder):
                if name.endswith((".csv", ".py", ".swf", ".xml")) or name == "catalogue.json":
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        files[name] = file.read()
            with open(os.path.join(folder, "scenario.json") if os.path.isdir(case) else case, encoding="utf-8") as file:
                scenario = json.load(file)
            signature = trial(scenario, files, valid=False)
            print(f"{os.path.basename(case)}: {signature or 'holds'}", flush=True)
            if signature:
                self.findings[case] = signature

    def seeds(self):
        ends = time.monotonic() + 60 * self.options.minutes
        seed = self.options.seed
        while not self.stopped and time.monotonic() < ends and (self.options.count is None or seed < self.options.seed + self.options.count):
            yield seed
            seed += 1
            self.tried = seed - self.options.seed

    def stop(self, *_):
        self.stopped = True

    def __call__(self):
        self.tried = 0
        begun, began, commit = time.monotonic(), ledger.now(), ledger.commit()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.stop)
        with Scratch() as self.scratch:
            self.trial = Trial(self.program, self.scratch, self.sanitized, self.server)
            try:
                getattr(self, self.options.what)(self.trial)
            except Exception:  # whatever the program did that nobody had thought of is no quiet time
                self.findings["the campaign has failed"] = 1
                self.quiet_since_cpu_s = self.cpu_s()
                raise
            finally:
                if self.server:
                    self.server.close()
                if self.options.ledger and self.tried > 0:
                    self.enter(began, commit)
        trial = self.trial
        for signature, times in self.findings.items():
            if isinstance(times, int) and times > 1:
                print(f"{times} times: {signature}")
        for signature, times in self.expected.items():
            print(f"{times} times, as expected: {signature}")
        if self.options.what != "replay":
            print(f"{self.options.what}: {self.tried} scenarios from seed {self.options.seed} in {time.monotonic() - begun:.0f} s, {trial.accepted} accepted and {trial.ran} run "
                  f"(those of minimising included), {len(self.findings)} findings")
        return 1 if self.findings else 0

    def enter(self, began, commit):
        last = self.options.seed + self.tried - 1
        ledger.append(self.options.ledger, {
            "began": began, "ended": ledger.now(), "commit": commit, "kind": self.options.what, "first_seed": self.options.seed, "last_seed": last,
            "scenarios": self.tried, "accepted": self.trial.accepted, "cpu_s": f"{self.cpu_s() - self.begun_cpu_s:.1f}", "findings": len(self.findings),
            "cpu_s_since_finding": f"{self.cpu_s() - self.quiet_since_cpu_s:.1f}"})


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=["generated", "mutated", "commands", "replay"])
    arguments.add_argument("cases", nargs="*")
    arguments.add_argument("--program", default=os.path.join(ROOT, "build/release/cli/rehearse"))
    arguments.add_argument("--sanitized", help="the same program under the sanitizers")
    arguments.add_argument("--server", help="the driver scenario_server, sanitized or not: quicker than a program for each scenario")
    arguments.add_argument("--minutes", type=float, default=1)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--count", type=int, help="at most so many scenarios")
    arguments.add_argument("--limit-s", type=float, default=180, help="processor time of one process (a minute by right: manual-best tries 700 settings of a CPU of 180 cores for each model and batch); more is a finding, as is ten times as long without")
    arguments.add_argument("--ledger", metavar="FILE", help="append a line: when, which commit, which seeds, CPU seconds, findings")
    arguments.add_argument("--minimise-s", type=float, default=60, help="for each finding; 0: not at all")
    arguments.add_argument("--found", default=os.path.join(ROOT, "build", "fuzz", "findings"))
    arguments.add_argument("--known", action="append", default=[], metavar="TEXT", help="findings with this in their signature are counted, and are no failure")
    options = arguments.parse_args()
    if options.what == "replay":
        options.ledger = None  # what was found before is no search
    sys.exit(Campaign(options)())


if __name__ == "__main__":
    main()
