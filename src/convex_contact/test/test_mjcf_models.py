"""The models of dm_control's suite beside MuJoCo, where both packages are installed; docs/mjcf.md has the table.

Without contact and limits, which are soft in MuJoCo, from a random state (of models with equalities from the pose of
the file), with random controls.
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

from convex_contact import World, WorldError
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
