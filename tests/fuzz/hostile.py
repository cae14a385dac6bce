"""A policy's process whose answers are spoiled on their way: hostile.py SEED SHARE SCRIPT runs the script and hands its answers on,
this share of them cut, retyped, doubled, drowned, or not at all."""
import json
import random
import subprocess
import sys
import time

rng = random.Random(sys.argv[1])
SHARE, ODD = float(sys.argv[2]), [None, True, -1, 0, 1e300, 2**63, 0.5, "", "no such", "p0", [], {}, [[]], {"job_id": "j0"}]


def retyped(value):
    """One value somewhere inside is another."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(sorted(value))
        return {**value, key: retyped(value[key])} if rng.random() < 0.85 else {other: part for other, part in value.items() if other != key}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return value[:at] + [retyped(value[at])] + value[at:at + rng.choice([0, 0, 1])] + value[at + 1:]
    return rng.choice(ODD)


def spoiled(line):
    what = rng.random()
    if what < 0.6:
        return json.dumps(retyped(json.loads(line))).encode() + b"\n"
    if what < 0.7:
        return line[:rng.randrange(len(line))].encode() + rng.choice([b"", b"\n"])
    if what < 0.78:
        return 2 * line.encode()
    if what < 0.84:
        return rng.choice([b"\n", b"[" * 100_000 + b"\n", b"\xff\n", b"x" * 3_000_000 + b"\n", b"{}\n", b"null\n"])
    if what < 0.96:
        return json.dumps(json.loads(line)).replace("0", rng.choice(["9", "1e99", "-0", "\ud800"])).encode("utf-8", "replace") + b"\n"
    if what < 0.99:
        sys.exit(rng.choice([0, 1, 137]))
    time.sleep(100)
    return b""


child = subprocess.Popen([sys.executable, *sys.argv[3:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for text in sys.stdin:
    child.stdin.write(text)
    child.stdin.flush()
    answer = child.stdout.readline()
    sys.stdout.buffer.write(spoiled(answer) if answer and rng.random() < SHARE else answer.encode())
    sys.stdout.flush()
