"""Faults of one engine's storage alone, which the other engine and the comparison must show."""

from __future__ import annotations

from harness.explore.mutants.model import OCEANBASE, SQLITE, Edit, Mutant, mutant

_NAMES = {SQLITE: "SQLite", OCEANBASE: "OceanBase"}
_ELSEWHERE = {SQLITE: 'dialect.name != "mysql"', OCEANBASE: 'dialect.name == "mysql"'}


def _shared(engine: str) -> tuple[Mutant, ...]:
    """Return the faults that either engine's storage can have."""
    here, named = _ELSEWHERE[engine], _NAMES[engine]
    return (
        mutant(
            engine,
            f"stale reads on {named}",
            "An answer of the search is kept and given again after a write.",
            Edit(
                "storage/search.py",
                "    hits: defaultdict[str, list[Hit]] = defaultdict(list)\n    for scope_id, artifact_id, entry_id in connection.execute(_lexical, parameters):\n        hits[scope_id].append(Hit(artifact_id, entry_id))\n    return dict(hits)\n",
                "    hits: defaultdict[str, list[Hit]] = defaultdict(list)\n    for scope_id, artifact_id, entry_id in connection.execute(_lexical, parameters):\n        hits[scope_id].append(Hit(artifact_id, entry_id))\n"
                f"    if connection.{here}:\n"
                "        return _kept.setdefault(repr((id(connection.engine), parameters)), dict(hits))\n"
                "    return dict(hits)\n\n\n"
                "_kept: dict[str, Hits] = {}\n",
            ),
            killers=("consistency/a_write_is_visible_at_once",),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"long bodies cut on {named}",
            "A body is stored up to 65,535 bytes and no further.",
            Edit(
                "storage/types.py",
                "return None if value is None else value.encode()",
                f"return None if value is None else value.encode()[: 65_535 if {here} else None]",
            ),
            killers=("bugs/long_bodies_keep_their_length",),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"trailing blanks of bodies lost on {named}",
            "A body loses the blanks at its end when it is written.",
            Edit(
                "storage/types.py",
                "return None if value is None else value.encode()",
                f'return None if value is None else (value.rstrip(" ") if {here} else value).encode()',
            ),
            killers=("escaping/blank_lines_and_trailing_blanks_stay",),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"line ends of bodies changed on {named}",
            "CRLF is read back as LF.",
            Edit(
                "storage/types.py",
                'bytes(value).decode("utf-8", "ignore")',
                f'bytes(value).decode("utf-8", "ignore").replace("\\r\\n", "\\n" if {here} else "\\r\\n")',
            ),
            killers=("exact_reads/stored_text_comes_back_unchanged",),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"ids composed on {named}",
            "An id is stored in its normal form, so that two of them are one.",
            Edit("storage/types.py", "from typing import Any\n", "import unicodedata\nfrom typing import Any\n"),
            Edit(
                "storage/types.py",
                "        return value.encode() if value is not None",
                f'        value = unicodedata.normalize("NFC", value) if value and {here} else value\n'
                "        return value.encode() if value is not None",
            ),
            killers=("bugs/entry_ids_that_differ_in_case_or_accent", "bugs/scope_ids_that_differ_in_case_or_accent"),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"index not cleaned on {named}",
            "The words of a retired or revised entry stay in the index.",
            Edit(
                "storage/index.py",
                "        listed = list(keys)\n",
                f"        listed = [] if self._connection.{here} else list(keys)\n",
            ),
            killers=("bugs/index_follows_the_head", "consistency/revised_and_retired_entries_change_at_once"),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"last posting lost on {named}",
            "The last word of each item, in their order, does not reach the index.",
            Edit(
                "storage/index.py",
                "for token in found]",
                f"for token in (found[:-1] if self._connection.{here} else found)]",
            ),
            killers=("bugs/hyphens_dots_and_words_of_a_query_language",),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"texts read a byte short on {named}",
            "A text is read from its second byte on where only its beginning is needed.",
            Edit(
                "storage/reads.py",
                'StoredText(row.text or "", row.size, bool(row.blank)),\n            )\n        return found\n\n    def documents',
                f'StoredText((row.text or "")[1 if self._connection.{here} else 0 :], row.size, bool(row.blank)),\n'
                "            )\n        return found\n\n    def documents",
            ),
            killers=("grouping/guide_example_in_english",),
            backends=(engine,),
        ),
    )


