#!/usr/bin/env python3
"""Do the tests notice? Changes the program's own source in one small place at a time (a comparison, a sign, a constant, a
statement left out), builds it, and runs the tests of that room alone. A change that they pass has survived: a test is missing
there, or the change alters nothing that can be seen.

  tests/mutation/mutate_source.py --count 300 --seed 1 --folder /tmp/mutation

Works on a copy of the committed source in the folder, and goes on where it was stopped. Draws lie evenly over the rooms, whatever
their size. Ends with status 1 when fewer than --least per cent are noticed.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tests' / 'fuzz'))
from program import wants_to_run  # pylint: disable=wrong-import-position

REPLAY = ['sim_replay', 'sim_replay_network', 'sim_replay_prices', 'sim_life', 'sim_stages', 'sim_alone', 'sim_sharing']
QUEUES = ['policies_queue', 'policies_slots', 'policies_allocation', 'policies_user_shares']
ROOMS = {  # the files of a room (a pattern below the root), and the tests that are held against them
    'replay': (['sim/replay/*.cpp'], REPLAY),
    'money': (['sim/money/*.cpp'], REPLAY),
    'nodes': (['sim/nodes/*.cpp'], REPLAY),
    'queue': (['policies/queue/*.cpp'], QUEUES),
    'isotonic': (['policies/learn/isotonic*.cpp', 'policies/learn/upper_set.cpp'], ['policies_learn']),
    'active': (['policies/learn/active_*.cpp', 'policies/learn/envelopes.cpp'], ['policies_peers']),
}

# Their files are compiled each by itself and with the standard library's own checks, which see what the sanitized tests see of places
# beyond an end; all others several at a time as always.
ALONE = '/(sim/(replay|money|nodes)|policies/(queue|learn))/[^/]+$'
MOST_MEMORY_BYTES = 4 << 30  # a change may ask for memory without end

COMPARISONS = {'<': ['<=', '>'], '<=': ['<', '>='], '>': ['>=', '<'], '>=': ['>', '<='], '==': ['!='], '!=': ['==']}
# Blanks on both sides tell operators from templates, streams and references.
COMPARISON = re.compile(r'(?<= )(<=|>=|==|!=|<|>)(?= )')
SIGN = re.compile(r'(?<=[\w\])] )([+\-*/])(?= [\w(])')
ASSIGNED = re.compile(r'(?<= )(\+=|-=)(?= )')
CONSTANT = re.compile(r'(?<![\w.\[])(\d+(?:\.\d+)?)(?![\w.\]])')
LOGIC = re.compile(r'(?<= )(&&|\|\|)(?= )')
STATEMENT = re.compile(r'^\s*[\w:.\->\[\]()*]+(\(.*\)| [+\-*/]?= .*);\s*$')
DECLARATION = re.compile(r'^\s*(const|auto|static|constexpr|return|throw|break|continue|using|case|struct|class|std::|double |int |bool )')


def code_of(line):
    """Without the comment and what strings hold: the same length, so that places stay."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"', lambda m: '"' + '_' * (len(m.group()) - 2) + '"', line)
    comment = line.find('//')
    return line if comment < 0 else line[:comment]


def changes_of(line):
    """Every changed form of a line of source, with what was done."""
    code = code_of(line)
    if code.strip().startswith(('#', 'template', 'static_assert', 'namespace', 'sim::check', 'check(')):
        return []
    found = []

    def at(match, text, kind):
        found.append((line[:match.start(1)] + text + line[match.end(1):], f'{kind}: {match.group(1)} -> {text or "nothing"}'))

    for match in COMPARISON.finditer(code):
        for other in COMPARISONS[match.group(1)]:
            at(match, other, 'comparison')
    for match in SIGN.finditer(code):
        at(match, {'+': '-', '-': '+', '*': '/', '/': '*'}[match.group(1)], 'sign')
    for match in ASSIGNED.finditer(code):
        at(match, {'+=': '-=', '-=': '+='}[match.group(1)], 'sign')
    for match in LOGIC.finditer(code):
        at(match, {'&&': '||', '||': '&&'}[match.group(1)], 'logic')
    for match in CONSTANT.finditer(code):
        number = match.group(1)
        at(match, str(int(number) + 1) if '.' not in number else f'{number} / 2' if float(number) else '1.0', 'constant')
    if STATEMENT.match(code) and not DECLARATION.match(code):
        indent = line[:len(line) - len(line.lstrip())]
        found.append((indent + ';', 'dropped: ' + code.strip()))
    return found


def mutants_of(source, seed, count, skip=0):
    """The first `count` of an endless draw without the first `skip`: the same ones for a larger count."""
    rng = random.Random(seed)
    by_room = {}
    for room, (patterns, _) in ROOMS.items():
        sites = []
        for file in sorted({f for pattern in patterns for f in source.glob(pattern)}):
            for number, line in enumerate(file.read_text().splitlines()):
                sites += [(str(file.relative_to(source)), number, changed, what) for changed, what in changes_of(line)]
        rng.shuffle(sites)
        by_room[room] = sites
    drawn = []
    while len(drawn) < count and any(by_room.values()):
        for room in ROOMS:
            if by_room[room] and len(drawn) < count:
                drawn.append((room, *by_room[room].pop()))
    return drawn[skip:]


def run(command, folder, log, limit_s=None):
    """True, False, or None when it took more processor time, or stood still for as long: a busy machine alone ends nothing."""
    def limit():
        if limit_s:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s) + 1, int(limit_s) + 2))
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))

    with open(log, 'w') as out:
        child = subprocess.Popen(command, cwd=folder, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=limit)
        while child.returncode is None:
            try:
                child.wait(limit_s)
            except subprocess.TimeoutExpired:
                if not wants_to_run(child.pid):
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
                    return None
        return None if child.returncode == -signal.SIGXCPU else child.returncode == 0


