"""An environment for agents that learn: an episode is a run of a scenario, a step one decision of the policy that the agent is.

The interface is Gymnasium's (reset, step, close, observation_space, action_space). Without Gymnasium installed it is the same, with
spaces of this file; with it, Environment is a gymnasium.Env, spaces are Gymnasium's and observations are numpy arrays.
"""

import json
import math
import os
import random
import select
import shutil
import socket
import subprocess
import sys
import tempfile

import rehearse

try:
    import gymnasium
    import numpy
except ImportError:
    gymnasium = numpy = None


class Discrete:
    """Whole numbers from 0 to n - 1."""

    def __init__(self, n, seed=None):
        self.n, self._random = n, random.Random(seed)

    def sample(self):
        return self._random.randrange(self.n)

    def contains(self, x):
        return isinstance(x, int) and 0 <= x < self.n


class Box:
    """Lists of `shape[0]` numbers from low to high."""

    def __init__(self, low, high, shape):
        self.low, self.high, self.shape = low, high, shape

    def contains(self, x):
        return len(x) == self.shape[0] and all(self.low <= value <= self.high for value in x)


def _spaces():
    return gymnasium.spaces if gymnasium else sys.modules[__name__]


class Environment(gymnasium.Env if gymnasium else object):
    """One decision of a policy, taken by whoever calls step(). Subclasses say what an agent sees, does and is paid:

    observe(request): an observation; here the request itself (docs/reference/protocol.md)
    answer(action, request): what is answered; here the action itself, members of an answer
    reward(request): of what happened since the last step, at a step that does not end the episode; here 0
    final_reward(results): when the run has ended, of its rehearse.Results; here minus the policy's effective cost in dollars

    A run whose policy has failed, by an answer that is not valid, ends its episode as truncated; the reason is in the info.
    """

    decision = "configure"
    wants = ()
    metadata = {"render_modes": []}

    def __init__(self, scenario, *, policy="agent", overrides=(), seed=0, timeout_s=600):
        """scenario, overrides: as of rehearse.run(). seed: of the first episode; each has the next one.
        timeout_s: for the agent to call step()."""
        self.scenario, self.policy, self.overrides = scenario, policy, dict(overrides)
        self.next_seed, self.timeout_s = seed, timeout_s
        self._episode = None

    def reset(self, *, seed=None, options=None):
        """Starts an episode: (observation, info). A seed stands for the world and the jobs: episodes of one seed are equal."""
        self.close()
        seed = self.next_seed if seed is None else seed
        self.next_seed = seed + 1
        self._episode = _Episode(self, seed)
        self.request = self._episode.next_request()
        if self.request is None:
            try:
                failed = self._episode.results().failed
            finally:
                self.close()
            raise rehearse.RunError(failed.get(self.policy, "the scenario has no such decision to make"))
        return self.observe(self.request), {"request": self.request}

    def step(self, action):
        """(observation, reward, terminated, truncated, info). After the last step the observation is that of before."""
        self._episode.send(self.answer(action, self.request))
        request = self._episode.next_request()
        if request is not None:
            self.request = request
            return self.observe(request), self.reward(request), False, False, {"request": request}
        results = self._episode.results()
        self.close()
        if self.policy in results.failed:
            return self.observe(self.request), 0.0, False, True, {"reason": results.failed[self.policy]}
        return self.observe(self.request), self.final_reward(results), True, False, {"policies": results.policies}

    def close(self):
        """Ends the episode, also in the middle."""
        if self._episode is not None:
            self._episode.close()
            self._episode = None

    def observe(self, request):
        return request

    def answer(self, action, request):
        return action

    def reward(self, request):
        return 0.0

    def final_reward(self, results):
        usd = results.policies[self.policy]["effective_cost_usd"]
        return -math.inf if usd is None else -usd  # None: it broke limits of a job that manual cannot run anywhere


