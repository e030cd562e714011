"""Wrong sums: what a byte of the budget is spent on, and where a body is cut (SPEC.md 5)."""

from __future__ import annotations

from harness.explore.mutants.model import Edit, Mutant, mutant

ROOM = "budget"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        ROOM,
        "budget off by one",
        "An item that would just fit is cut or skipped.",
        Edit("builder.py", "if len(item) <= room:", "if len(item) < room:"),
        killers=("budgets/exact_size_of_one_item",),
    ),
    mutant(
        ROOM,
        "budget exceeded by one",
        "An item may be a byte longer than the room.",
        Edit("builder.py", "if len(item) <= room:", "if len(item) <= room + 1:"),
        killers=("budgets/exact_size_of_one_item",),
    ),
    mutant(
        ROOM,
        "end marker not counted",
        "The end marker costs nothing.",
        Edit("builder.py", " - len(text.HEADER) - len(text.END_MARKER)", " - len(text.HEADER)"),
        killers=("budgets/exact_size_of_one_item",),
    ),
    mutant(
        ROOM,
        "headings not counted",
        "An item's headings cost nothing once it is placed.",
        Edit("builder.py", "room -= len(item)\n", "room -= len(item) - len(heading)\n"),
        killers=("budgets/exact_size_of_two_items",),
    ),
    mutant(
        ROOM,
        "ellipsis not counted in the budget",
        "A cut body fills the room before its ellipsis.",
        Edit("text.py", "self._prefix_bytes(middle) <= room - len(ELLIPSIS):", "self._prefix_bytes(middle) <= room:"),
        killers=("budgets/cut_between_chinese_characters", "budgets/smallest_budget"),
    ),
    mutant(
        ROOM,
        "ellipsis not counted in the 2000 bytes",
        "A cut body holds 2000 bytes before its ellipsis.",
        Edit("text.py", "max(min(MAX_BODY_BYTES, room) - len(ELLIPSIS), 0)", "max(min(MAX_BODY_BYTES, room), 0)"),
        killers=("budgets/body_of_2000_bytes",),
    ),
    mutant(
        ROOM,
        "line prefixes not counted in a cut",
        "The prefixes of a cut body's lines cost nothing.",
        Edit("text.py", "if middle + self._prefix_bytes(middle) <=", "if middle <="),
        killers=("budgets/each_line_of_a_body_costs_its_prefix",),
    ),
    mutant(
        ROOM,
        "body of 2001 bytes",
        "A body may hold 2001 bytes.",
        Edit("text.py", "MAX_BODY_BYTES = 2000", "MAX_BODY_BYTES = 2001"),
        killers=("budgets/body_of_2000_bytes",),
    ),
    mutant(
        ROOM,
        "floor of 65 bytes",
        "A cut body of exactly 64 bytes is skipped.",
        Edit("text.py", "MIN_CUT_BYTES = 64", "MIN_CUT_BYTES = 65"),
        killers=("budgets/cut_body_needs_64_bytes",),
    ),
    mutant(
        ROOM,
        "floor of 63 bytes",
        "A cut body of 63 bytes is placed.",
        Edit("text.py", "MIN_CUT_BYTES = 64", "MIN_CUT_BYTES = 63"),
        killers=("budgets/cut_body_needs_64_bytes",),
    ),
    mutant(
        ROOM,
        "floor without the ellipsis",
        "The 64 bytes of a cut body are counted without its ellipsis.",
        Edit("text.py", "if end + len(ELLIPSIS) < MIN_CUT_BYTES:", "if end < MIN_CUT_BYTES:"),
        killers=("budgets/cut_body_needs_64_bytes",),
    ),
    mutant(
        ROOM,
        "floor of 64 applied to uncut bodies",
        "A short body that needs no cut is skipped.",
        Edit(
            "builder.py",
            "if candidate.whole and body.fits_whole:",
            "if candidate.whole and body.fits_whole and len(body.data) >= text.MIN_CUT_BYTES:",
        ),
        killers=("budgets/short_body_needs_no_64_bytes",),
    ),
    mutant(
        ROOM,
        "escape split",
        "A cut may fall inside an escape that the renderer made.",
        Edit("text.py", "if before >= 0 and end < self.escape_ends[before]:", "if False:"),
        killers=("budgets/cut_between_escapes",),
    ),
    mutant(
        ROOM,
        "written escape kept whole",
        "A cut spares whatever looks like an escape, the author's own too.",
        Edit(
            "text.py",
            "        before = bisect_right(",
            '        if self.data.rfind(b"\\\\u", max(end - 5, 0), end) >= 0:\n'
            '            return self.data.rfind(b"\\\\u", 0, end)\n'
            "        before = bisect_right(",
        ),
        killers=("budgets/written_escape_is_plain_text",),
    ),
    mutant(
        ROOM,
        "section ends at the first item that does not fit",
        "A later, shorter candidate is not tried.",
        Edit(
            "builder.py",
            "                placed += 1\n",
            "                placed += 1\n            else:\n                break\n",
        ),
        killers=("budgets/later_shorter_item_is_placed",),
    ),
    mutant(
        ROOM,
        "text ends at the first item that does not fit",
        "No later section is tried once an item was skipped.",
        Edit(
            "builder.py",
            "                placed += 1\n",
            "                placed += 1\n            else:\n                room = 0\n",
        ),
        killers=("budgets/later_section_uses_what_is_left", "budgets/later_shorter_item_is_placed"),
    ),
    mutant(
        ROOM,
        "prefix read too short",
        "Only 2001 bytes of a body are read, although longer ones may be shown.",
        Edit("text.py", "MAX_SOURCE_BYTES = 3 * (MAX_BODY_BYTES + 1)", "MAX_SOURCE_BYTES = MAX_BODY_BYTES + 1"),
        killers=("budgets/line_break_counts_as_one_byte_of_a_body",),
    ),
    mutant(
        ROOM,
        "prefix displayed too short",
        "Only 2001 characters of a body are displayed, although line breaks of two become one.",
        Edit(
            "text.py", "MAX_SOURCE_CHARACTERS = 2 * (MAX_BODY_BYTES + 1)", "MAX_SOURCE_CHARACTERS = MAX_BODY_BYTES + 1"
        ),
        killers=("budgets/line_break_counts_as_one_byte_of_a_body",),
    ),
    mutant(
        ROOM,
        "body measured before it is escaped",
        "The 2000 bytes are those of the stored body.",
        Edit(
            "builder.py",
            "if candidate.whole and body.fits_whole:",
            "if candidate.whole and candidate.size <= text.MAX_BODY_BYTES:",
        ),
        killers=("budgets/body_of_2000_bytes_after_escaping",),
    ),
)
