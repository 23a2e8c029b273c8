"""Secrets are not shown, and nothing else is hidden."""

import time

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline._redact import redact_headers, redact_text, redact_url

KEY = "sk-proj-Ab12_cd34-EF56"


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "authorization",
        "Proxy-Authorization",
        "api-key",
        "x-api-key",
        "X-Goog-Api-Key",
        "Cookie",
        "Set-Cookie",
        "X-Auth-Token",
        "x-amz-security-token",
        "My-Secret",
        "X-PASSWORD",
    ],
)
def test_secret_headers_are_masked_whole(name: str) -> None:
    assert redact_headers({name: "plain words 123"}) == {name: "***"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("content-type", "text/event-stream; charset=utf-8"),
        ("x-request-id", "req_0123456789abcdef"),
        ("x-ratelimit-remaining-tokens", "149984"),
        ("anthropic-ratelimit-tokens-reset", "2026-01-01T00:00:00Z"),
        ("retry-after", "5"),
        ("user-agent", "rxchat/0.1"),
    ],
)
def test_other_headers_stay(name: str, value: str) -> None:
    assert redact_headers({name: value}) == {name: value}


def test_headers_of_httpx_and_keys_in_values() -> None:
    clean = redact_headers(httpx.Headers({"Authorization": f"Bearer {KEY}", "X-Echo": f"you sent {KEY}"}))
    assert clean == {"authorization": "***", "x-echo": "you sent ***"}


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://host/v1", "https://host/v1"),
        ("https://me:pa@ss@host:8080/v1?a=b", "https://***@host:8080/v1?a=b"),
        ("https://token@host/", "https://***@host/"),
        ("https://h/v1?api-version=2024-02-01&api-key=abc&x=1", "https://h/v1?api-version=2024-02-01&api-key=***&x=1"),
        ("https://h/?key=abc#access_token=def", "https://h/?key=***#access_token=***"),
        ("https://h/?X-Amz-Signature=ab&X-Amz-Credential=c%2Fd", "https://h/?X-Amz-Signature=***&X-Amz-Credential=***"),
        ("https://h/?sig=ab%3D&se=1&max_tokens=5", "https://h/?sig=***&se=1&max_tokens=5"),
        ("https://h/?monkey", "https://h/?monkey"),
        ("https://h/users/@me", "https://h/users/@me"),
        (f"https://h/{KEY}/x", "https://h/***/x"),
    ],
)
def test_urls(url: str, clean: str) -> None:
    assert redact_url(url) == clean
    assert redact_url(clean) == clean
    assert redact_url(httpx.URL("https://host/v1?api_key=abc")) == "https://host/v1?api_key=***"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Bearer xxx", "Bearer ***"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic ***"),
        ("{'x-api-key': 'abc', 'a': 'b'}", "{'x-api-key': '***', 'a': 'b'}"),
        ('{"api_key": "abc"}', '{"api_key": "***"}'),
        (r'{"arguments":"{\"password\": \"hunter2\"}"}', r'{"arguments":"{\"password\": \"***\"}"}'),
        ("OPENAI_API_KEY=abc rxchat", "OPENAI_API_KEY=*** rxchat"),
        ("Set-Cookie: a=b; c=d\r\nServer: x", "Set-Cookie: ***\r\nServer: x"),
        ("Incorrect API key provided: sk-proj-****1234.", "Incorrect API key provided: ***."),
        ("gsk_0123456789abcdefgh", "***"),
        ("AIzaSyA0123456789012345678901234567890", "***"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc_DEF", "***"),
        ("see http://u:p@h/ and ?token=1&b=2", "see http://***@h/ and ?token=***&b=2"),
        ("The weather in Paris is 21 °C; ask-me-anything, task-list, key facts.",) * 2,
        ("the id is chatcmpl-BE09P7LcIdzUDwaFuIsZnFmL4BjZMY6j",) * 2,
    ],
)
def test_texts(text: str, clean: str) -> None:
    assert redact_text(text) == clean
    assert redact_text(clean) == clean


def test_given_secrets_go_whatever_they_look_like() -> None:
    assert redact_text("a pass/word, pass%2Fword, pass", ["", "pass", "pass/word"]) == "a ***, ***, ***"


@given(st.text(), st.sampled_from(["sk-", "Bearer ", "api_key=", "https://u:", "?token=", "Authorization: Token "]))
def test_a_marked_key_never_stays(before: str, opening: str) -> None:
    marked = "MARKED0123456789abc"
    assert marked not in redact_text(f"{before} {opening}{marked}@host")


@pytest.mark.parametrize("piece", ["a", "/", "//", "key", "?a=", "sk-", "cookie: ", "eyJabcdefgh.", "password ", "\\"])
def test_a_long_text_takes_no_longer_than_its_length(piece: str) -> None:
    """Per character, that is; what grows with the square would take ten times as long."""

    def seconds(length: int) -> float:
        text, best = piece * (length // len(piece)), float("inf")
        for _ in range(3):
            began = time.perf_counter()
            redact_text(text)
            best = min(best, time.perf_counter() - began)
        return best / length

    assert seconds(200_000) < 4 * seconds(20_000)
