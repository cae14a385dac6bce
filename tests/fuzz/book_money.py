"""Rules about money and energy: price x time, and what jobs and idle devices make together is the pool's."""
import collections
import csv
import math
import os

from book_values import by_job, close, integral, keeps_limits, number


def prices(books, pool):
    """Dollars an hour of a node, as a series; None where its file is not there any more."""
    given = books.pools[pool].get("prices_usd_per_hour")
    if given is None:
        return [(0.0, books.pools[pool]["price_usd_per_hour"])]
    if "steps" in given:
        return [(step["time_s"], step["value"]) for step in given["steps"]]
    path = os.path.join(books.beside, given["file"]) if books.beside else None
    if path is None or not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return [(float(row["time_s"]), float(row["value"])) for row in csv.DictReader(file)]


def may_have_servers(books):
    """Parameter servers cost money that no device shows: only a scenario's `manual`, or a process, asks for them."""
    return "servers" in str(books.scenario.get("manual", {})) or "process" in str(books.scenario.get("policies", []))


def device_money(books, run):
    """Of each job, for the devices that it held; None where prices are not known."""
    series = {pool: prices(books, pool) for pool in books.pools}
    money = collections.defaultdict(float)
    for row in run.rows["nodes.csv"]:
        if series[row["pool"]] is None:
            return None
        node_hours = integral(series[row["pool"]], number(row["start_s"]), number(row["end_s"])) / 3600
        money[row["job"]] += node_hours * number(row["devices"]) / books.pools[row["pool"]]["devices_per_node"]
    return money


def is_whole(money, price, seconds):
    """Money over what devices cost is that of a whole number of servers."""
    servers = money / (price / 3600 * seconds) if price * seconds > 0 else 0
    return abs(servers - round(servers)) < 1e-5 * max(1.0, servers)


def price_times_time(books):
    if books.scenario.get("billing", "allocated") not in ("allocated", "pool"):
        return
    shared = books.scenario.get("billing") == "pool"
    for run in books.runs.values():
        if not books.has(run, "nodes.csv"):
            continue
        money = device_money(books, run)
        if money is None:
            continue
        for row in run.rows["jobs.csv"]:
            cost, devices = number(row["cost_usd"]), money[row["job"]]
            more = shared or may_have_servers(books)
            if cost < devices * (1 - 1e-8) - 1e-9 or not more and not close(cost, devices, 1e-8):
                yield f"{run}: job {row['job']} cost {cost}, its devices {devices}"


def stage_money(books):
    """Stages' money is the job's, but for its share of idle devices."""
    shared = books.scenario.get("billing") == "pool"
    for run in books.runs.values():
        if not books.has(run, "stages.csv"):
            continue
        of_job = by_job(run.rows["stages.csv"])
        for row in run.rows["jobs.csv"]:
            cost, parts = number(row["cost_usd"]), sum(number(stage["cost_usd"]) for stage in of_job[row["job"]])
            if shared and cost < parts * (1 - 1e-8) - 1e-9 or not shared and not close(cost, parts, 1e-8):
                yield f"{run}: job {row['job']} cost {cost}, its stages {parts}"
        for row in run.rows["stages.csv"]:
            if number(row["switch_cost_usd"]) > number(row["cost_usd"]) * (1 + 1e-8) + 1e-9:
                yield f"{run}: job {row['job']}, stage {row['stage']}: {row['switch_cost_usd']} of {row['cost_usd']} for switching"


def parts(books):
    """Compute, switch, wait and lost are what the jobs' money bought."""
    for run in books.runs.values():
        for row in run.rows["repetitions.csv"]:
            cost = number(row["cost_usd"]) - number(row["profiling_cost_usd"])
            bought = sum(number(row[f"cost_{part}_usd"]) for part in ("compute", "switch", "wait", "lost"))
            if not close(cost, bought, 1e-8, number(row["cost_usd"])):
                yield f"{run}: the jobs cost {cost}, for {bought} of compute, switch, wait and lost"


def span(run):
    """First submission and last end."""
    rows = run.rows["jobs.csv"]
    return min(number(row["submit_s"]) for row in rows), max(number(row["end_s"]) for row in rows)


