"""TLS to a server, as its URL asks for it, in the terms of the driver and of SQLAlchemy's URLs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backends.errors import UrlInvalid

MODES = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")
"""As the clients of MySQL and OceanBase call them."""

_FILES = ("ssl_ca", "ssl_cert", "ssl_key")
OPTIONS = ("ssl_mode", *_FILES, "ssl_check_hostname", "ssl_disabled")
"""What a URL may say of it; the last two are SQLAlchemy's way to say VERIFY_CA and DISABLED."""


@dataclass(frozen=True, slots=True)
class Tls:
    """How a connection is protected; without any wish by TLS where the server offers it, and nobody is verified."""

    mode: str = "PREFERRED"
    ca: str = ""
    """A file with the certificates of those who vouch for the server."""
    cert: str = ""
    """A file with the client's own certificate."""
    key: str = ""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> Tls:
        """Read the options of a URL; a CA alone means that the server's name is verified too. Raises UrlInvalid."""
        ca = options.get("ssl_ca", "")
        mode = _mode(options, "VERIFY_IDENTITY" if ca else "PREFERRED")
        if mode.startswith("VERIFY") and not ca:
            raise UrlInvalid(f"ssl_mode={mode} needs ssl_ca, a file with the certificates that it trusts")
        if mode in ("DISABLED", "PREFERRED") and any(options.get(name) for name in _FILES):
            raise UrlInvalid(f"ssl_mode={mode} does not go with a certificate")
        for name in _FILES:
            if options.get(name) and not Path(options[name]).is_file():
                raise UrlInvalid(f"{name} names no file")
        if options.get("ssl_key") and not options.get("ssl_cert"):
            raise UrlInvalid("ssl_key needs ssl_cert")
        return cls(mode, ca, options.get("ssl_cert", ""), options.get("ssl_key", ""))

    @property
    def arguments(self) -> dict[str, Any]:
        """The driver's arguments."""
        if self.mode == "PREFERRED":
            return {}
        if self.mode == "DISABLED":
            return {"ssl_disabled": True}
        # Without a CA the driver verifies nothing; with one it always verifies the chain.
        files = {"ca": self.ca, "cert": self.cert, "key": self.key}
        checks = {"check_hostname": self.mode == "VERIFY_IDENTITY"}
        return {"ssl": {name: path for name, path in files.items() if path} | checks}

    @property
    def options(self) -> dict[str, str]:
        """What says the same in a URL of SQLAlchemy's, and to of()."""
        if self.mode == "PREFERRED":
            return {}
        if self.mode == "DISABLED":
            return {"ssl_disabled": "true"}
        files = {"ssl_ca": self.ca, "ssl_cert": self.cert, "ssl_key": self.key}
        checks = {"ssl_check_hostname": "true" if self.mode == "VERIFY_IDENTITY" else "false"}
        return {name: path for name, path in files.items() if path} | checks


def _mode(options: Mapping[str, str], default: str) -> str:
    mode = options.get("ssl_mode", "").upper()
    if mode:
        if mode not in MODES:
            raise UrlInvalid(f"its ssl_mode is not one of {', '.join(MODES)}")
        if "ssl_check_hostname" in options or "ssl_disabled" in options:
            raise UrlInvalid("ssl_mode goes with neither ssl_check_hostname nor ssl_disabled")
        return mode
    if _truth(options, "ssl_disabled") is True:
        return "DISABLED"
    match _truth(options, "ssl_check_hostname"):
        case True:
            return "VERIFY_IDENTITY"
        case False:
            return "VERIFY_CA" if options.get("ssl_ca") else "REQUIRED"
        case None:
            return "REQUIRED" if options.get("ssl_cert") and not options.get("ssl_ca") else default


def _truth(options: Mapping[str, str], name: str) -> bool | None:
    match options.get(name, "").lower():
        case "":
            return None
        case "true" | "1" | "yes":
            return True
        case "false" | "0" | "no":
            return False
        case _:
            raise UrlInvalid(f"its {name} is neither true nor false")
