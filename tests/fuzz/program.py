"""Runs the program under limits, and says how it ended."""
import dataclasses
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

OK, BUG, USAGE, INVALID, WORSE, POLICY_FAILED, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
LONG_WORK = "long work that says how far it is"
LATEST_DAY = 2**33 / 86400  # of a submission; a run that is under way long after it may never end
SANITIZER_STATUS = 99  # given to the sanitizers, so that a report is not taken for a status of the program


@dataclasses.dataclass
class Ended:
    status: int  # negative: the signal that ended it
    out: str
    err: str
    wall_s: float
    timed_out: bool = False
    stray: str = ""  # what a driver wrote on stdout beside its answer

    @property
    def text(self):
        return self.out + "\n" + self.err


@dataclasses.dataclass
class Limits:
    wall_s: float = 30.0
    cpu_s: int = 30
    memory_bytes: int = 3 << 30  # of address space; not for sanitized programs, which reserve terabytes
    file_bytes: int = 512 << 20


class Program:
    def __init__(self, path, limits=Limits(), sanitized=None):
        self.path = os.path.realpath(path)
        self.limits = limits
        self.sanitized = is_sanitized(self.path) if sanitized is None else sanitized

    def __call__(self, *arguments, cwd=None, limits=None, stdin=subprocess.DEVNULL):
        limits = limits or self.limits
        begun = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = subprocess.Popen([self.path, *map(str, arguments)], stdin=stdin, stdout=out, stderr=err, cwd=cwd,
                                     env=self.environment(), preexec_fn=lambda: self.limit(limits), start_new_session=True)
            timed_out = False
            try:
                while not timed_out and child.returncode is None:
                    try:
                        child.wait(limits.wall_s)
                    except subprocess.TimeoutExpired:
                        timed_out = not wants_to_run(child.pid)
            finally:
                kill_group(child)
            return Ended(child.returncode, tail(out), tail(err), time.monotonic() - begun, timed_out)

    def environment(self):
        options = f"exitcode={SANITIZER_STATUS}:detect_leaks=0:allocator_may_return_null=0:hard_rss_limit_mb=4000"
        return {**os.environ, "NO_COLOR": "1", "ASAN_OPTIONS": options, "UBSAN_OPTIONS": f"exitcode={SANITIZER_STATUS}"}

    def limit(self, limits):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_s, limits.cpu_s + 1))
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
        if not self.sanitized:
            resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))


def wants_to_run(group, looks=20):
    """Does a process of the group wait for nothing but a processor? On a busy machine that is no hang: its limit of processor time ends
    it in time."""
    for _ in range(looks):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                    state, _, of_group = file.read().rpartition(")")[2].split()[:3]
            except OSError:  # it has ended
                continue
            if int(of_group) == group and state in "RD":
                return True
        time.sleep(0.05)
    return False


