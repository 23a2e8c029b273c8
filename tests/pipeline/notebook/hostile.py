"""What a model may say to take over a page, and what an HTML page is made of."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html.parser import HTMLParser

ATTACKS = [
    "<script>window.hit=1</script>",
    "<img src=x onerror='window.hit=1'>",
    "<svg onload=window.hit=1><script>window.hit=1</script></svg>",
    "<a href='javascript:window.hit=1'>click</a>",
    "[click](javascript:window.hit=1)",
    "[click](JaVaScRiPt:window.hit=1)",
    "[click](data:text/html,<script>window.hit=1</script>)",
    "[click](vbscript:hit)",
    '[click](http://x/"onmouseover="window.hit=1)',
    '[click](http://x "\\" onmouseover=window.hit=1 x=\\"")',
    "![image](https://evil.example/pixel.png)",
    '![x](x" onerror="window.hit=1)',
    '<https://evil.example/"><script>window.hit=1</script>>',
    "<iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
    "<style>@import 'https://evil.example/x.css'</style>",
    "<div style='background:url(https://evil.example/y.png)'>",
    "</div></details></style></textarea></script><script>window.hit=1</script>",
    "<!--><script>window.hit=1</script-->",
    "```html\n</code></pre><script>window.hit=1</script>\n```",
    '```"><script>window.hit=1</script>\ncode\n```',
    "| a |\n|---|\n| <script>window.hit=1</script> |",
    "`<script>window.hit=1</script>`",
    "# <script>window.hit=1</script>",
    r"$\href{javascript:window.hit=1}{x}$ \(\href{javascript:window.hit=1}{x}\) $$\class{a}{b}$$ \begin{align}a\end{align}",
    "\x1b]0;title\x07\x1b[31mred\x1b[0m \x9b31m",
    "\u202egnp.exe\u2066abc\u2069",
    "&lt;script&gt;window.hit=1&lt;/script&gt; &#60;script&#62;",
    "\x00<scr\x00ipt>window.hit=1</script>",
]
"""Each is to be shown, and none obeyed."""


class Parts(HTMLParser):
    """The tags and attributes of a page, as a browser sees them, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.said.append(data)

    def handle_comment(self, data):
        raise AssertionError("there is a comment")

    @property
    def text(self) -> str:
        return "".join(self.said)


TAGS = {
    "a", "blockquote", "br", "code", "details", "div", "em", "h1", "hr", "li", "ol", "p", "pre", "s", "small", "span",
    "strong", "summary", "table", "td", "th", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"style", "href", "target", "rel", "start", "open"}


def assert_harmless(page: str) -> Parts:
    """Nothing but elements that neither run nor load anything, and links to pages and mails."""
    parts = Parts(page)
    for tag, attributes in parts.tags:
        assert tag in TAGS
        assert set(attributes) <= ATTRIBUTES
        assert "url(" not in (attributes.get("style") or "")
        if tag == "a":
            assert (attributes["href"] or "").lower().startswith(("http://", "https://", "mailto:"))
            assert "noopener" in (attributes["rel"] or "")
    for obeyed in "\x00\x07\x1b\x9b\u202e\u2066\u2069":
        assert obeyed not in page
    return parts


def assert_still(svg: str) -> ET.Element:
    """A picture that is sound, and in which nothing runs, loads or leads anywhere."""
    root = ET.fromstring(svg)
    for element in root.iter():
        assert element.tag.startswith("{http://www.w3.org/2000/svg}")
        assert element.tag.split("}")[1] not in {
            "script",
            "foreignObject",
            "a",
            "image",
            "use",
            "animate",
            "set",
            "iframe",
        }
        for name, value in element.attrib.items():
            assert not name.lower().startswith("on")
            assert "href" not in name
            assert "url(" not in value or "url(#" in value
        assert element.tag.split("}")[1] != "style" or not {"@", "<"} & set((element.text or "").replace("@media", ""))
    return root
