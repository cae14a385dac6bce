"""Times the repetitions of a function on a CPU or a CUDA device: medians over short windows, and how far the windows spread."""
import statistics
import time

WINDOWS = 25  # aimed at in the time given; at least LEAST
LEAST = 5
WARM_UP = 0.2  # of the time given, and at least two repetitions


class Clock:
    """Marks in time, on the device's own clock where it runs behind the host."""

    def __init__(self, torch, device):
        self.cuda = torch.cuda if device.startswith("cuda") else None
        self.begin()

    def begin(self):
        if self.cuda:
            self.cuda.synchronize()
        self.marks = []
        self.phase("start")

    def phase(self, name):
        """Says what happens from here on."""
        if not self.cuda:
            self.marks.append((name, time.perf_counter()))
            return
        event = self.cuda.Event(enable_timing=True)
        event.record()
        self.marks.append((name, event))

    def end(self):
        """Seconds since begin(): in all, and by phase."""
        self.phase("end")
        if self.cuda:
            self.cuda.synchronize()
        between = (lambda a, b: a.elapsed_time(b) / 1000) if self.cuda else (lambda a, b: b - a)
        seconds = {}
        for (name, begun), (_, ended) in zip(self.marks, self.marks[1:]):
            seconds[name] = seconds.get(name, 0.0) + between(begun, ended)
        return sum(seconds.values()), seconds


def window(run, count, clock):
    """Seconds of one repetition by phase, and in all ("")."""
    clock.begin()
    for _ in range(count):
        run()
    total, phases = clock.end()
    return {name: seconds / count for name, seconds in {**phases, "": total}.items()}


def repeat(run, seconds, clock):
    """Runs it for about this many seconds. Medians over the windows by phase, "" for the whole; of the latter also "spread" (the
    interquartile range over the median) and the "upper" quartile; and the number of "windows"."""
    begun, warm = time.perf_counter(), []
    while len(warm) < 2 or time.perf_counter() - begun < WARM_UP * seconds:
        warm.append(window(run, 1, clock)[""])
    repetitions = max(1, int((1 - WARM_UP) * seconds / WINDOWS / statistics.median(warm)))
    windows = []
    while len(windows) < LEAST or time.perf_counter() - begun < seconds:
        windows.append(window(run, repetitions, clock))
    medians = {name: statistics.median(w[name] for w in windows) for name in windows[0]}
    lower, middle, upper = statistics.quantiles([w[""] for w in windows], n=4, method="inclusive")
    return {**medians, "spread": (upper - lower) / middle, "upper": upper, "windows": len(windows)}
