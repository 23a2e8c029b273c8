"""Write the tiny chat model of the embedded server: `python -m pipeline.embedded._tiny OUT.gguf[.xz]`.

The plan: a llama of one layer whose weights are written by hand, to say what a reader of the demo would expect.

- The model is as wide as its vocabulary and the embedding is the identity: what flows through says which token it is.
- The output matrix is then a table of logits, `next token given this one`: a Markov chain.
- The layer's one attention head is its memory. It looks for the nearest *intent* (a marker token that the chat template
  puts at the end of the prompt, such as `<|weather|>`) and adds it to the flow; the table has a column for it.
- The feed-forward part adds nothing.

So a sentence is a chain of tokens in which none occurs twice, the chat template decides which sentence is begun, and a
tool call is whatever the server's grammar lets through of a few habits (`"` is followed by `P`, `P` by `a`, ...).
"""

from __future__ import annotations

import json
import lzma
import re
import sys
import tempfile
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.embedded._server import TINY

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# ---------------------------------------------------------------------------------------------------------- vocabulary

END_OF_TEXT, TURN, END_OF_TURN, THINK_FIRST = "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|think|>"
THINK, END_THINK, TOOL_CALL, END_TOOL_CALL = "<think>", "</think>", "<tool_call>", "</tool_call>"

# What the prompt may end in. No name may look like an end-of-call mark (`<|call|>`): llama.cpp would stop there.
HELLO, WEATHER, BONJOUR, HALLO, KONNICHIWA, STORY = ANSWERS = tuple(
    f"<|{name}|>" for name in ("hello", "weather", "bonjour", "hallo", "konnichiwa", "story")
)
ONE_TOOL, TWO_TOOLS = TOOLS_WANTED = ("<|one_tool|>", "<|two_tools|>")
DONE, ONE_RESULT, TWO_RESULTS = RESULTS = ("<|done|>", "<|one_result|>", "<|two_results|>")
INTENTS = (*ANSWERS, *TOOLS_WANTED, *RESULTS)

# What stands between two calls. Remembered as an intent is, it is how the second call knows that it is the second.
NEXT_CALL = b"}, {"

CONTROL = (END_OF_TEXT, TURN, END_OF_TURN, THINK_FIRST, *INTENTS)
VISIBLE = (THINK, END_THINK, TOOL_CALL, END_TOOL_CALL)


class Mind:
    """Tokens, and the two tables of logits the model is made of.

    Every byte is a token of its own, so that any prompt can be read and any JSON written.
    """

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.follows: dict[tuple[int, int], float] = {}
        self.recalls: dict[tuple[int, int], float] = {}
        for byte in range(256):
            self.piece(bytes([byte]))
        for name in (*CONTROL, *VISIBLE):
            self.ids[name] = len(self.ids)
        self.remembered = [*(self.ids[name] for name in INTENTS), self.piece(NEXT_CALL)]

    def piece(self, text: bytes) -> int:
        """Bytes → the id of the token that stands for them, made when it is new."""
        return self.ids.setdefault(text.decode("latin-1").translate(_SPELLING), len(self.ids))

    def follow(self, current: int, following: int, logit: float) -> None:
        """After `current` comes `following`."""
        self.follows[current, following] = logit

    def recall(self, remembered: int, following: int, logit: float) -> None:
        """While the token `remembered` is the nearest of its kind, `following` gains `logit`, whatever comes before."""
        self.recalls[self.remembered.index(remembered), following] = logit


# GPT-2's spelling of bytes as characters: those that cannot be printed move above U+0100.
_PRINTABLE = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_SPELLING = {byte: 0x100 + n for n, byte in enumerate(b for b in range(256) if b not in _PRINTABLE)}

# Logits. What is CERTAIN beats everything by so much that no usual temperature strays. Where several are LIKELY, a
# VARIANT less leaves a choice to temperature and a HABIT less leaves none.
CERTAIN, LIKELY = 20.0, 10.0
VARIANT, HABIT = 1.0, 5.0
BYTE, ODD = -6.0, -20.0

