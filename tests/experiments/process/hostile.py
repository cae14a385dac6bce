# Policies that do what no policy should, for hostile_test.cpp: hostile.py CASE. Each says hello first, unless that is its case.
import json
import os
import signal
import sys
import time


def take():
    return json.loads(sys.stdin.readline())


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def greet(**more):
    take()
    say(json.dumps({"version": 1, **more}) + "\n")


def hang():
    while True:
        time.sleep(1000)


def answer(**members):
    greet()
    request = take()
    say(json.dumps({"id": request["id"], "menu": [request["manual"]], **members}) + "\n")
    hang()


def answer_with(change):
    greet()
    request = take()
    choice = request["manual"]
    change(choice)
    say(json.dumps({"id": request["id"], "menu": [choice]}) + "\n")
    hang()


def change_group(**values):
    answer_with(lambda choice: choice["configuration"]["groups"][0].update(values))


def raw(text):
    greet()
    take()
    say(text)
    hang()


def exit_with(status):
    greet()
    take()
    os._exit(status)


def exit_in_a_line():
    greet()
    take()
    say('{"id": 1, "menu"')
    os._exit(0)


def gigabyte():
    greet()
    take()
    for _ in range(1024):
        say("x" * (1 << 20))
    hang()


def kill_itself():
    greet()
    take()
    os.kill(os.getpid(), signal.SIGSEGV)


def close_output():
    greet()
    take()
    os.close(1)
    hang()


def close_input():
    take()
    os.close(0)
    say('{"version": 1}\n')
    hang()


def raise_error():
    greet()
    take()
    raise ValueError("no such plan\x1b[2J")


def ignore_signals():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    greet()
    hang()


def leave_a_daemon(then):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            hang()
        os._exit(0)
    os.wait()
    then()


def flood_errors():
    greet()
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "bye":
            break
        sys.stderr.write("x" * (1 << 21) + "\n")
        say(json.dumps({"id": request["id"], "menu": [request["manual"]]}) + "\n")


def stay_after_bye():
    greet()
    while True:
        line = sys.stdin.readline()
        if line and json.loads(line)["type"] == "configure":
            request = json.loads(line)
            say(json.dumps({"id": request["id"], "menu": [request["manual"]]}) + "\n")
        elif not line:
            hang()


def answer_each(decide):
    greet()
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "bye":
            break
        say(json.dumps({"id": request["id"], **decide(request)}) + "\n")


def starts(**members):
    return lambda request: {"start": [dict(job_id=job["job_id"], **members) for job in request["jobs"]]}


def start_and_preempt(request):
    states = {job["job_id"]: job["state"] for job in request["jobs"]}
    if states.get("c") == "queued":
        return {"start": [{"job_id": "c"}]}
    return {"preempt": ["c"]} if states.get("c") == "running" else {}


def start_one_and_preempt_the_other():
    """Of c and d, in turn; that the others are rejected brings the second decision at the same date."""
    def decide(request):
        states.update((job["job_id"], job["state"]) for job in request["jobs"])
        others = [job_id for job_id, state in states.items() if job_id not in ("c", "d") and state == "queued"]
        for job_id in others:
            del states[job_id]
        if others:
            return {"start": [{"job_id": "c"}], "reject": others}
        starts, stops = ("c", "d") if states["c"] == "queued" else ("d", "c")
        return {"start": [{"job_id": starts}], "preempt": [stops]}

    states = {}
    answer_each(decide)


def devices(value, surplus=0):
    return lambda request: {"device_of_op": [value] * (len(request["op_seconds"]) + surplus)}


def reject_one_by_one():
    waiting = []

    def decide(request):
        waiting.extend(job["job_id"] for job in request["jobs"])
        return {"reject": [waiting.pop()]} if waiting else {}

    answer_each(decide)


