"""The world of the contract's examples, the runtime's server on it, and the contract's schemas as validators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from harness.target.reference import Server
from runtime.application import ContextApplication
from runtime.artifacts import EntryWrite, Experience
from runtime.http.published import published
from runtime.http.server import ContextServer
from runtime.recall import default_sources
from runtime.storage import Storage, open_storage

TOKEN = "the-reader-s-token"
ADMINISTRATOR = "the-administrator-s-token"
SCOPE = "project:demo"
LARGEST_TOTAL = 26
"""What the limits of four sections can add up to: three times 8, and 2."""


def fill(storage: Storage) -> None:
    """Write what the examples tell of."""
    with storage.writing() as writer:
        for scope_id in (SCOPE, "unseen"):
            writer.create_scope(scope_id)
        writer.write_memory(SCOPE, [EntryWrite("entry-1", "entry-1-v1", "Run the contract tests.")])
        writer.write_memory(SCOPE, [EntryWrite("entry-1", "entry-1-v2", "Regenerate, then run the contract tests.")])
        lesson = Experience("The contract changed.", "Ran the tests.", "They failed.", "Regenerate first.")
        writer.write_document(SCOPE, "experience-1", lesson)
        writer.create_principal("root", administrator=True)
        writer.store_token("root", ADMINISTRATOR)
        writer.store_token("reader", TOKEN)
        writer.grant("reader", SCOPE)


@contextmanager
def served(database: str, **options: Any) -> Iterator[str]:
    """Serve a database; gives the server's URL."""
    application = ContextApplication(open_storage(database), **{"sources": default_sources()} | options)
    server = Server(ContextServer(application).app)
    try:
        yield server.url
    finally:
        server.stop()
        application.close()


def operations() -> dict[str, tuple[str, str, Mapping[str, Any]]]:
    """Return method, path and description of each operation by its name."""
    return {
        operation["operationId"]: (method.upper(), path, operation)
        for path, item in published()["paths"].items()
        for method, operation in item.items()
    }


def resolved(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a part of the contract is, or refers to."""
    while "$ref" in part:
        target: Any = published()
        for step in str(part["$ref"]).removeprefix("#/").split("/"):
            target = target[step]
        part = target
    return part


def judge(schema: Mapping[str, Any], document: Mapping[str, Any] | None = None) -> Validator:
    """Return a validator of a schema, which may refer to the contract's components."""
    whole = published() if document is None else document
    return Draft202012Validator({**schema, "components": whole["components"]})


def answer_schema(operation: Mapping[str, Any], status: int) -> Mapping[str, Any]:
    """Return the schema of an operation's answer of a status."""
    answers = operation["responses"]
    content = resolved(answers.get(str(status), answers["default"]))["content"]
    schema: Mapping[str, Any] = content["application/json"]["schema"]
    return schema
