"""A policy that tries what a judged one should not: it says in its answer what worked. sandboxed.py PORT RESULTS."""
import json
import os
import socket
import sys

port, results = int(sys.argv[1]), sys.argv[2]


def connects():
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        return True


def connects_by_file():
    with socket.socket(socket.AF_UNIX) as own:
        own.connect("socket")
        return True


def writes(path):
    with open(path, "w") as file:
        file.write("x")
    return True


def sees_others():
    return any(name.isdigit() and b"--secret-seed" in open(f"/proc/{name}/cmdline", "rb").read() for name in os.listdir("/proc"))


tries = {"network": connects, "socket": connects_by_file, "folder": lambda: writes("written.txt"), "results": lambda: len(os.listdir(results)) > 0,
         "processes": sees_others, "temporary": lambda: writes(os.path.join(os.environ.get("TMPDIR", "/tmp"), "rehearse_sandboxed"))}
worked = []
for name, attempt in tries.items():
    try:
        if attempt():
            worked.append(name)
    except OSError:
        pass
sys.stdin.readline()
print(json.dumps({"version": 1}), flush=True)
request = json.loads(sys.stdin.readline())
print(json.dumps({"id": request["id"], "error": "worked: " + " ".join(worked)}), flush=True)
