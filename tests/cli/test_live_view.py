# SPDX-License-Identifier: Apache-2.0
"""Terminal output of a replay: during the run, after its end, after each signal, and in a pipe."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from querytape.cli.live_lines import HEADER
from querytape.cli.live_view import troubles, until_stop
from querytape.native.bindings.statements import Normalizer
from querytape.servers.sandbox import Server

from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.terminal import Terminal
from tests.helpers.tiers import mostly_long

pytestmark = pytest.mark.server

SECOND = 1_000_000_000
SLOW, FAST, FAILING = "SELECT SLEEP(0.2)", "SELECT 1 + 1", "SELECT * FROM no_such_table"
LINE = re.compile(r" +\d+:\d\d( +[\d.]+[kM]?){5} +(-|[\d.]+(µs|ms|s)) +\d+ +(-|[\d.]+(µs|ms|s)) +\d+% +(-|\d+:\d\d)")


def tape_of(folder: Path, seconds: int) -> Path:
    """Return a tape of `seconds` seconds with three sessions, three digests, errors, and a value that must stay hidden."""
    events = []
    for n in range(seconds * 5):
        at = T0 + n * 200 * MS
        events += [
            {"session": 1, "statement": SLOW, "start_ns": at, "digest": "00000000000000aa"},
            {"session": 2, "statement": f"{FAST} + {4_711_000 + n}", "start_ns": at, "digest": "00000000000000bb"},
            {"session": 3, "statement": FAILING, "start_ns": at, "digest": "00000000000000cc"},
        ]
    tape = make_tape(folder / "t.tape", events)
    normalizer = Normalizer()
    with duckdb.connect() as con:  # writes normalized texts, like a capture
        con.execute(f"CREATE TABLE digests AS FROM '{tape / 'digests.parquet'}'")
        for text, digest in con.execute("SELECT sample::VARCHAR, digest FROM digests").fetchall():
            normal = normalizer.normalize(text.encode()).text
            con.execute("UPDATE digests SET normalized = ? WHERE digest = ?", [normal, digest])
        con.execute(f"COPY digests TO '{tape / 'digests.parquet'}'")
    return tape


def replay_of(tape: Path, server: Server, *more: str) -> list[str]:
    words = ["replay", str(tape), "--target", server.url("shop"), "-o", str(tape.with_name("a.run")), "--lead", "100ms"]
    return [sys.executable, "-m", "querytape", *words, *more]


GOES_ON = re.compile(r"0:\d\d ━+─+ +\d+%  0:\d\d left")


def drawn(shown: str) -> bool:
    """Return whether the view has shown some seconds and digests."""
    return bool(re.search(r"q/s .*[▁▂▃▄▅▆▇█]{3}", shown)) and "select sleep(?)" in shown


def frame_of(shown: str) -> list[str]:
    """Return the lines of the view."""
    lines = shown.rstrip().split("\n")
    return lines[next(n for n, line in enumerate(lines) if line.startswith(("a.run →", "/")) and "→" in line) :]


@pytest.mark.parametrize(("columns", "rows"), mostly_long([(80, 24), (60, 20), (40, 10), (132, 50)], (80, 24)))
def test_live_view_fits_windows_of_any_size(columns: int, rows: int, shop: Server, tmp_path: Path) -> None:
    """At the end, the last state of the view remains above the summary. The terminal settings are restored."""
    tape = tape_of(tmp_path, 12)
    with Terminal(replay_of(tape, shop), columns, rows) as terminal:
        shown = terminal.until(lambda seen: re.search(r"q/s .*[▁▂▃▄▅▆▇█]{3}", seen) and GOES_ON.search(seen))
        lines = shown.split("\n")
        assert any(line.startswith("q/s") for line in lines)
        assert any(line.startswith("err/s") for line in lines)
        assert re.search(r"sent [\d,]+ of 180   due [\d,]+ ", shown)
        assert shown.count("sent ") == 1  # there is one view, which is redrawn in place
        if rows > 10:
            assert re.search(r"select sleep\(\?\) +\d+ +[\d.]+m?s +[\d.]+m?s", shown)
            assert shown.index("select sleep(?)") < shown.index("select * from no_such")  # highest total time first
        assert terminal.to_the_end() == 0
        assert "180events=180exec" in re.sub(r"\s", "", terminal.all)  # a long path may wrap the line
        assert "100%" in terminal.all
        assert terminal.all.count("q/s ") == 1
        assert "\n        now last" in terminal.all
        terminal.assert_sane()
        assert terminal.screen.cursor.x == 0
    assert HEADER not in terminal.all
    assert b"4711" not in terminal.raw.replace(b",", b"")


def test_too_small_window_shows_progress_lines(shop: Server, tmp_path: Path) -> None:
    with Terminal(replay_of(tape_of(tmp_path, 1), shop), 39, 24) as terminal:
        assert terminal.to_the_end() == 0
        assert b"\xe2\x96" not in terminal.raw
        assert "err/s" in terminal.all
        terminal.assert_sane()


@pytest.mark.parametrize("number", mostly_long([signal.SIGINT, signal.SIGTERM], signal.SIGINT))
def test_signal_stops_the_view(
    number: signal.Signals, shop: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The view shows "stopped". Its last state remains once, above the summary."""
    tape = tape_of(tmp_path, 60)
    monkeypatch.chdir(tmp_path)  # the window would cut the heading of a long path
    with Terminal(replay_of(Path(tape.name), shop)) as terminal:
        terminal.until(drawn)
        terminal.type("\x03")  # the echo of this key must not move the view
        terminal.process.send_signal(number)
        assert terminal.to_the_end() == 1
        shown = terminal.all
        assert "PARTIAL: stopped by the user" in shown
        assert "stopped\n" in shown
        assert shown.count("slowest so far") == shown.count("q/s ") == shown.count("a.run → ") == 1
        terminal.assert_sane()


