"""What people paste, as requests and answers: curl commands, HAR files, JSON, lines of a log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.importing.answers import read_answer
from harness.importing.exchange import Exchange
from harness.importing.reading import read_report

REPORTS = Path(__file__).with_name("reports")
URL = "https://memory.example.org/v1/context/prepare"
BODY = '{"scope_id": "demo", "query": "tea"}'


def read(name: str) -> list[Exchange]:
    return read_report((REPORTS / name).read_bytes())


def one(text: str) -> Exchange:
    (exchange,) = read_report(text.encode("utf-8", "surrogateescape"))
    return exchange


def refused(text: str | bytes) -> HarnessError:
    with pytest.raises(HarnessError) as found:
        read_report(text.encode() if isinstance(text, str) else text)
    return found.value


@pytest.mark.parametrize(
    "words",
    [
        f"curl -X POST {URL} -d '{BODY}'",
        f"curl -sSXPOST {URL} --data-raw '{BODY}'",
        f'curl --request POST --url {URL} --data "{BODY}"'.replace('"scope_id"', '\\"scope_id\\"')
        .replace('"demo"', '\\"demo\\"')
        .replace('"query"', '\\"query\\"')
        .replace('"tea"', '\\"tea\\"'),
        f"  $ curl {URL} \\\n  -H 'X-Y: z' \\\n  --data-binary '{BODY}'",
        f"user@host:~$ TOKEN=x curl {URL} --json '{BODY}' | jq .",
        f"curl {URL} -d $'{BODY}' -o /dev/null > out.txt 2>&1",
        f"curl {URL} -d @- <<'EOF'\n{BODY}\nEOF\n",
        f"curl -d'{BODY}' {URL}",
        f"```console\ncurl {URL} -d '{BODY}'\n```\n",
    ],
)
def test_a_command_is_read_as_bash_and_curl_read_it(words: str) -> None:
    assert one(words).body == BODY.encode()


def test_quotes_escapes_and_joined_words() -> None:
    text = f"curl {URL} -d " + r"""$'{"query": "it\'s \u4fee\x41\101\\n"}'"""
    assert one(text).body == '{"query": "it\'s 修AA\\n"}'.encode()
    assert one(f"curl {URL} -d '{{\"query\": \"it'\\''s\"}}'").body == b'{"query": "it\'s"}'
    assert one(f'curl {URL} -d "a\\$b\\`c\\\\d" -d e').body == b"a$b`c\\d&e"
    assert one(f"curl {URL} -d $'\\xff\\xfe'").body == b"\xff\xfe"


def test_variables_stay_and_are_told() -> None:
    exchange = one('curl "$BASE/v1/context/prepare" -d \'{"scope_id": "\'"$DEMO"\'"}\' -H "Authorization: Bearer $T"')
    assert exchange.body == b'{"scope_id": "$DEMO"}'
    assert any("$DEMO" in note for note in exchange.notes)
    assert not any("$T" in note or "$BASE" in note for note in exchange.notes)


def test_a_token_is_told_apart_and_not_kept() -> None:
    exchanges = read("session.har")
    assert [exchange.caller for exchange in exchanges] == ["caller-1", "caller-1", "caller-2"]
    assert "secret" not in repr(exchanges)
    assert "secret" not in repr(read("curl_alone.txt"))
    assert one(f"curl {URL} -d x").caller is None


def test_what_a_command_printed_is_its_answer() -> None:
    answered = (
        f'curl -i {URL} -d \'{BODY}\'\nHTTP/1.1 503 Service Unavailable\r\nx: y\r\n\r\n{{"error": {{"code": "x"}}}}\n'
    )
    exchange = one(answered)
    assert (exchange.status, exchange.answer) == (503, b'{"error": {"code": "x"}}')
    asked = f"curl -v {URL} -d '{BODY}'\n"
    verbose = asked + '* Trying\n> POST /\n< HTTP/2 403 \n< a: b\n{ [99 bytes data]\n{"error": null}\n'
    assert (one(verbose).status, one(verbose).answer) == (403, b'{"error": null}')
    written = f"curl -w '%{{http_code}}' {URL} -d '{BODY}'\n{{\n  \"status\": \"empty\"\n}}\n200\n"
    assert (one(written).status, json.loads(one(written).answer or b"")) == (200, {"status": "empty"})
    assert one(f"curl {URL} -d '{BODY}'\n").answer is None


def test_several_commands_have_an_answer_each() -> None:
    text = f"$ curl {URL} -d '1'\n{{\"status\": \"empty\"}}\n$ curl -X GET {URL}s/x\n[]\n$ curl {URL} -d '2'\n{{}}\n"
    first, second = read_report(text.encode())
    assert (first.body, first.answer, second.body, second.answer) == (b"1", b'{"status": "empty"}', b"2", b"{}")


def test_a_har_file_gives_its_prepares_in_order() -> None:
    exchanges = read("session.har")
    assert [exchange.source for exchange in exchanges] == ["HAR entry 2", "HAR entry 3", "HAR entry 4"]
    assert [exchange.status for exchange in exchanges] == [200, 200, 403]
    assert json.loads(exchanges[1].answer or b"")["status"] == "ready"
    assert exchanges[0].headers == {"content-type": "application/json"}


def test_json_in_its_forms() -> None:
    request, answer = {"scope_id": "demo", "query": "tea"}, {"status": "empty", "content": None, "content_bytes": 0}
    forms = [
        {"request": request, "response": answer},
        [{"request": {"body": request, "headers": {}}, "response": {"status": 200, "body": answer}}],
        {"request": json.dumps(request), "response": json.dumps(answer)},
        {"request": {"method": "POST", "url": URL, "json": request}, "response": {"status_code": 200, "json": answer}},
    ]
    for form in forms:
        exchange = one(json.dumps(form))
        assert json.loads(exchange.body or b"") == request
        assert read_answer(exchange).verdict == "empty"
        assert read_answer(exchange).status == 200
    assert one(json.dumps(request)).answer is None
    assert one(json.dumps({"request": request, "response": answer, "right": True})).is_right


def test_a_log_tells_the_status_and_nothing_else() -> None:
    for name in ("server.log", "server.jsonl"):
        exchanges = read(name)
        assert [(exchange.status, exchange.code) for exchange in exchanges] == [
            (200, None),
            (200, None),
            (404, "scope_not_found"),
        ]
        assert all(exchange.body is None and exchange.answer is None for exchange in exchanges)
        assert any("service_version 1.4.1" in note for note in exchanges[0].notes)
    access = '127.0.0.1 - - [01/Dec/2026:14:00:00 +0000] "POST /v1/context/prepare HTTP/1.1" 403 93\n'
    assert one(access).status == 403


def test_an_older_log_names_no_operation() -> None:
    error = refused("2026-12-01T13:36:24+0000 INFO powercontext.server.access request completed request_id=1\n")
    assert (error.code, "before 1.4.0" in (error.hint or "")) == ("nothing_to_import", True)


def test_an_answer_is_read_as_far_as_it_goes() -> None:
    whole = json.loads((REPORTS / "older_pair.json").read_text("utf-8"))["response"]
    text = json.dumps(whole)
    cut = read_answer(Exchange("x", answer=text[: text.index("Detail") + 3].encode()))
    assert (cut.status, cut.verdict, cut.is_whole) == (200, "ready", False)
    assert (cut.content or "").endswith("Det")
    alone = read_answer(Exchange("x", answer=whole["content"].encode() + b"\n"))
    assert (alone.content, alone.verdict) == (whole["content"], "ready")
    assert read_answer(Exchange("x", answer=b'{"error": {"code": "forbid')).is_whole is False


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("", "unreadable_report", "empty"),
        ("hello", "unreadable_report", "none of the kinds"),
        ("curl https://x/y", "nothing_to_import", "no curl command posts"),
        (f"curl {URL} -d @request.json", "missing_file", "request.json"),
        (f"curl {URL} -d '{{", "unreadable_command", "the quote ' on line 1"),
        (f"curl {URL} -F a=b", "unreadable_command", "-F"),
        ('{"log": {"entries": []}}', "nothing_to_import", "no entry"),
        ('{"log": {}}', "unreadable_report", "log.entries"),
        ('{"a": 1}', "unreadable_report", "item 1"),
        ("[]", "nothing_to_import", "no prepare"),
    ],
)
def test_what_cannot_be_read_is_told_in_a_sentence(text: str, code: str, told: str) -> None:
    error = refused(text)
    assert error.code == code
    assert told in error.message


def test_a_response_of_its_own_belongs_to_one_request() -> None:
    (exchange,) = read_report(f"curl {URL} -d '{BODY}'".encode(), response=b'{"status": "empty"}')
    assert read_answer(exchange).verdict == "empty"
    with pytest.raises(HarnessError, match="one response"):
        read_report((REPORTS / "session.har").read_bytes(), response=b"{}")


def test_another_encoding_is_told_with_its_first_byte() -> None:
    curl = f'Our server says:\ncurl {URL} -d \'{{"scope_id": "demo", "query": "gr\u00fcner Tee"}}\''
    error = refused(curl.encode("cp1252"))
    place = len('Our server says:\ncurl  -d \'{"scope_id": "demo", "query": "gr') + len(URL)
    assert error.message == f"the report is not UTF-8: byte 0xfc at offset {place}, line 2"
    error = refused(curl.encode("utf-16"))
    assert error.message.startswith("the report is not UTF-8: byte 0xff at offset 0, line 1")
    assert error.hint == "it is UTF-16; save it as UTF-8"
    assert read_report(curl.encode("utf-8-sig"))[0].body == '{"scope_id": "demo", "query": "gr\u00fcner Tee"}'.encode()
    with pytest.raises(HarnessError, match="the response is not UTF-8: byte 0xfc at offset 2, line 1"):
        read_report(curl.encode(), response="gr\u00fcn".encode("cp1252"))
    assert read_report(curl.encode(), response=b"\xef\xbb\xbf{}")[0].answer == b"{}"
