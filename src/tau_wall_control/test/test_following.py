"""A contact pose that moves: the reference slides along the wall, with and without its inverse dynamics fed forward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tau_wall_control import TauDevice, TauError

#: of the slide: amplitude [m], angular frequency [rad/s], speed along y [m/s]
AMPLITUDE, OMEGA, CLIMB = 0.015, 2.0 * np.pi * 2.0, 0.02


def motion(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, twist and acceleration of the contact pose."""
    s, c = np.sin(OMEGA * t), np.cos(OMEGA * t)
    zero = np.zeros(4)
    return (
        np.array([AMPLITUDE * s, -0.01 + CLIMB * t, 0.0]),
        np.array([AMPLITUDE * OMEGA * c, CLIMB, *zero]),
        np.array([-AMPLITUDE * OMEGA**2 * s, 0.0, *zero]),
    )


def errors(device: TauDevice, controller: Any, push: float) -> np.ndarray:
    """Distance of the tool from the contact pose (n,) [m], pushed into the wall after 0.2 s."""
    p, V, _ = motion(0.0)
    state = device.state(p, None, V)
    controller.start(p)
    out = []
    for k in range(600):
        p, V, Vdot = motion(1e-3 * k)
        controller.follow(p, twist=V, acceleration=Vdot)
        out.append(np.linalg.norm(state.position - p))
        wrench = [0.0, 0.0, -push if k >= 200 else 0.0, 0.0, 0.0, 0.0]
        state.step(controller.step(*state.joints()), wrench, 1e-3)
    return np.array(out)


@pytest.mark.slow
@pytest.mark.covering(1)
@pytest.mark.parametrize("scheme", ["scheduled", "observer"])
def test_feedforward_tracks_better(device: TauDevice, design: Any, scheme: str) -> None:
    """Without a push the model is exact: what is left is that torques are those of a period's start.

    They lag by jerk T/2, 0.015 m/s^2; the softest loop, 10 kN/m for 0.25 kg, gives way to that by 0.4 um.
    """
    plain, fed = (errors(device, design(scheme, feedforward=on), push=0.0) for on in (False, True))
    assert fed.max() < 1e-6
    assert plain.max() > 1e-3
    plain, fed = (errors(device, design(scheme, feedforward=on), push=5.0)[200:] for on in (False, True))
    assert np.sqrt(np.mean(fed**2)) < 0.5 * np.sqrt(np.mean(plain**2))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["mopc", "scheduled", "stiff"])
def test_reference_at_rest_changes_nothing(device: TauDevice, design: Any, scheme: str) -> None:
    """Following a pose that stays is holding it; with feedforward gravity is exact for any scheme."""
    point = np.array([0.025, -0.025, 0.0])
    held, followed = design(scheme), design(scheme, feedforward=scheme != "mopc")
    runs = []
    for c, follows in ((held, False), (followed, True)):
        state = device.state(point)
        c.start(point)
        for _ in range(60):
            if follows:
                c.follow(point)
            state.step(c.step(*state.joints()), [0, 0, -5.0, 0, 0, 0], 1e-3)
        runs.append(state.values.copy())
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-13)


def test_start_forgets_the_motion(device: TauDevice, design: Any) -> None:
    c = design("scheduled", feedforward=True)
    joints = device.state((0.0, 0.0, 0.0)).joints()
    c.start((0.0, 0.0, 0.0))
    at_rest = c.step(*joints)
    c.follow((0.0, 0.0, 0.0), twist=[0.1, 0, 0, 0, 0, 0])
    assert np.abs(c.step(*joints) - at_rest).max() > 1e-3
    c.start((0.0, 0.0, 0.0))
    np.testing.assert_array_equal(c.step(*joints), at_rest)


def test_refusals(device: TauDevice, design: Any) -> None:
    c = design("scheduled", feedforward=True)
    c.start((0.0, 0.0, 0.0))
    with pytest.raises(TauError, match="out of reach of chain"):
        c.follow((0.0, 0.4, 0.0))
    with pytest.raises(TauError, match="twist: expected finite numbers"):
        c.follow((0.0, 0.0, 0.0), twist=[0.1])
