"""Rules about the summary: its figures again from jobs.csv, means and intervals again from the repetitions."""
import math

from book_values import close, keeps_limits, number

T_975 = {1: 12.706204736432095, 2: 4.302652729911275, 3: 3.182446305284263, 4: 2.7764451051977987}  # of Student's t, by degrees of freedom


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else math.nan


def quantile(values, share):
    values = sorted(values)
    if not values:
        return math.nan
    place = share * (len(values) - 1)
    below = int(place)
    above = min(below + 1, len(values) - 1)
    if place == below or values[below] == values[above]:  # infinities have no difference
        return values[below]
    return values[below] + (place - below) * (values[above] - values[below])


def fraction(rows, limit, met):
    limited = [row for row in rows if row[limit]]
    return mean(float(row[met] == "true") for row in limited)


def errors(run, counted, quantity, column):
    """Of predictions of finished jobs that were configured."""
    rows = {row["job"]: row for row in counted if float(row["batch_size"] or 0) > 0}
    return [abs(number(p["predicted"]) / number(p["actual"]) - 1) for p in run.rows["predictions.csv"]
            if p["quantity"] == quantity and p["job"] in rows and number(p["actual"]) > 0]


def figures(books, run):
    """What jobs.csv makes of the figures of one run."""
    everything = run.rows["jobs.csv"]
    rows = books.counted(everything)
    finished = [row for row in rows if row["state"] == "finished"]
    jct = [number(row["end_s"]) - number(row["submit_s"]) for row in finished]
    late = [0.0 if row["deadline_met"] == "true" else max(0.0, number(row["end_s"]) - number(row["submit_s"]) - number(row["deadline_s"]))
            for row in rows if row["deadline_s"]]
    short = [max(0.0, number(row["target_accuracy"]) - number(row["accuracy"] or 0)) for row in rows if row["target_accuracy"]]
    done = jct + [math.inf] * (len(rows) - len(jct))  # who fails is never done
    claimed = run.rows["repetitions.csv"][0]
    profiling = number(claimed["profiling_cost_usd"])
    found = {
        "jobs": len(rows), "jobs_completed": len(finished), "jobs_failed": len(rows) - len(finished),
        "cost_usd": sum(number(row["cost_usd"]) for row in rows) + profiling,
        "marginal_cost_usd": sum(number(row["marginal_cost_usd"]) for row in rows) + profiling,
        "effective_cost_usd": sum(number(row["effective_cost_usd"]) for row in rows) + profiling,
        "limits_broken": sum(not keeps_limits(row) for row in rows),
        "deadline_met_fraction": fraction(rows, "deadline_s", "deadline_met"),
        "accuracy_met_fraction": fraction(rows, "target_accuracy", "accuracy_met"),
        "energy_kwh": sum(number(row["energy_j"]) for row in rows) / 3.6e6,
        "jct_mean_s": mean(jct), "jobs_rejected": sum(row["reason"] == "rejected" for row in rows),
        "seconds_late_mean": mean(late), "accuracy_short_mean": mean(short),
        "preemptions": sum(int(row["preemptions"]) for row in rows), "reconfigurations": sum(int(row["reconfigurations"]) for row in rows)}
    found |= {f"jct_p{percent}_s": quantile(done, percent / 100) for percent in (50, 95, 99)}
    if "life.csv" in books.files:
        life = {row["job"]: row for row in run.rows["life.csv"]}
        waiting = [number(row["end_s"]) - number(row["submit_s"]) - number(life[row["job"]]["held_s"]) for row in finished]
        found |= {"waiting_mean_s": mean(waiting),
                  "restarts": sum(int(life[row["job"]]["restarts"]) for row in rows),
                  "checkpoints": sum(int(life[row["job"]]["checkpoints"]) for row in rows)}
    if everything:
        found["makespan_s"] = max(number(row["end_s"]) for row in everything) - min(number(row["submit_s"]) for row in everything)
    if books.has(run, "predictions.csv"):
        found["time_error_median"] = quantile(errors(run, rows, "time_s", "end_s"), 0.5)
        found["cost_error_median"] = quantile(errors(run, rows, "cost_usd", "cost_usd"), 0.5)
    if rows and "co2_kg" in rows[0]:
        found["co2_kg"] = sum(number(row["co2_kg"]) for row in rows)
    return found


