"""What belongs to the product's own answers, and so says nothing of anybody: it stays where a part of one is quoted."""

from __future__ import annotations

import re

from harness.check.parts import END, HEAD, OLDER_BEGIN, OLDER_END

FRAME_TEXT = (HEAD + END + OLDER_BEGIN + OLDER_END).decode("ascii").lower()
"""The fixed text of every answer."""
_VOCABULARY = """
memory experience profile topic scope artifact entry confidence recall rank truncated family id revision version
situation action outcome lesson title summary snippet unknown not assessed yes no trust untrusted history items citation
content kind ref schema status powercontext prepared context ready empty bytes error code message details true false
null v begin end text atomic active retired pending rejected fact
"""
FRAME_WORDS = frozenset(re.findall("[a-z]+", FRAME_TEXT + _VOCABULARY))
"""The words of the frame, of metadata and of the older form's keys."""

FORGED = re.compile(
    r"(?m)(?:BEGIN|END)_POWERCONTEXT_PREPARED_(?:TEXT|CONTEXT)_V1"
    r"|^#{1,3} (?:PowerContext historical context|Memory|Experience|Profile|Topic Memory)\b"
    r"|^ *(?:Scope|Artifact|Entry|Confidence|Recall rank|Truncated|Situation|Action|Outcome|Lesson|Title|Summary"
    r"|Snippet): ?"
    r"|PowerContext prepared untrusted historical context\."
    r"|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8}"
)
"""What looks like the frame of an answer, or like an escape of it, in a text: that may be what the report is about."""

QUOTED = re.compile(r'("(?:[^"\\\n]|\\.)*")')
"""A JSON string on one line."""
_NUMBER = r'(?:(?<=Memory )|(?<=Experience )|(?<=Profile )|(?<=revision=)|(?<=revision":)|(?<=rank: ))[0-9]+'
RUNS = re.compile(rf"({_NUMBER}|(?<![^\W_])[A-Za-z]+(?![^\W_]))")
"""A number that the frame has, or a word that may be one of its own."""


def is_of_frame(run: str) -> bool:
    """Say whether what RUNS finds belongs to the frame."""
    return not run.isalpha() or run.casefold() in FRAME_WORDS