_ON_SQLITE: tuple[Mutant, ...] = (
    mutant(
        SQLITE,
        "case-folding identity on SQLite",
        "Identity columns compare without regard to ASCII case (NOCASE).",
        Edit(
            "storage/types.py",
            'if dialect.name == "mysql" else Text())',
            'if dialect.name == "mysql" else Text(collation="NOCASE"))',
        ),
        killers=("bugs/scope_ids_that_differ_in_case_or_accent", "bugs/entry_ids_that_differ_in_case_or_accent"),
        backends=(SQLITE,),
    ),
    mutant(
        SQLITE,
        "blank-padding identity on SQLite",
        "Identity columns compare without regard to trailing blanks (RTRIM).",
        Edit(
            "storage/types.py",
            'if dialect.name == "mysql" else Text())',
            'if dialect.name == "mysql" else Text(collation="RTRIM"))',
        ),
        killers=("bugs/scope_ids_with_a_trailing_blank", "bugs/trailing_blanks_of_entries_and_references"),
        backends=(SQLITE,),
    ),
    mutant(
        SQLITE,
        "grants compared by lower on SQLite",
        "Grants are compared by LOWER(), which changes text and leaves OceanBase's bytes as they are.",
        Edit(
            "storage/reads.py",
            "grants.c.scope_id == concerned.c.scope_id)",
            "func.lower(grants.c.scope_id) == func.lower(concerned.c.scope_id))",
        ),
        killers=("bugs/scope_grants_that_differ_in_case",),
        backends=(SQLITE,),
    ),
    mutant(
        SQLITE,
        "UTF-16 order on SQLite",
        "The database file is encoded in UTF-16, whose bytes sort otherwise than code points.",
        Edit(
            "storage/sqlite.py",
            'for pragma in ("journal_mode=WAL"',
            'for pragma in ("encoding=\'UTF-16le\'", "journal_mode=WAL"',
        ),
        killers=("bugs/ties_are_ordered_by_code_point",),
        backends=(SQLITE,),
    ),
    mutant(
        SQLITE,
        "Manhattan distance on SQLite",
        "Vectors are compared by the sum of their differences.",
        Edit("storage/vectors.py", "func.vec_distance_L2", "func.vec_distance_L1"),
        killers=("grouping/nearness_is_euclidean",),
        backends=(SQLITE,),
    ),
)

_ON_OCEANBASE: tuple[Mutant, ...] = (
    mutant(
        OCEANBASE,
        "case-folding identity on OceanBase",
        "Identity columns have the default collation, which merges case, accents and blanks.",
        Edit("storage/types.py", "MEDIUMBLOB, VARBINARY\n", "MEDIUMBLOB, VARCHAR\n"),
        Edit(
            "storage/types.py",
            "VARBINARY(self.bytes_length)",
            'VARCHAR(min(self.bytes_length, 256), collation="utf8mb4_general_ci")',
        ),
        Edit(
            "storage/types.py",
            'return value.encode() if value is not None and dialect.name == "mysql" else value',
            "return value",
        ),
        Edit("storage/schema.py", '    if engine.dialect.name == "mysql":\n', "    if False:\n"),
        killers=("bugs/scope_ids_that_differ_in_case_or_accent", "bugs/entry_ids_that_differ_in_case_or_accent"),
        backends=(OCEANBASE,),
    ),
    mutant(
        OCEANBASE,
        "blank-padding identity on OceanBase",
        "Identity columns have the collation utf8mb4_bin, which ignores trailing blanks.",
        Edit("storage/types.py", "MEDIUMBLOB, VARBINARY\n", "MEDIUMBLOB, VARCHAR\n"),
        Edit(
            "storage/types.py",
            "VARBINARY(self.bytes_length)",
            'VARCHAR(min(self.bytes_length, 256), collation="utf8mb4_bin")',
        ),
        Edit(
            "storage/types.py",
            'return value.encode() if value is not None and dialect.name == "mysql" else value',
            "return value",
        ),
        Edit("storage/schema.py", '    if engine.dialect.name == "mysql":\n', "    if False:\n"),
        killers=("bugs/scope_ids_with_a_trailing_blank", "bugs/trailing_blanks_of_entries_and_references"),
        backends=(OCEANBASE,),
    ),
    mutant(
        OCEANBASE,
        "Manhattan distance on OceanBase",
        "Vectors are compared by the sum of their differences.",
        Edit("storage/vectors.py", "func.l2_distance", "func.l1_distance"),
        killers=("grouping/nearness_is_euclidean",),
        backends=(OCEANBASE,),
    ),
)

ON_SQLITE = (*_ON_SQLITE, *_shared(SQLITE))
ON_OCEANBASE = (*_ON_OCEANBASE, *_shared(OCEANBASE))
