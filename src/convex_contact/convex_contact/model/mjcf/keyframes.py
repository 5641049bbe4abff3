"""Keyframes: states of a file, in MuJoCo's order of coordinates, as the initial state of a world."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from convex_contact.model.mjcf.actuators import MjcfActuator
from convex_contact.model.mjcf.bodies import MjcfBody, MjcfModel
from convex_contact.model.mjcf.document import MjcfDocument
from convex_contact.model.mjcf.joints import COORDINATES, VELOCITIES
from convex_contact.model.mjcf.trees import WorldIndices
from convex_contact.model.tendons import TendonActuator
from convex_contact.model.world import Pose, World
from convex_contact.model.xml_document import Element, XmlError


def find_keyframe(document: MjcfDocument, keyframe: str | int) -> Element:
    """Finds a keyframe by its name or number.

    Raises:
        XmlError: there is none.
    """
    keys = document.sections.get("keyframe", [])
    if type(keyframe) is int:  # and no truth value
        if not 0 <= keyframe < len(keys):
            raise XmlError(f"keyframe: expected a number below {len(keys)}, got {keyframe}")
        return keys[keyframe]
    found = [key for key in keys if key.attributes.get("name") == keyframe]
    if len(found) != 1:
        names = [key.name() for key in keys if "name" in key.attributes]
        raise XmlError(f"keyframe: expected one of {', '.join(names) or 'none'}, got {keyframe!r}")
    return found[0]


def set_keyframe(
    world: World, key: Element, model: MjcfModel, indices: WorldIndices, actuators: list[MjcfActuator]
) -> None:  # fmt: skip
    """Sets the initial state of a world to a keyframe.

    Args:
        world: the world.
        key: the keyframe.
        model: bodies of the file.
        indices: their numbers in the world.
        actuators: of the file.

    Raises:
        XmlError: the keyframe has another number of values than the file.
    """
    joints = [(body, joint) for body in model.bodies for joint in body.joints]
    q = _values(key, "qpos", sum(COORDINATES[joint.kind] for _, joint in joints))
    v = _values(key, "qvel", sum(VELOCITIES[joint.kind] for _, joint in joints))
    i = j = 0
    for body, joint in joints:
        n, m = COORDINATES[joint.kind], VELOCITIES[joint.kind]
        position = None if q is None else q[i : i + n].copy()
        velocity = None if v is None else v[j : j + m]
        if position is not None and n > 1:
            quaternion = position[-4:]
            if not np.linalg.norm(quaternion) > 1e-9:
                raise key.error("expected quaternions that are not 0, got one that is", "qpos")
            w, x, y, z = quaternion / np.linalg.norm(quaternion)
            position[-4:] = x, y, z, w
        if body in indices.free:
            _set_free(world, indices.body[body], position, velocity)
        else:
            _set_joint(world, indices.joint[joint], position, velocity)
        i, j = i + n, j + m
    _set_mocap(world, key, model, indices)
    _set_signals(world, key, actuators)


def _values(key: Element, attribute: str, count: int) -> np.ndarray | None:
    return np.array(key.numbers(attribute, count)) if attribute in key.attributes else None


def _set_free(world: World, number: int, position: np.ndarray | None, velocity: np.ndarray | None) -> None:
    """Sets the state of a free body; the angular velocity of a free joint in a file is along the body's axes."""
    body = world.bodies[number]
    if position is not None:
        body.placement = Pose.of(position[:3], position[3:], body.name)
    if velocity is not None:
        body.velocity, body.angular_velocity = velocity[:3].copy(), body.placement.rotation @ velocity[3:]


def _set_joint(world: World, index: tuple[int, int], position: np.ndarray | None, velocity: np.ndarray | None) -> None:
    """Sets the state of a joint, given by the numbers of its tree and in its model.

    Pinocchio's velocity of a free joint is along the body's axes.
    """
    tree = world.trees[index[0]]
    made = tree.model.model.joints[index[1]]
    if position is not None:
        tree.q[made.idx_q : made.idx_q + len(position)] = position
    if velocity is not None:
        velocity = velocity.copy()
        if made.nv == 6:
            x, y, z, w = tree.q[made.idx_q + 3 : made.idx_q + 7]
            velocity[:3] = pin.Quaternion(w, x, y, z).matrix().T @ velocity[:3]
        tree.v[made.idx_v : made.idx_v + len(velocity)] = velocity


def _set_mocap(world: World, key: Element, model: MjcfModel, indices: WorldIndices) -> None:
    bodies: list[MjcfBody] = [body for body in model.bodies if body.mocap]
    positions, quaternions = _values(key, "mpos", 3 * len(bodies)), _values(key, "mquat", 4 * len(bodies))
    for i, each in enumerate(bodies):
        body = world.bodies[indices.body[each]]
        position, orientation = body.placement.position, body.placement.orientation
        if positions is not None:
            position = positions[3 * i : 3 * i + 3]
        if quaternions is not None:
            w, x, y, z = quaternions[4 * i : 4 * i + 4]
            if not np.linalg.norm((x, y, z, w)) > 1e-9:
                raise key.error("expected quaternions that are not 0, got one that is", "mquat")
            orientation = np.array([x, y, z, w])
        body.placement = Pose.of(position, orientation, body.name)


def _set_signals(world: World, key: Element, actuators: list[MjcfActuator]) -> None:
    """Sets controls and activations of the actuators."""
    controls = _values(key, "ctrl", len(actuators))
    active = [actuator for actuator in actuators if actuator.has_activation]
    activations = _values(key, "act", len(active))
    laws = {law.name: law for law in world.joint_laws if isinstance(law, TendonActuator)}
    for values, group, name in ((controls, actuators, "control"), (activations, active, "activation")):
        if values is not None:
            for value, actuator in zip(values, group, strict=True):
                if actuator.name in laws:  # actuators may be disabled
                    setattr(laws[actuator.name], name, float(value))
