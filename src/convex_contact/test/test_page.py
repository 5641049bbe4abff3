"""A simulation on a browser page: what is drawn, pause and reset, recordings that replay."""

from __future__ import annotations

import socket
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import zstandard

from convex_contact import Geometry, Material, Pose, Simulator, Sphere, TetrahedralMesh, World
from convex_contact.view import show
from convex_contact.view.page import Page


@pytest.fixture
def simulator() -> Simulator:
    """A ball, a box and a hull that fall on a floor."""
    material = Material(stiffness=1e5, friction=0.5)
    world = World()
    world.add_half_space("floor", material=material)
    world.add_sphere("ball", mass=0.5, radius=0.05, position=(0.0, 0.0, 0.06), material=material)
    world.add_box("box", mass=0.5, size=(0.1, 0.08, 0.06), position=(0.3, 0.0, 0.04), material=material)
    points = [(0.0, 0.0, 0.0), (0.1, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.1)]
    world.add_hull("wedge", mass=0.2, points=points, position=(-0.3, 0.0, 0.02), material=material)
    return Simulator(world, period=2e-3)


@pytest.fixture
def page(simulator: Simulator) -> Iterator[Page]:
    """Page of the simulator, with a port of its own."""
    with show(simulator, port=0, verbose=False) as made:
        yield made


def handles(page: Page) -> dict[str, Any]:
    """Returns all objects of the page, by name."""
    return page._canvas._handles


def test_bodies_are_where_the_simulation_has_them(page: Page) -> None:
    page.run(0.3, speed=np.inf)
    for name in ("ball", "box", "wedge"):
        state, shown = page.simulator.state(name), handles(page)[name]
        np.testing.assert_allclose(shown.position, state.position, atol=1e-6)  # sent with single precision
        np.testing.assert_allclose(np.roll(shown.wxyz, -1), state.orientation, atol=1e-6)
    assert handles(page)["wedge"].vertices.shape == (4, 3)
    assert handles(page)["floor"].position[2] == pytest.approx(-0.005)  # a plate below the surface


def test_arrows_are_as_long_as_the_forces(simulator: Simulator) -> None:
    simulator.step(500)  # all at rest
    with Page(simulator, port=0, force_length=0.02, verbose=False) as page:
        page.update()
        arrows = np.array(page._canvas._loads["loads"].points)
        total = (arrows[:, 1] - arrows[:, 0]).sum(axis=0) / 0.02
        np.testing.assert_allclose(total, [0.0, 0.0, 1.2 * 9.81], atol=1e-3)  # the weight, on the bodies
        page._loads.value = False
        page.update()
        assert not page._canvas._loads["loads"].visible and not page._canvas._loads["touching"].visible


def test_nothing_moves_while_it_is_paused_but_by_single_steps(page: Page) -> None:
    page._paused.value = True
    page._steps_asked = 3
    page.run(3 * 2e-3)
    assert page.simulator.time == pytest.approx(6e-3)


def test_a_reset_leads_back_to_the_description(page: Page) -> None:
    page.run(0.2, speed=np.inf)
    page._reset_asked = True
    page.run(0.1, speed=np.inf)
    assert page.simulator.time == pytest.approx(0.1)


def test_function_before_each_step_is_called(page: Page) -> None:
    times = []
    page.run(0.02, speed=np.inf, before=lambda simulator: times.append(simulator.time))
    np.testing.assert_allclose(times, 2e-3 * np.arange(10), atol=1e-12)


def content(file: Path) -> dict[str, Any]:
    """Decodes a recording."""
    inner = zstandard.ZstdDecompressor().decompressobj().decompress(file.read_bytes()[8:])
    (length,) = struct.unpack("<Q", inner[:8])
    decoded: dict[str, Any] = msgspec.msgpack.decode(inner[8 : 8 + length])
    return decoded


def test_a_recording_lasts_as_long_as_what_was_simulated(page: Page, tmp_path: Path) -> None:
    page.simulator.set_state("ball", velocity=(0.0, 0.5, 0.0))
    page.record()
    page.run(0.5, speed=np.inf)
    page.save(tmp_path / "fall.viser")
    recorded = content(tmp_path / "fall.viser")
    assert recorded["durationSeconds"] == pytest.approx(0.5)
    times = [time for time, _ in recorded["messages"]]
    assert times == sorted(times) and len(set(times)) > 10  # about 15 frames
    page.record()
    page.run(0.1, speed=np.inf)
    page.save(tmp_path / "fall.html")
    assert "__VISER_EMBED_DATA__" in (tmp_path / "fall.html").read_text(encoding="utf-8")


def test_a_recording_goes_on_after_a_restored_state(page: Page, tmp_path: Path) -> None:
    start = page.simulator.state()
    page.record()
    for _ in range(2):
        page.run(0.2, speed=np.inf)
        page.simulator.restore(start)
        page.update()
    page.save(tmp_path / "twice.viser")
    assert content(tmp_path / "twice.viser")["durationSeconds"] == pytest.approx(0.4)


def test_a_recording_is_kept_if_its_file_cannot_be_opened(page: Page, tmp_path: Path) -> None:
    page.record()
    page.run(0.1, speed=np.inf)
    with pytest.raises(FileNotFoundError):
        page.save(tmp_path / "missing" / "fall.viser")
    page.run(0.1, speed=np.inf)
    page.save(tmp_path / "fall.viser")
    assert content(tmp_path / "fall.viser")["durationSeconds"] == pytest.approx(0.2)


