"""What the rules of the books reckon with."""
import collections
import math

DATE_STEP_S = 2.0 ** -20  # dates are multiples of it
DATES = ("submit_s", "start_s", "end_s", "time_s")


def number(text):
    """NaN where a field is empty."""
    return float(text) if text not in ("", None) else math.nan


def on_grid(row):
    """Dates of a row are written with as few digits as give the tick back: these are the ticks."""
    for column in DATES:
        if row.get(column) not in (None, ""):
            row[column] = repr(math.ceil(float(row[column]) * 2 ** 20) * DATE_STEP_S)
    return row


def close(a, b, relative=1e-9, scale=0.0):
    """Equal to rounding; `scale` is how large the parts were of which the two are sums."""
    return abs(a - b) <= relative * max(abs(a), abs(b), scale, 1e-9)


def keeps_limits(row):
    """Of a row of jobs.csv."""
    return row["state"] == "finished" and "false" not in (row["deadline_met"], row["accuracy_met"], row["cost_limit_met"])


def by_job(rows):
    """Rows of each job, in their order."""
    found = collections.defaultdict(list)
    for row in rows:
        found[row["job"]].append(row)
    return found


def largest_sum(intervals):
    """Of (start, end, amount): the largest sum at one time, and that time. Ends come before starts at one date."""
    changes = sorted([(end, 0, -amount) for start, end, amount in intervals if end > start] + [(start, 1, amount) for start, end, amount in intervals if end > start])
    held, most, when = 0.0, 0.0, None
    for date, _, amount in changes:
        held += amount
        if held > most:
            most, when = held, date
    return most, when


def integral(series, start, end):
    """Of a series of (date, value), constant between dates, the first value before the first date."""
    total = 0.0
    for index, (date, value) in enumerate(series):
        begins = -math.inf if index == 0 else date
        ends = series[index + 1][0] if index + 1 < len(series) else math.inf
        total += value * max(0.0, min(end, ends) - max(start, begins))
    return total
