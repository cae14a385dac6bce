#!/usr/bin/env python3
"""Do two programs say and write the same? For changes that may move no byte.

    compare.py OLD_PROGRAM NEW_PROGRAM [--old-root FOLDER] [--new-root FOLDER]

runs with both every scenario and study that ships, generated scenarios (tests/fuzz/generate.py), and the commands of
tests/corpus/commands.txt, which has every subcommand of the documentation, and compares standard output, exit statuses and all files
written, byte for byte: `timing.json` aside, and in every scenario.json the keys `$schema` and those of versions. Differences of
numbers within 1e-9 are told apart from others. What ships is listed from the old root and found in the new one by its file's name,
so that files may have moved between the two. Status 1 when anything but such small numbers differs.

Scenarios that take minutes run with fewer repetitions, jobs or evaluations (SHORT), at full length with --deep.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "fuzz"))
sys.path.insert(0, HERE)

from same import compared_folders, compared_texts  # noqa: E402
from work import Side, command_work, generated_work, shipped_work  # noqa: E402


def main():
    options = arguments()
    old = Side(options.old, options.old_root, "old")
    new = Side(options.new, options.new_root, "new")
    scratch = tempfile.mkdtemp(prefix="rehearse-compare-")
    work = []
    if "shipped" in options.parts:
        work += shipped_work(old, new, options.deep)
    if "generated" in options.parts:
        work += generated_work(old, os.path.join(scratch, "generated"), options.seed, options.generated)
    if "commands" in options.parts:
        work += command_work(old, new)
    if options.only:
        work = [item for item in work if re.search(options.only, item.name)]
    if options.list:
        print("\n".join(item.name for item in work))
        return 0
    counts = {"same": 0, "numbers": 0, "different": 0, "time": 0}
    begun = time.monotonic()
    try:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            running = [pool.submit(compare, item, old, new, os.path.join(scratch, str(number)), options.limit_s) for number, item in enumerate(work)]
            for done in concurrent.futures.as_completed(running):
                verdict, item, told, seconds = done.result()
                counts[verdict] += 1
                if verdict != "same":
                    print(f"{verdict.upper()} {item.name}", *told[: options.lines], sep="\n    ", flush=True)
                elif options.verbose:
                    print(f"same {item.name} ({seconds:.1f} s)", flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{len(work)} compared in {time.monotonic() - begun:.0f} s: {counts['same']} the same, {counts['numbers']} with numbers that differ by at most 1e-9, "
          f"{counts['different']} different, {counts['time']} ended by the time limit with both")
    return 1 if counts["different"] else 0


def compare(item, old, new, folder, limit_s):
    """(verdict, item, what differs, seconds)"""
    begun = time.monotonic()
    ended = {}
    for side in (old, new):
        ended[side.label] = item.run(side, os.path.join(folder, side.label), limit_s)
    a, b = ended["old"], ended["new"]
    if a.timed_out and b.timed_out:
        verdict, told = "time", [f"more than {limit_s} s"]
    else:
        told = [] if a.status == b.status else [f"status {a.status}, then {b.status}"]
        small = []
        for name, first, second in (("stdout", a.out, b.out), ("stderr", a.err, b.err)):
            compared_texts(name, first, second, told, small)
        compared_folders(a.folder, b.folder, told, small)
        verdict, told = ("different", told) if told else ("numbers", small) if small else ("same", [])
    shutil.rmtree(folder, ignore_errors=True)
    return verdict, item, told, time.monotonic() - begun


def arguments():
    known = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known.add_argument("old", help="program")
    known.add_argument("new", help="program")
    known.add_argument("--old-root", default=ROOT, help="the checkout with the old program's scenarios (default: this one)")
    known.add_argument("--new-root", default=ROOT, help="the checkout with the new program's")
    known.add_argument("--parts", nargs="+", choices=["shipped", "generated", "commands"], default=["shipped", "generated", "commands"])
    known.add_argument("--only", metavar="REGEX", help="only what has this in its name (--list prints the names)")
    known.add_argument("--generated", type=int, default=300, metavar="N", help="scenarios to generate (default: 300)")
    known.add_argument("--seed", type=int, default=1, help="of the first generated one")
    known.add_argument("--jobs", type=int, default=2, help="comparisons at once (default: 2)")
    known.add_argument("--limit-s", type=float, default=240, help="of one run (default: 240)")
    known.add_argument("--deep", action="store_true", help="scenarios that take minutes at their full length")
    known.add_argument("--lines", type=int, default=12, help="of differences shown for each (default: 12)")
    known.add_argument("--list", action="store_true")
    known.add_argument("--verbose", action="store_true")
    return known.parse_args()


if __name__ == "__main__":
    sys.exit(main())
