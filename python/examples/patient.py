# A policy that waits: while the spot pool that a job would take is dearer than what is asked of it, or has been taken away, the job
# pauses, as long as its deadline allows; then it does what manual would do. At the end of each epoch it looks again.
#   "configure": {"process": ["python3", "patient.py", "POOL", "DOLLARS_AN_HOUR"]}
import json
import sys

POOL, MOST_USD_PER_HOUR = sys.argv[1], float(sys.argv[2])
LOOKS_EVERY_S, MARGIN = 600, 1.5


def decide(request):
    choice, seen, now = request["manual"], request.get("seen"), request["now"]
    done = seen["epochs"] / choice["predicted"]["epochs"] if seen and choice["predicted"].get("epochs") else 0
    answer = {"menu": [{**choice, "until_epochs": (seen["epochs"] if seen else 0) + 1}]}
    pool = next(p for p in now["pools"] if p["pool"] == POOL)
    workers = sum(group["workers"] for group in choice["configuration"]["groups"])
    too_dear = pool["price_usd_per_hour"] > MOST_USD_PER_HOUR
    gone = pool["nodes_away"] > 0 and pool["free_workers"] < workers
    spare_s = now.get("time_left_s", float("inf")) - MARGIN * (1 - min(1, done)) * choice["predicted"]["time_s"]
    if (too_dear or gone) and spare_s > LOOKS_EVERY_S:
        answer["wait"] = {"for_s": LOOKS_EVERY_S}
        if gone and not too_dear:
            answer["wait"].update(pool=POOL, workers=workers)
    return answer


for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "hello":
        print(json.dumps({"version": 1, "wants": ["now"]}), flush=True)
    elif request["type"] == "configure":
        print(json.dumps({"id": request["id"], **decide(request)}), flush=True)
