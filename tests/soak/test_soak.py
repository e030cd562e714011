"""Consistency under writes, on both engines: SOAK_SECONDS (default 10) on each, with the seed SOAK_SEED."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from counts import MAX_ENTRIES, Soak
from running import count_lost, prepare_world, run

from bench.serving import Connection, RuntimeProcess
from harness.target.reference import Server
from runtime.application import ContextApplication
from runtime.artifacts import Family
from runtime.builder import Candidate
from runtime.http.server import ContextServer
from runtime.recall import RecallRequest, RecallSource, default_sources
from runtime.storage import Reader, Storage, open_storage

SECONDS = float(os.environ.get("SOAK_SECONDS", "10"))
SEED = int(os.environ.get("SOAK_SEED", "1489"))


def test_every_answer_is_of_one_moment(database: str, storage: Storage, engine_name: str) -> None:
    soak = Soak(SEED)
    prepare_world(storage, soak)
    with RuntimeProcess(database, RUNTIME_CONTEXT_ASSEMBLY_MAX_ENTRIES=MAX_ENTRIES) as server:
        run(storage, server.connection, soak, seconds=SECONDS)
        assert server.warnings == 0, list(server.last_lines)
    print(soak.told(engine_name, SECONDS))
    assert soak.faults == []
    assert soak.lost == 0
    # A run that saw little shows little.
    assert soak.answers >= 20 * SECONDS
    assert soak.refusals >= SECONDS
    assert soak.history.acknowledged >= 5 * SECONDS
    assert soak.exact_reads >= 50


class AnotherMoment:
    """A recall that reads in a snapshot of its own, as one without a transaction for the whole request would."""

    def __init__(self, storage: Storage, source: RecallSource) -> None:
        self._storage, self._source = storage, source

    def recall(self, reader: Reader, request: RecallRequest) -> list[Candidate]:
        del reader
        with self._storage.reading() as another:
            return list(self._source.recall(another, request))


@contextmanager
def torn(url: str, family: Family) -> Iterator[int]:
    """Serve a database with one family of another moment; gives the port."""
    every = default_sources()
    own = open_storage(url)
    sources: dict[Family, RecallSource] = {**every, family: AnotherMoment(own, every[family])}
    application = ContextApplication(open_storage(url), sources=sources, max_entries=int(MAX_ENTRIES))
    server = Server(ContextServer(application).app)
    try:
        yield int(server.url.rpartition(":")[2])
    finally:
        server.stop()
        application.close()
        own.close()


@pytest.mark.parametrize("family", ["memory", "profile"])
def test_a_torn_read_is_found(database: str, storage: Storage, family: Family) -> None:
    soak = Soak(SEED)
    prepare_world(storage, soak)
    with torn(database, family) as port:
        run(storage, lambda: Connection(port), soak, seconds=30)
    assert soak.faults
    # Chance decides what comes between the two reads: another Entry, one that goes, or the guest's revocation.
    assert any(word in soak.faults[0] for word in ("moment", "missing", "together with, or after, his revocation"))


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_lost_write_is_counted(database: str, storage: Storage) -> None:
    soak = Soak(SEED)
    prepare_world(storage, soak)
    count_lost(storage, soak)
    assert soak.lost == 0
    for states in soak.history.states.values():
        states[1].slots = {}
    count_lost(storage, soak)
    assert soak.lost == 2
