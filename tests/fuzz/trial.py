"""What a scenario is put through: `check`; where it is accepted `run`, the outsider's books, and the same bytes again."""
import filecmp
import os
import re

import books
from generate import write
from program import INVALID, OK, POLICY_FAILED, Limits, finding, general

# A policy may fail where its answer is the user's own program's, or where a mutant asked for what cannot be.
OWN_ANSWERS = re.compile(r"process|enough evaluations for exact")
NOT_COMPARED = {"timing.json", "report.html", "manifest.json"}  # the driver has no report to write, so its manifest names none


class Trial:
    """`sanitized`: the program, and `server`: the driver (scenario_server.cpp), either of them under the sanitizers or not, that run
    first where they are given; the program's bytes are then held against theirs."""

    def __init__(self, program, scratch, sanitized=None, server=None):
        self.program, self.scratch, self.sanitized, self.server = program, scratch, sanitized, server
        self.accepted = self.refused = self.ran = 0

    def check(self, path):
        """(finding, accepted)"""
        ended = self.server.check(path) if self.server else (self.sanitized or self.program)("check", path)
        found = finding(ended, "check")
        if found is None and ended.status not in (OK, INVALID):
            found = f"check: status {ended.status}"
        return found, ended.status == OK

    def first_run(self, path, out, case):
        if self.server:
            return self.server.run(path, out, 2)
        return (self.sanitized or self.program)("run", path, "--out", out, "--processes", 2, cwd=case)

    def __call__(self, scenario, files, valid, thorough=True):
        """The signature of the first defect that shows, or None. `valid`: it is meant to be accepted and to run to its end."""
        case = self.scratch.empty("case")
        path = write(case, scenario, files)
        found, accepted = self.check(path)
        self.accepted += accepted
        self.refused += not accepted
        if found or not accepted:
            return found or ("check: refuses a generated scenario: " + general(self.words("check", path)) if valid else None)
        return self.run(case, path, valid, thorough)

    def words(self, *arguments):
        lines = [line for line in self.program(*arguments).text.splitlines() if "expected" in line]
        return re.sub(r"^\S+: ", "", lines[0]) if lines else ""

    def run(self, case, path, valid, thorough):
        self.ran += 1
        out = self.scratch.empty("first")
        ended = self.first_run(path, out, case)
        found = finding(ended, "run")
        if found:
            return found
        if ended.status == POLICY_FAILED:
            ours = [reason for reason in reasons_of_failures(ended.text) if not OWN_ANSWERS.search(reason)]
            if ours:
                return "run: a policy failed: " + general(re.sub(r"^(repetition \d+: )?policy \"[^\"]*\", ", "", ours[0]))
        if ended.status == INVALID:
            return "run: refuses what check accepts: " + general(ended.err.strip().splitlines()[-1] if ended.err.strip() else "") if valid else None
        if ended.status not in (OK, POLICY_FAILED):
            return f"run: status {ended.status}"
        try:
            broken = books.mistakes(out, case)
        except Exception as error:  # files that cannot be read are a defect of the run as well
            return f"books: cannot be read: {type(error).__name__} {general(str(error))}"
        if broken:
            return f"books: {broken[0][0]}"
        return self.same_again(case, path, out, ended.status) if thorough else None

    def same_again(self, case, path, out, status):
        again = self.scratch.empty("again")
        ended = self.program("run", path, "--out", again, "--processes", 1, cwd=case)
        if finding(ended, "run again"):
            return finding(ended, "run again")
        if ended.status != status:
            return f"run again: status {ended.status} after {status}"
        different = differences(out, again)
        return f"run again: other bytes in {different[0]}" if different else None


def reasons_of_failures(text):
    """Behind each FAILED; a table's last column goes on below, where it begins."""
    found, below = [], None
    for line in text.splitlines():
        before, told, reason = line.partition("FAILED: ")
        if told:
            found.append(reason)
            below = " " * len(before) if before else None
        elif below and line.startswith(below) and line.strip():
            found[-1] += " " + line.strip()
        else:
            below = None
    return found


def differences(first, second):
    """Files that are not the same, timing aside."""
    def listed(folder):
        return {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names} - NOT_COMPARED

    names = listed(first) | listed(second)
    _, different, odd = filecmp.cmpfiles(first, second, names, shallow=False)
    return sorted(different + odd)


def default_limits(cpu_s):
    """The machine may be busy, and a run that waits for itself uses no processor time: waiting has a limit of its own."""
    return Limits(wall_s=10 * cpu_s, cpu_s=int(cpu_s) + 1)
