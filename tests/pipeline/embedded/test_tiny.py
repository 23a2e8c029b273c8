"""The tiny model: made the same every time, and saying what it was written to say."""

import hashlib
import lzma
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from pipeline.embedded import EmbeddedServer
from pipeline.embedded._tiny import cut, main

WEATHER = "It is sunny in Paris today, about 18 °C 🌤, perfect for un café en terrasse."
HELLO = (
    "Hello! I am a tiny model of one layer, yet a real server sends you each byte of this 👋. "
    "Ask me about the weather in Paris, à Paris, in Zürich oder in 東京."
)
REASONING = "A short question; thus a short answer is best. Let me see 🤔 … yes, that will do."
TEXT = {"type": "string"}


def tool(name: str = "get_weather", **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}}


def test_the_committed_model_is_what_the_script_makes(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    main([str(tmp_path / "again.gguf")])
    main([str(tmp_path / "again.gguf.xz")])
    made = (tmp_path / "again.gguf").read_bytes()
    committed = (files("pipeline.embedded") / "tiny.gguf.xz").read_bytes()
    assert len(committed) < 8_000
    # digests, since a difference of a megabyte of zeros is not worth printing
    digests = {
        hashlib.sha256(content).hexdigest()
        for content in (made, lzma.decompress((tmp_path / "again.gguf.xz").read_bytes()), lzma.decompress(committed))
    }
    assert len(digests) == 1


def test_a_word_that_is_taken_is_cut_differently() -> None:
    taken: set[bytes] = set()
    assert cut("in Paris, in Paris", taken) == [b"in", b" Paris,", b" in", b" Paris"]
    assert cut(" in Paris again", taken) == [b" in Paris", b" again"]


def test_an_emoji_is_cut_inside_its_bytes() -> None:
    taken: set[bytes] = set()
    assert cut("🌤", taken) == [b"\xf0", b"\x9f", b"\x8c", b"\xa4"]
    assert cut("👋", taken) == [b"\xf0\x9f", b"\x91", b"\x8b"]


def test_a_sentence_of_nothing_new_is_refused() -> None:
    taken: set[bytes] = set()
    cut("Hello there", taken)
    with pytest.raises(ValueError, match="another chain has used"):
        cut("Hello", taken)


@pytest.mark.parametrize("arguments", [[], ["a", "b"]])
def test_the_script_tells_how_it_is_used(arguments: list[str]) -> None:
    with pytest.raises(SystemExit, match="usage"):
        main(arguments)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the weather like in Paris?", WEATHER),
        (
            "Hello!",
            HELLO,
        ),
        ("Bonjour", "Bonjour ! À Paris il fait beau, environ 18 degrés 🥐 : c'est l'idéal pour flâner."),
        ("Wie ist das Wetter?", "Hallo! In Zürich regnet es bei 12 Grad ☔, also nimm lieber einen Schirm."),
        ("東京の天気は？", "こんにちは。東京の天気は晴れ、気温は２０度です🌸。"),
    ],
)
def test_it_answers_in_the_language_of_the_question(
    embedded_server: EmbeddedServer, ask: Any, question: str, answer: str
) -> None:
    said = ask(embedded_server.base_url, question)
    assert (said.text, said.reasoning, said.names, said.finish) == (answer, "", {}, "stop")


def test_it_reasons_when_asked_to(embedded_server: EmbeddedServer, ask: Any) -> None:
    said = ask(embedded_server.base_url, "The weather?", chat_template_kwargs={"enable_thinking": True})
    assert (said.reasoning, said.text, said.finish) == (REASONING, WEATHER, "stop")


def test_it_calls_a_tool(embedded_server: EmbeddedServer, ask: Any) -> None:
    said = ask(embedded_server.base_url, "The weather?", tools=[tool(city=TEXT)])
    assert (said.calls, said.text, said.finish) == ([("get_weather", {"city": "Paris"})], "", "tool_calls")


@pytest.mark.parametrize("question", ["Compare the weather", "In Paris and in Zürich?"])
def test_it_makes_two_calls_for_two_things(embedded_server: EmbeddedServer, ask: Any, question: str) -> None:
    said = ask(embedded_server.base_url, question, tools=[tool(city=TEXT)])
    assert said.calls == [("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Zürich"})]
    assert said.finish == "tool_calls"


def test_it_makes_one_call_where_parallel_ones_are_forbidden(embedded_server: EmbeddedServer, ask: Any) -> None:
    said = ask(embedded_server.base_url, "Compare", tools=[tool(city=TEXT)], parallel_tool_calls=False)
    assert said.calls == [("get_weather", {"city": "Paris"})]


