"""What a scenario file says, as frozen values (DESIGN.md, "A scenario").

The loader turns YAML into plain values; these models judge them. Texts are already expanded there (`repeat`, `join`).
The sentences below the fields are what an editor shows: schema.py takes them from here.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)

from runtime.artifacts import CandidateState, Family

TEXT_SCHEMA: dict[str, Any] = {"x-text": True}
"""Stands for a text; schema.py puts the definition of its three forms in its place."""

Text = Annotated[str, Field(strict=True), WithJsonSchema(TEXT_SCHEMA)]
"""A string, or `{repeat: text, times: n}`, or `{join: [text, ...]}`."""
Id = Annotated[str, Field(strict=True), WithJsonSchema(TEXT_SCHEMA)]
Whole = Annotated[int, Field(strict=True)]
"""An integer and nothing that could be taken for one: no text, no boolean, no 8.0."""
Flag = Annotated[bool, Field(strict=True)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Vector = tuple[Number, ...]


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, dict | str) else value


def _shape(value: Any) -> str:
    # The loader's messages name one way of writing a value, not all; so the value's own shape picks the branch.
    return "(mapping)" if isinstance(value, dict | BaseModel) else "(plain)"


_BY_SHAPE = Discriminator(_shape)
_Plain = Tag("(plain)")
_Mapping = Tag("(mapping)")


class Strict(BaseModel):
    """A frozen model that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, use_attribute_docstrings=True)


class MemoryChange(Strict):
    """One change of a Memory: an Entry written (`entry`, `text`) or retired (`retire`)."""

    entry: Id | None = None
    """The Entry's id; a known one makes the next version of it."""
    version: Id | None = None
    """The version's id; `<entry>-v<n>` unless given, n counting the writes of this Entry from 1."""
    kind: Id = "fact"
    """The Entry's kind."""
    text: Text | None = None
    """The Entry's text, stored as it is."""
    vector: Vector | None = None
    """What the fixture embedder says of the text."""
    retire: Id | None = None
    """The id of an Entry that is recalled no more."""

    @model_validator(mode="after")
    def _one_of_the_two(self) -> MemoryChange:
        if self.retire is not None:
            if self.model_fields_set != {"retire"}:
                raise ValueError("`retire` stands alone")
        elif self.entry is None or self.text is None:
            raise ValueError("an entry needs `entry` and `text`, or `retire` alone")
        return self


class ExperienceItem(Strict):
    """One write of an Experience, or a Candidate of one (`state`)."""

    id: Id
    """The Artifact's id; a known one makes the next revision of it."""
    state: CandidateState | None = None
    """`pending` or `rejected` make a Candidate, which is never recalled."""
    situation: Text
    """What was the case."""
    action: Text
    """What was done."""
    outcome: Text
    """What came of it."""
    lesson: Text
    """What is to be learned of it."""
    vector: Vector | None = None
    """What the fixture embedder says of it."""


class ProfileItem(Strict):
    """One write of a Profile, or a Candidate of one (`state`)."""

    state: CandidateState | None = None
    """`pending` or `rejected` make a Candidate, which is never recalled."""
    content: Text
    """The whole snapshot."""


class TopicItem(Strict):
    """One write of a topic, or a Candidate of one (`state`)."""

    id: Id
    """The Artifact's id; a known one makes the next revision of it."""
    state: CandidateState | None = None
    """`pending` or `rejected` make a Candidate, which is never recalled."""
    title: Text
    """Searched, and shown first."""
    summary: Text
    """Searched, and shown after the title."""
    detail: Text
    """Searched, and where the snippet comes from."""
    vector: Vector | None = None
    """What the fixture embedder says of it."""


def _as_profile(value: Any) -> Any:
    return {"content": value} if isinstance(value, str) else value


MemoryItem = Annotated[tuple[MemoryChange, ...], Field(min_length=1), BeforeValidator(_as_list)]
"""One revision of a Memory: one change, or a list of changes."""
ProfileEntry = Annotated[ProfileItem, BeforeValidator(_as_profile)]


class ScopeContent(Strict):
    """What is written into a Scope, in the order of the lists."""

    references: tuple[Id, ...] | None = None
    """Names of the Scopes whose material prepare may also read, in this order."""
    memory: tuple[MemoryItem, ...] = ()
    """Each item is one write, so one more revision of the Memory; a list is one write of several changes."""
    experience: tuple[ExperienceItem, ...] = ()
    """Experiences, each item one write."""
    profile: tuple[ProfileEntry, ...] = ()
    """Snapshots of the Profile, each item one write: its text, or a mapping."""
    topics: tuple[TopicItem, ...] = ()
    """Topic Memory, each item one write."""