def conservation(books):
    """Jobs + idle = pool, in money; where nodes come and go only their own books know the pool."""
    if books.scenario.get("billing", "allocated") not in ("allocated", "pool") or may_have_servers(books):
        return
    if not all(books.is_plain(pool) for pool in books.pools):
        return
    for run in books.runs.values():
        if not run.rows["repetitions.csv"] or not run.rows["jobs.csv"]:
            continue
        start, end = span(run)
        series = {pool: prices(books, pool) for pool in books.pools}
        if None in series.values():
            continue
        pool_usd = sum(books.pools[pool]["nodes"] * integral(series[pool], start, end) / 3600 for pool in books.pools)
        jobs_usd = sum(number(row["cost_usd"]) for row in run.rows["jobs.csv"])
        idle_usd = number(run.rows["repetitions.csv"][0]["idle_cost_usd"])
        if not close(jobs_usd + idle_usd, pool_usd, 1e-8):
            yield f"{run}: jobs {jobs_usd} + idle {idle_usd} = {jobs_usd + idle_usd}, the pools cost {pool_usd}"


def rented_spans(run):
    """(pool, node): the times in which some job held a device of it, joined, as (start, end)."""
    held = collections.defaultdict(list)
    for row in run.rows["nodes.csv"]:
        held[row["pool"], row["node"]].append((number(row["start_s"]), number(row["end_s"])))
    joined = {}
    for node, spans in held.items():
        joined[node] = []
        for start, end in sorted(spans):
            if joined[node] and start <= joined[node][-1][1]:
                joined[node][-1] = (joined[node][-1][0], max(end, joined[node][-1][1]))
            else:
                joined[node].append((start, end))
    return joined


def rented(books):
    """Under node billing all jobs together pay for whole nodes, from the first device that somebody took until nobody had one."""
    if books.scenario.get("billing") != "node" or books.scenario.get("minimum_node_s", 0) > 0:
        return
    if may_have_servers(books):
        return
    for run in books.runs.values():
        series = {pool: prices(books, pool) for pool in books.pools}
        if None in series.values() or not run.rows["jobs.csv"] or not books.has(run, "nodes.csv"):
            continue
        bill = sum(integral(series[pool], start, end) / 3600 for (pool, _), spans in rented_spans(run).items() for start, end in spans)
        paid = sum(number(row["cost_usd"]) for row in run.rows["jobs.csv"])
        if not close(paid, bill, 1e-8):
            yield f"{run}: the jobs paid {paid}, the nodes that they rented cost {bill}"


def samples(run, pool):
    """(date, row) of a pool, one for each date: the last."""
    found = {}
    for row in run.rows["utilization.csv"]:
        if row["pool"] == pool:
            found[number(row["time_s"])] = row
    return sorted(found.items())


def sampled(run, pool, column, start, end):
    """The integral of a column of utilization.csv."""
    rows = samples(run, pool)
    return integral([(date, number(row[column])) for date, row in rows], max(start, rows[0][0]), end) if rows else 0.0


def energy(books):
    """Power over time is the jobs' energy and the idle devices'."""
    if any("autoscale" in pool for pool in books.pools.values()):
        return
    for run in books.runs.values():
        if not run.rows["repetitions.csv"] or not run.rows["jobs.csv"] or not books.has(run, "utilization.csv"):
            continue
        start, end = span(run)
        power = sum(sampled(run, pool, "power_w", start, end) for pool in books.pools)
        jobs = sum(number(row["energy_j"]) for row in run.rows["jobs.csv"])
        idle = number(run.rows["repetitions.csv"][0]["idle_energy_kwh"]) * 3.6e6
        if not close(power, jobs + idle, 1e-7):
            yield f"{run}: power over time is {power} J, jobs {jobs} + idle {idle} = {jobs + idle}"