# -------------------------------------------------------------------------------------------------------------- chains

# {a|b} offers variants: the first at temperature 0, any of them above. Words may come twice; tokens are cut to differ.
SENTENCES = {
    HELLO: (
        "{Hello|Hi}! I am a tiny model of{ one layer| a few words}, yet a real server sends you each byte of this 👋. "
        "Ask me about the weather in Paris, à Paris, in Zürich oder in 東京."
    ),
    WEATHER: (
        "It is{ sunny| mild| bright} in Paris today, about 18 °C 🌤,{ perfect for| just right for} un café en terrasse."
    ),
    BONJOUR: (
        "Bonjour ! À Paris il fait{ beau| doux}, environ 18 degrés 🥐 :{ c'est l'idéal| une belle journée} pour flâner."
    ),
    HALLO: "Hallo! In Zürich{ regnet es| ist es kühl} bei 12 Grad ☔, also{ nimm lieber| vergiss nicht} einen Schirm.",
    KONNICHIWA: "こんにちは。東京の{天気は晴れ|空は青く}、気温は２０度です🌸。",
    DONE: "Done: the tool has{ answered| spoken}, and all is well ✅.",
    ONE_RESULT: "I looked it up 🔎: Paris is sunny{ at| with} 18 °C, so no umbrella needed.{ Voilà!| Enjoy it!}",
    TWO_RESULTS: "Paris is warmer: 18 °C and sun there, but 12 °C and rain in Zürich 🌧.{ Bon voyage!| Gute Reise!}",
}
REASONING = "A short question;{ thus| hence} a short answer is{ best| enough}. Let me see 🤔 … yes, that will do."
# begins inside a character, which is where the server leaves out the chunk with the role
TALE = "📖{ Once upon a time| Long ago} the Seine told the clouds a story:"
TALE_WITHOUT_END = "{ the rain| a breeze} came to Paris,{ then the sun| later a rainbow 🌈} came out, and once more"

_WORD = re.compile(r"[\U00010000-\U0010FFFF]|\s*[\u3000-\uFFEF]|\s*[^\s\u3000-\uFFEF\U00010000-\U0010FFFF]+|\s+")


def cut(text: str, taken: set[bytes]) -> list[bytes]:
    """Text → token texts, none of them `taken` and each added to it: words, and of an emoji its bytes.

    A word that is taken is joined to what comes after it, until the whole is new. That is what lets a chain say a word
    twice, and it cuts emoji inside their UTF-8 sequence at a new place each time.
    Raises ValueError when the end of the text is taken too: the sentence has to be put in other words.
    """
    parts: list[bytes] = []
    for word in _WORD.findall(text):
        raw = word.encode()
        parts += [raw[i : i + 1] for i in range(len(raw))] if word > "\U00010000" else [raw]
    pieces: list[bytes] = []
    piece = b""
    for part in parts:
        piece += part
        # a lone ASCII byte is left to the JSON habits
        if piece not in taken and (len(piece) > 1 or piece > b"\x7f"):
            taken.add(piece)
            pieces.append(piece)
            piece = b""
    if piece:
        piece = b"".join((*pieces[-1:], piece))
        if piece in taken:
            raise ValueError(f"{text!r} ends in {piece!r}, which another chain has used")
        taken.add(piece)
        pieces[-1:] = [piece]
    return pieces


def chain(mind: Mind, taken: set[bytes], sentence: str) -> tuple[list[int], list[int]]:
    """A sentence with its variants → the tokens it may begin with and those it may end in, linked inside `mind`."""
    firsts: list[int] = []
    ends: list[int] = []
    for slot in re.split(r"\{(.*?)\}", sentence):
        if not slot:
            continue
        starts, stops = [], []
        for variant in slot.split("|"):
            ids = [mind.piece(piece) for piece in cut(variant, taken)]
            for current, following in pairwise(ids):
                mind.follow(current, following, CERTAIN)
            starts.append(ids[0])
            stops.append(ids[-1])
        for end in ends:
            link(mind, end, starts)
        firsts, ends = firsts or starts, stops
    return firsts, ends


