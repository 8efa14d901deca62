# SPDX-License-Identifier: Apache-2.0
"""In what servers differ, as a terminal shows it."""

from querytape.analyze.model import ServerDifference, Servers
from querytape.analyze.render.servers_text import show_servers
from querytape.analyze.view import differences_of

from tests.helpers.reports import printed


def shown(servers: Servers) -> list[str]:
    return printed(show_servers, differences_of(servers)).splitlines()


def test_causes_folded_and_hidden() -> None:
    """A line each, the rest counted; what comes with the version alone is a number; control characters are harmless."""
    many = tuple(ServerDifference("setting", f"s{n}", f"s{n}: 1 in A, 2 in B") for n in range(9))
    one = ServerDifference("index", "o.k", "B lacks index k\x1b[2J on o", table="o", changed=("d1",))
    folded = ServerDifference("column", "o.c", "x", folded=True)
    lines = shown(Servers((one, *many, folded), more=3, problem="half [b]is[/b] known"))
    assert lines[1:3] == [
        "The servers differ",
        "  B lacks index k [2J on o: 1 statement that changed uses it",
    ]
    assert lines[-2:] == [
        "  ... 5 more: --html or --json show them; 1 come with the version alone",
        "half [b]is[/b] known",
    ]
    assert all(len(line) <= 80 for line in lines)


def test_equal_servers_print_nothing() -> None:
    assert shown(Servers()) == []