def kill_group(child):
    """The program's own children too; it leads the group that was made for it."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


def tail(file, most=200_000):
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - most))
    return file.read().decode("utf-8", "replace")


def is_sanitized(path):
    with open(path, "rb") as file:
        return b"__asan_init" in file.read()


def gets_further(said):
    """Do lines of progress tell of runs whose simulated time goes on from each line to the next, or of runs of which one or more end between two lines
    and no other is under way? Each run that is told of twice in a row must have gone on when last told of: who was ended may be any of them, and others
    have gone on since."""
    told = re.findall(r"^([\d,]+) of .*?: (.+) at day ([\d.e+]+)( and \d+ more)?$", said, re.MULTILINE)
    goes_on = {}
    for (done, name, day, others), (done_then, name_then, day_then, others_then) in zip(told, told[1:]):
        ended = int(done_then.replace(",", "")) - int(done.replace(",", ""))
        one_by_one = ended > 0 and not others and not others_then
        if name == name_then or one_by_one:
            goes_on[name_then] = one_by_one or ended >= 0 and float(day) < float(day_then) < LATEST_DAY
    return bool(goes_on) and all(goes_on.values())


def finding(ended: Ended, what):
    """The signature of a defect that this end shows, without numbers and names so that equal defects are told once; or None."""
    killed = re.search(r"killed by signal (\d+)", ended.text)
    used_up = ended.status == -signal.SIGXCPU or killed and int(killed.group(1)) == signal.SIGXCPU
    if used_up and not ended.timed_out and gets_further(ended.err):
        return f"{what}: {LONG_WORK}"
    if used_up or ended.timed_out or ended.status == -signal.SIGKILL and ended.wall_s > 1:
        return f"{what}: no end"
    report = re.search(r"(AddressSanitizer|UndefinedBehaviorSanitizer|LeakSanitizer|runtime error): ([^\n]*)", ended.text)
    if report:
        place = re.search(r"#\d+ [^\n]* (\S*/(?:sim|workloads|policies|traces|scenarios|experiments|report|deploy|cli)/\S+:\d+)", ended.text)
        return f"{what}: {general(report.group(0))} {os.path.basename(place.group(1)) if place else ''}".strip()
    if ended.stray:
        return f"{what}: a library writes on stdout: {general(ended.stray)}"
    if ended.status < 0:
        return f"{what}: signal {-ended.status}"
    if killed:
        return f"{what}: a child was {killed.group(0)}"
    if ended.status == BUG or "this is a bug of rehearse" in ended.text:
        lines = [line for line in ended.err.splitlines() if "bug of rehearse" in line] or ended.err.splitlines()[-1:]
        return f"{what}: {general(lines[-1] if lines else 'status 1')}"
    if ended.status not in (OK, INVALID, POLICY_FAILED, USAGE) and not (ended.status == WORSE and what in ("regress", "reproduce")):
        return f"{what}: status {ended.status}"
    return None


def general(text):
    """A message without what differs from one input to the next."""
    text = re.sub(r'"[^"]*"', '"..."', text)
    text = re.sub(r"0x[0-9a-f]+", "0x..", text)
    text = re.sub(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", "N", text)
    return text[:200]


class Scratch:
    """A folder that is emptied and used again."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="rehearse-fuzz-")

    def empty(self, name):
        folder = os.path.join(self.path, name)
        if os.path.isfile(folder) or os.path.islink(folder):
            os.remove(folder)
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Server:
    """The driver that reads and runs scenarios in forks of itself (scenario_server.cpp): quicker than a program for each."""

    def __init__(self, path, cpu_s):
        self.program, self.cpu_s = Program(path), cpu_s
        self.child = None

    def start(self):
        self.said = tempfile.TemporaryFile()
        self.child = subprocess.Popen([self.program.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, text=True,
                                      env=self.program.environment(), preexec_fn=self.limit, start_new_session=True)

    def limit(self):
        self.program.limit(dataclasses.replace(self.program.limits, cpu_s=1_000_000))  # its children have limits of their own

    def ask(self, *words):
        if self.child is None or self.child.poll() is not None:
            self.start()
        begun = time.monotonic()
        self.said.seek(0)
        self.said.truncate()
        self.child.stdin.write("\t".join(map(str, words)) + "\n")
        self.child.stdin.flush()
        answer = stray = ""
        for line in iter(self.child.stdout.readline, ""):
            if re.fullmatch(r"-?\d+|no end", answer := line.strip()):
                break
            answer, stray = "", stray or answer
        no_end = answer == "no end"
        status = int(answer) if answer and not no_end else -signal.SIGKILL
        return Ended(status, "", tail(self.said), time.monotonic() - begun, no_end, stray)

    def check(self, path):
        return self.ask("check", path, self.cpu_s)

    def run(self, path, out, processes):
        return self.ask("run", path, self.cpu_s, out, processes)

    def close(self):
        if self.child is not None:
            kill_group(self.child)
            for file in (self.child.stdin, self.child.stdout, self.said):
                file.close()
            self.child = None
