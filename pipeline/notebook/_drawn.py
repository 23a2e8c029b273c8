"""A block of an answer → HTML, and plain text."""

from __future__ import annotations

import json

from pipeline.notebook._looks import (
    ARGUMENTS,
    CALL,
    FAILED,
    FOLD,
    HEAD,
    NOTE,
    RESULT,
    SUMMARY,
    THOUGHT,
    VOID,
    WARNING,
)
from pipeline.notebook._markdown import Markdown
from pipeline.notebook._safe import escaped
from pipeline.sinks._phrases import cut
from pipeline.sinks._visible import visible
from pipeline.web._blocks import Block

SHOWN = 20_000
"""Characters that are shown of the arguments of a call, and of a result."""
TAIL = 2_000
"""Characters that are shown of reasoning that still grows."""


class Drawn:
    """One block, as it is drawn: made again only when it has changed."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.gone = False  # it stays as it was drawn, in an output above
        self._markdown = Markdown() if block.kind == "text" else None
        self._read = 0
        self._revision = -1
        self._ended: bool | None = None
        self._html = ""

    def html(self, *, ended: bool) -> str:
        """The block; `ended` says that it will not grow any more."""
        if self._revision != self.block.revision or self._ended is not ended:
            self._revision, self._ended = self.block.revision, ended
            html = self._made(ended=ended)
            self._html = f"<div {VOID}>{html}</div>" if html and self.block.facts.get("void") else html
        return self._html

    def _made(self, *, ended: bool) -> str:
        if self._markdown is not None:
            self._feed(self._markdown)
            return self._markdown.html()
        facts, text = self.block.facts, self._text(ended=ended)
        match self.block.kind:
            case "reasoning":
                words = len(text.split())
                many = f", {words:,} word{'' if words == 1 else 's'}" if ended else " …"
                summary = f"<summary {SUMMARY}>Reasoning{many}</summary>"
                unfolded = "" if ended else " open"
                return f"<details {FOLD}{unfolded}>{summary}<div {THOUGHT}>{escaped(text)}</div></details>"
            case "call":
                name = escaped(facts["name"] or "…")
                return f"<div {CALL}><strong>{name}</strong>{self._state(ended=ended)}<div {ARGUMENTS}>{escaped(arguments(text))}</div></div>"
            case "result":
                failed = facts["error"] is not None
                said = facts["error"] if failed else text
                mark = "✗ " if failed else "✓ "
                return f"<div {FAILED if failed else RESULT}>{mark}<span {ARGUMENTS}>{escaped(cut(said, SHOWN))}</span></div>"
            case "round":
                return f"<div {HEAD}>{escaped(text)}</div>" if facts["round"] > 1 else ""
            case "retry":
                return f"<div {WARNING}>{escaped(text)}</div>"
            case "refusal":
                return f"<div {WARNING}>Refused: {escaped(text)}</div>"
            case _:
                return f"<div {NOTE}>{escaped(text)}</div>"

    def _state(self, *, ended: bool) -> str:
        complete = self.block.facts["complete"]
        return "" if complete else " <em>unfinished</em>" if ended else " …"

    def plain(self, *, ended: bool) -> str:
        """The block as text; what a terminal obeys is shown as symbols."""
        facts, text = self.block.facts, self._text(ended=ended)
        if self._markdown is not None:
            self._feed(self._markdown)
            said = self._markdown.source.strip("\n")
        else:
            match self.block.kind:
                case "reasoning":
                    said = "\n".join(f"┊ {line}" for line in text.strip().split("\n"))
                case "call":
                    unfinished = "  (unfinished)" if ended and not facts["complete"] else ""
                    said = f"→ {facts['name']}({text}){unfinished}"
                case "result":
                    failed = facts["error"]
                    said = f"{'←' if failed is None else '✗'} {cut(text if failed is None else failed, SHOWN)}"
                case "round":
                    said = f"— {text} —" if facts["round"] > 1 else ""
                case _:
                    said = f"[{text}]"
        return visible(said)

    def release(self) -> tuple[str, str]:
        """What is final of a text that still grows, as HTML and as text; it is left out from now on."""
        if self._markdown is None:
            return "", ""
        self._feed(self._markdown)
        html, source = self._markdown.release()
        self._revision = -1
        return html, visible(source.strip("\n"))

    def _feed(self, markdown: Markdown) -> None:
        new = self.block.text.part(self._read, len(self.block.text))
        self._read = len(self.block.text)
        markdown.add(new)

    def _text(self, *, ended: bool) -> str:
        """The text; of reasoning that still grows the end, which is what is read: it is drawn many times a second."""
        came = self.block.text
        if self.block.kind != "reasoning" or ended or len(came) <= TAIL:
            return came.part(0, len(came))
        return "…" + came.part(len(came) - TAIL, TAIL)


def arguments(text: str) -> str:
    r"""From the arguments of a call, whole or not, to what is shown: one a line, once there are several.

    >>> print(arguments('{"city": "Z\\u00fcrich", "days": 2}'))
    city: "Zürich"
    days: 2
    >>> arguments('{"city": "Z')
    '{"city": "Z'
    """
    if len(text) > SHOWN:
        return cut(text, SHOWN)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(found, dict) or not found:
        return text
    return "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in found.items())
