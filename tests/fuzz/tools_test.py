"""The net's own tests: generated scenarios and command lines are accepted and the same for a seed; mutants, minimising, campaigns and
their ledger. The books have tests of their own (books_test.py). REHEARSE names the program."""
import argparse
import copy
import csv
import itertools
import json
import os
import random
import re
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
from books_test import FILES, SCENARIO  # noqa: E402
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
            rarer = {option for line, given in RARER.items() if line.split()[0] == command for option in given}
            never = known - words - rarer - {"--max-memory"} - ({"--out"} if "-o" in words else set())
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

    def test_every_key_is_drawn(self):
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

        for seed in range(4000):
            walk([], generate(self.schema, self.registry, seed)[0])
        texts = {"scenario/$schema", "scenario/description", "scenario/sha256", "jobs/name", "graphs/assumption", "machines/assumption", *(f"{one}/source" for one in ("devices", "instances", "convergence", "stacks", "recipes", "outcomes"))}
        unwritten = {"output/timeline", "output/max_timeline_jobs"}
        files = {"cluster/platform", "devices/stack", "availability/file", "history/paid", "study/format", "study/gpu", "study/gpus_per_node", "graphs/file", "graphs/format", "graphs/split",
                 "graphs/edge_costs", "space/cells", "space/accuracy", "space/devices"}
        programs = {f"{decision}/{key}" for decision in ("configure", "place", "threads", "queue") for key in ("sandbox", "process", "timeout_s", "agent")}
        self.assertEqual(known - drawn - texts - unwritten - files - programs, set())

    def test_names_are_whole(self):
        """Columns of `list strategies` do not run into one another. What the schema alone knows is a former name: it decides as a listed one does."""
        def decisions(decision, name):
            scenario = {**SCENARIO, "policies": [{"name": "named", "configure": "manual", decision: name}]}
            scenario.pop("baseline", None)
            with tempfile.TemporaryDirectory() as folder:
                ended = Program(PROGRAM)("run", write(folder, scenario, FILES), "--out", os.path.join(folder, "results"), cwd=folder)
                self.assertEqual(ended.status, OK, ended.text)
                with open(os.path.join(folder, "results", "decisions.csv"), encoding="utf-8") as file:
                    return file.read()

        for decision in ("configure", "place", "threads", "queue"):
            listed, known = self.registry.strategies[decision], self.schema.strategy_names(decision)
            self.assertLessEqual(set(listed), set(known))
            for former in set(known) - set(listed):
                takes = self.schema.strategy_parameters(decision, former)
                named = [name for name in listed if self.schema.strategy_parameters(decision, name) == takes]
                self.assertIn(decisions(decision, former), [decisions(decision, name) for name in named], former)

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
        """Whole numbers may be written as 3600.0; fewer than the limit stay, and so does what is too much for the program itself. A placement whose
        evaluations a mutant took away would try a thousand for each configuration that is predicted."""
        for place in ("rl", {"name": "rl"}, {"name": "rl", "evaluations": None}, {"name": "rl", "evaluations": 3600.0}):
            cut = without_long_work({"policies": [{"place": place}]})["policies"][0]["place"]
            self.assertEqual((cut["name"], cut["groups"]), ("rl", 6))
            self.assertIn(cut["evaluations"], (16, 100, None))
        for place in ("heft", {"name": ["rl"]}, {}, None, {"name": "rl", "groups": 2, "evaluations": 3}):
            self.assertEqual(without_long_work({"place": place}), {"place": place})
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