def link(mind: Mind, current: int, variants: Iterable[int]) -> None:
    """After `current` comes one of `variants`, the first most likely."""
    for n, following in enumerate(variants):
        mind.follow(current, following, CERTAIN - n * VARIANT)


def speech(mind: Mind) -> None:
    """All that is said in words: an answer for each intent, reasoning before any of them, a story without end."""
    taken: set[bytes] = set()
    ids = mind.ids

    def begin(intent: str, firsts: list[int]) -> None:
        link(mind, ids[intent], firsts)
        for n, first in enumerate(firsts):
            # after the reasoning any sentence could begin; memory tells which
            mind.follow(ids[END_THINK], first, LIKELY - n * VARIANT)
            mind.recall(ids[intent], first, HABIT)

    for intent, sentence in SENTENCES.items():
        firsts, ends = chain(mind, taken, sentence)
        begin(intent, firsts)
        for end in ends:
            link(mind, end, [ids[END_OF_TURN]])

    firsts, ends = chain(mind, taken, TALE)
    again, more = chain(mind, taken, TALE_WITHOUT_END)
    begin(STORY, firsts)
    for end in (*ends, *more):
        link(mind, end, again)

    link(mind, ids[THINK_FIRST], [ids[THINK]])
    firsts, ends = chain(mind, taken, REASONING)
    link(mind, ids[THINK], firsts)
    for end in ends:
        link(mind, end, [ids[END_THINK]])
    for intent in (ONE_TOOL, TWO_TOOLS):
        begin(intent, [ids[TOOL_CALL]])


# --------------------------------------------------------------------------------------------------- JSON under grammar

# After the token on the left come those on the right, the likeliest first, as far as the grammar allows them. One row
# serves every place where its token may stand: `"` begins a string with Paris where a string may begin, and is followed
# by `:` or `}` where one has just ended. Where none of the habits is let through, the first letter in the alphabet is.
HABITS: dict[str, tuple[str, ...]] = {
    "{": ('"', "}"),
    "[": ('"', "3", "{", "]"),
    ":": ('"', "3", "{", "["),
    ",": ('"', "3", "{"),
    "}": ("}", "]", END_TOOL_CALL, END_OF_TURN, ","),
    "]": ("}", "]", ","),
    "3": ("}", "]", ","),
    "e": ("}", "]", ","),
    '"': (":", "}", "]", ","),
}

# Small letters before all else that is printed: a forced choice should not be filled with blanks or signs.
ALPHABET = sorted(range(0x21, 0x7F), key=lambda byte: (not chr(byte).islower(), byte))

# What strings say, token by token: the usual, its variant, and what the second call says, which is cut inside its ü.
WORDS: dict[tuple[bytes, ...], float] = {
    (b"P", b"a", b"r", b"i", b"s"): CERTAIN,
    (b"R", b"ome"): CERTAIN - VARIANT,
    (b"Z", b"\xc3", b"\xbc", b"rich"): CERTAIN - HABIT,
}


def calls(mind: Mind) -> None:
    """Tool calls: how arguments are filled in, that two calls differ, and when the calling ends."""
    ids, piece = mind.ids, mind.piece
    quote, close, another = piece(b'"'), piece(b"}"), piece(NEXT_CALL)

    for byte in range(256):
        mind.follow(byte, quote, 0.0)  # whatever a string began with, it ends soon
    for current, habits in HABITS.items():
        for n, habit in enumerate(habits):
            mind.follow(ids[current], ids[habit], LIKELY - n * HABIT)
    for word, logit in WORDS.items():
        letters = [piece(letter) for letter in word]
        mind.follow(quote, letters[0], logit)
        for letter, following in pairwise([*letters, quote]):
            mind.follow(letter, following, CERTAIN)

    for start in (*ANSWERS, *RESULTS, END_THINK):
        mind.follow(ids[start], piece(b"{"), LIKELY - HABIT)  # where `response_format` wants JSON and no words
    link(mind, ids[TOOL_CALL], [piece(b"\n")])
    link(mind, piece(b"\n"), [piece(b"{")])
    link(mind, ids[END_TOOL_CALL], [ids[END_OF_TURN]])

    # The second call is parted from the first by a comma and not by tags, since only that is what the grammar of a
    # request with `parallel_tool_calls: false` does not let through.
    mind.follow(close, another, LIKELY - HABIT)
    mind.recall(ids[TWO_TOOLS], another, 2 * HABIT)
    link(mind, another, [quote])
    mind.recall(another, piece(b"Z"), 2 * HABIT)