class ScopeSpec(ScopeContent):
    """A Scope with its content; its id is the key's name unless `id` says otherwise."""

    id: Id | None = None
    """The Scope's id; default the name itself."""


class PrincipalSpec(Strict):
    """Who may call and what he may read; his id is the key's name unless `id` says otherwise."""

    id: Id | None = None
    """The principal's id; default the name itself."""
    reads: tuple[Id, ...] = ()
    """Names of the Scopes that he is a viewer of."""
    administrator: Flag = False
    """The administrator manages; without a grant he reads nothing, but may learn that a Scope is absent."""


class Reranker(Strict):
    """A Memory reranker that puts the listed entries first, in this order."""

    order: tuple[Id, ...]
    """Entry ids; the others keep their order behind them."""


class Embedder(Strict):
    """A fixture embedder: what it says of each query text; items carry their own `vector`."""

    dimension: Annotated[int, Field(strict=True, ge=1, le=1024)]
    """How many numbers each vector has."""
    vectors: dict[str, Vector] = {}
    """By query text."""


class RuntimeSpec(Strict):
    """How the target must be set up; a target that cannot reports "not run"."""

    max_entries: Annotated[int, Field(strict=True, ge=1)] | None = None
    """The Runtime's total of items; default 8."""
    access: Literal["enforced", "disabled"] = "enforced"
    """Whether grants are asked for."""
    reranker: Reranker | None = None
    embedder: Embedder | None = None
    sources: tuple[Family, ...] | None = None
    """The families that have a recall source; default all four."""


class Token(Strict):
    """A caller who shows this token, known to the server or not."""

    token: Text
    """What stands behind `Bearer`."""


class HexBody(Strict):
    """A request body given byte by byte."""

    hex: Annotated[str, Field(pattern=r"^([0-9a-fA-F]{2}|[ \n])*$")]
    """Pairs of hexadecimal digits; blanks and line breaks between them do not count."""


class Read(Strict):
    """One exact read: of an Entry (`entry: id@version`) or of an Artifact revision (`family`, `id`)."""

    scope: Id
    """A Scope's name, or an id that no Scope has."""
    revision: Whole | Annotated[str, Field(strict=True)]
    """The revision; text goes out as it is."""
    entry: Id | None = None
    """`entry@version`, or the Entry's id beside `version`."""
    version: Id | None = None
    """The version, where the ids hold an @."""
    family: Id | None = None
    """The Artifact's family; another word than the four goes out as it is."""
    id: Id | None = None
    """The Artifact's id."""

    @model_validator(mode="after")
    def _one_of_the_two(self) -> Read:
        if (self.entry is None) == (self.family is None) or (self.family is None) != (self.id is None):
            raise ValueError("a read takes `entry: id@version`, or `family` and `id`")
        if self.version is not None and self.entry is None:
            raise ValueError("`version` belongs to an `entry`")
        return self


class ItemSpec(Strict):
    """An item named by its parts, where the short form cannot."""

    scope: Id | None = None
    """The name of its Scope."""
    entry: Id | None = None
    """A Memory Entry's id."""
    version: Id | None = None
    """The Entry's version."""
    id: Id | None = None
    """An Artifact's id."""
    revision: Whole | None = None
    """The Artifact's revision."""

    @model_validator(mode="after")
    def _one_of_the_two(self) -> ItemSpec:
        if (self.entry is None) == (self.id is None):
            raise ValueError("an item takes `entry` or `id`")
        if self.version is not None and self.entry is None:
            raise ValueError("`version` belongs to an `entry`")
        return self


Item = Annotated[Annotated[Id, _Plain] | Annotated[ItemSpec, _Mapping], _BY_SHAPE]
"""`entry-1`, `entry-1@version`, `experience-1#2`, `profile`, `scope/entry-1`, or an item's parts."""


class AnyOrder(Strict):
    """Items whose order does not matter."""

    any_order: tuple[Item, ...]
    """The items, all of them and no others."""


SectionTitle = Literal["Memory", "Experience", "Profile", "Topic Memory"]
SectionItems = Annotated[Annotated[tuple[Item, ...], _Plain] | Annotated[AnyOrder, _Mapping], _BY_SHAPE]


class Bounds(Strict):
    """A number of bytes between two bounds, both included."""

    at_most: Whole | None = None
    """The most."""
    at_least: Whole | None = None
    """The fewest."""


