# SPDX-License-Identifier: Apache-2.0
"""XXH3-128 of bytes in pieces of any size, compared with the output of the reference program."""

import pytest
from querytape.native.bindings.file_hash import FileHash

KNOWN = {
    b"": "99aa06d3014798d86001c324468d497f",
    b"querytape": "78a72b39ad5defc4f6b2677c4cb8eb0e",
    bytes(range(256)) * 5000: "f04a656f7c455c227daf22229bad219a",
}


@pytest.mark.parametrize("content", KNOWN, ids=len)
@pytest.mark.parametrize("at_once", [1 << 20, 4097, 7])
def test_hashes_match_xxhsum(content: bytes, at_once: int) -> None:
    """Expected values are the output of `xxhsum -H2` for the same bytes."""
    made = FileHash()
    for at in range(0, len(content), at_once):
        made.update(memoryview(content)[at : at + at_once])
    assert made.hexdigest() == KNOWN[content]
