"""Faults of one engine's storage alone, which its own verdict and the comparison must show."""

from __future__ import annotations

from harness.explore.mutants.either_engine import either
from harness.explore.mutants.model import OCEANBASE, SQLITE, Edit, Mutant, mutant

_ON_SQLITE: tuple[Mutant, ...] = (
    mutant(
        SQLITE,
        "writes without a transaction on SQLite",
        "Each statement of a write is committed by itself, so that a refused write leaves its beginning.",
        Edit(
            "storage/sqlite.py",
            '        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")',
            '        if not immediate:\n            connection.exec_driver_sql("BEGIN")',
        ),
        killers=("consistency/a_refused_write_leaves_nothing", "bugs/refused_write_leaves_nothing"),
        backends=(SQLITE,),
    ),
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
        "writes without a transaction on OceanBase",
        "Each statement of a write is committed by itself, so that a refused write leaves its beginning.",
        Edit(
            "storage/__init__.py",
            "connection.execution_options(**{sqlite.IMMEDIATE: True})",
            "connection.execution_options(\n"
            "                **{sqlite.IMMEDIATE: True},\n"
            '                **({"isolation_level": "AUTOCOMMIT"} if connection.dialect.name == "mysql" else {}),\n'
            "            )",
        ),
        killers=("consistency/a_refused_write_leaves_nothing", "bugs/refused_write_leaves_nothing"),
        backends=(OCEANBASE,),
    ),
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
        Edit("storage/schema.py", '    if connection.dialect.name == "mysql":\n', "    if False:\n"),
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
        Edit("storage/schema.py", '    if connection.dialect.name == "mysql":\n', "    if False:\n"),
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

ON_SQLITE = (*_ON_SQLITE, *either(SQLITE))
ON_OCEANBASE = (*_ON_OCEANBASE, *either(OCEANBASE))
