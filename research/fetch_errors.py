"""Why a page could not be read, and the one seam where errors of the layers below get these names (spec 04, Fetch).

FetchError(reason)
  <- BlockedAddress                      blocked_address
  <- Unreachable, protocol and network   http_status (no answer, `status` is None)
  <- ConnectError above TCP              tls
  <- any time-out                        timeout
  <- DecodingError, a body that breaks   decoding
  <- ExtractionError                     its own reason; a lost worker is decoding
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

import httpcore
import httpx

from data.extract import ExtractionError
from research.decoding import DecodingError
from research.transport import BlockedAddress, Unreachable

__all__ = ["FetchError", "FetchReason", "extraction_failed", "named", "named_body"]


class FetchReason(StrEnum):
    """Why a page could not be read."""

    TIMEOUT = "timeout"
    HTTP_STATUS = "http_status"
    """Another status than 200, or no HTTP answer at all (`status` is None then: no such host, refused, reset)."""
    BLOCKED_ADDRESS = "blocked_address"
    TOO_LARGE = "too_large"
    CONTENT_TYPE = "content_type"
    REDIRECT = "redirect"
    ROBOTS = "robots"
    DECODING = "decoding"
    EMPTY_EXTRACTION = "empty_extraction"
    TLS = "tls"


class FetchError(Exception):
    """A page that could not be read: `reason` for counting, the message for a person."""

    def __init__(
        self,
        reason: FetchReason,
        message: str,
        *,
        url: str = "",
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.url = url
        self.status = status
        self.retry_after = retry_after
        """Seconds the server asked to wait."""

    @property
    def retryable(self) -> bool:
        """Whether the same fetch may succeed later without anybody changing anything."""
        if self.reason is FetchReason.HTTP_STATUS:
            return self.status is None or self.status in {408, 425, 429} or self.status >= 500
        return self.reason is FetchReason.TIMEOUT


def extraction_failed(error: ExtractionError, url: str) -> FetchError:
    """Return the fetch's name of an extractor's failure; a worker that was lost could not decode the page."""
    reason = FetchReason.DECODING if error.reason == "crashed" else FetchReason(error.reason)
    return FetchError(reason, str(error), url=url)


@contextmanager
def named_body(url: str) -> Iterator[None]:
    """Name what goes wrong once the status is there: a body that breaks off or is not what it says."""
    try:
        yield
    except DecodingError as error:
        raise FetchError(FetchReason.DECODING, str(error), url=url) from error
    except (httpcore.ProtocolError, httpcore.NetworkError, httpx.TransportError, httpx.StreamError) as error:
        raise FetchError(FetchReason.DECODING, f"the body broke off: {error}", url=url) from error


@contextmanager
def named(url: str) -> Iterator[None]:
    """Translate what the layers below raise into FetchError: the one seam where errors get their names."""
    try:
        yield
    except FetchError:
        raise
    except (TimeoutError, httpcore.TimeoutException, httpx.TimeoutException) as error:
        raise FetchError(FetchReason.TIMEOUT, "the server took too long", url=url) from error
    except BlockedAddress as error:
        raise FetchError(FetchReason.BLOCKED_ADDRESS, str(error), url=url) from error
    except Unreachable as error:
        raise FetchError(FetchReason.HTTP_STATUS, str(error), url=url) from error
    except httpcore.ConnectError as error:  # the TCP connection stood, so this is the handshake above it
        raise FetchError(FetchReason.TLS, f"no TLS connection: {error or 'closed by the server'}", url=url) from error
    except httpx.InvalidURL as error:
        raise FetchError(FetchReason.BLOCKED_ADDRESS, f"the URL cannot be read: {error}", url=url) from error
    except (httpcore.ProtocolError, httpcore.NetworkError, httpx.HTTPError, ssl.SSLError, OSError) as error:
        raise FetchError(
            FetchReason.HTTP_STATUS, f"no HTTP answer: {error or type(error).__name__}", url=url
        ) from error
