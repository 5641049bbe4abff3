"""A simulation on a browser page, by viser: bodies, contact forces, pause, pace, and recordings for replay.

    >>> page = show(simulator)
    >>> page.record()
    >>> page.run(5.0, before=lambda simulator: simulator.apply_wrench("ball", force=(0.1, 0.0, 0.0)))
    >>> page.save("ball.html")  # opens in any browser, without Python

Only this machine can open the page, unless `host` allows others. Everyone who opens it can pause and reset the run.
The check box "translucent" shows arrows that are inside of bodies.
"""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
import viser

from convex_contact.model.names import path_of
from convex_contact.model.shapes import HalfSpace, Hull, Shape
from convex_contact.problem import checks
from convex_contact.simulation.simulator import Simulator
from convex_contact.view.drawing import Color, SimulationDrawing
from haptic_math.rotations import wxyz

#: drawings per second of the clock, or of simulated time if that is faster
FRAME_RATE = 30.0
#: largest lag of a run behind the clock, beyond which it does not catch up [s]
_LAG = 0.25
#: arrows of the forces: radii of shaft and head and length of the head, over the width of lines
_ARROW = (1.0, 2.2, 5.0)
#: length of the weight of all moving bodies as an arrow, over the scene's size; many contacts share the weight
_REACH = 1.0
#: opacity of bodies that show the forces inside and behind them
_TRANSLUCENT = 0.35
#: position of the camera from the middle, over the scene's size
_CAMERA = (0.65, -0.9, 0.5)


def _look(color: Color) -> dict[str, Any]:
    red, green, blue, opacity = color
    shade = (round(255 * red), round(255 * green), round(255 * blue))
    return {"color": shade, "opacity": None if opacity >= 1.0 else opacity}


class _PageCanvas:
    """Draws shapes on the page; the browser receives a shape once, and after that only its changed pose."""

    def __init__(self, scene: viser.SceneApi) -> None:
        self._scene, self._handles = scene, dict[str, Any]()
        self._opacities = dict[str, float | None]()
        self._loads = dict[str, Any]()  # points and arrows; bodies may have any name

    def set_translucent(self, translucent: bool) -> None:
        """Makes all bodies translucent, or gives them their own opacity."""
        for name, own in self._opacities.items():
            opacity = min(_TRANSLUCENT, 1.0 if own is None else own) if translucent else own
            if self._handles[name].opacity != opacity:
                self._handles[name].opacity = opacity

    def _put(
        self, name: str, add: Callable[..., Any], position: np.ndarray, orientation: np.ndarray, **shape: Any
    ) -> None:
        place = {"position": tuple(position.tolist()), "wxyz": wxyz(orientation)}
        handle = self._handles.get(name)
        if handle is None:
            self._handles[name] = add(f"/world/{len(self._handles)}", **shape, **place)
            self._opacities[name] = shape["opacity"]
            return
        for key, value in place.items():
            if not np.array_equal(getattr(handle, key), value):
                setattr(handle, key, value)

    def cylinder(
        self, name: str, position: np.ndarray, orientation: np.ndarray, radius: float, length: float, color: Color
    ) -> None:
        size = {"radius": radius, "height": length}
        self._put(name, self._scene.add_cylinder, position, orientation, **size, **_look(color))

    def box(
        self, name: str, position: np.ndarray, orientation: np.ndarray, size: Sequence[float], color: Color
    ) -> None:
        x, y, z = (float(value) for value in size)
        self._put(name, self._scene.add_box, position, orientation, dimensions=(x, y, z), **_look(color))

    def sphere(self, name: str, position: np.ndarray, radius: float, color: Color) -> None:
        identity = np.array([0.0, 0.0, 0.0, 1.0])
        self._put(name, self._scene.add_icosphere, position, identity, radius=radius, **_look(color))

    def mesh(
        self, name: str, position: np.ndarray, orientation: np.ndarray, vertices: np.ndarray, triangles: np.ndarray,
        color: Color,
    ) -> None:  # fmt: skip
        points = np.asarray(vertices, dtype=np.float32)
        faces = np.asarray(triangles, dtype=np.uint32)
        self._put(
            name, self._scene.add_mesh_simple, position, orientation,
            vertices=points, faces=faces, flat_shading=True, side="double", **_look(color),
        )  # fmt: skip
        handle = self._handles[name]
        if not np.array_equal(handle.vertices, points):  # a deformable body
            handle.vertices = points

    def line(self, name: str, points: Sequence[np.ndarray] | np.ndarray, width: float, color: Color) -> None:
        ends = np.asarray(points, dtype=np.float32)
        pieces = np.stack([ends[:-1], ends[1:]], axis=1)
        handle = self._handles.get(name)
        if handle is None:
            place, shade = f"/world/{len(self._handles)}", _look(color)["color"]
            self._handles[name] = self._scene.add_line_segments(place, pieces, shade, thickness=width)
        elif not np.array_equal(handle.points, pieces):
            handle.points = pieces

    def arrow(self, name: str, start: np.ndarray, end: np.ndarray, width: float, color: Color) -> None:
        self.line(name, [start, end], width, color)

    def loads(self, points: np.ndarray, arrows: np.ndarray, width: float, colors: tuple[Color, Color]) -> None:
        at = np.asarray(points, dtype=np.float32)
        pieces = np.stack([at, at + np.asarray(arrows, dtype=np.float32)], axis=1)
        if not self._loads:
            shaft, head, length = (width * part for part in _ARROW)
            self._loads["touching"] = self._scene.add_point_cloud(
                "/touching", np.zeros((0, 3)), _look(colors[0])["color"],
                point_size=3.0 * width, point_shape="circle", precision="float32",
            )  # fmt: skip
            self._loads["loads"] = self._scene.add_arrows(
                "/loads", np.zeros((0, 2, 3)), _look(colors[1])["color"],
                shaft_radius=shaft, head_radius=head, head_length=length,
            )  # fmt: skip
        if len(at) or self._loads["loads"].visible:
            for name, values in (("touching", at), ("loads", pieces)):
                handle = self._loads[name]
                handle.visible = bool(len(at))
                if len(at):
                    handle.points = values


