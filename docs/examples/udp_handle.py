"""A driver for a handle whose controller speaks over UDP: "position velocity" in, "force" out, as text."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
from pydantic import Field

from haptic_devices.device import DeviceError
from haptic_devices.drivers.cartesian import CartesianDevice, CartesianParameters, Freshness, Sensed
from haptic_devices.drivers.driver import Driver, Presence


class UdpHandleParameters(CartesianParameters):
    """Parameters of the handle; udp_handle.yaml has the reasons."""

    host: str = Field(min_length=1, description="address of the controller")
    port: int = Field(ge=1, le=65535, description="port of the controller [-]")
    stale_periods: int = Field(ge=1, le=1000, description="periods without a datagram that are a fault [-]")


class UdpHandle(CartesianDevice):
    """A handle that moves along x."""

    name, axes = "udp_handle", "x"
    parameters: UdpHandleParameters

    def _open(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.connect((self.parameters.host, self.parameters.port))
        self._sensed, self._number = Sensed((0.0,), (0.0,)), 0
        self._freshness = Freshness(self.name, self.parameters.stale_periods)

    def _start(self) -> None:
        self._send(np.zeros(1))

    def _sense(self) -> Sensed:
        """Reads the newest datagram."""
        try:
            while True:
                position, velocity = self._socket.recv(64).split()
                self._sensed, self._number = Sensed((float(position),), (float(velocity),)), self._number + 1
        except BlockingIOError:
            self._freshness.check(self._number)
        except (OSError, ValueError) as error:
            raise DeviceError(f"udp_handle: {error}") from None
        return self._sensed

    def _send(self, force: np.ndarray) -> None:
        try:
            self._socket.send(f"{force[0]:.6f}".encode())
        except OSError as error:
            raise DeviceError(f"udp_handle: {error}") from None

    def _stop(self) -> None:
        self._send(np.zeros(1))

    def _close(self) -> None:
        self._socket.close()


DRIVER = Driver(
    "udp_handle",
    "a handle of one's own",
    1,
    UdpHandleParameters,
    Path(__file__).with_name("udp_handle.yaml"),
    lambda parameters, held_axis: UdpHandle(parameters),
    lambda parameters: Presence(True, f"{parameters.host}:{parameters.port}, which is not asked"),
)
