"""What the benchmark scripts share: building the program, and the cost of running it."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
PROGRAM = BUILD / "cli" / "rehearse"
# The same records on every rung: jobs and decisions.
RECORDS = {"decisions": "all", "events": "none", "stages": "none", "predictions": "none", "utilization": "none", "nodes": "none", "report": False}
# All without a linear programme.
DISCIPLINES = ("fifo", "priority", "sjf", "srtf", "easy", "conservative", "edf", "deadline-admission", "las",
               {"name": "las", "gittins": True}, "fair-share", "drf", "finish-time-fairness", "goodput", "optimus")


def discipline_name(discipline):
    return discipline if isinstance(discipline, str) else discipline["name"] + " gittins"


def build(*targets):
    """Silent unless it fails."""
    cache = BUILD / "CMakeCache.txt"
    commands = [["cmake", "--build", BUILD, "--target", *targets]]
    if not cache.exists() or "REHEARSE_BENCH:BOOL=ON" not in cache.read_text():
        commands.insert(0, ["cmake", "--preset", "test"])
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(done.stdout + f"could not build ({done.returncode})")


def measure(command, log):
    """CPU seconds of the process and all its children, and the peak MB of the largest of them."""
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, log, write, 0o600)]
    pid = os.posix_spawn(command[0], [str(word) for word in command], os.environ, file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(log.read_text() + f"{' '.join(map(str, command))} failed ({os.waitstatus_to_exitcode(status)})")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6