@pytest.mark.long
def test_sigkill_leaves_a_usable_terminal(shop: Server, tmp_path: Path) -> None:
    with Terminal(replay_of(tape_of(tmp_path, 60), shop)) as terminal:
        terminal.until(drawn)
        terminal.process.kill()
        terminal.to_the_end()
        terminal.assert_sane()
        assert terminal.screen.cursor.x == 0


@pytest.mark.long
def test_resized_window_redraws_one_view(shop: Server, tmp_path: Path) -> None:
    with Terminal(replay_of(tape_of(tmp_path, 60), shop)) as terminal:
        terminal.until(drawn)
        for columns, rows in ((50, 15), (44, 12), (100, 30), (80, 24)):
            terminal.resize(columns, rows)
            bar = columns - 1 - len("0:00 ") - len("   0%  0:00 left")
            width = re.compile(rf"^\d:\d\d [━─]{{{bar}}} ", re.M)
            shown = terminal.until(width.search, f"{columns} x {rows}")
            assert shown.count("q/s ") == 1, shown
            assert shown.count("sent ") == 1, shown
        terminal.process.send_signal(signal.SIGTERM)
        terminal.to_the_end()
        terminal.assert_sane()


def test_no_color_disables_the_colours_of_the_view(shop: Server, tmp_path: Path) -> None:
    with Terminal(replay_of(tape_of(tmp_path, 3), shop), env={"NO_COLOR": "1"}) as terminal:
        assert terminal.to_the_end() == 0
        assert drawn(terminal.all)  # the last state of the view remains
        assert not re.search(rb"\x1b\[[0-9;]*(3[0-7]|9[0-7]|38|48)[;m]", terminal.raw)


@pytest.mark.sampled
@pytest.mark.parametrize(("more", "env"), [(("--no-live",), {}), ((), {"TERM": "dumb"})])
def test_no_live_option_and_dumb_terminals_show_progress_lines(
    more: tuple[str, ...], env: dict[str, str], shop: Server, tmp_path: Path
) -> None:
    with Terminal(replay_of(tape_of(tmp_path, 5), shop, *more), columns=100, env=env) as terminal:
        assert terminal.to_the_end() == 0
        lines = terminal.all.split("\n")
        assert HEADER in lines
        assert sum(bool(LINE.fullmatch(line)) for line in lines) >= 2
        assert "slowest so far" not in terminal.all
        assert not re.search(rb"\x1b\[\d*[A-HJK]", terminal.raw)  # no escape moves the cursor or erases text


def test_pipe_gets_progress_lines_without_control_characters(shop: Server, tmp_path: Path) -> None:
    environ = {**os.environ, "TERM": "xterm-256color"}
    done = subprocess.run(
        replay_of(tape_of(tmp_path, 2), shop), capture_output=True, text=True, env=environ, timeout=120
    )
    assert done.returncode == 0
    lines = done.stderr.split("\n")
    begin = lines.index(HEADER)
    before = [line for line in lines[:begin] if not line.startswith("opening sessions: ")]  # if opening is slow
    assert before[-1].startswith("30 events on the tape: 30 to send in 3 sessions")
    assert lines[-1] == ""
    assert len(lines) - begin > 2
    assert all(LINE.fullmatch(line) for line in lines[begin + 1 : -1]), lines
    assert "\x1b" not in done.stderr + done.stdout
    assert "▁" not in done.stderr + done.stdout
    assert done.stdout.split("\n")[0].endswith("30 events = 30 executed + 0 filtered + 0 skipped + 0 not sent")


