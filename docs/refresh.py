#!/usr/bin/env python3
"""Runs every command of the README and of the tutorials, and renews what they and other pages show of outputs and files.

  docs/refresh.py [PAGE...]            runs the pages' commands and writes changed outputs into the pages
  docs/refresh.py --check [PAGE...]    the same, but only says what differs (exit status 1)
  docs/refresh.py --links              links, anchors and lengths of all pages; runs nothing

REHEARSE names the program (default: ./rehearse). Each page runs in an empty folder of its own, in which ./rehearse is the program
and scenarios, python and the like are those of the checkout. A comment above a fence says what the fence is:

  <!-- file: NAME -->            the fence is saved as NAME before what follows runs
  <!-- output -->                the fence is what the last commands print on standard output, without times measured here
  <!-- output: "A" to "B" -->    of that, the lines from the first that holds A to the next that holds B; several, with commas;
                                 `last line` is the last one
  <!-- printed by COMMAND -->    the same of one command of its own; with lines as above: <!-- printed by COMMAND: "A" to "B" -->
  <!-- from FILE -->             the fence is that file of the checkout
  <!-- tested by FILE -->        commands that do not run here, since that test runs them

A fence marked `sh` without such a comment is run. A page that has one needs a comment above every other fence; pages without any may
have fences of which this program knows nothing. Standard library only.
"""
import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["README.md", "docs/tutorial/quickstart.md", "docs/tutorial/schedulers.md", "docs/tutorial/policy.md",
         "docs/guide/calibration.md", "docs/guide/cpp.md"]
LONGEST = 800  # lines, of what a person writes
LONGEST_README = 150
PRINTED = ["docs/reference/commands.md"]  # by the program, for looking up
TIMED = "policy took"  # a column of wall-clock time, the last of its block


class Mistake(Exception):
    pass


def steady(text):
    """The lines that are the same on every machine: no measured times, no trailing blanks, nothing from "Results:" on."""
    lines, width = [], None
    for line in text.split("\nResults: ")[0].rstrip("\n").split("\n"):
        if TIMED in line:
            width = line.index(TIMED)
            if len(line[:width].split()) < 2:  # a block that has nothing else
                width = 0
        if not line:
            if width == 0:
                lines.pop()
            width = None
        if width != 0:
            lines.append(line[:width].rstrip())
    while lines and not lines[-1]:
        lines.pop()
    return lines


def chosen(lines, wanted):
    """The ranges `"A" to "B", "C", last line` of the lines."""
    if not wanted:
        return lines
    out, at = [], 0
    for first, last in re.findall(r'"([^"]+)"(?: to "([^"]+)")?', wanted):
        begin = next((i for i in range(at, len(lines)) if first in lines[i]), None)
        if begin is None:
            raise Mistake(f'no line with "{first}" in what was printed:\n' + "\n".join(lines))
        end = begin if not last else next((i for i in range(begin + 1, len(lines)) if last in lines[i]), None)
        if end is None:
            raise Mistake(f'no line with "{last}" after the one with "{first}"')
        out += ([""] if out else []) + lines[begin : end + 1]
        at = end + 1
    if wanted.endswith("last line"):
        out += ([""] if out else []) + lines[-1:]
    return out


def run(commands, folder):
    script = "set -eo pipefail\n" + "\n".join(commands) + "\n"
    environment = {**os.environ, "NO_COLOR": "1", "REHEARSE": str(folder / "rehearse"), "PYTHONPATH": str(ROOT / "python"),
                   "COLUMNS": "100"}
    ended = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if ended.returncode != 0:
        raise Mistake(f"status {ended.returncode} of\n{script}{ended.stdout}{ended.stderr}")
    return ended.stdout


def prepared(folder, program):
    for name in ("scenarios", "python", "docs", "policies", "traces"):
        (folder / name).symlink_to(ROOT / name)
    shim = folder / "rehearse"
    shim.write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
    shim.chmod(0o755)


