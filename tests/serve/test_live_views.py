# SPDX-License-Identifier: Apache-2.0
"""The page of a run in progress, its requests, and protection against changes without the token."""

import json
import re

import pytest

from .conftest import Everything, write_ticks

RUN = "live.run"


@pytest.mark.slow
def test_live_page_names_its_data_addresses(everything: Everything) -> None:
    """The live page has charts, addresses, tape and target. Without a session the page asks for the token. With a
    session it shows buttons.
    """
    site = everything.server
    text = site.ask(f"/live/{RUN}").text
    data = json.loads(re.findall(r'id="data">(.*?)</script>', text, re.S)[0])
    assert list(data["charts"]) == ["throughput", "p95", "errors", "late", "sessions", "queue"]
    assert (data["ticks"], data["control"]) == (f"/live/{RUN}/ticks", f"/live/{RUN}/control")
    assert "shop.tape on live (10.11.6-MariaDB)" in text
    assert 'id="token-form"' in text
    assert 'id="stop"' not in text
    begun = site.ask("/session", {"Authorization": f"Bearer {site.token}"}, "POST")
    text = site.ask(f"/live/{RUN}", {"Cookie": begun.headers["set-cookie"].partition(";")[0]}).text
    assert 'id="stop"' in text
    assert 'id="token-form"' not in text


def test_ticks_are_returned_as_they_are_written(everything: Everything) -> None:
    """Each answer has the state and figures of the run. The answer has chart points only if new points exist."""
    site = everything.server
    first = site.ask(f"/live/{RUN}/ticks").json
    assert first["state"]["word"] == "running"
    assert (first["state"]["speed"], first["state"]["planned"]) == ("2", 1000)
    assert first["figures"]["per_second"] == "100"
    assert "lines" not in site.ask(f"/live/{RUN}/ticks?seen={first['n']}").json
    write_ticks(everything.root / RUN, 1, 3, 3, errors=4)
    later = site.ask(f"/live/{RUN}/ticks?seen={first['n']}").json
    assert later["n"] == first["n"] + 3
    assert len(later["lines"]["errors"]) == later["n"]
    assert later["figures"]["errors"] == "12"
    assert site.ask(f"/live/{RUN}/ticks?seen=<b>").json["n"] == later["n"]
    assert site.ask("/live/killed.run/ticks").json["state"]["word"] == "killed"
    assert site.ask("/live/killed.run").status == 200


def writes(everything: Everything) -> list[str]:
    """Return the requests that are stored in the run's folder."""
    return [name for name in ("speed", "stop") if (everything.root / RUN / name).exists()]


def test_nothing_is_changed_without_the_token(everything: Everything) -> None:
    """The request gets status 403 if the token is missing or wrong, or if it comes from another origin. It also gets
    403 if the secret word of the session is missing or wrong. No file is written.
    """
    site = everything.server
    begun = site.ask("/session", {"Authorization": f"Bearer {site.token}"}, "POST")
    cookie, word = begun.headers["set-cookie"].partition(";")[0], begun.json["word"]
    other = site.ask("/session", {"Authorization": f"Bearer {site.token}"}, "POST").json["word"]
    own = site.url
    for headers in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Bearer {site.token[:-1]}"},
        {"Cookie": cookie},
        {"Cookie": cookie, "X-Querytape-Word": ""},
        {"Cookie": cookie, "X-Querytape-Word": other},
        {"X-Querytape-Word": word},
        {"Cookie": cookie, "X-Querytape-Word": word, "Origin": "http://evil.example"},
        {"Cookie": cookie, "X-Querytape-Word": word, "Origin": own.replace("127.0.0.1", "localhost")},
        {"Cookie": cookie, "X-Querytape-Word": word, "Sec-Fetch-Site": "same-site"},
        {"Authorization": f"Bearer {site.token}", "Origin": "null"},
    ):
        for act in ("pause", "stop", "resume", "speed"):
            answer = site.control(
                RUN, {"do": act, "factor": "5"}, **{name.replace("-", "_"): v for name, v in headers.items()}
            )
            assert (answer.status, answer.json) == (403, {"error": "the token is required"}), headers
    assert site.ask(f"/live/{RUN}/control", {"Authorization": f"Bearer {site.token}"}).status in (404, 405, 422)
    assert writes(everything) == []


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"", "application/json", 400),
        (b"[]", "application/json", 422),
        (b"{}", "application/json", 400),
        (b'{"do": 1}', "application/json", 422),
        (b"[" * 4000, "application/json", 400),
        (b'{"do": "pause"}', "text/plain", 415),
        (b"do=pause", "application/x-www-form-urlencoded", 415),
        (b'{"do": "speed", "factor": [1]}', "application/json", 422),
        (b"\xff", "application/json", 400),
    ],
)
def test_invalid_request_changes_nothing(everything: Everything, body: bytes, kind: str, status: int) -> None:
    """The invalid requests have a valid token. A form on a foreign page could send some of these requests."""
    site = everything.server
    headers = {"Authorization": f"Bearer {site.token}", "Content-Type": kind}
    answer = site.ask(f"/live/{RUN}/control", headers, "POST", body)
    assert answer.status == status
    assert "error" in answer.json
    assert writes(everything) == []


def test_token_or_session_allows_changes_of_a_live_run(everything: Everything) -> None:
    """A run that has ended accepts no requests."""
    site = everything.server
    token = {"Authorization": f"Bearer {site.token}"}
    begun = site.ask("/session", token, "POST")
    page = {"Cookie": begun.headers["set-cookie"].partition(";")[0], "X_Querytape_Word": begun.json["word"]}
    try:
        for act, headers, word in (("pause", token, "paused"), ("resume", {**page, "Origin": site.url}, "running")):
            assert site.control(RUN, {"do": act}, **headers).status == 200
            assert site.ask(f"/live/{RUN}/ticks").json["state"]["word"] == word
        assert site.control(RUN, {"do": "speed", "factor": "3/2"}, **page, Sec_Fetch_Site="same-origin").status == 200
        assert (everything.root / RUN / "speed").read_text() == "1.5\n"
        assert site.control(RUN, {"do": "stop"}, **token).json["said"].startswith("stopping")
        assert site.ask(f"/live/{RUN}/ticks").json["state"]["word"] == "stopping"
    finally:
        for name in writes(everything):
            (everything.root / RUN / name).unlink()
    for name in ("x.run", "killed.run", "shop.tape", "nothing", "bad.run", "..%2fx"):
        answer = site.control(name, {"do": "stop"}, **token)
        assert answer.status in (404, 422), name
        assert answer.json["error"]
