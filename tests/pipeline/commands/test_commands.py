"""The command line, as a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from importlib.metadata import version
from pathlib import Path

import pytest

from pipeline.embedded import serve
from tests.support.timing import LONG

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / "pipeline" / "embedded" / "recorded"


@pytest.fixture(scope="module")
def server():
    with serve() as server:
        yield server


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    return kept | {"PYTHONIOENCODING": "utf-8"} | more


def rxchat(*words: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pipeline", *words],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=LONG,
        check=False,
        env=environment(**env),
    )


def events_of(output: str) -> list[dict]:
    return [json.loads(line) for line in output.splitlines()]


def test_it_says_its_version():
    assert rxchat("--version").stdout == f"rxchat {version('rxchat')}\n"


class TestChat:
    def test_shows_the_answer_and_nothing_else_in_a_pipe(self, server):
        done = rxchat("chat", "How is the weather?", "--base-url", server.base_url, "--model", server.model)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "It is sunny in Paris today, about 18 °C 🌤, perfect for un café en terrasse.\n"
        assert done.stderr == ""

    def test_takes_endpoint_and_model_from_the_environment_and_the_prompt_from_stdin(self, server):
        done = rxchat("chat", "-", stdin="weather?\n", OPENAI_BASE_URL=server.base_url, OPENAI_MODEL=server.model)
        assert done.returncode == 0, done.stderr
        assert "sunny" in done.stdout

    def test_json_is_one_event_a_line_with_usage_unless_told_not_to(self, server):
        words = ("chat", "weather", "--base-url", server.base_url, "-m", server.model, "--json")
        found = events_of(rxchat(*words).stdout)
        assert found[0]["event"] == "Started"
        assert "".join(event["text"] for event in found if event["event"] == "TextDelta").startswith("It is sunny")
        assert any(event["event"] == "Usage" for event in found)
        assert not any(event["event"] == "Usage" for event in events_of(rxchat(*words, "--no-usage").stdout))

    def test_params_become_part_of_the_request(self, server):
        done = rxchat(
            "chat", "weather", "--base-url", server.base_url, "-m", server.model, "--json", "-p", "max_tokens=3"
        )
        assert [event["reason"] for event in events_of(done.stdout) if event["event"] == "Finish"] == ["length"]

    def test_a_tool_is_called(self, server, tmp_path, monkeypatch):
        (tmp_path / "my_tools.py").write_text(
            'def get_weather(city: str) -> str:\n    return f"sunny, 18 °C in {city}"\n'
        )
        monkeypatch.chdir(tmp_path)
        words = ("--base-url", server.base_url, "-m", server.model, "--json", "--tool", "my_tools:get_weather")
        done = rxchat("chat", "weather in Paris", *words, PYTHONPATH=str(ROOT))
        found = events_of(done.stdout)
        assert done.returncode == 0, done.stderr
        assert [event["content"] for event in found if event["event"] == "ToolResult"] == ["sunny, 18 °C in Paris"]
        assert found[-1]["event"] == "Conversation"

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (["chat", "hi"], "which model?"),
            (["chat", "", "-m", "m"], "the prompt is empty"),
            (["chat", "-", "-m", "m"], "no prompt came on stdin"),
            (["chat", "hi", "-m", "m", "--base-url", "ftp://x"], "base_url begins with http://"),
            (["chat", "hi", "-m", "m", "-p", "temperature"], "--param takes KEY=VALUE"),
            (["chat", "hi", "-m", "m", "--tool", "nothing"], "--tool takes MODULE:FUNCTION"),
            (["chat", "hi", "-m", "m", "--tool", "no_such_module:f"], "no_such_module"),
            (["parse", "no-such-file.sse"], "there is no file"),
            (["demo", "--gguf", "no-such.gguf"], "no-such.gguf"),
        ],
    )
    def test_wrong_usage_exits_with_2_and_says_what_is_wrong(self, words, says):
        done = rxchat(*words)
        assert done.returncode == 2
        assert says in done.stderr
        assert "Traceback" not in done.stderr

    def test_a_tool_whose_module_breaks_is_said(self, tmp_path, monkeypatch):
        (tmp_path / "broken.py").write_text("raise RuntimeError('no database')\n")
        monkeypatch.chdir(tmp_path)
        done = rxchat("chat", "hi", "--model", "m", "--tool", "broken:f", PYTHONPATH=str(ROOT))
        assert (done.returncode, done.stderr) == (2, "rxchat: --tool broken:f: RuntimeError: no database\n")

    def test_a_retry_is_said_once(self):
        done = rxchat("chat", "hi", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--retries", "1")
        assert done.returncode == 1
        assert [line.partition(" in ")[0] for line in done.stderr.splitlines()][:1] == ["retrying"]
        assert done.stderr.count("attempt") == 1

    def test_a_broken_stream_exits_with_1_and_says_why(self):
        done = rxchat("chat", "hi", "-m", "m", "--base-url", "http://127.0.0.1:9/v1", "--retries", "0")
        assert done.returncode == 1
        assert "connection" in done.stderr
        assert "Traceback" not in done.stderr

    def test_an_error_is_the_last_line_of_json(self):
        done = rxchat("chat", "hi", "-m", "m", "--base-url", "http://127.0.0.1:9/v1", "--retries", "0", "--json")
        assert done.returncode == 1
        last = events_of(done.stdout)[-1]
        assert (last["event"], last["kind"]) == ("Error", "connection")

    @pytest.mark.skipif(sys.platform == "win32", reason="signals")
    def test_ctrl_c_shows_what_had_come_and_exits_with_130(self, server):
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "pipeline", "chat", "tell me a story", "--base-url", server.base_url, "-m", server.model],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", env=environment(),
        )  # fmt: skip
        assert process.stdout is not None
        first = process.stdout.read(20)
        process.send_signal(signal.SIGINT)
        rest, complaint = process.communicate(timeout=LONG)
        assert (first + rest).startswith("📖 Once upon a time")
        assert process.returncode == 130
        assert "Traceback" not in complaint

    def test_a_reader_that_leaves_is_no_error(self, server):
        command = f'"{sys.executable}" -m pipeline chat story --base-url {server.base_url} -m {server.model} | head -c 40; exit "${{PIPESTATUS[0]}}"'
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, timeout=LONG, check=False, env=environment()
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr


class TestParse:
    def test_a_file_as_it_would_have_looked(self):
        done = rxchat("parse", str(RECORDED / "text.sse"))
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("It is sunny")

    def test_stdin_as_events(self):
        found = events_of(rxchat("parse", "--json", stdin=(RECORDED / "one_call.sse").read_text("utf-8")).stdout)
        assert {"Started", "ToolCallDelta", "Finish"} <= {event["event"] for event in found}

    def test_the_final_message(self):
        done = rxchat("parse", "-", "--message", stdin=(RECORDED / "two_calls.sse").read_text("utf-8"))
        (message,) = events_of(done.stdout)
        assert [call["arguments"] for call in message["tool_calls"]] == ['{"city":"Paris"}', '{"city":"Zürich"}']

    def test_a_cut_body_shows_what_is_there_and_exits_with_1(self):
        body = (RECORDED / "text.sse").read_bytes()
        done = rxchat("parse", "--message", stdin=body[: len(body) // 2].decode("utf-8", "ignore"))
        assert done.returncode == 1
        assert events_of(done.stdout)[0]["text"]
        assert "truncated" in done.stderr

    def test_a_pipe_with_a_name_is_a_file_and_a_folder_is_none(self, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writing = threading.Thread(target=lambda: pipe.write_bytes((RECORDED / "text.sse").read_bytes()))
        writing.start()
        done = rxchat("parse", str(pipe))
        writing.join()
        assert (done.returncode, done.stdout[:5]) == (0, "It is")
        done = rxchat("parse", str(tmp_path))
        assert (done.returncode, done.stderr) == (2, f"rxchat: {str(tmp_path)!r} is a folder, not a file\n")

    def test_what_is_no_event_stream_is_said(self):
        done = rxchat("parse", stdin="<html>Sign in</html>")
        assert done.returncode == 1
        assert "<html>" in done.stderr

    def test_data_that_cannot_be_decoded_can_be_left_out(self):
        body = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\ndata: junk\n\ndata: {"choices":[{"index":0,"delta":{"content":"b"}}]}\n\ndata: [DONE]\n\n'
        assert rxchat("parse", stdin=body).returncode == 1
        assert rxchat("parse", "--errors", "skip", stdin=body).stdout == "ab\n"


class TestDemo:
    def test_shows_reasoning_two_calls_their_results_and_the_answer(self):
        done = rxchat("demo")
        assert done.returncode == 0, done.stderr
        for part in ("scripted and tiny", "--gguf", "get_weather", "Zürich", "rain, 12 °C", "Paris is warmer"):
            assert part in done.stdout

    def test_as_json(self):
        found = events_of(rxchat("demo", "--json").stdout)
        assert [event["event"] for event in found if event["event"] == "RoundStarted"] == ["RoundStarted"] * 2
        assert found[-1]["event"] == "Conversation"


@pytest.fixture(scope="module")
def recorded(server, tmp_path_factory):
    path = tmp_path_factory.mktemp("recordings") / "run.jsonl"
    done = rxchat(
        "record", str(path), "weather", "--base-url", server.base_url, "-m", server.model, OPENAI_API_KEY="sk-marked-123456"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("It is sunny")
    return path


class TestRecordings:
    def test_a_recording_holds_the_reads_and_no_key(self, recorded):
        text = recorded.read_text("utf-8")
        assert '"kind":"read"' in text
        assert "sk-marked" not in text

    def test_it_can_be_parsed_as_a_body_can(self, recorded):
        assert rxchat("parse", str(recorded)).stdout == rxchat("replay", str(recorded)).stdout != ""

    def test_it_plays_as_it_came(self, recorded):
        assert rxchat("replay", str(recorded), "--speed", "0").stdout.startswith("It is sunny")

    def test_a_body_on_stdin_is_recorded(self, tmp_path):
        path = tmp_path / "body.jsonl"
        done = rxchat("record", str(path), stdin=(RECORDED / "text.sse").read_text("utf-8"))
        assert done.returncode == 0, done.stderr
        assert rxchat("replay", str(path), "--speed", "0").stdout == done.stdout

    def test_diff_says_where_two_part_and_exits_with_1(self, recorded):
        done = rxchat("diff", str(recorded), str(RECORDED / "one_call.sse"))
        assert done.returncode == 1
        assert "part" in done.stdout
        assert rxchat("diff", str(recorded), str(recorded)).returncode == 0

    def test_a_file_that_is_not_there_is_said(self):
        done = rxchat("replay", "no-such.jsonl")
        assert (done.returncode, "there is no file" in done.stderr) == (2, True)
