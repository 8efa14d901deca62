# SPDX-License-Identifier: Apache-2.0
"""Rows of an Arrow stream of ours, read in Python: for tests that read thousands of small inputs."""

import itertools
import struct
from typing import Any

from cffi import FFI
from querytape.native.bindings.streams import Stream, stream_pointer

ABI = FFI()
ABI.cdef(
    """
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
"""
)
NUMBERS = {"l": ("q", 8), "i": ("i", 4)}


def rows(source: Stream) -> list[dict[str, Any]]:
    """Return a stream's rows as DuckDB returns them, and close it. Of numbers and texts alone, without an offset."""
    pointer, capsule = stream_pointer(source)
    stream = ABI.cast("struct ArrowArrayStream *", int(_address(pointer)))
    schema, out = ABI.new("struct ArrowSchema *"), []
    assert stream.get_schema(stream, schema) == 0
    fields = [schema.children[n] for n in range(schema.n_children)]
    specs = [(ABI.string(one.name).decode(), ABI.string(one.format).decode()) for one in fields]
    schema.release(schema)
    while True:
        array = ABI.new("struct ArrowArray *")
        assert stream.get_next(stream, array) == 0, ABI.string(stream.get_last_error(stream))
        if array.release == ABI.NULL:
            break
        assert array.offset == 0
        columns = [_column(array.children[n], specs[n][1], array.length) for n in range(array.n_children)]
        names = [name for name, _ in specs]
        out += [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        array.release(array)
    del capsule
    source.close()
    return out


def _address(pointer: Any) -> Any:
    from querytape.native._querytape import ffi

    return ffi.cast("uintptr_t", pointer)


def _column(array: Any, kind: str, count: int) -> list[Any]:
    assert (array.offset, array.length) == (0, count)
    if array.null_count == count:
        return [None] * count
    if kind in NUMBERS:
        code, size = NUMBERS[kind]
        values: list[Any] = list(struct.unpack(f"<{count}{code}", ABI.buffer(array.buffers[1], count * size)))
    else:
        ends = struct.unpack(f"<{count + 1}i", ABI.buffer(array.buffers[1], (count + 1) * 4))
        whole = bytes(ABI.buffer(array.buffers[2], ends[-1])) if ends[-1] else b""
        parts = [whole[begin:end] for begin, end in itertools.pairwise(ends)]
        values = [part.decode() for part in parts] if kind == "u" else list(parts)
    if array.null_count != 0:
        known = bytes(ABI.buffer(array.buffers[0], (count + 7) // 8))
        values = [value if known[n >> 3] >> (n & 7) & 1 else None for n, value in enumerate(values)]
    return values
