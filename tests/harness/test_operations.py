"""A scenario's world and its writes as operations."""

from __future__ import annotations

from pathlib import Path

from backends.operations import (
    CreatePrincipal,
    CreateScope,
    Grant,
    Operation,
    Propose,
    Revoke,
    SetReferences,
    WriteDocument,
    WriteMemory,
)
from harness.scenario.loader import load, parse
from harness.scenario.model import Scenario
from harness.scenario.operations import principal_id, scope_id, seed_operations, seeded, write_operations
from runtime.artifacts import EntryRetire, EntryWrite, Experience, Profile, Topic

FILES = Path(__file__).with_name("scenario_files") / "valid"


def scenario(text: str) -> Scenario:
    return parse(text.encode(), Path("scenario.yaml")).scenario


def test_a_seed_makes_scopes_then_artifacts_then_references_then_principals() -> None:
    world = load(FILES / "design_example.yaml").scenario
    demo = "project:demo"
    expected: list[Operation] = [
        CreateScope(demo),
        CreateScope("shared"),
        WriteMemory(demo, (EntryWrite("entry-1", "entry-1-v1", "Run the contract tests."),)),
        WriteMemory(demo, (EntryWrite("entry-1", "entry-1-v2", "Regenerate, then run the contract tests."),)),
        WriteMemory(demo, (EntryWrite("entry-2", "entry-2-v1", "Old advice on contract tests."),)),
        WriteMemory(demo, (EntryRetire("entry-2"),)),
        WriteDocument(demo, "experience-1", Experience("a", "b", "c", "contract tests")),
        Propose(demo, "experience-2", Experience("a", "b", "c", "d"), "pending"),
        WriteDocument(demo, "profile", Profile("Prefers short answers.")),
        Propose(demo, "profile", Profile("Prefers long answers."), "rejected"),
        WriteDocument(demo, "topic-1", Topic("Tests", "How to run them", "make test\nmake check")),
        SetReferences(demo, ("shared",)),
        CreatePrincipal("alice", "A"),
        CreatePrincipal("bob", "B"),
        CreatePrincipal("root", "R", administrator=True),
        Grant("alice", demo),
        Grant("alice", "shared"),
        Grant("bob", demo),
    ]
    assert seed_operations(world, {"alice": "A", "bob": "B", "root": "R"}) == expected


def test_without_principals_a_reader_reads_every_scope() -> None:
    world = scenario("scenario: s\nscopes: {a: {id: A}, b: {}}\nsteps: [{restart: true}]\n")
    assert seed_operations(world, {"reader": "T"})[2:] == [
        CreatePrincipal("reader", "T"),
        Grant("reader", "A"),
        Grant("reader", "b"),
    ]


def test_nobody_is_made_where_principals_are_empty() -> None:
    world = scenario("scenario: s\nprincipals: {}\nscopes: {a: {}}\nsteps: [{restart: true}]\n")
    assert seed_operations(world, {}) == [CreateScope("a")]


def test_names_become_ids() -> None:
    world = scenario(
        "scenario: s\nprincipals: {p: {id: P}, q: {}}\nscopes: {a: {id: A}}\nsteps: [{write: {b: {id: B}}}]\n"
    )
    assert [scope_id(world, name) for name in ("a", "b", "c")] == ["A", "B", "c"]
    assert [principal_id(world, name) for name in ("p", "q", "r")] == ["P", "q", "r"]


def test_default_versions_count_the_texts_of_an_entry_over_all_writes() -> None:
    world = scenario("""
scenario: s
scopes:
  a:
    id: A
    memory:
      - {entry: e, text: one}
      - {entry: e, version: mine, text: two}
      - {retire: e}
      - [{entry: e, text: three}, {entry: f, text: one}]
  b: {memory: [{entry: e, text: one}]}
steps:
  - write: {a: {memory: [{entry: e, text: four}]}}
  - write: {a: {memory: [{entry: e, text: refused}], references: [none]}, lost: {}}
    expect: {refused: unknown_scope}
  - write: {c: {id: C, memory: [{entry: e, text: one}]}, a: {references: [c, b], memory: [{entry: e, text: five}]}}
  - write: {a: {references: []}}
  - grant: {reader: [c]}
  - revoke: {reader: [a]}
  - prepare: {scope_id: a, query: one}
""")
    state = seeded(world)
    assert [
        change
        for operation in seed_operations(world, {"reader": "T"})
        if isinstance(operation, WriteMemory)
        for change in operation.changes
    ] == [
        EntryWrite("e", "e-v1", "one"),
        EntryWrite("e", "mine", "two"),
        EntryRetire("e"),
        EntryWrite("e", "e-v3", "three"),
        EntryWrite("f", "f-v1", "one"),
        EntryWrite("e", "e-v1", "one"),
    ]
    assert [write_operations(world, state, step) for step in world.steps] == [
        [WriteMemory("A", (EntryWrite("e", "e-v4", "four"),))],
        [CreateScope("lost"), WriteMemory("A", (EntryWrite("e", "e-v5", "refused"),)), SetReferences("A", ("none",))],
        [
            CreateScope("C"),
            WriteMemory("C", (EntryWrite("e", "e-v1", "one"),)),
            WriteMemory("A", (EntryWrite("e", "e-v5", "five"),)),
            SetReferences("A", ("C", "b")),
        ],
        [SetReferences("A", ())],
        [Grant("reader", "C")],
        [Revoke("reader", "A")],
        [],
    ]
    assert state.scopes == {"a": "A", "b": "b", "c": "C"}


def test_vectors_and_kinds_are_carried() -> None:
    world = load(FILES / "set_up_target.yaml").scenario
    assert seed_operations(world, {})[1:] == [
        WriteMemory("demo", (EntryWrite("entry-1", "entry-1-v1", "Run.", vector=(1.0, 0.0)),)),
        WriteMemory("demo", (EntryWrite("entry-2", "entry-2-v1", "Stop.", "rule", (0.0, 1.0)),)),
        WriteDocument("demo", "experience-1", Experience("a", "b", "c", "d"), (2.0, 2.0)),
    ]
