"""A policy's process whose menus have configurations of two pools among others, and stages: no strategy of the program's own configures several pools."""
import json
import random
import sys


def choice(request, rng):
    drawn = rng.choice(request["candidates"])
    if rng.random() < 0.4:  # groups of another pool beside its own
        other = rng.choice(request["candidates"])
        groups = {group["pool"]: group for one in (other, drawn) for group in one["configuration"]["groups"]}
        drawn = {"configuration": {**drawn["configuration"], "groups": list(groups.values())}}  # what is predicted is the belief's
    if rng.random() < 0.1:
        drawn = {**drawn, "until_epochs": request.get("seen", {}).get("epochs", 0) + rng.randint(1, 5)}
    return drawn


def main():
    rng = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "hello":
            rng = random.Random(request["seed"])
            print(json.dumps({"version": 1, "wants": ["candidates"]}), flush=True)
        elif request["type"] == "configure":
            menu = [choice(request, rng) for _ in range(rng.randint(1, 4))] if request["candidates"] else [request["manual"]]
            print(json.dumps({"id": request["id"], "menu": menu}), flush=True)


main()