class _PageDrawing(SimulationDrawing):
    """Draws a simulator's world; unlike the markers, hulls have their faces."""

    def __init__(self, simulator: Simulator, force_length: float) -> None:
        super().__init__(simulator, force_length=force_length)
        self._faces = dict[int, tuple[np.ndarray, np.ndarray]]()

    def _shape(
        self, canvas: Any, name: str, shape: Shape, position: np.ndarray, orientation: np.ndarray, color: Color
    ) -> None:
        if not isinstance(shape, Hull):
            super()._shape(canvas, name, shape, position, orientation, color)
            return
        if id(shape) not in self._faces:
            hull: Any = trimesh.convex.convex_hull(shape.vertices)
            self._faces[id(shape)] = np.asarray(hull.vertices), np.asarray(hull.faces)
        canvas.mesh(name, position, orientation, *self._faces[id(shape)], color)


def _weight(simulator: Simulator) -> float:
    """Returns the weight of all bodies that move [N]; 1 N without weight."""
    world = simulator.world
    mass = sum(body.mass for body in world.bodies if body.kind == "free") + sum(
        sum(inertia.mass for inertia in tree.model.model.inertias)
        for tree in world.trees
        if hasattr(tree.model, "model")
    )
    return float(mass * np.linalg.norm(world.gravity)) or 1.0


