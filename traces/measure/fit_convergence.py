#!/usr/bin/python3
"""Fits the convergence parameters that stand in workloads/training/convergence_table.cpp on Pollux's measured curves, and prints them.

Data: the folder traces/ of Pollux's artifact (Qiao et al., Pollux, OSDI 2021), found at $REHEARSE_DATA/pollux_osdi21/traces.
Needs numpy, scipy, pandas. Usage: fit_convergence.py [cifar10|imagenet|deepspeech2|yolov3 ...]

Step 1, noise scale: log phi(p, B) = log phi0(p) + g(p) log(B/B0), log phi0 and g piecewise linear over chosen knots; least squares
        on the logarithm of the examples that a run of batch B needs to reach progress p, with the measured phi as a weak second aim.
Step 2, accuracy: phases of a(p) = C - (C - a_k) (1 + (p - p_k)/c)^-beta, C = A - delta max(0, log2(B/B_gap))^2, least squares over
        all batches at once. Beta is held below 8, where the curve is an exponential.
"""
import os
import sys

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

NOISE_WEIGHT = 0.1  # of a relative error of the noise scale against one of the examples needed

# Knots and phases are in epochs at the reference batch; `phases` begin where the learning rate drops (ImageNet: every 30 epochs, by
# the artifact's schedule) or where a curve visibly changes its law (exponentially decayed rates).
# `trust`: the share of training whose measured noise scale is used.
RUNS = {
    "cifar10": dict(batches=[128, 256, 512, 1024, 2048, 4096], samples=50000, to_accuracy=lambda m: m, trust=1.0,
                    knots=[1, 3, 6, 12, 25, 50, 75, 100], phases=[0, 8, 58], start=0.1, targets=[0.85, 0.93, 0.94]),
    "imagenet": dict(batches=[200, 400, 800, 1600, 3200, 6400, 12800], samples=1281167, to_accuracy=lambda m: m, trust=1.0,
                     knots=[1, 2, 4, 10, 30, 30.5, 60, 60.5, 90], phases=[0, 4, 30, 60], start=0.001,
                     targets=[0.5, 0.69, 0.75]),
    "deepspeech2": dict(batches=[20, 40, 80, 160, 320, 640], samples=7140, to_accuracy=lambda m: 1 - m / 100, trust=0.6,
                        knots=[2, 4, 7, 12, 20, 30, 48], phases=[0, 2, 20], start=0.0, targets=[0.6, 0.7, 0.75]),
    "yolov3": dict(batches=[8, 16, 32, 64, 128, 256, 512], samples=16551, to_accuracy=lambda m: 1 - m / 32, trust=0.8,
                   knots=[1, 2, 4, 8, 16, 26, 38], phases=[0, 4, 26], start=0.1, targets=[0.5, 0.58, 0.6]),
}


def load(name, run):
    base = os.path.join(os.environ["REHEARSE_DATA"], "pollux_osdi21", "traces", name)
    curves = {}
    for batch in run["batches"]:
        t = pd.read_csv(os.path.join(base, f"validation-{batch}.csv"))
        phi = (t.grad_var / t.grad_sqr * run["batches"][0]).replace([np.inf, -np.inf], np.nan)
        phi = phi.rolling(5, center=True, min_periods=1).median().ffill() if run["trust"] < 1 else phi
        curves[batch] = dict(p=t.progress.to_numpy(), examples=t.iteration.to_numpy() * float(batch),
                             accuracy=run["to_accuracy"](t.metric.to_numpy()), phi=phi.to_numpy())
    return curves


def noise_scale(x, knots, run, p, batch):
    """x: log phi0 at each knot, then the batch exponent g at each knot."""
    n = len(knots)
    log_phi0 = np.interp(p, knots, x[:n])
    return np.exp(log_phi0 + np.interp(p, knots, x[n:]) * np.log(batch / run["batches"][0]))


def examples_needed(x, knots, run, p, batch, fine=40):
    """Integral of B0 (phi + B) / (phi + B0) dp from 0 to each p (r of docs/explain/model.md), by the trapezium rule on a fine grid."""
    b0 = run["batches"][0]
    grid = np.concatenate([np.linspace(a, b, fine, endpoint=False) for a, b in zip(np.concatenate([[0], p[:-1]]), p)] + [[p[-1]]])
    phi = noise_scale(x, knots, run, grid, batch)
    f = b0 * (phi + batch) / (phi + b0)
    total = np.concatenate([[0], np.cumsum((f[1:] + f[:-1]) / 2 * np.diff(grid))])
    return total[fine::fine]


