"""No message, however wrong, ends a node or makes it answer with what is no number; the long version is a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import KeyValue
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rclpy.context import Context
from rclpy.serialization import serialize_message
from std_msgs.msg import Header, String

from haptic_core.cdr import encoder
from haptic_core.start.handshake import StartHandshake
from haptic_devices.control.node import ControlNode
from haptic_msgs.msg import DeviceState, TickEvent
from haptic_verification.fuzz.messages import KINDS, Barrage, FoundError, Port, Subject
from haptic_verification.fuzz.subjects import SUBJECTS, device_state, make_subject

#: a node of each kind, which the tests without --all are about
SAMPLE = ("friction", "device, joystick", "recorder")
#: kind, which of the ports, seed
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 7), st.integers(0, 2**32)), min_size=10, max_size=40)


def event_of(source: str, values: dict[str, str]) -> TickEvent:
    """An event of kind "state" with these values."""
    entries = [KeyValue(key=key, value=value) for key, value in values.items()]
    return TickEvent(source=source, kind="state", values=entries)


@pytest.fixture(scope="module")
def barrage_of(context: Context) -> Iterator[Callable[[str], Barrage]]:
    made: list[Subject] = []

    def make(name: str) -> Barrage:
        made.append(make_subject(name, context))
        return Barrage(made[-1])

    yield make
    for subject in made:
        subject.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.fuzz) for name in SUBJECTS]
)
def test_bad_messages_are_refused_and_good_ones_are_answered_after_them(
    name: str, barrage_of: Callable[[str], Barrage]
) -> None:
    barrage = barrage_of(name)

    # what is found names its seed; to make it smaller takes minutes
    @settings(max_examples=16, phases=[Phase.explicit, Phase.generate])
    @given(STEPS)
    def holds(steps: list[tuple[str, int, int]]) -> None:
        for kind, port, seed in steps:
            barrage.send(kind, barrage.subject.ports[port % len(barrage.subject.ports)], seed)
        for _ in range(3):
            barrage.good()

    holds()
    assert barrage.sent > 200
    assert sum(barrage.subject.rejections.values()) > 20
    assert {kind for (_, kind), told in barrage.counts.items() if told["sent"]} >= {"good"}


class Careless:
    """A node that looks at nothing that it is sent; what it does wrong is its `fault`."""

    def __init__(self, fault: str) -> None:
        self.fault, self.last = fault, -1
        self.output: list[tuple[str, Any]] = []
        port = Port("device_state", lambda tick: device_state(tick, 2), self.take, serialised=False)
        self.subject = Subject(
            fault, [port], lambda: self.last + 1, Counter(), self.output, lambda tick: fault != "mute"
        )

    def take(self, message: Any) -> None:
        self.last += 1
        if self.fault == "raises":
            raise KeyError("x")
        self.output.append(("device_command", False if self.fault == "not finite" else (message.tick, 2)))


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("raises", "good raised KeyError: 'x'"),
        ("not finite", "made device_command not finite"),
        ("mute", "no answer to good messages of tick"),
    ],
)
def test_the_barrage_finds_what_a_node_does_wrong(fault: str, told: str) -> None:
    with pytest.raises(FoundError, match=told):
        Barrage(Careless(fault).subject).good()


def test_the_barrage_finds_a_bad_message_that_was_taken() -> None:
    careless = Careless("")
    barrage = Barrage(careless.subject)
    barrage.good()
    with pytest.raises(FoundError, match=r"device_state: not finite \(seed 3\) was taken"):
        barrage.send("not finite", careless.subject.ports[0], 3)


# ---- what was found, one by one -------------------------------------------------------------------


@pytest.fixture(scope="module")
def subject_of(barrage_of: Callable[[str], Barrage]) -> Callable[[str], Subject]:
    made: dict[str, Subject] = {}

    def make(name: str) -> Subject:
        if name not in made:
            made[name] = barrage_of(name).subject
        return made[name]

    return make


def port_of(subject: Subject, name: str) -> Port:
    (port,) = [port for port in subject.ports if port.name == name]
    return port


@pytest.mark.parametrize("tick", [2**63, 2**64 - 1])
def test_a_tick_beyond_what_64_bits_with_a_sign_hold_ends_no_node(
    subject_of: Callable[[str], Subject], tick: int
) -> None:
    for name, port in (("device, joystick", "one"), ("friction", "device_state"), ("friction, on walls", "wall")):
        subject = subject_of(name)
        message = port_of(subject, port).make(subject.tick())
        message.tick = tick
        port_of(subject, port).take(serialize_message(message))
        Barrage(subject).good()


@pytest.mark.parametrize("values", [{"a": "1", "a/b": "1"}, {"state": "active"}, {"parameters/inputs": "3"}])
def test_nonsense_of_a_source_is_refused_by_the_device_and_by_the_player(
    subject_of: Callable[[str], Subject], values: dict[str, str]
) -> None:
    event = event_of("one", values)
    subject = subject_of("device, joystick")
    before = subject.rejections["malformed"]
    port_of(subject, "tick_event").take(event)
    assert subject.rejections["malformed"] == before + 1
    refused: list[str] = []
    player: Any = SimpleNamespace(parameters={"sources": ["one"]}, create_subscription=lambda *_: None)
    player.reject = lambda kind, text: refused.append(kind)
    handshake = StartHandshake(player)
    handshake.take_event(event)
    assert refused == ["malformed"] and handshake.states == {}


def test_nonsense_of_the_controller_does_not_end_its_process() -> None:
    told: list[str] = []
    log = SimpleNamespace(error=told.append)
    node: Any = SimpleNamespace(_name="device", finished=False, get_logger=lambda: log, _end=told.append)
    for values in ({"a": "1", "a/b": "1"}, {"/": "", "": "1"}, {}):
        ControlNode._on_event(node, event_of("device", values))
    assert len(told) == 2 and all("rejected: event of device" in line for line in told)
    ControlNode._on_event(node, event_of("device", {"state": "failed"}))
    assert told[-1] == "the controller gave up"


@pytest.mark.parametrize("period", [5e-324, 1e-308])
def test_an_impulse_over_next_to_no_time_is_no_load(subject_of: Callable[[str], Subject], period: float) -> None:
    """1 mN s over 5e-324 s is an infinite force: refused, and answered with NONE."""
    subject = subject_of("friction, on contacts")
    contacts = port_of(subject, "contact:contacts")
    before, tick = subject.rejections["unusable load"], subject.tick()
    message = contacts.make(tick)
    message.period = period
    state = port_of(subject, "device_state")
    state.take(state.make(tick))
    contacts.take(message)
    assert subject.rejections["unusable load"] == before + 1
    Barrage(subject).good()


@pytest.mark.parametrize("place", [1e308, -2e3, float("nan")])
def test_a_hand_is_not_led_where_no_hand_is(subject_of: Callable[[str], Subject], place: float) -> None:
    subject = subject_of("device, joystick")
    port, before = port_of(subject, "operator_handle"), subject.rejections["operator_handle"]
    message = port.make(0)
    message.pose.position.y = place
    port.take(message)
    assert subject.rejections["operator_handle"] == before + 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x01\x00\x00",
        encoder(DeviceState)(device_state(3, 6))[:17],
        encoder(DeviceState)(DeviceState(header=Header(stamp=Time(sec=-1)))),
    ],
)
def test_the_recorder_leaves_out_what_has_no_time_or_tick(subject_of: Callable[[str], Subject], data: bytes) -> None:
    subject = subject_of("recorder")
    before = subject.rejections["malformed"]
    port_of(subject, "/tau/device_state").take(data)
    assert subject.rejections["malformed"] == before + 1


def test_the_recorder_goes_on_after_an_event_that_is_none(subject_of: Callable[[str], Subject]) -> None:
    subject = subject_of("recorder")
    port, before = port_of(subject, "/tau/tick_event"), subject.rejections["malformed"]
    for values in ({"a": "1", "a/b": "1"}, {"ticks": "many"}):
        port.take(serialize_message(event_of("device", values)))
    assert subject.rejections["malformed"] == before + 2


def test_the_page_goes_on_after_what_it_cannot_show(subject_of: Callable[[str], Subject]) -> None:
    subject = subject_of("page")
    before = subject.rejections["tick_event"], subject.rejections["robot_description"]
    port_of(subject, "robot_description").take(String(data="<robot"))
    port_of(subject, "tick_event").take(event_of("device", {"parameters": "5"}))
    assert (subject.rejections["tick_event"], subject.rejections["robot_description"]) == (before[0] + 1, before[1] + 1)
    state = device_state(0, 2)
    state.status = 200
    port_of(subject, "DeviceState").take(state)


@pytest.mark.slow
def test_friction_of_more_than_three_numbers_moves_no_body(subject_of: Callable[[str], Subject]) -> None:
    subject = subject_of("contact, with inputs")
    barrage = Barrage(subject)
    barrage.good()
    barrage.good()
    before = subject.rejections["wrong length"]
    tick = subject.tick()
    for port in subject.ports:
        message = port.make(tick)
        if port.name == "friction":
            message.force = [0.0] * 7
        port.take(serialize_message(message))
    barrage.good()  # the tick that takes it is answered with NONE, the one after it as ever
    assert subject.rejections["wrong length"] == before + 1
