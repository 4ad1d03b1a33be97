"""The port: a role is answered by its handler, and every failure is named."""

from __future__ import annotations

import threading

import pytest

from research.reasoner import (
    Answer,
    ExtractiveReasoner,
    HandlerFailed,
    InvalidAnswer,
    ReasonerError,
    Request,
    Role,
    UnknownRole,
    prompt_text,
)


class Question(Request):
    number: int


class Doubled(Answer):
    number: int


class Other(Answer):
    text: str


DOUBLE = Role("double", Question, Doubled, "research/prompts/absent.md")


async def test_a_failing_handler_is_a_reasoner_error_that_keeps_its_cause() -> None:
    def broken(request: Question) -> Doubled:
        raise KeyError("x")

    with pytest.raises(HandlerFailed) as caught:
        await ExtractiveReasoner({"double": broken}).ask(DOUBLE, Question(number=2))
    assert not caught.value.retryable
    assert caught.value.role == "double"
    assert isinstance(caught.value.__cause__, KeyError)


async def test_a_role_without_handler_is_named_with_what_is_served() -> None:
    with pytest.raises(UnknownRole, match="double: no extractive handler; served roles: other"):
        await ExtractiveReasoner({"other": lambda r: r}).ask(DOUBLE, Question(number=2))


async def test_an_answer_of_another_type_is_refused() -> None:
    with pytest.raises(InvalidAnswer, match="Other, not Doubled"):
        await ExtractiveReasoner({"double": lambda r: Other(text="4")}).ask(DOUBLE, Question(number=2))


async def test_a_request_of_another_type_is_refused() -> None:
    reasoner = ExtractiveReasoner({"double": lambda r: Doubled(number=0)})
    with pytest.raises(ReasonerError, match="expects a Question, got Other"):
        await reasoner.ask(DOUBLE, Other(text="2"))  # type: ignore[misc]


async def test_a_handler_answers_off_the_event_loop_thread() -> None:
    seen: list[int] = []

    def handler(request: Question) -> Doubled:
        seen.append(threading.get_ident())
        return Doubled(number=request.number * 2)

    answer = await ExtractiveReasoner({"double": handler}).ask(DOUBLE, Question(number=2))
    assert answer == Doubled(number=4)
    assert seen != [threading.get_ident()]


def test_a_missing_prompt_file_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        prompt_text(DOUBLE)
