"""The running program: this machine alone, a file for its owner alone, an end when nobody asks."""

from __future__ import annotations

import http.client
import os
import re
import socket
import stat
import sys
import time
from urllib.parse import urlsplit

import pytest

from discreet.studio import server
from discreet.studio.folder import FieldError


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
