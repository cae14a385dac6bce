#!/usr/bin/env python3
"""account_test.py PROGRAM: does `import jobs` account for every row and every GPU-hour of a trace? Of each format generated files
with odd rows in them, and all job traces under REHEARSE_DATA, are counted by gpu_hours.py, which shares nothing with the readers."""
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from gpu_hours import GPU_SECONDS, native, rows_of  # noqa: E402

# What no number of GPUs, no length and no date is.
NO_NUMBER = ("", "x", "-1", "nan", "1e999", "--", "1 2")
TOTALS = re.compile(r": ([\d,]+) rows?, ([\d,]+) jobs?, ([\d,]+) rows? dropped(?:, [\d,]+ kept all the same)?(?:, ([\d,]+) left out)?"
                    r"(?:, ([\d,]+) joined with others)?\n")
HOURS = re.compile(r"GPU-hours: (?:(\S+) read, (\S+) kept|none)")


def imported(program, form, path, out, *options):
    ended = subprocess.run([program, "import", "jobs", form, path, "-o", out, *options], capture_output=True, text=True)
    assert ended.returncode == 0, (form, ended.stderr, ended.stdout)
    totals = [int((group or "0").replace(",", "")) for group in TOTALS.search(ended.stdout).groups()]
    hours = [float(group or 0) for group in HOURS.search(ended.stdout).groups()]
    return totals, hours, ended.stdout


def equal(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)


def check(program, form, path, options=()):
    """Rows add up, and GPU-hours are those of the raw file and of the jobs written. Gives the totals."""
    out = path + ".native"
    (rows, jobs, dropped, left, joined), (read, kept), said = imported(program, form, path, out, *options)
    assert rows == jobs + dropped + left + joined, said
    assert equal(read, GPU_SECONDS[form](path) / 3600), (form, read, GPU_SECONDS[form](path) / 3600, said)
    assert equal(kept, native(out) / 3600), (form, kept, native(out) / 3600, said)
    assert sum(1 for _ in rows_of(out)) == jobs, said
    return rows, jobs, joined


