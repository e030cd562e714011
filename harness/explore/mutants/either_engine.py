"""Faults that the storage of either engine can have alone: a codec, an order, an index, a cache."""

from __future__ import annotations

from harness.explore.mutants.model import OCEANBASE, SQLITE, Edit, Mutant, mutant

_NAMES = {SQLITE: "SQLite", OCEANBASE: "OceanBase"}
_ELSEWHERE = {SQLITE: 'dialect.name != "mysql"', OCEANBASE: 'dialect.name == "mysql"'}


def either(engine: str) -> tuple[Mutant, ...]:
    """Return the faults that either engine's storage can have."""
    here, named = _ELSEWHERE[engine], _NAMES[engine]
    return (
        mutant(
            engine,
            f"stale reads on {named}",
            "An answer of the search is kept and given again after a write.",
            Edit(
                "storage/search.py",
                "    return dict(hits)\n\n\ndef search_vectors",
                f"    if connection.{here}:\n"
                "        return _kept.setdefault(repr((id(connection.engine), parameters)), dict(hits))\n"
                "    return dict(hits)\n\n\n"
                "_kept: dict[str, Hits] = {}\n\n\ndef search_vectors",
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
            killers=("exact_reads/stored_text_comes_back_unchanged", "escaping/blank_lines_and_trailing_blanks_stay"),
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
                'StoredText(row.text or "", row.size, bool(row.blank)),\n            )\n',
                f'StoredText((row.text or "")[1 if self._connection.{here} else 0 :], row.size, bool(row.blank)),\n'
                "            )\n",
            ),
            killers=("grouping/guide_example_in_english",),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"Head not moved on {named}",
            "A new revision is written, and the Head stays where it was.",
            Edit(
                "storage/writes.py",
                "head_revision=head + 1)",
                f"head_revision=head + (0 if self._connection.{here} else 1))",
            ),
            killers=("exact_reads/a_citation_names_the_heads_revision", "consistency/a_write_is_visible_at_once"),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"references reversed on {named}",
            "References are stored in the opposite order.",
            Edit(
                "storage/writes.py",
                "for position, target in enumerate(references, start=1)",
                "for position, target in enumerate(\n"
                f"                    references[::-1] if self._connection.{here} else references, start=1\n"
                "                )",
            ),
            killers=("grouping/memory_scopes_take_turns_in_reference_order", "profile/profiles_follow_the_references"),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"pool of 15 on {named}",
            "The search finds one hit fewer than it was asked for.",
            Edit("storage/search.py", '"depth": depth,', f'"depth": depth - (1 if connection.{here} else 0),'),
            killers=("grouping/a_scope_offers_sixteen_memories", "topic_memory/at_most_eight_topics_are_tried"),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"vectors one short on {named}",
            "The vector channel finds one hit fewer in each Scope than it was asked for.",
            Edit(
                "storage/search.py",
                "ranked.c.place <= depth)",
                f"ranked.c.place <= depth - (1 if connection.{here} else 0))",
            ),
            killers=("grouping/vectors_reach_sixteen_and_eight",),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"order of the search lost on {named}",
            "Hits come in the order of their ids, however well they match.",
            Edit(
                "storage/search.py",
                "    return dict(hits)\n\n\ndef search_vectors",
                f"    if connection.{here}:\n"
                "        return {scope_id: sorted(found) for scope_id, found in hits.items()}\n"
                "    return dict(hits)\n\n\ndef search_vectors",
            ),
            killers=("grouping/more_query_words_go_first",),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"NUL ends a body on {named}",
            "A body is stored up to its first NUL.",
            Edit(
                "storage/types.py",
                "return None if value is None else value.encode()",
                f'return None if value is None else (value.split("\\0")[0] if {here} else value).encode()',
            ),
            killers=("escaping/control_characters_become_visible", "exact_reads/stored_text_comes_back_unchanged"),
            backends=(engine,),
        ),
        mutant(
            engine,
            f"characters of four bytes lost on {named}",
            "A character above U+FFFF is stored as a question mark.",
            Edit(
                "storage/types.py",
                "return None if value is None else value.encode()",
                "return (\n"
                "            None\n"
                "            if value is None\n"
                f'            else "".join("?" if one > "\\uffff" and {here} else one for one in value).encode()\n'
                "        )",
            ),
            killers=("bugs/four_byte_characters_in_ids_and_bodies", "budgets/cut_between_emoji"),
            backends=(engine,),
        ),
    )
