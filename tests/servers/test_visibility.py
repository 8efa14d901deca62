# SPDX-License-Identifier: Apache-2.0
"""Tests of the schema objects that an account cannot see because of its grants."""

from contextlib import closing

import pytest
from querytape.servers.sandbox import Server
from querytape.servers.target import Target
from querytape.servers.visibility import is_granted, unseen, unseen_by

ALL = "GRANT ALL PRIVILEGES ON *.* TO `a`@`%`"
GRANTS = [
    ([], False),
    (["GRANT USAGE ON *.* TO `a`@`%`", "GRANT SELECT ON `shop`.* TO `a`@`%`"], False),
    ([ALL], True),
    (["GRANT SELECT, TRIGGER ON `shop`.* TO 'a'@'%'"], True),
    (['GRANT SELECT, TRIGGER ON "shop".* TO "a"@"%"'], True),
    (["GRANT SELECT (TRIGGER), EVENT ON `shop`.* TO `a`@`%`"], False),
    (["GRANT TRIGGER ON `sh%`.* TO `a`@`%`"], True),
    (["GRANT TRIGGER ON `sho_`.* TO `a`@`%`"], True),
    ([r"GRANT TRIGGER ON `sho\_`.* TO `a`@`%`"], False),
    (["GRANT TRIGGER ON `shop`.`t` TO `a`@`%`"], False),
    (["GRANT TRIGGER ON `other`.* TO `a`@`%`"], False),
    ([ALL, "REVOKE TRIGGER ON `shop`.* FROM `a`@`%`"], False),
    ([ALL, "REVOKE TRIGGER ON `other`.* FROM `a`@`%`"], True),
    (["GRANT PROXY ON ``@`` TO `a`@`%` WITH GRANT OPTION"], False),
]


@pytest.mark.parametrize(("lines", "granted"), GRANTS)
def test_privilege_on_the_whole_schema_is_recognized(lines: list[str], granted: bool) -> None:
    """A grant may name the schema, match it with a pattern or apply to all schemas. A revoked privilege does not count."""
    assert is_granted([(line,) for line in lines], "TRIGGER", "shop") is granted


def test_message_has_the_missing_grant() -> None:
    """If there are many schemas, only the first schemas are named."""
    usage = [("GRANT TRIGGER ON `shop`.* TO `o'x`@`%`",)]
    one = unseen_by("o'x@%", usage, ["shop"])
    assert one
    assert one.said() == "the account may not see events of shop. Run GRANT EVENT ON `shop`.* TO 'o''x'@'%'"
    many = unseen_by("a@10.0.0.1", [("GRANT USAGE ON *.* TO `a`@`10.0.0.1`",)], list("abcde"))
    assert many
    assert many.said() == (
        "the account may not see triggers and events of a, b, c and 2 more."
        " Run GRANT TRIGGER, EVENT ON *.* TO 'a'@'10.0.0.1'"
    )
    assert unseen_by("a@%", [(ALL,)], ["shop"]) is None
    assert unseen_by("a@%", None, ["shop"]) is None
    assert unseen_by("", usage, ["shop"]) is None


def test_missing_grant_makes_the_objects_visible(any_shop: Server) -> None:
    """The test runs the statement of the message on each kind of server. Privileges of a role count."""
    account = Target("blind", "127.0.0.1", "127.0.0.1", any_shop.port, password="x")
    for statement in (
        "CREATE USER blind@'%' IDENTIFIED BY 'x'",
        "CREATE ROLE seer",
        "GRANT SELECT ON shop.* TO blind@'%'",
    ):
        any_shop.execute(statement)
    try:
        with closing(account.connect()) as con:
            hidden = unseen(con, ["shop"])
        assert hidden
        assert hidden.kinds == ("trigger", "event")
        text = hidden.said()
        any_shop.execute(text[text.index("GRANT ") :])
        with closing(account.connect()) as con:
            assert unseen(con, ["shop"]) is None
        any_shop.execute("REVOKE TRIGGER ON shop.* FROM blind@'%'")
        any_shop.execute("GRANT TRIGGER ON shop.* TO seer")
        any_shop.execute("GRANT seer TO blind@'%'")
        with closing(account.connect()) as con, con.cursor() as cursor:
            cursor.execute("SET ROLE seer")
            assert unseen(con, ["shop"]) is None
    finally:
        any_shop.execute("DROP USER blind@'%'")
        any_shop.execute("DROP ROLE seer")
