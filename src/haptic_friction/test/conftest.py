"""What the tests of the friction models share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

Motion = Callable[..., np.ndarray]


@pytest.fixture
def motion() -> Motion:
    """Velocities (m/s) at 1 kHz that slide at up to 0.2 m/s, turn round, rest and then mostly stick."""

    def velocities(steps: int, dimension: int, seed: int = 0) -> np.ndarray:
        random = np.random.default_rng(seed)
        phase = 0.02 * np.arange(steps)[:, None] + random.uniform(0.0, 6.0, size=dimension)
        result = 0.2 * np.sin(phase) + 0.01 * random.normal(size=(steps, dimension))
        result[steps // 2 : steps // 2 + 20] = 0.0
        result[steps // 2 + 20 :] *= 0.03
        return result

    return velocities
