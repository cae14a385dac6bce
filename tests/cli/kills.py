#!/usr/bin/env python3
"""Kills runs, sweeps and trainings at random moments, and looks at what lies there afterwards.

  tests/cli/kills.py PROGRAM [--run 100] [--resume 20] [--sweep 100] [--train 50] [--odd] [--seed N]

run, resume: killed twice, then started anew or gone on with until it ends; its files must be those of an undisturbed run. In between there are
no results, or whole ones. sweep: killed ten times a database, then finished: its CSV must be the undisturbed one's. train: an agent that
goes on from a file and is written over it: afterwards the file is as it was, or an agent that can be gone on with. --odd: disks (files) of
every small size, two programs that write one folder or database, a clock that jumps, no HOME, odd locales and environments. Disks are
mounted and the clock is a library that is compiled and loaded before others: where neither is possible it says so. Ends with 1 where
anything was found.
Standard library only."""
import argparse
import filecmp
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
SCENARIO = {"name": "s", "seed": 3, "repetitions": 4,
            "cluster": {"pools": [{"name": "t4", "instance": "g4dn.12xlarge", "nodes": 4}]},
            "jobs": [{"generate": "mixed-cnn-rnn", "count": 120, "arrivals_per_hour": 20, "models": [
                {"model": "resnet18", "dataset": "cifar10"}, {"model": "deepspeech2", "dataset": "cmu-arctic", "recurrent": True}]}],
            "policies": ["manual", "random-feasible"]}
