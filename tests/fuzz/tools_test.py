"""The net's own tests: every rule of the books tells when it is broken; generated scenarios are accepted and the same for a seed;
mutants and minimising. REHEARSE names the program."""
import argparse
import copy
import csv
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(ROOT, "tests", "corpus"))
sys.path.insert(0, os.path.join(ROOT, "tests", "mutation"))

import books  # noqa: E402
import ledger  # noqa: E402
import same  # noqa: E402
from campaign import Campaign  # noqa: E402
from commands import RARER, TAMPER, Command, CommandTrial, draw_command, spoil_words, tamper  # noqa: E402
from draw_files import mutated_bytes, mutated_cells  # noqa: E402
from generate import Registry, default_schema, generate, write  # noqa: E402
from minimise import minimised  # noqa: E402
from mutate import mutant, without_long_work  # noqa: E402
from mutate_source import changes_of, mutants_of  # noqa: E402
from program import INVALID, LONG_WORK, OK, Ended, Limits, Program, Scratch, Server, finding, kill_group, wants_to_run  # noqa: E402
from trial import differences, reasons_of_failures  # noqa: E402

PROGRAM = os.environ.get("REHEARSE", os.path.join(ROOT, "build/release/cli/rehearse"))
SERVER = os.environ.get("SCENARIO_SERVER", os.path.join(ROOT, "build/release/tests/scenario_server"))

