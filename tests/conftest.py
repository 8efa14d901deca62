# SPDX-License-Identifier: Apache-2.0
"""Fixtures that many tests share: private servers, and the samples of real logs beside the checkout.

A test is skipped where this machine lacks what it needs. The last lines of the run list each reason.
The marks of a test decide its tier (docs/testing.md). A test without the mark cannot start servers or a browser.
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

gc.disable()  # until the tests are collected: it looked again and again at what stays
CHECKOUT = Path(__file__).resolve().parent.parent
WHOLE = CHECKOUT / "tests" / "whole"
SAMPLES = Path(os.environ.get("QT_SAMPLES") or CHECKOUT.parent / "shared" / "samples")
KINDS = {"mariadb": "mariadb", "mysql80": "mysql-8.0"}
NOT_TESTED = "not tested: "
# A program and the mark of the tests that may start it; a fixture and the mark of the tests that use it.
STARTED = {"mariadbd": "server", "mysqld": "server", "chromium": "browser", "google-chrome": "browser"}
GIVEN = {"_shared_servers": "server", "server_factory": "server", "built": "long"}
OTHER_CONNECTIONS = (
    "SELECT id FROM information_schema.processlist WHERE id <> connection_id() AND command <> 'Daemon'"
    " AND user NOT IN ('system user', 'event_scheduler', 'unauthenticated user')"
)

ServerFactory = Callable[..., Server]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the marks of the fixtures that it uses; all of tests/whole is about real servers.

    Its files come first: a worker that begins a long one last keeps the others waiting.
    """
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        marks = {GIVEN[name] for name in fixtures if name in GIVEN}
        if "samples" in fixtures and not SAMPLES.is_dir():
            marks.add("long")  # which names what is missing
        if item.path.is_relative_to(WHOLE):
            marks.add("server")
        for mark in marks:
            item.add_marker(mark)
    _sample(items)
    items.sort(key=lambda item: not item.path.is_relative_to(WHOLE))


def pytest_collection_finish() -> None:
    """Take what stays until the end out of the garbage collector's sight: it took a tenth of the processor's time."""
    gc.collect()
    gc.freeze()
    gc.enable()


def _sample(items: list[pytest.Item]) -> None:
    """Keep one of each six cases of the tests marked `sampled`; the others are long. Which one, the test's name decides.

    So half of the tests on two kinds of servers run on the one, half on the other.
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
    """Sees that no other tests start servers and browsers: they would make the fast tier slow."""

    def __init__(self) -> None:
        self.item: pytest.Item | None = None
        sys.addaudithook(self.look)

    def look(self, event: str, args: tuple[Any, ...]) -> None:
        """Refuse a program whose mark the test lacks."""
        if event != "subprocess.Popen" or self.item is None or not isinstance(args[1], list):
            return
        for program in (Path(os.fsdecode(word)).name for word in args[1]):
            mark = STARTED.get(program)
            if mark is not None and self.item.get_closest_marker(mark) is None:
                raise AssertionError(f"a test that starts {program} has the mark {mark}")


only_with_mark = OnlyWithMark()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Say which test begins."""
    only_with_mark.item = item


