"""Makes a scenario small that shows a defect: parts are left out, texts and numbers made plain, as long as the defect shows."""
import copy
import time

from mutate import at, paths


def minimised(scenario, shows, seconds=60.0):
    """`shows(scenario)` says whether a smaller one still shows the same. Ends when nothing can be left out, or with the time."""
    ends = time.monotonic() + seconds
    best = copy.deepcopy(scenario)
    smaller = True
    while smaller and time.monotonic() < ends:
        smaller = False
        for attempt in attempts(best):
            if time.monotonic() > ends:
                break
            candidate = attempt(best)
            if candidate is not None and shows(candidate):
                best, smaller = candidate, True
                break
    return best


def attempts(scenario):
    """Ways to make it smaller, the boldest first. Each gets the scenario as it is by then."""
    found = []
    lists = sorted((path for path in paths(scenario) if isinstance(at(scenario, path), list)), key=lambda path: -len(at(scenario, path)))
    for path in lists:
        size = len(at(scenario, path))
        piece = size // 2
        while piece >= 1:
            for start in range(0, size, piece):
                found.append((lambda p, a, b: lambda s: without_slice(s, p, a, b))(path, start, min(size, start + piece)))
            piece //= 2
    for path in sorted(paths(scenario)[1:], key=len):
        if isinstance(path[-1], str):
            found.append((lambda p: lambda s: without(s, p))(path))
    for path in paths(scenario)[1:]:
        value = at(scenario, path)
        if isinstance(value, dict) and "name" in value and len(path) and path[-1] in ("configure", "place", "threads", "queue"):
            found.append((lambda p, v: lambda s: with_value(s, p, v))(path, value["name"]))
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            for plain in (0, 1, round(value) if abs(value) < 1e15 else value, float(f"{value:.1g}") if isinstance(value, float) else value):
                if plain != value and len(str(plain)) < len(str(value)):
                    found.append((lambda p, v: lambda s: with_value(s, p, v))(path, plain))
    return found


def without_slice(scenario, path, start, end):
    changed = copy.deepcopy(scenario)
    part = at(changed, path)
    if end - start >= len(part) and len(part) <= 1:
        return None
    del part[start:end]
    return changed


def without(scenario, path):
    changed = copy.deepcopy(scenario)
    at(changed, path[:-1]).pop(path[-1], None)
    return changed


def with_value(scenario, path, value):
    changed = copy.deepcopy(scenario)
    at(changed, path[:-1])[path[-1]] = value
    return changed
