# The built-in queue fifo, as a process: nobody overtakes; the first in line waits for the first entry of its menu that ever fits.
#   "queue": {"process": ["python3", "fifo.py"]}
import json
import sys

pools, line, needs = [], [], {}


def decide(request):
    for name in request["ended"]:
        needs.pop(name)
        if name in line:
            line.remove(name)
    for job in request["jobs"]:
        if "menu" in job:
            needs[job["job_id"]] = job["menu"][job["first_fitting_entry"]]["configuration"]["groups"]
        if job["state"] == "queued":
            line.append(job["job_id"])
    free, start = dict(zip(pools, request["free_devices"])), []
    while line and all(group["workers"] <= free[group["pool"]] for group in needs[line[0]]):
        for group in needs[line[0]]:
            free[group["pool"]] -= group["workers"]
        start.append({"job_id": line.pop(0)})
    return {"id": request["id"], "start": start, "heads": line[:1]}


for text in sys.stdin:
    request = json.loads(text)
    if request["type"] == "hello":
        pools = [pool["name"] for pool in request["cluster"]["pools"]]
        print(json.dumps({"version": 1}), flush=True)
    elif request["type"] == "queue":
        print(json.dumps(decide(request)), flush=True)
