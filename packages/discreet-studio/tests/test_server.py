"""The running program: this machine alone, a file for its owner alone, an end when nobody asks."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import socket
import stat
import sys
import time
from urllib.parse import urlsplit

import pytest
from uvicorn.protocols.http.h11_impl import H11Protocol

from discreet_studio import server
from discreet_studio.request_gate import page
from discreet_studio.studio_folder import FieldError


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    made = server.start(tmp_path_factory.mktemp("served"))
    yield made
    made.stop()


def asked(running, path, **headers):
    """Send exactly these headers over a socket, as no browser would."""
    parts = urlsplit(running.address)
    link = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    link.putrequest("GET", path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        link.putheader(name.replace("_", "-"), value)
    link.endheaders()
    answer = link.getresponse()
    body = answer.read().decode()
    link.close()
    return answer, body


def test_it_listens_to_this_machine_alone(running):
    port = urlsplit(running.address).port
    for address in {one[4][0] for one in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)} - {
        "127.0.0.1"
    }:
        with pytest.raises(OSError), socket.create_connection((address, port), timeout=1):  # noqa: PT011
            pass
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    assert running.address.startswith("http://127.0.0.1:")


def test_the_whole_way_in_over_a_socket(running):
    text = running.door.read_text()
    assert stat.S_IMODE(running.door.stat().st_mode) == 0o600
    assert stat.S_IMODE(running.door.parent.stat().st_mode) == 0o700
    host = urlsplit(running.address).netloc
    link = urlsplit(re.search(r'url=(http[^"]+)"', text)[1])
    answer, _ = asked(running, f"{link.path}?{link.query}", Host="evil.example")
    assert answer.status == 421
    answer, page = asked(running, f"{link.path}?{link.query}", Host=host, Sec_Fetch_Site="cross-site")
    assert answer.status == 200
    cookie = answer.getheader("set-cookie").partition(";")[0]
    assert answer.getheader("server") is None
    assert 'content="0;url=/"' in page
    again, _ = asked(running, f"{link.path}?{link.query}", Host=host)
    assert again.status == 403
    known = {"Host": host, "Cookie": cookie}
    assert asked(running, "/table", **known, Sec_Fetch_Site="same-origin")[0].status == 200
    for lie in (
        {"Sec_Fetch_Site": "cross-site"},
        {},
        {"Origin": "http://evil.example"},
        {"Sec_Fetch_Site": "same-site"},
    ):
        answer, page = asked(running, "/table", **known, **lie)
        assert answer.status == 403
        assert "Your own table" not in page
    for host_of_another in ("evil.example", f"evil.example:{urlsplit(running.address).port}", "localhost"):
        rebound = {"Host": host_of_another, "Cookie": cookie, "Sec_Fetch_Site": "same-origin"}
        assert asked(running, "/table", **rebound)[0].status == 421


HALF_REQUESTS = {
    "nothing": lambda host: b"",
    "half of the headers": lambda host: b"GET /table HTTP/1.1\r\nHost: " + host,
    "no body": lambda host: b"POST /design HTTP/1.1\r\nHost: " + host + b"\r\nContent-Length: 100000\r\n\r\n",
    "half of a second request": lambda host: (
        b"GET /table HTTP/1.1\r\nHost: " + host + b"\r\n\r\nGET /table HTTP/1.1\r\nHost: "
    ),
}


def held(running, text, links):
    """Open so many connections that send this much and then wait."""
    parts = urlsplit(running.address)
    made = [socket.create_connection((parts.hostname, parts.port), timeout=5) for _ in range(links)]
    for one in made:
        # one that was closed meanwhile to make room for others
        with contextlib.suppress(OSError):
            one.sendall(text)
    return made


def answered(running, host):
    """Ask again if the connection was closed while the server still accepted the others."""
    for _ in range(3):
        with contextlib.suppress(ConnectionError):
            return asked(running, "/table", Host=host)[0]
    raise AssertionError("the studio closed three connections in a row")


def closed(link, seconds):
    """Whether the studio closes a connection within so many seconds."""
    link.settimeout(seconds)
    try:
        while link.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


@pytest.mark.parametrize("half", HALF_REQUESTS)
def test_120_half_requests_neither_block_the_studio_nor_stay(running, monkeypatch, half):
    """While they are open an answer takes less than two seconds, and after the limit of time they are all closed."""
    monkeypatch.setattr(server, "REQUEST_SECONDS", 1.5)
    host = urlsplit(running.address).netloc
    links = held(running, HALF_REQUESTS[half](host.encode()), 120)
    try:
        for _ in range(3):
            began = time.monotonic()
            assert answered(running, host).status == 403
            assert time.monotonic() - began < 2
        assert len(running._server.server_state.connections) <= server.MOST_CONNECTIONS
        # keep-alive ends five seconds after an answer
        end = time.monotonic() + 8
        assert all(closed(link, max(end - time.monotonic(), 0.05)) for link in links)
    finally:
        for link in links:
            link.close()


def test_a_request_that_trickles_in_is_ended_and_one_that_takes_a_moment_is_answered(running, monkeypatch):
    """A byte now and then does not extend the time for the whole request."""
    monkeypatch.setattr(server, "REQUEST_SECONDS", 1.5)
    host = urlsplit(running.address).netloc.encode()
    (slow,) = held(running, b"GET /table HTTP/1.1\r\nHost: " + host + b"\r\nX: ", 1)
    began = time.monotonic()
    with slow, contextlib.suppress(OSError):
        while time.monotonic() - began < 6:
            slow.sendall(b"a")
            if closed(slow, 0.2):
                break
    assert 1 < time.monotonic() - began < 4
    (steady,) = held(running, b"GET /table HTTP/1.1\r\nHost: ", 1)
    with steady:
        time.sleep(0.7)
        steady.sendall(host + b"\r\n\r\n")
        assert steady.recv(65536).startswith(b"HTTP/1.1 403 ")


def test_a_body_that_does_not_arrive_is_ended_and_a_long_answer_is_not(tmp_path, monkeypatch):
    """With the session's own cookie: the limit is for what is sent to the studio, not for its work."""
    monkeypatch.setattr(server, "REQUEST_SECONDS", 1.0)
    made = server.start(tmp_path)
    try:
        host, keys = urlsplit(made.address).netloc, made.studio.keys
        head = f"Host: {host}\r\nCookie: {keys.cookie_name}={keys.cookie}\r\nSec-Fetch-Site: same-origin\r\n"
        body = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\ncsrf="
        (link,) = held(made, f"POST /table/unit HTTP/1.1\r\n{head}{body}".encode(), 1)
        with link:
            assert closed(link, 4)
        monkeypatch.setattr(made.studio, "_answered", lambda view, form: time.sleep(2.5) or page(200, "Late", "Late"))
        answer, text = asked(made, "/table", Host=host, Cookie=f"{keys.cookie_name}={keys.cookie}", Origin=made.address)
        assert (answer.status, "Late" in text) == (200, True)
    finally:
        made.stop()


