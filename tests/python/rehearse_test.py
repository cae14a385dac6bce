# Rehearse from Python: running, reading, being a policy, being an environment. REHEARSE names the program.
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "python" / "examples")]
import rehearse
import rehearse_gym

SCENARIO = {
    "name": "from-python", "seed": 3, "world": {"model_error": 0},
    "cluster": {"pools": [{"name": "k80", "instance": "p2.xlarge", "nodes": 4}, {"name": "v100", "instance": "p3.2xlarge", "nodes": 2}]},
    "jobs": [{"job_id": "1", "gpus": 2, "duration_s": 3600},
             {"job_id": "2", "model": "resnet18", "dataset": "cifar10", "target_accuracy": 0.9, "deadline_s": 10800},
             {"job_id": "3", "submit_s": 60, "model": "resnet18", "dataset": "cifar10", "epochs": 2}],
    "policies": ["manual", "oracle"]}

POLICY = """
import sys
sys.path.insert(0, {path!r})
import rehearse


class Mine(rehearse.Policy):
    def hello(self, hello):
        self.pools = [pool["name"] for pool in hello["cluster"]["pools"]]

    def configure(self, request):
        print("what is printed does not disturb")
        return super().configure(request)

    def place(self, request):
        return {{"device_of_op": [0] * len(request["graph"]["ops"])}}

    def queue(self, request):
        free, start = dict(zip(self.pools, request["free_devices"])), []
        for job in request["present"].values():
            if job["state"] != "queued":
                continue
            groups = job["menu"][job["first_fitting_entry"]]["configuration"]["groups"]
            if any(group["workers"] > free[group["pool"]] for group in groups):
                break
            for group in groups:
                free[group["pool"]] -= group["workers"]
            start.append({{"job_id": job["job_id"]}})
        return {{"start": start}}


rehearse.serve(Mine())
"""


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)


class Running(InFolder):
    def test_results_are_plain_values(self):
        results = rehearse.run(SCENARIO, "out", overrides={"/policies/-": {"name": "none", "configure": {"process": ["./none"]}}})
        self.assertEqual(os.listdir(), ["out"])
        self.assertEqual(list(results.policies), ["manual", "oracle"])
        self.assertEqual(results.policies["manual"]["jobs_completed"], 3)
        self.assertIn("cannot be run", results.failed["none"])
        self.assertEqual(results.summary["seed"], 3)
        self.assertIn("jobs", results.tables)
        # Two K80s for an hour: 2 x 0.90 $.
        first = results.rows("jobs", policy="manual", job="1")[0]
        self.assertEqual((first["workers"], first["start_s"], first["end_s"], first["model"], first["deadline_met"]), (2, 0, 3600, None, None))
        self.assertAlmostEqual(first["cost_usd"], 1.8)
        second = results.rows("jobs", policy="manual", job="2")[0]
        self.assertIs(second["deadline_met"], True)
        self.assertIsInstance(second["accuracy"], float)
        self.assertTrue(all(event["policy"] in ("manual", "oracle") for event in results.events()))
        self.assertIn("from-python", rehearse.Results("out").summary["scenario"])

    def test_a_record_that_was_not_written(self):
        results = rehearse.run(SCENARIO, "out", overrides={"/output/decisions": "none"})
        self.assertNotIn("decisions", results.tables)
        for read in (lambda: results.rows("decisions"), lambda: results.rows("curves")):
            with self.assertRaisesRegex(FileNotFoundError, r'out has no \w+.csv: the scenario\'s "output": \{"\w+": "all"\} writes it'):
                read()

    def test_mistakes_are_an_exception_with_all_of_them(self):
        with self.assertRaisesRegex(rehearse.ScenarioError, '(?s)"orcale"; did you mean "oracle".*unknown key "sed"'):
            rehearse.run({**SCENARIO, "policies": ["orcale"], "sed": 1}, "out")
        self.assertEqual(os.listdir(), [])

    def test_a_file_and_its_neighbours(self):
        os.mkdir("there")
        Path("there/jobs.csv").write_text("job_id,submit_s,gpus,duration_s\na,0,1,60\n")
        Path("there/mine.json").write_text(json.dumps({**SCENARIO, "jobs": [{"trace": "jobs.csv"}]}))
        self.assertEqual(rehearse.run("there/mine.json", options=["--processes", "1"]).policies["manual"]["jobs"], 1)
        self.assertTrue(os.path.exists("results/from-python/summary.json"))

    def test_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        frame = rehearse.run(SCENARIO, "out").frame("jobs")
        self.assertEqual(list(frame["job"])[:3], [row["job"] for row in rehearse.Results("out").rows("jobs")][:3])
        self.assertAlmostEqual(frame[frame["policy"] == "manual"]["cost_usd"].sum(), rehearse.Results("out").policies["manual"]["cost_usd"])


