"""Rules about each job by itself: it ends once, its dates, its flags, and what other files say of it."""
import collections
import math

from book_values import DATE_STEP_S, by_job, close, number

ENDS = ("finished", "failed")


def ends_once(books):
    sets = collections.defaultdict(dict)
    for run in books.runs.values():
        if not books.has(run, "jobs.csv"):
            continue
        rows = run.rows["jobs.csv"]
        counts = collections.Counter(row["job"] for row in rows)
        for job, count in counts.items():
            if count > 1:
                yield f"{run}: job {job} ends {count} times"
        sets[run.repetition][run.policy] = set(counts)
    drawn_anew = books.scenario.get("resample", "none") != "none"  # not every job is drawn
    listed = set() if drawn_anew else {job["job_id"] for job in books.scenario.get("jobs", []) if "job_id" in job}
    for repetition, of_policy in sets.items():
        everybody = set().union(*of_policy.values())
        for policy, jobs in of_policy.items():
            missing = (everybody | listed) - jobs
            if missing:
                yield f"{policy}, repetition {repetition}: never ends: {', '.join(sorted(missing)[:5])}"


def dates(books):
    for run in books.runs.values():
        last = -math.inf
        for row in run.rows["jobs.csv"]:
            submit, start, end = number(row["submit_s"]), number(row["start_s"]), number(row["end_s"])
            if end < last:
                yield f"{run}: job {row['job']} ends at {end}, after one that ends at {last}"
            last = end
            if not (submit <= end and (math.isnan(start) or submit <= start <= end)):
                yield f"{run}: job {row['job']}: submitted {submit}, started {start}, ended {end}"
            if row["state"] not in ENDS or (row["state"] == "failed") != bool(row["reason"]):
                yield f"{run}: job {row['job']}: state {row['state']}, reason \"{row['reason']}\""
            if row["state"] == "finished" and math.isnan(start):
                yield f"{run}: job {row['job']} finished and never started"


def signs(books):
    """Money, energy, times and counts are numbers, and not negative."""
    columns = {"jobs.csv": ("cost_usd", "effective_cost_usd", "energy_j", "device_s", "preemptions", "reconfigurations", "co2_kg", "epochs"),
               "stages.csv": ("cost_usd", "switch_cost_usd", "step_s", "progress"), "life.csv": ("held_s", "train_s", "switch_s", "lost_s", "cost_lost_usd"),
               "utilization.csv": ("busy_devices", "allocated_devices", "power_w", "queued_jobs", "fragmentation"), "nodes.csv": ("devices",)}
    for run in books.runs.values():
        for file, names in columns.items():
            for row in run.rows[file]:
                for name in names:
                    value = number(row.get(name, ""))
                    if value < -1e-9 or math.isinf(value):
                        yield f"{run}: {file}: {name} of {row.get('job', row.get('pool'))} is {value}"
                for value in row.values():
                    if value is not None and value.lower() in ("nan", "-nan", "inf", "-inf"):
                        yield f"{run}: {file} has {value}"


def flags(books):
    for run in books.runs.values():
        for row in run.rows["jobs.csv"]:
            late = number(row["end_s"]) - number(row["submit_s"]) - number(row["deadline_s"])
            finished = row["state"] == "finished"
            if row["deadline_s"] and abs(late) > 2 * DATE_STEP_S and (row["deadline_met"] == "true") != (finished and late < 0):
                yield f"{run}: job {row['job']}: deadline_met {row['deadline_met']}, {late} s late, {row['state']}"
            if row["target_accuracy"]:
                above = number(row["accuracy"]) - number(row["target_accuracy"])
                if row["accuracy_met"] == "true" and not finished or row["accuracy_met"] == "false" and finished and above >= 0:
                    yield f"{run}: job {row['job']}: accuracy_met {row['accuracy_met']}, {above} above its floor, {row['state']}"
            if row["cost_limit_usd"]:
                over = number(row["cost_usd"]) - number(row["cost_limit_usd"])
                if over > 1e-9 * max(1.0, number(row["cost_limit_usd"])) and row["cost_limit_met"] == "true":
                    yield f"{run}: job {row['job']}: cost_limit_met, {over} over it"
            for limit, met in (("deadline_s", "deadline_met"), ("target_accuracy", "accuracy_met"), ("cost_limit_usd", "cost_limit_met")):
                if bool(row[limit]) != (row[met] in ("true", "false")):
                    yield f"{run}: job {row['job']}: {limit} \"{row[limit]}\", {met} \"{row[met]}\""


def events(books):
    for key in books.with_events:
        run = books.runs[key]
        if not books.has(run, "jobs.csv"):
            continue
        rows = {row["job"]: row for row in run.rows["jobs.csv"]}
        last, of_job = -math.inf, collections.defaultdict(list)
        for event in run.events:
            if event["time_s"] < last:
                yield f"{run}: {event['event']} at {event['time_s']} after an event at {last}"
            last = event["time_s"]
            if "job" in event:
                of_job[event["job"]].append(event)
        if set(of_job) != set(rows):
            yield f"{run}: events of other jobs than jobs.csv: {', '.join(sorted(set(of_job) ^ set(rows))[:5])}"
        starts = collections.Counter(decision["job"] for decision in run.rows["decisions.csv"] if decision["decision"] == "start")
        for job, happened in of_job.items():
            names = [event["event"] for event in happened]
            row = rows.get(job)
            if names[0] != "submitted" or names.count("submitted") != 1:
                yield f"{run}: job {job} begins with {names[0]}"
            if sum(name in ENDS for name in names) != 1 or names[-1] not in ENDS:
                yield f"{run}: job {job} ends with {names[-1]}, by {names}"[:300]
            elif row and (names[-1] != row["state"] or happened[-1]["time_s"] != number(row["end_s"])):
                yield f"{run}: job {job} {names[-1]} at {happened[-1]['time_s']}, {row['state']} at {row['end_s']} by jobs.csv"
            started = [event["time_s"] for event in happened if event["event"] == "started"]
            if row and (started[:1] or [math.nan])[0] != number(row["start_s"]) and (started or row["start_s"]):
                yield f"{run}: job {job} started at {started[:1]}, at {row['start_s']} by jobs.csv"
            if row and names.count("preempted") > int(row["preemptions"]) + names.count("interrupted"):
                yield f"{run}: job {job} is preempted {names.count('preempted')} times, {row['preemptions']} by jobs.csv"
            if books.has(run, "decisions.csv") and starts[job] < len(started):
                yield f"{run}: job {job} is started {len(started)} times, less often by decisions.csv"