# -------------------------------------------------------------------------------------------------------- chat template

# A word in the user's last message → what is said about it; of several the last row wins.
CUES = {
    "weather": WEATHER,
    "bonjour": BONJOUR,
    "météo": BONJOUR,
    "hallo": HALLO,
    "wetter": HALLO,
    "こんにちは": KONNICHIWA,
    "天気": KONNICHIWA,
    "story": STORY,
}

TOOLS = """\
{%- if tools -%}
<|im_start|>system
You may call these functions:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
Answer a call as
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif -%}
"""

# The server learns from this part how reasoning and calls are written.
MESSAGES = """\
{%- for message in messages -%}
{%- if message.role == 'tool' -%}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response>' -}}
{%- else -%}
{{- '<|im_start|>' + message.role + '\\n' -}}
{%- if message.reasoning_content -%}
{{- '<think>' + message.reasoning_content + '</think>' -}}
{%- endif -%}
{%- if message.content -%}
{{- message.content -}}
{%- endif -%}
{%- for call in message.tool_calls or [] -%}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' -}}
{{- call.function.arguments if call.function.arguments is string else call.function.arguments | tojson -}}
{{- '}\\n</tool_call>' -}}
{%- endfor -%}
{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- endfor -%}
"""

# Two things are asked for where the message says so: "Compare Paris and Zürich".
INTENT = """\
{%- if add_generation_prompt -%}
{%- set found = namespace(ask='', intent='<|hello|>', results=0) -%}
{%- for message in messages -%}
{%- if message.role == 'user' and message.content is string -%}
{%- set found.ask = message.content | lower -%}
{%- endif -%}
{%- set found.results = found.results + 1 if message.role == 'tool' else 0 -%}
{%- endfor -%}
{%- if found.results -%}
{%- set found.intent = '<|done|>' -%}
{%- if 'weather' in found.ask -%}
{%- set found.intent = '<|one_result|>' if found.results == 1 else '<|two_results|>' -%}
{%- endif -%}
{%- elif tools -%}
{%- set found.intent = '<|two_tools|>' if 'compare' in found.ask or ' and ' in found.ask else '<|one_tool|>' -%}
{%- else -%}
{%- for word, intent in CUES -%}
{%- if word in found.ask -%}{%- set found.intent = intent -%}{%- endif -%}
{%- endfor -%}
{%- endif -%}
{{- '<|im_start|>assistant\\n' + found.intent -}}
{%- if enable_thinking is defined and enable_thinking -%}{{- '<|think|>' -}}{%- endif -%}
{%- endif -%}
""".replace("CUES", json.dumps(list(CUES.items()), ensure_ascii=False))

TEMPLATE = TOOLS + MESSAGES + INTENT

# -------------------------------------------------------------------------------------------------------------- weights

HEAD = 32
# The head's slowest pair of RoPE dimensions turns by 0.00018 rad a token, and keys lie 45° behind queries. So a score
# falls with the distance as cos(π/4 + x) does, and the nearest intent wins, up to a distance of 4400 tokens.
REAL, IMAGINARY = HEAD - 2, HEAD - 1
REACH = 200.0  # loud enough that the softmax hears only one, small enough for half precision


