"""The one port through which language is judged or written (spec 01, "The reasoner").

A `Role` names what is asked, with the pydantic types of its request and answer and the prompt file that a
model would be given. Each package declares its roles beside the work they serve (`research.roles` here),
and writes a deterministic handler for each; `brain.runtime` hands the mapping role name → handler to
`ExtractiveReasoner`, or builds the model reasoner of `brain.models` instead. Nobody changes from one to
the other at run time: a reasoner that fails is an error of that run.

Errors:

    ReasonerError               what every `ask` may raise; `retryable` says whether later may help
    ├── ReasonerUnavailable     nobody answered: connection, time-out, overload (retryable)
    ├── InvalidAnswer           an answer that does not keep the role's schema (retryable)
    ├── HandlerFailed           a deterministic handler raised: the same request will fail again
    └── UnknownRole             the reasoner serves no such role: a fault of the wiring
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

__all__ = [
    "Answer",
    "ExtractiveReasoner",
    "Handler",
    "HandlerFailed",
    "InvalidAnswer",
    "Reasoner",
    "ReasonerError",
    "ReasonerUnavailable",
    "Request",
    "Role",
    "UnknownRole",
    "prompt_text",
]


class Request(BaseModel):
    """What a role is asked. Outside text stands in fields of its own, never inside an instruction."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Answer(BaseModel):
    """What a role answers; it can choose only among what it was shown (spec 10)."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Q = TypeVar("Q", bound=BaseModel)
A = TypeVar("A", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Role(Generic[Q, A]):
    """One kind of question. `prompt` is a resource such as `research/prompts/relation_plan.md`."""

    name: str
    request_type: type[Q]
    answer_type: type[A]
    prompt: str
    temperature: float = 0.05
    """Deciding roles keep 0.05, the author has 0.3, the corrector 0.5 (spec 01)."""


class ReasonerError(Exception):
    """A question that got no valid answer. `role` names it; `retryable` says whether asking later makes sense."""

    retryable: ClassVar[bool] = False

    def __init__(self, role: str, message: str) -> None:
        super().__init__(f"{role}: {message}")
        self.role = role
        self.message = message


class ReasonerUnavailable(ReasonerError):
    retryable = True


class InvalidAnswer(ReasonerError):
    retryable = True


class HandlerFailed(ReasonerError):
    pass


class UnknownRole(ReasonerError):
    pass


class Reasoner(Protocol):
    """Who judges and writes. `identity` enters fingerprints: another identity may decide otherwise."""

    @property
    def identity(self) -> str: ...

    async def ask(self, role: Role[Q, A], request: Q) -> A:
        """Return the answer to `request`, of the role's answer type; raise ReasonerError, nothing else."""
        ...


Handler = Callable[[Any], BaseModel]
"""A deterministic judge of one role: takes its request, returns its answer, holds no state between calls."""


class ExtractiveReasoner:
    """Serves every role with its deterministic handler; needs no model and no network.

    Handlers run in a worker thread, because some embed text: the event loop goes on meanwhile.
    """

    def __init__(self, handlers: Mapping[str, Handler], *, identity: str = "extractive/1") -> None:
        self.identity = identity
        self._handlers = dict(handlers)

    async def ask(self, role: Role[Q, A], request: Q) -> A:
        handler = self._handlers.get(role.name)
        if handler is None:
            served = ", ".join(sorted(self._handlers)) or "none"
            raise UnknownRole(role.name, f"no extractive handler; served roles: {served}")
        if not isinstance(request, role.request_type):
            expected = role.request_type.__name__
            raise HandlerFailed(role.name, f"expects a {expected}, got {type(request).__name__}")
        try:
            answer = await asyncio.to_thread(handler, request)
        except ReasonerError:
            raise
        except Exception as error:
            raise HandlerFailed(role.name, f"{type(error).__name__}: {error}") from error
        if not isinstance(answer, role.answer_type):
            expected = role.answer_type.__name__
            raise InvalidAnswer(role.name, f"the handler returned {type(answer).__name__}, not {expected}")
        return answer


def prompt_text(role: Role[Any, Any]) -> str:
    """Return the role's prompt template; raise FileNotFoundError where the resource is missing."""
    package, _, path = role.prompt.partition("/")
    return files(package).joinpath(*path.split("/")).read_text(encoding="utf-8")