def alone_money(books, run):
    """Of each job, its nodes' price while no other job is on them; with pool billing its pools' while no other has any of them."""
    series = {pool: prices(books, pool) for pool in books.pools}
    if None in series.values():
        return None
    as_one = books.scenario.get("billing") == "pool"
    held = collections.defaultdict(list)
    for row in run.rows["nodes.csv"]:
        one = as_one and "autoscale" not in books.pools[row["pool"]]
        held[row["pool"], None if one else row["node"]].append((number(row["start_s"]), number(row["end_s"]), row["job"]))
    money = collections.defaultdict(float)
    for (pool, node), spans in held.items():
        changes = collections.defaultdict(collections.Counter)  # at each date, by how many of its devices' spans a job grows
        for start, end, job in spans:
            changes[start][job] += 1
            changes[end][job] -= 1
        dates, there = sorted(changes), collections.Counter()
        for begin, end in zip(dates, dates[1:]):
            for job, more in changes[begin].items():
                there[job] += more
                if there[job] == 0:
                    del there[job]
            if len(there) == 1:
                times = books.pools[pool]["nodes"] if node is None else 1
                money[next(iter(there))] += times * integral(series[pool], begin, end) / 3600
    return money


def dearest_second(books):
    """What all pools cost in a second at their highest prices."""
    return sum(books.pools[pool]["nodes"] * max(price for _, price in prices(books, pool)) for pool in books.pools) / 3600


def marginal(books):
    """What would not have been needed without a job."""
    billing = books.scenario.get("billing", "allocated")
    for run in books.runs.values():
        rows = run.rows["jobs.csv"]
        if not rows or "marginal_cost_usd" not in rows[0]:
            return
        known = billing != "allocated" and "nodes.csv" in books.files and not may_have_servers(books) and not books.scenario.get("minimum_node_s")
        alone = alone_money(books, run) if known else None
        # Dates in nodes.csv are rounded to the microsecond: four of them are the tolerance's share of forty seconds.
        scale_usd = max(1e-3, 40 * dearest_second(books)) if alone is not None else 0.0
        for row in rows:
            cost, added = number(row["cost_usd"]), number(row["marginal_cost_usd"])
            if billing == "allocated" and not close(added, cost, 1e-8) or billing == "node" and added > cost * (1 + 1e-8) + 1e-9:
                yield f"{run}: job {row['job']} costs {cost} and adds {added}"
            if alone is not None and not close(added, alone[row["job"]], 1e-7, scale_usd):
                yield f"{run}: job {row['job']} adds {added}, {alone[row['job']]} by nodes.csv"


def effective(books):
    for run in books.runs.values():
        for row in run.rows["jobs.csv"]:
            if not row["effective_cost_usd"] and not keeps_limits(row):
                continue  # manual's configuration fits nowhere
            cost, with_penalty = number(row["cost_usd"]), number(row["effective_cost_usd"])
            if keeps_limits(row) and with_penalty != cost or with_penalty < cost * (1 - 1e-9):
                yield f"{run}: job {row['job']}: effective cost {with_penalty}, cost {cost}, limits {'kept' if keeps_limits(row) else 'broken'}"


def utilization(books):
    """The share of the money that devices were busy for."""
    if not all(books.is_plain(pool) for pool in books.pools):
        return
    if books.scenario.get("billing") == "node":  # of rented nodes, which come and go
        return
    for run in books.runs.values():
        if not run.rows["repetitions.csv"] or not run.rows["jobs.csv"] or not books.has(run, "utilization.csv"):
            continue
        start, end = span(run)
        busy_usd = all_usd = 0.0
        for pool in books.pools:
            series = prices(books, pool)
            if series is None or end <= start:
                return
            usd = books.pools[pool]["nodes"] * integral(series, start, end) / 3600
            all_usd += usd
            busy_usd += usd * sampled(run, pool, "busy_devices", start, end) / (books.devices(pool) * (end - start))
        claimed = number(run.rows["repetitions.csv"][0]["utilization_fraction"])
        if all_usd > 0 and not close(claimed, busy_usd / all_usd, 1e-7) or all_usd == 0 and not math.isnan(claimed):
            yield f"{run}: utilization {claimed}, {busy_usd / all_usd if all_usd else None} by utilization.csv"


RULES = {"price x time": price_times_time, "stages' money": stage_money, "parts of money": parts, "conservation": conservation, "rented": rented, "marginal cost": marginal,
         "energy": energy, "effective cost": effective, "utilization": utilization}
