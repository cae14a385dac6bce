"""Rules about who is where: no device twice, no pool beyond its size, nobody on a node that is away, quotas."""
import bisect
import collections
import itertools
import math

from book_values import by_job, close, largest_sum, number

CRUMB = 1e-6  # of a device: parts are multiples of 2^-30


def devices_twice(books):
    for run in books.runs.values():
        of_node = collections.defaultdict(list)
        for row in run.rows["nodes.csv"]:
            pool, node = row["pool"], int(row["node"])
            if pool not in books.pools or not 0 <= node < books.pools[pool]["nodes"]:
                yield f"{run}: job {row['job']} is on node {node} of {pool}, which has {books.pools.get(pool, {}).get('nodes')}"
                continue
            of_node[pool, node].append((number(row["start_s"]), number(row["end_s"]), number(row["devices"])))
        for (pool, node), intervals in of_node.items():
            most, when = largest_sum(intervals)
            if most > books.pools[pool]["devices_per_node"] + CRUMB:
                yield f"{run}: {most} devices of {pool}/{node} are held at {when}; it has {books.pools[pool]['devices_per_node']}"


def capacity(books):
    for run in books.runs.values():
        last = {}
        # A device that is shared may be busy for all of its time, whatever parts of it are held.
        # Parts that come to whole devices: a job has more workers, which are its parts, than it holds devices.
        held = collections.Counter()
        for row in run.rows["nodes.csv"]:
            held[row["job"], row["start_s"]] += number(row["devices"])
        workers = {row["job"]: number(row["workers"] or 0) for row in run.rows["jobs.csv"]}
        shared = {row["pool"] for row in run.rows["nodes.csv"]
                  if number(row["devices"]) % 1 > 0 or held[row["job"], row["start_s"]] < workers.get(row["job"], 0) - CRUMB}
        for row in run.rows["utilization.csv"]:
            pool, busy, allocated = row["pool"], number(row["busy_devices"]), number(row["allocated_devices"])
            most = books.devices(pool) if pool in shared or not books.has(run, "nodes.csv") else allocated
            if allocated > books.devices(pool) + CRUMB or busy > most + CRUMB:
                yield f"{run}: at {row['time_s']} {busy} devices of {pool} are busy, {allocated} held, of {books.devices(pool)}"
            if number(row["time_s"]) < last.get(pool, -math.inf):
                yield f"{run}: utilization of {pool} goes back to {row['time_s']}"
            last[pool] = number(row["time_s"])
            if not -1e-9 <= number(row["fragmentation"] or 0) <= 1 + 1e-9:
                yield f"{run}: fragmentation of {pool} is {row['fragmentation']}"


def allocated(books):
    """What utilization.csv says is held is what nodes.csv says."""
    for run in books.runs.values():
        if not books.has(run, "nodes.csv", "utilization.csv"):
            continue
        starts, ends = collections.defaultdict(list), collections.defaultdict(list)
        for row in run.rows["nodes.csv"]:
            if number(row["end_s"]) > number(row["start_s"]):
                starts[row["pool"]].append((number(row["start_s"]), number(row["devices"])))
                ends[row["pool"]].append((number(row["end_s"]), number(row["devices"])))

        def summed(changes):
            changes.sort()
            sums = [0.0]
            for _, amount in changes:
                sums.append(sums[-1] + amount)
            return [date for date, _ in changes], sums

        taken = {pool: summed(changes) for pool, changes in starts.items()}
        given = {pool: summed(changes) for pool, changes in ends.items()}
        # Several decisions at one date have a row each: the last one is what holds from then on.
        last = {(row["pool"], row["time_s"]): row for row in run.rows["utilization.csv"]}
        for row in last.values():
            date, held = number(row["time_s"]), 0.0
            for sign, changes in ((1, taken), (-1, given)):
                dates, sums = changes.get(row["pool"], ([], [0.0]))
                held += sign * sums[bisect.bisect_right(dates, date)]
            if abs(held - number(row["allocated_devices"])) > CRUMB:
                yield f"{run}: at {row['time_s']} {row['allocated_devices']} devices of {row['pool']} are held, {held} by nodes.csv"
                break


