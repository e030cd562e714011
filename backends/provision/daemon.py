"""Docker's daemon: reaching it, getting an image, and testcontainers' reaper."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import docker.errors
from requests.exceptions import RequestException
from testcontainers.core.config import testcontainers_config
from testcontainers.core.container import Reaper
from testcontainers.core.docker_client import DockerClient, get_docker_host
from testcontainers.core.exceptions import ContainerConnectException, ContainerStartException

from backends.errors import DockerMissing, DockerRemote, DockerSilent, ImageUnknown

Client = Any
"""A docker.DockerClient; the package has no types."""

CALL_SECONDS = 10
"""How long a daemon that lives may take to answer a small question."""
_SOCKET = "unix:///var/run/docker.sock"
_DAEMON = (docker.errors.DockerException, RequestException, OSError)
_REAPER = (*_DAEMON, ContainerStartException, ContainerConnectException)


@contextmanager
def connected() -> Iterator[Client]:
    """Reach the daemon as testcontainers does, for a few questions. Raises DockerMissing, DockerSilent."""
    try:
        _knock()
        client = DockerClient(timeout=CALL_SECONDS).client
    except _DAEMON as error:
        raise DockerSilent(str(error)) from None
    try:
        yield client
    finally:
        client.close()


@contextmanager
def told_apart() -> Iterator[None]:
    """Turn a daemon that goes away in the middle into DockerSilent."""
    try:
        yield
    except _DAEMON as error:
        raise DockerSilent(str(error)) from None


def check_is_local(client: Client) -> None:
    """Raise DockerRemote for a daemon on another machine: a port on its loopback is out of reach from here."""
    where = urlsplit(client.api.base_url)
    if where.scheme in ("http", "https", "ssh") and where.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise DockerRemote(where.hostname or client.api.base_url)


def labels_of(client: Client, image: str, *, quiet: bool = False) -> tuple[str, Mapping[str, str]]:
    """Return an image's id and its labels; one that is not there is pulled. Raises ImageUnknown, DockerSilent."""
    with told_apart():
        try:
            found = client.images.get(image)
        except docker.errors.ImageNotFound:
            if not quiet:
                print(f"pulling the image {image}", file=sys.stderr)
            found = _pulled(image)
        except docker.errors.APIError as error:
            # A name that no image can have.
            raise ImageUnknown(image, error.explanation or str(error)) from None
        return str(found.id), found.labels


def settle_reaper(client: Client) -> None:
    """Start testcontainers' reaper where it is wanted and its image is to be had; say so where it is not.

    It takes a killed run's container away at once; without it the next run's sweep does.
    """
    if testcontainers_config.ryuk_disabled:
        return
    image = testcontainers_config.ryuk_image
    try:
        labels_of(client, image, quiet=True)
        Reaper.get_instance()
    except ImageUnknown as error:
        cause = error.cause or error.message
    except _REAPER as error:
        Reaper.delete_instance()
        cause = str(error)
    else:
        return
    testcontainers_config.ryuk_disabled = True
    print(
        f"going on without the reaper {image} ({cause}); what a killed run leaves behind, the next run takes away",
        file=sys.stderr,
    )


def _pulled(image: str) -> Any:
    # With a bound of its own: a daemon is silent while it unpacks a large layer.
    client = DockerClient(timeout=600).client
    try:
        return client.images.pull(image)
    except (docker.errors.APIError, RequestException) as error:
        raise ImageUnknown(image, getattr(error, "explanation", None) or str(error)) from None
    finally:
        client.close()


def _knock() -> None:
    """Try the daemon's socket. Raises DockerMissing where there is none, DockerSilent where nobody listens.

    The client leaves a socket open that it could not connect, and tells neither from the other.
    """
    where = urlsplit(get_docker_host() or _SOCKET)
    if where.scheme != "unix":
        return
    with socket.socket(socket.AF_UNIX) as channel:
        channel.settimeout(CALL_SECONDS)
        try:
            channel.connect(where.path)
        except FileNotFoundError:
            raise DockerMissing(f"there is no {where.path}") from None
        except OSError as error:
            raise DockerSilent(f"{where.path}: {error.strerror or error}") from None
