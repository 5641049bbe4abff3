"""Worlds from MJCF files."""

from __future__ import annotations

from pathlib import Path

from convex_contact.model.materials import Material
from convex_contact.model.mjcf.actuators import add_actuators, read_actuators
from convex_contact.model.mjcf.bodies import read_bodies
from convex_contact.model.mjcf.contacts import read_contacts, set_pairs
from convex_contact.model.mjcf.defaults import Defaults
from convex_contact.model.mjcf.document import MjcfDocument, read_mjcf
from convex_contact.model.mjcf.equalities import add_equalities, read_equalities, sums
from convex_contact.model.mjcf.keyframes import find_keyframe, set_keyframe
from convex_contact.model.mjcf.settings import compiler, options
from convex_contact.model.mjcf.tendons import add_tendons, read_tendons
from convex_contact.model.mjcf.trees import Builder
from convex_contact.model.world import World, WorldError
from convex_contact.model.xml_document import XmlError, warn_user
from haptic_files import FileError


class MjcfWarning(UserWarning):
    """An MJCF file has parts that are not simulated."""


def load_mjcf(
    path: str | Path, keyframe: str | int | None = None, *, material: Material | None = None
) -> World:  # fmt: skip
    """Loads the world of an MJCF file, in its initial state.

    Bodies have the names of the file. A freely moving body without joints to others is a free body;
    other bodies with joints are links of trees, which are named after the first body. The coordinate of a hinge [rad]
    or slide [m] is that of MuJoCo; quaternions are (x, y, z, w), and the velocity [linear; angular] of a free joint of
    a tree is along the body's axes. `World.period` is the file's time step. `Simulator.actuator` gives the actuators.

    Args:
        path: of the file; includes and meshes are found from its folder.
        keyframe: name or number of the keyframe that gives the initial state; None: the pose of the file, at rest.
        material: of all surfaces; friction is that of the file.

    Raises:
        WorldError: the file is wrong, or has a part that is not supported; one line with its name, line and element.

    Warns:
        MjcfWarning: Parts of the file are not simulated.

    Examples:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from convex_contact import load_mjcf
        >>> body = '<body name="ball"><freejoint/><geom size="0.1" mass="2"/></body>'
        >>> with TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "ball.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
        ...     world = load_mjcf(Path(folder) / "ball.xml")
        >>> world.bodies[world.number("ball")].inertia.diagonal().round(6).tolist()  # 2/5 m r^2
        [0.008, 0.008, 0.008]
    """
    file = Path(path)
    try:
        document = read_mjcf(file)
        world = _world(document, keyframe, material or Material())
    except FileError as error:
        raise WorldError(str(error)) from None
    except (XmlError, WorldError) as error:
        raise WorldError(f"{file.name}: {error}") from None
    text = document.notes.text()
    if text:
        warn_user(f"{file.name}: not simulated: {text}", MjcfWarning)
    return world


def _world(document: MjcfDocument, keyframe: str | int | None, material: Material) -> World:
    defaults = Defaults(document.sections.get("default", []))
    settings, simulation = compiler(document), options(document)
    model = read_bodies(document, defaults, settings, simulation)
    contacts = read_contacts(document, defaults, model, simulation)
    tendons = read_tendons(document, defaults, model, settings, simulation)
    actuators = read_actuators(document, defaults, model, tendons, settings, simulation)
    equalities = read_equalities(document, defaults, simulation)
    world = World(simulation.gravity)
    world.period = simulation.timestep
    coupled = [list(tendon.joints) for tendon in tendons.values() if tendon.joints]
    for element in equalities:
        if element.tag in ("joint", "tendon"):
            first, second = sums(element, model, tendons)
            coupled.append([*first, *second])
    builder = Builder(model, contacts, material, world)
    builder.build(coupled)
    add_tendons(world, tendons, builder.indices)
    add_equalities(world, equalities, model, tendons, builder, document.notes)
    if simulation.has("actuation"):
        add_actuators(world, actuators, builder.indices)
    if keyframe is not None:
        set_keyframe(world, find_keyframe(document, keyframe), model, builder.indices, actuators)
    set_pairs(world, contacts, builder.indices.shapes, document)
    return world
