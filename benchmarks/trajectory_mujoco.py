"""The arm, the ball and the floor of the trajectory optimisation in MuJoCo, and its derivatives of a step."""

from __future__ import annotations

import time

import mujoco
import numpy as np

from convex_contact.scenes import pushing_arm as scene

VERSION = mujoco.__version__
#: of the differences, MuJoCo's usual
STEP = 1e-6


def model() -> mujoco.MjModel:
    """The same masses, lengths and limits; contacts with MuJoCo's usual softness."""
    hand = "0.3 0 0"
    links = (
        ("turn", f"0 0 {scene.SHOULDER}", "0 0 1", "0 0 0", 1.0, "0.002 0.002 0.002", ""),
        ("shoulder", "0 0 0", "0 1 0", "0.15 0 0", 1.0, "0.0008 0.008 0.008", ""),
        (
            "elbow", "0.3 0 0", "0 1 0", "0.15 0 0", 0.6, "0.0005 0.005 0.005",
            f'<geom type="sphere" size="{scene.HAND_RADIUS}" pos="{hand}"/>',
        ),
    )  # fmt: skip
    opened = "".join(
        f'<body pos="{place}"><joint name="{name}" axis="{axis}" damping="0.1"/>'
        f'<inertial pos="{center}" mass="{mass}" diaginertia="{inertia}"/>{shape}'
        for name, place, axis, center, mass, inertia, shape in links
    )
    x, y = scene.BALL_START
    motors = "".join(f'<motor joint="{name}"/>' for name, *_ in links)
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{scene.PERIOD}" gravity="0 0 {-scene.GRAVITY}" cone="elliptic" solver="Newton"/>'
        f'<worldbody><geom type="plane" size="0 0 1"/>{opened}{"</body>" * len(links)}'
        f'<body pos="{x} {y} {scene.BALL_RADIUS}"><freejoint/>'
        f'<geom type="sphere" size="{scene.BALL_RADIUS}" mass="{scene.BALL_MASS}"/></body>'
        f"</worldbody><actuator>{motors}</actuator></mujoco>"
    )


def linearization_time(inputs: np.ndarray, repetitions: int) -> float:
    """Least processor time of all steps' A and B by mjd_transitionFD, centred, along MuJoCo's own motion [s]."""
    m = model()
    data, n = mujoco.MjData(m), 2 * m.nv + m.na
    A, B = np.zeros((n, n)), np.zeros((n, m.nu))
    spent = []
    for _ in range(repetitions):
        mujoco.mj_resetData(m, data)
        data.qpos[: m.nu] = scene.POSTURE
        total = 0.0
        for u in inputs:
            data.ctrl[:] = u
            before = time.process_time()
            mujoco.mjd_transitionFD(m, data, STEP, True, A, B, None, None)
            total += time.process_time() - before
            mujoco.mj_step(m, data)
        spent.append(total)
    return min(spent)
