"""How many deadlines ElasticFlow (Gu et al., ASPLOS 2023) keeps, and the EDF that it is compared with: from the definitions, every
decision from scratch. Jobs as in slots.py, whose plans last from decision to decision; switching is free. In EDF each job may have
all its sizes, else only those that are quicker than all smaller ones."""
import math

from slots import added, device_s, share


def useful(rate):
    return {n: rate[n] for n in rate if all(rate[m] < rate[n] for m in rate if m < n)}


def by_deadline(here, now, devices):
    for one in here:
        one[2] = max([n for n in one[0][3] if n <= devices], default=0)
        one[4] = now + math.ceil(one[1] / one[0][3][one[2]]) if one[2] else math.inf
        devices -= one[2]


def admitted(here, free, slot):
    """By deadline, each beside those before it. Whether all are in time, and what is left."""
    for one in here:
        one[3:] = share(one[0], one[1], free, slot)
        one[2], free = one[3][0][1], added(free, one[3], one[5], -1)
    return all(one[4] <= one[0][1] for one in here), free


def give(here, free, slot):
    """What is left now, a size at a time: first to who has none, then where most device-seconds are added for each device."""
    while True:
        offers = []
        for one in here:
            more = min([n for n in one[0][3] if n > one[2]], default=math.inf)
            if more - one[2] <= free[0][1]:
                beside = added(free, one[3], one[5], 1)
                plan, end, until = share(one[0], one[1], beside, slot, more)
                worth = (device_s(plan, until) - device_s(one[3], one[5])) / (more - one[2]) if one[2] else math.inf
                offers.append((worth, one, [more, plan, end, until], added(beside, plan, until, -1)))
        if not offers:
            return
        _, one, one[2:], free = max(offers, key=lambda offer: offer[0])


def kept(jobs, devices, slot, edf):
    coming = sorted(((*job[:3], job[3] if edf else useful(job[3])) for job in jobs), key=lambda job: job[0])
    here, now, met = [], -math.inf, 0  # here: [job, steps left, devices, plan, end, end of its slot]
    while coming or here:
        due = [job[0] for job in coming[:1]] + [t for one in here for t, _ in one[3] if t > now]
        then = max(min(due + [one[4 if edf else 5] for one in here if one[2]]), now + slot)
        for one in here:
            one[1] -= (then - now) * one[0][3].get(one[2], 0)
        met += sum(one[1] <= 1e-6 and one[4] <= one[0][1] for one in here)
        new, now = [[job, job[2], 0, [], 0, 0] for job in coming if job[0] <= then], then
        here, coming = [one for one in here if one[1] > 1e-6], coming[len(new):]
        together, here = (sorted(some, key=lambda one: one[0][1]) for some in (here + new, here))
        if edf or admitted(together, [(now, devices)], slot)[0]:  # all that came together, or none of them
            here = together
        by_deadline(here, now, devices) if edf else give(here, admitted(here, [(now, devices)], slot)[1], slot)
    return met