def device_seconds(books):
    for run in books.runs.values():
        if not books.has(run, "nodes.csv"):
            continue
        of_job = by_job(run.rows["nodes.csv"])
        for row in run.rows["jobs.csv"]:
            held = sum(number(n["devices"]) * (number(n["end_s"]) - number(n["start_s"])) for n in of_job[row["job"]])
            if not close(held, number(row["device_s"]), 1e-8, number(row["end_s"]) * 1e-6):
                yield f"{run}: job {row['job']}: device_s {row['device_s']}, {held} by nodes.csv"


def spells(run, goes, comes):
    """Of each node: when it is away, by the events."""
    away, since = collections.defaultdict(list), {}
    for event in run.events:
        if "node" in event:
            if event["event"] in goes:
                since.setdefault(event["node"], event["time_s"])
            elif event["event"] in comes and event["node"] in since:
                away[event["node"]].append((since.pop(event["node"]), event["time_s"]))
    for node, date in since.items():
        away[node].append((date, math.inf))
    return away


def from_date(spells_of_node, start, end):
    """Those that end after the start and begin before the end; one comes after the other."""
    first = bisect.bisect_right(spells_of_node, start, key=lambda spell: spell[1])
    return itertools.takewhile(lambda spell: spell[0] <= end, (spells_of_node[i] for i in range(first, len(spells_of_node))))


def nobody_on_nodes_away(books):
    """Failed or revoked nodes hold nobody, and nothing starts on one that is announced or in maintenance."""
    for key in books.with_events:
        run = books.runs[key]
        down = spells(run, ("node_failed",), ("node_repaired",))
        revoked = spells(run, ("spot_revoked",), ("spot_replaced",))
        closed = spells(run, ("maintenance_begins",), ("maintenance_ends",))
        for row in run.rows["nodes.csv"]:
            node, start, end = f"{row['pool']}/{row['node']}", number(row["start_s"]), number(row["end_s"])
            for name, away in (("failed", down), ("revoked", revoked)):
                for goes, comes in from_date(away[node], start, end):
                    if max(start, goes) < min(end, comes):
                        yield f"{run}: job {row['job']} holds {node} from {start} to {end}, which is {name} from {goes} to {comes}"
            for goes, comes in from_date(closed[node], start, end):
                if goes <= start < comes and end > start:
                    yield f"{run}: job {row['job']} takes {node} at {start}, in maintenance from {goes} to {comes}"


def quotas(books):
    """Users of a partition hold no more nodes' worth than its quota."""
    for run in books.runs.values():
        policy = next((p for p in books.scenario.get("policies", []) if isinstance(p, dict) and p.get("name") == run.policy), {})
        queue = policy.get("queue", {})
        if not isinstance(queue, dict) or "partitions" not in queue or not books.has(run, "jobs.csv"):
            continue
        named = {user: part for part in queue["partitions"] for user in part.get("users", [])}
        rest = next((part for part in queue["partitions"] if "users" not in part), None)
        users = {row["job"]: row["user"] for row in run.rows["jobs.csv"]}
        held = collections.defaultdict(list)
        for row in run.rows["nodes.csv"]:
            part = named.get(users.get(row["job"]), rest)
            if part is None:
                yield f"{run}: job {row['job']} of {users.get(row['job'])} runs, who has no partition"
            else:
                held[part["name"], row["pool"]].append((number(row["start_s"]), number(row["end_s"]), number(row["devices"])))
        quota_of = {part["name"]: part["quota"] for part in queue["partitions"]}
        for (part, pool), intervals in held.items():
            most, when = largest_sum(intervals)
            quota = quota_of[part].get(pool, 0) * books.pools[pool]["devices_per_node"]
            if most > quota + CRUMB:
                yield f"{run}: partition {part} holds {most} devices of {pool} at {when}; its quota is {quota}"


RULES = {"no device twice": devices_twice, "capacity": capacity, "allocated": allocated, "device seconds": device_seconds,
         "nobody on nodes that are away": nobody_on_nodes_away, "quotas": quotas}