CASES = {
    "unknown-job": lambda: answer_each(lambda request: {"start": [{"job_id": "nobody"}]}),
    "ended-job": lambda: answer_each(lambda request: {"reject": request["ended"], "start": starts()(request)["start"][:1]}),
    "starts-twice": lambda: answer_each(lambda request: {"start": starts()(request)["start"][:1] * 2}),
    "starts-all": lambda: answer_each(starts()),
    "entry": lambda: answer_each(starts(entry=99)),
    "nodes": lambda: answer_each(starts(nodes=[[{"node": 7, "devices": 1}]])),
    "nodes-of-nobody": lambda: answer_each(starts(nodes=[])),
    "preempts-who-waits": lambda: answer_each(lambda request: {"preempt": [job["job_id"] for job in request["jobs"]]}),
    "resizes-who-waits": lambda: answer_each(lambda request: {"resize": [{"job_id": job["job_id"]} for job in request["jobs"]]}),
    "never": lambda: answer_each(lambda request: {}),
    "wakes-in-the-past": lambda: answer_each(lambda request: {"wake_at_s": request["now_s"]}),
    "wakes-at-doomsday": lambda: answer_each(lambda request: {"wake_at_s": 1e300}),
    "wakes-for-ever": lambda: answer_each(lambda request: {"wake_at_s": request["now_s"] + 1}),
    "rejects-one": reject_one_by_one,
    "takes-turns": start_one_and_preempt_the_other,
    "starts-and-preempts": lambda: answer_each(start_and_preempt),
    "too-few-devices": lambda: answer_each(devices(0, -1)),
    "too-many-devices": lambda: answer_each(devices(0, 1)),
    "no-devices": lambda: answer_each(lambda request: {"device_of_op": []}),
    "fifth-device": lambda: answer_each(devices(4)),
    "half-a-device": lambda: answer_each(devices(0.5)),
    "no-threads": lambda: answer_each(lambda request: {"intra_op": 0}),
    "thousand-threads": lambda: answer_each(lambda request: {"inter_op": 1000}),
    "one-thread": lambda: answer_each(lambda request: {"threads_of_op": [1]}),
    "garbage": lambda: raw("garbage\n"),
    "empty-line": lambda: raw("\n"),
    "not-text": lambda: (greet(), take(), os.write(1, b"\xff\xfe\x00\n"), hang()),
    "a-list": lambda: raw("[1, 2]\n"),
    "half-a-line": lambda: raw('{"id": 1, '),
    "half-a-line-and-exit": exit_in_a_line,
    "gigabyte": gigabyte,
    "hang": lambda: (greet(), hang()),
    "hang-at-hello": hang,
    "exit": lambda: exit_with(3),
    "exit-at-hello": lambda: os._exit(4),
    "killed": kill_itself,
    "raises": raise_error,
    "another-id": lambda: answer(id=2),
    "no-id": lambda: raw('{"menu": []}\n'),
    "two-answers": lambda: raw('{"id": 0, "menu": []}\n{"id": 1, "menu": []}\n'),
    "version": lambda: (take(), say('{"version": 2}\n'), hang()),
    "wants-too-much": lambda: (greet(wants=["world"]), hang()),
    "gives-up": lambda: raw('{"id": 1, "error": "out of ideas"}\n'),
    "empty-menu": lambda: answer(menu=[]),
    "menu-is-a-number": lambda: answer(menu=7),
    "unknown-key": lambda: answer(mneu=[]),
    "nan": lambda: answer_with(lambda choice: choice["predicted"].update(time_s=float("nan"))),
    "infinity": lambda: raw('{"id": 1, "menu": [{"configuration": {"groups": [{"pool": "v100", "workers": 1e999}]}}]}\n'),
    "huge-workers": lambda: change_group(workers=1e300),
    "many-workers": lambda: change_group(workers=10**9),
    "huge-batch": lambda: change_group(batch_per_worker=10**30),
    "half-a-worker": lambda: change_group(workers=1.5),
    "negative": lambda: change_group(workers=-1),
    "unknown-pool": lambda: change_group(pool="v10"),
    "no-groups": lambda: answer_with(lambda choice: choice["configuration"].update(groups=[])),
    "accuracy-of-two": lambda: answer_with(lambda choice: choice["predicted"].update(accuracy=2)),
    "half-an-epoch": lambda: answer_with(lambda choice: choice.update(until_epochs=1.5)),
    "rate": lambda: answer_with(lambda choice: choice["configuration"].update(learning_rate=-1)),
    "not-free": lambda: change_group(workers=2),
    "deep": lambda: raw('{"id": 1, "menu": ' + "[" * 200000 + "\n"),
    "closes-output": close_output,
    "closes-input": close_input,
    "ignores-signals": ignore_signals,
    "daemon-and-exit": lambda: leave_a_daemon(lambda: exit_with(5)),
    "daemon-and-hang": lambda: leave_a_daemon(ignore_signals),
    "daemon-and-tell": lambda: leave_a_daemon(lambda: (open("ready", "w").write("yes"), ignore_signals())),
    "floods-errors": flood_errors,
    "stays-after-bye": stay_after_bye,
}
CASES[sys.argv[1]]()
