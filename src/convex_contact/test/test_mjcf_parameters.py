"""Every value of an MJCF file that is read acts: another one changes masses, poses or the motion."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from convex_contact import Simulator
from convex_contact.model.mjcf import MjcfWarning, load_mjcf

BASE = """<mujoco>
<compiler angle="radian" eulerseq="xyz" autolimits="true" inertiagrouprange="0 5" boundmass="0" boundinertia="0"/>
<option timestep="0.002" gravity="0 0 -9.81"/>
<default><geom density="900"/><default class="soft"><joint damping="0.1"/></default></default>
<asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1 1 1 0.5" scale="0.1 0.1 0.1"/></asset>
<worldbody>
  <geom name="floor" type="plane" size="1 1 1" friction="0.4"/>
  <body name="a" pos="0 0 1" euler="0.1 0.2 0.3">
    <joint name="one" class="soft" axis="0 1 0" pos="0 0 0.1" range="-2 2" ref="0.1" springref="0.2" stiffness="3"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 -0.1" size="0.05" group="1"/>
    <body name="b" pos="0.3 0 0" axisangle="0 1 0 0.4">
      <joint name="two" type="slide" axis="1 0 0" frictionloss="0.4" armature="0.1" range="-1 0.2"/>
      <geom type="box" size="0.1 0.1 0.02" pos="0 0.1 0"/>
      <geom type="mesh" mesh="wedge" mass="0.4"/>
      <site name="grip" pos="0 0 0.1"/>
    </body>
  </body>
  <body name="c" pos="1 0 0.0999"><freejoint/><inertial pos="0 0 0" mass="2" diaginertia="0.02 0.02 0.02"/>
    <geom name="c" size="0.1" friction="0.5" condim="3"/></body>
  <body name="d" pos="2 0 1"><freejoint/><geom size="0.1"/><site name="edge" pos="0.1 0 0"/></body>
  <body name="e" pos="3 0 1"><joint name="three" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.05"/></body>
  <body name="f" pos="3 1 1"><joint name="four" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.05"/></body>
  <body name="g" pos="3 2 1"><joint name="five" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.05"/></body>
</worldbody>
<tendon>
  <fixed name="cable" range="-5 5" stiffness="2" damping="0.1" springlength="0.3">
    <joint joint="three" coef="2"/></fixed>
</tendon>
<equality>
  <joint joint1="four" joint2="three" polycoef="0.1 0.5 0 0 0" active="true"/>
  <weld body1="d" anchor="0.1 0 0" relpose="0 0 0 0 0 0 0" torquescale="1"/>
</equality>
<actuator>
  <general name="g" joint="five" gear="1" gaintype="affine" gainprm="2 0.5" biastype="affine" biasprm="0.3 -4 -0.2"
    ctrllimited="true" ctrlrange="-1 1" forcelimited="true" forcerange="-30 30"/>
  <position name="p" tendon="cable" kp="5" kv="0.5"/>
  <general name="f" joint="one" dyntype="filter" dynprm="0.05" gainprm="4" actlimited="true" actrange="-1 1"/>
</actuator>
<keyframe><key name="k" qpos="0.5 -0.2 1 0 0.0999 1 0 0 0 2 0 1 1 0 0 0 0.3 0.4 0.2"
  qvel="0.1 0.2 2 0 0 0 0 0 0 0 0 0 0 0 0.3 0.15 0.4" ctrl="0.5 0.3 0.8" act="0.2"/></keyframe>
