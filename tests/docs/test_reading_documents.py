"""What executes the documents, on small documents of its own: a changed output is red, and says where."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from console import Shell, alike, fits
from documents import Command, File, actions_of, prose_of
from test_commands import difference, write

DOCUMENT = """\
# A page

<!-- run: export TEA=green -->

```console
$ echo "$TEA" \\
    tea
green tea
$ cat <<'END'
a

b
END
a

b
$ mkdir pot && cd pot
```

```text cup.txt
hot
```

```console
$ cat cup.txt
hot
```

```sh
$ exit 7
```
"""
LINES = DOCUMENT.removesuffix("\n").split("\n")


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with closing(Shell(tmp_path, tmp_path)) as shell:
        yield shell


def did(lines: list[str], shell: Shell) -> list[tuple[Command, int, list[str]]]:
    done = []
    for action in actions_of(lines):
        if isinstance(action, File):
            (shell.folder / action.path).write_text(action.text, encoding="utf-8")
        else:
            done.append((action, *shell.run(action.text)))
    return done


def test_commands_files_and_hidden_commands_happen_in_their_order(shell: Shell, tmp_path: Path) -> None:
    done = did(LINES, shell)
    assert [difference(tmp_path, *one, root=tmp_path.parent) for one in done] == [[]] * 5
    assert [(command.line, output) for command, _, output in done] == [
        (3, []),
        (6, ["green tea"]),
        (9, ["a", "", "b"]),
        (17, []),
        (25, ["hot"]),
    ]
    assert shell.folder == tmp_path / "pot"


def test_a_changed_output_is_told_with_line_and_difference(shell: Shell, tmp_path: Path) -> None:
    lines = DOCUMENT.replace("cup.txt\nhot\n```\n\n```sh", "cup.txt\ncold\n```\n\n```sh").removesuffix("\n").split("\n")
    told = [line for one in did(lines, shell) for line in difference(tmp_path / "a.md", *one, root=tmp_path)]
    assert told == ["a.md:25: $ cat cup.txt", "--- shown", "+++ printed", "@@ -1 +1 @@", "-cold", "+hot"]


def test_a_command_that_shows_nothing_must_end_well(shell: Shell, tmp_path: Path) -> None:
    lines = ["```console", "$ ls absent", "```"]
    told = difference(tmp_path / "a.md", *did(lines, shell)[0], root=tmp_path)
    assert told[:2] == ["a.md:2: $ ls absent", "ended with exit code 2:"]


def test_output_without_a_command_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="line 2: output without a command"):
        actions_of(["```console", "tea", "```"])


def test_the_difference_is_written_where_it_is_shown(shell: Shell, tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    lines = ["```console", "$ echo a; echo b", "x", "$ echo c", "c", "```", "end"]
    write(document, lines, [(command, output) for command, _, output in did(lines, shell)])
    assert document.read_text(encoding="utf-8") == "```console\n$ echo a; echo b\na\nb\n$ echo c\nc\n```\nend\n"


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (["2 passed in 0.42s"], ["2 passed in 17.63s"]),
        (["process 1 in ~/engine-1-ab"], ["process 4711 in ~/engine-99-0f"]),
        (["2027-01-12 09:30:00  pch_kept_58b53336"], ["2026-12-01 16:43:31  pch_kept_b90230ed"]),
        (["a", "...", "c"], ["a", "c"]),
        (["a", "...", "c"], ["a", "b", "b", "c"]),
        (["a ... c"], ["a b c"]),
        ([".F   [100%]"], ["F.      [100%]"]),
    ],
)
def test_what_differs_from_run_to_run_is_alike(shown: list[str], printed: list[str]) -> None:
    assert fits(alike(shown), alike(printed))


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (["2 passed in 0.42s"], ["1 passed in 0.42s"]),
        (["a", "...", "c"], ["a", "b"]),
        (["a"], ["a", "b"]),
        (["a", "b"], ["a"]),
        (["  a"], ["a"]),
        (["left: 134 of 700"], ["left: 135 of 700"]),
    ],
)
def test_everything_else_must_be_as_shown(shown: list[str], printed: list[str]) -> None:
    assert not fits(alike(shown), alike(printed))


def test_prose_is_what_stands_outside_of_blocks() -> None:
    assert "hot" not in prose_of(LINES)
    assert prose_of(LINES).startswith("# A page")
