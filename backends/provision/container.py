"""An OceanBase or seekdb in a container, as testcontainers has containers of other databases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import docker.errors
from requests.exceptions import ConnectionError as ConnectionLost
from requests.exceptions import ReadTimeout
from testcontainers.core.container import DockerContainer

from backends.errors import EngineDied, EngineError
from backends.provision.daemon import connected, told_apart
from backends.provision.databases import Endpoint, check_oceanbase
from backends.provision.images import PORT, Flavour

_LOG_LINES = 10
_LOG_LINE_CHARACTERS = 240
_SECONDS_TO_HEAR = 1.0


class OceanBaseContainer(DockerContainer):
    """An OceanBase of an image, whose port is published on this machine's loopback alone."""

    def __init__(self, image: str, flavour: Flavour, *, password: str, labels: Mapping[str, str]) -> None:
        super().__init__(image)
        self.flavour = flavour
        self.password = password
        self.with_envs(**flavour.environment(password))
        # A free port, on an address: testcontainers' own methods publish on all of them.
        self.ports: dict[str, Any] = {f"{PORT}/tcp": ("127.0.0.1",)}
        self.with_kwargs(labels=dict(labels))

    @property
    def id(self) -> str:
        """The container's id. Raises testcontainers' error before the start."""
        return self.get_container_id()

    def adopt(self, container: Any) -> None:
        """Take a container that another run made of the same."""
        self._container = container
        told = [word.partition("=") for word in container.attrs["Config"]["Env"]]
        self.password = {name: value for name, _, value in told}[self.flavour.password_variable]

    def endpoints(self) -> list[Endpoint]:
        """Return where it may be reached, the loopback first; nothing while it has no port."""
        container = self.get_wrapped_container()
        container.reload()
        network = container.attrs["NetworkSettings"]
        published = (network["Ports"] or {}).get(f"{PORT}/tcp") or ()
        places = [("127.0.0.1", int(there["HostPort"])) for there in published[:1]]
        # This process may run in a container itself, beside that one and with another loopback than the daemon's.
        places += [(there["IPAddress"], PORT) for there in network["Networks"].values() if there["IPAddress"]]
        return [Endpoint(user=self.flavour.user, password=self.password, host=host, port=port) for host, port in places]

    def ended_within(self, seconds: float) -> bool:
        """Wait for the container's end, and say whether it came."""
        return ended_within(self.get_wrapped_container(), seconds)


def check_container(endpoint: Endpoint, container_id: str) -> None:
    """Raise EngineDied when a container has ended, or the error of a query that fails."""
    try:
        check_oceanbase(endpoint)
    except EngineError:
        with connected() as client, told_apart():
            try:
                container = client.containers.get(container_id)
                # The connection is cut before the daemon hears of the end.
                if ended_within(container, _SECONDS_TO_HEAR):
                    raise ended(container, "in mid-run") from None
            except docker.errors.NotFound:
                raise EngineDied("in mid-run", None, ["its container is gone"]) from None
        raise


def ended_within(container: Any, seconds: float) -> bool:
    """Wait for a container's end, and say whether it came."""
    try:
        container.wait(timeout=seconds)
    except (ReadTimeout, ConnectionLost):
        return False
    return True


def ended(container: Any, when: str) -> EngineDied:
    """Tell a container's end by its exit code and its last words."""
    container.reload()
    code = int(container.attrs["State"]["ExitCode"])
    return EngineDied(when, 128 - code if code > 128 else code, last_lines(container))


def last_lines(container: Any) -> list[str]:
    """Return the last lines of a container's log, each cut to a screen's length."""
    try:
        log: bytes = container.logs(tail=_LOG_LINES)
    except docker.errors.APIError as error:
        return [f"no log: {error.explanation}"]
    return [line[:_LOG_LINE_CHARACTERS] for line in log.decode("utf-8", "replace").rstrip("\n").split("\n")]
