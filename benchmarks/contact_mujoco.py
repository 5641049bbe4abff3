"""The contact benchmarks' scenes in MuJoCo: elliptic cones, Newton's method, Euler's rule.

Its contacts have no stiffness of their own but a time constant and an impedance. "stiff": the time constant is the
smallest that MuJoCo's safety limit lets through (2 T), the impedance the largest (0.9999). "default": as MuJoCo comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import mujoco
import numpy as np
from contact_scenes import GRAVITY, Scene

VERSION = mujoco.__version__


class MujocoSimulation:
    """A scene in MuJoCo.

    Args:
        scene: scene to build.
        period: T [s].
        contact: attributes of every geom.
        options: attributes of <option>.
    """

    def __init__(self, scene: Scene, period: float, contact: dict[str, str], options: dict[str, str]) -> None:
        self._scene, self._period = scene, period
        option = {
            "timestep": repr(period),
            "gravity": f"0 0 {-GRAVITY!r}",
            "cone": "elliptic",
            "solver": "Newton",
        } | options
        surface = contact | {"friction": f"{scene.contact.friction!r} 0 0", "condim": "3"}
        parts = []
        for point, normal in scene.planes:
            parts.append(f'<geom type="plane" size="0 0 1" pos="{numbers(point)}" zaxis="{numbers(normal)}"/>')
        for item in scene.items:
            size = item.half[:1] if item.shape == "sphere" else item.half
            parts.append(
                f'<body pos="{numbers(item.position)}" quat="{numbers(np.roll(item.orientation, 1))}"><freejoint/>'
                f'<inertial pos="0 0 0" mass="{item.mass!r}" diaginertia="{numbers(item.moments)}"/>'
                f'<geom type="{item.shape}" size="{numbers(size)}"/></body>'
            )
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><option {attributes(option)}><flag multiccd="enable"/></option>'
            f"<default><geom {attributes(surface)}/></default><worldbody>{''.join(parts)}</worldbody></mujoco>"
        )
        self.data = mujoco.MjData(self.model)
        for k, item in enumerate(scene.items):
            self.data.xfrc_applied[k + 1, :3] = item.force
        self._before = self.data.qvel.copy()

    def step(self) -> None:
        mujoco.mj_step(self.model, self.data)

    def poses(self) -> np.ndarray:
        """Position and quaternion (x, y, z, w) of the items (n, 7)."""
        q = self.data.qpos.reshape(-1, 7)
        return np.hstack([q[:, :3], np.roll(q[:, 3:], -1, axis=1)])

    def residual(self) -> float:
        """Computes the residual of the momentum of one further step."""
        before = self.data.qvel.reshape(-1, 6).copy()
        self.step()
        impulse = self._period * self.data.qfrc_constraint.reshape(-1, 6)
        return self._scene.residual(before, self.data.qvel.reshape(-1, 6), impulse, self._period)

    def counts(self) -> tuple[float, float]:
        """Contacts and Newton steps of the last step; of the island with the most."""
        return self.data.ncon, float(self.data.solver_niter.max())


def models() -> list[tuple[str, Callable[[Scene, float], MujocoSimulation]]]:
    """Words and a maker of each variant."""
    return [
        ("stiff", lambda scene, period: MujocoSimulation(scene, period, stiff(period), {})),
        ("default", lambda scene, period: MujocoSimulation(scene, period, {}, {})),
    ]


def creep_models() -> list[tuple[str, Callable[[Scene, float], MujocoSimulation]]]:
    """The same for the table of creep."""
    variants: list[tuple[str, dict[str, str]]] = [
        ("default", {"cone": "pyramidal"}),
        ("elliptic, impratio 1000", {"impratio": "1000"}),
        ("elliptic, noslip 10", {"noslip_iterations": "10"}),
    ]
    return [
        (words, lambda scene, period, options=options: MujocoSimulation(scene, period, {}, options))
        for words, options in variants
    ]


def stiff(period: float) -> dict[str, str]:
    """Attributes of a contact that is as stiff as it may be."""
    return {"solref": f"{2 * period!r} 1", "solimp": "0.9999 0.9999 0.001 0.5 2"}


def attributes(values: dict[str, str]) -> str:
    return " ".join(f'{key}="{value}"' for key, value in values.items())


def numbers(values: Iterable[float]) -> str:
    """A vector in XML."""
    return " ".join(repr(float(value)) for value in values)
