"""The runtime by hand: `python -m runtime serve`, and the commands that make Scopes readable by somebody."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

import uvicorn

from runtime.application import ContextApplication
from runtime.artifacts import FAMILIES
from runtime.errors import SchemaRefused, StorageUnreachable, WriteRefused
from runtime.http.protocol import server_config
from runtime.http.server import ContextServer
from runtime.recall import default_sources
from runtime.settings import PREFIX, SettingRefused, Settings
from runtime.storage import UrlRefused, open_storage


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code, 2 for a setting or a storage that cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m runtime", description="The prepare path of RFC 1489.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="serve HTTP; settings are POWERCONTEXT_SERVER_* variables")
    token = commands.add_parser("token", help="make a bearer token and print it, this once")
    token.add_argument("principal", help="the principal's id")
    token.add_argument("--administrator", action="store_true", help="he may learn that a Scope is absent")
    grant = commands.add_parser("grant", help="make a principal viewer of a Scope")
    grant.add_argument("principal")
    grant.add_argument("scope")
    migrate = commands.add_parser("migrate", help="bring an older or half made schema to this version")
    migrate.add_argument("--database-url", metavar="URL", help=f"default {PREFIX}DATABASE_URL, which no `ps` shows")
    options = parser.parse_args(arguments)
    named = {f"{PREFIX}DATABASE_URL": url} if (url := getattr(options, "database_url", None)) else {}
    try:
        settings = Settings.from_environment({**os.environ, **named})
        if options.command == "serve":
            return _serve(settings)
        storage = open_storage(settings.database_url)
        if options.command == "migrate":
            print(storage.migrate())
            return 0
        storage.prepare()
        with storage.writing() as writer:
            if options.command == "token":
                writer.create_principal(options.principal, administrator=options.administrator)
                print(writer.create_token(options.principal))
            else:
                writer.grant(options.principal, options.scope)
    except (SettingRefused, UrlRefused, SchemaRefused, WriteRefused) as error:
        print(error, file=sys.stderr)
        return 2
    except StorageUnreachable as error:
        print(f"storage_unreachable: the database does not answer ({error})", file=sys.stderr)
        return 2
    return 0


def _serve(settings: Settings) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    application = ContextApplication(
        open_storage(settings.database_url, timeout_seconds=settings.recall_timeout_seconds),
        sources=default_sources(),
        access_mode=settings.access_mode,
        max_entries=settings.assembly_max_entries,
        recall_timeout_seconds=settings.recall_timeout_seconds,
        storage_timeout_seconds=settings.recall_timeout_seconds,
    )
    server = ContextServer(application)
    try:
        server.make_ready()
    except StorageUnreachable as error:
        # The server starts all the same and says that it is not ready: the database may come later.
        logging.getLogger("runtime").warning("the database does not answer yet (%s)", error)
    # uvicorn stops at the signal and raises it again, which without a handler would end the process by the signal.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        # As long as a request may take that needs every family.
        stop_seconds = len(FAMILIES) * settings.recall_timeout_seconds + 10
        config = server_config(server.app, host=settings.host, port=settings.port, stop_seconds=stop_seconds)
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run()
    finally:
        application.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
