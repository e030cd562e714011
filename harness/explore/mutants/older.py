"""Wrong older outputs: order, citations, escapes, fitting (SPEC.md 7)."""

from __future__ import annotations

from harness.explore.mutants.model import Edit, Mutant, mutant

ROOM = "older output"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        ROOM,
        "older output given the 6/2 defaults",
        "The new default of six Memory items reaches requests without `assembly`.",
        Edit(
            "envelope.py",
            "MAX_EXPERIENCES if family == EXPERIENCE else None",
            "{EXPERIENCE: MAX_EXPERIENCES, MEMORY: 6}.get(family)",
        ),
        killers=("legacy/eight_memories_alone",),
    ),
    mutant(
        ROOM,
        "third Experience tried",
        "Experience is cut to two after the fitting, so that a third replaces a dropped one.",
        Edit("envelope.py", "MAX_EXPERIENCES if family == EXPERIENCE else None", "None"),
        killers=("legacy/two_experiences_before_fitting",),
    ),
    mutant(
        ROOM,
        "Experience before Topic Memory",
        "The families alternate in another order.",
        Edit("envelope.py", "(MEMORY, TOPIC_MEMORY, EXPERIENCE)\n", "(MEMORY, EXPERIENCE, TOPIC_MEMORY)\n"),
        killers=("legacy/families_alternate",),
    ),
    mutant(
        ROOM,
        "families do not alternate",
        "All Memory items come before all topics.",
        Edit("envelope.py", "for turn in zip_longest(*lists)", "for turn in lists"),
        killers=("legacy/families_alternate",),
    ),
    mutant(
        ROOM,
        "Profile in the older output",
        "A Profile is delivered although nobody selected it.",
        Edit("envelope.py", "(MEMORY, TOPIC_MEMORY, EXPERIENCE)\n", '(MEMORY, TOPIC_MEMORY, EXPERIENCE, "profile")\n'),
        killers=("legacy/older_output_has_no_profile",),
    ),
    mutant(
        ROOM,
        "referenced items cited as one's own",
        "A citation leaves out the referenced Scope.",
        Edit("envelope.py", "local=address.scope_id == scope_id)", "local=True)"),
        killers=("legacy/citations_of_a_referenced_scope",),
    ),
    mutant(
        ROOM,
        "citations of release 1.3",
        "Memory is cited as `artifact_ref`.",
        Edit("envelope.py", '("memory_ref", _reference', '("artifact_ref", _reference'),
        killers=("legacy/one_memory_byte_for_byte",),
    ),
    mutant(
        ROOM,
        "kind of Memory told",
        "Memory items have a `kind` too.",
        Edit("envelope.py", "if address.family != MEMORY:", "if True:"),
        killers=("legacy/one_memory_byte_for_byte",),
    ),
    mutant(
        ROOM,
        "line characters left raw",
        "U+0085, U+2028 and U+2029 stand unescaped in the JSON, as in release 1.2.",
        Edit("envelope.py", ".translate(_LINE_CHARACTERS)", ""),
        killers=("legacy/older_output_counts_escaped_line_characters",),
    ),
    mutant(
        ROOM,
        "older output in ASCII",
        "Characters beyond ASCII are escaped.",
        Edit("envelope.py", "ensure_ascii=False", "ensure_ascii=True"),
        killers=("legacy/older_ids_are_not_ascii_escaped",),
    ),
    mutant(
        ROOM,
        "cut as long as the body",
        "A cut may have as many bytes as the stored body.",
        Edit("envelope.py", "candidate.size - 1)", "candidate.size)"),
        killers=("legacy/cut_is_shorter_than_the_stored_body", "legacy/floor_of_64_bytes_in_the_older_output"),
    ),
    mutant(
        ROOM,
        "comma not counted",
        "The comma before an item costs nothing.",
        Edit("envelope.py", "room - (1 if items else 0))\n", "room)\n"),
        killers=("legacy/older_output_at_the_exact_size",),
    ),
    mutant(
        ROOM,
        "nine items",
        "The older output holds up to nine items.",
        Edit("envelope.py", "MAX_ITEMS = 8", "MAX_ITEMS = 9"),
        killers=("legacy/at_most_eight_items",),
    ),
    mutant(
        ROOM,
        "older output obeys the total",
        "A lowered total of the Runtime shortens the older output.",
        Edit(
            "application.py",
            "            return envelope.build(candidates, scope_id",
            "            most = application._max_entries\n"
            "            candidates = {family: found[:most] for family, found in candidates.items()}\n"
            "            return envelope.build(candidates, scope_id",
        ),
        killers=("legacy/total_of_the_runtime_does_not_touch_the_older_output",),
    ),
    mutant(
        ROOM,
        "older body measured as JSON",
        "The 2000 bytes of a body are those of its JSON.",
        Edit(
            "envelope.py",
            "if candidate.size <= text.MAX_BODY_BYTES:",
            "if len(_json(candidate.body)) - 2 <= text.MAX_BODY_BYTES:",
        ),
        killers=("legacy/stored_2000_bytes_stay_whole",),
    ),
)
