"""Text of a model, as HTML of a notebook may get it: nothing in it runs, loads or is typeset; all of it is seen."""

from __future__ import annotations

import html
import re

from pipeline.sinks._visible import visible

_MATH = re.compile(r"[$\\]")


def escaped(text: str) -> str:
    r"""From any text to HTML that shows just that text.

    A notebook typesets TeX wherever it finds it in an output, and TeX has links and macros of its own: so each `$` and each
    backslash stands in an element, where no delimiter is found.

    >>> escaped("<b>\x1b[1m"), escaped(r"$\x$")
    ('&lt;b&gt;␛[1m', '<span>$</span><span>\\</span>x<span>$</span>')
    """
    return _MATH.sub(r"<span>\g<0></span>", html.escape(visible(text)))


def address(url: str) -> str | None:
    """From an address to the same as the value of a `href`; None if following it does more than open a page or a mail.

    >>> address("https://example.org/?a&b"), address("JavaScript:alert(1)"), address("other.ipynb")
    ('https://example.org/?a&amp;b', None, None)
    """
    return html.escape(visible(url)) if re.match(r"(?:https?://|mailto:)[^\s]", url, re.IGNORECASE) else None
