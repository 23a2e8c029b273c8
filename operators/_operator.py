"""How an operator is written, and how operators make a chain.

    @operator
    def doubled(out: Out[int]) -> Stage[int]:
        def on_next(value: int) -> None:
            out.on_next(value)
            out.on_next(value)

        yield on_next

It reads as a context manager does. What stands before the `yield` is set up afresh for each subscription; the function
yielded is called with each value and may call `out.on_next` any number of times; what stands after the `yield` runs when
the stream completes. An error from above is raised at the `yield`; a dispose closes the generator there, so `finally`
always runs. `out.on_completed()` ends the stream early.
"""

from __future__ import annotations

import functools
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, cast

from reactivex import Observable, abc
from reactivex.scheduler import CurrentThreadScheduler

from operators._leavable import Leavable
from operators._run import Kernel, Run, Step
from operators._spy import Spy, current_spy

A = TypeVar("A")
A_contra = TypeVar("A_contra", contravariant=True)
B = TypeVar("B")
C = TypeVar("C")
T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
P = ParamSpec("P")

Stage: TypeAlias = Generator[Callable[[A], None], None, None]
"""What a kernel is: a generator that yields its step once."""


class Out(Protocol[T_contra]):
    """Where an operator's values go."""

    def on_next(self, value: T_contra, /) -> None:
        """Hand a value on. When it returns, all that is below has seen the value."""

    def on_completed(self) -> None:
        """End the stream here and now: what is below completes, what is above is finished. Does not return."""

    def now(self) -> float:
        """The time in seconds by the subscription's scheduler; only differences mean anything."""
        ...

    def watch(self, spy: Spy, /) -> None:
        """Let a spy see what is subscribed above this chain; to be called before the yield."""


class Operator(Generic[A, B]):
    """A function from an `Observable[A]` to an `Observable[B]`, made of one stage or of several.

    >>> from operators import lines, sse
    >>> lines().then(sse())
    lines() | sse()
    """

    __slots__ = ("kernels", "names")

    def __init__(self, names: tuple[str, ...], kernels: tuple[Kernel | Detour[Any, Any], ...]) -> None:
        self.names, self.kernels = names, kernels

    def __call__(self, source: Observable[A]) -> Observable[B]:
        """The source with these stages below it; stages that meet are fused into one subscription."""
        if type(source) is Fused:
            return Fused(source.source, source.names + self.names, source.kernels + self.kernels)
        if not hasattr(source, "subscribe"):
            raise TypeError(
                f"{self!r} goes below an Observable, as in replay(body).pipe({self!r}); got {type(source).__name__}."
            )
        return Fused(source, self.names, self.kernels)

    def then(self, below: Operator[B, C]) -> Operator[A, C]:
        """This operator with another one below it, as one operator."""
        return Operator(self.names + below.names, self.kernels + below.kernels)

    def __repr__(self) -> str:
        return " | ".join(self.names)


class Forking(Out[B], Protocol[A_contra, B]):
    """Where the stage above a chain writes: past it, or, once that has begun, into it."""

    def begin(self, kernels: tuple[Kernel, ...], on_next: Callable[[B], None], /) -> Callable[[A_contra], None]:
        """Set the chain up, once. What comes out of it goes to `on_next`; gives what takes values into it."""
        ...


class Detour(ABC, Generic[A, B]):
    """A stage above a chain by which values can go past it. Whoever looks on is shown the chain alone."""

    def __init__(self, chain: Operator[A, B]) -> None:
        self.names, self.kernels = _alone(chain.names, chain.kernels)
        self.name = " | ".join(self.names)

    @abstractmethod
    def front(self, out: Forking[A, B]) -> Stage[A]:
        """The kernel above the chain, which is set up when this one calls `out.begin(self.kernels, …)`.

        The chain sees the end of the stream if it has begun by then, which this one can still do when it sees it.
        """

    def as_operator(self) -> Operator[A, B]:
        return Operator((self.name,), (self,))


_Found: TypeAlias = list[tuple[tuple[str, ...], tuple[T, ...]]]


def _alone(
    names: Iterable[str], kernels: Iterable[Kernel | Detour[Any, Any]]
) -> tuple[tuple[str, ...], tuple[Kernel, ...]]:
    """The stages, with the chains of detours in their places."""
    found: _Found[Kernel] = []
    for name, kernel in zip(names, kernels, strict=True):
        found.append((kernel.names, kernel.kernels) if isinstance(kernel, Detour) else ((name,), (kernel,)))
    return _flat(found)


def _with_detours(
    names: Iterable[str], kernels: Iterable[Kernel | Detour[Any, Any]]
) -> tuple[tuple[str, ...], tuple[Kernel | None, ...]]:
    """The stages, with what stands above a chain, and places for the chain."""
    found: _Found[Kernel | None] = []
    for name, kernel in zip(names, kernels, strict=True):
        if isinstance(kernel, Detour):
            found.append(((kernel.name, *kernel.names), (kernel.front, *(None for _ in kernel.kernels))))
        else:
            found.append(((name,), (kernel,)))
    return _flat(found)