</mujoco>
"""

EDITS = [
    ('angle="radian"', 'angle="degree"'),
    ('eulerseq="xyz"', 'eulerseq="zyx"'),
    ('inertiagrouprange="0 5"', 'inertiagrouprange="0 0"'),
    ('boundmass="0"', 'boundmass="3"'),
    ('boundinertia="0"', 'boundinertia="0.5"'),
    ('boundinertia="0"', 'inertiafromgeom="true"'),
    ('boundinertia="0"', 'settotalmass="7"'),
    ('timestep="0.002"', 'timestep="0.001"'),
    ("0 0 -9.81", "0 1 -9.81"),
    ('gravity="0 0 -9.81"/>', '><flag gravity="disable"/></option>'),
    ('gravity="0 0 -9.81"/>', '><flag contact="disable"/></option>'),
    ('gravity="0 0 -9.81"/>', '><flag equality="disable"/></option>'),
    ('gravity="0 0 -9.81"/>', '><flag frictionloss="disable"/></option>'),
    ('gravity="0 0 -9.81"/>', '><flag spring="disable"/></option>'),
    ('gravity="0 0 -9.81"/>', '><flag damper="disable"/></option>'),
    ('gravity="0 0 -9.81"/>', '><flag actuation="disable"/></option>'),
    ('gravity="0 0 -9.81"/>', '><flag constraint="disable"/></option>'),
    ('density="900"', 'density="700"'),
    ('joint damping="0.1"', 'joint damping="0.5"'),
    ('scale="0.1 0.1 0.1"', 'scale="0.1 0.1 0.2"'),
    ('scale="0.1 0.1 0.1"', 'scale="0.1 0.1 0.1" refpos="0.1 0 0"'),
    ('scale="0.1 0.1 0.1"', 'scale="0.1 0.1 0.1" refquat="0 1 0 0"'),
    ('size="1 1 1" friction', 'size="1 1 1" pos="0 0 -0.02" friction'),
    ('friction="0.4"', 'friction="0.9"'),
    ('pos="0 0 1" euler', 'pos="0 0 1.1" euler'),
    ('euler="0.1 0.2 0.3"', 'euler="0.2 0.2 0.3"'),
    ('class="soft" axis', "axis"),
    ('axis="0 1 0" pos', 'axis="0 1 1" pos'),
    ('pos="0 0 0.1" range', 'pos="0 0 0.2" range'),
    ('range="-2 2" ref', 'range="-2 0.45" ref'),
    ('ref="0.1" springref', 'ref="0.2" springref'),
    ('springref="0.2"', 'springref="0.4"'),
    ('stiffness="3"', 'stiffness="6"'),
    ('fromto="0 0 0 0.3 0 -0.1"', 'fromto="0 0 0 0.4 0 -0.1"'),
    ('-0.1" size="0.05" group="1"', '-0.1" size="0.06" group="1"'),
    ('axisangle="0 1 0 0.4"', 'axisangle="0 1 0 0.5"'),
    ('type="slide" axis', "axis"),
    ('frictionloss="0.4"', 'frictionloss="0.9"'),
    ('armature="0.1"', 'armature="0.3"'),
    ('range="-1 0.2"', 'range="-0.15 0.2"'),
    ('size="0.1 0.1 0.02"', 'size="0.1 0.2 0.02"'),
    ('pos="0 0.1 0"/>', 'pos="0.1 0.1 0"/>'),
    ('mass="0.4"', 'mass="0.8"'),
    ('inertial pos="0 0 0"', 'inertial pos="0 0 0.05"'),
    ('mass="2" diag', 'mass="3" diag'),
    ('diaginertia="0.02 0.02 0.02"', 'diaginertia="0.02 0.03 0.02"'),
    ('friction="0.4"', 'friction="0.4" priority="1"'),
    ('condim="3"', 'condim="3" contype="2" conaffinity="2"'),
    ('friction="0.5" condim="3"', 'friction="0.1" priority="1"'),
    ('range="-5 5"', 'range="-5 0.61"'),
    ('stiffness="2"', 'stiffness="4"'),
    ('damping="0.1" springlength', 'damping="0.4" springlength'),
    ('springlength="0.3"', 'springlength="0.6"'),
    ('coef="2"', 'coef="1"'),
    ('polycoef="0.1 0.5', 'polycoef="0.1 0.7'),
    ('polycoef="0.1 0.5 0', 'polycoef="0.1 0.5 0.3'),
    ('active="true"', 'active="false"'),
    ('anchor="0.1 0 0" relpose="0 0 0 0 0 0 0"', 'anchor="0.1 0 0" relpose="-2 0 -1.1 1 0 0 0"'),
    ('anchor="0.1 0 0" relpose="0 0 0 0 0 0 0" torquescale="1"', 'anchor="0.1 0 0" torquescale="0"'),
    ('gear="1"', 'gear="2"'),
    ('gainprm="2 0.5"', 'gainprm="3 0.5"'),
    ('gainprm="2 0.5"', 'gainprm="2 0.9"'),
    ('gaintype="affine"', 'gaintype="fixed"'),
    ('biastype="affine"', 'biastype="none"'),
    ('biasprm="0.3 -4 -0.2"', 'biasprm="0.6 -4 -0.2"'),
    ('biasprm="0.3 -4 -0.2"', 'biasprm="0.3 -9 -0.2"'),
    ('biasprm="0.3 -4 -0.2"', 'biasprm="0.3 -4 -0.6"'),
    ('ctrlrange="-1 1"', 'ctrlrange="-1 0.2"'),
    ('forcerange="-30 30"', 'forcerange="-0.1 0.1"'),
    ('kp="5"', 'kp="9"'),
    ('kv="0.5"', 'kv="0.9"'),
    ('dyntype="filter" dynprm="0.05"', 'dyntype="integrator"'),
    ('dynprm="0.05"', 'dynprm="0.2"'),
    ('actrange="-1 1"', 'actrange="-1 0.3"'),
    ('qpos="0.5', 'qpos="0.6'),
    ('qvel="0.1 0.2 2', 'qvel="0.1 0.2 3'),
    ('ctrl="0.5', 'ctrl="0.7'),
    ('act="0.2"', 'act="0.6"'),
]  # fmt: skip


def fingerprint(folder: Path, text: str) -> np.ndarray:
    """Positions and orientations of all bodies at the start and after 0.1 s."""
    path = folder / "model.xml"
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MjcfWarning)
        simulator = Simulator(load_mjcf(path, keyframe="k"), relative_tolerance=1e-10)
    parts = [*simulator.body_states()[:2]]
    simulator.advance(0.1)
    return np.concatenate([part.ravel() for part in (*parts, *simulator.body_states()[:2])])


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    return fingerprint(tmp_path_factory.mktemp("base"), BASE)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(EDITS)))
def test_value_acts(tmp_path: Path, number: int, undamaged: np.ndarray) -> None:
    old, new = EDITS[number]
    assert BASE.count(old) == 1, old
    found = fingerprint(tmp_path, BASE.replace(old, new))
    assert found.shape != undamaged.shape or np.abs(found - undamaged).max() > 1e-6, (old, new)
