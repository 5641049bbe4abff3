"""The models of dm_control's suite beside MuJoCo, where both packages are installed; docs/mjcf.md has the table.

Without contact and limits, which are soft in MuJoCo, from a random state (of models with equalities from the pose of
the file), with random controls. Models that stand on a floor also with contact, which is made stiff in MuJoCo.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from mjcf_comparison import differences, mujoco_facts, suite_facts

from convex_contact import Material, Simulator, World, WorldError
from convex_contact.model.mjcf import MjcfWarning

_PACKAGES = [importlib.util.find_spec(name) for name in ("dm_control", "mujoco")]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(None in _PACKAGES, reason="needs dm_control and mujoco, which the environment does not have"),
]

#: largest difference of the positions after 0.5 s [m]; of joints with friction loss, which is soft in MuJoCo, larger
BOUNDS = {
    "acrobot": 1e-5, "cartpole": 1e-5, "cheetah": 1e-4, "finger": 2e-3, "hopper": 1e-5, "humanoid": 1e-4,
    "humanoid_CMU": 1e-4, "manipulator": 1e-3, "pendulum": 1e-5, "point_mass": 1e-5, "reacher": 1e-5, "stacker": 1e-3,
    "walker": 1e-4,
}  # fmt: skip
#: largest difference of the positions after 0.2 s on the floor [m], chosen before the comparison was made
FLOOR_BOUNDS = {"cheetah": 2e-3, "hopper": 2e-3, "walker": 2e-3, "humanoid": 5e-3, "humanoid_CMU": 5e-3}
#: length of the motion on the floor [s], contacts of MuJoCo nearly as stiff as its steps of 0.1 ms allow
FLOOR_TIME = 0.2
STIFF_CONTACT = (
    '<option o_solref="0.002 1" o_solimp="0.99 0.999 0.0001 0.5 2"><flag limit="disable" override="enable"/></option>'
)
#: models with a part that is not supported
REFUSED = {
    "ball_in_cup": "line 47: spatial: expected no limits",
    "dog": "line 74: joint: springdamper: expected 0",
    "fish": "line 9: option: density: expected 0",
    "quadruped": "line 84: geom: type: expected one of plane",
    "swimmer": "line 6: option: density: expected 0",
}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    spec = _PACKAGES[0]
    assert spec is not None and spec.submodule_search_locations
    source = Path(next(iter(spec.submodule_search_locations)), "suite")
    return Path(shutil.copytree(source, tmp_path / "suite"))


@pytest.mark.parametrize("name", BOUNDS)
def test_model_moves_as_in_mujoco(suite: Path, name: str) -> None:
    import mujoco

    path = suite / f"{name}.xml"
    model, random = mujoco.MjModel.from_xml_path(str(path)), np.random.default_rng(1)
    scale = 0.0 if model.neq else 1.0
    velocity, q = scale * random.uniform(-0.5, 0.5, model.nv), mujoco.MjData(model).qpos.copy()
    mujoco.mj_integratePos(model, q, random.uniform(-0.3, 0.3, model.nv), scale)
    values = {"qpos": q, "qvel": velocity, "ctrl": random.uniform(-0.1, 0.1, model.nu)}
    key = " ".join(f'{n}="{" ".join(map(repr, x.tolist()))}"' for n, x in values.items() if len(x))
    flags = '<option><flag contact="disable" limit="disable"/></option>'
    text = path.read_text().replace("</mujoco>", f"{flags}<keyframe><key {key}/></keyframe></mujoco>")
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MjcfWarning)
        world = World.load(path, keyframe=0)
    stiff = bool(model.neq)
    theirs = mujoco_facts(path, duration=0.5, period=1e-5 if stiff else 1e-4, stiff=stiff)
    found = differences(suite_facts(world, theirs["joints"], duration=0.5, period=5e-4), theirs)
    assert max(found["mass"], found["bodies"], found["jacobians"]) < 1e-12, found
    assert found["moved"] < BOUNDS[name], found


@pytest.mark.parametrize("name", FLOOR_BOUNDS)
def test_model_on_the_floor_moves_as_in_mujoco(suite: Path, name: str) -> None:
    """From the pose of the file, moved vertically until the lowest geom touches the floor, at rest, without control."""
    import mujoco

    path = suite / f"{name}.xml"
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    floor = [g for g in range(model.ngeom) if model.geom_type[g] == mujoco.mjtGeom.mjGEOM_PLANE]
    others = [g for g in range(model.ngeom) if g not in floor and model.geom_contype[g]]
    gap = min(mujoco.mj_geomDistance(model, data, f, g, 10.0, None) for f in floor for g in others)
    free = [j for j in range(model.njnt) if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE]
    height = int(model.jnt_qposadr[free[0]]) + 2 if free else int(model.joint("rootz").qposadr[0])
    data.qpos[height] -= gap
    key = f'<keyframe><key qpos="{" ".join(map(repr, data.qpos.tolist()))}"/></keyframe>'
    path.write_text(path.read_text().replace("</mujoco>", f"{STIFF_CONTACT}{key}</mujoco>"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MjcfWarning)
        world = World.load(path, keyframe=0, material=Material(stiffness=1e6, dissipation=10.0, relaxation_time=1e-4))
    theirs = mujoco_facts(path, duration=FLOOR_TIME, period=1e-4, stiff=True)["moved"]
    simulator = Simulator(world, period=2e-4, relative_tolerance=1e-10)
    simulator.step(round(FLOOR_TIME / simulator.period))
    ours = {body.name: simulator.state(body.name).position for body in world.bodies if body.name in theirs}
    assert simulator.contacts.impulse[:, 2].sum() > 0.0 and len(ours) > 2
    assert max(np.abs(ours[body] - theirs[body][:3]).max() for body in ours) < FLOOR_BOUNDS[name]


@pytest.mark.parametrize("name", REFUSED)
def test_model_with_an_unsupported_part_is_refused_in_one_line(suite: Path, name: str) -> None:
    with pytest.raises(WorldError, match=rf"^{name}\.xml: {re.escape(REFUSED[name])}") as caught:
        World.load(suite / f"{name}.xml")
    assert "\n" not in str(caught.value)


def test_every_model_is_listed(suite: Path) -> None:
    assert {path.stem for path in suite.glob("*.xml")} == BOUNDS.keys() | REFUSED.keys() | {"lqr"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert World.load(suite / "lqr.xml").bodies  # a floor: its bodies are made by a program