@pytest.fixture(scope="session", autouse=True)
def _signals() -> None:
    """Signals do what they do in a terminal: a shell that runs the tests with `&` has SIGINT ignored, one of nohup SIGHUP."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _signals_stay(_signals: None) -> Iterator[None]:
    """No test leaves a signal ignored: the processes of later tests would not end by it."""
    before = {number: signal.getsignal(number) for number in ENDING}
    yield
    left = {number.name for number, handler in before.items() if signal.signal(number, handler) != handler}
    assert left == set()


def skip_loudly(request: pytest.FixtureRequest, sentence: str) -> None:
    """Skip the test; the last lines of the run say so again."""
    pytest.skip(NOT_TESTED + sentence)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name everything that was missing, so that a green run can't hide it; the reports come from all workers."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = [report.longrepr[2] for report in reports if isinstance(report.longrepr, tuple)]
    for reason, count in Counter(reason for reason in reasons if NOT_TESTED in reason).items():
        sentence = reason.partition(NOT_TESTED)[2]
        terminalreporter.write_line(f"!!! NOT TESTED ({count}): {sentence}", red=True, bold=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_unconfigure(config: pytest.Config) -> Iterator[None]:
    """Name the tests that failed once more, last of all: the differences of a single one may fill the pages before."""
    yield
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(config, "workerinput"):
        for outcome in ("failed", "error"):
            for report in reporter.stats.get(outcome, [])[:20]:
                reporter.write_line(f"{outcome}: {report.nodeid}", red=True)


@pytest.fixture(scope="session")
def _shared_servers() -> Iterator[dict[str, Server]]:
    """The servers that tests share, started when first asked for."""
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
    """End what a test has left behind, such as the statement of a replay that did not wait for its answer."""
    with closing(server.connect()) as con, con.cursor() as cursor:
        cursor.execute(OTHER_CONNECTIONS)
        for (number,) in cursor.fetchall():
            with suppress(pymysql.err.MySQLError):  # it has ended by itself
                cursor.execute(f"KILL {number}")


@pytest.fixture
def mariadb(_shared_servers: dict[str, Server], request: pytest.FixtureRequest) -> Iterator[Server]:
    """A private MariaDB that all tests share: use a schema of your own, leave its settings alone."""
    yield from _shared("mariadb", _shared_servers, request)


@pytest.fixture
def mysql80(_shared_servers: dict[str, Server], request: pytest.FixtureRequest) -> Iterator[Server]:
    """A private MySQL 8.0 that all tests share."""
    yield from _shared("mysql80", _shared_servers, request)


@pytest.fixture(params=sorted(KINDS))
def server(_shared_servers: dict[str, Server], request: pytest.FixtureRequest) -> Iterator[Server]:
    """Each kind of shared server in turn."""
    yield from _shared(request.param, _shared_servers, request)


@pytest.fixture
def server_factory(request: pytest.FixtureRequest) -> Iterator[ServerFactory]:
    """Make servers of a test's own, gone after it: `server_factory("mysql80", {"slow_query_log": "ON"})`."""
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
    """`server_factory` for MariaDB: `mariadb_factory({"slow_query_log": "ON"})`."""
    return lambda config=None, template=None: server_factory("mariadb", config, template)


@pytest.fixture
def mysql80_factory(server_factory: ServerFactory) -> ServerFactory:
    """`server_factory` for MySQL 8.0."""
    return lambda config=None, template=None: server_factory("mysql80", config, template)


@pytest.fixture
def samples(request: pytest.FixtureRequest) -> Path:
    """The folder of recorded logs beside the checkout (QT_SAMPLES names another)."""
    if not SAMPLES.is_dir():
        skip_loudly(request, f"no recorded samples in {SAMPLES}: set QT_SAMPLES to their folder")
    return SAMPLES


@pytest.fixture
def checkout() -> Path:
    """The folder of the checkout, whatever its name."""
    return CHECKOUT


@pytest.fixture
def shop(mariadb: Server) -> Iterator[Server]:
    """The shared MariaDB with an empty schema `shop`."""
    mariadb.execute("CREATE OR REPLACE DATABASE shop")
    mariadb.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    mariadb.execute("CREATE TABLE shop.bytes (b LONGBLOB)")
    yield mariadb
    mariadb.execute("DROP DATABASE shop")


@pytest.fixture
def any_shop(server: Server) -> Iterator[Server]:
    """Each kind of shared server in turn, with an empty schema `shop`."""
    server.execute("DROP DATABASE IF EXISTS shop")
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.log (id INT AUTO_INCREMENT PRIMARY KEY, conn BIGINT, session INT, seq INT)")
    yield server
    server.execute("DROP DATABASE shop")
