"""Counts tokens by vocabularies that come inside a package, so that nothing is fetched."""

from __future__ import annotations

import warnings
from importlib.metadata import version
from typing import Any

ENCODINGS = ("o200k_base", "cl100k_base")
_PACKAGE = "bpe-openai"


class Tokenizer:
    """The byte-pair encodings of OpenAI's models; a model of somebody else counts otherwise."""

    def __init__(self) -> None:
        # Here, since reading the vocabularies takes a moment, and is done in a way that Python deprecates.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            import bpe_openai

            self._encodings: dict[str, Any] = {name: bpe_openai.get_encoding(name) for name in ENCODINGS}
        self.name = f"{_PACKAGE} {version(_PACKAGE)}"

    def count(self, text: str) -> dict[str, int]:
        """Return the number of tokens by encoding; marks of control in the text are plain text."""
        return {name: len(encoding.encode_ordinary(text)) for name, encoding in self._encodings.items()}
