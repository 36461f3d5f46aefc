"""
A server of recommendations
===========================

The server consists of processes that load one model from disk and share its memory.
Each process collects the requests that arrive within two milliseconds and answers them
with one call of `recommend`, which takes much less time than a call for each user.
Beside this package the server needs only the standard library. Requests are ``GET
/USER`` of HTTP/1.1, and answers are lists of items in JSON.

The script fits a model to generated choices, starts the server on the loopback address,
sends requests from many connections at once, and prints the number of answers per
second and their latency. It does this twice: with batches, and with one call for each
request. With the default sizes it takes about 20 seconds.

``--serve MODEL --port PORT`` serves a model of your own: a file that
``joblib.dump(model.for_serving(), MODEL)`` has written. The server does not defend
itself against hostile clients, so put a web server between it and the network. Several
processes listen at one port, which works on Linux and macOS.
"""

# sphinx_gallery_thumbnail_path = 'auto_thumbnails/serve_recommendations.png'

import argparse
import asyncio
import contextlib
import inspect
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import typing

import joblib
import numpy as np

from sktemper import ImplicitFactorization
from sktemper.datasets import interactions_matrix

# -- the server ------------------------------------------------------------------------


class Batches:
    """Collect users for a few milliseconds, and recommend items to all of them."""

    def __init__(self, model, wait, limit):
        self.model, self.wait, self.limit = model, wait, limit
        self.known = set(model.user_labels_)
        self.waiting = {}  # from each user to connections that wait for an answer

    def ask(self, user, connection):
        if user not in self.known:
            connection.answer("404 Not Found", [])
            return
        self.waiting.setdefault(user, []).append(connection)
        if len(self.waiting) >= self.limit:
            self.flush()
        elif len(self.waiting) == 1:
            asyncio.get_running_loop().call_later(self.wait, self.flush)

    def flush(self):
        """Answer all waiting requests. There are none if a full batch was answered."""
        asked, self.waiting = self.waiting, {}
        if not asked:
            return
        table = self.model.recommend(list(asked), n_items=10)
        users, items = table["user"].to_numpy(), table["item"].to_numpy()
        starts = np.flatnonzero(table["rank"].to_numpy() == 1)
        best = dict(zip(users[starts], np.split(items, starts[1:]), strict=True))
        for user, connections in asked.items():
            for connection in connections:
                connection.answer("200 OK", list(best.get(user, [])))


class Connection(asyncio.Protocol):
    """Read requests of HTTP/1.1, and write the answers."""

    def __init__(self, batches):
        self.batches, self.unread = batches, b""

    def connection_made(self, transport):
        self.transport = typing.cast(asyncio.Transport, transport)

    def data_received(self, data):
        *requests, self.unread = (self.unread + data).split(b"\r\n\r\n")
        for request in requests:
            method, _, rest = request.decode("latin-1").partition(" ")
            if method != "GET":
                self.answer("405 Method Not Allowed", [])
            else:
                self.batches.ask(rest.split(" ")[0].lstrip("/"), self)
        if len(self.unread) > 10_000:
            self.transport.close()

    def answer(self, status, items):
        if self.transport.is_closing():
            return
        body = json.dumps(items).encode()
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.transport.write(head.encode() + body)


def serve(path, port, wait, limit):
    """Serve the model at ``path`` until the process ends.

    Several processes may listen at one port. Linux distributes the connections.
    """
    model = joblib.load(path, mmap_mode="r").set_params(n_jobs=1)
    batches = Batches(model, wait, limit)

    async def run():
        server = await asyncio.get_running_loop().create_server(
            lambda: Connection(batches), "127.0.0.1", port, reuse_port=True
        )
        await server.serve_forever()

    asyncio.run(run())


# -- the load --------------------------------------------------------------------------


async def load(port, users, n_connections, seconds):
    """Send requests and return their times in milliseconds.

    Each connection sends its next request after the last answer.
    """
    times, end = [], time.perf_counter() + seconds

    async def client(seed):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        random = np.random.default_rng(seed)
        while time.perf_counter() < end:
            user, begin = users[random.integers(len(users))], time.perf_counter()
            writer.write(f"GET /{user} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            items = json.loads(await reader.readexactly(int(head.rsplit(b":", 1)[1])))
            assert len(items) == 10, (user, head, items)
            times.append(1000 * (time.perf_counter() - begin))
        writer.close()

    await asyncio.gather(*(client(seed) for seed in range(n_connections)))
    return np.array(times)


@contextlib.contextmanager
def servers(n_processes, path, port, wait, limit):
    """Start processes that run this script as a server, and end them."""
    script = inspect.getsourcefile(main)  # a gallery defines no __file__
    command = [sys.executable, "-P", script, f"--serve={path}", f"--port={port}"]
    command += [f"--milliseconds={1000 * wait}", f"--limit={limit}"]
    processes = [subprocess.Popen(command) for _ in range(n_processes)]
    try:
        wait_for(port)
        yield
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def wait_for(port, seconds=60):
    end = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


# -- the example -----------------------------------------------------------------------


def main():
    arguments = parse_arguments()
    wait = arguments.milliseconds / 1000
    if arguments.serve:
        serve(arguments.serve, arguments.port, wait, arguments.limit)
        return
    random = np.random.default_rng(0)
    taste = random.integers(20, size=arguments.n_users)
    user = np.repeat(np.arange(arguments.n_users), 30)
    item = random.integers(arguments.n_items // 20, size=len(user)) * 20 + taste[user]
    X = interactions_matrix(
        np.char.add("user", user.astype(str)),
        np.char.add("item", item.astype(str)),
        duplicates="one",
    )
    model = ImplicitFactorization(32, random_state=0).fit(X.astype(np.float32))
    print(
        f"{X.shape[0]:,} users, {X.shape[1]:,} items, {arguments.processes} processes"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.joblib")
        joblib.dump(model.for_serving(), path)
        cases = (("batches", wait, arguments.limit), ("one call each", 0.0, 1))
        for name, wait, limit in cases:
            port = free_port()
            with servers(arguments.processes, path, port, wait, limit):
                times = asyncio.run(
                    load(
                        port,
                        model.user_labels_,
                        arguments.n_connections,
                        arguments.seconds,
                    )
                )
            half, most = np.percentile(times, [50, 99])
            print(
                f"{name:14s} {len(times) / arguments.seconds:8,.0f} answers a second, "
                f"half of them within {half:.1f} ms, 99 % within {most:.1f} ms"
            )


def parse_arguments():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--serve", metavar="MODEL", help="only serve this file")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--milliseconds", type=float, default=2, help="a batch waits")
    parser.add_argument("--limit", type=int, default=256, help="users of a batch")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--n-users", type=int, default=20_000)
    parser.add_argument("--n-items", type=int, default=5_000)
    parser.add_argument("--n-connections", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=4)
    return parser.parse_args()


if __name__ == "__main__":
    main()
