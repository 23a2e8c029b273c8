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
_GARBLED = frozenset({"DecodingError", "ContentDecodingError", "DecodeError"})


def as_stream_error(error: Exception, phase: str | None = None) -> Exception:
    """The error that a client's exception stands for, with it as the cause; any other exception as it is.

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
        connecting = "ConnectTimeout" in names or "PoolTimeout" in names
        timeout = StreamTimeout(f"nothing came for too long: {said}")
        timeout.phase = "connect" if connecting else phase
        found = timeout
    elif names & _GARBLED:
        found = ProtocolError(f"the body cannot be decompressed: {said}")
    elif names & _LOST:
        found = ConnectionLost(f"the connection {'could not be made' if names & _UNMADE else 'broke'}: {said}")
    else:
        return error
    found.__cause__ = error
    return found
