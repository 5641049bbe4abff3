"""The scenes of the simulation benchmark in MuJoCo: elliptic cones, Newton's method, implicitfast if nothing is said.

Trees come from their URDF text. MuJoCo takes the larger friction of two geoms, so that bodies have a number of their
own for it. "direct" contacts are springs of the scene's stiffness: balls among each other have half the mass of a ball
on the ground, and twice the acceleration per length.
"""

from __future__ import annotations

import mujoco
import numpy as np
from contact_mujoco import attributes, numbers
from contact_scenes import GRAVITY
from simulation_measures import Observation
from simulation_scenes import Scene
from simulation_settings import Setting
from simulation_trees import Tree

TITLE = "MuJoCo"
VERSION = mujoco.__version__
mujoco.set_mju_user_warning(lambda text: None)  # else it writes a file; `observe` reports what diverges
#: warnings after which MuJoCo begins anew
_UNSTABLE = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)
#: impedance with which a contact's acceleration adds to others', the least that MuJoCo takes
_SOFT = "0.0001 0.0001 0.001 0.5 2"


class Simulation:
    """A scene in MuJoCo.

    Args:
        scene: scene to build.
        setting: options: `contact`, attributes of all geoms; `option`, attributes of <option>; `direct`.
    """

    def __init__(self, scene: Scene, setting: Setting) -> None:
        assert setting.period is not None
        self._period = setting.period
        option = {
            "timestep": repr(setting.period),
            "gravity": f"0 0 {-GRAVITY!r}",
            "cone": "elliptic",
            "solver": "Newton",
            "integrator": "implicitfast",
        } | setting.options.get("option", {})
        plane, body = (self._surface(scene, setting, factor) for factor in (1.0, 2.0))
        if scene.plane_larger_friction is not None:
            plane["friction"] = f"{scene.plane_larger_friction!r} 0 0"
        parts = [
            f'<geom type="plane" size="0 0 1" pos="{numbers(point)}" zaxis="{numbers(normal)}" '
            f'contype="1" conaffinity="3" priority="{int(setting.options.get("direct", False))}" {attributes(plane)}/>'
            for point, normal in scene.planes
        ]
        assets = []
        for k, item in enumerate(scene.items):
            friction = scene.contact.friction if item.larger_friction is None else item.larger_friction
            surface = body | {"friction": f"{friction!r} 0 0"}
            if item.points is None:
                shape = f'type="{item.shape}" size="{numbers(item.half[: 1 if item.shape == "sphere" else 3])}"'
            else:
                assets.append(f'<mesh name="hull{k}" vertex="{numbers(item.points.ravel())}" inertia="exact"/>')
                shape = f'type="mesh" mesh="hull{k}" pos="0 0 0"'
            parts.append(
                f'<body pos="{numbers(item.position)}" quat="{numbers(np.roll(item.orientation, 1))}"><freejoint/>'
                f'<inertial pos="0 0 0" mass="{item.mass!r}" diaginertia="{numbers(item.moments)}"/>'
                f"<geom {shape} {attributes(surface)}/></body>"
            )
        spec = mujoco.MjSpec.from_string(
            f'<mujoco><option {attributes(option)}><flag multiccd="enable"/></option><asset>{"".join(assets)}</asset>'
            f"<worldbody>{''.join(parts)}</worldbody></mujoco>"
        )
        for tree in scene.trees:
            self._attach(spec, tree, body)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self._start(scene)

    def _surface(self, scene: Scene, setting: Setting, factor: float) -> dict[str, str]:
        """Attributes of a geom.

        Args:
            scene: the scene.
            setting: the setting.
            factor: acceleration of a direct contact over that of a ball on the ground.
        """
        c = scene.contact
        surface = {"friction": f"{c.friction!r} 0 0", "condim": "3" if c.friction else "1"}
        if setting.options.get("direct"):
            stiffness = factor * c.stiffness / scene.items[0].mass
            damping = 2.0 * setting.damping_ratio * np.sqrt(stiffness)
            return surface | {"solref": f"{-stiffness!r} {-float(damping)!r}", "solimp": _SOFT}
        return surface | setting.options.get("contact", {})

    def _attach(self, spec: mujoco.MjSpec, tree: Tree, surface: dict[str, str]) -> None:
        """Adds a tree that touches planes alone, with its motors."""
        child = mujoco.MjSpec.from_string(tree.urdf())
        child.compiler.fusestatic = False
        for geom in child.geoms:
            geom.contype, geom.conaffinity, geom.condim = 2, 0, 3
            geom.friction = [float(value) for value in surface["friction"].split()]
            for name in ("solref", "solimp"):
                if name in surface:
                    setattr(geom, name, [float(value) for value in surface[name].split()])
        child.body(tree.links[0].name).add_freejoint()
        frame = spec.worldbody.add_frame(pos=tree.position)
        spec.attach(child, prefix=f"{tree.name}/", frame=frame)
        for link in tree.moved if tree.stiffness else ():
            motor = spec.add_actuator(name=f"{tree.name}/{link.joint}", target=f"{tree.name}/{link.joint}")
            motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
            motor.set_to_position(kp=tree.stiffness, kv=tree.damping)
            spec.joint(f"{tree.name}/{link.joint}").armature = tree.armature

    def _start(self, scene: Scene) -> None:
        model, data = self.model, self.data
        first = 1 + len(scene.items)
        self._chosen = list(range(1, first))
        for k, item in enumerate(scene.items):
            data.xfrc_applied[k + 1, :3] = item.force
            data.qvel[model.body_dofadr[k + 1] :][:3] = item.velocity
        for tree in scene.trees:
            for link in tree.links:
                self._chosen.append(model.body(f"{tree.name}/{link.name}").id)
            for link in tree.moved:
                joint = model.joint(f"{tree.name}/{link.joint}")
                data.qpos[joint.qposadr[0]], data.qvel[joint.dofadr[0]] = link.angle, link.speed
                if tree.stiffness:
                    data.ctrl[model.actuator(f"{tree.name}/{link.joint}").id] = link.angle

    def step(self) -> None:
        """Makes one step."""
        mujoco.mj_step(self.model, self.data)

    @property
    def steps(self) -> int:
        """Steps since the start."""
        return round(self.data.time / self._period)

    def observe(self) -> Observation:
        """The bodies now.

        Raises:
            RuntimeError: The motion diverged.
        """
        model, data = self.model, self.data
        if any(data.warning[kind].number for kind in _UNSTABLE):
            raise RuntimeError("the motion diverged")
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        twist, velocity, spin = np.zeros(6), [], []
        for body in self._chosen:
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, twist, 0)
            spin.append(twist[:3].copy())
            velocity.append(twist[3:].copy())
        orientation = np.roll(data.xquat[self._chosen], -1, axis=1)
        return Observation(
            float(data.time), data.xpos[self._chosen].copy(), orientation, np.array(velocity), np.array(spin)
        )
