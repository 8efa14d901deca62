# SPDX-License-Identifier: Apache-2.0
"""The content security policy of pages. Generated pages allow the scripts of their templates by hash."""

import base64
import hashlib
import re

from querytape.analyze import SweepLevel, sweep_page
from querytape.serve.headers import hashes, made_policy


def test_script_hash_has_content_security_policy_format() -> None:
    assert hashes(["alert('Hello, world.');"]) == ["'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"]


def test_scripts_of_a_page_are_in_the_policy() -> None:
    """A script with one additional character does not match its hash and would not run."""
    page = sweep_page("x", [SweepLevel(1, 9, 0, 10**9, 5, 6, 7)])
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(scripts) == 2
    policy = made_policy()
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
        assert hashes([script + " "])[0] not in policy
    assert "connect-src" not in policy
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
