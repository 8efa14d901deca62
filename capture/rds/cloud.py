# SPDX-License-Identifier: Apache-2.0
"""Call Amazon's RDS and CloudWatch Logs through boto3, which finds the credentials; errors become sentences."""

import re
from collections.abc import Iterator
from typing import Any

from ...common.errors import RefusedError, TargetError
from ...common.text import printable

DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
NOT_FOUND = re.compile(r"NotFound|ResourceNotFoundException")
MAX_PAGES = 10_000
MAX_MESSAGE = 300


class GoneError(TargetError):
    """What was asked for does not exist: an instance, a group, a log file."""


class Cloud:
    """An account in a region. `call` may be used by several threads.

    Raises RefusedError where boto3 is not installed, or finds no region.
    """

    def __init__(self, region: str | None = None, profile: str | None = None, attempts: int = 8) -> None:
        try:
            import boto3
            import botocore.exceptions
            from botocore.config import Config
            from botocore.parsers import ResponseParserError
        except ImportError as error:
            raise RefusedError("capture rds needs boto3: pip install 'querytape[rds]'") from error
        self._errors, self._unreadable = botocore.exceptions, ResponseParserError
        retries = {"mode": "standard", "max_attempts": attempts}
        config = Config(retries=retries, connect_timeout=10, read_timeout=60, max_pool_connections=8)
        try:
            session = boto3.Session(region_name=region, profile_name=profile)
            self._clients = {name: session.client(name, config=config) for name in ("rds", "logs")}
        except (botocore.exceptions.BotoCoreError, ValueError) as error:
            raise RefusedError(f"boto3: {_text(error)}; --region, --profile and its own settings say it") from error

    def call(self, service: str, action: str, **parameters: Any) -> dict[str, Any]:
        """Return the answer to an action, named as boto3 names it.

        Raises RefusedError where the account may not, GoneError where there is no such thing, TargetError else.
        """
        what = f"{service}:{''.join(map(_capital, action.split('_')))}"
        try:
            answer = getattr(self._clients[service], action)(**parameters)
        except self._errors.ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code in DENIED:
                raise RefusedError(f"this account may not {what}: allow it in its policy ({_text(error)})") from error
            kind = GoneError if NOT_FOUND.search(code) else TargetError
            raise kind(f"{what}: {_text(error)}") from error
        except self._errors.NoCredentialsError as error:
            raise RefusedError("boto3 found no credentials: set them as for the aws command") from error
        except (self._errors.BotoCoreError, self._unreadable) as error:
            raise TargetError(f"{what}: {_text(error)}") from error
        if not isinstance(answer, dict):
            raise TargetError(f"{what}: no answer")
        return answer

    def pages(self, service: str, action: str, key: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Yield the entries under `key` of all pages of an answer. Raises as call(), TargetError for an endless one."""
        marker: dict[str, Any] = {}
        for _ in range(MAX_PAGES):
            answer = self.call(service, action, **parameters, **marker)
            yield from answer.get(key) or ()
            following = answer.get("Marker")
            if not following or marker == {"Marker": following}:
                return
            marker = {"Marker": following}
        raise TargetError(f"{action}: more than {MAX_PAGES:,} pages")


def _capital(word: str) -> str:
    """Return a word of an action's name as AWS writes it: `db` is DB."""
    return "DB" if word == "db" else word.capitalize()


def _text(error: Exception) -> str:
    return printable(str(error), MAX_MESSAGE)
