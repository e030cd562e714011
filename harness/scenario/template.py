"""The scenario that `harness new` writes: small, complete, and it runs."""

from __future__ import annotations

import json
from keyword import iskeyword
from pathlib import PurePath

import yaml

_TEMPLATE = """\
# yaml-language-server: $schema={schema}
scenario: {sentence}
why: say which rule this shows, and where it stands
tags: [{chapter}]

scopes:
  demo:
    references: [shared]
    memory:
      - {{entry: entry-1, text: Run the contract tests after each change.}}
    experience:
      - id: experience-1
        situation: The contract tests failed.
        action: The client was generated again.
        outcome: They passed.
        lesson: Generate before testing.
  shared:
    memory:
      - {{entry: entry-2, text: The contract tests take two minutes.}}

principals:
  alice: {{reads: [demo, shared]}}
  bob: {{reads: [demo]}}

steps:
  - step: alice sees both Scopes
    prepare: {{scope_id: demo, query: contract tests, assembly: {{}}}}
    as: alice
    expect:
      status: ready
      sections:
        - Memory: [entry-1, shared/entry-2]
        - Experience: [experience-1]
  - step: what was cited is read exactly
    read: everything cited
    as: alice
  - step: bob may not read the reference
    prepare: {{scope_id: demo, query: contract tests, assembly: {{}}}}
    as: bob
    expect: {{http: 403, error: forbidden, absent: [two minutes]}}
"""


def template(path: PurePath, *, schema: str) -> str:
    """Return a new scenario for this path; `schema` is where its schema lies, as the editor is told."""
    words = path.stem.replace("_", " ").replace("-", " ")
    chapter = path.parent.name.replace("-", "_")
    usable = chapter.isidentifier() and not iskeyword(chapter) and chapter != "scenarios"
    return _TEMPLATE.format(schema=schema, sentence=_scalar(words), chapter=_scalar(chapter if usable else "new"))


def _scalar(text: str) -> str:
    """Return a text as YAML, in quotes where a reader could take it for something else."""
    try:
        is_plain = len(text) > 1 and yaml.safe_load(text) == text
    except yaml.YAMLError:
        is_plain = False
    return text if is_plain else json.dumps(text, ensure_ascii=False)