def test_bodies_become_translucent_and_opaque_again(page: Page) -> None:
    page._translucent.value = True
    page.update()
    assert all(0.0 < handles(page)[name].opacity < 0.5 for name in ("ball", "box", "wedge", "floor"))
    page._translucent.value = False
    page.update()
    assert all(handles(page)[name].opacity is None for name in ("ball", "box", "wedge", "floor"))


def test_buttons_that_only_a_run_obeys_are_disabled_without_one(page: Page) -> None:
    assert page._once.disabled and page._again.disabled and page._status.value == "not running"
    seen = []
    page.run(2e-3, before=lambda _: seen.append((page._once.disabled, page._again.disabled, page._status.value)))
    assert seen == [(False, False, "compiles for the first step")]
    assert page._once.disabled and page._again.disabled and page._status.value == "not running"


def test_the_texts_fit_into_their_fields(page: Page) -> None:
    """A field of viser's panel has room for about 30 characters."""
    page.simulator.advance(1.0)
    page.real_time_factor = 10.25
    page._stepped = page._running = True
    page.update()
    assert page._status.value == "10.25 of real time"
    assert page._line.value.startswith("1.000 s, ") and len(page._line.value) < 30


def test_closing_a_page_ends_its_run_without_a_word(simulator: Simulator, capsys: pytest.CaptureFixture[str]) -> None:
    page = show(simulator, port=0, verbose=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        page.run(before=lambda _: page.close())
    assert capsys.readouterr() == ("", "")


def test_saving_without_a_recording_or_with_a_wrong_suffix_is_refused(
    page: Page, simulator: Simulator, tmp_path: Path
) -> None:
    with pytest.raises(RuntimeError, match="there is no recording"):
        page.save(tmp_path / "fall.html")
    page.record()
    with pytest.raises(ValueError, match=r"^path: expected a name that ends in \.html or \.viser, got 'fall\.mp4'$"):
        page.save(tmp_path / "fall.mp4")
    page.save(tmp_path / "fall.viser")  # the recording is still there
    with pytest.raises(ValueError, match=r"^speed: expected a positive number"):
        page.run(1.0, speed=0.0)
    with pytest.raises(ValueError, match=r"^speed: expected a positive number, got 'fast'$"):
        page.run(1.0, speed="fast")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^simulator: expected a Simulator, got World\(4 bodies: "):
        show(simulator.world)  # type: ignore[arg-type]
    for port in (70000, -1, "x"):
        with pytest.raises(ValueError, match=f"^port: expected a whole number from 0 to 65535, got {port!r}$"):
            show(simulator, port=port)
    with pytest.raises(ValueError, match=r"^force_length: "):
        show(simulator, port=0, force_length=-1.0)
    with pytest.raises(ValueError, match=r"^host: expected a name or an address, got 3$"):
        show(simulator, host=3, port=0)
    with pytest.raises(OSError, match=r"host: '127\.0\.0\.x' is no IPv4 address or name"):
        show(simulator, host="127.0.0.x", port=0)
    with pytest.raises(ValueError, match=r"^before: expected a function of the simulator, got 3$"):
        page.run(1.0, before=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^path: expected a path, got None$"):
        page.save(None)  # type: ignore[arg-type]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            show(simulator, port=taken.getsockname()[1])


def test_a_notebook_shows_the_page(page: Page) -> None:
    assert repr(page) == f"Page({page.address}: {page.simulator!r})"
    assert f'src="{page.address}"' in page._repr_html_() and page.address.startswith("http://127.0.0.1:")


def test_a_closed_page_neither_runs_nor_records(simulator: Simulator) -> None:
    page = show(simulator, port=0, verbose=False)
    page.close()
    with pytest.raises(RuntimeError, match=r"^run: the page is closed$"):
        page.run(0.1)
    with pytest.raises(RuntimeError, match=r"^record: the page is closed$"):
        page.record()
    assert simulator.time == 0.0


def test_bodies_with_names_of_other_objects_are_drawn() -> None:
    """A body of several shapes, arrows, and a deformable body have names on the page, too."""
    world = World()
    sphere = Sphere(0.05)
    parts = [Geometry(sphere, Pose(np.array([x, 0.0, 0.0])), Material()) for x in (-0.1, 0.1)]
    world.add_body("pair", mass=1.0, geometries=parts, position=(0.0, 1.0, 0.0))
    for place, name in enumerate(("pair 0", "loads", "touching", "soft")):
        world.add_box(name, mass=1.0, size=(0.1, 0.1, 0.1), position=(place, 0.0, 0.0))
    world.add_half_space("floor", point=(0.0, 0.0, -0.0499))
    mesh = TetrahedralMesh(np.vstack([np.zeros(3), 0.1 * np.eye(3)]), [[0, 1, 2, 3]])
    world.add_deformable("soft", mesh, position=(0.0, 2.0, 1.0))
    with show(Simulator(world, period=2e-3), port=0, verbose=False) as page:
        page.run(0.01, speed=np.inf)
        shown = handles(page)
        for name in ("pair 0", "loads", "touching", "soft"):
            np.testing.assert_allclose(shown[name].position, page.simulator.state(name).position, atol=1e-6)
        assert len(shown) == 1 + 4 + 2 + 1  # floor, boxes, both spheres, and the deformable body
        assert len(page._canvas._loads["loads"].points) > 0
