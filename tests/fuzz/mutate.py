#!/usr/bin/env python3
"""Mutants of scenarios: values deleted, duplicated, retyped, taken to extremes, parts of two scenarios crossed; at random JSON paths.

    mutate.py --seed 1 SCENARIO [OTHER...]      prints a mutant of the first, crossed with the others
"""
import argparse
import copy
import json
import random

from draw_policies import COSTLY
from generate import default_schema

NUMBERS = [0, 1, -1, 2, 0.5, -0.0, 1e-300, 1e300, 1e18, 1e21, 2**31 - 1, 2**31, 2**53, 2**63, -(2**63), 8589934592, 8589934593, 1e-9, 0.1, 3600.0, 1e6, 1000001]
TEXTS = ["", "a", "manual", "oracle", "fifo", "a/b", "..", "\u0000", "x" * 300, "ä", "\u001b[31m", "1", "${REHEARSE_DATA}/none", "p0", "p0/0", " "]
SHAPES = [None, True, False, [], {}, [[]], [{}], {"name": "manual"}, {"file": "none.csv"}, {"steps": []}, [None]]

NETWORKS = ("cnn", "rnn", "mlp")  # of a scenario's own models
DEPTHS = ("layers", "conv_layers", "dense_layers", "steps")
MOST_LAYERS = 200  # the program refuses those beyond some ten thousand, which stay as they are


def paths(value, path=()):
    """Of every value inside, the whole first."""
    found = [path]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        found += paths(part, path + (key,))
    return found


def at(value, path):
    for key in path:
        value = value[key]
    return value


def replaced(value, path, new):
    """In place, but for the whole."""
    if not path:
        return new
    at(value, path[:-1])[path[-1]] = new
    return value


def delete(rng, schema, scenario, _):
    path = rng.choice(paths(scenario)[1:])
    at(scenario, path[:-1]).pop(path[-1])
    return scenario


def duplicate(rng, schema, scenario, _):
    lists = [path for path in paths(scenario) if isinstance(at(scenario, path), list) and at(scenario, path)]
    if lists:
        chosen = at(scenario, rng.choice(lists))
        chosen.insert(rng.randrange(len(chosen) + 1), copy.deepcopy(rng.choice(chosen)))
    return scenario


def retype(rng, schema, scenario, _):
    path = rng.choice(paths(scenario)[1:])
    return replaced(scenario, path, copy.deepcopy(rng.choice([rng.choice(NUMBERS), rng.choice(TEXTS), rng.choice(SHAPES), [at(scenario, path)], {"name": at(scenario, path)}])))


def extreme(rng, schema, scenario, _):
    """A number at the ends of what the schema allows, just beyond, or by orders of magnitude off."""
    numbers = [path for path in paths(scenario) if isinstance(at(scenario, path), (int, float)) and not isinstance(at(scenario, path), bool)]
    if not numbers:
        return scenario
    path = rng.choice(numbers)
    value = at(scenario, path)
    choices = [rng.choice(NUMBERS), value * rng.choice([1e-6, 1e-3, 0.1, 10, 1000, 1e6]), -value]
    for node in schema.at(path):
        for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            if key in node:
                choices += [node[key], node[key], node[key] * (1 + 1e-9)]
    chosen = rng.choice(choices)
    if isinstance(value, int) and isinstance(chosen, float) and abs(chosen) < 1e15 and rng.random() < 0.8:
        chosen = int(chosen)
    return replaced(scenario, path, chosen)


def text(rng, schema, scenario, others):
    """A text for another: of the schema's choices, of the same scenario, or an odd one."""
    texts = [path for path in paths(scenario) if isinstance(at(scenario, path), str)]
    if not texts:
        return scenario
    path = rng.choice(texts)
    choices = [at(scenario, rng.choice(texts)), rng.choice(TEXTS), at(scenario, path)[:-1]]
    for node in schema.at(path):
        choices += node.get("enum", []) * 3
    return replaced(scenario, path, rng.choice(choices))


def add(rng, schema, scenario, _):
    """A key that the schema knows at this place and that is not there."""
    objects = [path for path in paths(scenario) if isinstance(at(scenario, path), dict)]
    path = rng.choice(objects)
    missing = {key: node for key, node in schema.keys(path).items() if key not in at(scenario, path)}
    if missing:
        key = rng.choice(sorted(missing))
        value = schema.draw(missing[key], rng)
        at(scenario, path)[key] = value if value is not None else copy.deepcopy(rng.choice(SHAPES + TEXTS[:6]))
    return scenario


def cross(rng, schema, scenario, others):
    """A part of another scenario in the place of the same part, or of one of the same key anywhere."""
    if not others:
        return scenario
    other = rng.choice(others)
    path = rng.choice(paths(other)[1:])
    part = copy.deepcopy(at(other, path))
    places = [own for own in paths(scenario)[1:] if own == path or own[-1] == path[-1] and isinstance(path[-1], str)]
    if places:
        return replaced(scenario, rng.choice(places), part)
    if len(path) == 1:
        scenario[path[0]] = part
    return scenario


def swap(rng, schema, scenario, _):
    """Two values of one scenario change places."""
    known = paths(scenario)[1:]
    a, b = rng.choice(known), rng.choice(known)
    if a[: len(b)] != b and b[: len(a)] != a:
        first, second = at(scenario, a), at(scenario, b)
        scenario = replaced(replaced(scenario, a, second), b, first)
    return scenario


OPERATIONS = [delete, delete, duplicate, retype, extreme, extreme, extreme, text, text, add, add, cross, cross, swap]


def mutant(rng: random.Random, schema, scenario, others):
    """One to a few changes; the scenario itself stays as it is."""
    changed = copy.deepcopy(scenario)
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5])):
        if not isinstance(changed, dict) or len(changed) == 0:
            break
        changed = rng.choice(OPERATIONS)(rng, schema, changed, others)
    return changed


def without_long_work(value, key=None):
    """What takes minutes or gigabytes by right is no finding: graphs of thousands of operations, of which some strategies time hundreds of plans,
    thousands of repetitions, of jobs or of past runs, of which some strategies hold each against all others, millions of trainings, placements
    that try a thousand for each configuration of a menu. A whole number may be written as 3600.0."""
    if key == "place":
        name = value.get("name") if isinstance(value, dict) else value
        if isinstance(name, str) and name in COSTLY:
            value = {"name": name, **COSTLY[name], **(value if isinstance(value, dict) else {})}
    if key in NETWORKS and isinstance(value, dict):
        return {name: MOST_LAYERS if name in DEPTHS and isinstance(part, (int, float)) and MOST_LAYERS < part <= 10_000 else part for name, part in value.items()}
    if isinstance(value, dict):
        return {name: without_long_work(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [without_long_work(part, key) for part in value]
    if key == "granularity" and value == "tensorflow":
        return "layers"
    for counted, from_, to in (("repetitions", 20, 10_000), ("count", 2_000, 100_000_000), ("evaluations", 100, 1_000_000_000), ("runs", 1_000, 100_000_000),
                               ("epochs", 10_000, 1_000_000)):
        if key == counted and isinstance(value, (int, float)) and from_ < value <= to:
            return from_
    return value


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("scenarios", nargs="+")
    options = arguments.parse_args()
    scenarios = []
    for path in options.scenarios:
        with open(path, encoding="utf-8") as file:
            scenarios.append(json.load(file))
    print(json.dumps(mutant(random.Random(options.seed), default_schema(), scenarios[0], scenarios[1:]), indent=1))


if __name__ == "__main__":
    main()