def _flat(found: _Found[T]) -> tuple[tuple[str, ...], tuple[T, ...]]:
    return tuple(name for names, _ in found for name in names), tuple(one for _, kernels in found for one in kernels)


class Fused(Leavable[T]):
    """An Observable with stages of ours at its end. Another one of ours joins them; a stock operator ends the run."""

    def __init__(
        self, source: Observable[Any], names: tuple[str, ...], kernels: tuple[Kernel | Detour[Any, Any], ...]
    ) -> None:
        super().__init__()
        self.source, self.names, self.kernels = source, names, kernels

    def subscribe(
        self,
        on_next: abc.ObserverBase[T] | abc.OnNext[T] | None = None,
        on_error: abc.OnError | None = None,
        on_completed: abc.OnCompleted | None = None,
        *,
        scheduler: abc.SchedulerBase | None = None,
    ) -> Run:
        """Subscribe, as to any Observable. What the subscriber raises goes to the producer, never to `on_error`."""
        if hasattr(on_next, "on_next"):
            observer = cast(abc.ObserverBase[T], on_next)
            on_next, on_error, on_completed = observer.on_next, observer.on_error, observer.on_completed
        run = Run(on_error or raise_unheard, on_completed or _nothing, scheduler)
        stages = _with_detours if current_spy() is None else _alone
        start = functools.partial(
            run.start, self.source, *stages(self.names, self.kernels), cast(Step, on_next or _nothing)
        )
        on_trampoline(start)
        if run.raised is not None:  # by the subscriber, and a source that ran on the trampoline has eaten it
            raise run.raised
        return run


def on_trampoline(start: Callable[[], None]) -> None:
    """Subscribe under the current thread's trampoline: sources above that schedule on it begin when `start` is done."""
    trampoline = CurrentThreadScheduler.singleton()
    if trampoline.schedule_required():
        trampoline.schedule(lambda *_: start())
    else:
        start()


def operator(kernel: Callable[Concatenate[Out[B], P], Stage[A]]) -> Callable[P, Operator[A, B]]:
    """Make an operator of a kernel: a generator function that takes an `Out` and its options and yields its step.

    The result takes the options alone and returns an `Operator`, which goes into `.pipe(...)` like any other. Wrong
    options raise TypeError where they are written, not where the stream is subscribed.

    >>> import reactivex
    >>> @operator
    ... def running_total(out: Out[int], start: int = 0) -> Stage[int]:
    ...     total = start
    ...     def on_next(value: int) -> None:
    ...         nonlocal total
    ...         total += value
    ...         out.on_next(total)
    ...     yield on_next
    >>> reactivex.of(1, 2, 3).pipe(running_total(10)).subscribe(print) and None
    11
    13
    16
    """
    if not inspect.isgeneratorfunction(kernel):
        raise TypeError(f"an operator is a generator function that yields its step; {_name(kernel)} is none")
    whole = inspect.signature(kernel)
    if not any(parameter.kind in _PLACED for parameter in whole.parameters.values()):
        raise TypeError(f"an operator takes `out` first, to which its values go, as in def {_name(kernel)}(out)")
    options = whole.replace(
        parameters=list(whole.parameters.values())[1:],
        return_annotation=_operator_type(whole),
    )

    takes_stream = any(_MAY_BE_A_STREAM(str(option.annotation)) for option in options.parameters.values())

    @functools.wraps(kernel)
    def make(*args: P.args, **kwargs: P.kwargs) -> Operator[A, B]:
        if args and isinstance(args[0], Observable) and not takes_stream:
            raise TypeError(f"{_name(kernel)}() makes an operator and is none: was () forgotten?")
        try:
            options.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{_name(kernel)}{options.replace(return_annotation=options.empty)}: {error}") from None
        given = [repr(value) for value in args] + [f"{name}={value!r}" for name, value in kwargs.items()]
        started = functools.partial(kernel, **kwargs) if not args else lambda out: kernel(out, *args, **kwargs)
        return Operator((f"{_name(kernel)}({', '.join(given)})",), (started,))

    del make.__wrapped__  # or help() would show the kernel's own parameters
    make.__signature__ = options  # type: ignore[attr-defined]
    make.__annotations__ = {name: note for name, note in kernel.__annotations__.items() if name in options.parameters}
    return make


_MAY_BE_A_STREAM = re.compile(r"Observable|\bAny\b|\bobject\b|_empty|^\w?[A-Z]$").search
"""In the annotation of an option: it is one, or anything, or none is given."""
_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def _name(kernel: Callable[..., object]) -> str:
    return getattr(kernel, "__name__", repr(kernel))


def _operator_type(whole: inspect.Signature) -> Any:
    """`Operator[A, B]`, as text, from the annotations of a kernel that writes to Out[B] and is a Stage[A]."""
    out = next(iter(whole.parameters.values())).annotation
    found = [
        re.search(rf"\b{name}\[(.*)\]", str(note)) for name, note in (("Stage", whole.return_annotation), ("Out", out))
    ]
    return f"Operator[{found[0][1]}, {found[1][1]}]" if found[0] and found[1] else "Operator"


def raise_unheard(error: Exception) -> None:
    raise error


def _nothing(*_: object) -> None:
    pass