class Serving(InFolder):
    def test_a_policy_of_all_four_decisions(self):
        Path("mine.py").write_text(POLICY.format(path=str(ROOT / "python")))
        command = {"process": [sys.executable, "mine.py"]}
        mine = {"name": "mine", "configure": command, "place": command, "threads": command, "queue": command}
        results = rehearse.run({**SCENARIO, "policies": ["manual", mine]}, "out")
        self.assertEqual(results.failed, {})
        self.assertEqual(results.policies["mine"], results.policies["manual"])
        self.assertIn("does not disturb", Path("out/logs/mine-0-configure.txt").read_text())

    def test_examples(self):
        for name in ("manual", "my_policy"):
            script = {"name": name, "configure": {"process": [sys.executable, str(ROOT / "python" / "examples" / f"{name}.py")]}}
            self.assertEqual(rehearse.run({**SCENARIO, "policies": [script]}, name).failed, {})


class Learning(InFolder):
    def episode(self, environment, action, **reset):
        observation, info = environment.reset(**reset)
        steps, ended = [], False
        while not ended:
            self.assertTrue(environment.observation_space.contains(observation))
            observation, reward, terminated, truncated, info = environment.step(action)
            steps.append(reward)
            ended = terminated or truncated
        return steps, truncated, info

    def test_an_episode_is_a_run(self):
        environment = rehearse_gym.ConfigureEnvironment(SCENARIO, most_candidates=8)
        steps, truncated, info = self.episode(environment, 7, seed=5)
        self.assertFalse(truncated)
        self.assertEqual(len(steps), 2)  # the third job is rigid
        self.assertEqual(steps[0], 0)
        self.assertEqual(steps[1], -info["policies"]["agent"]["effective_cost_usd"])
        self.assertEqual(self.episode(environment, 7, seed=5)[0], steps)
        self.assertEqual(environment.next_seed, 6)
        # Candidate 0 is the manual configuration.
        manual = rehearse.run(SCENARIO, "out", overrides={"/seed": 5}).policies["manual"]["effective_cost_usd"]
        self.assertEqual(self.episode(environment, 0, seed=5)[0][1], -manual)

    def test_a_bad_answer_truncates(self):
        class Bad(rehearse_gym.Environment):
            def observe(self, request):
                return [len(request["job"])]

            observation_space = rehearse_gym.Box(0, 100, (1,))

        steps, truncated, info = self.episode(Bad(SCENARIO), {"menu": []})
        self.assertEqual((steps, truncated), ([0.0], True))
        self.assertIn("a menu without any choice", info["reason"])

    def test_closing_in_the_middle_leaves_nothing(self):
        environment = rehearse_gym.ConfigureEnvironment(SCENARIO)
        environment.reset()
        process, folder = environment._episode.process, environment._episode.folder
        environment.close()
        self.assertIsNotNone(process.returncode)
        self.assertFalse(os.path.exists(folder))
        self.assertEqual(os.listdir(), [])
        environment.reset()  # and it can begin again
        environment.close()

    def test_a_queue_may_learn_too(self):
        class Queue(rehearse_gym.Environment):
            decision = "queue"

            def observe(self, request):
                return [len(request["present"])]

            def answer(self, action, request):
                waiting = [name for name, job in request["present"].items() if job["state"] == "queued"]
                return {"start": [{"job_id": name} for name in waiting]}

            def reward(self, request):
                return -1.0

            def final_reward(self, results):
                return results.policies["agent"]["jobs_completed"]

            observation_space = rehearse_gym.Box(0, 3, (1,))

        environment = Queue({**SCENARIO, "jobs": [{"gpus": 1, "duration_s": 60}, {"submit_s": 10, "gpus": 1, "duration_s": 60}]})
        # Asked at 0, 10, 60 and 70 s.
        self.assertEqual(self.episode(environment, None)[0], [-1.0, -1.0, -1.0, 2])

    def test_without_such_a_decision(self):
        with self.assertRaisesRegex(rehearse.RunError, "no such decision"):
            rehearse_gym.ConfigureEnvironment({**SCENARIO, "jobs": [{"gpus": 1, "duration_s": 60}]}).reset()
        with self.assertRaises(rehearse.ScenarioError):
            rehearse_gym.ConfigureEnvironment({**SCENARIO, "jobs": []}).reset()

    def test_gymnasium_when_it_is_there(self):
        class Space:
            def __init__(self, *what):
                self.what = what

        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed")
        fake = types.ModuleType("gymnasium")
        fake.Env, fake.spaces = type("Env", (), {}), types.SimpleNamespace(Discrete=Space, Box=Space)
        sys.modules["gymnasium"] = fake
        try:
            adapted = importlib.reload(rehearse_gym)
            environment = adapted.ConfigureEnvironment(SCENARIO, most_candidates=3)
            self.assertIsInstance(environment, fake.Env)
            self.assertEqual(environment.action_space.what, (3,))
            observation, info = environment.reset()
            self.assertEqual((observation.dtype, observation.shape), (numpy.float32, (15,)))
            environment.close()
        finally:
            del sys.modules["gymnasium"]
            importlib.reload(rehearse_gym)

    def test_the_agent_of_the_example_learns(self):
        import agent

        rewards = agent.train(str(ROOT / "scenarios" / "quickstart.json"), 20)
        self.assertEqual(len(rewards), 20)
        self.assertGreater(sum(rewards[-4:]), sum(rewards[:4]))


if __name__ == "__main__":
    unittest.main()
