#!/usr/bin/env python3
"""The ledger of fuzzing: a line for each campaign, appended when it ends, and what they come to.

    ledger.py sum [FILE]        CPU hours by kind, since the last finding, and what that says of the rate of findings
    ledger.py add FILE --kind KIND --began DATE --cpu-s N [--seeds FROM TO] [--scenarios N] [--accepted N] [--findings N]

FILE is docs/evidence/fuzzing.csv by default. A CPU second counts whoever spent it: the campaign, the programs that it ran and theirs.
"""
import argparse
import csv
import datetime
import fcntl
import os
import resource
import subprocess

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
LEDGER = os.path.join(ROOT, "docs", "evidence", "fuzzing.csv")
COLUMNS = ["began", "ended", "commit", "kind", "first_seed", "last_seed", "scenarios", "accepted", "cpu_s", "findings", "cpu_s_since_finding"]
# Without an event in T the rate is at most 3/T with 95 %: e^-3 is 0.0498 (Hanley and Lippman-Hand, JAMA 249, 1983).
EVENTS_AT_95_PERCENT = 3.0


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def commit():
    """Of the checkout; with a + where files differ from it."""
    told = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"], capture_output=True, text=True, check=False)
    return told.stdout.strip() or "unknown"


def cpu_s(living=()):
    """Of this process and all that it has waited for, and of these children that still live, with what they have waited for."""
    spent = sum(part.ru_utime + part.ru_stime for part in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)))
    for pid in living:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        spent += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return spent


def append(path, row):
    """Of two campaigns that end at once each gets its line."""
    with open(path, "a+", encoding="utf-8", newline="") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0, os.SEEK_END)
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if file.tell() == 0:
            writer.writeheader()
        writer.writerow(row)


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for key in ("cpu_s", "cpu_s_since_finding"):
            row[key] = float(row[key])
        row["findings"] = int(row["findings"])
    return rows


def since_last_finding(rows):
    """CPU seconds. Of campaigns side by side one alone may have found: what began before that one ended does not count."""
    found = [row for row in rows if row["findings"]]
    if not found:
        return sum(row["cpu_s"] for row in rows)
    last = max(found, key=lambda row: row["ended"])
    return last["cpu_s_since_finding"] + sum(row["cpu_s"] for row in rows if row["began"] >= last["ended"])


def hours(seconds):
    return f"{seconds / 3600:.2f}"


def total(rows):
    """The text of the sum, a table."""
    if not rows:
        return "no campaigns yet"
    lines = ["| kind | CPU hours | campaigns | scenarios or inputs | of them accepted | findings |", "|---|---:|---:|---:|---:|---:|"]
    for kind in [*sorted({row["kind"] for row in rows}), "all"]:
        of_kind = [row for row in rows if kind in (row["kind"], "all")]
        count = lambda column: sum(int(row[column] or 0) for row in of_kind)
        accepted = f"{count('accepted'):,}" if any(row["accepted"] for row in of_kind) else ""
        lines.append(f"| {kind} | {hours(sum(row['cpu_s'] for row in of_kind))} | {len(of_kind)} | {count('scenarios'):,} | {accepted} | {count('findings')} |")
    quiet = since_last_finding(rows)
    last = max(row["ended"] for row in rows)[:10]
    lines += ["", f"{hours(quiet)} CPU hours since the last finding (up to {last}): with 95 % there is at most one finding in {hours(quiet / EVENTS_AT_95_PERCENT)} CPU hours "
              "(3/T of a Poisson process that showed nothing in T)."]
    return "\n".join(lines)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = arguments.add_subparsers(dest="what", required=True)
    summed = what.add_parser("sum")
    summed.add_argument("file", nargs="?", default=LEDGER)
    added = what.add_parser("add")
    added.add_argument("file")
    added.add_argument("--kind", required=True)
    added.add_argument("--began", required=True)
    added.add_argument("--cpu-s", type=float, required=True)
    added.add_argument("--seeds", nargs=2, default=["", ""])
    for name in ("--scenarios", "--accepted"):
        added.add_argument(name, default="")
    added.add_argument("--findings", type=int, default=0)
    options = arguments.parse_args()
    if options.what == "sum":
        print(total(read(options.file) if os.path.exists(options.file) else []))
        return
    # When within it something was found is not known: nothing of it counts as quiet.
    append(options.file, {"began": options.began, "ended": now(), "commit": commit(), "kind": options.kind, "first_seed": options.seeds[0], "last_seed": options.seeds[1],
                          "scenarios": options.scenarios, "accepted": options.accepted, "cpu_s": f"{options.cpu_s:.1f}", "findings": options.findings,
                          "cpu_s_since_finding": f"{0 if options.findings else options.cpu_s:.1f}"})


if __name__ == "__main__":
    main()
