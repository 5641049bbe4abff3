"""Tables of measurements in the pages of experiments with several rendering nodes, from the recorded metrics."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

METRICS = Path(__file__).parent / "results" / "metrics"


def table(*rows: tuple[str, ...]) -> str:
    """Formats rows of cells as a table, of which the first row is the heading."""
    head, *body = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, f"| {' | '.join(['---'] * len(rows[0]))} |", *body])


def _recorded(name: str) -> dict[str, Any]:
    return json.loads((METRICS / f"{name}.json").read_text())  # type: ignore[no-any-return]


def _delays(name: str, rows: Mapping[str, Callable[[dict[str, Any]], str]]) -> str:
    """Makes a table with a column for the run without delay and one for that with a tick of delay."""
    runs = [_recorded(name)["runs"][key] for key in ("bag", "bag_one_tick_delay")]
    return table(
        ("", "no delay", "one tick of delay"), *((label, *(row(run) for run in runs)) for label, row in rows.items())
    )


def _numbers(form: str, scale: float, *values: float) -> str:
    return "; ".join(f"{scale * value:{form}}" for value in values)


def _tap(index: int) -> Callable[[dict[str, Any]], str]:
    def cell(run: dict[str, Any]) -> str:
        tap = run["taps"][index]
        depth, force, speed = tap["penetration"], tap["peak_force"], tap["rebound"]
        return f"{1e3 * depth:.2f} mm, {force:.1f} N, {speed:.3f} m/s"

    return cell


def _extreme(choose: Callable[..., float], field: str, rest: bool | None = None) -> Callable[[dict[str, Any]], float]:
    return lambda run: choose(
        phase[field] for name, phase in run["groove"].items() if rest is None or name.startswith("rest") == rest
    )


def dental_probe() -> str:
    """Makes the table of the runs of dental_probe."""
    sideways, depth = _extreme(max, "sideways"), _extreme(max, "depth")
    resting, sliding = _extreme(min, "both_flanks", rest=True), _extreme(min, "both_flanks", rest=False)
    rows: dict[str, Callable[[dict[str, Any]], str]] = {
        "tap 0.03 m/s at the touch: largest depth, largest force, speed afterwards": _tap(0),
        "0.10 m/s": _tap(1),
        "0.22 m/s": _tap(2),
        "force over depth of the taps [kN/m]": lambda run: " to ".join(
            f"{1e-3 * choose(tap['stiffness'] for tap in run['taps']):.0f}" for choose in (min, max)
        ),
        "tip beside the groove's line; largest depth in it [µm]": lambda run: _numbers(
            ".0f", 1e6, sideways(run), depth(run)
        ),
        "both flanks in contact: resting; sliding [% of ticks]": lambda run: _numbers(
            ".1f", 100.0, resting(run), sliding(run)
        ),
        "largest change of torque in a tick; on a flat wall [mN m]": lambda run: _numbers(
            ".0f", 1e3, run["jerk"]["tooth"], run["jerk"]["flat_wall"]
        ),
        "largest line above the tremor, resting in the groove and in the pit; on the flat wall [mN]": lambda run: (
            "; ".join(
                ", ".join(f"{1e3 * phase[where]:.0f}" for phase in run["ringing"].values())
                for where in ("tooth", "flat_wall")
            )
        ),
        "energy given to the tool at any time; in the end [mJ]": lambda run: _numbers(
            ".1f", 1e3, run["energy"]["given_at_the_most"], run["energy"]["net"]
        ),
        "stiffest friction at rest in the groove, split; implicit [kN/m]": lambda run: _numbers(
            ".0f", 1e-3, run["stable_stiffness"]["split"], run["stable_stiffness"]["implicit"]
        ),
        "tip apart from one implicit step: in the groove; in all [mm]": lambda run: _numbers(
            ".3f", 1e3, run["against_implicit"]["motion_in_the_groove"], run["against_implicit"]["motion"]
        ),
        "friction apart from it [N]; its energy [mJ], of [mJ]": lambda run: (
            f"{run['against_implicit']['friction']:.2f}; {1e3 * run['against_implicit']['dissipated']:.2f}, "
            f"{1e3 * run['energy']['friction']:.1f}"
        ),
    }
    return _delays("dental_probe", rows)


def joystick_paths() -> str:
    """Makes the table of joystick_stick_slip beside one implicit step."""

    def apart(field: str, scale: float, form: str) -> Callable[[dict[str, Any]], str]:
        return lambda run: " / ".join(
            f"{scale * run['against_implicit'][key]:{form}}" for key in (field, f"{field}_rms")
        )

    def energy(*fields: str) -> Callable[[dict[str, Any]], str]:
        return lambda run: ", ".join(f"{1e3 * run['energy'][field]:.1f}" for field in fields)

    return _delays(
        "joystick_stick_slip",
        {
            "tool apart, largest / RMS [µm]": apart("tool", 1e6, ".0f"),
            "slabs apart, largest / RMS [µm] (they move 38 and 19 mm)": apart("position", 1e6, ".0f"),
            "forces apart, largest / RMS [N]; the largest is where a contact begins to slide": apart(
                "force", 1.0, ".2g"
            ),
            "work of the tool [mJ]": energy("work"),
            "stored at the end, dissipated by friction, damped [mJ]": energy("stored", "rubbed", "damped"),
            "not accounted for, split / implicit [mJ]": lambda run: " / ".join(
                f"{1e3 * run[key]['open']:.1f}" for key in ("energy", "energy_implicit")
            ),
            "least of work less stored [mJ]; one count of the encoders against 5 N is 0.06": lambda run: (
                f"{1e3 * run['energy']['least_loss']:.2g}"
            ),
        },
    )


def joystick_changes() -> str:
    """Makes the table of the changes between sticking and sliding of joystick_stick_slip."""

    def changes(key: str) -> Callable[[dict[str, Any]], str]:
        return lambda run: ", ".join(str(contact["changes"]) for contact in run["transitions"][key])

    return _delays(
        "joystick_stick_slip",
        {
            "the run": changes("run"),
            "one implicit step": changes("implicit"),
            "split, led by the tool's true velocity": changes("split_without_counts"),
            "one implicit step of T/16, led so": changes("fine_without_counts"),
        },
    )


def joystick_limits() -> str:
    """Makes the table of the lightest slabs of joystick_stick_slip."""
    margins = _recorded("joystick_stick_slip")["margins"]
    rows = [
        (
            label,
            f"map {found['one_tick']['stuck_map']:.3f}, simulated {found['one_tick']['simulated']:.3f}",
            f"{found['two_ticks']['stuck_map']:.3f}, {found['two_ticks']['simulated']:.3f}",
            f"quiet down to {found['implicit']:g}, the least that was tried",
        )
        for label, found in (("the paper's twice", margins["paper"]), ("this scene's", margins["run"]))
    ]
    return table(("contacts", "one tick late", "two ticks late", "implicit"), *rows)


def cobot_limits() -> str:
    """Makes the table of the lightest tools of cobot_guided_tool."""
    rows = [
        (
            f"{limit['stiffness']:.0e}".replace("e+0", "e") + " N/m",
            f"{1e3 * limit['split']:.1f} g",
            f"{1e3 * limit['closed_form']:.1f} g",
            "quiet at a hundredth of it" if limit["implicit_varies"] < 1e-3 else "restless",
        )
        for limit in _recorded("cobot_guided_tool")["limits"]
    ]
    head = ("contact stiffness, M = 0.15 kg, d = 0", "lightest tool, measured", "closed form", "in one implicit step")
    return table(head, *rows)


def cobot_tools() -> str:
    """Makes the table of lighter tools of cobot_guided_tool."""
    tools = _recorded("cobot_guided_tool")["lighter"]
    return table(
        ("tool [kg]", *(f"{tool['mass']:g}" for tool in tools)),
        ("contact force from tick to tick in the first push, nodes [N]", *(f"{tool['split']:.2f}" for tool in tools)),
        ("one implicit step [N]", *(f"{tool['implicit']:.2f}" for tool in tools)),
    )


def cobot_paths() -> str:
    """Makes the table of cobot_guided_tool beside one implicit step."""
    run = _recorded("cobot_guided_tool")["runs"]["bag"]
    apart, energy = run["against_implicit"], run["energy"]
    ends = zip(run["way"].items(), apart["bodies_end"], strict=True)
    moved = [end for (name, way), end in ends if way > 0.0 and name != "tool"]
    added = energy["contact_made"] + energy["friction_made"]
    taken = -energy["contact"] - energy["friction"]
    return table(
        ("", "nodes against one implicit step"),
        ("reference", f"{1e6 * apart['motion']:.0f} µm apart at the most"),
        ("bodies in the end", f"{1e3 * max(moved):.2f} mm at the most, after paths of 5 to 15 cm"),
        (
            "contact force",
            f"{apart['contact']:.1f} N at the most, in a tick in which a body is struck; contacts reach "
            f"{run['largest_contact']:.0f} N",
        ),
        ("friction", f"{apart['friction']:.2f} N"),
        (
            "energy that the tick of delay adds",
            f"{1e3 * added:+.1f} mJ, {100 * added / taken:.2f} % of what contacts ({-1e3 * energy['contact']:.0f} mJ) "
            f"and friction ({-1e3 * energy['friction']:.0f} mJ) take",
        ),
        (
            "resting, pressed: contact force from tick to tick, nodes and implicit",
            f"{run['chatter']:.3f} N, {run['chatter_implicit']:.3f} N",
        ),
    )


def _boxes(part: str, cell: Callable[[dict[str, Any]], str]) -> str:
    cases = _recorded("tau_touch_world")["runs"]["bag"]["margins"][part]
    masses = list(cases["nodes"])
    rows = [(label, *(cell(case[mass]) for mass in masses)) for label, case in cases.items()]
    return table(("box of", *(f"{1e3 * float(mass):.0f} g" for mass in masses)), *rows)


def touch_pushed() -> str:
    """Makes the table of boxes of tau_touch_world that are pushed by their side."""

    def cell(case: dict[str, float]) -> str:
        cut = f" (cut {1e3 * case['cut_work']:+.2f} mJ)" if case["cut_work"] else ""
        return f"{100 * case['contact']:.1f} %, {1e3 * case['push_work']:+.2f} mJ{cut}"

    return _boxes("pushed", cell)


def touch_pressed() -> str:
    """Makes the table of the depth in the top of boxes of tau_touch_world."""
    return _boxes("pressed", lambda case: f"{1e3 * case['depth']:.2f} mm")


#: tables by name: experiment, function
SCENE_TABLES: Mapping[str, tuple[str, Callable[[], str]]] = {
    "runs of the probe": ("dental_probe", dental_probe),
    "paths and energy": ("joystick_stick_slip", joystick_paths),
    "changes between sticking and sliding": ("joystick_stick_slip", joystick_changes),
    "lightest slabs": ("joystick_stick_slip", joystick_limits),
    "lightest tools": ("cobot_guided_tool", cobot_limits),
    "lighter tools": ("cobot_guided_tool", cobot_tools),
    "paths and forces": ("cobot_guided_tool", cobot_paths),
    "pushed boxes": ("tau_touch_world", touch_pushed),
    "pressed boxes": ("tau_touch_world", touch_pressed),
}
