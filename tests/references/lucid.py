"""Lucid's order and its packing, from the definitions, for jobs of one device; larger ones have theirs alone. Each event plans from
scratch who starts."""
import math

DEFAULT = 1 / 1.385  # of a pair that was not measured


def score(speeds):
    """0, 1 or 2, by the mean of what was measured."""
    mean = sum(speeds.values()) / len(speeds) if speeds else DEFAULT
    return 2 if mean < 0.85 else 1 if mean < 0.95 else 0


def schedule(jobs, nodes, per_node, speeds):
    """Ends of jobs (submitted, devices, seconds, type); `speeds[type][other]`: of a type beside another, alone 1."""
    ends, left, free = [0] * len(jobs), [job[2] for job in jobs], [per_node] * nodes
    scores = {kind: score(beside) for kind, beside in speeds.items()}
    priority = [job[1] * job[2] for job in jobs]
    now, arrived, waiting, running, beside, on = 0, 0, [], [], {}, {}

    def rate(job):
        return speeds[jobs[job][3]].get(jobs[beside[job]][3], DEFAULT) if job in beside else 1

    def partner(job):
        for other in running:  # in order of start
            if (jobs[job][1] == jobs[other][1] == 1 and other not in beside and priority[job] <= 2 * priority[other]
                    and scores[jobs[job][3]] + scores[jobs[other][3]] <= 2):
                return other
        return None

    while arrived < len(jobs) or running:
        date = min([now + left[job] / rate(job) for job in running] + [job[0] for job in jobs[arrived:arrived + 1]], default=math.inf)
        ended = [job for job in running if now + left[job] / rate(job) <= date + 1e-5]
        for job in running:
            left[job] -= (date - now) * rate(job)
        now = date
        for job in ended:
            ends[job] = now
            running.remove(job)
            other = beside.pop(job, None)
            if other is not None:
                del beside[other]  # it has the device for itself again
            else:
                free[on[job]] += jobs[job][1]
        while arrived < len(jobs) and jobs[arrived][0] <= now:
            waiting.append(arrived)
            arrived += 1
        for job in sorted(waiting, key=lambda job: (priority[job], job)):
            other = partner(job)
            fitting = [node for node in range(nodes) if free[node] >= jobs[job][1]]
            if other is not None:
                beside[job], beside[other], on[job] = other, job, on[other]
            elif fitting:
                on[job] = min(fitting, key=lambda node: free[node])
                free[on[job]] -= jobs[job][1]
            else:
                continue
            waiting.remove(job)
            running.append(job)
    return ends