def fit_noise(curves, run):
    b0 = run["batches"][0]
    epoch = run["samples"] / b0
    knots = np.array(run["knots"]) * epoch
    usable = {b: c["p"] <= run["trust"] * c["p"][-1] for b, c in curves.items()}

    def residuals(x):
        out = []
        for batch, c in curves.items():
            if batch != b0:
                out.append(np.log(examples_needed(x, knots, run, c["p"], batch, 8) / c["examples"]))
            out.append(NOISE_WEIGHT * np.log(noise_scale(x, knots, run, c["p"], batch) / c["phi"])[usable[batch]])
        return np.concatenate(out)

    first = np.log(np.interp(knots, curves[b0]["p"], curves[b0]["phi"]))
    low = np.repeat([-5.0, 0.0], len(knots))
    high = np.repeat([20.0, 1.0], len(knots))
    x0 = np.concatenate([first, np.full(len(knots), 0.3)])
    return knots, least_squares(residuals, np.clip(x0, low + 1e-6, high - 1e-6), bounds=(low, high)).x


def accuracy(x, run, p, batch):
    """x: for each phase A, log c, beta, delta; last log2 B_gap."""
    epoch = run["samples"] / run["batches"][0]
    starts = np.array(run["phases"]) * epoch
    gap = max(0.0, np.log2(batch) - x[-1])
    a, out = run["start"], np.zeros_like(p)
    for k, begin in enumerate(starts):
        top, log_c, beta, delta = x[4 * k:4 * k + 4]
        ceiling = max(a, top - delta * gap * gap)
        curve = lambda q: ceiling - (ceiling - a) * (1 + (q - begin) / np.exp(log_c)) ** -beta
        end = starts[k + 1] if k + 1 < len(starts) else np.inf
        inside = (p >= begin) & ((p < end) | (end == np.inf))
        out[inside] = curve(p[inside])
        a = curve(end) if end < np.inf else a
    return out


def fit_accuracy(curves, run):
    epoch = run["samples"] / run["batches"][0]

    def residuals(x):
        return np.concatenate([accuracy(x, run, c["p"], b) - c["accuracy"] for b, c in curves.items()])

    top = max(c["accuracy"].max() for c in curves.values())
    best = None
    for scale in (0.3, 2.0, 10.0):
        x0, low, high = [], [], []
        for k in range(len(run["phases"])):
            x0 += [top - 0.02 * (len(run["phases"]) - 1 - k), np.log(scale * epoch), 1.0, 0.001]
            low += [0.0, np.log(0.02 * epoch), 0.2, 0.0]
            high += [1.0, np.log(200 * epoch), 8.0, 0.05]
        x0 += [np.log2(run["batches"][0]) + 1]
        low += [np.log2(run["batches"][0])]
        high += [np.log2(run["batches"][-1])]
        fit = least_squares(residuals, x0, bounds=(low, high), max_nfev=2000)
        best = fit if best is None or fit.cost < best.cost else best
    return best.x


def report(name, run):
    curves = load(name, run)
    b0 = run["batches"][0]
    knots, x = fit_noise(curves, run)
    y = fit_accuracy(curves, run)
    n = len(knots)
    print(f"== {name}: reference batch {b0}, {run['samples'] / b0:.2f} steps an epoch; as in workloads/training/convergence_table.cpp:")
    for knot, log_phi, g in zip(knots, x[:n], x[n:]):
        print(f"    {{{knot:.0f}, {np.exp(log_phi):.0f}, {g:.2f}}},")
    for k, begin in enumerate(run["phases"]):
        top, log_c, beta, delta = y[4 * k:4 * k + 4]
        print(f"    {{{begin * run['samples'] / b0:.0f}, {top:.4f}, {np.exp(log_c):.0f}, {beta:.3f}, {delta:.5f}}},")
    print(f"    .gap_batch = {2 ** y[-1]:.0f}")
    for batch, c in curves.items():
        model = accuracy(y, run, c["p"], batch)
        predicted = examples_needed(x, knots, run, c["p"], batch)
        error = model - c["accuracy"]
        late = c["p"] > 0.2 * c["p"][-1]
        print(f"  batch {batch:6d}: RMSE {rms(error):.4f} (after a fifth {rms(error[late]):.4f}), end {model[-1]:.4f} measured"
              f" {c['accuracy'][-1]:.4f}; examples model/measured: to the last epoch {predicted[-1] / c['examples'][-1]:.3f}, "
              + ", ".join(f"to {t} {first_reaching(predicted, model, t) / first_reaching(c['examples'], c['accuracy'], t):.2f}"
                          for t in run["targets"]))


def rms(error):
    return np.sqrt(np.mean(error ** 2))


def first_reaching(examples, accuracies, target):
    hit = np.nonzero(accuracies >= target)[0]
    return examples[hit[0]] if len(hit) else np.nan


if __name__ == "__main__":
    for which in sys.argv[1:] or RUNS:
        report(which, RUNS[which])