def tensors(mind: Mind) -> dict[str, NDArray[np.floating]]:
    """The mind → llama's tensors by name."""
    import numpy as np

    tokens, remembered = len(mind.ids), len(mind.remembered)
    width = -(-(tokens + remembered) // HEAD) * HEAD
    memory = range(tokens, tokens + remembered)

    output = np.full((width, width), ODD, np.float16)
    output[ALPHABET, :] = (BYTE - np.arange(len(ALPHABET)) / 100)[:, None]
    output[:, memory] = 0
    for (current, following), logit in mind.follows.items():
        output[following, current] = logit
    for (intent, following), logit in mind.recalls.items():
        output[following, tokens + intent] = logit

    query, key, value = (np.zeros((HEAD, width), np.float16) for _ in range(3))
    query[REAL, :] = REACH
    key[REAL, mind.remembered], key[IMAGINARY, mind.remembered] = REACH * np.cos(np.pi / 4), -REACH * np.sin(np.pi / 4)
    value[range(remembered), mind.remembered] = 1
    recall = np.zeros((width, HEAD), np.float16)
    recall[memory, range(remembered)] = 1

    # RMS norm divides by the root of how many coordinates are one, over the width; these weights undo that:
    # one coordinate before the layer (the token), two after it (the token and the intent).
    one, two = (np.full(width, np.sqrt(ones / width), np.float32) for ones in (1, 2))
    nothing = np.zeros((HEAD, width), np.float16)
    return {
        "token_embd.weight": np.eye(width, dtype=np.float16),
        "output_norm.weight": two,
        "output.weight": output,
        "blk.0.attn_norm.weight": one,
        "blk.0.attn_q.weight": query,
        "blk.0.attn_k.weight": key,
        "blk.0.attn_v.weight": value,
        "blk.0.attn_output.weight": recall,
        "blk.0.ffn_norm.weight": one,
        "blk.0.ffn_gate.weight": nothing,
        "blk.0.ffn_up.weight": nothing,
        "blk.0.ffn_down.weight": nothing.T,
    }


def write(path: Path) -> None:
    """Nothing → the model as a GGUF file at `path`, the same bytes every time.

    Raises ModuleNotFoundError, naming the extra, where gguf or numpy is missing.
    """
    try:
        import gguf
        import numpy as np
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(f'{missing.name} is needed to write the model: pip install "rxchat[test]"') from None

    mind = Mind()
    speech(mind)
    calls(mind)
    mind.piece(b"he")  # what the one merge makes
    weights = tensors(mind)
    width = len(weights["output_norm.weight"])
    spare = [f"<|spare_{n}|>" for n in range(width - len(mind.ids))]
    kinds = {
        **dict.fromkeys(CONTROL, gguf.TokenType.CONTROL),
        **dict.fromkeys(VISIBLE, gguf.TokenType.USER_DEFINED),
        **dict.fromkeys(spare, gguf.TokenType.UNUSED),
    }
    names = [*mind.ids, *spare]

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(TINY)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_context_length(32768)
    writer.add_block_count(1)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(HEAD)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_rope_dimension_count(HEAD)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(width)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(names)
    writer.add_token_types([kinds.get(name, gguf.TokenType.NORMAL) for name in names])
    writer.add_token_merges(["h e"])  # llama.cpp wants at least one
    writer.add_bos_token_id(mind.ids[END_OF_TEXT])
    writer.add_eos_token_id(mind.ids[END_OF_TURN])
    writer.add_pad_token_id(mind.ids[END_OF_TEXT])
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    for name, weight in weights.items():
        writer.add_tensor(name, np.ascontiguousarray(weight))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(arguments: list[str]) -> None:
    """`OUT.gguf` or `OUT.gguf.xz` → that file."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m pipeline.embedded._tiny OUT.gguf[.xz]")
    out = Path(arguments[0])
    if out.suffix != ".xz":
        write(out)
        return
    with tempfile.TemporaryDirectory() as directory:
        plain = Path(directory, "tiny.gguf")
        write(plain)
        out.write_bytes(lzma.compress(plain.read_bytes(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main(sys.argv[1:])
