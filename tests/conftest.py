# SPDX-License-Identifier: Apache-2.0
"""Fixtures that many tests share: private servers, and samples of real logs in a folder next to the checkout. A test is
skipped if this machine lacks something that the test needs. The last lines of the test run list each reason. The marks
of a test decide its tier (docs/testing.md). A test without the mark `server` or `browser` cannot start servers or a
browser.
"""

import gc
import os
import signal
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pymysql
import pytest
from querytape.common.signals import ENDING
from querytape.servers.programs import find_program, missing_sentence
from querytape.servers.sandbox import Server, start_server

gc.disable()  # disabled during collection, because it scans permanent objects again and again
CHECKOUT = Path(__file__).resolve().parent.parent
WHOLE = CHECKOUT / "tests" / "whole"
SAMPLES = Path(os.environ.get("QT_SAMPLES") or CHECKOUT.parent / "shared" / "samples")
KINDS = {"mariadb": "mariadb", "mysql80": "mysql-8.0"}
NOT_TESTED = "not tested: "
# STARTED: a program, and the mark of the tests that may start it. GIVEN: a fixture, and the mark of the tests that use
# it.
STARTED = {
    "mariadbd": "server",
    "mysqld": "server",
    "versitygw": "server",
    "chromium": "browser",
    "google-chrome": "browser",
}
GIVEN = {"_shared_servers": "server", "server_factory": "server", "built": "long"}
OTHER_CONNECTIONS = (
    "SELECT id FROM information_schema.processlist WHERE id <> connection_id() AND command <> 'Daemon'"
    " AND user NOT IN ('system user', 'event_scheduler', 'unauthenticated user')"
)