class ConfigureEnvironment(Environment):
    """The decision configure as a choice among the first `most_candidates` candidates; those beyond a job's own are its manual one.

    An observation has kFeatures numbers for each of them, 0 beyond: 1 (it is there), whether it keeps the job's limits, the
    logarithms of dollars, of hours and of workers, all by the belief.
    """

    wants = ("candidates",)
    FEATURES = 5

    def __init__(self, scenario, *, most_candidates=64, **more):
        super().__init__(scenario, **more)
        self.most_candidates = most_candidates
        self.action_space = _spaces().Discrete(most_candidates)
        self.observation_space = _spaces().Box(-100.0, 100.0, (self.FEATURES * most_candidates,))

    @staticmethod
    def features(choice):
        predicted = choice["predicted"]
        logarithm = lambda value: math.log(max(value, 1e-9))
        workers = sum(group["workers"] for group in choice["configuration"]["groups"])
        return [1.0, float(predicted["feasible"]), logarithm(predicted.get("cost_usd", 1e9)),
                logarithm(predicted.get("time_s", 1e12) / 3600), logarithm(workers)]

    def observe(self, request):
        seen = [number for choice in request["candidates"][: self.most_candidates] for number in self.features(choice)]
        seen += [0.0] * (self.FEATURES * self.most_candidates - len(seen))
        return numpy.array(seen, dtype=numpy.float32) if numpy else seen

    def answer(self, action, request):
        candidates = request["candidates"][: self.most_candidates]
        return {"menu": [candidates[int(action)] if int(action) < len(candidates) else request["manual"]]}


class _Episode:
    """A run of the program whose policy is a bridge to a socket of ours."""

    def __init__(self, environment, seed):
        self.environment, self.connection, self.memory = environment, None, rehearse._Memory()
        self.folder = tempfile.mkdtemp(prefix="rehearse-")
        try:
            self._start(seed)
        except BaseException:
            self.close()
            raise

    def _start(self, seed):
        e, address = self.environment, os.path.join(self.folder, "socket")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(address)
        self.listener.listen(1)
        bridge = {"process": [sys.executable, os.path.abspath(rehearse.__file__), address], "timeout_s": e.timeout_s}
        overrides = {"/policies": [{"name": e.policy, e.decision: bridge}], "/baseline": e.policy, "/repetitions": 1, "/seed": seed,
                     "/output": {"events": "none", "stages": "none", "predictions": "none", "utilization": "none",
                                 "nodes": "none", "report": False}}
        self.file = rehearse._ScenarioFile(e.scenario)
        command = rehearse._command(self.file.__enter__(), os.path.join(self.folder, "out"), {**overrides, **e.overrides}, [])
        self.printed = [open(os.path.join(self.folder, name), "w+") for name in ("stdout", "stderr")]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.printed[0], stderr=self.printed[1])

    def _connect(self):
        while not select.select([self.listener], [], [], 0.05)[0]:
            if self.process.poll() is not None:
                return False
        self.connection = self.listener.accept()[0]
        self.lines = self.connection.makefile("r", encoding="utf-8")
        hello = json.loads(self.lines.readline())
        self._write({"version": rehearse.PROTOCOL_VERSION, "wants": list(self.environment.wants)})
        self.hello = hello
        return True

    def _write(self, message):
        try:
            self.connection.sendall((json.dumps(message, allow_nan=False) + "\n").encode())
        except OSError:
            pass  # the run has ended: the next request is none

    def next_request(self):
        """None when there is none any more."""
        if self.connection is None and not self._connect():
            return None
        line = self.lines.readline()
        request = json.loads(line) if line.endswith("\n") else {"type": "bye"}
        if request["type"] == "bye":
            return None
        self.id = request["id"]
        return self.memory.complete(request)

    def send(self, answer):
        self._write({"id": self.id, **answer})

    def results(self):
        if self.connection is not None:
            self.connection.close()
            self.lines.close()
        status = self.process.wait()
        texts = []
        for file in self.printed:
            file.seek(0)
            texts.append(file.read())
        return rehearse._results_of(status, *texts)

    def close(self):
        process = getattr(self, "process", None)
        if process is not None and process.poll() is None:
            process.terminate()
            process.wait()
        for file in [self.connection, getattr(self, "lines", None), getattr(self, "listener", None), *getattr(self, "printed", [])]:
            if file is not None:
                file.close()
        if hasattr(self, "file"):
            self.file.__exit__()
            del self.file
        shutil.rmtree(self.folder, ignore_errors=True)
