#!/usr/bin/env python3
"""Puts scenarios through the program, and keeps what shows a defect.

    campaign.py generated --minutes N     random valid scenarios: run, books, the same bytes again
    campaign.py mutated --minutes N       mutants of all that ship and of generated ones: check, and where accepted run
    campaign.py replay [CASE...]          cases that were found once (default: all of tests/fuzz/cases): none may show a defect

Seeds count on from --seed: the same seed, the same scenarios. Findings are minimised and written to --found, a folder each with
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

from generate import ROOT, Registry, default_schema, generate, write
from minimise import minimised
from mutate import mutant
from program import Program, Scratch, Server, is_sanitized
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
        for key, most in (("evaluations", 50), ("jobs", 2), ("folds", 1)):
            if isinstance(study.get(key), int):
                study[key] = min(study[key], most)
            elif isinstance(study.get(key), list):
                study[key] = study[key][:most]
    return scenario


def without_long_work(value, key=None):
    """What takes minutes by right is no finding: graphs of tens of thousands of operations, thousands of repetitions."""
    if isinstance(value, dict):
        return {name: without_long_work(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [without_long_work(part) for part in value]
    if key == "granularity" and value == "tensorflow":
        return "layers"
    return 20 if key == "repetitions" and isinstance(value, int) and 20 < value <= 10000 else value


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

    # A queue whose rounds are shorter than jobs take to start gets nobody any further, and the program says so.
    NO_FINDING = ("got any further",)

    def told(self, signature, scenario, files, trial, valid, thorough):
        """A finding is told, minimised and kept once for each signature; what is expected is counted, and no finding."""
        if any(known in signature for known in (*self.NO_FINDING, *self.options.known)):
            self.expected[signature] = self.expected.get(signature, 0) + 1
            return
        if signature in self.findings:
            self.findings[signature] += 1
            return
        self.findings[signature] = 1
        print(f"FOUND {signature}", flush=True)
        if self.options.minimise_s > 0:
            scenario = minimised(scenario, lambda smaller: trial(smaller, files, valid, thorough) == signature, self.options.minimise_s)
        folder = os.path.join(self.options.found, f"{self.options.what}-{len(self.findings)}-{time.strftime('%H%M%S')}")
        used = {name: text for name, text in files.items() if name in json.dumps(scenario)}
        write(folder, scenario, used)
        with open(os.path.join(folder, "finding.txt"), "w", encoding="utf-8") as file:
            file.write(signature + "\n")
        print(f"      {folder}: {json.dumps(scenario)[:600]}", flush=True)

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
        while time.monotonic() < ends and (self.options.count is None or seed < self.options.seed + self.options.count):
            yield seed
            seed += 1
        self.tried = seed - self.options.seed

    def __call__(self):
        self.tried = 0
        begun = time.monotonic()
        with Scratch() as scratch:
            trial = Trial(self.program, scratch, self.sanitized, self.server)
            try:
                getattr(self, self.options.what)(trial)
            finally:
                if self.server:
                    self.server.close()
        for signature, times in self.findings.items():
            if isinstance(times, int) and times > 1:
                print(f"{times} times: {signature}")
        for signature, times in self.expected.items():
            print(f"{times} times, as expected: {signature}")
        if self.options.what != "replay":
            print(f"{self.options.what}: {self.tried} scenarios from seed {self.options.seed} in {time.monotonic() - begun:.0f} s, {trial.accepted} accepted and {trial.ran} run "
                  f"(those of minimising included), {len(self.findings)} findings")
        return 1 if self.findings else 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=["generated", "mutated", "replay"])
    arguments.add_argument("cases", nargs="*")
    arguments.add_argument("--program", default=os.path.join(ROOT, "build/release/cli/rehearse"))
    arguments.add_argument("--sanitized", help="the same program under the sanitizers")
    arguments.add_argument("--server", help="the driver scenario_server, sanitized or not: quicker than a program for each scenario")
    arguments.add_argument("--minutes", type=float, default=1)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--count", type=int, help="at most so many scenarios")
    arguments.add_argument("--limit-s", type=float, default=20, help="processor time of one run; more is a finding, as is ten times as long without")
    arguments.add_argument("--minimise-s", type=float, default=60, help="for each finding; 0: not at all")
    arguments.add_argument("--found", default=os.path.join(ROOT, "build", "fuzz", "findings"))
    arguments.add_argument("--known", action="append", default=[], metavar="TEXT", help="findings with this in their signature are counted, and are no failure")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))  # what it has started and written is cleared away
    sys.exit(Campaign(arguments.parse_args())())


if __name__ == "__main__":
    main()
