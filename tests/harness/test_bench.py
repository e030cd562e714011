from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import __main__ as bench_command
from bench.context import Bench
from bench.corpus import Corpus
from bench.figures import BenchFailed, Figure, Spread, ratios

ROOT = Path(__file__).resolve().parents[2]


def figure(median: float, *, backend: str = "sqlite", bound: float | None = None) -> Figure:
    return Figure("prepare", "{}", backend, "ms", Spread.of([median]), bound)


def test_quick_run_on_sqlite_writes_the_file_and_prints_the_table(tmp_path: Path) -> None:
    output = tmp_path / "made" / "bench.json"
    options = ["--quick", "--backend", "sqlite", "--seed", "7", "--output", str(output)]
    names = ["--only", "builder", "--only", "prepare", "--only", "scenario", "--only", "large"]
    run = subprocess.run(
        [sys.executable, "-m", "bench", *options, *names], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    result = json.loads(output.read_text())
    assert (result["format"], result["seed"], result["quick"]) == ("powercontext-harness.bench.v1", 7, True)
    assert set(result["engines"]) == {"sqlite"}
    measured = {(figure["measure"], figure["case"]) for figure in result["figures"]}
    assert {
        ("builder", "100,000 characters"),
        ("prepare", "{}"),
        ("prepare", "absent"),
        ("scenario", "whole scenario"),
        ("scenario", "seed"),
        ("large", "load 1,000 entries"),
        ("large", "3 words"),
        ("large", "ranks 1-3"),
    } <= measured
    for found in result["figures"]:
        assert found["minimum"] <= found["q1"] <= found["median"] <= found["q3"] <= found["maximum"]
    assert "seed 7" in run.stdout
    assert "hits " in run.stdout
    assert [path.name for path in output.parent.iterdir()] == ["bench.json"]


def test_spread_of_one_and_of_several_values() -> None:
    assert Spread.of([3.0]) == Spread(1, 3.0, 3.0, 3.0, 3.0, 3.0)
    assert Spread.of([5.0, 1.0, 2.0, 4.0, 3.0]) == Spread(5, 1.0, 2.0, 3.0, 4.0, 5.0)


def test_verdict_says_by_how_much_a_bound_is_missed() -> None:
    assert figure(8.0, bound=8.0).verdict == "met"
    assert figure(9.5, bound=8.0).verdict == "missed by 1.5 ms"
    assert figure(9.5).verdict == ""


def test_ratios_compare_the_backends() -> None:
    assert ratios([figure(4.0), figure(6.0, backend="oceanbase")]) == {"prepare {}: oceanbase / sqlite": 1.5}


def test_corpus_is_the_same_for_a_seed() -> None:
    assert list(Corpus(1).texts("a", 3)) == list(Corpus(1).texts("a", 3)) != list(Corpus(2).texts("a", 3))
    assert len(set(Corpus(1).words)) == 20_000
    ranks = {word: rank for rank, word in enumerate(Corpus(1).words, start=1)}
    drawn = [ranks[word] for query in Corpus(1).ranked_queries("q", 300, words=3) for word in query.split()]
    assert 50 <= min(drawn) < 100 < 2_500 < max(drawn) <= 5_000


@pytest.mark.parametrize(("options", "status"), [([], 0), (["--strict"], 1)], ids=["plain", "strict"])
def test_missed_bound_counts_only_when_strict(
    options: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missed(bench: Bench) -> Iterator[Figure]:
        yield figure(9.0, bound=8.0)

    monkeypatch.setattr(bench_command, "MEASURES", {"missed": missed})
    assert bench_command.main(["--output", str(tmp_path / "bench.json"), *options]) == status
    assert "missed by 1 ms" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "status"), [(BenchFailed("why"), 1), (KeyboardInterrupt(), 130)], ids=["failed", "interrupted"]
)
def test_run_that_breaks_off_writes_nothing(
    error: BaseException, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(bench: Bench) -> Iterator[Figure]:
        raise error

    monkeypatch.setattr(bench_command, "MEASURES", {"broken": broken})
    assert bench_command.main(["--output", str(tmp_path / "bench.json")]) == status
    assert not (tmp_path / "bench.json").exists()
