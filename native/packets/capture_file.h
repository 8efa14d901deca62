/* SPDX-License-Identifier: Apache-2.0 */
/* Capture files by libpcap: pcap of both byte orders and resolutions, pcapng; packed ones too; "-" is stdin. */
#ifndef QT_CAPTURE_FILE_H
#define QT_CAPTURE_FILE_H

#include <stdatomic.h>

#include "querytape.h"
#include "tls/key_log.h"

struct qt_capture_file;

struct qt_packet {
    const uint8_t *p; /* until the next one is asked for */
    size_t captured, sent;
    int64_t when_ns; /* since the epoch */
    int link;        /* DLT_ number */
    int untimed;     /* its own time makes no sense: it has that of the packet before */
};

/* Takes the input over, in any case; NULL: the path is opened. Key logs inside the file go into `keys`, which may be
 * NULL and stays the caller's. QT_EFORMAT: no capture file. */
struct qt_capture_file *qt_capture_file_open(const char *path, struct qt_input *, struct qt_tls_log *keys,
                                             struct qt_error *);
/* 1; 0 at the end; -1 where the file is damaged (QT_EFORMAT) or unreadable (QT_EIO). */
int qt_capture_file_next(struct qt_capture_file *, struct qt_packet *out, struct qt_error *);
/* Is it a pcapng file that cannot be opened a second time, as a pipe? Its key logs may come behind their packets. */
int qt_capture_file_is_stream(const struct qt_capture_file *);
/* Reads the key logs inside a pcapng file, and nothing else of it. What cannot be read, or opened twice, has none;
 * ends early when *stopped is set. */
void qt_capture_file_take_secrets(const char *path, struct qt_tls_log *keys, const _Atomic int32_t *stopped);
uint64_t qt_capture_file_stored_bytes(const struct qt_capture_file *);
void qt_capture_file_close(struct qt_capture_file *);

#endif
