"""The cube in MuJoCo: a box on a plane, or eight spheres, on a plane; elliptic friction cones, Newton's solver."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import mujoco
import numpy as np
from cube_toss_cases import Model, Motion, Scene, Start
from mujoco import rollout

from convex_contact.scenes.tosses import INERTIA, MASS, PERIOD

VERSION = mujoco.__version__


def simulate(x: dict[str, float], scene: Scene, starts: Sequence[Start], samples: int, substeps: int) -> list[Motion]:
    """Motions from all starts, a row per sample after the first."""
    step, half = PERIOD / substeps, scene.half_width
    gravity = " ".join(repr(float(g)) for g in scene.gravity)
    contact = (
        f'solref="{x["time_constant"]!r} {x["damping_ratio"]!r}" friction="{x["friction"]!r} 0 0" condim="3" '
        f'solimp="{x.get("impedance", 0.9)!r} {max(x.get("impedance", 0.9), 0.95)!r} 0.001 0.5 2"'
    )
    moments, radius = " ".join(3 * [repr(x.get("inertia", INERTIA))]), x.get("radius", 0.0)
    if radius:
        inner = half - radius
        geometry = "".join(
            f'<geom type="sphere" size="{radius!r}" pos="{a!r} {b!r} {c!r}" contype="0" {contact}/>'
            for a, b, c in product((-inner, inner), repeat=3)
        )
    else:
        geometry = f'<geom type="box" size="{half!r} {half!r} {half!r}" contype="0" {contact}/>'
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{step!r}" gravity="{gravity}" cone="elliptic" solver="Newton" tolerance="1e-10" '
        f'iterations="200" impratio="{x.get("impedance_ratio", 1.0)!r}"/><worldbody>'
        f'<geom type="plane" size="5 5 1" pos="0 0 {x["height"]!r}" {contact}/>'
        f'<body><freejoint/><inertial pos="0 0 {x.get("center", 0.0)!r}" mass="{MASS!r}" diaginertia="{moments}"/>'
        f"{geometry}</body></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    rows = []
    for s in starts:
        data.qpos[:3], data.qpos[3:] = s.position, np.roll(s.orientation, 1)
        data.qvel[:3] = s.stepped(step, scene.gravity)
        mujoco.mju_rotVecQuat(data.qvel[3:], s.angular_velocity, data.qpos[3:] * [1, -1, -1, -1])  # in the body's axes
        state = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS))
        mujoco.mj_getState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        rows.append(state)
    states, _ = rollout.rollout(model, data, np.array(rows), nstep=(samples - 1) * substeps)
    states = states[:, substeps - 1 :: substeps, 1:8]  # the first entry is the time
    return [Motion(s[:, :3], np.roll(s[:, 3:], -1, axis=1)) for s in states]


def models() -> list[Model]:
    """Ways to simulate, with what is to be identified of each."""
    return [
        Model(
            "MuJoCo",
            simulate,
            {
                "time_constant": (2e-3, 0.1, True),
                "damping_ratio": (0.1, 3.0, True),
                "friction": (0.08, 0.35, False),
                "height": (-3e-3, 2e-3, False),
            },
        )
    ]
