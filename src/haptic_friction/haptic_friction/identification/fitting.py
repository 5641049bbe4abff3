"""Least squares with confidence intervals that hold for correlated residuals.

The 95 % intervals come from a delete-one-block jackknife of the linearised fit (the sandwich covariance with block
sums, corrected for leverage) and Student's t: Efron and Tibshirani, An Introduction to the Bootstrap, chapter 11;
Cameron and Miller, "A Practitioner's Guide to Cluster-Robust Inference", J. Human Resources 50 (2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

CONFIDENCE = 0.95
#: blocks of the jackknife: smallest and usual number, and length of each in correlation times
_FEWEST_BLOCKS, _BLOCKS, _BLOCK_LENGTH = 8, 30, 10
#: number of informative blocks below which the blocks are made shorter; below two there is no interval
_ENOUGH_BLOCKS = 6.0
#: resolution of the solver as a fraction of the target: the change of a parameter by it is the smallest half interval
_RESOLUTION = 1e-6
#: relative step of the difference quotients, which gives them a rounding of 1e-9
_STEP = 1e-7


@dataclass(frozen=True)
class Solution:
    """A solution of least squares.

    Attributes:
        theta: parameters, shape (parameters,).
        lower: lower bounds of the parameters.
        residuals: target minus prediction, shape (n, d).
        jacobian: derivatives of the prediction, shape (n, d, parameters).
        target_rms: RMS of the target.
    """

    theta: np.ndarray
    lower: np.ndarray
    residuals: np.ndarray
    jacobian: np.ndarray
    target_rms: float


def solve(
    predict: Callable[[np.ndarray], np.ndarray],
    target: np.ndarray,
    start: np.ndarray,
    *,
    scale: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    ftol: float = 1e-14,
) -> Solution:
    """Solves bounded least squares.

    Args:
        predict: function that gives the prediction, shape (n, d), for parameters, shape (parameters,).
        target: values to be predicted, shape (n, d).
        start: starting values; values at a lower bound are moved inside.
        scale: typical size of each parameter.
        lower: lower bounds.
        upper: upper bounds.
        ftol: relative change of the sum of squares at which the search ends. A prediction with corners needs a larger
            value, because with noise the search otherwise oscillates between samples.

    Raises:
        ValueError: the fit did not converge.
    """

    def residuals(x: np.ndarray) -> np.ndarray:
        return np.ravel(predict(scale * x) - target)

    def jacobian(x: np.ndarray) -> np.ndarray:
        here, columns = residuals(x), []
        for i in range(len(x)):
            moved = x.copy()
            moved[i] += _STEP * max(1.0, abs(x[i]))
            columns.append((residuals(moved) - here) / (moved[i] - x[i]))
        return np.column_stack(columns)

    first = np.minimum(np.maximum(start, lower + 1e-3 * scale), upper)
    found = scipy.optimize.least_squares(
        residuals, first / scale, jacobian, bounds=(lower / scale, upper / scale), xtol=1e-12, ftol=ftol, gtol=1e-14
    )
    if found.status <= 0:
        raise ValueError(f"force: the fit did not converge in {found.nfev} steps")
    shape = target.shape
    derivatives = (jacobian(found.x) / scale).reshape(*shape, len(start))
    target_rms = float(np.sqrt(np.mean(target**2)))
    return Solution(scale * found.x, lower, -found.fun.reshape(shape), derivatives, target_rms)


# Intervals


def intervals(solution: Solution, nuisances: int = 0) -> list[tuple[float, float] | None]:
    """Computes 95 % intervals of all parameters but the last `nuisances`; None where the record has too little on one.

    The method is a delete-one-block jackknife of the linearised fit (the sandwich covariance with block sums and the
    correction for leverage). The blocks are contiguous. Each is _BLOCK_LENGTH correlation times long, of the samples'
    influence on the parameter. Student's degrees of freedom are the effective number of blocks,
    (sum w)^2 / sum w^2 with w the information in a block, minus one.
    """
    residuals, jacobian = solution.residuals, solution.jacobian
    n, d, _ = jacobian.shape
    count = len(solution.theta) - nuisances
    theta, J = solution.theta[:count], jacobian[:, :, :count].reshape(n * d, count)
    if nuisances:  # Frisch and Waugh: the part that the nuisances explain has no information
        other = jacobian[:, :, count:].reshape(n * d, nuisances)
        J = J - other @ np.linalg.lstsq(other, J, rcond=None)[0]
    size = np.linalg.norm(J, axis=0)
    informed = size > 0.0
    size = np.where(informed, size, 1.0)
    J = J / size
    information = J.T @ J
    inverse = np.linalg.pinv(information, rcond=1e-12, hermitian=True)
    r = residuals.ravel() - J @ (inverse @ (J.T @ residuals.ravel()))  # those of the fit without bounds
    influence = ((J @ inverse) * r[:, None]).reshape(n, d, count).sum(axis=1)
    products = np.einsum("kdi,kdj->kij", *2 * [J.reshape(n, d, count)])
    scores = np.einsum("kdi,kd->ki", J.reshape(n, d, count), r.reshape(n, d))

    result: list[tuple[float, float] | None] = []
    for i in range(count):
        if not informed[i]:
            result.append(None)
            continue
        longest = n / (_BLOCK_LENGTH * correlation_time(influence[:, i]))
        blocks = int(np.clip(longest, _FEWEST_BLOCKS, _BLOCKS))
        variance, effective = _jackknife(i, blocks, products, scores, inverse)
        while effective < _ENOUGH_BLOCKS and 2 * blocks <= longest:
            blocks *= 2
            variance, effective = _jackknife(i, blocks, products, scores, inverse)
        if effective < 2.0:
            result.append(None)
            continue
        half = scipy.special.stdtrit(effective - 1.0, 0.5 + 0.5 * CONFIDENCE) * math.sqrt(variance) / size[i]
        half = max(half, _RESOLUTION * math.sqrt(n) * solution.target_rms / size[i])
        result.append((max(theta[i] - half, solution.lower[i]), theta[i] + half))
    return result


def _jackknife(
    i: int, blocks: int, products: np.ndarray, scores: np.ndarray, inverse: np.ndarray
) -> tuple[float, float]:
    """Computes the variance of parameter i, and the effective number of blocks with information on it."""
    first = np.linspace(0, len(products), blocks, endpoint=False).astype(int)
    A, g = np.add.reduceat(products, first), np.add.reduceat(scores, first)
    weights = np.einsum("i,bij,j->b", inverse[i], A, inverse[i])
    rest = A.sum(axis=0) - A
    changes = (np.linalg.pinv(rest, rcond=1e-12, hermitian=True) @ g[:, :, None])[:, i, 0]
    return float(np.sum((changes - changes.mean()) ** 2) * (blocks - 1) / blocks), weights.sum() ** 2 / np.sum(
        weights**2
    )


def correlation_time(series: np.ndarray) -> float:
    """Computes the integrated autocorrelation time [samples], 1 for white noise; the sum ends at 5 times it (Sokal)."""
    n = len(series)
    power = np.abs(np.fft.rfft(series, 2 * n)) ** 2
    covariance = np.fft.irfft(power)[:n]
    if covariance[0] <= 0.0:
        return 1.0
    times = 2.0 * np.cumsum(covariance / covariance[0]) - 1.0
    inside = np.arange(n) >= 5.0 * times
    return max(1.0, float(times[np.argmax(inside)] if inside.any() else times[-1]))
