# SPDX-License-Identifier: Apache-2.0
"""Functions from loaded libraries, which can act on the server in any session. Replays of reads, query plans and quick
mode call none of these functions.
"""

import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from querytape.experiments.quick_compare import stored_functions
from querytape.replay import ReplayOptions, parse_target, replay
from querytape.replay.checks.preflight import Finding
from querytape.replay.observe.explain import Explainer, Sample
from querytape.replay.plan.pacing import Pace
from querytape.replay.watcher import Watcher
from querytape.servers.sandbox import Server, private_folder

from tests.conftest import skip_loudly
from tests.helpers.tapes import make_tape

SOURCE = """
#include <stdio.h>
int ring_bell_init(void *i, void *a, char *m) { (void)i; (void)a; (void)m; return 0; }
long long ring_bell(void *i, void *a, char *n, char *e)
{
    FILE *f = fopen("%s", "a");
    (void)i; (void)a; (void)n; (void)e;
    if (f != NULL) { fputs("called\\n", f); fclose(f); }
    return 7;
}
"""
CALLS = (
    "SELECT ring_bell()",
    "SELECT `Ring_Bell` ()",
    "SELECT 1 UNION SELECT ring_bell/**/()",
    "SELECT /*!50000 ring_bell() */",
)
HIDDEN = (
    "SELECT a FROM t.bells",
    "SELECT * FROM (SELECT 1) x, `t`.`BELLS`",
    "SELECT a FROM t.more_bells",
    "SELECT t.twice()",
    "SELECT t . `Twice` ()",
)
OTHERS = ("SELECT 1", "SELECT 'ring_bell'", "SELECT 2 AS ring_bell", "SELECT a FROM t.quiet", "SELECT t.one()")
STORED = (
    "CREATE DATABASE t",
    "CREATE FUNCTION t.one() RETURNS INT DETERMINISTIC RETURN 1",
    "CREATE VIEW t.quiet AS SELECT t.one() AS a, 'ringing_bells' AS b",
    "CREATE VIEW t.bells AS SELECT ring_bell() AS a",
    "CREATE VIEW t.more_bells AS SELECT a FROM t.bells",
    "CREATE FUNCTION t.twice() RETURNS INT NO SQL RETURN ring_bell() + Ring_Bell()",
)


class Told(Watcher):
    """Records the texts of the pre-flight checks."""

    def __init__(self, said: list[str]) -> None:
        self.said = said

    def finding(self, finding: Finding) -> None:
        self.said.append(finding.text)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["mariadb", "mysql80"])
def test_replay_of_reads_calls_no_library_function(
    server_factory: Callable[..., Server], tmp_path: Path, request: pytest.FixtureRequest, kind: str
) -> None:
    """The statements write the call in several forms. The pre-flight check names the function, and statements that are
    not sent are counted. An option allows the call.
    """
    if shutil.which("gcc") is None:
        skip_loudly(request, "no gcc: functions of libraries are not tried")
    plugins = private_folder("qt-udf-")
    request.addfinalizer(lambda: shutil.rmtree(plugins, ignore_errors=True))
    touched = plugins / "touched"
    (tmp_path / "f.c").write_text(SOURCE % touched)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", plugins / "f.so", tmp_path / "f.c"], check=True)
    server = server_factory(kind, {"plugin-dir": str(plugins)})
    server.execute("CREATE FUNCTION ring_bell RETURNS INTEGER SONAME 'f.so'")
    for text in STORED:
        server.execute(text)
    server.execute("SELECT ring_bell()")
    assert touched.read_text() == "called\n"
    tape = make_tape(tmp_path / "t.tape", [{"statement": text, "class": "read"} for text in (*CALLS, *HIDDEN, *OTHERS)])
    target = parse_target(server.url(), environ={})
    said: list[str] = []
    run = replay(tape, ReplayOptions(target, tmp_path / "a.run", pace=Pace("none")), Told(said))
    assert touched.read_text() == "called\n"
    assert run.info["accounting"]["executed"] == len(OTHERS)
    assert run.info["accounting"]["not_sent"] == len(CALLS) + len(HIDDEN)
    assert any("the target has 1 loadable function (ring_bell)" in text for text in said)
    assert any("that may call these functions: bells, more_bells, twice." in text for text in said)
    assert "ring_bell" in stored_functions([target])
    with closing(Explainer(target, {}, analyze_s=5)) as explainer:
        for text in (*CALLS, *HIDDEN):
            for plan in explainer.explain(Sample("d", None, text)):
                assert "is or calls a loadable function, and the effects of this function are unknown" in (
                    plan.error or ""
                ), text
    assert touched.read_text() == "called\n"
    leave = ReplayOptions(target, tmp_path / "b.run", pace=Pace("none"), allow_statements=frozenset({"instance"}))
    replay(tape, leave)
    assert len(touched.read_text().splitlines()) > len(CALLS) + len(HIDDEN)