class Expect(Strict):
    """What a step's answer must be; what is not named is not judged here."""

    http: Annotated[int, Field(strict=True, ge=100, le=599)] | None = None
    """The status of the HTTP answer; default 200."""
    error: Id | None = None
    """The code of the error (SPEC.md 2 and 6); needs `http`."""
    status: Literal["ready", "empty"] | None = None
    """The prepared context's status."""
    sections: tuple[dict[SectionTitle, SectionItems], ...] | None = None
    """The sections in their order, each one title with its items: all of them, no others."""
    ranks: dict[str, Whole] | None = None
    """The recall rank that an item shows."""
    truncated: tuple[Item, ...] | None = None
    """The items that are cut, no others."""
    bytes: Annotated[Annotated[Whole, _Plain] | Annotated[Bounds, _Mapping], _BY_SHAPE] | None = None
    """The text's length in bytes: a number, or `{at_most: n, at_least: n}`."""
    content: Text | None = None
    """The whole text, byte for byte."""
    contains: Annotated[tuple[Text, ...], BeforeValidator(_as_list)] = ()
    """Strings that the whole response holds, looked for in its decoded text."""
    absent: Annotated[tuple[Text, ...], BeforeValidator(_as_list)] = ()
    """Strings that the whole response does not hold."""
    text: Text | None = None
    """Of a read: the text."""
    artifact: dict[str, Any] | None = None
    """Of a read: the content object."""
    same_as: str | None = None
    """The name of an earlier step whose answer has the same bytes."""
    not_same_as: str | None = None
    """The name of an earlier step whose answer has other bytes."""
    refused: str | None = None
    """Of a write: the code with which it is refused (SPEC.md 1)."""


class Fault(Strict):
    """A fault that is declared from here on: of a family's recall."""

    family: Family
    """Whose recall it is."""
    kind: Literal["error", "hang", "slow", "none"]
    """What the recall does; `none` ends the fault."""
    backend: str = "any"
    """The one place where a backend may be named."""


VERBS = ("prepare", "body", "read", "write", "grant", "revoke", "fault", "restart")


class Step(Strict):
    """One thing that happens, and what is expected of it."""

    step: str | None = None
    """A name for reports and for `same_as`."""
    as_: Annotated[Annotated[str, _Plain] | Annotated[Token, _Mapping], _BY_SHAPE] | None = Field(
        default=None, alias="as"
    )
    """Who calls: a principal, `nobody` (no token) or `{token: text}`; default the first principal."""
    prepare: dict[str, Any] | None = None
    """The request as it goes out; a known Scope's name in `scope_id` is put in its id's place."""
    body: Annotated[Annotated[Text, _Plain] | Annotated[HexBody, _Mapping], _BY_SHAPE] | None = None
    """The bytes of a prepare request as they go out: text, or `{hex: ...}`."""
    headers: dict[str, Text] = {}
    """Headers added to a `prepare` or `body`."""
    read: Annotated[Annotated[Literal["everything cited"], _Plain] | Annotated[Read, _Mapping], _BY_SHAPE] | None = None
    """An exact read, or `everything cited` by the nearest prepare before it."""
    write: dict[str, ScopeSpec] | None = None
    """Content written into Scopes, in the shape of `scopes`; a new name makes a Scope."""
    grant: dict[str, tuple[str, ...]] | None = None
    """Scopes, by name, that principals become viewers of."""
    revoke: dict[str, tuple[str, ...]] | None = None
    """Scopes, by name, that principals are viewers of no more."""
    fault: Fault | None = None
    restart: Literal[True] | None = None
    """The server stops and starts again."""
    expect: Expect = Expect()

    @property
    def verb(self) -> str:
        """The one key of `VERBS` that this step has."""
        return next(verb for verb in VERBS if getattr(self, verb) is not None)


TwinKind = Literal["case", "accent", "trailing_blank", "width", "normal_form", "zero_width"]
"""What a twin's id differs in from its original's."""


class Scenario(Strict):
    """A world, who may see what of it, and the steps that happen in it."""

    format: Literal[1] = 1
    """The version of the format."""
    scenario: str
    """What is shown, as one sentence."""
    why: str = ""
    """The rule and its source, in one line."""
    tags: tuple[str, ...] = ()
    """Words to select by (`-m`)."""
    report: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = ()
    """References of the bug reports that it was made from."""
    scopes: dict[str, ScopeSpec] = {}
    """The Scopes of the world, by name."""
    principals: dict[str, PrincipalSpec] | None = None
    """Who may call, by name; default `reader`, viewer of every Scope and not administrator."""
    runtime: RuntimeSpec = RuntimeSpec()
    canary: Flag = False
    """Put a word into every body that no other holds; bodies stay as they are where a step fixes bytes."""
    twins: tuple[TwinKind, ...] = ()
    """Run again with near-identical twins beside everything, which must change nothing."""
    sweep: Literal["budget"] | None = None
    """Ask every prepare again at each budget where its answer can change."""
    steps: tuple[Step, ...]
    """What happens, in order."""
