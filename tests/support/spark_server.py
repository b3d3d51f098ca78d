"""A server of Spark Connect on this machine, for as long as a test needs it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def connect_server(environment: Mapping[str, str], config: Mapping[str, str]) -> Iterator[str]:
    """The address of a server with two task slots; its processes end with it."""
    import pyspark

    home, port = Path(pyspark.__file__).parent, free_port()
    settings = {
        **config,
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
    }
    words = [f"--conf={key}={value}" for key, value in settings.items()]
    command = [
        str(home / "bin" / "spark-submit"),
        "--master=local[2,2]",
        "--class=org.apache.spark.sql.connect.service.SparkConnectServer",
        *words,
        "spark-internal",
    ]
    server = subprocess.Popen(
        command,
        env={**environment, "SPARK_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        for _ in range(1_200):
            assert server.poll() is None, "the server of Spark Connect ended"
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