class Maker:
    """A file of one format: rows, those of them that must be jobs, and what joins."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.good = self.rows = self.joined = 0

    def gpus(self):
        return self.rng.choice((1, 1, 2, 3, 4, 8, 16, 100, 1000000))

    def length(self):
        return self.rng.choice((1, 7, 59.5, 3600, 86399, 1e6, 0.125))

    def date(self):
        return self.rng.randrange(1, 10 ** 7)

    def fields(self, named, numbers, dates=()):
        """The fields of a row; one in four has something in it that is no number."""
        self.rows += 1
        if self.rng.random() < 0.25:
            column = self.rng.choice(tuple(numbers) + tuple(dates))
            named[column] = self.rng.choice(NO_NUMBER + ("0",) * (column in numbers))
        else:
            self.good += 1
        return [str(value) for value in named.values()]

    def csv(self, header, row):
        end = self.rng.choice(("\n", "\r\n"))
        lines = [",".join(header)] if header else []
        for i in range(80):
            if i == 40:
                self.rows += 1
                lines.append("1,2")  # too few fields
            lines.append(",".join(row(i)))
        return end.join(lines) + end


def make_native(m):
    header = ["job_id", "submit_s", "gpus", "gpu_fraction", "duration_s", "nodes"]
    def row(i):
        part = m.rng.choice(("", "1", "0.5", "0.125"))
        return m.fields(dict(id=f"j{i}", submit=m.date(), gpus=1 if part else m.gpus(), part=part, length=m.length(), nodes=""),
                        ("gpus", "length") if not part else ("length",), ("submit",))
    return m.csv(header, row)


def make_elasticflow(m):
    header = "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration".split(",")
    return m.csv(header, lambda i: m.fields(dict(id=i, submit=m.date(), n=5, model="vgg16", deadline=10 ** 8, batch=32, gpus=m.gpus(),
                                                 length=m.length()), ("gpus", "length"), ("submit", "deadline")))


def civil(seconds, separator=" "):
    days, rest = divmod(int(seconds), 86400)
    import datetime
    return f"{datetime.date(2020, 1, 1) + datetime.timedelta(days)}{separator}{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def make_philly(m):
    return m.csv("timestamp,duration,num_gpus,gpu_time,cluster".split(","),
                 lambda i: m.fields(dict(submit=civil(m.date()), length=m.length(), gpus=m.gpus(), time="", cluster="c"),
                                    ("length", "gpus"), ("submit",)))


def make_philly_json(m):
    jobs = []
    for i in range(60):
        m.rows += 1
        start, attempts = m.date(), []
        for _ in range(m.rng.randrange(4)):
            end = start + m.rng.choice((-60, 0, 1, 600, 90000))
            lost = m.rng.random() < 0.1
            servers = [{"ip": "m1", "gpus": ["g"] * m.rng.randrange(3)} for _ in range(m.rng.randrange(3))]
            attempts.append({"start_time": civil(start), "end_time": None if lost else civil(end), "detail": servers})
            start = max(start, end) + 10
        whole = [a for a in attempts if a["end_time"] and a["end_time"] > a["start_time"] and any(s["gpus"] for s in a["detail"])]
        submitted = m.rng.random() < 0.9
        m.good += bool(whole) and submitted
        jobs.append({"jobid": f"j{i}", "user": "u", "vc": "v", "status": "Pass", "attempts": attempts,
                     "submitted_time": civil(0) if submitted else "None"})
    return json.dumps(jobs, indent=m.rng.choice((None, 1)))


def make_tiresias(m):
    return m.csv("job_id,num_gpu,submit_time,iterations,model_name,duration,interval".split(","),
                 lambda i: m.fields(dict(id=i, gpus=m.gpus(), submit=m.date(), n=5, model="vgg19", length=m.length(), interval=1),
                                    ("gpus", "length"), ("submit",)))


def make_gavel(m):
    lines = []
    for i in range(60):
        m.rows += 1
        steps = m.rng.choice((100, 3948, "x"))
        m.good += steps != "x"
        lines.append(f"ResNet-18 (batch size 64)\tcd\t--num_steps\t1\t{steps}\t{m.date()}\t{m.rng.choice((1, 2, 8))}")
    return "\n".join(lines) + "\n"


def make_swf(m):
    lines = ["; Version: 2.2"]
    for i in range(1, 80):
        m.rows += 1
        run, status, length = m.rng.choice((100, 3700, 0, 0.25, -1, "x")), m.rng.choice((1, 1, -1, 0, 5, 3)), m.rng.choice((18, 18, 18, 17, 20))
        allocated, asked = m.rng.choice(((4, 4), (-1, 2), (0, 2), (8, -1), (-1, -1), (2.5, 2), ("x", 2)))
        gpus = asked if allocated in (-1, 0) else allocated
        m.good += length >= 18 and run not in (-1, "x") and gpus not in (-1, 2.5, "x") and status != 3
        fields = [i, m.date(), -1, run, allocated, -1, -1, asked, m.rng.choice((-1, 60, 3600)), -1, status, 7, -1, -1, -1, 3, -1, -1, 9, "y"]
        lines.append(m.rng.choice(("", "  ")) + m.rng.choice((" ", "\t", "  ")).join(map(str, fields[:length])))
    return "\n".join(lines) + "\n"


def make_batsim(m):
    profiles = {"e": {"type": "delay", "delay": 0}, "f": {"type": "delay", "delay": "7"}, "a": {"type": "delay", "delay": 20.25}, "b": {"type": "DelayProfile", "delay": 3600}, "c": {"type": "parallel_homogeneous", "cpu": 1}}
    jobs = []
    for i in range(60):
        m.rows += 1
        gpus, profile, date = m.rng.choice((1, 4, 64, 0, "x")), m.rng.choice("aabbcdef"), m.rng.choice((m.date(), -1))
        m.good += gpus not in (0, "x") and profile in "ab" and date >= 0
        jobs.append({"id": i, "subtime": date, "res": gpus, "profile": profile})
    return json.dumps({"nb_res": 64, "jobs": jobs, "profiles": profiles})


def make_helios(m):
    return m.csv("job_id,user,vc,gpu_num,cpu_num,state,submit_time,duration".split(","),
                 lambda i: m.fields(dict(id=i, user="u", vc="v", gpus=m.gpus(), cpus=4, state="COMPLETED", submit=civil(m.date()),
                                         length=m.length()), ("gpus", "length"), ("submit",)))


def slurm_length(seconds):
    days, rest = divmod(seconds, 86400)
    return (f"{days}-" if days else "") + f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def make_pbs(m):
    """Of PBS or of Torque, with GPUs or without; records of other types, runs before the last, job arrays as a whole."""
    torque, has_gpus, lines = m.rng.random() < 0.4, m.rng.random() < 0.7, []
    def line(name, submit, length, kind="E"):
        nodes, each = m.rng.choice((1, 2, 4)), m.rng.choice((1, 4)) * has_gpus
        hosts = [f"n{h}" for h in range(nodes)]
        keys = {"user": "ann", "account": m.rng.choice(('"my lab"', "lab")), "queue": "gpu", "ctime": submit, "etime": submit,
                "start": submit + 60, "exec_host": "+".join(f"{h}/{c}" for h in hosts for c in range(2)) if torque else "+".join(f"{h}/0*8" for h in hosts)}
        if torque:
            keys["Resource_List.nodes"] = f"{nodes}:ppn=2" + f":gpus={each}" * (each > 0)
            if each and m.rng.random() < 0.5:
                keys["exec_gpus"] = "+".join(f"{h}-gpu/{g}" for h in hosts for g in range(each))
        else:
            keys["Resource_List.select"] = f"{nodes}:ncpus=8" + f":ngpus={each}" * (each > 0)
            keys["Resource_List.nodect"] = nodes
            if each and m.rng.random() < 0.5:
                keys["exec_vnode"] = "+".join(f"({h}:ncpus=8:ngpus={each})" for h in hosts)
        keys |= {"Resource_List.mem": "64gb", "Resource_List.walltime": m.rng.choice(("01:00:00", "3600", "100:00:00"))}
        if kind == "E":
            keys |= {"end": submit + 60 + length, "Exit_status": m.rng.choice((0, 1, 271))}
        return f"06/15/2024 12:34:56;{kind};{name};" + " ".join(f"{k}={v}" for k, v in keys.items())
    for i in range(50):
        submit, length = m.date(), m.rng.choice((0, 1, 59, 3600, 100000))
        what = m.rng.choice(("plain", "plain", "runs", "array", "started", "back", "short"))
        if what == "runs":
            lines += [line(f"{i}.s", submit + 200000 * r, length) for r in range(3)]
            m.rows, m.good = m.rows + 3, m.good + 1
        elif what == "back":
            lines.append(line(f"{i}.s", submit, -90))
            m.rows += 1
        elif what == "short":
            lines.append("06/15/2024 12:34:56;E")
            m.rows += 1
        else:
            lines += [line(f"{i}[].s" if what == "array" else f"{i}.s", submit, length, "S" if what == "started" else "E"), "06/15/2024 12:00:00;L;license;floating license hour:1"]
            m.rows, m.good = m.rows + (what == "plain"), m.good + (what == "plain")
    lines.append(line("last.s", m.date(), 60))
    m.rows, m.good = m.rows + 1, m.good + 1
    return "\n".join(lines) + "\n"


def make_sacct(m):
    """Jobs with one line or several runs, heterogeneous ones, steps, jobs that have not ended; slices, and GPUs of no tracked type."""
    elapsed, gres = m.rng.random() < 0.8, m.rng.random() < 0.3
    names = ["JobID", "Submit", "Start", "End"] + ["Elapsed"] * elapsed + ["NNodes", "AllocGRES" if gres else "AllocTRES", "State"]
    def line(name, submit, length, state="COMPLETED", nodes=1):
        start = civil(submit + 60, "T") if state != "PENDING" else "Unknown"
        end = civil(submit + 60 + length, "T") if state not in ("PENDING", "RUNNING") else "Unknown"
        count = m.rng.choice((1, 2, 8))
        kind = m.rng.choice(("", "", "a100", "a100_3g.20gb", "1g.10gb"))
        if state == "PENDING":
            held = ""
        elif gres:
            held = f"gpu:{kind + ':' if kind else ''}{count}" + m.rng.choice(("", "(IDX:0-3,7)", ",nic:1"))
        else:
            held = f"billing=9,cpu=8,gres/gpu={count}" + (f",gres/gpu:{kind}={count}" if kind else "") + f",mem=4G,node={nodes}"
        parts = [name, civil(submit, "T"), start, end] + [slurm_length(length if state != "PENDING" else 0)] * elapsed + [nodes, held, state]
        return "|".join(map(str, parts))
    lines = []
    for i in range(50):
        submit, length, nodes = m.date(), m.rng.choice((1, 59, 3600, 100000)), m.rng.choice((1, 2))
        what = m.rng.choice(("plain", "plain", "runs", "parts", "PENDING", "RUNNING", "cpu", "short"))
        if what == "runs":
            count = m.rng.randrange(2, 5)
            lines += [line(i, submit + 200000 * r, length, "REQUEUED" if r < count - 1 else "COMPLETED", nodes) for r in range(count)]
            m.rows, m.good = m.rows + count, m.good + 1
        elif what == "parts":
            lines += [line(f"{i}+{p}", submit, length, "COMPLETED", nodes) for p in range(3)]
            m.rows, m.good, m.joined = m.rows + 3, m.good + 1, m.joined + 2
        elif what in ("PENDING", "RUNNING"):
            lines.append(line(i, submit, length, what))
            m.rows += 1
        elif what == "cpu":
            lines.append(line(i, submit, length).replace("gpu", "license"))
            m.rows += 1
        elif what == "short":
            lines.append(f"{i}|x")
            m.rows += 1
        else:
            lines += [line(i, submit, length, m.rng.choice(("COMPLETED", "FAILED", "CANCELLED by 7")), nodes), line(f"{i}.batch", submit, length)]
            m.rows, m.good = m.rows + 1, m.good + 1
    m.rng.shuffle(lines)
    return "|".join(names) + "\n" + "\n".join(lines) + "\n"


def make_pai(m):
    def row(i):
        start = m.date()
        return m.fields(dict(job=f"j{i}", task="w", gpus=m.rng.choice((1, 2, 10)), status="Terminated", start=float(start),
                             end=float(start + m.length()), cpu="600.0", mem="29.0", share=m.rng.choice((25.0, 50.0, 100.0, 150.0, 200.0)), kind="V100"),
                        ("gpus", "share"), ("start", "end"))
    return m.csv(None, row)


def make_openb(m):
    def row(i):
        start, gpus = m.date(), m.rng.choice((1, 1, 2, 8))
        share = m.rng.choice((250, 460, 1000))
        return m.fields(dict(name=f"p{i}", cpu=6000, mem=12288, gpus=gpus, share=share, spec="", qos="LS", phase="Succeeded", created=start,
                             deleted=start + m.length(), scheduled=start), ("gpus",), ("created", "deleted", "scheduled"))
    return m.csv("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time".split(","), row)


def make_dlrm(m):
    def row(i):
        start = m.date()
        return m.fields(dict(name=f"i{i}", role="HN", app="a", gpus=m.rng.choice((1, 2, 0.5, 1.5)), created=start, scheduled=start, deleted=start + m.length()),
                        ("gpus",), ("created", "deleted", "scheduled"))
    return m.csv("instance_sn,role,app_name,gpu_request,creation_time,scheduled_time,deletion_time".split(","), row)


def make_spot(m):
    return m.csv("job_name,organization,gpu_model,gpu_request,worker_num,submit_time,duration,job_type".split(","),
                 lambda i: m.fields(dict(name=i, org=1, model="A10", each=m.rng.choice((0.5, 0.25, 1, 8)), workers=m.rng.choice((1, 2, 16)),
                                         submit=m.date(), length=m.length(), kind="HP"), ("each", "workers", "length"), ("submit",)))


def make_shockwave(m):
    def row(i):
        return m.fields(dict(kind="ResNet-18 (batch size 32)", cmd="c", dir="d", arg="--num_steps", data=1, steps=1000, gpus=m.gpus(), mode="gns", weight=1,
                             slo=-1.0, length=m.length(), submit=m.date()), ("gpus", "length"), ("submit",))
    return "".join("\t".join(row(i)) + "\n" for i in range(80))


def make_kubernetes(m):
    def pod():
        def container(**more):
            gpus = {"nvidia.com/gpu": m.rng.choice((1, "2", 4)), "cpu": "500m"}
            return {"name": "c", "resources": m.rng.choice(({"limits": gpus}, {"limits": gpus, "requests": gpus})), **more}
        init = [container(**m.rng.choice(({}, {"restartPolicy": "Always"}))) for _ in range(m.rng.randrange(3))]
        return {"spec": {"containers": [container() for _ in range(m.rng.randrange(1, 3))], "initContainers": init}}

    def at(seconds):
        return civil(seconds, "T") + "Z"

    def item(i):
        begin, good = m.date(), m.rng.random() < 0.8
        m.rows, m.good = m.rows + 1, m.good + good
        start, end = at(begin + 5), at(begin + 5 + m.rng.randrange(1, 10 ** 6))
        def condition(kind, when):
            return {"type": kind, "status": "True", "lastTransitionTime": when}
        named = {"metadata": {"name": f"j{i}", "namespace": "ml", "creationTimestamp": at(begin)}}
        if m.rng.random() < 0.5:
            sets = [{"name": name, "count": m.rng.randrange(1, 9), "template": pod()} for name in ("driver", "workers")]
            admission = {"podSetAssignments": [{"name": s["name"], "count": m.rng.randrange(1, s["count"] + 1)} for s in sets]}
            done = [condition("Admitted", start)] + [condition("Finished", end)] * good
            return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", **named, "spec": {"podSets": sets},
                    "status": {"conditions": done, **m.rng.choice(({}, {"admission": admission}))}}
        counts = {key: m.rng.randrange(1, 9) for key in ("parallelism", "completions") if m.rng.random() < 0.6}
        return {"apiVersion": "batch/v1", "kind": "Job", **named, "spec": {**counts, "template": pod()},
                "status": {"startTime": start, "conditions": [condition(m.rng.choice(("Complete", "Failed")), end)] * good}}
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [item(i) for i in range(60)]}, indent=m.rng.choice((None, 1)))


MAKERS = {"shockwave": make_shockwave, "kubernetes": make_kubernetes,
          "native": make_native, "elasticflow-rigid": make_elasticflow, "philly": make_philly, "philly-json": make_philly_json,
          "tiresias": make_tiresias, "gavel": make_gavel, "gavel-measured": make_gavel, "elasticflow-measured": make_elasticflow, "swf": make_swf, "batsim": make_batsim, "helios": make_helios, "sacct": make_sacct, "pbs": make_pbs,
          "alibaba-pai-2020": make_pai, "alibaba-gpu-2023": make_openb, "alibaba-gpu-2025": make_dlrm, "alibaba-spot-2026": make_spot}
DATA = {"philly": ["pollux_osdi21/traces/philly.csv.gz"], "tiresias": ["tiresias/60_job.csv", "tiresias/tf_job.csv"],
        "elasticflow-rigid": ["elasticflow/195job.csv"] + [f"elasticflow/cluster0{i}.csv.gz" for i in range(1, 7)],
        "gavel": ["gavel/traces/msr_seed0/11cb48.trace", "gavel/traces/msr_seed0/e13805.trace"]
                 + [f"gavel/traces/physical_cluster/{name}.trace" for name in
                    ("minimize_makespan", "max_min_fairness", "artifact_evaluation", "debug", "small_test")],
        "swf": ["waits/kth-sp2/KTH-SP2-1996-2.swf.xz", "waits/alcf-theta-2022/theta_2022.swf.xz", "waits/alcf-theta-2023/theta_2023.swf.xz"],
        "alibaba-gpu-2023": ["waits/alibaba-openb-2023/openb_pod_list_default.csv.xz"]}


def main():
    program, data = sys.argv[1], os.environ.get("REHEARSE_DATA")
    refused = subprocess.run([program, "import", "jobs", "none", "x", "-o", "y"], capture_output=True, text=True).stderr
    formats = set(re.search(r"expected one of (.+?); found", refused)[1].split(", "))
    assert formats == set(MAKERS) == set(GPU_SECONDS), formats ^ set(MAKERS) | formats ^ set(GPU_SECONDS)
    with tempfile.TemporaryDirectory() as folder:
        for form, make in MAKERS.items():
            for seed in range(5):
                maker = Maker(f"{form} {seed}")
                path = os.path.join(folder, "trace")
                with open(path, "w", newline="") as file:
                    file.write(make(maker))
                counted = check(program, form, path)
                assert counted == (maker.rows, maker.good, maker.joined), (form, seed, counted, vars(maker))
                check(program, form, path, ("--sample", "0.5", "--scale-load", "3"))
        for form, names in DATA.items() if data else ():
            for name in names:
                path = os.path.join(folder, "real")
                if not os.path.exists(os.path.join(data, name)):
                    print("skipped: REHEARSE_DATA holds no", name)
                    continue
                os.symlink(os.path.join(data, name), path)
                print(form, name, *check(program, form, path))
                os.unlink(path)


if __name__ == "__main__":
    main()