def test_without_the_guard_half_requests_block_the_studio(tmp_path, monkeypatch):
    """The negative control: the protocol of uvicorn alone keeps them and refuses everybody else."""
    monkeypatch.setattr(server, "GuardedProtocol", H11Protocol)
    made = server.start(tmp_path)
    try:
        host = urlsplit(made.address).netloc
        links = held(made, HALF_REQUESTS["half of the headers"](host.encode()), 120)
        assert asked(made, "/table", Host=host)[0].status == 503
        for link in links:
            link.close()
    finally:
        made.stop()


def test_a_port_that_is_taken_is_refused_in_words(running):
    with pytest.raises(FieldError, match="cannot listen on port"):
        server.start(running.studio.folder.root, port=urlsplit(running.address).port)


def test_it_ends_when_nobody_asks_but_not_while_it_works(tmp_path):
    said = []
    began = time.monotonic()
    server.serve(tmp_path, port=0, browser=False, idle_minutes=0.005, say=said.append)
    assert time.monotonic() - began < 10
    assert "without a request" in said[-1]
    door = re.search(r"Open +(\S+)", "\n".join(said))[1]
    assert not os.path.exists(door)
    assert "token" not in "\n".join(said)


def test_work_keeps_it_alive(tmp_path):
    from threading import Event

    made = server.start(tmp_path)
    go = Event()
    made.studio.space.jobs.start("check", "/check", lambda job: go.wait(10), request="a")
    made.studio.asgi.last_request -= 1000
    assert not made.studio.idle_for(1)
    go.set()
    made.studio.space.jobs.wait(made.studio.space.jobs.asked("a"), 10)
    assert made.studio.idle_for(1)
    made.stop()
    assert not made.alive


def test_ctrl_c_ends_it(tmp_path, monkeypatch):
    said = []

    def pressed(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(server.Running, "alive", property(lambda self: pressed(None)))
    server.serve(tmp_path, port=0, browser=False, idle_minutes=1, say=said.append)
    assert "what you filled in is kept" in said[-1]


def test_what_is_loaded_once_is_loaded_before_it_is_asked_for(tmp_path):
    """By a plan that is drawn; it leaves no trace in the folder."""
    made = server.start(tmp_path)
    try:
        before = sorted(tmp_path.rglob("*"))
        server.warm_up(made.studio.space)
        assert "matplotlib.backends.backend_svg" in sys.modules
        assert sorted(tmp_path.rglob("*")) == before
    finally:
        made.stop()
