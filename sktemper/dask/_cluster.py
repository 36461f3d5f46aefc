"""Tasks on a cluster: submission, waiting, retries and cancellation."""

import contextlib
import threading
import time
import uuid
from concurrent.futures import CancelledError

import dask
import distributed
from distributed.comm import CommClosedError

from .._utils._notices import listed, warn
from . import _remote

#: Errors of the cluster, not of the code of tasks; pure tasks are retried after them.
OF_THE_CLUSTER = (distributed.KilledWorker, CommClosedError, CancelledError)
#: Largest number of retries.
MOST_RETRIES = 12
#: Seconds between two checks of the cluster while waiting.
LOOK_EVERY = 2.0
#: Seconds without a scheduler that answers, and without a worker, before `ClusterLost`
#: is raised.  Workers must report their version within the latter: they import the
#: package first, as they also would for a fit.
NO_ANSWER, NO_WORKERS = 15.0, 45.0


class ClusterLost(ConnectionError):
    """Error for the permanent loss of the scheduler, all workers or the data."""


def client_of(client):
    """Return a client after checks; None takes the client that was created last."""
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError as error:
            raise ValueError(
                "There is no Dask client: make one, client = "
                "distributed.Client(address), or pass client=."
            ) from error
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise TypeError(
            "client must be a distributed.Client that is not asynchronous, "
            f"got {client!r}."
        )
    if client.status in ("closing", "closed"):
        raise ConnectionError(f"{client!r} is closed: make another client.")
    _warn_of_versions(client)
    return client


def _warn_of_versions(client):
    """Warn of workers that have another version of the package than this process."""
    here = _remote.version()
    answers = Cluster(client).asked(
        client.run, _remote.version, on_error="return", seconds=NO_WORKERS
    )
    others = {
        address: "none that can be imported"
        if isinstance(answer, ImportError)
        else answer
        for address, answer in (answers or {}).items()
        if isinstance(answer, (str, ImportError)) and answer != here
    }
    if others:
        shown = [f"{address} has {other}" for address, other in sorted(others.items())]
        warn(
            f"This process has sktemper {here}, but {len(others)} of {len(answers)} "
            f"workers have another version: {listed(shown)}. Fits may fail or have "
            "other results: install the same version everywhere.",
            UserWarning,
        )


class Cluster:
    """A client of a cluster, and the running tasks of one caller."""

    def __init__(self, client):
        self.client = client
        #: Token of the flag that stops the running tasks.
        self.token = uuid.uuid4().hex
        #: Futures of parts of the data, which are recomputed after a failure.
        self.kept = ()
        self._under_way = set()
        self._seen = time.monotonic()

    # -- tasks -------------------------------------------------------------------------
    def submit(self, function, *arguments, workers=None):
        where = {"workers": workers, "allow_other_workers": True} if workers else {}
        future = self.client.submit(function, *arguments, pure=False, **where)
        self._under_way.add(future)
        return future

    def ship(self, value, stop=None):
        """Return the future of a `Shipped` value, from a task that Dask can repeat."""
        shipped = _remote.Shipped.of(value, stop, self.token)
        # Dask warns of large arguments, but a model is expected to be large
        with dask.config.set(
            {"distributed.admin.large-graph-warning-threshold": "1TB"}
        ):
            return self.submit(_remote.unwrapped, shipped)

    def release(self, *futures):
        """Release futures; their results stay while other tasks need them."""
        for future in futures:
            if future in self._under_way:
                self._under_way.discard(future)
                future.release()

    def keep_only(self, futures):
        """Keep these futures, the parts of the data, and release all others."""
        self._under_way.difference_update(futures)
        self.release(*tuple(self._under_way))
        self.kept = tuple(futures)

    def result(self, future):
        self.wait([future])
        result = future.result()
        if isinstance(result, str) and result == _remote.STOPPED:
            raise CancelledError("The tasks were stopped by another caller.")
        return result

    def results(self, futures):
        self.wait(futures)
        return self.client.gather(futures)

    def wait(self, futures):
        """Wait until futures are done, or raise the error of the first that failed."""
        self._seen = time.monotonic()
        while True:
            try:
                with self.client.as_current():  # there may be other clients
                    distributed.wait(futures, timeout=LOOK_EVERY)
                return
            except TimeoutError:
                for future in futures:
                    if future.status == "error":
                        future.result()
                self._check_workers()

    # -- failures ----------------------------------------------------------------------
    def tried(self, function):
        """Return ``function()``, and retry it after failures of the cluster."""
        for left in reversed(range(MOST_RETRIES)):
            try:
                return function()
            except (*OF_THE_CLUSTER, OSError) as error:
                is_running = self.client.status == "running"
                if is_running and not isinstance(error, OF_THE_CLUSTER):
                    self.stop()
                    raise
                if not left:
                    raise ClusterLost(
                        f"The same tasks failed {MOST_RETRIES} times because workers "
                        "or connections failed."
                    ) from error
                self.stop()
                self._recover(error)
            except BaseException:
                self.stop()
                raise

    def stop(self):
        token, self.token = self.token, uuid.uuid4().hex
        under_way, self._under_way = self._under_way, set()
        if under_way and self.client.status == "running":
            self.asked(self.client.run, _remote.stop, token, on_error="ignore")
        for future in under_way:
            future.release()

    def _recover(self, error):
        """Wait for a scheduler and a worker, and recompute lost data."""
        self._await_scheduler()
        try:
            self.client.wait_for_workers(1, timeout=NO_WORKERS)
        except TimeoutError:
            raise self._without_workers() from error
        failed = [future for future in self.kept if future.status == "error"]
        if failed:
            self.client.retry(failed)
        if any(future.status in ("cancelled", "lost") for future in self.kept):
            raise ClusterLost(
                "Data were lost with a worker, or with the scheduler, and Dask cannot "
                "recompute them: pass a collection that has a recipe, not scattered "
                "data."
            ) from error

    def _check_workers(self):
        """Raise if the scheduler or all workers have been lost for too long."""
        self._await_scheduler()
        threads = self.asked(self.client.nthreads)
        if threads is None and self.client.status == "running":
            raise ClusterLost(
                f"The scheduler has not answered for {NO_ANSWER:g} seconds. The "
                "estimator has the last complete step."
            )
        if threads:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > NO_WORKERS:
            raise self._without_workers()

    def _await_scheduler(self):
        end = time.monotonic() + NO_ANSWER
        while self.client.status != "running":
            if self.client.status == "closed" or time.monotonic() > end:
                raise ClusterLost(
                    "The connection to the scheduler is lost. The estimator has the "
                    "last complete step."
                )
            time.sleep(0.1)

    def _without_workers(self):
        return ClusterLost(
            f"There was no worker for {NO_WORKERS:g} seconds. The estimator has the "
            "last complete step."
        )

    def asked(self, function, *arguments, seconds=NO_ANSWER, **options):
        """Return the result of a client's function; None after an error or timeout."""
        answers = []

        def ask():
            with contextlib.suppress(Exception):
                answers.append(function(*arguments, **options))

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(seconds)
        return answers[0] if answers else None
