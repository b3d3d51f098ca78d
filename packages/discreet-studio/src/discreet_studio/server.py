"""Run the studio: listen on the loopback address, write a file that opens the browser, and stop when idle."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import tempfile
import time
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

import discreet
from discreet_studio.app import Studio
from discreet_studio.studio_folder import FieldError
from discreet_studio.workspace import Workspace, quiet

ADDRESS: Final = "127.0.0.1"
# time for a client to send a whole request, headers and body; on the loopback address the largest takes less than 1 s
REQUEST_SECONDS: Final = 10.0
MOST_CONNECTIONS: Final = 64
_REDIRECT: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={url}"><title>discreet studio</title></head>
<body><p><a href="{url}" rel="noreferrer">Open the studio</a></p></body></html>
"""


class GuardedProtocol(H11Protocol):
    """HTTP connection that is closed if its request does not arrive in time, or to make room for newer connections.

    Every user of the machine can connect, and uvicorn waits for the rest of a request without limit. If there are more
    than `MOST_CONNECTIONS`, the connection that has waited longest for its request is closed, so that idle connections
    cannot lock anybody out.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for a request. If there are too many connections, close the one that has waited longest."""
        super().connection_made(transport)
        self._expect_request()
        peers = [
            peer for peer in self.connections if isinstance(peer, GuardedProtocol) and not peer.transport.is_closing()
        ]
        if len(peers) > MOST_CONNECTIONS:
            waiting = {peer: peer._deadline.when() for peer in peers if peer._deadline is not None}
            min(waiting, key=waiting.__getitem__).transport.abort()

    def data_received(self, data: bytes) -> None:
        """Pass data on, and stop waiting when the request is complete."""
        super().data_received(data)
        self._check_request()

    def on_response_complete(self) -> None:
        """Wait for the next request on the same connection."""
        if not self.transport.is_closing():
            self._expect_request()
        super().on_response_complete()
        self._check_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _expect_request(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)

    def _check_request(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


@dataclass
class Running:
    """A running studio, which listens on `address`. `door` is a file that opens it in a browser once."""

    studio: Studio
    address: str
    door: Path
    _server: uvicorn.Server
    _thread: Thread

    @property
    def alive(self) -> bool:
        """Whether the server still listens."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Stop the server, and delete the file that opens it."""
        self._server.should_exit = True
        self._thread.join(10)
        shutil.rmtree(self.door.parent, ignore_errors=True)


def start(folder: str | Path, *, port: int = 0) -> Running:
    """Listen on the given port of this machine, or on any free port."""
    listener = _listener(port)
    host = f"{ADDRESS}:{listener.getsockname()[1]}"
    try:
        studio = Studio(folder, host)
    except BaseException:
        listener.close()
        raise
    config = uvicorn.Config(
        studio.asgi, log_config=None, access_log=False, server_header=False, date_header=False, lifespan="off",
        ws="none", http=GuardedProtocol, loop="asyncio", timeout_keep_alive=5, limit_concurrency=100,
        timeout_graceful_shutdown=3, proxy_headers=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [listener]}, name="studio-server", daemon=True)
    thread.start()
    end = time.monotonic() + 20
    while not server.started and thread.is_alive() and time.monotonic() < end:
        time.sleep(0.01)
    return Running(studio, f"http://{host}", _door(f"http://{host}", studio.keys.token or ""), server, thread)


def serve(folder: str | Path, *, port: int, browser: bool, idle_minutes: float, say: Callable[[str], object]) -> None:
    """Run until Ctrl-C, or until no request has arrived for `idle_minutes`."""
    running = start(folder, port=port)
    Thread(target=warm_up, args=(running.studio.space,), name="studio-warm-up", daemon=True).start()
    say(f"Studio   {running.address}, only reachable from this machine; stop it with Ctrl-C")
    say(f"Folder   {running.studio.folder.root}")
    try:
        if not (browser and webbrowser.open(running.door.as_uri())):
            say(f"Open     {running.door} in your browser; this works once")
        while running.alive and not running.studio.idle_for(60 * idle_minutes):
            time.sleep(0.2)
        if running.alive:
            say(f"Closed   after {idle_minutes:g} minutes without a request; what you filled in is kept")
    except KeyboardInterrupt:
        say("Closed   what you filled in is kept")
    finally:
        running.stop()


def warm_up(space: Workspace) -> None:
    """Compute and plot a small plan, so that no screen has to wait for imports."""
    with quiet():
        plan = discreet.plan(discreet.Design("y", {"y": (0, 1), "x": (0, 1)}), rows=1000, epsilon=1.0, delta=1e-6)
    space.picture(plan.plot, "Expected intervals")


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind((ADDRESS, port))
    except OSError as error:
        listener.close()
        raise FieldError(
            "port", f"cannot listen on port {port} of {ADDRESS}: {error.strerror}; choose another port"
        ) from None
    return listener


def _door(address: str, token: str) -> Path:
    """Write a file that only this user can read, and that redirects a browser to the studio."""
    path = Path(tempfile.mkdtemp(prefix="discreet-studio-"), "open.html")
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(_REDIRECT.format(url=f"{address}/open?token={token}"))
    return path
