"""The experiment `touch` with a file of each kind, in one process: the finger pushes what the file describes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from haptic_experiments import graph

#: where the finger goes in the first half second: from x = y = -0.08 m along x
PLACE = "-0.04 -0.08 0.02"
URDF = f"""<robot name="press">
  <link name="frame"/>
  <link name="button"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/>
    </inertial><collision><geometry><box size="0.04 0.04 0.04"/></geometry></collision></link>
  <joint name="rail" type="prismatic"><parent link="frame"/><child link="button"/><origin xyz="{PLACE}"/>
    <axis xyz="1 0 0"/><limit lower="-0.1" upper="0.1" effort="10" velocity="5"/><dynamics damping="2"/></joint>
</robot>"""
MJCF = f"""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 0.1"/>
  <body name="brick" pos="{PLACE}"><freejoint/><geom type="box" size="0.02 0.02 0.02" mass="0.05"/></body>
</worldbody></mujoco>"""


def written(folder: Path, kind: str) -> Path:
    path = folder / f"brick.{kind}"
    if kind == "stl":
        trimesh.creation.box((0.04, 0.04, 0.04)).apply_translation((-0.04, -0.08, 0.0)).export(path)
    else:
        path.write_text(URDF if kind == "urdf" else MJCF)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "names", "touched"),
    [
        ("stl", ["brick", "table", "finger"], "brick"),
        ("urdf", ["press/button", "table", "finger"], "press/button"),
        ("xml", ["world", "brick", "finger"], "brick"),
    ],
)
def test_finger_touches_what_a_file_describes(tmp_path: Path, kind: str, names: list[str], touched: str) -> None:
    done = graph.run("touch", {"world": str(written(tmp_path, kind)), "duration": "0.6"})
    contact = done.graph.steps["contact"]
    assert [body.name for body in contact.renderer.simulator.world.bodies] == names  # type: ignore[attr-defined]
    position = np.reshape(list(done.columns["contact"]["position"]), (done.length, len(names), 3))
    body, finger = (position[:, names.index(name)] for name in (touched, "finger"))
    assert np.linalg.norm(finger[-1] - finger[0]) > 0.0 and np.isfinite(position).all()
    gap = np.linalg.norm((body - finger)[:, :2], axis=1)
    assert gap.min() > 0.02  # the finger does not go through the box
    print(
        kind, finger[0], finger[-1], body[0], body[-1], gap.min(), np.abs(done.columns["device"]["tool_wrench"]).max()
    )