def same(a, b, scale=0.0):
    return math.isnan(a) and math.isnan(b) or close(a, b, 1e-8, scale)


def repetitions(books):
    for run in books.runs.values():
        if len(run.rows["repetitions.csv"]) != 1:
            yield f"{run}: {len(run.rows['repetitions.csv'])} rows in repetitions.csv"
            continue
        if not books.has(run, "jobs.csv"):
            continue
        claimed = run.rows["repetitions.csv"][0]
        for name, value in figures(books, run).items():
            scale = max((number(row["end_s"]) for row in run.rows["jobs.csv"]), default=0) * 1e-3 if name.endswith("_s") or name == "seconds_late_mean" else 0
            value = math.nan if math.isinf(value) else value
            if name in claimed and not same(number(claimed[name]), value, scale):
                yield f"{run}: {name} is {claimed[name]}, {value} by jobs.csv"


def listed(value):
    return math.nan if value is None else float(value)


def ratios(books, row, claimed, values):
    """Of a speed-up over repetitions: the ratio of the means, where every job of both counts; else between the least and the most."""
    baseline = books.scenario.get("baseline", books.summary["policies"][0]["policy"])
    names = (baseline, row["policy"])
    pairs = [[books.runs[name, r].rows["repetitions.csv"][0] for name in names] for r in range(books.scenario.get("repetitions", 1))
             if all((name, r) in books.runs and books.runs[name, r].rows["repetitions.csv"] for name in names)]
    whole = [(number(base["jct_mean_s"]), number(own["jct_mean_s"])) for base, own in pairs
             if number(base["jobs_completed"]) == number(own["jobs_completed"]) == number(own["speedup_jobs"])]
    if values and len(whole) == len(values) == len(pairs):
        middle = mean([base for base, _ in whole]) / mean([own for _, own in whole])
        if not same(listed(claimed["mean"]), middle):
            yield f"{row['policy']}: jct_speedup is {claimed['mean']}, the ratio of the mean JCTs {middle}"
    elif values and not min(values) * (1 - 1e-8) <= listed(claimed["mean"]) <= max(values) * (1 + 1e-8):
        yield f"{row['policy']}: jct_speedup is {claimed['mean']}, the repetitions' are from {min(values)} to {max(values)}"
    elif not values and claimed["mean"] is not None:
        yield f"{row['policy']}: jct_speedup is {claimed['mean']}, of no repetition"


def schedules(books):
    """Speed-ups again, from the baseline's schedule and one's own: of the jobs that both finish."""
    names = [row["policy"] for row in books.summary["policies"]]
    baseline = books.scenario.get("baseline", names[0])
    for run in books.runs.values():
        base = books.runs.get((baseline, run.repetition))
        if base is None or len(run.rows["repetitions.csv"]) != 1 or not base.rows["jobs.csv"]:
            continue
        claimed = run.rows["repetitions.csv"][0]
        jct = {row["job"]: number(row["end_s"]) - number(row["submit_s"]) for row in books.counted(run.rows["jobs.csv"]) if row["state"] == "finished"}
        other = {row["job"]: number(row["end_s"]) - number(row["submit_s"]) for row in books.counted(base.rows["jobs.csv"]) if row["state"] == "finished"}
        both = [job for job in jct if job in other]
        mine, theirs = sum(jct[job] for job in both), sum(other[job] for job in both)
        if not same(number(claimed["speedup_jobs"]), len(both)) or mine > 0 and theirs > 0 and not same(number(claimed["jct_speedup"]), theirs / mine):
            yield f"{run}: jct_speedup is {claimed['jct_speedup']} over {claimed['speedup_jobs']}, {theirs / mine if mine else math.nan} over {len(both)} by jobs.csv"