def renewed(page, folder):
    """The page with what its commands print now."""
    lines = (ROOT / page).read_text(encoding="utf-8").split("\n")
    out, printed, at = [], None, 0
    strict = "```sh" in lines
    while at < len(lines):
        line = lines[at]
        out.append(line)
        at += 1
        if not line.startswith("```"):
            continue
        end = next(i for i in range(at, len(lines)) if lines[i] == "```")
        body, language = lines[at:end], line[3:].strip()
        above = lines[at - 2] if at >= 2 else ""
        mark = re.fullmatch(r'<!-- (?:(file|output): (.+)|(output)|(from|tested by) (.+)|printed by (.+?)(?:: (".+))?) -->', above)
        try:
            if mark and mark.group(4):
                if not (ROOT / mark.group(5)).exists():
                    raise Mistake(f"there is no {mark.group(5)}")
                if mark.group(4) == "from":
                    body = (ROOT / mark.group(5)).read_text(encoding="utf-8").rstrip("\n").split("\n")
            elif mark and mark.group(6):
                body = chosen(steady(run([mark.group(6)], folder)), mark.group(7))
            elif mark and mark.group(1) == "file":
                (folder / mark.group(2)).write_text("\n".join(body) + "\n", encoding="utf-8")
            elif mark:
                if printed is None:
                    raise Mistake("an output without commands before it")
                body = chosen(steady(printed), mark.group(2))
            elif not strict:
                pass
            elif language == "sh":
                printed = run(body, folder)
            else:
                raise Mistake("a fence that is neither commands, nor an output, nor a file")
        except Mistake as mistake:
            raise Mistake(f"{page}:{at}: {mistake}") from None
        out += body + ["```"]
        at = end + 1
    return "\n".join(out)


def anchor(heading):
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def outside_fences(path):
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def links():
    """Mistakes in the links and lengths of all pages."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
    anchors = {page: {anchor(line.lstrip("#")) for _, line in outside_fences(page) if line.startswith("#")} for page in pages}
    indexed, found = set(), []
    for page in pages:
        for number, line in outside_fences(page):
            for target in re.findall(r"\]\(([^)\s]+)\)", line):
                path, _, place = target.partition("#")
                if "://" in target:
                    continue
                file = (page.parent / path).resolve() if path else page
                if page == ROOT / "docs" / "README.md":
                    indexed.add(file)
                if not file.exists() or (place and file in anchors and place not in anchors[file]):
                    found.append(f"{page.relative_to(ROOT)}:{number}: nothing at {target}")
        length, most = len(page.read_text(encoding="utf-8").split("\n")) - 1, LONGEST_README if page == ROOT / "README.md" else LONGEST
        if length > most and str(page.relative_to(ROOT)) not in PRINTED:
            found.append(f"{page.relative_to(ROOT)}: {length} lines, at most {most}")
    for page in pages[3:]:
        if page not in indexed and page != ROOT / "docs" / "README.md":
            found.append(f"{page.relative_to(ROOT)}: not in the index, docs/README.md")
    kinds = ["*.cpp", "*.hpp", "*.py", "*.sh", "*.cmake", "*.txt", "*.json", "*.mjs", "*.md"]
    git = shutil.which("git")
    tracked = subprocess.run([git, "ls-files", *kinds], cwd=ROOT, text=True, stdout=subprocess.PIPE).stdout.split() if git else []
    for name in tracked:  # what code and data say of pages: docs/explain/step.md, "Step level"
        if name.startswith(("tests/compatibility/", "tests/cases/")) or not (ROOT / name).exists():
            continue
        text = re.sub(r"\n *(//|#)?/? *", " ", (ROOT / name).read_text(encoding="utf-8", errors="replace"))
        for path, section in re.findall(r'(?<![\w/.])(docs/[\w/.-]+\.(?:md|py|sh))(?:, "([^"]+)")?', text):
            page = ROOT / path
            if not page.exists() or (section and page in anchors and anchor(section) not in anchors[page]):
                found.append(f"{name}: nothing at {path}" + (f', "{section}"' if section else ""))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--links", action="store_true")
    parser.add_argument("pages", nargs="*", default=PAGES)
    arguments = parser.parse_args()
    if arguments.links:
        found = links()
        print("\n".join(found) if found else "every link leads somewhere")
        return 1 if found else 0
    if shutil.which("gnuplot") is None:
        print("skipped: the pages draw figures, and there is no gnuplot")
        return 77
    program = pathlib.Path(os.environ.get("REHEARSE", ROOT / "rehearse")).resolve()
    status = 0
    for page in arguments.pages:
        with tempfile.TemporaryDirectory(prefix="rehearse-page-") as name:
            folder = pathlib.Path(name)
            prepared(folder, program)
            try:
                now = renewed(page, folder)
            except Mistake as mistake:
                print(mistake)
                status = 1
                continue
        was = (ROOT / page).read_text(encoding="utf-8")
        if now == was:
            continue
        if arguments.check:
            print("\n".join(difflib.unified_diff(was.split("\n"), now.split("\n"), page, "what its commands print", lineterm="", n=1)))
            print(f"docs/refresh.py {page} writes it again")
            status = 1
        else:
            (ROOT / page).write_text(now, encoding="utf-8")
            print(f"{page}: renewed")
    return status


if __name__ == "__main__":
    sys.exit(main())