class Page:
    """A simulation on a browser page.

    Args:
        simulator: its world and contacts are shown.
        host: address to listen on; only this machine can reach the default.
        port: TCP port, 0: a free one.
        force_length: of the arrow of 1 N [m/N]; None: the weight of all moving bodies is as long as the scene.
        verbose: print the address.

    Attributes:
        server: viser's server of the page; users add their own controls to it.
        address: URL.
        real_time_factor: simulated time over that of the clock, in the last second of a run; nan before.

    Raises:
        OSError: the port is taken.
        ValueError: an argument is wrong or out of its bounds.
    """

    def __init__(
        self,
        simulator: Simulator,
        *,
        host: str = "127.0.0.1",
        port: int = 8080,
        force_length: float | None = None,
        verbose: bool = True,
    ) -> None:
        if not isinstance(simulator, Simulator):
            raise ValueError(f"simulator: expected a Simulator, got {simulator!r}")
        if not isinstance(host, str):
            raise ValueError(f"host: expected a name or an address, got {host!r}")
        if type(port) is not int or not 0 <= port < 2**16:
            raise ValueError(f"port: expected a whole number from 0 to {2**16 - 1}, got {port!r}")
        self.simulator = simulator
        if force_length is None:
            force_length = _REACH * self._size() / _weight(simulator)
        self._drawing = _PageDrawing(simulator, checks.number("force_length", force_length, minimum=0.0))
        with socket.socket() as probe:  # viser silently chooses another port if one is taken
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except socket.gaierror as error:
                raise OSError(error.errno, f"host: {host!r} is no IPv4 address or name ({error.strerror})") from None
            except OSError as error:
                text = f"port: {port} of {host} cannot be opened ({error.strerror}); 0 chooses a free one"
                raise OSError(error.errno, text) from None
        with redirect_stdout(StringIO()):  # viser prints more than the address
            self.server = viser.ViserServer(host=host, port=port, verbose=False)
        self.address = f"http://{host}:{self.server.get_port()}/"
        self.real_time_factor = math.nan
        self._canvas = _PageCanvas(self.server.scene)
        self._recorder: Any = None
        self._recorded = simulator.time
        self._closed = self._stepped = self._running = False
        self._lock = threading.RLock()  # another thread may close the page
        self._controls()
        if verbose:
            print(self.address, flush=True)

    def _size(self) -> float:
        """Returns the extent of all bodies except half spaces [m]."""
        position = self.simulator.body_states()[0]
        bodies = self.simulator.world.bodies
        kept = [
            position[i] for i, b in enumerate(bodies) if not any(isinstance(g.shape, HalfSpace) for g in b.geometries)
        ]
        radii = [g.shape.radius for b in bodies for g in b.geometries if not isinstance(g.shape, HalfSpace)]
        spread = float(np.linalg.norm(np.ptp(np.array(kept), axis=0))) if kept else 0.0
        return spread + 2.0 * max(radii, default=0.5)

    def _controls(self) -> None:
        gui, scene = self.server.gui, self.server.scene
        gui.configure_theme(show_share_button=False, show_logo=False)
        self._paused = gui.add_checkbox("pause", False)
        self._once = gui.add_button("one step")
        self._again = gui.add_button("reset")
        self._speed = gui.add_slider("pace", min=0.05, max=4.0, step=0.05, initial_value=1.0)
        self._loads = gui.add_checkbox("contact forces", True)
        self._translucent = gui.add_checkbox("translucent", False)
        self._line: Any = gui.add_text("state", "", disabled=True)
        self._status: Any = gui.add_text("run", "", disabled=True)
        self._steps_asked, self._reset_asked = 0, False

        @self._once.on_click
        def _(_event: Any) -> None:
            self._steps_asked += 1

        @self._again.on_click
        def _(_event: Any) -> None:
            self._reset_asked = True

        scene.set_up_direction("+z")
        scene.configure_default_lights(cast_shadow=True)
        size, middle = self._size(), self._middle()
        camera = self.server.initial_camera
        camera.position = tuple((middle + size * np.array(_CAMERA)).tolist())
        camera.look_at = tuple(middle.tolist())

    def _set_running(self, running: bool) -> None:
        """Enables the buttons that only a run obeys, and draws the present state."""
        self._running = running
        self.update()

    def _run_text(self) -> str:
        if not self._running:
            return "not running"
        if self._paused.value:
            return "paused"
        if not self._stepped:
            return "compiles for the first step"
        return "running" if math.isnan(self.real_time_factor) else f"{self.real_time_factor:.2f} of real time"

    def _middle(self) -> np.ndarray:
        position = self.simulator.body_states()[0]
        moving = [i for i, body in enumerate(self.simulator.world.bodies) if body.kind in ("free", "link")]
        return np.asarray(position[moving].mean(axis=0)) if moving else np.zeros(3)

    def update(self) -> None:
        """Draws the present state; does nothing once the page is closed."""
        with self._lock:
            if not self._closed:
                self._update()

    def _update(self) -> None:
        self._drawing.loads_shown = self._loads.value
        self._once.disabled = self._again.disabled = not self._running
        with self.server.atomic():
            self._drawing.draw(self._canvas)
            self._canvas.set_translucent(self._translucent.value)
            contacts = int((self.simulator.contacts.impulse[:, 2] > 0.0).sum())
            self._line.value, self._status.value = f"{self.simulator.time:.3f} s, {contacts} contacts", self._run_text()
        if self._recorder is not None:
            if self.simulator.time > self._recorded:
                self._recorder.insert_sleep(self.simulator.time - self._recorded)
            self._recorded = self.simulator.time  # less after a reset or in a restored state

    def run(
        self, duration: float | None = None, *, speed: float | None = None,
        before: Callable[[Simulator], None] | None = None,
    ) -> None:  # fmt: skip
        """Steps and draws at the pace of the clock, as far as the machine can; reacts to pause and reset on the page.

        Args:
            duration: simulated time [s]; None: until :meth:`close` or an interrupt from the keyboard.
            speed: simulated time over that of the clock; None: the pace on the page; infinite: as fast as possible.
            before: called with the simulator before each step, to set forces and targets.

        Raises:
            ConvergenceError: a step failed; the state before it is shown.
            RuntimeError: the page was closed before.
            ValueError: the duration is negative, the speed not positive, or `before` no function.
        """
        duration = math.inf if duration is None else checks.number("duration", duration, minimum=0.0)
        if speed is not None and not (isinstance(speed, Real) and speed > 0.0):
            raise ValueError(f"speed: expected a positive number, got {speed!r}")
        if before is not None and not callable(before):
            raise ValueError(f"before: expected a function of the simulator, got {before!r}")
        self._check_open("run")
        left, began = duration, (time.monotonic(), self.simulator.time)
        clock = time.monotonic()
        self._set_running(True)
        try:
            while left > 1e-9 * self.simulator.time and not self._closed:
                if self._reset_asked:
                    self._reset_asked = False
                    self.simulator.reset()
                    began = time.monotonic(), 0.0
                pace = self._speed.value if speed is None else speed
                frame = (1.0 if math.isinf(pace) else pace) / FRAME_RATE
                steps = self._steps_asked if self._paused.value else 0
                self._steps_asked = 0
                left -= self._advance(0.0 if self._paused.value else min(frame, left), steps, before)
                now = time.monotonic()
                if now - began[0] >= 1.0:
                    self.real_time_factor = (self.simulator.time - began[1]) / (now - began[0])
                    began = now, self.simulator.time
                self.update()
                clock = max(clock + 1.0 / FRAME_RATE, now - _LAG)
                if not math.isinf(pace) or self._paused.value:
                    time.sleep(max(0.0, clock - time.monotonic()))
        except KeyboardInterrupt:
            pass
        finally:
            self._set_running(False)

    def _advance(self, duration: float, steps: int, before: Callable[[Simulator], None] | None) -> float:
        """Makes steps until a duration has passed, and at least a number of steps; returns the time that passed [s]."""
        start = self.simulator.time
        while steps > 0 or self.simulator.time - start < duration * (1.0 - 1e-9):
            if before is not None:
                before(self.simulator)
            self.simulator.step()
            self._stepped = True
            steps -= 1
        return self.simulator.time - start

    # --- recordings ------------------------------------------------------------------------------------------

    def record(self) -> None:
        """Begins a recording from the present state on; discards a recording that was not saved.

        Raises:
            RuntimeError: the page was closed before.
        """
        self._check_open("record")
        self.update()
        self._recorder, self._recorded = self.server.get_scene_serializer(), self.simulator.time

    def save(self, path: str | Path) -> None:
        """Ends the recording, and writes it; if the file cannot be opened, the recording goes on.

        Args:
            path: file name that ends in ``.html`` (a page that opens in any browser) or in ``.viser`` (data of the
                recording alone, for viser's own client: the file of its parameter `playbackPath`).

        Raises:
            OSError: the file cannot be opened or written.
            RuntimeError: nothing was recorded.
            ValueError: no path, or another suffix.
        """
        file = path_of("path", path)
        if file.suffix not in (".html", ".viser"):
            raise ValueError(f"path: expected a name that ends in .html or .viser, got {file.name!r}")
        if self._recorder is None:
            raise RuntimeError("save: there is no recording; record() begins one")
        with file.open("wb") as opened:  # before viser ends the recording
            recorder, self._recorder = self._recorder, None
            opened.write(recorder.as_html().encode() if file.suffix == ".html" else recorder.serialize())

    def _check_open(self, method: str) -> None:
        if self._closed:
            raise RuntimeError(f"{method}: the page is closed")

    def close(self) -> None:
        """Closes the page, and ends a run that another thread has started."""
        with self._lock, redirect_stdout(StringIO()):  # viser prints that it stops
            self._closed = True
            self.server.stop()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.address}{', closed' if self._closed else ''}: {self.simulator!r})"

    def _repr_html_(self) -> str:
        """Returns the page as the output of a notebook's cell."""
        return f'<iframe src="{self.address}" width="100%" height="500" frameborder="0"></iframe>'