def pauses(books):
    """A job that pauses has let go of its devices, and nothing becomes of it before it resumes but its end."""
    for key in books.with_events:
        run, paused, ran_until = books.runs[key], set(), {}
        for row in run.rows["stages.csv"]:
            ran_until.setdefault(row["job"], []).append((number(row["start_s"]), number(row["end_s"])))
        for event in run.events:
            job, name = event.get("job"), event["event"]
            if name == "resumed" and job not in paused:
                yield f"{run}: job {job} resumes at {event['time_s']} without a pause"
            if job in paused and name not in ENDS and name != "resumed":
                yield f"{run}: job {job} is {name} at {event['time_s']}, while it pauses"
            if name == "paused":
                paused.add(job)
                if any(begin < event["time_s"] < end for begin, end in ran_until.get(job, ())):
                    yield f"{run}: job {job} pauses at {event['time_s']}, within one of its stages"
            elif name == "resumed" or name in ENDS:
                paused.discard(job)


def stages(books):
    """One follows the other, within the job's time; curves rise."""
    for run in books.runs.values():
        if not books.has(run, "jobs.csv"):
            continue
        rows = {row["job"]: row for row in run.rows["jobs.csv"]}
        for job, of_job in by_job(run.rows["stages.csv"]).items():
            last = -math.inf
            for number_of_stage, stage in enumerate(of_job):
                start, end = number(stage["start_s"]), number(stage["end_s"])
                if int(stage["stage"]) != number_of_stage or start < last or end < start:
                    yield f"{run}: job {job}: stage {stage['stage']} from {start} to {end}, after {last}"
                last = end
            if job not in rows:
                yield f"{run}: stages of {job}, which jobs.csv does not have"
            elif last > number(rows[job]["end_s"]) or number(of_job[0]["start_s"]) != number(rows[job]["start_s"]):
                yield f"{run}: job {job}: stages from {of_job[0]['start_s']} to {last}, the job from {rows[job]['start_s']} to {rows[job]['end_s']}"
        for job, of_job in by_job(run.rows["curves.csv"]).items():
            times = [number(row["time_s"]) for row in of_job]
            if times != sorted(times) or job in rows and times[-1] > number(rows[job]["end_s"]) + DATE_STEP_S:
                yield f"{run}: job {job}: its curve goes from {times[0]} to {times[-1]}, or back"


def life(books):
    for run in books.runs.values():
        held = collections.defaultdict(float)
        for row in run.rows["stages.csv"]:
            held[row["job"]] += number(row["end_s"]) - number(row["start_s"])
        for row in run.rows["life.csv"]:
            parts = sum(number(row[name]) for name in ("train_s", "switch_s", "lost_s"))
            if not close(parts, number(row["held_s"]), 1e-9, number(row["held_s"])):
                yield f"{run}: job {row['job']}: held {row['held_s']} s, train + switch + lost are {parts}"
            if books.has(run, "stages.csv") and not close(held[row["job"]], number(row["held_s"]), 1e-9, 1):
                yield f"{run}: job {row['job']}: held {row['held_s']} s, stages {held[row['job']]}"


def predictions(books):
    for run in books.runs.values():
        if not books.has(run, "jobs.csv"):
            continue
        rows = {row["job"]: row for row in run.rows["jobs.csv"]}
        for row in run.rows["predictions.csv"]:
            job = rows.get(row["job"])
            if job is None or job["state"] != "finished":
                yield f"{run}: a prediction of {row['job']}, which has not finished"
                continue
            actual = {"time_s": number(job["end_s"]) - number(job["start_s"]), "cost_usd": number(job["cost_usd"]),
                      "epochs": number(job["epochs"]), "accuracy": number(job["accuracy"])}[row["quantity"]]
            if not close(actual, number(row["actual"]), 1e-9, abs(number(job["end_s"]))):
                yield f"{run}: job {row['job']}: {row['quantity']} is {actual}, {row['actual']} by predictions.csv"


def dependencies(books):
    waits = {job["job_id"]: job["after"] for job in books.scenario.get("jobs", []) if "after" in job and "job_id" in job}
    for run in books.runs.values():
        rows = {row["job"]: row for row in run.rows["jobs.csv"]}
        for job, before in waits.items():
            for other in before:
                if job in rows and other in rows and number(rows[job]["start_s"]) < number(rows[other]["end_s"]):
                    yield f"{run}: job {job} starts at {rows[job]['start_s']}, before {other} ends at {rows[other]['end_s']}"


RULES = {"ends once": ends_once, "dates": dates, "signs": signs, "flags": flags, "events": events, "pauses": pauses, "stages": stages, "life": life,
         "predictions": predictions, "dependencies": dependencies}