def cpu_s():
    """Of all that has been waited for."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


class Bench:
    """A copy of the source and its build. It lies as deep in the copy as any other build: ccache then knows what others have compiled."""

    def __init__(self, folder, jobs):
        self.source, self.build, self.log, self.jobs = folder / 'source', folder / 'source' / 'build' / 'release', folder / 'log', jobs
        os.environ.setdefault('CCACHE_BASEDIR', str(folder))
        if not self.source.exists():
            self.source.mkdir(parents=True)
            archive = subprocess.run(['git', 'archive', 'HEAD'], cwd=ROOT, check=True, capture_output=True).stdout
            subprocess.run(['tar', 'x'], cwd=self.source, input=archive, check=True)
        self.tests = sorted({test for _, tests in ROOMS.values() for test in tests})
        launcher = ['-DCMAKE_CXX_COMPILER_LAUNCHER=ccache'] if subprocess.run(['which', 'ccache'], capture_output=True).returncode == 0 else []
        subprocess.run(['cmake', '-S', str(self.source), '-B', str(self.build), '-G', 'Ninja', '-DCMAKE_BUILD_TYPE=Release', '-DREHEARSE_TESTS=ON',
                        f'-DREHEARSE_ALONE={ALONE}', *launcher], check=True, stdout=subprocess.DEVNULL)
        if not self.make(self.tests):
            sys.exit(f'the unchanged source does not build: {self.log}')
        kept = folder / 'limits.json'  # of the unchanged source, measured once
        self.limit_s = json.loads(kept.read_text()) if kept.exists() else {}
        for test in set(self.tests) - set(self.limit_s):
            began_s = cpu_s()
            if not self.passes(test, 600):
                sys.exit(f'{test} fails without a change: {self.log}')
            self.limit_s[test] = 3 * (cpu_s() - began_s) + 10
        kept.write_text(json.dumps(self.limit_s))

    def make(self, tests):
        return run(['ninja', '-j', str(self.jobs), '-C', str(self.build), *(f'test_{t}' for t in tests)], self.build, self.log)

    def passes(self, test, limit_s):
        return run([f'./test_{test}', '~[slow]', '--abort'], self.build / 'tests', self.log, limit_s)

    def verdict(self, room, file, number, changed):
        path = self.source / file
        before = path.read_text()
        lines = before.splitlines(keepends=True)
        lines[number] = changed + '\n'
        tests = ROOMS[room][1]
        try:
            path.write_text(''.join(lines))
            for test in tests:  # each is linked when those before have not noticed
                if not self.make([test]):
                    return 'does not compile', ''
                passed = self.passes(test, self.limit_s[test])
                if not passed:
                    return 'noticed', test + (' (did not end)' if passed is None else '')
            return 'survived', ''
        finally:
            path.write_text(before)


def summary(results):
    rows = collections.defaultdict(collections.Counter)
    for result in results:
        rows[result['room']][result['verdict']] += 1
        rows['all'][result['verdict']] += 1
    lines = ['| room | changes | noticed | survived | share noticed |', '|---|---|---|---|---|']
    for room in [*ROOMS, 'all']:
        noticed, survived = rows[room]['noticed'], rows[room]['survived']
        if noticed + survived:
            lines.append(f'| {room} | {noticed + survived} | {noticed} | {survived} | {100 * noticed / (noticed + survived):.0f} % |')
    return '\n'.join(lines), rows['all']


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--count', type=int, default=300, help='changes that are drawn')
    parser.add_argument('--skip', type=int, default=0, help='leave out so many of the first, which were judged elsewhere')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--folder', type=pathlib.Path, required=True, help='for the copy, its build and results.jsonl')
    parser.add_argument('--jobs', type=int, default=os.cpu_count(), help='compilers at once')
    parser.add_argument('--minutes', type=float, default=1e9, help='begin no change after these')
    parser.add_argument('--least', type=float, default=90, help='per cent that have to be noticed')
    parser.add_argument('--list', action='store_true', help='the changes that would be made, and no more')
    arguments = parser.parse_args()
    if arguments.list:
        for room, file, number, changed, what in mutants_of(ROOT, arguments.seed, arguments.count, arguments.skip):
            print(f'{room}: {file}:{number + 1}: {what}')
        return
    began = time.monotonic()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(arguments.folder.resolve(), arguments.jobs)
    kept = arguments.folder / 'results.jsonl'
    results = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    done = {(r['file'], r['line'], r['what']) for r in results}
    for room, file, number, changed, what in mutants_of(bench.source, arguments.seed, arguments.count, arguments.skip):
        if (file, number + 1, what) in done:
            continue
        if time.monotonic() - began > 60 * arguments.minutes:
            break
        verdict, by = bench.verdict(room, file, number, changed)
        results.append({'room': room, 'file': file, 'line': number + 1, 'what': what, 'verdict': verdict, 'by': by})
        with open(kept, 'a') as out:
            out.write(json.dumps(results[-1]) + '\n')
        print(f'{verdict}: {file}:{number + 1}: {what}{" by " + by if by else ""}', flush=True)
    table, counts = summary(results)
    print('\n' + table + '\n')
    for result in results:
        if result['verdict'] == 'survived':
            print(f'survived: {result["file"]}:{result["line"]}: {result["what"]}')
    judged = counts['noticed'] + counts['survived']
    if judged and 100 * counts['noticed'] < arguments.least * judged:
        sys.exit(1)


if __name__ == '__main__':
    main()
