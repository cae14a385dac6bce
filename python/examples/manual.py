# The built-in policy manual, as a process: answers each request with the choice that the request calls manual.
#   "configure": {"process": ["python3", "manual.py"]}
import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "hello":
        answer = {"version": 1}
    elif request["type"] == "configure":
        answer = {"id": request["id"], "menu": [request["manual"]]}
    else:
        break
    print(json.dumps(answer), flush=True)
