"""Wrong exact reads: another revision, another version, another id (SPEC.md 6)."""

from __future__ import annotations

from harness.explore.mutants.model import Edit, Mutant, mutant

ROOM = "exact reads"

MUTANTS: tuple[Mutant, ...] = (
    mutant(
        ROOM,
        "Head instead of the exact revision",
        "The exact read of an Experience, a Profile or a topic answers with the Head.",
        Edit(
            "storage/exact.py",
            "    table = tables.fields\n",
            "    table, heads = tables.fields, tables.artifacts\n"
            "    here = (heads.c.scope_id == address.scope_id, heads.c.family == address.family)\n"
            "    here = (*here, heads.c.artifact_id == address.artifact_id)\n"
            "    head = connection.scalar(select(heads.c.head_revision).where(*here))\n"
            "    address = Address(address.scope_id, address.family, address.artifact_id, head or 0)\n",
        ),
        killers=("exact_reads/old_revisions_of_three_families_stay_readable",),
    ),
    mutant(
        ROOM,
        "Head's manifest instead of the exact one",
        "A Memory revision is read as the Head has it.",
        Edit("storage/exact.py", "            later.c.revision <= memory.revision,\n", ""),
        killers=("exact_reads/old_memory_versions_stay_readable",),
    ),
    mutant(
        ROOM,
        "newest version instead of the cited one",
        "An entry's read answers with its version in that revision, whatever version was cited.",
        Edit("storage/exact.py", "if entry.entry_version_id == address.entry_version_id)", "if True)"),
        killers=("exact_reads/an_entry_is_read_from_its_own_manifests",),
    ),
    mutant(
        ROOM,
        "a version of any earlier manifest",
        "An entry version is read from a revision whose manifest no longer holds it.",
        Edit("storage/exact.py", "changes.c.revision == latest)", "changes.c.revision <= memory.revision)"),
        killers=("exact_reads/an_entry_is_read_from_its_own_manifests",),
    ),
    mutant(
        ROOM,
        "manifest sorted by id",
        "A manifest comes in the order of the entries' ids.",
        Edit("storage/exact.py", ".order_by(entries.c.position)\n    )\n", ".order_by(entries.c.entry_id)\n    )\n"),
        killers=("exact_reads/a_revised_entry_keeps_its_place",),
    ),
    mutant(
        ROOM,
        "absent revision read as empty",
        "A Memory revision that was never written is an empty or older manifest.",
        Edit("storage/exact.py", "    if not _is_written(connection, address):\n", "    if False:\n"),
        killers=("exact_reads/absent_artifacts_are_not_found",),
    ),
    mutant(
        ROOM,
        "exact reads without a grant",
        "Whoever knows a citation may read it.",
        Edit(
            "application.py",
            "self._scopes(self._application._access(principal), request.scope_id)",
            "self._reader.scopes(request.scope_id, None)",
            2,
        ),
        killers=("authorization/exact_reads_by_other_principals",),
    ),
    mutant(
        ROOM,
        "segments decoded twice",
        "A percent sign in an id is decoded once more.",
        Edit(
            "http/server.py",
            'unquote_to_bytes(part).decode("utf-8")',
            'unquote_to_bytes(unquote_to_bytes(part)).decode("utf-8")',
        ),
        killers=("exact_reads/any_id_travels_through_the_url",),
    ),
    mutant(
        ROOM,
        "routes on the decoded path",
        "A slash inside an id parts the path.",
        Edit("http/server.py", '"path": raw.decode("latin-1")}', '"path": unquote_to_bytes(raw).decode("latin-1")}'),
        killers=("exact_reads/any_id_travels_through_the_url",),
    ),
    mutant(
        ROOM,
        "leading zeros accepted",
        "A revision may be written with leading zeros.",
        Edit("http/server.py", ' and revision[0] != "0"', ""),
        killers=("exact_reads/families_and_revisions_outside_the_contract",),
    ),
    mutant(
        ROOM,
        "state of the Head",
        "An entry that was retired later is read as active in every revision and as retired in none.",
        Edit("storage/exact.py", "versions.c.text, changes.c.state)", 'versions.c.text, literal("active"))'),
        Edit("storage/exact.py", "exists, func, select\n", "exists, func, literal, select\n"),
        killers=("exact_reads/a_retired_entry_is_read_but_not_recalled",),
    ),
)
