# A policy in twenty lines: of the candidates that keep the job's limits by the belief, the one with the fewest workers, the
# cheapest of those; where none keeps them, what manual would do.
#   "configure": {"process": ["python3", "my_policy.py"]}
import json
import sys


def decide(request):
    keeps = [c for c in request["candidates"] if c["predicted"]["feasible"]]
    workers = lambda choice: sum(group["workers"] for group in choice["configuration"]["groups"])
    best = sorted(keeps, key=lambda c: (workers(c), c["predicted"]["cost_usd"]))
    return best[:3] or [request["manual"]]


for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "hello":
        print(json.dumps({"version": 1, "wants": ["candidates"]}), flush=True)
    elif request["type"] == "configure":
        print(json.dumps({"id": request["id"], "menu": decide(request)}), flush=True)
