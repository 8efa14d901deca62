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

/* Follows the blocks of a pcapng file on its way to libpcap, and takes key logs out of its Decryption Secrets Blocks
 * (type 10, secrets of type TLS Key Log). Their bytes are overwritten with zeros: they go nowhere else.
 *
 * libpcap refuses interfaces whose snapshot lengths or link types differ. So it is shown interfaces that are all
 * alike, and the link type of each packet is kept here, for as many packets as its buffer can be ahead. */
enum { QT_PCAPNG_INTERFACES = 256, QT_PCAPNG_AHEAD = 1 << 14 };

struct qt_pcapng {          /* zeroed before its first use, but for `log` */
    struct qt_tls_log *log; /* NULL = nothing is followed */
    struct qt_tls_lines lines;
    uint8_t head[20]; /* the first bytes of a block */
    size_t has;
    uint64_t left;                             /* bytes of the block behind `head` */
    uint64_t secrets;                          /* bytes of them that are a key log, from the next byte on */
    uint16_t interfaces[QT_PCAPNG_INTERFACES]; /* of this section: link types */
    uint32_t n_interfaces;
    uint16_t ahead[QT_PCAPNG_AHEAD]; /* link types of packets, a ring */
    uint64_t n_packets, taken;       /* put into it, taken out of it */
    int began, big;                  /* big: the file is big-endian */
    int off;                         /* the file is no pcapng, or it is damaged: libpcap reports that */
};

/* Takes the next bytes of the file. 0, or -1 when out of memory. */
int qt_pcapng_follow(struct qt_pcapng *, char *p, size_t n);
/* The link type of the next packet that libpcap gives; `otherwise` where that is not known. */
int qt_pcapng_take_link(struct qt_pcapng *, int otherwise);
void qt_pcapng_end(struct qt_pcapng *);

#endif
