"""Collisions between geoms and the friction of their pairs: bits, exclusions, listed pairs.

In MuJoCo the geom with the larger priority determines the friction of a pair; with equal priorities the larger
coefficient counts. Materials of a world have another rule, so that coefficients which differ from it are set for the
pair of bodies.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations

from convex_contact.model.materials import Material, harmonic_mean
from convex_contact.model.mjcf.bodies import MjcfBody, MjcfModel
from convex_contact.model.mjcf.defaults import Defaults
from convex_contact.model.mjcf.document import MjcfDocument, choice, numbers_up_to
from convex_contact.model.mjcf.geoms import MjcfGeom
from convex_contact.model.mjcf.settings import Options
from convex_contact.model.world import World
from convex_contact.model.xml_document import Element

#: coefficient of friction and torsional friction [m] of a pair
Friction = tuple[float, float]


@dataclass
class Contacts:
    """Rules of collision in a file.

    Attributes:
        pairs: friction of listed pairs of geoms.
        excluded: pairs of bodies that do not collide.
        enabled: contact is enabled at all.
        filter_parents: bodies do not collide with their parent.
        body: body of each geom.
    """

    enabled: bool
    filter_parents: bool
    body: dict[MjcfGeom, MjcfBody]
    pairs: dict[frozenset[MjcfGeom], Friction] = field(default_factory=dict)
    excluded: set[frozenset[MjcfBody]] = field(default_factory=set)

    def has_shape(self, geom: MjcfGeom) -> bool:
        """Returns whether a geom can collide; other geoms are only drawn."""
        return bool(geom.contype or geom.conaffinity) or any(geom in pair for pair in self.pairs)

    def collide(self, one: MjcfGeom, two: MjcfGeom) -> bool:
        """Returns whether two geoms collide."""
        a, b = self.body[one], self.body[two]
        if not self.enabled or a.root is b.root or not (a.moved or b.moved):
            return False
        if self.pairs and frozenset((one, two)) in self.pairs:
            return True
        if not (one.contype & two.conaffinity or two.contype & one.conaffinity):
            return False
        if self.excluded and frozenset((a, b)) in self.excluded:
            return False
        return not (self.filter_parents and a.moved and b.moved and (_moves_in(a, b) or _moves_in(b, a)))

    def friction(self, one: MjcfGeom, two: MjcfGeom) -> Friction:
        """Returns the friction of a pair of geoms."""
        pair = self.pairs.get(frozenset((one, two))) if self.pairs else None
        return automatic(one, two) if pair is None else pair


def _moves_in(one: MjcfBody, other: MjcfBody) -> bool:
    """Returns whether the joints of a body connect it with another one."""
    return one.root.parent is not None and one.root.parent.root is other.root


def automatic(one: MjcfGeom, two: MjcfGeom) -> Friction:
    """Returns the friction of two geoms without a listed pair."""
    if one.priority != two.priority:
        strong = one if one.priority > two.priority else two
        return surface(strong.condim, strong.friction)
    larger = tuple(max(x, y) for x, y in zip(one.friction, two.friction, strict=True))
    return surface(max(one.condim, two.condim), larger)


def surface(condim: int, friction: tuple[float, ...]) -> Friction:
    """Returns coefficient and torsional friction [m] of a contact with condim dimensions."""
    return friction[0] if condim >= 3 else 0.0, friction[1] if condim >= 4 else 0.0


def read_contacts(document: MjcfDocument, defaults: Defaults, model: MjcfModel, options: Options) -> Contacts:
    """Reads the rules of a file.

    Raises:
        XmlError: a pair or an exclusion is wrong.
    """
    body = {geom: body for body in model.bodies for geom in body.geoms}
    contacts = Contacts(options.has("contact"), options.has("filterparent"), body)
    for given in document.sections.get("contact", []):
        if given.tag == "exclude":
            names = [given.name(name) for name in ("body1", "body2")]
            for attribute, name in zip(("body1", "body2"), names, strict=True):
                if name not in model.body:
                    raise given.error("expected the name of a body, got that of none", attribute)
            contacts.excluded.add(frozenset(model.body[name] for name in names))
            continue
        element = defaults.resolved(given)
        geoms = []
        for attribute in ("geom1", "geom2"):
            geom = model.geom.get(element.name(attribute))
            if geom is None:
                raise element.error("expected the name of a geom, got that of none", attribute)
            geoms.append(geom)
        if geoms[0] is geoms[1]:
            raise element.error("expected two geoms, got the same one twice")
        contacts.pairs[frozenset(geoms)] = _pair_friction(element, geoms[0], geoms[1])
        if element.number("margin", "0") != element.number("gap", "0"):
            document.notes.add(element, "margin")
    return contacts


def _pair_friction(element: Element, one: MjcfGeom, two: MjcfGeom) -> Friction:
    strongest = max(one.condim, two.condim)
    if one.priority != two.priority:
        strongest = max(one, two, key=lambda geom: geom.priority).condim
    condim = int(choice(element, "condim", ("1", "3", "4", "6"), str(strongest)))
    if "friction" not in element.attributes:
        larger = max(one.friction[0], two.friction[0]), max(one.friction[1], two.friction[1])
        if one.priority != two.priority:
            larger = max(one, two, key=lambda geom: geom.priority).friction[:2]  # type: ignore[assignment]
        return surface(condim, larger)
    values = numbers_up_to(element, "friction", 5)
    if min(values) < 0.0:
        raise element.error(f"expected numbers of 0 or more, got {min(values):g}", "friction")
    if len(values) > 1 and values[0] != values[1]:
        raise element.error("expected the same friction along both tangents, got two", "friction")
    return surface(condim, (values[0], values[2] if len(values) > 2 else 0.005))


def material_of(geom: MjcfGeom, base: Material) -> Material:
    """Returns the material of a geom: its friction, and the other values of a base material."""
    friction, torsional = surface(geom.condim, geom.friction)
    return replace(base, friction=friction, static_friction=None, torsional_friction=torsional)


def set_pairs(world: World, contacts: Contacts, shapes: dict[int, list[MjcfGeom]], document: MjcfDocument) -> None:
    """Writes into a world which geometries do not collide, and friction that differs from the materials' rule.

    Args:
        world: the world.
        contacts: rules of the file.
        shapes: geoms of each body of the world, in the order of its geometries.
        document: its notes list friction that cannot be set.
    """
    for i, j in combinations(sorted(shapes), 2):
        one, two = shapes[i], shapes[j]
        pairs = [(x, y) for x in range(len(one)) for y in range(len(two))]
        colliding = {(x, y) for x, y in pairs if contacts.collide(one[x], two[y])}
        if not colliding:
            world.disable_pair(i, j)
            continue
        world.disabled_geometries |= {((i, x), (j, y)) for x, y in pairs if (x, y) not in colliding}
        wanted = {(x, y): contacts.friction(one[x], two[y]) for x, y in colliding}
        ruled = {(x, y): _combined(one[x], two[y]) for x, y in colliding}
        if all(_close(wanted[pair], ruled[pair]) for pair in colliding):
            continue
        values = set(wanted.values())
        if len(values) == 1:
            friction, torsional = values.pop()
            world.set_pair(i, j, friction=friction, torsional_friction=torsional)
        else:
            document.notes.add(contacts.body[one[0]].element, "friction that differs between geoms")


def _combined(one: MjcfGeom, two: MjcfGeom) -> Friction:
    """Returns the friction of two surfaces by the materials' rule."""
    a, b = surface(one.condim, one.friction), surface(two.condim, two.friction)
    return harmonic_mean(a[0], b[0]), harmonic_mean(a[1], b[1])


def _close(a: Friction, b: Friction) -> bool:
    return all(abs(x - y) <= 1e-12 * max(x, y) for x, y in zip(a, b, strict=True))
