"""What clients raise, as the errors of the table."""

from __future__ import annotations

from operators import ConnectionLost, ProtocolError, StreamError, StreamTimeout

_TIMEOUT = frozenset({"TimeoutException", "TimeoutError", "Timeout", "ServerTimeoutError"})
_LOST = frozenset(
    {
        "TransportError",
        "ConnectionError",
        "ChunkedEncodingError",
        "ProtocolError",
        "HTTPException",
        "ClientError",
        "SSLError",
    }
)
_UNMADE = frozenset({"ConnectError", "NewConnectionError", "ConnectionRefusedError", "ClientConnectorError"})
_LIMITS = {"ConnectTimeout": "connect", "PoolTimeout": "pool", "WriteTimeout": "write"}
_GARBLED = frozenset({"DecodingError", "ContentDecodingError", "DecodeError"})


def as_stream_error(error: Exception, phase: str | None = None, idle: float | None = None) -> Exception:
    """The error that a client's exception stands for, with it as the cause; any other exception as it is.

    `idle` is the limit in seconds that a read between two others ran into, if it ran into one.

    Known by the names of its classes, so that it is the same for httpx, httpx2, requests, aiohttp and the standard
    library, and none of them needs to be imported.

    >>> as_stream_error(ConnectionResetError("reset by peer"))
    ConnectionLost('the connection broke: reset by peer')
    >>> as_stream_error(KeyError("mine"))
    KeyError('mine')
    """
    if isinstance(error, StreamError):
        return error
    inner = (
        error.args[0] if error.args and isinstance(error.args[0], Exception) else error
    )  # requests wraps urllib3's so
    names = {kind.__name__ for one in (error, inner) for kind in type(one).__mro__}
    said = str(error) or type(error).__name__
    found: StreamError
    if names & _TIMEOUT:
        limit = next((limit for name, limit in _LIMITS.items() if name in names), "read")
        phase = "connect" if limit in {"connect", "pool"} else phase
        seconds = _seconds(error, limit) or (idle if phase == "idle" else None)
        found = timeout = StreamTimeout(_timed_out(limit, phase, seconds, said))
        timeout.phase = phase
    elif names & _GARBLED:
        found = ProtocolError(f"the body cannot be decompressed: {said}")
    elif names & _LOST:
        found = ConnectionLost(f"the connection {'could not be made' if names & _UNMADE else 'broke'}: {said}")
    else:
        return error
    found.__cause__ = error
    return found


def _timed_out(limit: str, phase: str | None, seconds: float | None, said: str) -> str:
    if phase == "connect":
        what = "no connection was free" if limit == "pool" else "no connection was made"
    else:
        what = "no response came" if phase == "first" else "nothing came"
    return f"{what} for {seconds:g} s" if seconds is not None else f"{what} for too long: {said}"


def _seconds(error: Exception, limit: str) -> float | None:
    """The limit that was reached, from the request that an error of httpx carries, where it carries one."""
    extensions = getattr(getattr(error, "_request", None), "extensions", None) or {}
    found = extensions.get("timeout", {}).get(limit)
    return found if isinstance(found, (int, float)) else None
