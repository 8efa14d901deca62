/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the decoder of one connection. The input is split into pieces of both directions, with missing bytes
 * between pieces. Each piece begins with a control byte. The lowest bit of the control byte is the direction. The
 * values 0xFE and 0xFF mark missing bytes. The remaining bits times four are the length of the piece. */
#include "protocol/decoder.h"
#include "querytape.h"

static int on_event(void *self, void *connection, const struct qt_decoded_event *e)
{
    volatile uint64_t sum = 0;
    (void)self;
    (void)connection;
    for (size_t i = 0; i < e->statement.len; i++)
        sum += (unsigned char)e->statement.p[i];
    for (size_t i = 0; i < e->params.len; i++)
        sum += (unsigned char)e->params.p[i];
    for (size_t i = 0; i < e->error.len; i++)
        sum += (unsigned char)e->error.p[i];
    return QT_OK;
}

static int on_session(void *self, void *connection, const struct qt_decoded_session *s)
{
    (void)self;
    (void)connection;
    (void)s;
    return QT_OK;
}

static void on_problem(void *self, void *connection, int64_t packet, const char *kind, const char *expected,
                       const char *found, size_t len)
{
    volatile uint64_t sum = 0;
    (void)self;
    (void)connection;
    (void)packet;
    (void)kind;
    (void)expected;
    for (size_t i = 0; i < len; i++)
        sum += (unsigned char)found[i];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qt_decoder_sink sink = {NULL, NULL, on_event, on_session, on_problem};
    struct qt_decoder_options options = {.joined_midway = size > 0 && data[0] & 1, .largest_kept = 1 << 16};
    struct qt_decoder *d = qt_decoder_new(&options, &sink);
    int64_t packet = 0;
    for (size_t at = 1; d != NULL && at < size; packet++) {
        uint8_t head = data[at++];
        enum qt_way way = (enum qt_way)(head & 1);
        if (head >= 0xFE) {
            (void)qt_decoder_skip(d, way, 10, packet, packet);
            continue;
        }
        size_t n = (size_t)(head >> 1) * 4;
        n = n < size - at ? n : size - at;
        (void)qt_decoder_take(d, way, (const char *)data + at, n, packet * 1000, packet);
        at += n;
    }
    if (d != NULL)
        (void)qt_decoder_end(d);
    qt_decoder_free(d);
    return 0;
}