def test_it_reasons_before_it_calls(embedded_server: EmbeddedServer, ask: Any) -> None:
    thinking = {"enable_thinking": True}
    said = ask(embedded_server.base_url, "Compare", tools=[tool(city=TEXT)], chat_template_kwargs=thinking)
    assert said.reasoning == REASONING
    assert [arguments["city"] for _, arguments in said.calls] == ["Paris", "Zürich"]


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, {}),
        ({"city": TEXT, "unit": {"type": "string", "enum": ["fahrenheit", "celsius"]}}, ("Paris", "celsius")),
        ({"days": {"type": "integer"}}, (3,)),
        ({"sides": {"type": "integer", "minimum": 10, "maximum": 20}}, (10,)),
        ({"ratio": {"type": "number"}, "city": TEXT}, (3, "Paris")),
        ({"cities": {"type": "array", "items": TEXT}}, (["Paris"],)),
        ({"place": {"type": "object", "properties": {"city": TEXT}, "required": ["city"]}}, ({"city": "Paris"},)),
        ({"certain": {"type": "boolean"}}, (False,)),
    ],
)
@pytest.mark.parametrize("question", ["Go.", "Compare."])
def test_arguments_follow_the_schema(
    embedded_server: EmbeddedServer, ask: Any, properties: dict[str, Any], expected: Any, question: str
) -> None:
    said = ask(embedded_server.base_url, question, tools=[tool(**properties)], max_tokens=400)
    assert said.calls[0] == ("get_weather", dict(zip(properties, expected, strict=True)))
    assert len(said.calls) == (2 if question == "Compare." else 1)
    assert all(arguments.keys() == properties.keys() for _, arguments in said.calls)


@pytest.mark.parametrize(
    ("question", "cities", "answer"),
    [
        ("The weather?", ["Paris"], "I looked it up 🔎: Paris is sunny at 18 °C, so no umbrella needed. Voilà!"),
        (
            "The weather in Paris and Zürich?",
            ["Paris", "Zürich"],
            "Paris is warmer: 18 °C and sun there, but 12 °C and rain in Zürich 🌧. Bon voyage!",
        ),
        ("Roll the dice", ["Paris"], "Done: the tool has answered, and all is well ✅."),
    ],
)
def test_it_closes_after_the_results(
    embedded_server: EmbeddedServer, ask: Any, question: str, cities: list[str], answer: str
) -> None:
    calls = [
        {"id": city, "type": "function", "function": {"name": "get_weather", "arguments": f'{{"city":"{city}"}}'}}
        for city in cities
    ]
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": city, "content": "sunny"} for city in cities),
    ]
    said = ask(embedded_server.base_url, messages, tools=[tool(city=TEXT)])
    assert (said.text, said.names, said.finish) == (answer, {}, "stop")
    # and a later turn is not misled by the calls of an earlier one
    messages += [{"role": "assistant", "content": said.text}, {"role": "user", "content": "Compare again"}]
    said = ask(embedded_server.base_url, messages, tools=[tool(city=TEXT)])
    assert [arguments["city"] for _, arguments in said.calls] == ["Paris", "Zürich"]


def test_temperature_varies_it_by_seed_and_the_seed_repeats_it(embedded_server: EmbeddedServer, ask: Any) -> None:
    def say(seed: int) -> str:
        return str(ask(embedded_server.base_url, "The weather?", temperature=1.0, seed=seed).text)

    said = [say(seed) for seed in range(8)]
    assert len(set(said)) > 1
    assert all(text.startswith("It is ") and text.endswith(" un café en terrasse.") for text in said)
    assert [say(seed) for seed in range(8)] == said


def test_warm_arguments_are_still_two_different_cities(embedded_server: EmbeddedServer, ask: Any) -> None:
    for seed in range(8):
        said = ask(embedded_server.base_url, "Compare", tools=[tool(city=TEXT)], temperature=1.0, seed=seed)
        first, second = (arguments["city"] for _, arguments in said.calls)
        assert first in {"Paris", "Rome"}
        assert second == "Zürich"


def test_two_choices(embedded_server: EmbeddedServer, ask: Any) -> None:
    for choice in range(2):
        assert ask(embedded_server.base_url, "The weather?", n=2, choice=choice).text == WEATHER


def test_tokens_end_in_the_middle_of_a_call(embedded_server: EmbeddedServer, ask: Any) -> None:
    said = ask(embedded_server.base_url, "The weather?", tools=[tool(city=TEXT)], max_tokens=46)
    assert (said.arguments, said.finish) == ({0: '{"city":"P'}, "length")


def test_log_probabilities(embedded_server: EmbeddedServer, ask: Any) -> None:
    assert ask(embedded_server.base_url, "The weather?", logprobs=True, top_logprobs=2).text == WEATHER


def test_json_is_answered_where_it_is_asked_for(embedded_server: EmbeddedServer, ask: Any) -> None:
    schema = {"type": "json_schema", "json_schema": {"schema": tool(city=TEXT)["function"]["parameters"]}}
    assert ask(embedded_server.base_url, "The weather?", response_format=schema).text == '{"city":"Paris"}'


def test_a_story_goes_on_until_it_is_stopped(embedded_server: EmbeddedServer, ask: Any) -> None:
    said = ask(embedded_server.base_url, "Tell me a story", max_tokens=300)
    assert said.finish == "length"
    assert said.text.startswith("📖 Once upon a time the Seine told the clouds a story: the rain came to Paris, ")
    assert said.text.count("the rain came to Paris") > 10
