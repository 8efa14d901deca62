/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the TLS data of one connection, in steps. The first byte selects the input: 1 = both hello messages were
 * exchanged, 2 = the input is a key log, 4 = the input is a pcapng file. Each step begins with a control byte, whose
 * lowest bit is the direction. A step is plain bytes, missing bytes, or the content of a record. Records are encrypted
 * with the right keys, so that the fuzzer reaches the code after decryption. */
#include "../native/tls_records.h"
#include "packets/capture_file.h"
#include "tls/tls.h"

enum { BYTES, SEALED_DATA, SEALED_HANDSHAKE, GAP };

static int on_plain(void *self, int way, const struct qt_tls_plain *p)
{
    volatile uint64_t sum = 0;
    (void)self;
    (void)way;
    for (size_t i = 0; i < p->n; i++)
        sum += p->p[i];
    return QT_OK;
}

static int on_gap(void *self, int way, uint64_t lost, int64_t when_ns, int64_t packet)
{
    (void)self;
    (void)way;
    (void)lost;
    (void)when_ns;
    (void)packet;
    return QT_OK;
}

static void connection(struct qt_tls_log *log, int has_hellos, const uint8_t *data, size_t size)
{
    struct qt_tls_sink sink = {NULL, on_plain, on_gap};
    struct qt_tls *t = qt_tls_new(log, &sink);
    struct qt_tls_secret secrets[2] = {secret_of(CLIENT_SECRET), secret_of(SERVER_SECRET)};
    uint64_t seq[2] = {0, 0};
    uint8_t record[1200];
    for (int way = 0; way < 2 && has_hellos; way++)
        (void)qt_tls_take(t, way, record, hello(way, record), 0, 0);
    for (size_t at = 0; at + 1 < size;) {
        int way = data[at] & 1, what = data[at] >> 1 & 3;
        size_t n = (size_t)data[at + 1] * (data[at] & 8 ? 4 : 1);
        at += 2;
        n = n < size - at ? n : size - at;
        if (what == GAP) {
            (void)qt_tls_skip(t, way, n, 1, 1);
            continue;
        }
        if (what == BYTES) {
            (void)qt_tls_take(t, way, data + at, n, 1, 1);
        } else {
            size_t sealed = seal(&secrets[way], seq[way]++, what == SEALED_DATA ? QT_TLS_DATA : QT_TLS_HANDSHAKE,
                                 data + at, n, record);
            (void)qt_tls_take(t, way, record, sealed, 2, 2);
        }
        at += n;
    }
    (void)qt_tls_finish(t);
    qt_tls_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qt_tls_log *log = qt_tls_log_new();
    struct qt_tls_lines lines = {0};
    char *copy = malloc(size + 1);
    if (log == NULL || copy == NULL || size == 0) {
        qt_tls_log_free(log);
        free(copy);
        return 0;
    }
    memcpy(copy, data + 1, size - 1);
    if (data[0] & 4) {
        struct qt_pcapng secrets = {.log = log};
        for (size_t at = 0; at < size - 1; at += 97)
            (void)qt_pcapng_follow(&secrets, copy + at, size - 1 - at < 97 ? size - 1 - at : 97);
        qt_pcapng_end(&secrets);
    } else if (data[0] & 2) {
        (void)qt_tls_log_take(log, &lines, copy, size - 1);
    } else {
        (void)qt_tls_log_take(log, &lines, KEY_LOG, strlen(KEY_LOG));
        connection(log, data[0] & 1, data + 1, size - 1);
    }
    qt_tls_lines_end(&lines);
    free(copy);
    qt_tls_log_free(log);
    return 0;
}