# Two nodes of one GPU; j2 waits for j0, j1 fails at its limit of time; a node fails, another is in maintenance; a partition of one node.
SCENARIO = {
    "name": "books", "seed": 5, "world": {"model_error": 0}, "repetitions": 2,
    "cluster": {"pools": [{"name": "a", "instance": "p3.2xlarge", "nodes": 3}]},
    "jobs": [{"job_id": "j0", "user": "ann", "gpus": 1, "duration_s": 3600, "deadline_s": 7200, "cost_limit_usd": 100},
             {"job_id": "j1", "user": "ann", "gpus": 1, "duration_s": 5000, "walltime_s": 1000, "deadline_s": 20000},
             {"job_id": "j2", "user": "bob", "gpus": 1, "duration_s": 600, "after": ["j0"]},
             {"job_id": "j3", "user": "bob", "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.7}],
    "policies": ["manual", {"name": "parted", "queue": {"name": "fifo", "partitions": [{"name": "of-ann", "users": ["ann"], "quota": {"a": 2}}, {"name": "others", "quota": {"a": 1}}]}}],
    "failures": {"file": "failures.csv"}, "maintenance": [{"pool": "a", "first_node": 2, "nodes": 1, "start_s": 20000, "duration_s": 500}],
    "output": {"report": False, **dict.fromkeys(("nodes", "events", "decisions", "stages", "curves", "predictions", "utilization", "life"), "all")}}
FILES = {"failures.csv": "node,time_s,down_s\na/1,100000,3600\n"}


def rows_changed(path, change):
    """Of a CSV file: `change(rows)` in place."""
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows, names = list(reader), reader.fieldnames
    change(rows)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def set_in(job, **values):
    """The first row of a job gets these values; a function is applied to the number that was there."""
    def change(rows):
        row = next(row for row in rows if row.get("job") == job)
        for name, value in values.items():
            row[name] = str(value(float(row[name])) if callable(value) else value)
    return change


def first(**values):
    def change(rows):
        for name, value in values.items():
            rows[0][name] = str(value(float(rows[0][name])) if callable(value) else value)
    return change


class CampaignTest(unittest.TestCase):
    def test_what_is_expected_is_counted_and_is_no_finding(self):
        campaign = object.__new__(Campaign)
        campaign.findings, campaign.expected = {}, {}
        campaign.options = argparse.Namespace(known=["slow solver"])
        for signature in ["run: since N s no job has come, ended or got any further: whoever is started is stopped before it gets any further, and N wait: job",
                          "run: since N s no job has come, ended or got any further: the queue waits until N s, and N wait: job", "run: slow solver of N"] * 2:
            campaign.told(signature, {}, {}, None, True, True)
        self.assertEqual(campaign.findings, {})
        self.assertEqual(list(campaign.expected.values()), [2, 2, 2])

    def test_long_work_whose_simulated_time_goes_on_is_no_finding(self):
        def found(err, status=INVALID, timed_out=False):
            return finding(Ended(status, "", err + "policy P failed: killed by signal 24 (CPU time limit exceeded)\n", 200, timed_out), "run")

        before, after = "7 of 12 runs (58 %), 60 s: P2 1 at day 310.204\n", "7 of 12 runs (58 %), 90 s: P2 1 at day 1e+03 and 1 more\n"
        self.assertIn(LONG_WORK, found(before + after))
        self.assertIn(LONG_WORK, finding(Ended(-signal.SIGXCPU, "", before + after, 200), "train"))
        for err in ("", after, after + before, before + before, before + after.replace("P2", "P3"), before + after.replace("1e+03", "1e+05")):
            self.assertEqual(found(err), "run: no end")
        replays = [f"{done} of 1,084 replays (9 %), 60 s, about 3 min left: iteration 1 at day {day}{more}\n" for done, day, more in (("999", 40, ""), ("1,002", 7, ""), ("1,003", 6, " and 1 more"))]
        self.assertIn(LONG_WORK, found(replays[0] + replays[1]))  # the next replay's days
        for err in (replays[1] + replays[0], replays[0] + replays[0], replays[1] + replays[2]):
            self.assertEqual(found(err), "run: no end")
        self.assertEqual(found(before + after, timed_out=True), "run: no end")  # it stands still
        others = "8 of 12 runs (70 %), 2.0 min: P3 0 at day 2 and 1 more\n8 of 12 runs (75 %), 2.5 min: P3 0 at day 4 and 1 more\n9 of 12 runs (80 %), 3.0 min: P4 1 at day 1 and 1 more\n"
        self.assertIn(LONG_WORK, found(before + after + others))  # P2 or P3 was ended; others have gone on since
        self.assertEqual(found(before + after + after + others), "run: no end")  # P2 stood still
        self.assertTrue(any(known in found(before + after) for known in Campaign.NO_FINDING))

    def test_jobs_that_wait_for_no_reason_are_a_finding(self):
        campaign = object.__new__(Campaign)
        campaign.findings, campaign.expected = {"run: since N s no job has come, ended or got any further, and N wait forever: job": 1}, {}
        campaign.options, campaign.begun_cpu_s, campaign.server = argparse.Namespace(known=[]), 0, None
        campaign.told("run: since N s no job has come, ended or got any further, and N wait forever: job", {}, {}, None, True, True)
        self.assertEqual(list(campaign.findings.values()), [2])
        self.assertEqual(campaign.expected, {})

    def test_a_reason_that_goes_on_below_is_one(self):
        table = ("policy  cost, $  saving\n-----------------------\nP0      FAILED: nobody has come,\n        ended or got any further: waits\nP1      3.00     0.0\n"
                 "P2      FAILED: short\n\n        not of the table\n")
        self.assertEqual(reasons_of_failures(table), ["nobody has come, ended or got any further: waits", "short"])
        self.assertEqual(reasons_of_failures("FAILED: of the driver\nanother line\n"), ["of the driver"])


class LedgerTest(unittest.TestCase):
    def row(self, began, ended, cpu_s, findings=0, quiet_s=None):
        return {"began": began, "ended": ended, "commit": "c", "kind": "mutated", "first_seed": 1, "last_seed": 9, "scenarios": 9, "accepted": 3, "cpu_s": cpu_s,
                "findings": findings, "cpu_s_since_finding": cpu_s if quiet_s is None else quiet_s}

    def test_what_ran_beside_a_campaign_that_found_does_not_count_as_quiet(self):
        rows = [self.row("01", "02", 100), self.row("03", "05", 200, 1, 20), self.row("04", "06", 300), self.row("05", "07", 400)]
        self.assertEqual(ledger.since_last_finding(rows), 20 + 400)
        self.assertEqual(ledger.since_last_finding(rows[:1]), 100)

    def test_six_quiet_hours_are_one_in_two(self):
        self.assertIn("at most one finding in 2.00 CPU hours", ledger.total([self.row("2026-01-01", "2026-01-02", 6 * 3600.0)]))
        self.assertEqual(ledger.total([]), "no campaigns yet")

    def test_lines_are_appended_and_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "ledger.csv")
            for cpu_s in (1.5, 2.0):
                ledger.append(path, self.row("01", "02", cpu_s))
            self.assertEqual([row["cpu_s"] for row in ledger.read(path)], [1.5, 2.0])

    def test_a_living_child_counts(self):
        child = subprocess.Popen([sys.executable, "-c", "print(sum(range(3 * 10**7)), flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        before = ledger.cpu_s()
        child.stdout.readline()
        self.assertGreater(ledger.cpu_s([child.pid]) - before, 0.1)
        child.communicate(b"\n")
        self.assertGreater(ledger.cpu_s() - before, 0.1)


class CommandsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema, cls.registry = default_schema(), Registry(PROGRAM)

    def test_the_same_seed_draws_the_same_command_and_all_kinds_come(self):
        drawn = [draw_command(self.schema, self.registry, seed) for seed in range(1, 41)]
        again = [draw_command(self.schema, self.registry, seed) for seed in range(1, 41)]
        self.assertEqual([(c.lines, c.files) for c in drawn], [(c.lines, c.files) for c in again])
        self.assertEqual({c.kind for c in drawn}, {"rent", "plan", "sweep", "train", "process", "run", "results", "tables"})

    def test_what_is_drawn_is_accepted_where_it_is_not_spoiled(self):
        with Scratch() as scratch, unittest.mock.patch("commands.spoil"), unittest.mock.patch("commands.tamper"):
            trial = CommandTrial(Program(PROGRAM), Program(PROGRAM), scratch)
            for seed in (1, 2, 6, 7, 10, 34, 40):  # run, results, rent, plan, tables, train and run, sweep
                self.assertIsNone(trial(draw_command(self.schema, self.registry, seed)))
            self.assertEqual((trial.accepted, trial.refused), (7, 0))

    def test_every_option_is_drawn(self):
        """But of what starts other people's schedulers, reads what no table here is, or only tells of the program itself."""
        program, options = Program(PROGRAM), {}

        def ask(command):
            text = program(*command, "--help").text
            options.setdefault(command[0], set()).update(re.findall(r"^  (?:-\w, ?)?(--[a-z][a-z-]*)", text, re.M))
            below = re.search(r"^Subcommands.*?:\n((?:  .*\n)+)", text, re.M)
            for name in re.findall(r"^  ([a-z][a-z-]+)  +\S", below.group(1), re.M) if below else []:
                ask((*command, name))

        for name in re.findall(r"^  ([a-z][a-z-]+)  +\S", program("--help").text, re.M):
            ask((name,))
        self.assertGreater(len(options), 20)
        with unittest.mock.patch("commands.spoil"):
            lines = [line for seed in range(1000) for line in draw_command(self.schema, self.registry, seed).lines if line[:1] != [TAMPER]]
        for command, known in options.items():
            words = {word for line in lines if line[:1] == [command] for word in line}
            never = known - words - {*RARER.get(command, ()), "--max-memory"} - ({"--out"} if "-o" in words else set())
            if command not in {"completion", "help", "leaderboard"}:
                self.assertLessEqual(never, {"--help", "--catalogue", "--launcher", "--hosts", "--tasks", "--against", "--cluster", "--columns", "--map-model"}, command)

    def test_cells_that_are_changed_are_the_seed_s_and_few(self):
        table = b"a,b,c\n1,2,3\n4,5,6\n"
        changed = [mutated_cells(random.Random(seed), table) for seed in range(200)]
        self.assertEqual(changed, [mutated_cells(random.Random(seed), table) for seed in range(200)])
        self.assertTrue(any(len(text.split(b"\n")) == 5 for text in changed) and any(len(text.split(b"\n")) == 3 for text in changed))
        self.assertTrue(any(text.startswith(b"a,b\n") for text in changed) and any(b"1e+300" in text for text in changed))

    def test_who_writes_beside_its_folder_is_found(self):
        with Scratch() as scratch:
            trial = CommandTrial(Program("/bin/sh"), None, scratch)
            self.assertIsNone(trial(Command("rent", [["-c", "echo in > in.txt"]], {}, 1)))
            self.assertEqual(trial(Command("rent", [["-c", "echo out > ../out.txt; mkdir ../folder; ln -s in.txt ../link"]], {}, 1)), "-c: writes beside its folder")
            self.assertIsNone(trial(Command("rent", [["-c", "true"]], {}, 1)))
            with open(os.path.join(scratch.path, "left"), "w", encoding="utf-8"):
                self.assertEqual(trial(Command("rent", [[]], {}, 1)), "no command: writes beside its folder")

    def test_what_a_line_writes_stays_in_its_folder(self):
        """A user who says `--data ..` has files written there, which is no finding."""
        written = [["plot", "--data", "drawn"], ["graph", "--dot", "g.dot"], ["graph", "--json", "g.json"], ["regress", "--junit", "r.xml"], ["rent", "--state", "s.json"]]
        for line in written:
            for seed in range(300):
                words = list(line)
                spoil_words(random.Random(seed), words)
                self.assertFalse({"..", "a/b"} & set(words), words)

    def test_of_a_folder_one_file_is_tampered_with(self):
        with tempfile.TemporaryDirectory() as case:
            os.makedirs(os.path.join(case, "one", "deep"))
            names = ("one/a.csv", "one/deep/b.json", "one/page.html")
            for name in names:
                with open(os.path.join(case, name), "w", encoding="utf-8") as file:
                    file.write('{"key": [1, 2, 3]}')
            tampered = set()
            for seed in range(40):
                before = {name: os.stat(os.path.join(case, name)).st_mtime_ns if os.path.exists(os.path.join(case, name)) else None for name in names}
                tamper(case, [TAMPER, "one", seed])
                after = {name: os.stat(os.path.join(case, name)).st_mtime_ns if os.path.exists(os.path.join(case, name)) else None for name in names}
                changed = {name for name in names if before[name] != after[name]}
                self.assertLessEqual(len(changed), 1)
                tampered |= changed
            self.assertEqual(tampered, {"one/a.csv", "one/deep/b.json"})

    def test_bytes_that_are_changed_are_the_seed_s(self):
        changed = [mutated_bytes(random.Random(seed), b"model,dataset\nresnet18,cifar10\n") for seed in range(50)]
        self.assertEqual(changed, [mutated_bytes(random.Random(seed), b"model,dataset\nresnet18,cifar10\n") for seed in range(50)])
        self.assertGreater(len(set(changed)), 40)

    def test_who_waits_for_nothing_but_a_processor_does_not_hang(self):
        busy, asleep = (subprocess.Popen([sys.executable, "-c", code], start_new_session=True) for code in ("while True: pass", "import time; time.sleep(100)"))
        try:
            self.assertTrue(wants_to_run(busy.pid))
            time.sleep(1)
            self.assertFalse(wants_to_run(asleep.pid))
        finally:
            for child in (busy, asleep):
                kill_group(child)


class BooksTest(unittest.TestCase):
    BILLING = "allocated"

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.mkdtemp()
        path = write(os.path.join(cls.scratch, "case"), {**SCENARIO, "billing": cls.BILLING}, FILES)
        cls.results = os.path.join(cls.scratch, "results")
        ended = Program(PROGRAM, Limits(wall_s=300, cpu_s=300))("run", path, "--out", cls.results)
        assert ended.status == OK, ended.text

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    def broken(self, break_it):
        """The rules that tell, once the results are broken in this way."""
        with tempfile.TemporaryDirectory() as folder:
            copied = os.path.join(folder, "results")
            shutil.copytree(self.results, copied)
            break_it(copied)
            return {rule for rule, _ in books.mistakes(copied)}

    def in_csv(self, name, change):
        return lambda folder: rows_changed(os.path.join(folder, name), change)

    def told(self, rule, name, change):
        self.assertIn(rule, self.broken(self.in_csv(name, change)))

    def in_json(self, name, change):
        def break_it(folder):
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                value = json.load(file)
            change(value)
            with open(path, "w", encoding="utf-8") as file:
                json.dump(value, file)
        return break_it

    def test_whole_results_hold(self):
        self.assertEqual(books.mistakes(self.results), [])

    def test_records_of_some_repetitions_hold(self):
        scenario = {key: value for key, value in SCENARIO.items() if key != "output"}
        for record in ({}, {"jobs": "first"}, {"jobs": "none"}, {"nodes": True, "decisions": False, "stages": "all", "life": "first"}):
            with tempfile.TemporaryDirectory() as folder:
                path = write(os.path.join(folder, "case"), {**scenario, "billing": self.BILLING, "output": {"report": False, **record}}, FILES)
                ended = Program(PROGRAM, Limits(wall_s=300, cpu_s=300))("run", path, "--out", os.path.join(folder, "results"))
                self.assertEqual(ended.status, OK, ended.text)
                self.assertEqual(books.mistakes(os.path.join(folder, "results")), [], record)

    def test_a_job_ends_once(self):
        self.told("ends once", "jobs.csv", lambda rows: rows.insert(0, dict(rows[0])))
        self.told("ends once", "jobs.csv", lambda rows: rows.pop(0))

    def test_dates(self):
        self.told("dates", "jobs.csv", set_in("j2", start_s=0, submit_s=10))
        self.told("dates", "jobs.csv", set_in("j0", state="failed"))
        self.told("dates", "jobs.csv", lambda rows: rows.__setitem__(slice(0, 2), [rows[1], rows[0]]))

    def test_signs(self):
        self.told("signs", "jobs.csv", set_in("j0", cost_usd=-1))
        self.told("signs", "jobs.csv", set_in("j0", energy_j="nan"))

    def test_flags(self):
        self.told("flags", "jobs.csv", set_in("j0", deadline_met="false"))
        self.told("flags", "jobs.csv", set_in("j1", deadline_met="true"))
        self.told("flags", "jobs.csv", set_in("j3", accuracy_met="false", accuracy=0.9))
        self.told("flags", "jobs.csv", set_in("j0", cost_limit_usd=0.001))
        self.told("flags", "jobs.csv", set_in("j2", deadline_met="true"))

    def test_events(self):
        def without(event):
            def change(folder):
                path = os.path.join(folder, "events.jsonl")
                with open(path, encoding="utf-8") as file:
                    lines = file.readlines()
                lines.remove(next(line for line in lines if f'"event":"{event}"' in line))
                with open(path, "w", encoding="utf-8") as file:
                    file.writelines(lines)
            return change

        for event in ("submitted", "started", "finished", "failed"):
            self.assertIn("events", self.broken(without(event)), event)
        self.told("events", "jobs.csv", set_in("j0", end_s=3601))

    def test_stages(self):
        self.told("stages", "stages.csv", set_in("j3", end_s=lambda end: end + 1e6))
        self.told("stages", "stages.csv", set_in("j3", stage=1))
        self.told("stages", "curves.csv", lambda rows: rows.reverse())

    def test_life(self):
        self.told("life", "life.csv", set_in("j3", train_s=lambda s: s + 1))
        self.told("life", "life.csv", set_in("j3", train_s=lambda s: s + 1, held_s=lambda s: s + 1))

    def test_predictions(self):
        self.told("predictions", "predictions.csv", first(actual=lambda value: value + 1))

    def test_pauses(self):
        def pausing(name):
            def change(folder):
                path = os.path.join(folder, "events.jsonl")
                with open(path, encoding="utf-8") as file:
                    lines = file.readlines()
                at = next(i for i, line in enumerate(lines) if '"running"' in line)
                lines.insert(at, json.dumps({**json.loads(lines[at]), "event": name}) + "\n")
                with open(path, "w", encoding="utf-8") as file:
                    file.writelines(lines)
            return change

        self.assertIn("pauses", self.broken(pausing("paused")))
        self.assertIn("pauses", self.broken(pausing("resumed")))

    def test_dependencies(self):
        self.told("dependencies", "jobs.csv", set_in("j2", start_s=1))

    def test_no_device_twice(self):
        self.told("no device twice", "nodes.csv", first(devices=2))
        self.told("no device twice", "nodes.csv", first(node=3))

    def test_capacity(self):
        self.told("capacity", "utilization.csv", first(allocated_devices=4))
        self.told("capacity", "utilization.csv", lambda rows: rows[-1].update(busy_devices="1"))

    def test_allocated(self):
        self.told("allocated", "nodes.csv", lambda rows: rows.pop(0))

    def test_device_seconds(self):
        self.told("device seconds", "jobs.csv", set_in("j0", device_s=lambda s: s * 1.001))

    def test_nobody_is_on_nodes_that_are_away(self):
        def failing(event, back):
            def change(folder):
                path = os.path.join(folder, "events.jsonl")
                with open(path, encoding="utf-8") as file:
                    lines = file.readlines()
                for name, node in ((event, 0), (back, len(lines))):
                    lines.insert(node, json.dumps({"policy": "manual", "repetition": 0, "time_s": 0 if name == event else 1e9, "event": name, "node": "a/0"}) + "\n")
                with open(path, "w", encoding="utf-8") as file:
                    file.writelines(lines)
            return change

        for event, back in (("node_failed", "node_repaired"), ("spot_revoked", "spot_replaced"), ("maintenance_begins", "maintenance_ends")):
            self.assertIn("nobody on nodes that are away", self.broken(failing(event, back)), event)

    def test_quotas(self):
        def smaller(scenario):
            scenario["policies"][1]["queue"]["partitions"][0]["quota"] = {"a": 1}

        self.assertIn("quotas", self.broken(self.in_json("scenario.json", smaller)))

    def test_price_times_time(self):
        self.told("price x time", "jobs.csv", set_in("j0", cost_usd=lambda usd: usd * 1.0001))

    def test_stages_money(self):
        self.told("stages' money", "stages.csv", set_in("j3", cost_usd=lambda usd: usd * 1.0001))

    def test_parts_of_money(self):
        self.told("parts of money", "repetitions.csv", first(cost_switch_usd=lambda usd: usd + 0.01))

    def test_conservation(self):
        self.told("conservation", "repetitions.csv", first(idle_cost_usd=lambda usd: usd * 1.001))

    def test_energy(self):
        self.told("energy", "jobs.csv", set_in("j0", energy_j=lambda joule: joule * 1.001))

    def test_effective_cost(self):
        self.told("effective cost", "jobs.csv", set_in("j0", effective_cost_usd=lambda usd: usd + 1))
        self.told("effective cost", "jobs.csv", set_in("j1", effective_cost_usd=0))

    def test_utilization(self):
        self.told("utilization", "repetitions.csv", first(utilization_fraction=lambda share: share * 1.01))

    def test_repetitions(self):
        for name in ("jobs", "jobs_failed", "cost_usd", "limits_broken", "deadline_met_fraction", "energy_kwh", "jct_mean_s", "waiting_mean_s", "makespan_s", "seconds_late_mean"):
            self.told("repetitions", "repetitions.csv", first(**{name: lambda value: value * 1.01 + 1e-3}))

    def test_schedules(self):
        self.told("schedules", "repetitions.csv", first(jct_speedup=lambda ratio: ratio * 1.01))

    def test_summary(self):
        self.assertIn("summary", self.broken(self.in_json("summary.json", lambda s: s["policies"][0]["cost_usd"].update(mean=1))))
        self.assertIn("summary", self.broken(self.in_json("summary.json", lambda s: s["policies"][0]["cost_usd"].update(ci95_high=1e9))))
        self.assertIn("summary", self.broken(self.in_json("summary.json", lambda s: s["policies"].reverse())))

    def test_savings(self):
        """Of one repetition, where nothing is averaged."""
        one = os.path.join(self.scratch, "one")
        Program(PROGRAM, Limits(wall_s=300, cpu_s=300))("run", os.path.join(self.scratch, "case", "scenario.json"), "--set", "/repetitions=1", "--out", one)
        self.assertEqual(books.mistakes(one), [])
        with tempfile.TemporaryDirectory() as folder:
            copied = shutil.copytree(one, os.path.join(folder, "one"))
            self.in_json("summary.json", lambda s: s["policies"][1]["saving_without_profiling_percent"].update(mean=50))(copied)
            self.assertIn("savings", {rule for rule, _ in books.mistakes(copied)})

    def test_every_rule_is_tested(self):
        with open(os.path.realpath(__file__), encoding="utf-8") as file:
            source = file.read()
        for rule in books.RULES:
            self.assertGreaterEqual(source.count(f'"{rule}"'), 1, rule)


    def test_marginal_cost(self):
        self.told("marginal cost", "jobs.csv", set_in("j0", marginal_cost_usd=lambda usd: usd * 1.01 + 0.01))


class RentedBooksTest(BooksTest):
    """The same scenario where jobs rent whole nodes."""
    BILLING = "node"

    def test_rented(self):
        self.told("rented", "jobs.csv", set_in("j0", cost_usd=lambda usd: usd * 1.0001))
        self.told("rented", "nodes.csv", lambda rows: rows.pop(0))

    test_price_times_time = test_conservation = test_utilization = None  # rules of the other billings


class GeneratorTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema, cls.registry = default_schema(), Registry(PROGRAM)

    def test_the_same_seed_draws_the_same(self):
        self.assertEqual(generate(self.schema, self.registry, 7), generate(self.schema, self.registry, 7))
        self.assertNotEqual(generate(self.schema, self.registry, 7), generate(self.schema, self.registry, 8))

    def test_every_strategy_and_study_is_drawn(self):
        drawn = "".join(json.dumps(generate(self.schema, self.registry, seed)[0]) for seed in range(600))
        for decision in ("configure", "place", "threads", "queue"):
            self.assertGreater(len(self.registry.strategies[decision]), 3)
            for name in self.registry.strategies[decision]:
                self.assertIn(f'"{name}"', drawn)
        for study in self.registry.studies:
            self.assertIn(f'"{study}"', drawn)

    def test_every_key_outside_of_studies_is_drawn(self):
        """But what names a file that is not there, or that the program writes itself."""
        known, drawn = set(), set()

        def name(path):
            named = [part for part in path if not isinstance(part, int)] or ["scenario"]
            return "by_model" if "by_model" in named[-2:] else named[-1]

        def walk(path, value):
            if isinstance(value, dict):
                known.update(f"{name(path)}/{key}" for key in self.schema.keys(path))
                drawn.update(f"{name(path)}/{key}" for key in value)
                for key, below in value.items():
                    walk([*path, key], below)
            elif isinstance(value, list):
                for place, below in enumerate(value):
                    walk([*path, place], below)

        for seed in range(1500):
            scenario = generate(self.schema, self.registry, seed)[0]
            scenario.pop("study", None)
            walk([], scenario)
        texts = {"scenario/$schema", "scenario/description", "scenario/sha256", "scenario/study", "jobs/name", *(f"{one}/source" for one in ("devices", "instances", "convergence", "stacks", "recipes", "outcomes"))}
        unwritten = {"output/timeline", "output/max_timeline_jobs"}
        files = {"cluster/platform", "devices/stack", "availability/file", "history/paid"}
        programs = {f"{decision}/{key}" for decision in ("configure", "place", "threads", "queue") for key in ("sandbox", "process", "timeout_s", "agent")}
        self.assertEqual(known - drawn - texts - unwritten - files - programs, set())

    def test_names_are_whole(self):
        """Columns of `list strategies` do not run into one another."""
        for decision in ("configure", "place", "threads", "queue"):
            self.assertEqual(sorted(self.registry.strategies[decision]), sorted(self.schema.strategy_names(decision)))

    def test_generated_scenarios_are_accepted(self):
        program, refused = Program(PROGRAM, Limits(wall_s=60, cpu_s=60)), []
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(40):
                scenario, files = generate(self.schema, self.registry, seed)
                ended = program("check", write(os.path.join(folder, str(seed)), scenario, files))
                if ended.status != OK:
                    refused.append((seed, ended.err.splitlines()[-1]))
        self.assertEqual(refused, [])


class DisciplinesTest(unittest.TestCase):
    def test_books_hold_under_every_discipline_and_preset(self):
        """The same generated jobs, clusters and failures under each queue that the program lists."""
        schema, registry = default_schema(), Registry(PROGRAM)
        queues = registry.strategies["queue"]
        self.assertTrue({"slurm-multifactor", "tiresias-dlas", "gandiva-like"} <= set(queues))
        program = Program(PROGRAM, Limits(wall_s=600, cpu_s=200))
        replays = ((seed, *generate(schema, registry, seed)) for seed in itertools.count(2))
        for seed, scenario, files in itertools.islice((one for one in replays if "study" not in one[1]), 3):
            for named in ("baseline", "reference"):
                scenario.pop(named, None)
            scenario.update(repetitions=1, policies=[{"name": queue, "configure": "manual", "queue": queue} for queue in queues])
            with self.subTest(seed=seed), tempfile.TemporaryDirectory() as folder:
                ended = program("run", write(folder, scenario, files), "--out", os.path.join(folder, "results"), cwd=folder)
                self.assertEqual(ended.status, OK, ended.text)
                self.assertEqual(books.mistakes(os.path.join(folder, "results"), folder), [])
                with open(os.path.join(folder, "results", "jobs.csv"), encoding="utf-8") as file:
                    self.assertEqual({row["policy"] for row in csv.DictReader(file)}, set(queues))


class MutatorTest(unittest.TestCase):
    def test_mutants_differ_and_leave_the_scenario_alone(self):
        schema, before = default_schema(), copy.deepcopy(SCENARIO)
        mutants = [mutant(random.Random(seed), schema, SCENARIO, [{"seed": 1, "jobs": [{"trace": "x"}]}]) for seed in range(300)]
        self.assertEqual(SCENARIO, before)
        self.assertGreater(len({json.dumps(m, default=str) for m in mutants}), 200)
        self.assertEqual(mutant(random.Random(3), schema, SCENARIO, []), mutant(random.Random(3), schema, SCENARIO, []))

    def test_minimising_keeps_what_shows_the_defect(self):
        small = minimised(SCENARIO, lambda s: any(job.get("after") for job in s.get("jobs", [])))
        self.assertEqual(small, {"jobs": [{"after": ["j0"]}]})

    def test_long_work_by_right_is_cut(self):
        """Whole numbers may be written as 3600.0; fewer than the limit stay, and so does what is too much for the program itself."""
        for number in (3600, 3600.0):
            self.assertEqual(without_long_work({"repetitions": number, "jobs": [{"count": number}]}), {"repetitions": 20, "jobs": [{"count": 2000}]})
        for scenario in ({"repetitions": 3}, {"repetitions": 1e9}, {"repetitions": True}, {"repetitions": "3600"}):
            self.assertEqual(without_long_work(scenario), scenario)


class EndsTest(unittest.TestCase):
    def ended(self, script, **limits):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program")
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + script)
            os.chmod(path, 0o755)
            return finding(Program(path, Limits(**limits), sanitized=False)(), "run")

    def test_what_is_a_finding(self):
        self.assertIsNone(self.ended("exit 0"))
        self.assertIsNone(self.ended("exit 3"))
        self.assertEqual(self.ended("kill -SEGV $$"), "run: signal 11")
        self.assertEqual(self.ended("sleep 30", wall_s=0.3), "run: no end")
        self.assertIn("this is a bug", self.ended("echo 'this is a bug of rehearse, please report it: 12' >&2; exit 1"))
        self.assertIn("AddressSanitizer: heap-use", self.ended("echo '==1==ERROR: AddressSanitizer: heap-use-after-free on 0x01' >&2; exit 99"))
        self.assertIn("runtime error: N is outside", self.ended("echo 'a.cpp:3:1: runtime error: 1e300 is outside' >&2; exit 99"))
        self.assertEqual(self.ended("echo 'FAILED: killed by signal 11 (x)'; exit 5"), "run: a child was killed by signal 11")


class ServerTest(unittest.TestCase):
    """The driver's limits are of processor time: who works on is waited for, who stands still is ended."""

    @unittest.skipUnless(os.path.exists(SERVER), "scenario_server is not built")
    def test_only_what_stands_still_has_no_end(self):
        with tempfile.TemporaryDirectory() as folder:
            path = write(os.path.join(folder, "case"), {**SCENARIO, "repetitions": 4}, FILES)
            pipe = os.path.join(folder, "pipe.json")
            os.mkfifo(pipe)
            server = Server(SERVER, 0.001)  # after ten times as long it is looked whether the child wants to run
            try:
                self.assertEqual(server.run(path, os.path.join(folder, "results"), 1).status, OK)
                self.assertTrue(os.path.exists(os.path.join(folder, "results", "summary.json")))
                self.assertTrue(server.check(pipe).timed_out)  # waits for somebody to write
                self.assertEqual(server.check(path).status, OK)
            finally:
                server.close()


    def test_what_a_library_writes_on_stdout(self):
        with tempfile.TemporaryDirectory() as folder:
            driver = os.path.join(folder, "driver.py")
            with open(driver, "w", encoding="utf-8") as file:
                file.write(f"#!{sys.executable}\nimport sys\nfor line in sys.stdin:\n    print('\\t***Too many\\n\\n5 parts\\n0', flush=True)\n")
            os.chmod(driver, 0o755)
            server = Server(driver, 10)
            try:
                for _ in range(2):
                    self.assertEqual(finding(server.check("any"), "check"), "check: a library writes on stdout: ***Too many")
            finally:
                server.close()


class CompareTest(unittest.TestCase):
    def told(self, first_text, second_text, name="jobs.csv"):
        with tempfile.TemporaryDirectory() as folder:
            for side, text in (("a", first_text), ("b", second_text)):
                os.makedirs(os.path.join(folder, side))
                with open(os.path.join(folder, side, name), "w", encoding="utf-8") as file:
                    file.write(text)
            told, small = [], []
            same.compared_folders(os.path.join(folder, "a"), os.path.join(folder, "b"), told, small)
            self.assertEqual(bool(differences(os.path.join(folder, "a"), os.path.join(folder, "b"))), first_text != second_text and name != "timing.json")
            return len(told), len(small)

    def test_what_is_the_same(self):
        self.assertEqual(self.told("a,1\n", "a,1\n"), (0, 0))
        self.assertEqual(self.told("a,1\n", "a,1.0000000000001\n"), (0, 1))
        self.assertEqual(self.told("a,1\n", "a,1.00001\n"), (1, 0))
        self.assertEqual(self.told("a,1\n", "b,1\n"), (1, 0))
        self.assertEqual(self.told("a\n", "a\nb\n"), (1, 0))
        self.assertEqual(self.told("1", "2", "timing.json"), (0, 0))
        self.assertEqual(self.told('{"$schema": "x", "version": "1", "seed": 1}', '{"version": "2", "seed": 1}', "scenario.json"), (0, 0))
        self.assertEqual(self.told('{"seed": 1}', '{"seed": 2}', "scenario.json")[0], 1)


class SourceChangesTest(unittest.TestCase):
    """tests/mutation: which changes of a line of C++ are made."""

    def changed(self, line):
        return [text for text, _ in changes_of(line)]

    def test_comparison_sign_constant(self):
        self.assertEqual(self.changed("  if (a < b + 1) return;"),
                         ["  if (a <= b + 1) return;", "  if (a > b + 1) return;", "  if (a < b - 1) return;", "  if (a < b + 2) return;"])
        self.assertEqual(self.changed("  x = 0.5;")[0], "  x = 0.5 / 2;")
        self.assertEqual(self.changed("  if (a && b) {"), ["  if (a || b) {"])

    def test_statements_are_dropped_and_declarations_are_not(self):
        self.assertIn("    ;", self.changed("    events_.cancel(live.phase_end);"))
        self.assertEqual(self.changed("  const double x = f(y);"), [])
        self.assertEqual(self.changed("  return f(y);"), [])

    def test_comments_texts_templates_and_names_stay(self):
        for line in ("  // a < b", '  say("a < b", x);'.replace("say", "return say"), "  std::vector<int> a;", "#include <map>", "  const auto p3 = f(x2);"):
            self.assertEqual(self.changed(line), [], line)

    def test_the_same_draw_for_a_seed_and_a_longer_one_begins_with_it(self):
        import pathlib
        root = pathlib.Path(ROOT)
        self.assertEqual(mutants_of(root, 1, 12), mutants_of(root, 1, 30)[:12])
        self.assertEqual(mutants_of(root, 1, 30, 12), mutants_of(root, 1, 30)[12:])
        self.assertNotEqual(mutants_of(root, 1, 12), mutants_of(root, 2, 12))


if __name__ == "__main__":
    unittest.main()
