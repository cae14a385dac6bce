"""What one elastic job with a deadline takes in slots of time (Gu et al., ElasticFlow, ASPLOS 2023, section 4.1), from the
definition. A job: date, deadline, steps, {devices: steps a second}. Plans and what is free: [(date, devices)]."""
import bisect
import math


def at(steps, date):
    return steps[bisect.bisect(steps, (date, math.inf)) - 1][1]


def added(free, plan, until, sign):
    dates = sorted({t for t, _ in free} | {t for t, _ in plan} | {until})
    return [(t, at(free, t) + sign * (at(plan, t) if t < until else 0)) for t in dates]


def device_s(plan, until):
    return sum(n * (b - a) for (a, n), b in zip(plan, [t for t, _ in plan[1:]] + [until]))


def share(job, left, free, slot, first=0):
    """The minimum satisfactory share, behind `first` devices up to the next change of what is free: plan, end, end of its slot.
    Each quota is tried from the deadline back; before the date from which it does, the next smaller one is taken."""
    now, rate, sizes = free[0][0], job[3], sorted(job[3])
    last = now + max(0, math.ceil((job[1] - now) / slot)) * slot
    held = min([t for t, n in free if n != free[0][1]] or [last]) if first else now
    dates = sorted({t for t, _ in free} | {last, held})
    spans = [(t, min(end, job[1]) if end == last else end, at(free, t)) for t, end in zip(dates, dates[1:] + [math.inf])]
    fitting = [0] + sizes

    def within(devices):
        return fitting[bisect.bisect(fitting, devices) - 1]

    want, missing = {t: sizes[-1] for t in dates}, left - max(0, min(held, job[1]) - now) * rate.get(first, 0)
    for lower, quota in zip(fitting, sizes):
        done, late = 0, []
        for t, end, room in reversed([span for span in spans if held <= span[0] < last]):
            late, done = late + [t], done + (end - t) * rate.get(within(min(quota, room)), 0)
            if done >= missing:
                break
        if done >= missing:
            want = {t: sizes[-1] if t >= last else quota if t in late else lower for t in dates}
            break
    plan = []
    for t, end, room in spans:
        devices = first if t < held else within(min(want[t], room))
        plan.append((t, devices))
        if devices and (end - t) * rate[devices] >= left:
            need = math.ceil(left / rate[devices])
            return plan, t + need, t + math.ceil(need / slot) * slot
        left -= (end - t) * rate[devices] if devices else 0
