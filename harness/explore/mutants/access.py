"""Wrong rights, wrong order of checks, and answers that tell too much (SPEC.md 1, 2 and 6)."""

from __future__ import annotations

from harness.explore.mutants.model import Edit, Mutant, mutant

ROOM = "access"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        ROOM,
        "unauthorized reference dropped",
        "A referenced Scope that may not be read is left out instead of refusing the request.",
        Edit(
            "application.py",
            "            access.check_referenced(scopes)",
            "            scopes = [scope for scope in scopes if access._may_read(scope)]",
        ),
        killers=("authorization/unreadable_reference_refuses_all",),
    ),
    mutant(
        ROOM,
        "references not checked",
        "Referenced Scopes are read without a grant.",
        Edit("access.py", "if not all(map(self._may_read, scopes)):", "if False:"),
        killers=("authorization/each_family_checks_references",),
    ),
    mutant(
        ROOM,
        "references checked for topics",
        "A request for topics alone checks the referenced Scopes too.",
        Edit(
            "application.py",
            "frozenset({MEMORY, EXPERIENCE, PROFILE})",
            'frozenset({MEMORY, EXPERIENCE, PROFILE, "topic-memory"})',
        ),
        killers=("authorization/topics_alone_check_no_reference",),
    ),
    mutant(
        ROOM,
        "references checked without a section",
        "The referenced Scopes are checked even when nothing is read.",
        Edit(
            "application.py",
            "        assembly = request.assembly\n",
            "        assembly = request.assembly\n        access.check_referenced(scopes)\n",
        ),
        killers=("authorization/no_section_checks_no_reference",),
    ),
    mutant(
        ROOM,
        "references not checked for the older output",
        "Without `assembly` the referenced Scopes are not checked.",
        Edit(
            "application.py", "if assembly is None or READS_REFERENCES", "if assembly is not None and READS_REFERENCES"
        ),
        killers=("authorization/older_output_always_checks_references",),
    ),
    mutant(
        ROOM,
        "administrator reads",
        "The administrator needs no grant.",
        Edit(
            "access.py",
            'self.mode == "disabled" or scope.granted',
            'self.mode == "disabled" or scope.granted or (self.principal is not None and self.principal.administrator)',
        ),
        killers=("authorization/administrator_reads_nothing_without_a_grant",),
    ),
    mutant(
        ROOM,
        "absent told to ordinary callers",
        "Whoever asks for an absent Scope learns that it is absent.",
        Edit(
            "access.py",
            'self.mode == "disabled" or (self.principal is not None and self.principal.administrator)',
            "True",
        ),
        killers=("authorization/unreadable_and_absent_look_alike",),
    ),
    mutant(
        ROOM,
        "absent not told to the administrator",
        "To the administrator an absent Scope looks like one that he may not read.",
        Edit("access.py", "(self.principal is not None and self.principal.administrator)", "False"),
        killers=("authorization/administrator_learns_of_absence",),
    ),
    mutant(
        ROOM,
        "one grant opens every Scope",
        "Whoever holds a grant on some Scope reads all of them.",
        Edit("storage/reads.py", ", grants.c.scope_id == concerned.c.scope_id)", ")"),
        killers=("authorization/unreadable_reference_refuses_all",),
    ),
    mutant(
        ROOM,
        "everybody's grant counts",
        "A Scope is readable when anybody was granted it.",
        Edit(
            "storage/reads.py",
            'grants.c.principal_id == bindparam("principal"), grants',
            'bindparam("principal") != "", grants',
        ),
        killers=("authorization/exact_reads_by_other_principals",),
    ),
    mutant(
        ROOM,
        "revocation forgotten",
        "A grant that was taken away still counts.",
        Edit(
            "storage/writes.py",
            "table.c.principal_id == principal_id, table.c.scope_id == scope_id)\n        )\n\n    def clear",
            'table.c.principal_id == "", table.c.scope_id == scope_id)\n        )\n\n    def clear',
        ),
        killers=("authorization/revoked_reference_refuses_the_next_request",),
    ),
    mutant(
        ROOM,
        "unknown token let in",
        "Whoever shows any token is somebody without grants.",
        Edit(
            "application.py",
            "        if principal is None:\n            raise Unauthorized",
            "        if token is None:\n            raise Unauthorized",
        ),
        killers=("authorization/unknown_token",),
    ),
    mutant(
        ROOM,
        "total before the current Scope",
        "The total is checked before the Scope, so that anybody learns it.",
        Edit(
            "application.py",
            "        access = application._access(principal)\n",
            "        access = application._access(principal)\n"
            "        if request.assembly is not None and request.assembly.total > application._max_entries:\n"
            '            raise InvalidRequest(Problem("limits_total", ("body",), "The limits exceed the total."))\n',
        ),
        killers=("authorization/total_is_checked_after_the_current_scope",),
    ),
    mutant(
        ROOM,
        "references before the total",
        "Referenced Scopes are checked before the total.",
        Edit(
            "application.py",
            "            if assembly.total > application._max_entries:",
            "            if assembly.sections:\n"
            "                access.check_referenced(scopes)\n"
            "            if assembly.total > application._max_entries:",
        ),
        killers=("authorization/total_is_checked_after_the_current_scope",),
    ),
    mutant(
        ROOM,
        "request before the token",
        "What is wrong with a request is told to callers without a token.",
        Edit(
            "http/server.py",
            "        body, refused = await _read_body(request)\n\n"
            "        def answer(session: Session, principal: Principal | None) -> Mapping[str, Any]:\n"
            "            prepared",
            "        body, refused = await _read_body(request)\n"
            "        contract.parse(PrepareRequest, _accepted(body, refused))\n\n"
            "        def answer(session: Session, principal: Principal | None) -> Mapping[str, Any]:\n"
            "            prepared",
        ),
        killers=("authorization/no_token", "authorization/checks_before_the_current_scope"),
    ),
    mutant(
        ROOM,
        "error echoes the value",
        "A refusal quotes what was refused, the query among it.",
        Edit("contract.py", "include_input=False", "include_input=True"),
        Edit(
            "contract.py",
            '("body", *place), error["msg"])',
            "(\"body\", *place), f\"{error['msg']}: {error['input']}\")",
        ),
        killers=("validation/refusals_repeat_nothing_of_the_request",),
    ),
    mutant(
        ROOM,
        "error echoes the name of a field",
        "A refusal names the unknown field that the caller made up.",
        Edit("contract.py", 'error["loc"][:-1] if', 'error["loc"] if'),
        killers=(
            "validation/unknown_fields_are_refused_at_every_level",
            "authorization/checks_before_the_current_scope",
        ),
    ),
    mutant(
        ROOM,
        "header holds the Scope id",
        "A refusal carries the request, the Scope's id in it, in a header.",
        Edit(
            "http/server.py",
            "return _error(error.status, error.code, error.message, error.details)",
            'shown = {"x-request": repr(getattr(_request.state, "body", b"")[:400])}\n'
            "    return _error(error.status, error.code, error.message, error.details, headers=shown)",
        ),
        Edit(
            "http/server.py",
            "    return bytes(body), None\n",
            "    request.state.body = bytes(body)\n    return bytes(body), None\n",
        ),
        killers=("authorization/unreadable_and_absent_look_alike",),
    ),
    mutant(
        ROOM,
        "log holds the token",
        "The log names the caller's token.",
        Edit(
            "application.py",
            "        if principal is None:\n            raise Unauthorized",
            '        log.info("token %s", token)\n        if principal is None:\n            raise Unauthorized',
        ),
        killers=("authorization/unreadable_reference_refuses_all",),
    ),
    mutant(
        ROOM,
        "log holds what may not be read",
        "Recall comes before the check of the references, and the log tells what it found.",
        Edit(
            "application.py",
            "        if assembly is None or READS_REFERENCES",
            "        found = self._recall(families, request, tuple(scope.scope_id for scope in scopes))\n"
            '        log.info("found %s", found)\n'
            "        if assembly is None or READS_REFERENCES",
        ),
        killers=("authorization/unreadable_reference_refuses_all", "authorization/foreign_marker_in_four_families"),
    ),
    mutant(
        ROOM,
        "no request id",
        "Answers carry no X-Request-Id.",
        Edit("http/server.py", '(b"x-request-id", request_id.encode())', '(b"x-id", request_id.encode())'),
        killers=("grouping/guide_example_in_english",),
    ),
)
