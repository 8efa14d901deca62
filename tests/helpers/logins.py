# SPDX-License-Identifier: Apache-2.0
"""Logins of the engine, and servers that use their own RSA key to decrypt the password."""

import time
from collections.abc import Callable

import duckdb
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from querytape.native.bindings.engine import Engine, EngineOptions, State

from .hostile import Client, greeting, packet

SALT = b"A" * 8 + b"B" * 12
SESSIONS = (
    "SELECT 1::BIGINT, 0::BIGINT, 0::BIGINT, NULL::VARCHAR, true, NULL::INTEGER, NULL::BIGINT, NULL::VARCHAR,"
    " NULL::INTEGER, NULL::VARCHAR"
)
Script = Callable[[Client], None]


def one_session(options: EngineOptions) -> str | None:
    """Open one engine session and end it. Return the reason of a failure, or None if the session opened."""
    with duckdb.connect() as con, Engine(options) as engine:
        con.execute("SET arrow_large_buffer_size = true")
        engine.sessions(con.sql(SESSIONS))
        engine.start()
        engine.feed_end()
        for _ in range(600):
            stats = engine.stats()
            if stats.sessions_failed or stats.sessions_opened:
                break
            time.sleep(0.1)
        else:
            raise AssertionError("the session neither opened nor failed")
        if not stats.sessions_failed:
            return None
        engine.stop(2)
        for _ in range(600):
            con.register("slice", engine.outcomes(100_000_000))
            con.execute("SELECT count(*) FROM slice").fetchall()
            if engine.stats().state == State.DONE:
                break
        con.register("results", engine.session_results())
        return str(con.sql("SELECT error FROM results").fetchall())


class Key:
    """The RSA key of a server. The key can decrypt the passwords that clients encrypted with its public part."""

    def __init__(self) -> None:
        self._private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.pem = self._private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def reads(self, heard: list[bytes], salt: bytes = SALT) -> set[bytes]:
        """Return every password that the key can decrypt. Encrypted passwords are packets of the key's length."""
        found = set()
        for data in heard:
            for at in range(max(len(data) - 255, 0)):
                try:
                    hidden = self._private.decrypt(
                        data[at : at + 256], padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
                    )
                except ValueError:
                    continue
                found.add(bytes(byte ^ salt[n % 20] for n, byte in enumerate(hidden)).rstrip(b"\0"))
        return found


def rsa_login_script(plugin: bytes, key: Key, switches: bool, unasked: bool) -> Script:
    """Return a login script for a server whose `plugin` needs the password, encrypted with the server's `key`.

    `switches`: the server names the plugin after the greeting, not in the greeting. `unasked`: the server sends the key
    without a request.
    """

    def script(client: Client) -> None:
        client.say(greeting(plugin=b"mysql_native_password" if switches else plugin))
        said, number = client.hear(), 2
        if switches:
            client.say(packet(number, b"\xfe" + plugin + b"\0" + SALT + b"\0"))
            said, number = client.hear(), number + 2
        if plugin == b"caching_sha2_password":
            client.say(packet(number, b"\1\4"))
            said, number = b"" if unasked else client.hear(), number + (1 if unasked else 2)
        if said or unasked:
            client.say(packet(number, b"\1" + key.pem))
            client.hear()
        client.hold()

    return script
