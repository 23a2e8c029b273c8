"""%load_ext pipeline, %%chat and %marbles."""

from __future__ import annotations

import json
import shlex

import pytest
import reactivex

from operators import Finish, TextDelta
from pipeline.embedded import RecordedServer
from pipeline.notebook import _magics, last, show
from pipeline.probing import Marbles
from tests.pipeline.notebook.cells import latest
from tests.pipeline.wire import ANSWER, WireServer

HELLO = (TextDelta("Hello"), Finish("stop"))


@pytest.fixture
def loaded(cells):
    assert cells.run("%load_ext pipeline") == []
    yield cells
    assert cells.run("%unload_ext pipeline") == []


@pytest.fixture
def server():
    with WireServer(lambda call: call.answer(ANSWER)) as server:
        yield server


def chat(cells, options, prompt="Say hello."):
    return cells.run(f"%%chat {options}\n{prompt}")


def test_the_extension_is_loaded_and_unloaded(cells):
    cells.run("%load_ext pipeline")
    assert "chat" in cells.shell.magics_manager.magics["cell"]
    cells.run("%reload_ext pipeline")
    assert "marbles" in cells.shell.magics_manager.magics["line"]
    cells.run("%unload_ext pipeline")
    assert "chat" not in cells.shell.magics_manager.magics["cell"]
    assert "marbles" not in cells.shell.magics_manager.magics["line"]
    cells.run("show(stream)", show=show, stream=reactivex.of(*HELLO))
    assert latest().probe is None


def test_chat_streams_what_its_cell_says(loaded, server):
    [shown] = chat(
        loaded, f"-u {server.url} -m m -s 'Be {{brief}}.' -p temperature=0.2 -p user=me -o answer", "Say\nhello.\n"
    )
    assert shown.plain.startswith("Hello\n\nstop")
    sent = server.calls[0].json
    assert [message["content"] for message in sent["messages"]] == ["Be {brief}.", "Say\nhello."]
    assert (sent["model"], sent["temperature"], sent["user"], sent["stream"]) == ("m", 0.2, "me", True)
    assert loaded.shell.user_ns["answer"] is last()


def test_chat_finds_its_server_and_model_in_the_environment(loaded, server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "marked-key")
    monkeypatch.setenv("OPENAI_MODEL", "theirs")
    shown = chat(loaded, "")
    assert server.calls[0].headers["authorization"] == "Bearer marked-key"
    assert server.calls[0].json["model"] == "theirs"
    assert "marked-key" not in json.dumps([one.data for one in shown])


def test_chat_asks_a_server_of_this_process_where_no_other_is_named(loaded, monkeypatch):
    _magics._server.cache_clear()
    monkeypatch.setattr(_magics, "serve", lambda: RecordedServer(pause=0))
    try:
        [shown] = chat(loaded, "--no-reasoning", "What is the weather like in Paris?")
        assert "stop · " in shown.plain
        assert latest().message.reasoning
        assert "Reasoning" not in shown.html
        assert _magics._server() is _magics._server()
    finally:
        _magics._server().close()
        _magics._server.cache_clear()


def test_chat_can_draw_a_timeline_too(loaded, server):
    [_, picture] = chat(loaded, f"-u {server.url} -m m --timeline")
    assert "image/svg+xml" in picture.data


@pytest.mark.parametrize(
    ("options", "prompt", "said"),
    [
        ("-u URL -m m", " ", "the prompt is empty"),
        ("-u URL", "hi", "which model? give -m NAME, or set OPENAI_MODEL"),
        ("-u ftp://x -m m", "hi", "ftp"),
        ("-m", "hi", "expected one argument"),
        ("--nonsense", "hi", "--nonsense"),
        ("-m 'open", "hi", "No closing quotation"),
        ("-u URL -m m -p temperature", "hi", "KEY=VALUE is wanted, not 'temperature'"),
        ("-u URL -m m -p =2", "hi", "KEY=VALUE is wanted, not '=2'"),
        ("-u URL -m m -o 1st", "hi", "the name of a variable, not '1st'"),
        ("-u URL -m m -o class", "hi", "the name of a variable, not 'class'"),
    ],
)
def test_what_is_wrong_with_a_chat_is_said_in_a_line(loaded, server, options, prompt, said):
    [shown] = chat(loaded, options.replace("URL", server.url), prompt)
    assert shown.plain.startswith("UsageError: %%chat: ")
    assert said in shown.plain
    assert shown.plain.count("\n") == 1
    assert not server.calls


def test_both_have_their_options_as_help(loaded):
    assert "--model" in loaded.shell.magics_manager.magics["cell"]["chat"].__doc__
    assert "--stages" in loaded.shell.magics_manager.magics["line"]["marbles"].__doc__


def test_marbles_are_those_of_the_stream_shown_last(loaded, server):
    chat(loaded, f"-u {server.url} -m m")
    [shown] = loaded.run("m = %marbles\nm")
    assert shown.data["image/svg+xml"].startswith("<svg")
    assert "deltas" in shown.plain
    assert isinstance(loaded.shell.user_ns["m"], Marbles)


def test_marbles_of_some_stages_in_a_width_and_theme_are_saved(loaded, server, tmp_path):
    chat(loaded, f"-u {server.url} -m m")
    path = tmp_path / "some marbles.svg"
    [shown] = loaded.run(f"%marbles --stages lines,sse --width 700 --theme dark --save {shlex.quote(str(path))}")
    assert path.read_text(encoding="utf-8").strip() == shown.data["image/svg+xml"].strip()
    assert "chunks" not in shown.plain


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--stages nonsense", "nonsense"),
        ("--theme pink", "pink"),
        ("--width wide", "wide"),
        ("--width 1", "width"),
        ("--save /nonexistent/dir/x.svg", "/nonexistent"),
        ("--save x.png", "png"),
    ],
)
def test_what_is_wrong_with_marbles_is_said_in_a_line(loaded, server, options, said):
    chat(loaded, f"-u {server.url} -m m")
    [shown] = loaded.run(f"%marbles {options}")
    assert shown.plain.startswith("UsageError: %marbles: ")
    assert said in shown.plain


def test_there_are_no_marbles_before_a_stream_is_shown(loaded):
    [shown] = loaded.run("%marbles")
    assert "no stream has been shown since %load_ext pipeline" in shown.plain


def test_the_names_of_the_package_are_those_of_its_parts():
    import pipeline.notebook
    import pipeline.probing

    assert pipeline.show is pipeline.notebook.show
    for name in ("Marbles", "explain", "probe"):
        assert getattr(pipeline, name) is getattr(pipeline.probing, name)
        assert name in dir(pipeline)
