"""Server of the page: address, port, and access control."""

from __future__ import annotations

import asyncio
import hmac
import http
import ipaddress
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from http.cookies import CookieError, SimpleCookie
from io import StringIO
from typing import Any
from urllib.parse import parse_qs, urlsplit

import viser
import websockets.asyncio.server
from viser import _messages as viser_messages
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from haptic_core.errors import HapticError
from haptic_launch.runner import UsageError
from haptic_viewer.hands import PATH as HANDS_PATH
from haptic_viewer.hands import Hands
from haptic_viewer.policy import page_policy, with_script

_COOKIE = "haptics_view"
#: largest number of open websockets; a browser has two
MOST_CONNECTIONS = 40
#: largest message of a browser [bytes]; viser's client sends files in smaller parts
LARGEST_MESSAGE = 4 * 1024 * 1024


class PageError(HapticError):
    """Page that cannot be opened.

    Attributes:
        hint: advice to the user.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def is_loopback(host: str) -> bool:
    """Returns whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_page(host: str, port: int, token: str) -> None:
    """Refuses an address that cannot be opened, or must not be opened without a token.

    Raises:
        PageError: the host is beyond loopback without a token, or the server cannot listen at the address and port.
    """
    if not (token or is_loopback(host)):
        raise PageError(
            f"view_host {host}: the page would be open to other machines without a token",
            "give one with view_token:=..., or stay with view_host:=127.0.0.1",
        )
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        raise PageError(
            f"view_port {port}: {host} cannot listen there: {(error.strerror or str(error)).lower()}",
            "another page may be open; give another one with view_port:=8081, or 0 for a free one",
        ) from None


def check_view(arguments: Mapping[str, str]) -> None:
    """Refuses values of view_host, view_port and view_token with which no page can be opened.

    Raises:
        UsageError: the port is invalid.
        PageError: see `check_page`.
    """
    port = arguments["view_port"]
    if not (port.isdecimal() and int(port) < 65536):
        raise UsageError(f"argument view_port: expected a whole number from 0 to 65535, got {port!r}")
    check_page(arguments["view_host"], int(port), arguments["view_token"])


def refusal(request: Request, token: str, local: bool) -> tuple[http.HTTPStatus, str] | None:
    """Returns status and reason of the refusal of a request; None if it is allowed.

    A page of another site may not open the websocket (its origin differs). A foreign host name that resolves to this
    machine is refused. If there is a token, the URL or the cookie must contain it. A link on another site may open the
    page, but not choose a scene or change parameters.
    """
    host = request.headers.get("Host", "")
    if local and not is_loopback(urlsplit(f"//{host}").hostname or ""):
        return http.HTTPStatus.FORBIDDEN, f"{host!r} is not this machine\n"
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != host:
        return http.HTTPStatus.FORBIDDEN, "another site may not open this page\n"
    site = request.headers.get("Sec-Fetch-Site", "none")  # none: typed or pasted
    if site not in ("none", "same-origin") and parse_qs(urlsplit(request.path).query).keys() - {"token"}:
        return http.HTTPStatus.FORBIDDEN, "a link on another site may not change this page: paste it as an address\n"
    if token and not hmac.compare_digest(_token_of(request).encode(), token.encode()):
        return http.HTTPStatus.UNAUTHORIZED, "open the page as http://host:port/?token=...\n"
    return None


