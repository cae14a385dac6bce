"""Every rule of the books tells when it is broken. REHEARSE names the program."""
import csv
import json
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, HERE)

import books  # noqa: E402
from generate import write  # noqa: E402
from program import OK, Limits, Program  # noqa: E402

PROGRAM = os.environ.get("REHEARSE", os.path.join(ROOT, "build/release/cli/rehearse"))

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

    def in_events(self, change):
        """`change(lines)` in place."""
        def break_it(folder):
            path = os.path.join(folder, "events.jsonl")
            with open(path, encoding="utf-8") as file:
                lines = file.readlines()
            change(lines)
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(lines)
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
            return self.in_events(lambda lines: lines.remove(next(line for line in lines if f'"event":"{event}"' in line)))

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
            def change(lines):
                at = next(i for i, line in enumerate(lines) if '"running"' in line)
                lines.insert(at, json.dumps({**json.loads(lines[at]), "event": name}) + "\n")
            return self.in_events(change)

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
            def change(lines):
                for name, at, time_s in ((event, 0, 0), (back, len(lines), 1e9)):
                    lines.insert(at, json.dumps({"policy": "manual", "repetition": 0, "time_s": time_s, "event": name, "node": "a/0"}) + "\n")
            return self.in_events(change)

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


if __name__ == "__main__":
    unittest.main()
