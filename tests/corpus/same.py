"""Compares texts and folders: what differs, and what differs by no more than rounding."""
import json
import os
import re
import sqlite3

NOT_COMPARED = {"timing.json"}
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
TOLERANCE = 1e-9
VERSIONS = re.compile(r"^(\$schema|version|program_version|.*_version|program|plan_sha256)$")
SUMMED = {"manifest.json", "bundle.json"}  # say again which other files differ
SUMS = {"bytes", "sha256"}


def compared_texts(name, first, second, told, small):
    if first == second:
        return
    a, b = first.splitlines(), second.splitlines()
    for number, (one, other) in enumerate(zip(a, b), 1):
        if one != other:
            (small if nearly(one, other) else told).append(f"{name}:{number}: {shown(one, other)}")
    if len(a) != len(b):
        told.append(f"{name}: {len(a)} lines, then {len(b)}")
    elif a == b:
        told.append(f"{name}: other ends of lines")


def nearly(one, other):
    """The same text with numbers that are within the tolerance."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = [(float(x), float(y)) for x, y in zip(NUMBER.findall(one), NUMBER.findall(other))]
    return all(abs(x - y) <= TOLERANCE * max(abs(x), abs(y), TOLERANCE) for x, y in pairs)


def shown(one, other, width=160):
    """Around the first character that differs."""
    place = next((i for i, (x, y) in enumerate(zip(one, other)) if x != y), min(len(one), len(other)))
    start = max(0, place - 40)
    return f"{one[start:start + width]!r} then {other[start:start + width]!r}"


def listed(folder):
    found = set()
    for at, _, names in os.walk(folder):
        found |= {os.path.relpath(os.path.join(at, name), folder) for name in names if name not in NOT_COMPARED}
    return found


def compared_folders(first, second, told, small):
    a, b = listed(first), listed(second)
    told += [f"{name}: only the old program writes it" for name in sorted(a - b)]
    told += [f"{name}: only the new program writes it" for name in sorted(b - a)]
    for name in sorted(a & b):
        compared_files(name, os.path.join(first, name), os.path.join(second, name), told, small)


def compared_files(name, first, second, told, small):
    with open(first, "rb") as one, open(second, "rb") as other:
        a, b = one.read(), other.read()
    if a == b:
        return
    if name.endswith(".sqlite"):
        a, b = database(first), database(second)
    elif os.path.basename(name) == "scenario.json" or os.path.basename(name) in SUMMED:
        of_others = SUMS if os.path.basename(name) in SUMMED else set()
        a, b = without_versions(a, of_others), without_versions(b, of_others)
        if a == b:
            return
    try:
        texts = [part if isinstance(part, str) else part.decode("utf-8") for part in (a, b)]
    except UnicodeDecodeError:
        told.append(f"{name}: {len(a)} bytes, then {len(b)}, not the same")
        return
    compared_texts(name, *texts, told, small)


def without_versions(text, others=frozenset()):
    """As lines, so that what else differs is told by its line."""
    def cleaned(value):
        if isinstance(value, dict):
            return {key: cleaned(part) for key, part in value.items() if not VERSIONS.match(key) and key not in others}
        return [cleaned(part) for part in value] if isinstance(value, list) else value

    try:
        return json.dumps(cleaned(json.loads(text)), indent=1)
    except ValueError:
        return text.decode("utf-8", "replace")


def database(path):
    """Rows of all tables, without what depends on the machine."""
    lines = []
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        for (table,) in connection.execute("select name from sqlite_master where type = 'table' order by name").fetchall():
            if table not in ("timing", "sums"):
                rows = connection.execute(f'select * from "{table}"').fetchall()
                lines += sorted(f"{table}: {row}" for row in rows if not (table == "meta" and VERSIONS.match(str(row[0]))))
    return "\n".join(lines)