def _token_of(request: Request) -> str:
    given = parse_qs(urlsplit(request.path).query).get("token")
    if given:
        return given[0]
    try:
        cookie = SimpleCookie(request.headers.get("Cookie", "")).get(_COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie else ""


@contextmanager
def _guarded(token: str, local: bool, hands: Hands) -> Iterator[list[bool]]:
    """Restricts a websocket server that is started inside the context; yields a list that is not empty once it was.

    The server checks each request by `refusal`, has at most `MOST_CONNECTIONS` connections, and accepts messages up to
    `LARGEST_MESSAGE`. It adds the suite's script to the page, and serves the script's websocket beside viser's. viser
    has no such options; it starts its server by `websockets.asyncio.server.serve`, which is replaced.
    """
    serve, used = websockets.asyncio.server.serve, []
    count = [0]

    def guarded(handler: Any, *arguments: Any, process_request: Callable[..., Any], **options: Any) -> Any:
        async def handle(connection: Any) -> None:
            count[0] += 1
            try:
                own = connection.request.path.partition("?")[0] == HANDS_PATH
                await (hands.serve(connection) if own else handler(connection))
            finally:
                count[0] -= 1

        def process(connection: Any, request: Request) -> Response | None:
            refused = refusal(request, token, local)
            if refused is None and count[0] >= MOST_CONNECTIONS:
                refused = http.HTTPStatus.SERVICE_UNAVAILABLE, "too many pages are open\n"
            if refused is not None:
                answer: Response = connection.respond(*refused)
                _harden(answer.headers)
                return answer
            with suppress(KeyError):
                del request.headers["Accept-Encoding"]  # a compressed page cannot get the script
            response: Response | None = process_request(connection, request)
            if response is not None and response.headers.get("Content-Type", "").startswith("text/html"):
                response.body = with_script(bytes(response.body or b""))
                del response.headers["Content-Length"]
                response.headers["Content-Length"] = str(len(response.body))
            if response is not None and token:
                response.headers["Set-Cookie"] = f"{_COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/"
            if response is not None:
                _harden(response.headers)
            return response

        used.append(True)
        return serve(handle, *arguments, process_request=process, **{**options, "max_size": LARGEST_MESSAGE})

    websockets.asyncio.server.serve = guarded  # type: ignore[assignment, misc]
    try:
        yield used
    finally:
        websockets.asyncio.server.serve = serve  # type: ignore[misc]


def _harden(headers: Headers) -> None:
    """Adds headers: no foreign scripts, no connections to other hosts, no embedding in another page."""
    headers["X-Frame-Options"] = "DENY"
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "no-referrer"  # the address may hold the token
    headers["Content-Security-Policy"] = page_policy()


class _Signal(asyncio.Event):
    """Event that any thread may set. viser sets its event from other threads, which sometimes raises an error.

    Args:
        loop: event loop of the waiting coroutines.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._home = loop

    def set(self) -> None:
        if self.is_set():
            return  # the waiting coroutine has not run yet
        if asyncio._get_running_loop() is self._home:
            super().set()
        else:
            with suppress(RuntimeError):  # the loop is closed: no coroutine waits
                self._home.call_soon_threadsafe(super().set)


def open_page(host: str, port: int, token: str, hands: Hands | None = None) -> viser.ViserServer:
    """Starts the page's server.

    Args:
        host: address to listen on.
        port: TCP port; 0: a free one.
        token: token that the page's users must know; empty: none.
        hands: receiver of the browsers' keys and gamepads; None: they are ignored.

    Raises:
        PageError: see `check_page`.
        UnknownPageError: see `page_policy`.
    """
    check_page(host, port, token)
    page_policy()  # cached before the first request, in which its error would not be reported
    with _guarded(token, is_loopback(host), hands or Hands()) as used, redirect_stdout(StringIO()):
        server = viser.ViserServer(host=host, port=port, verbose=False)
    if not used or (port and server.get_port() != port):  # viser takes the next port if one is in use
        server.stop()
        raise PageError(f"view_port {port}: {host} cannot listen there", "give another one with view_port:=8081")
    buffer = server._websock_server._broadcast_buffer
    buffer.message_event = _Signal(buffer.event_loop)
    for message in (viser_messages.ShareUrlRequest, viser_messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(message)  # they would share the page through a public server
    server.gui.configure_theme(show_share_button=False, show_logo=False, control_width="large")
    return server


def address(server: viser.ViserServer, host: str, token: str) -> str:
    """Returns the URL of the page."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{server.get_port()}/" + (f"?token={token}" if token else "")
