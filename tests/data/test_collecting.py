"""The collector is held off while anybody asks for it, and never left off."""

from __future__ import annotations

import gc

import pytest

from data.collecting import let_go, no_collections


def test_it_is_off_until_the_last_one_leaves() -> None:
    assert gc.isenabled()
    first, second = no_collections(), no_collections()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_an_error_leaves_it_on_and_a_collector_that_was_off_stays_off() -> None:
    with pytest.raises(ValueError, match="inside"), no_collections():
        raise ValueError("inside")
    assert gc.isenabled()
    gc.disable()
    try:
        with no_collections():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_rows_go_to_the_last() -> None:
    rows = list(range(50_001))
    let_go(rows)
    assert rows == []
    let_go(rows)
