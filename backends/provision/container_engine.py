"""The container way: an engine in a container of an image, for one run or kept for the next."""

from __future__ import annotations

import atexit
import hashlib
import os
import secrets
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import docker.errors
from testcontainers.core.config import testcontainers_config

from backends.base import Info
from backends.errors import EngineDied, EngineError, EngineSlow, NotOceanBase, NotStarted, Unreachable
from backends.provision.claims import REUSE_LABEL, Claim, exclusive, open_claim, remove
from backends.provision.container import OceanBaseContainer, check_container, ended, last_lines
from backends.provision.daemon import Client, check_is_local, connected, labels_of, settle_reaper, told_apart
from backends.provision.databases import Endpoint, check_oceanbase, check_writes
from backends.provision.homes import state_directory
from backends.provision.images import CONTAINER, PORT, REUSED, Flavour, flavour_of
from backends.provision.server import endpoint_of

START_SECONDS = 300.0
"""From the container's creation; upstream's image says that it may take five minutes."""

_TOLD_AFTER, _TOLD_EVERY = 3.0, 15.0
_POLL_SECONDS = 0.2
_TRY_SECONDS = 2


class ContainerEngine:
    """A container that this process started, or found where it may be used again."""

    def __init__(
        self, image: str, *, reuse: bool = False, state: Path | None = None, start_seconds: float = START_SECONDS
    ) -> None:
        self.image = image
        self.way = REUSED if reuse else CONTAINER
        self._reuse = reuse
        self._state = state_directory() if state is None else state.absolute()
        self._start_seconds = start_seconds
        self._owner_pid = os.getpid()
        self._claim: Claim | None = None
        self._container: OceanBaseContainer | None = None
        self._endpoint: Endpoint | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Where the engine listens. Raises NotStarted."""
        if self._endpoint is None:
            raise NotStarted("oceanbase")
        return self._endpoint

    @property
    def container_id(self) -> str:
        """The container's id. Raises NotStarted."""
        if self._container is None:
            raise NotStarted("oceanbase")
        return self._container.id

    @property
    def detail(self) -> str:
        """Container and image, for a report."""
        return f"container {self.container_id[:12]} of {self.image}"

    def start(self) -> None:
        """Have a container whose engine answers a query and shows a write.

        Raises DockerMissing, DockerSilent, DockerRemote, ImageUnknown, StateDirectoryUnusable, NotOceanBase,
        EngineDied, EngineSlow.
        """
        if self._endpoint is not None:
            return
        atexit.register(self.stop)
        try:
            with connected() as client, told_apart():
                check_is_local(client)
                name = testcontainers_config.hub_image_name_prefix + self.image
                image_id, labels = labels_of(client, name)
                self._claim = open_claim(client, self._state)
                flavour = flavour_of(self.image, labels)
                if self._reuse:
                    with exclusive(self._state / "containers", "reuse"):
                        self._endpoint = self._find_or_begin(client, flavour, image_id)
                else:
                    settle_reaper(client)
                    self._endpoint = self._begin(flavour, self._claim.labels)
        except BaseException:
            self.stop()
            raise

    def check(self) -> None:
        """Raise EngineDied with the container's last words, or the error of a query that fails."""
        check_container(self.endpoint, self.container_id)

    def stop(self) -> None:
        """Remove the container, unless it is kept for the next run; nothing in a fork of the owner."""
        if os.getpid() != self._owner_pid:
            return
        atexit.unregister(self.stop)
        container, self._container = self._container, None
        claim, self._claim = self._claim, None
        endpoint, self._endpoint = self._endpoint, None
        try:
            if container is not None:
                self._let_go(container, is_ready=endpoint is not None)
        finally:
            if claim is not None:
                claim.release()

    def info(self) -> Info:
        """Describe the engine for a worker; holds the password."""
        there = self.endpoint
        return {
            "host": there.host,
            "port": str(there.port),
            "user": there.user,
            "password": there.password,
            "options": "",
            "container": self.container_id,
            "image": self.image,
        }

    def _find_or_begin(self, client: Client, flavour: Flavour, image_id: str) -> Endpoint:
        settings = sorted(flavour.environment("").items())
        key = hashlib.sha256(repr((image_id, settings)).encode()).hexdigest()[:16]
        found = client.containers.list(filters={"label": f"{REUSE_LABEL}={key}", "status": "running"})
        if not found:
            return self._begin(flavour, {REUSE_LABEL: key})
        self._container = OceanBaseContainer(self.image, flavour, password="", labels={})
        self._container.adopt(self._container.get_docker_client().client.containers.get(found[0].id))
        return self._await_ready(self._container)

    def _begin(self, flavour: Flavour, labels: Mapping[str, str]) -> Endpoint:
        # Letters and digits: upstream's start script puts it between quotes.
        container = OceanBaseContainer(self.image, flavour, password=secrets.token_hex(16), labels=labels)
        self._container = container
        reaper_disabled = testcontainers_config.ryuk_disabled
        try:
            # What is kept must not be reaped when this process ends.
            testcontainers_config.ryuk_disabled = reaper_disabled or self._reuse
            container.start()
        except docker.errors.APIError as error:
            raise EngineDied("before it began", None, [error.explanation or str(error)]) from None
        finally:
            testcontainers_config.ryuk_disabled = reaper_disabled
        return self._await_ready(container)

    def _await_ready(self, container: OceanBaseContainer) -> Endpoint:
        began = time.monotonic()
        deadline, told_at = began + self._start_seconds, began + _TOLD_AFTER
        while True:
            try:
                endpoint = self._reached(container)
                check_writes(endpoint, secrets.token_hex(8))
                return endpoint
            except NotOceanBase:
                raise
            except EngineError as error:
                cause = error.cause or error.message
            if container.ended_within(_POLL_SECONDS):
                raise ended(container.get_wrapped_container(), "while starting")
            now = time.monotonic()
            if now > deadline:
                raise EngineSlow(self._start_seconds, cause, last_lines(container.get_wrapped_container()))
            if now > told_at:
                told_at = now + _TOLD_EVERY
                print(
                    f"waiting up to {deadline - now:.0f} s for {container.flavour.name} in container "
                    f"{container.id[:12]} to answer a query (so far: {cause})",
                    file=sys.stderr,
                )

    def _reached(self, container: OceanBaseContainer) -> Endpoint:
        """Return the first place where the engine answers; raises what happened at the loopback."""
        places = container.endpoints()
        if not places:
            raise Unreachable(f"container {container.id[:12]}", f"it has not published port {PORT}")
        failures: list[EngineError] = []
        for place in places:
            try:
                # An open port says nothing: Docker's proxy takes connections for a server that does not listen yet.
                check_oceanbase(replace(place, connect_seconds=_TRY_SECONDS))
            except NotOceanBase:
                raise
            except EngineError as error:
                failures.append(error)
            else:
                if failures:
                    # It may have come up between the two questions.
                    with suppress(EngineError):
                        check_oceanbase(places[0])
                        return places[0]
                return place
        raise failures[0]

    def _let_go(self, container: OceanBaseContainer, *, is_ready: bool) -> None:
        wrapped = container._container
        try:
            # One that never became ready is of no use to the next run either.
            if wrapped is not None and not (self._reuse and is_ready):
                remove(wrapped)
        finally:
            container.get_docker_client().client.close()


class AttachedContainer:
    """A container that another process started."""

    def __init__(self, info: Info) -> None:
        self._info = info
        self.way = info["way"]
        self.endpoint = endpoint_of(info)
        self.detail = f"container {info['container'][:12]} of {info['image']}, of another owner"

    def start(self) -> None:
        """It runs already."""

    def check(self) -> None:
        """Raise EngineDied when the container has ended, or the error of a query that fails."""
        check_container(self.endpoint, self._info["container"])

    def stop(self) -> None:
        """Leave the container to its owner."""

    def info(self) -> Info:
        """Pass on what the owner told."""
        return self._info