@pytest.mark.long
def test_terminal_without_unicode_gets_ascii_only(shop: Server, tmp_path: Path) -> None:
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with Terminal(replay_of(tape_of(tmp_path, 3), shop), env=env) as terminal:
        terminal.until(lambda seen: re.search(r"p95 +\d+ms +[_.:=+*#-]{2}", seen))
        assert terminal.to_the_end() == 0
        assert terminal.raw[: terminal.raw.index(b" events = ")].isascii()  # without the summary on stdout


@pytest.mark.long
def test_view_of_compare_shows_round_and_side(shop: Server, tmp_path: Path) -> None:
    """Each finished run leaves one line on the terminal."""
    tape = tape_of(tmp_path, 4)
    url = shop.url("shop")
    words = ["compare", str(tape), f"--target=a={url}", f"--target=b={url}", "-o", str(tmp_path / "c.compare")]
    command = [sys.executable, "-m", "querytape", *words, "--rounds", "1", "--warmup", "1", "--pause", "0s"]
    with Terminal(command, 100, 40) as terminal:
        for heading in ("warm-up 1 of 1, side a →", "warm-up 1 of 1, side b →", "round 1 of 1, side a →"):
            shown = terminal.until(lambda seen, heading=heading: heading in seen and "select sleep" in seen, heading)
            assert shown.count("q/s ") == 1
        assert terminal.to_the_end() == 0
        for name in ("warm-a1.run", "warm-b1.run", "a1.run", "b1.run"):
            assert re.search(rf"^{name}: 60 statements sent in [\d.]+ s, 20 failed$", terminal.all, re.M)
        assert "slowest so far" not in terminal.all
        terminal.assert_sane()


@pytest.mark.long
def test_view_of_sweep_shows_the_level_and_a_growing_table(shop: Server, tmp_path: Path) -> None:
    """The table of levels grows above the view. At the end, only the table remains on the terminal."""
    tape = tape_of(tmp_path, 1)
    words = ["sweep", str(tape), "--target", shop.url("shop"), "--sessions", "1,2", "--each", "3s"]
    command = [sys.executable, "-m", "querytape", *words, "-o", str(tmp_path / "s.sweep")]
    with Terminal(command) as terminal:
        shown = terminal.until(lambda seen: "level 1 of 2: 1 concurrent session →" in seen and "select sleep" in seen)
        assert "late" not in shown  # the replay is unpaced, so no statement has a due time
        assert re.search(r"0:0\d ━*─* +\d+%  0:0\d left", shown)  # time left until the duration --each is over
        shown = terminal.until(lambda seen: "level 2 of 2: 2 concurrent sessions →" in seen and "select sleep" in seen)
        assert re.search(r"^ sessions  statements/s .*\n +1 +[\d,]+ ", shown, re.M)
        assert terminal.to_the_end() == 0
        assert re.search(r"^ sessions .*\n +1 .*\n +2 .*\nchart: ", terminal.all, re.M)
        assert "q/s" not in terminal.all
        terminal.assert_sane()


@pytest.mark.long
def test_sweep_with_redirected_stdout_shows_the_table_on_the_terminal(shop: Server, tmp_path: Path) -> None:
    words = ["sweep", str(tape_of(tmp_path, 1)), "--target", shop.url("shop"), "--sessions", "1,2", "--each", "1s"]
    command = [sys.executable, "-m", "querytape", *words, "-o", str(tmp_path / "s.sweep")]
    with (tmp_path / "out").open("wb") as out, Terminal(command, stdout=out.fileno()) as terminal:
        assert terminal.to_the_end() == 0
        assert re.search(r"^ sessions .*\n +1 .*\n +2 .*$", terminal.all, re.M)
        assert "q/s" not in terminal.all
    assert re.match(r" sessions .*\n +1 .*\n +2 .*\nchart: ", (tmp_path / "out").read_text())


def test_time_left_ends_at_the_earlier_limit() -> None:
    """A run ends at the end of the tape or after the given duration."""
    assert until_stop(None, 5 * SECOND, 0.5, 5 * SECOND) == (0.5, 5 * SECOND)
    assert until_stop(8 * SECOND, 2 * SECOND, 0.1, 18 * SECOND) == (0.25, 6 * SECOND)
    assert until_stop(100 * SECOND, 2 * SECOND, 0.1, 18 * SECOND) == (0.1, 18 * SECOND)
    assert until_stop(8 * SECOND, 2 * SECOND, 0.0, None) == (0.25, 6 * SECOND)
    assert until_stop(8 * SECOND, 9 * SECOND, 0.1, 18 * SECOND)[1] == 0


def test_each_failure_counter_has_its_message() -> None:

    class Counters:
        def __getattr__(self, name: str) -> int:
            return 0 if name == "sessions_failed" else 12_345

    texts = troubles(Counters())  # type: ignore[arg-type]
    assert texts[0] == "12,345 sessions lost their connection"
    assert len(texts) == 6
    assert any(text.startswith("12.3k statements were killed after --statement-timeout") for text in texts)
