"""The server's settings, by their environment variables."""

from __future__ import annotations

import pytest

from runtime.settings import SettingRefused, Settings
from runtime.storage import UrlRefused, open_storage

URL = "sqlite:////tmp/never-opened.db"


def settings(**values: str) -> Settings:
    named = {f"POWERCONTEXT_SERVER_{name}": value for name, value in values.items()}
    return Settings.from_environment({"POWERCONTEXT_SERVER_DATABASE_URL": URL} | named)


def test_defaults_are_those_of_the_contract() -> None:
    assert settings() == Settings(
        database_url=URL,
        access_mode="enforced",
        assembly_max_entries=8,
        recall_timeout_seconds=5.0,
        host="127.0.0.1",
        port=8000,
    )


def test_every_setting_is_read() -> None:
    read = settings(
        ACCESS_MODE="disabled",
        RUNTIME_CONTEXT_ASSEMBLY_MAX_ENTRIES="26",
        RECALL_TIMEOUT_SECONDS="0.25",
        HOST="0.0.0.0",
        PORT="65535",
    )
    assert (read.access_mode, read.assembly_max_entries, read.recall_timeout_seconds) == ("disabled", 26, 0.25)
    assert (read.host, read.port) == ("0.0.0.0", 65535)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", ""),
        ("ACCESS_MODE", ""),
        ("ACCESS_MODE", "Enforced"),
        *(
            (name, value)
            for name in ("RUNTIME_CONTEXT_ASSEMBLY_MAX_ENTRIES", "PORT")
            for value in ("", "0", "-1", "+8", "8.0", " 8", "8 ", "eight", "٨", "1_0", "9" * 5000)
        ),
        ("PORT", "65536"),
        *(("RECALL_TIMEOUT_SECONDS", value) for value in ("", "0", "-1", "nan", "inf", "86400", "soon")),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(SettingRefused, match=f"^POWERCONTEXT_SERVER_{name} ") as caught:
        settings(**{name: value})
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "url",
    [
        "x",
        "",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "postgresql://user:secret@host/db",
        "mysql://user:secret@host:port/db",
        "mysql+oceanbase://user:secret@host:2881",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(UrlRefused) as caught:
        open_storage(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "opened"),
    [
        (URL, "sqlite+pysqlite"),
        ("mysql://root@127.0.0.1:2881/db", "mysql+oceanbase"),
        ("mysql+pymysql://root@127.0.0.1:2881/db", "mysql+oceanbase"),
        ("mysql+oceanbase://root@127.0.0.1:2881/db", "mysql+oceanbase"),
    ],
)
def test_either_engines_url_is_opened_without_connecting(url: str, opened: str) -> None:
    storage = open_storage(url)
    assert storage.engine.url.drivername == opened
    storage.close()
