/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed frames: 3 bytes of length, a sequence, 3 bytes of the length before compression (0 = stored as it is). They
 * join and split packets as they like, so what comes out goes through the same gathering as bytes that never were packed.
 * A frame unpacks to at most 16 MiB. */
#include <zlib.h>
#include <zstd.h>

#include "wire_private.h"

static size_t le24(const char *bytes)
{
    const uint8_t *p = (const uint8_t *)bytes;
    return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16;
}

static int unpack(struct qt_wire *w, const char *p, size_t n, size_t claimed)
{
    qt_bytes_clear(&w->inflated, KEEP_BYTES);
    if (w->inflated.room < claimed) {
        char *larger = realloc(w->inflated.p, claimed);
        if (larger == NULL)
            return QT_ENOMEM;
        w->inflated.p = larger;
        w->inflated.room = claimed;
    }
    if (w->compressed == 2) {
        if (w->zstd == NULL && (w->zstd = ZSTD_createDCtx()) == NULL)
            return QT_ENOMEM;
        size_t got = ZSTD_decompressDCtx(w->zstd, w->inflated.p, claimed, p, n);
        if (ZSTD_isError(got) || got != claimed)
            return QT_EFORMAT;
    } else {
        uLongf got = claimed;
        if (uncompress((Bytef *)w->inflated.p, &got, (const Bytef *)p, n) != Z_OK || got != claimed)
            return QT_EFORMAT;
    }
    w->inflated.len = claimed;
    return QT_OK;
}

static int frame(struct qt_wire *w, enum qt_way way, const char *p, int64_t when_ns, int64_t packet)
{
    size_t stored = le24(p), claimed = le24(p + 4);
    if (claimed == 0)
        return qt_wire_raw(w, way, p + 7, stored, when_ns, packet);
    int code = unpack(w, p + 7, stored, claimed);
    if (code == QT_EFORMAT) {
        qt_wire_problem(w, packet, "bad_compression", "a compressed frame", p, 7 + (stored < 32 ? stored : 32));
        return qt_wire_lose(w, packet);
    }
    if (code != QT_OK)
        return code;
    struct qt_bytes out = w->inflated; /* decoding may free or lose what w holds */
    w->inflated = (struct qt_bytes){NULL, 0, 0};
    code = qt_wire_raw(w, way, out.p, out.len, when_ns, packet);
    if (w->inflated.p == NULL)
        w->inflated = out;
    else
        qt_bytes_free(&out);
    return code;
}

int qt_wire_inflate(struct qt_wire *w, enum qt_way way, const char *p, size_t n, int64_t when_ns, int64_t packet)
{
    struct qt_stream *s = &w->way[way];
    int code = QT_OK;
    while (n > 0 && code == QT_OK && w->phase != PHASE_LOST && w->phase != PHASE_DONE) {
        if (!s->aligned && s->frame.len == 0 && (n < 7 || p[3] != 1))
            return QT_OK; /* the rest of an answer from before the gap */
        if (s->frame.len == 0 && n >= 7 && n >= le24(p) + 7) {
            size_t whole = le24(p) + 7;
            code = frame(w, way, p, when_ns, packet);
            p += whole;
            n -= whole;
            continue;
        }
        size_t want = s->frame.len < 7 ? 7 : le24(s->frame.p) + 7;
        size_t more = want - s->frame.len < n ? want - s->frame.len : n;
        if (qt_bytes_add(&s->frame, p, more) != 0)
            return QT_ENOMEM;
        p += more;
        n -= more;
        if (s->frame.len >= 7 && s->frame.len == le24(s->frame.p) + 7) {
            struct qt_bytes whole = s->frame;
            s->frame = (struct qt_bytes){NULL, 0, 0};
            code = frame(w, way, whole.p, when_ns, packet);
            qt_bytes_clear(&whole, KEEP_BYTES);
            if (s->frame.p == NULL)
                s->frame = whole;
            else
                qt_bytes_free(&whole);
        }
    }
    return code;
}
