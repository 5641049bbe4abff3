"""An emulator of Haply's Inverse Service: HTTP and WebSocket on one free port of the loopback interface."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

PERIOD = 1e-3
MASS = 0.25  # kg, of the cursor


class InverseService:
    """The service with one Inverse3, whose cursor is a free mass: each message lets one period pass.

    Attributes:
        version: of the service.
        position, velocity: of the cursor in the service's frame [m], [m/s].
        grip: list of the inventory with its state, or None.
        fault: "", "nan", "unplugged", "silent" (no answers), "garbage" or "closed" (no inventory).
        forces: all forces that came [N].
    """

    def __init__(self) -> None:
        self.version = "3.5.0.0"
        self.devices = ["049D"]
        self.status: dict[str, Any] = {"calibrated": True, "power_supply": True, "ready": True}
        self.position, self.velocity = np.array([0.0, -0.14, 0.18]), np.zeros(3)
        self.grip: tuple[str, dict[str, Any]] | None = None
        self.fault = ""
        self.forces: list[tuple[float, float, float]] = []
        self.connections: list[ServerConnection] = []
        self.ids: list[str] = []

    @property
    def address(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    def answer(self, connection: ServerConnection, request: Any) -> Any:
        """Answers GET /version; None lets the WebSocket's handshake go on."""
        if request.path == "/version":
            return connection.respond(200, json.dumps({"project_version": self.version}))
        return None

    def talk(self, connection: ServerConnection) -> None:
        self.connections.append(connection)
        if self.fault == "closed":
            return
        try:
            connection.send(json.dumps(self.document({"config": {"type": "inverse3"}, "status": self.status})))
            for text in connection:
                self.take(json.loads(text))
                if self.fault == "garbage":
                    connection.send("[1, 2")
                elif self.fault != "silent":
                    connection.send(json.dumps(self.document({})))
        except ConnectionClosed:
            pass

    def take(self, message: dict[str, Any]) -> None:
        (device,) = message["inverse3"]
        values = device["commands"]["set_cursor_force"]["values"]
        self.ids.append(device["device_id"])
        force = (values["x"], values["y"], values["z"])
        self.velocity = self.velocity + PERIOD / MASS * np.array(force)
        self.position = self.position + PERIOD * self.velocity
        self.forces.append(force)

    def document(self, more: dict[str, Any]) -> dict[str, Any]:
        position = [math.nan] * 3 if self.fault == "nan" else self.position.tolist()
        state = {"cursor_position": named(position), "cursor_velocity": named(self.velocity.tolist())}
        devices = [] if self.fault == "unplugged" else self.devices
        found: dict[str, Any] = {"inverse3": [{"device_id": name, "state": state, **more} for name in devices]}
        if self.grip is not None:
            found[self.grip[0]] = [{"device_id": "61548", "state": self.grip[1]}]
        return found

    @contextmanager
    def running(self) -> Iterator[InverseService]:
        """Serves until the block ends."""
        server: Server = serve(self.talk, "127.0.0.1", 0, process_request=self.answer, compression=None)
        self.port = server.socket.getsockname()[1]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            for connection in self.connections:
                connection.close()
            thread.join()


def named(values: list[float]) -> dict[str, float]:
    return dict(zip("xyz", values, strict=True))