ServerFactory = Callable[..., Server]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the marks of its fixtures. All tests of tests/whole get the mark `server`.

    Files of tests/whole run first. A long test that starts last would keep the other workers waiting.
    """
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        marks = {GIVEN[name] for name in fixtures if name in GIVEN}
        if "samples" in fixtures and not SAMPLES.is_dir():
            marks.add("long")  # the long tier reports missing samples
        if item.path.is_relative_to(WHOLE):
            marks.add("server")
        for mark in marks:
            item.add_marker(mark)
    _sample(items)
    items.sort(key=lambda item: not item.path.is_relative_to(WHOLE))


def pytest_collection_finish() -> None:
    """Exclude permanent objects from garbage collection, which would otherwise take a tenth of the CPU time."""
    gc.collect()
    gc.freeze()
    gc.enable()


def _sample(items: list[pytest.Item]) -> None:
    """Keep one of every six cases of tests marked `sampled`. Mark the other cases as long. The name of the test decides
    which cases stay. About half of the two-server tests therefore run on each server kind.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("long"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for name, of_test in cases.items():
        step = min(6, len(of_test))
        first = zlib.crc32(name.encode()) % step
        for at, item in enumerate(of_test):
            if at % step != first:
                item.add_marker("long")


class OnlyWithMark:
    """An audit hook that keeps unmarked tests from starting servers or browsers. These would slow down the fast tier."""

    def __init__(self) -> None:
        self.item: pytest.Item | None = None
        sys.addaudithook(self.look)

    def look(self, event: str, args: tuple[Any, ...]) -> None:
        """Raise AssertionError if a test starts a server or browser without its mark."""
        if event != "subprocess.Popen" or self.item is None or not isinstance(args[1], list):
            return
        for program in (Path(os.fsdecode(word)).name for word in args[1]):
            mark = STARTED.get(program)
            if mark is not None and self.item.get_closest_marker(mark) is None:
                raise AssertionError(f"a test that starts {program} has the mark {mark}")


only_with_mark = OnlyWithMark()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Record which test begins."""
    only_with_mark.item = item


@pytest.fixture(scope="session", autouse=True)
def _signals() -> None:
    """Restore the default signal handlers. If a shell starts the tests with `&`, SIGINT is ignored, and nohup ignores
    SIGHUP.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _signals_stay(_signals: None) -> Iterator[None]:
    """Fail a test that leaves a signal handler changed. Otherwise, processes of later tests would ignore the signal."""
    before = {number: signal.getsignal(number) for number in ENDING}
    yield
    left = {number.name for number, handler in before.items() if signal.signal(number, handler) != handler}
    assert left == set()


def skip_loudly(request: pytest.FixtureRequest, sentence: str) -> None:
    """Skip the test. The last lines of the test run list the reason."""
    pytest.skip(NOT_TESTED + sentence)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the reasons of all skipped tests, so that they are visible even if all tests pass. The reports come from all
    workers.
    """
    reports = terminalreporter.stats.get("skipped", [])
    reasons = [report.longrepr[2] for report in reports if isinstance(report.longrepr, tuple)]
    for reason, count in Counter(reason for reason in reasons if NOT_TESTED in reason).items():
        sentence = reason.partition(NOT_TESTED)[2]
        terminalreporter.write_line(f"!!! NOT TESTED ({count}): {sentence}", red=True, bold=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_unconfigure(config: pytest.Config) -> Iterator[None]:
    """List the failed tests once more at the end, because the output of one failure can fill several pages."""
    yield
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(config, "workerinput"):
        for outcome in ("failed", "error"):
            for report in reporter.stats.get(outcome, [])[:20]:
                reporter.write_line(f"{outcome}: {report.nodeid}", red=True)


@pytest.fixture(scope="session")
def _shared_servers() -> Iterator[dict[str, Server]]:
    """Hold the servers that tests share. Each server starts at its first use."""
    servers: dict[str, Server] = {}
    yield servers
    for server in servers.values():
        server.remove()


def _shared(name: str, servers: dict[str, Server], request: pytest.FixtureRequest) -> Iterator[Server]:
    if find_program(KINDS[name]) is None:
        skip_loudly(request, missing_sentence(KINDS[name]))
    if name not in servers or not servers[name].running:
        servers[name] = start_server(KINDS[name])
    yield servers[name]
    if servers[name].running:
        _end_connections(servers[name])


def _end_connections(server: Server) -> None:
    """End connections that a test has left open. For example, a replay may have left a statement whose answer it did
    not wait for.
    """
    with closing(server.connect()) as con, con.cursor() as cursor:
        cursor.execute(OTHER_CONNECTIONS)
        for (number,) in cursor.fetchall():
            with suppress(pymysql.err.MySQLError):  # the connection has already ended
                cursor.execute(f"KILL {number}")


@pytest.fixture
def mariadb(_shared_servers: dict[str, Server], request: pytest.FixtureRequest) -> Iterator[Server]:
    """Provide the private MariaDB that all tests share. A test must use its own schema and must not change server
    settings.
    """
    yield from _shared("mariadb", _shared_servers, request)


@pytest.fixture
def mysql80(_shared_servers: dict[str, Server], request: pytest.FixtureRequest) -> Iterator[Server]:
    """Provide the private MySQL 8.0 that all tests share."""
    yield from _shared("mysql80", _shared_servers, request)


@pytest.fixture(params=sorted(KINDS))
def server(_shared_servers: dict[str, Server], request: pytest.FixtureRequest) -> Iterator[Server]:
    """Provide each kind of shared server in turn."""
    yield from _shared(request.param, _shared_servers, request)


@pytest.fixture
def server_factory(request: pytest.FixtureRequest) -> Iterator[ServerFactory]:
    """Start servers that only this test uses: `server_factory("mysql80", {"slow_query_log": "ON"})`. They are removed
    at the end of the test.
    """
    made: list[Server] = []

    def make(name: str = "mariadb", config: dict[str, str] | None = None, template: Path | None = None) -> Server:
        kind = KINDS.get(name, name)
        if find_program(kind) is None:
            skip_loudly(request, missing_sentence(kind))
        made.append(start_server(kind, config=config, template=template))
        return made[-1]

    yield make
    for one in made:
        one.kill()
        one.remove()


@pytest.fixture
def mariadb_factory(server_factory: ServerFactory) -> ServerFactory:
    """Provide `server_factory` for MariaDB: `mariadb_factory({"slow_query_log": "ON"})`."""
    return lambda config=None, template=None: server_factory("mariadb", config, template)


@pytest.fixture
def mysql80_factory(server_factory: ServerFactory) -> ServerFactory:
    """Provide `server_factory` for MySQL 8.0."""
    return lambda config=None, template=None: server_factory("mysql80", config, template)


@pytest.fixture
def samples(request: pytest.FixtureRequest) -> Path:
    """Return the folder of recorded logs next to the checkout. QT_SAMPLES overrides the folder."""
    if not SAMPLES.is_dir():
        skip_loudly(request, f"no recorded samples in {SAMPLES}: set QT_SAMPLES to their folder")
    return SAMPLES


@pytest.fixture
def checkout() -> Path:
    """Return the root folder of the checkout."""
    return CHECKOUT


@pytest.fixture
def shop(mariadb: Server) -> Iterator[Server]:
    """Provide the shared MariaDB with a new schema `shop` of empty tables."""
    mariadb.execute("CREATE OR REPLACE DATABASE shop")
    mariadb.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    mariadb.execute("CREATE TABLE shop.bytes (b LONGBLOB)")
    yield mariadb
    mariadb.execute("DROP DATABASE shop")


@pytest.fixture
def any_shop(server: Server) -> Iterator[Server]:
    """Provide each kind of shared server in turn, with a new schema `shop`."""
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    yield server
    server.execute("DROP DATABASE shop")