SWEPT = {**SCENARIO, "seed": {"sweep": list(range(40))}, "repetitions": 1}
KILLS_A_SWEEP = 10
# The clock on the wall jumps by up to twenty years with each look at it, the clock that only counts goes on.
JUMPING_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>
static long jump(void) { static long state = 1; state = (state * 1103515245 + 12345) & 0x7fffffff; return state % 1261440000 - 630720000; }
int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  const int status = real(clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += jump();
  return status;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec at;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &at);
  now->tv_sec = at.tv_sec;
  now->tv_usec = at.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *into) {
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  if (into) *into = at.tv_sec;
  return at.tv_sec;
}
"""
TRAINING = pathlib.Path(__file__).parents[2] / "scenarios" / "staged" / "train-staged-rl.json"


class Campaign:
    def __init__(self, program, folder, seed):
        self.program, self.folder, self.random, self.findings = os.path.abspath(program), folder, random.Random(seed), []

    def start(self, *words, **how):
        return subprocess.Popen([self.program, *words], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                start_new_session=True, **how)

    def whole(self, *words):
        """Seconds that it takes undisturbed."""
        began = time.monotonic()
        process = self.start(*words)
        said = process.communicate()[1]
        if process.returncode != 0:
            sys.exit(f"{words} ended with {process.returncode}: {said}")
        return time.monotonic() - began

    def kill_within(self, whole_s, *words):
        process = self.start(*words)
        time.sleep(whole_s * self.random.uniform(0, 1))
        try:
            os.kill(process.pid, self.random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM]))
        except ProcessLookupError:
            pass
        process.communicate()

    def find(self, what):
        self.findings.append(what)
        print(f"found: {what}", flush=True)

    def same_results(self, a, b):
        names = {entry.name for folder in (a, b) for entry in (self.folder / folder).iterdir()} - {"timing.json"}
        return filecmp.cmpfiles(self.folder / a, self.folder / b, names, shallow=False)[1:] == ([], [])

    def runs(self, count, words):
        self.folder.joinpath("s.json").write_text(json.dumps(SCENARIO))
        whole_s = self.whole("run", "s.json", "--out", "whole", "--processes", "2")
        for number in range(count):
            out = self.folder / "out"
            for _ in range(2):
                self.kill_within(whole_s, "run", "s.json", "--out", "out", "--processes", "2", *words)
                if out.exists() and not self.same_results("whole", "out"):
                    self.find(f"run {number}: results that are not whole after a kill")
            self.whole("run", "s.json", "--out", "out", "--processes", "2", *words)
            if not self.same_results("whole", "out"):
                self.find(f"run {number}: other bytes than the undisturbed run's")
            for entry in self.folder.glob("*.part"):
                shutil.rmtree(entry)
            shutil.rmtree(out)

    def sweeps(self, count):
        self.folder.joinpath("w.json").write_text(json.dumps(SWEPT))
        whole_s = self.whole("sweep", "w.json", "--out", "whole.sqlite", "--csv", "whole.csv", "--processes", "2")
        for first in range(0, count, KILLS_A_SWEEP):
            for _ in range(min(KILLS_A_SWEEP, count - first)):
                self.kill_within(whole_s / 2, "sweep", "w.json", "--out", "o.sqlite", "--processes", "2")
            self.whole("sweep", "w.json", "--out", "o.sqlite", "--csv", "o.csv", "--processes", "2")
            if not filecmp.cmp(self.folder / "whole.csv", self.folder / "o.csv", shallow=False):
                self.find(f"sweep {first // KILLS_A_SWEEP}: another CSV than the undisturbed sweep's")
            for entry in self.folder.glob("o.*"):
                entry.unlink()

    def trainings(self, count):
        words = ("train", "staged-rl", str(TRAINING), "--set", "/jobs/0/count=8", "--iterations", "1")
        self.whole(*words, "-o", "first.json")
        first = self.folder / "first.json"
        again = (*words, "--resume", "agent.json", "-o", "agent.json")
        agent = self.folder / "agent.json"
        shutil.copy(first, agent)
        whole_s = self.whole(*again)
        for number in range(count):
            shutil.copy(first, agent)
            self.kill_within(1.2 * whole_s, *again)
            if filecmp.cmp(first, agent, shallow=False):
                continue
            process = self.start(*words[:-1], "0", "--resume", "agent.json", "-o", "read.json")
            said = process.communicate()[1]
            if process.returncode != 0:
                self.find(f"training {number}: an agent that cannot be read after a kill: {said}")

    def ends_well(self, what, allowed, process):
        said = process.communicate()[1]
        if process.returncode not in allowed or "bug" in said:
            self.find(f"{what}: ended with {process.returncode}: {said[-300:]}")

    def odd(self):
        self.folder.joinpath("s.json").write_text(json.dumps(SCENARIO))
        if not (self.folder / "whole").exists():
            self.whole("run", "s.json", "--out", "whole")
        size = 1
        while size < 1 << 21:  # a file may not grow beyond: as a disk that is full
            def limit(most=size):
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            process = self.start("run", "s.json", "--out", "small", preexec_fn=limit)
            said = process.communicate()[1]
            if process.returncode == 0 and not self.same_results("whole", "small"):
                self.find(f"files of at most {size} bytes: ended well with other bytes")
            if process.returncode != 0 and ((self.folder / "small").exists() or "bug" in said or not said):
                self.find(f"files of at most {size} bytes: ended with {process.returncode}: {said[-300:]}")
            for entry in {*self.folder.glob("small*"), *self.folder.glob("*.part")}:
                shutil.rmtree(entry)
            size *= 2
        self.disks()
        self.at_once()
        self.jumping_clock()
        homeless = {name: value for name, value in os.environ.items() if name != "HOME"}
        for what, environment in (("no HOME", homeless), ("LC_ALL=POSIX", {**os.environ, "LC_ALL": "POSIX"}),
                                  ("LC_ALL=tr_TR.UTF-8", {**os.environ, "LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}),
                                  ("an empty environment", {}), ("TZ far east", {**os.environ, "TZ": "Pacific/Kiritimati"}),
                                  ("SOURCE_DATE_EPOCH=0", {**os.environ, "SOURCE_DATE_EPOCH": "0"})):
            shutil.rmtree(self.folder / "env", ignore_errors=True)
            self.ends_well(what, {0}, self.start("run", "s.json", "--out", "env", env=environment))
            if not self.same_results("whole", "env"):
                self.find(f"{what}: other bytes")

    def undisturbed(self):
        """Folder whole, whole.csv and first.json of a run, a sweep and a training, and the words of each: what they write comes last."""
        for name, scenario in (("s", SCENARIO), ("w", {**SWEPT, "seed": {"sweep": list(range(8))}})):
            self.folder.joinpath(f"{name}.json").write_text(json.dumps(scenario))
        words = {"run": ("run", "s.json", "--replace", "--out"), "sweep": ("sweep", "w.json", "--csv", "o.csv", "--out"),
                 "train": ("train", "staged-rl", str(TRAINING), "--set", "/jobs/0/count=8", "--iterations", "1", "-o")}
        if not (self.folder / "first.json").exists():
            if not (self.folder / "whole").exists():
                self.whole(*words["run"], "whole")
            self.whole(*words["sweep"], "whole.sqlite")
            (self.folder / "o.csv").rename(self.folder / "whole.csv")
            self.whole(*words["train"], "first.json")
        return words

    def is_whole(self, what, written):
        if what == "run":
            return self.same_results("whole", written)
        of = ("whole.csv", "o.csv") if what == "sweep" else ("first.json", written)
        return filecmp.cmp(self.folder / of[0], self.folder / of[1], shallow=False)

    def disks(self):
        """Full ones: what ended well is whole, what did not says why and leaves nothing that looks like results; with more room it ends as ever."""
        words, disk = self.undisturbed(), self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", str(disk)], capture_output=True).returncode != 0:
            print("no disk may be mounted here: full ones are left out", flush=True)
            return
        try:
            kilobytes = 4
            while kilobytes <= 2048:
                for what, name in (("run", "disk/small"), ("sweep", "disk/small.sqlite"), ("train", "disk/small.json")):
                    subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", str(disk)], check=True)
                    process = self.start(*words[what], name)
                    said = process.communicate()[1]
                    full = f"{what} on a disk of {kilobytes} kB"
                    if process.returncode == 0 and not self.is_whole(what, name):
                        self.find(f"{full}: ended well with other bytes")
                    if process.returncode != 0 and ("bug" in said or not said or process.returncode < 0):
                        self.find(f"{full}: ended with {process.returncode}: {said[-300:]}")
                    if process.returncode != 0 and what != "sweep" and (self.folder / name).exists():
                        self.find(f"{full}: left {name}")
                    if process.returncode != 0 and what == "sweep":  # goes on where it was stopped
                        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
                        process = self.start(*words[what], name)
                        said = process.communicate()[1]
                        if process.returncode != 0 or not self.is_whole(what, name):
                            self.find(f"{full}, then on a larger one: ended with {process.returncode}: {said[-300:]}")
                    for entry in disk.iterdir():
                        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
                kilobytes *= 2
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def at_once(self):
        """Two programs that write the same: one at least ends well, who gives up says so, and what lies there is whole."""
        words = self.undisturbed()
        for what, name in (("run", "both"), ("sweep", "both.sqlite"), ("train", "both.json")):
            two = [self.start(*words[what], name) for _ in range(2)]
            said = [process.communicate()[1] for process in two]
            codes = [process.returncode for process in two]
            if 0 not in codes or any(code < 0 or "bug" in text for code, text in zip(codes, said)):
                self.find(f"two of {what} that write one: ended with {codes}: {said}")
            elif what == "sweep":
                self.whole(*words[what], name)  # what there is, as a table
            if 0 in codes and not self.is_whole(what, name):
                self.find(f"two of {what} that write one: other bytes")

    def jumping_clock(self):
        words, library = self.undisturbed(), self.folder / "clock.so"
        made = subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), "-x", "c", "-", "-ldl"], input=JUMPING_CLOCK, text=True, capture_output=True) \
            if shutil.which("cc") else None
        if made is None or made.returncode != 0:
            print("no C compiler: the clock that jumps is left out", flush=True)
            return
        environment = {**os.environ, "LD_PRELOAD": str(library)}
        for what, name in (("run", "jumped"), ("sweep", "jumped.sqlite"), ("train", "jumped.json")):
            began = time.monotonic()
            self.ends_well(f"{what} while the clock jumps", {0}, self.start(*words[what], name, env=environment))
            if not self.is_whole(what, name):
                self.find(f"{what} while the clock jumps: other bytes after {time.monotonic() - began:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    for what, count in (("run", 100), ("resume", 20), ("sweep", 100), ("train", 50)):
        parser.add_argument(f"--{what}", type=int, default=count, metavar="N", help=f"kills of {what} (default {count})")
    parser.add_argument("--odd", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        campaign = Campaign(arguments.program, pathlib.Path(name), arguments.seed)
        for what, work in (("runs", lambda: campaign.runs((arguments.run + 1) // 2, ("--replace",))),
                           ("runs gone on with", lambda: campaign.runs((arguments.resume + 1) // 2, ("--resume",))),
                           ("sweeps", lambda: campaign.sweeps(arguments.sweep)),
                           ("trainings", lambda: campaign.trainings(arguments.train)),
                           ("odd places", campaign.odd if arguments.odd else lambda: None)):
            began = time.monotonic()
            for entry in campaign.folder.iterdir():
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
            work()
            print(f"{what}: {time.monotonic() - began:.0f} s", flush=True)
        print(f"{len(campaign.findings)} findings")
        return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main())
