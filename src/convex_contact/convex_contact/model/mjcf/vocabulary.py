"""Elements and attributes of MJCF, by their treatment in the loader.

A kind of an element is its tag, or `actuator` for all actuators, `body` for frames and `worldbody`, with the section in
front where a tag has two meanings. Attributes are *used* (`ATTRIBUTES`), *neutral* (only a value without effect is
accepted, `NEUTRAL`), *noted* (listed in the warning), or *ignored* (pictures, names for other programs, sizes of
memory). All others are refused.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: orientations; an element has one of them at the most
ORIENTATIONS = _words("quat axisangle euler xyaxes zaxis")
_POSE = ORIENTATIONS | {"pos"}
_ACTUATOR = _words(
    "name class joint jointinparent tendon gear ctrllimited ctrlrange forcelimited forcerange inheritrange dyntype "
    "gaintype biastype dynprm gainprm biasprm actlimited actrange actearly kp kv timeconst"
)
_FLAGS = _words("constraint equality frictionloss limit contact spring damper gravity clampctrl filterparent actuation")

#: used attributes by kind
ATTRIBUTES: dict[str, frozenset[str]] = {
    "mujoco": frozenset(),
    "compiler": _words(
        "angle assetdir autolimits balanceinertia boundinertia boundmass eulerseq inertiafromgeom inertiagrouprange "
        "meshdir settotalmass strippath"
    ),
    "option": _words("timestep gravity"),
    "flag": _FLAGS,
    "default": _words("class"),
    "worldbody": frozenset(),
    "body": _POSE | _words("name childclass mocap"),
    "frame": _POSE | _words("childclass"),
    "inertial": _POSE | _words("mass diaginertia fullinertia"),
    "joint": _words("name class type pos axis range limited ref springref stiffness damping frictionloss armature"),
    "freejoint": _words("name"),
    "geom": _POSE
    | _words(
        "name class type size fromto mesh mass density contype conaffinity condim friction priority margin gap group "
        "rgba"
    ),
    "site": _POSE | _words("name class fromto"),
    "asset": frozenset(),
    "mesh": _words("name class file vertex face scale refpos refquat inertia"),
    "contact": frozenset(),
    "pair": _words("class geom1 geom2 condim friction margin gap"),
    "exclude": _words("body1 body2"),
    "tendon": frozenset(),
    "fixed": _words("name class range limited stiffness damping springlength"),
    "spatial": _words("name class range limited stiffness damping springlength"),
    "default/tendon": _words("range limited stiffness damping springlength"),
    "tendon/joint": _words("joint coef"),
    "tendon/site": _words("site"),
    "equality": frozenset(),
    "default/equality": _words("active"),
    "connect": _words("name class active body1 body2 anchor site1 site2"),
    "weld": _words("name class active body1 body2 anchor relpose site1 site2 torquescale"),
    "equality/joint": _words("name class active joint1 joint2 polycoef"),
    "equality/tendon": _words("name class active tendon1 tendon2 polycoef"),
    "actuators": frozenset(),
    "actuator": _ACTUATOR,
    "keyframe": frozenset(),
    "key": _words("name qpos qvel act ctrl mpos mquat"),
    "size": frozenset(),
}

#: attributes whose value must be one of these words, or numbers that are all 0
NEUTRAL: dict[str, dict[str, frozenset[str]]] = {
    "compiler": {"coordinate": _words("local")},
    "option": {name: frozenset() for name in ("density", "viscosity")},
    "body": {"gravcomp": frozenset()},
    "joint": {
        "margin": frozenset(),
        "actuatorfrclimited": _words("false auto"),
        "actuatorfrcrange": frozenset(),
        "actuatorgravcomp": _words("false"),
        "springdamper": frozenset(),
    },
    "geom": {"shellinertia": _words("false"), "adhesion": frozenset(), "surfacevel": frozenset()},
    "pair": {"adhesion": frozenset()},
    "freejoint": {"align": _words("false auto")},
    "actuator": {"armature": frozenset(), "damping": frozenset(), "delay": frozenset(), "cranklength": frozenset()},
    "key": {"time": frozenset()},
}
for _kind in ("fixed", "spatial", "default/tendon"):
    NEUTRAL[_kind] = {
        "margin": frozenset(), "frictionloss": frozenset(), "armature": frozenset(), "actuatorfrcrange": frozenset(),
        "actuatorfrclimited": _words("false auto"),
    }  # fmt: skip

#: attributes that are listed in the warning
NOTED_ATTRIBUTES: dict[str, frozenset[str]] = {
    "compiler": _words("alignfree"),
    "option": _words(
        "ccd_iterations ccd_tolerance cone impratio integrator iterations jacobian ls_iterations ls_tolerance "
        "noslip_iterations noslip_tolerance o_friction o_margin o_solimp o_solref sdf_initpoints sdf_iterations "
        "sleep_tolerance solver tolerance wind magnetic"
    ),
    "flag": _words(
        "autoreset diagexact eulerdamp fwdinv invdiscrete ipc island midphase multiccd nativeccd override refsafe "
        "sleep speculative warmstart"
    ),
    "joint": _words("solimpfriction solimplimit solreffriction solreflimit"),
    "geom": _words("solimp solmix solref"),
    "pair": _words("solimp solref solreffriction"),
    "body": _words("sleep"),
    "mesh": _words("maxhullvert"),
}
for _kind in ("fixed", "spatial", "default/tendon"):
    NOTED_ATTRIBUTES[_kind] = NOTED_ATTRIBUTES["joint"]
for _kind in ("default/equality", "connect", "weld", "equality/joint", "equality/tendon"):
    NOTED_ATTRIBUTES[_kind] = _words("solimp solref")

#: attributes of pictures, names for other programs, numbers without a meaning for the motion
IGNORED_ATTRIBUTES: dict[str, frozenset[str]] = {
    "mujoco": _words("model"),
    "compiler": _words(
        "texturedir discardvisual fusestatic fitaabb usethread savecanonical savecompiled saveinertial conflict"
    ),
    "flag": _words("energy sensor"),
    "body": _words("user simple fuse"),
    "frame": _words("name"),
    "joint": _words("group user"),
    "freejoint": _words("group"),
    "geom": _words("castshadow hfield material user fluidcoef fluidshape fitscale"),
    "site": _words("group material mesh rgba size type user"),
    "mesh": _words("content_type material normal smoothnormal texcoord"),
    "pair": _words("name"),
    "exclude": _words("name"),
    "actuator": _words("group lengthrange nsample interp user"),
    "size": _words(
        "memory nconmax njmax nkey nstack nuser_actuator nuser_body nuser_cam nuser_geom nuser_jnt nuser_sensor "
        "nuser_site nuser_tendon nuserdata"
    ),
}
for _kind in ("fixed", "spatial", "default/tendon"):
    IGNORED_ATTRIBUTES[_kind] = _words("group material rgba user width")

_ACTUATORS = _words("general motor position velocity intvelocity damper")
_TREE = {name: name for name in ("body", "frame", "geom", "site", "joint", "freejoint")}

#: kinds of the children of a kind, by tag
CHILDREN: dict[str, dict[str, str]] = {
    "mujoco": {name: name for name in (
        "compiler", "option", "size", "default", "worldbody", "asset", "contact", "tendon", "equality", "keyframe"
    )} | {"actuator": "actuators"},
    "option": {"flag": "flag"},
    "default": {name: name for name in ("default", "geom", "joint", "site", "mesh", "pair")}
    | {"tendon": "default/tendon", "equality": "default/equality"}
    | dict.fromkeys(_ACTUATORS, "actuator"),
    "worldbody": {name: name for name in ("body", "frame", "geom", "site")},
    "body": _TREE | {"inertial": "inertial"},
    "frame": _TREE,
    "asset": {"mesh": "mesh"},
    "contact": {"pair": "pair", "exclude": "exclude"},
    "tendon": {"fixed": "fixed", "spatial": "spatial"},
    "fixed": {"joint": "tendon/joint"},
    "spatial": {"site": "tendon/site"},
    "equality": {"connect": "connect", "weld": "weld", "joint": "equality/joint", "tendon": "equality/tendon"},
    "actuators": dict.fromkeys(_ACTUATORS, "actuator"),
    "keyframe": {"key": "key"},
}  # fmt: skip

#: elements that are listed in the warning
NOTED_ELEMENTS = _words("sensor")
#: elements of pictures, and of data for other programs
IGNORED_ELEMENTS = _words("visual statistic custom texture material camera light skin lengthrange hfield")
