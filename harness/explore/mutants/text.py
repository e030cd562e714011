"""Wrong texts: escapes, line breaks, metadata, numbers (SPEC.md 4)."""

from __future__ import annotations

from harness.explore.mutants.model import Edit, Mutant, mutant

ROOM = "text"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        ROOM,
        "CR left in",
        "CRLF, CR, U+2028 and U+2029 stay in a body as they are.",
        Edit("text.py", 'pieces.append(b"\\n")', "pieces.append(special.encode())"),
        killers=("escaping/line_breaks_become_line_feeds",),
    ),
    mutant(
        ROOM,
        "CR shown as an escape",
        "A lone CR becomes a visible escape instead of a line feed.",
        Edit("text.py", '{"\\r\\n", "\\r", "\\n",', '{"\\r\\n", "\\n",'),
        killers=("escaping/line_breaks_become_line_feeds",),
    ),
    mutant(
        ROOM,
        "CRLF as two line feeds",
        "CR and LF of one line break become a line feed each.",
        Edit("text.py", 'f"\\r\\n|[\\u2028', 'f"[\\u2028'),
        killers=("escaping/line_breaks_become_line_feeds",),
    ),
    mutant(
        ROOM,
        "separators of lines left in",
        "U+2028 and U+2029 are no line breaks.",
        Edit("text.py", "[\\u2028\\u2029{_CONTROLS", "[{_CONTROLS"),
        killers=("escaping/line_breaks_become_line_feeds",),
    ),
    mutant(
        ROOM,
        "NEL breaks a line",
        "U+0085 becomes a line feed instead of an escape.",
        Edit("text.py", '"\\u2028", "\\u2029"})', '"\\u2028", "\\u2029", "\\x85"})'),
        killers=("escaping/control_characters_become_visible",),
    ),
    mutant(
        ROOM,
        "escapes in capitals",
        "Escapes of a body have upper-case hexadecimal digits.",
        Edit("text.py", 'b"\\\\u%04x" % code', 'b"\\\\u%04X" % code'),
        killers=("escaping/control_characters_become_visible", "escaping/format_characters_become_visible"),
    ),
    mutant(
        ROOM,
        "long escapes with a small u",
        "Characters above U+FFFF are shown with a lower-case u.",
        Edit("text.py", 'b"\\\\U%08x" % code', 'b"\\\\u%08x" % code'),
        killers=("escaping/format_characters_above_the_basic_plane",),
    ),
    mutant(
        ROOM,
        "table of Unicode 14",
        "Format characters that later versions added are shown as they are.",
        Edit("text.py", "\\U00013430-\\U0001343f", "\\U00013430-\\U00013438"),
        killers=("escaping/format_characters_above_the_basic_plane",),
    ),
    mutant(
        ROOM,
        "format characters left in",
        "Zero width characters and bidirectional controls are shown as they are.",
        Edit("text.py", "\\u200b-\\u200f\\u202a-\\u202e", ""),
        killers=("escaping/format_characters_become_visible",),
    ),
    mutant(
        ROOM,
        "body trimmed",
        "Blanks and line feeds at a body's ends are lost in the text.",
        Edit("text.py", "source = body[:MAX_SOURCE_CHARACTERS]", "source = body.strip()[:MAX_SOURCE_CHARACTERS]"),
        killers=("escaping/blank_lines_and_trailing_blanks_stay",),
    ),
    mutant(
        ROOM,
        "body in normal form",
        "A body is composed (NFC) before it is shown.",
        Edit(
            "text.py",
            "source = body[:MAX_SOURCE_CHARACTERS]",
            'source = __import__("unicodedata").normalize("NFC", body)[:MAX_SOURCE_CHARACTERS]',
        ),
        killers=("escaping/no_normal_form",),
    ),
    mutant(
        ROOM,
        "blank lines not quoted",
        "Blank lines of a body have no prefix.",
        Edit(
            "text.py",
            'return LINE_PREFIX + data.replace(b"\\n", b"\\n" + LINE_PREFIX)',
            'block = LINE_PREFIX + data.replace(b"\\n", b"\\n" + LINE_PREFIX)\n'
            '    return block.replace(b"\\n" + LINE_PREFIX + b"\\n", b"\\n\\n")',
        ),
        killers=("escaping/blank_lines_and_trailing_blanks_stay",),
    ),
    mutant(
        ROOM,
        "Scope id not in ASCII",
        "A Scope's id is shown with its characters beyond ASCII as they are.",
        Edit(
            "text.py",
            "Scope: {json.dumps(address.scope_id)}",
            "Scope: {json.dumps(address.scope_id, ensure_ascii=False)}",
        ),
        killers=("escaping/ids_beyond_ascii", "exact_reads/any_scope_and_entry_id_travels"),
    ),
    mutant(
        ROOM,
        "entry id between bare quotes",
        "An entry's id is put between quotes without any escape.",
        Edit("text.py", "Entry: id={json.dumps(citation.entry_id)}", 'Entry: id=\\"{citation.entry_id}\\"'),
        killers=("escaping/ids_with_quotes_and_line_breaks", "escaping/forged_layout_in_an_id"),
    ),
    mutant(
        ROOM,
        "rank before confidence",
        "The shown lines come in the other order.",
        Edit("text.py", "    if confidence:\n", "    if confidence and recall_rank is None:\n"),
        Edit(
            "text.py",
            'lines.append(f"Recall rank: {recall_rank}")\n',
            'lines.append(f"Recall rank: {recall_rank}")\n'
            "        if confidence:\n"
            '            lines.append("Confidence: unknown (not assessed)")\n',
        ),
        killers=("grouping/show_adds_lines_and_its_order_does_not_matter",),
    ),
    mutant(
        ROOM,
        "citation of the version's first revision",
        "A Memory citation names the revision that first held the version, not the Head's.",
        Edit(
            "storage/reads.py",
            "            artifacts.c.head_revision,\n            func.substr(versions",
            "            select(func.min(tables.entry_changes.c.revision))\n"
            "            .where(\n"
            "                tables.entry_changes.c.scope_id == entries.c.scope_id,\n"
            "                tables.entry_changes.c.entry_id == entries.c.entry_id,\n"
            "                tables.entry_changes.c.entry_version_id == entries.c.entry_version_id,\n"
            "            )\n"
            "            .scalar_subquery()\n"
            '            .label("head_revision"),\n'
            "            func.substr(versions",
        ),
        killers=("exact_reads/a_citation_names_the_heads_revision",),
    ),
    mutant(
        ROOM,
        "numbers go on over sections",
        "Items are numbered through the whole text instead of from 1 in each section.",
        Edit(
            "builder.py",
            "text.item_heading(section.family, placed + 1)",
            "text.item_heading(section.family, len(origins) + 1)",
        ),
        killers=("grouping/four_families_in_any_order",),
    ),
    mutant(
        ROOM,
        "cut body told to be whole",
        "A cut item says that it is not truncated.",
        Edit("builder.py", "recall_rank=recall_rank, truncated=True)", "recall_rank=recall_rank, truncated=False)"),
        killers=("budgets/truncated_yes_is_one_byte_longer",),
    ),
    mutant(
        ROOM,
        "line feed after the end marker",
        "The text ends with a line feed.",
        Edit("text.py", 'b"END_POWERCONTEXT_PREPARED_TEXT_V1"', 'b"END_POWERCONTEXT_PREPARED_TEXT_V1\\n"'),
        killers=("grouping/guide_example_in_english",),
    ),
    mutant(
        ROOM,
        "content measured in characters",
        "content_bytes counts characters instead of bytes.",
        Edit("contract.py", "else len(self.content.encode())", "else len(self.content)"),
        killers=("grouping/guide_example_in_chinese",),
    ),
    mutant(
        ROOM,
        "Experience without its labels",
        "The first label of an Experience is left out.",
        Edit("recall.py", '("Situation: ", "Action: "', '("", "Action: "'),
        killers=("budgets/cut_experience_keeps_its_labels",),
    ),
    mutant(
        ROOM,
        "end of ayah left in",
        "U+06DD is missing from the table of format characters.",
        Edit("text.py", "\\u061c\\u06dd\\u070f", "\\u061c\\u070f"),
        killers=("escaping/every_range_of_format_characters",),
    ),
)
