"""Wrong requests accepted, right ones refused, and wrong writes (SPEC.md 1 and 2)."""

from __future__ import annotations

from harness.explore.mutants.model import Edit, Mutant, mutant

ROOM = "requests and writes"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        ROOM,
        "no section is the default",
        "An explicit empty list of sections gets the default.",
        Edit(
            "http/generated.py",
            "AfterValidator(rules.each_once(",
            "AfterValidator(lambda sections: sections or Assembly().sections),\n"
            "        AfterValidator(rules.each_once(",
        ),
        killers=("empty/no_section_selected", "grouping/empty_sections_read_nothing"),
    ),
    mutant(
        ROOM,
        "default of eight Memory items",
        "The default of Memory is 8 instead of 6.",
        Edit("http/generated.py", 'Section(family="memory", limit=6)', 'Section(family="memory", limit=8)'),
        killers=("grouping/an_empty_assembly_is_the_default_spelled_out",),
    ),
    mutant(
        ROOM,
        "null accepted",
        "`assembly: null` is taken as absent.",
        Edit(
            "http/generated.py",
            "Annotated[Assembly | None, BeforeValidator(rules.not_null)]",
            "Annotated[Assembly | None, Field()]",
        ),
        killers=("validation/assembly_is_an_object_never_null",),
    ),
    mutant(
        ROOM,
        "types converted",
        'Strings and booleans are taken for numbers, so that "8" is 8.',
        Edit("http/rules.py", "strict=True", "strict=False"),
        killers=("validation/limit_is_a_strict_integer", "validation/max_bytes_is_a_strict_integer"),
    ),
    mutant(
        ROOM,
        "unknown fields ignored",
        "Fields that nobody knows are accepted.",
        Edit("http/rules.py", 'extra="forbid"', 'extra="ignore"'),
        killers=("validation/unknown_fields_are_refused_at_every_level",),
    ),
    mutant(
        ROOM,
        "family selected twice",
        "A family may be selected more than once.",
        Edit("http/rules.py", "if any(found.count(value) > 1 for value in values):", "if False:"),
        killers=("validation/families_are_known_and_named_once",),
    ),
    mutant(
        ROOM,
        "limit of nine",
        "A limit may be 9.",
        Edit("http/generated.py", "Field(ge=1, le=8)", "Field(ge=1, le=9)"),
        killers=("validation/limits_of_each_family", "validation/a_raised_total_keeps_each_limit"),
    ),
    mutant(
        ROOM,
        "three Experiences",
        "The limit of Experience may be 3.",
        Edit("http/generated.py", "maximum=2", "maximum=3"),
        killers=("validation/limits_of_each_family",),
    ),
    mutant(
        ROOM,
        "total not checked",
        "The sum of the limits may be anything.",
        Edit("application.py", "if assembly.total > application._max_entries:", "if False:"),
        killers=("validation/limits_add_up_to_the_total_at_most",),
    ),
    mutant(
        ROOM,
        "total of nine",
        "The sum of the limits may exceed the total by one.",
        Edit(
            "application.py",
            "assembly.total > application._max_entries",
            "assembly.total > application._max_entries + 1",
        ),
        killers=("validation/limits_add_up_to_the_total_at_most",),
    ),
    mutant(
        ROOM,
        "budget of 511",
        "max_bytes may be 511.",
        Edit("http/generated.py", "ge=512", "ge=511"),
        killers=("validation/max_bytes_lies_between_512_and_32768",),
    ),
    mutant(
        ROOM,
        "query measured in bytes",
        "A query of more than 8192 bytes is refused, however few characters it has.",
        Edit(
            "http/generated.py",
            "    query: Query\n",
            "    query: Annotated[\n"
            "        Query,\n"
            "        AfterValidator(lambda query: rules.not_null(query if len(query.encode()) <= 8192 else None)),\n"
            "    ]\n",
        ),
        killers=("validation/query_has_1_to_8192_characters", "bugs/query_is_measured_in_characters"),
    ),
    mutant(
        ROOM,
        "first of duplicate keys",
        "Of repeated JSON keys the first one counts.",
        Edit(
            "contract.py",
            "parse_constant=_no_constant)",
            "parse_constant=_no_constant, object_pairs_hook=lambda pairs: dict(reversed(pairs)))",
        ),
        killers=("validation/the_last_of_duplicate_keys_counts",),
    ),
    mutant(
        ROOM,
        "any media type",
        "A body of any declared media type is read.",
        Edit("http/server.py", 'if media_type != "application/json":', "if False:"),
        killers=("validation/content_type_is_json",),
    ),
    mutant(
        ROOM,
        "ids measured in bytes",
        "An id of 256 characters is refused when it has more bytes.",
        Edit("storage/writes.py", "len(identity) > MAX_ID_CHARACTERS", "len(identity.encode()) > MAX_ID_CHARACTERS"),
        killers=("consistency/invalid_ids_are_refused", "budgets/long_citation_is_never_cut"),
    ),
    mutant(
        ROOM,
        "bodies measured in characters",
        "A body may hold 1,048,576 characters, however many bytes.",
        Edit("storage/writes.py", "return len(text.encode())", "return len(text) + 0 * len(text.encode())"),
        killers=("consistency/a_body_holds_a_mebibyte",),
    ),
    mutant(
        ROOM,
        "unknown entry retired",
        "Retiring an entry that does not exist is accepted.",
        Edit(
            "storage/entries.py",
            '                raise WriteRefused("entry_unknown", "An Entry that is to be retired does not exist.")',
            "                continue",
        ),
        killers=("consistency/a_refused_write_leaves_nothing",),
    ),
    mutant(
        ROOM,
        "reference to itself",
        "A Scope may refer to itself.",
        Edit("storage/writes.py", "if scope_id in references:", "if False:"),
        killers=("consistency/invalid_references_are_refused",),
    ),
    mutant(
        ROOM,
        "33 references",
        "A Scope may refer to 33 others.",
        Edit("artifacts.py", "MAX_REFERENCES = 32", "MAX_REFERENCES = 33"),
        killers=("consistency/invalid_references_are_refused",),
    ),
    mutant(
        ROOM,
        "pending Profile delivered",
        "A pending proposal becomes the Head at once.",
        Edit(
            "storage/writes.py",
            "        family = _check_document(artifact_id, content)\n        self._need_scope(scope_id)\n",
            "        family = _check_document(artifact_id, content)\n        self._need_scope(scope_id)\n"
            '        if state == "pending":\n'
            "            self.write_document(scope_id, artifact_id, content)\n",
        ),
        killers=("profile/a_candidate_does_not_hide_the_older_head",),
    ),
    mutant(
        ROOM,
        "a Candidate hides the Head",
        "An Artifact beside which a proposal stands is not recalled.",
        Edit(
            "storage/reads.py",
            '            artifacts.c.family == bindparam("of_family"),\n',
            '            artifacts.c.family == bindparam("of_family"),\n'
            "            ~exists().where(\n"
            "                tables.candidates.c.scope_id == artifacts.c.scope_id,\n"
            "                tables.candidates.c.family == artifacts.c.family,\n"
            "                tables.candidates.c.artifact_id == artifacts.c.artifact_id,\n"
            "            ),\n",
        ),
        killers=("profile/a_candidate_does_not_hide_the_older_head",),
    ),
    mutant(
        ROOM,
        "retiring twice refused",
        "An entry that is retired already is taken for an unknown one.",
        Edit(
            "storage/entries.py",
            "            if head is None:\n                raise",
            '            if head is None or head.state == "retired":\n                raise',
        ),
        killers=("consistency/retiring_twice_is_no_mistake",),
    ),
)