def summary(books):
    """Means over the repetitions, and their 95 % intervals by Student's t."""
    names = [p if isinstance(p, str) else p["name"] for p in books.scenario["policies"]]
    rows = books.summary["policies"]
    if [row["policy"] for row in rows] != names:
        yield f"policies {[row['policy'] for row in rows]}, the scenario has {names}"
        return
    for row in rows:
        runs = [run for run in books.runs.values() if run.policy == row["policy"] and run.rows["repetitions.csv"]]
        if row["status"] != "ok":
            if set(row) != {"policy", "status", "reason"} or any(run.rows["jobs.csv"] for run in runs):
                yield f"{row['policy']} failed and has {sorted(row)}"
            continue
        if len(runs) != books.scenario.get("repetitions", 1):
            yield f"{row['policy']}: {len(runs)} repetitions of {books.scenario.get('repetitions', 1)}"
            continue
        for name, claimed in row.items():
            if not isinstance(claimed, dict) or name not in runs[0].rows["repetitions.csv"][0]:
                continue
            values = [number(run.rows["repetitions.csv"][0][name]) for run in runs]
            if name == "effective_cost_usd" and any(map(math.isnan, values)):  # of one that has none the others say too little
                values = []
            if name.startswith("jct_p") and any(map(math.isnan, values)):
                continue  # never done in some repetition, or nobody there: no mean
            values = [value for value in values if not math.isnan(value)]
            if name == "jct_speedup":
                yield from ratios(books, row, claimed, values)
                continue
            middle = mean(values)
            scale = max(map(abs, values), default=0)
            if not same(listed(claimed["mean"]), middle, scale):
                yield f"{row['policy']}: {name} is {claimed['mean']}, the repetitions' mean {middle}"
            if len(values) < 2:
                if claimed["ci95_low"] is not None or claimed["ci95_high"] is not None:
                    yield f"{row['policy']}: {name} has an interval of {len(values)} values"
            elif len(values) - 1 in T_975:
                spread = math.sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - 1) / len(values)) * T_975[len(values) - 1]
                for bound, value in (("ci95_low", middle - spread), ("ci95_high", middle + spread)):
                    if not close(listed(claimed[bound]), value, 1e-6, scale):
                        yield f"{row['policy']}: {bound} of {name} is {claimed[bound]}, {value} by the repetitions"


def savings(books):
    """Over the jobs whose limits both keep, profiling aside; of one repetition, where nothing is averaged."""
    if books.scenario.get("repetitions", 1) != 1:
        return
    names = [row["policy"] for row in books.summary["policies"]]
    baseline = books.scenario.get("baseline", names[0])
    if (baseline, 0) not in books.runs or not books.has(books.runs[baseline, 0], "jobs.csv"):
        return
    base = {row["job"]: row for row in books.counted(books.runs[baseline, 0].rows["jobs.csv"])}
    for row in books.summary["policies"]:
        if row["status"] != "ok" or (row["policy"], 0) not in books.runs:
            continue
        own = {r["job"]: r for r in books.counted(books.runs[row["policy"], 0].rows["jobs.csv"])}
        both = [job for job in own if job in base and keeps_limits(own[job]) and keeps_limits(base[job])]
        theirs = sum(number(base[job]["cost_usd"]) for job in both)
        mine = sum(number(own[job]["cost_usd"]) for job in both)
        saving = 100 * (1 - mine / theirs) if theirs > 0 and abs(mine - theirs) > 1e-6 * theirs else 0  # rounding is no saving
        claimed = row["saving_without_profiling_percent"]["mean"]
        if own and not same(listed(row["both_keep_limits_fraction"]["mean"]), len(both) / len(own)):
            yield f"{row['policy']}: both_keep_limits_fraction is {row['both_keep_limits_fraction']['mean']}, {len(both)} of {len(own)} by jobs.csv"
        if theirs > 0 and not (claimed is not None and abs(claimed - saving) <= 1e-6 * max(1, abs(claimed))):
            yield f"{row['policy']}: saving_without_profiling_percent is {claimed}, {saving} by jobs.csv"
        if not both and claimed is not None:
            yield f"{row['policy']}: saves {claimed} % over no jobs"


RULES = {"repetitions": repetitions, "summary": summary, "savings": savings, "schedules": schedules}
