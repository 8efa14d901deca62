/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses frames. A frame begins with 3 bytes of length, a sequence number and 3 bytes of uncompressed length (0 =
 * stored uncompressed). A frame uncompresses to at most 16 MiB.
 *
 * Frame borders are independent of packet borders. The content therefore goes through the same packet assembly as
 * uncompressed bytes. A frame that is complete in the current bytes is decompressed in place. Only incomplete frames
 * are copied. */
#include "protocol/compression.h"

#include <zlib.h>
#include <zstd.h>

#include "base/bytes.h"

enum { FRAME_HEADER = 7 };

static int unpack(struct qt_decoder *d, const char *p, size_t n, size_t claimed)
{
    if (d->inflated.room < claimed) {
        char *larger = realloc(d->inflated.p, claimed);
        if (larger == NULL)
            return QT_ENOMEM;
        d->inflated.p = larger;
        d->inflated.room = claimed;
    }
    if (d->compressed == 2) {
        if (d->zstd == NULL && (d->zstd = ZSTD_createDCtx()) == NULL)
            return QT_ENOMEM;
        size_t got = ZSTD_decompressDCtx(d->zstd, d->inflated.p, claimed, p, n);
        if (ZSTD_isError(got) || got != claimed)
            return QT_EFORMAT;
    } else {
        uLongf got = claimed;
        if (uncompress((Bytef *)d->inflated.p, &got, (const Bytef *)p, n) != Z_OK || got != claimed)
            return QT_EFORMAT;
    }
    d->inflated.len = claimed;
    return QT_OK;
}

/* Unpacks the complete frame at `p`. Returns 1 or -1, like qt_compression_next_frame. */
static int open_frame(struct qt_decoder *d, const char *p, int64_t packet, struct qt_span *content, int *code)
{
    size_t stored = qt_get_le24(p), claimed = qt_get_le24(p + 4);
    *content = (struct qt_span){p + FRAME_HEADER, stored};
    if (claimed == 0)
        return 1;
    *code = unpack(d, p + FRAME_HEADER, stored, claimed);
    if (*code == QT_EFORMAT)
        qt_decoder_problem(d, packet, "bad_compression", "expected a compressed frame", NULL, FRAME_HEADER + stored);
    *content = (struct qt_span){d->inflated.p, d->inflated.len};
    return *code == QT_OK ? 1 : -1;
}

static void use(struct qt_span *bytes, size_t n)
{
    bytes->p += n;
    bytes->len -= n;
}

int qt_compression_next_frame(struct qt_decoder *d, enum qt_way way, struct qt_span *bytes, int64_t packet,
                              struct qt_span *content, int *code)
{
    struct qt_stream *s = &d->way[way];
    if (!s->aligned && s->frame.len == 0 && (bytes->len < FRAME_HEADER || bytes->p[3] != 1)) {
        use(bytes, bytes->len); /* rest of a reply that began before the missing bytes */
        return 0;
    }
    if (s->frame.len == 0 && bytes->len >= FRAME_HEADER && bytes->len >= qt_get_le24(bytes->p) + FRAME_HEADER) {
        const char *frame = bytes->p;
        use(bytes, qt_get_le24(frame) + FRAME_HEADER);
        return open_frame(d, frame, packet, content, code);
    }
    while (bytes->len > 0) {
        size_t want = s->frame.len < FRAME_HEADER ? FRAME_HEADER : qt_get_le24(s->frame.p) + FRAME_HEADER;
        size_t more = want - s->frame.len < bytes->len ? want - s->frame.len : bytes->len;
        if (qt_bytes_add(&s->frame, bytes->p, more) != 0) {
            *code = QT_ENOMEM;
            return -1;
        }
        use(bytes, more);
        if (s->frame.len >= FRAME_HEADER && s->frame.len == qt_get_le24(s->frame.p) + FRAME_HEADER) {
            s->frame.len = 0; /* the bytes stay valid until the next frame is collected */
            return open_frame(d, s->frame.p, packet, content, code);
        }
    }
    return 0;
}

void qt_compression_release(struct qt_decoder *d, enum qt_way way)
{
    qt_bytes_clear(&d->inflated, KEEP_BYTES);
    if (d->way[way].frame.len == 0)
        qt_bytes_clear(&d->way[way].frame, KEEP_BYTES);
}
