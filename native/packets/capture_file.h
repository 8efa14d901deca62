/* SPDX-License-Identifier: Apache-2.0 */
/* Reads capture files with libpcap: pcap in both byte orders and time resolutions, and pcapng. Compressed files are
 * unpacked. The path "-" reads standard input. */
#ifndef QT_CAPTURE_FILE_H
#define QT_CAPTURE_FILE_H

#include <stdatomic.h>

#include "querytape.h"
#include "tls/key_log.h"

struct qt_capture_file;

struct qt_packet {
    const uint8_t *p; /* valid until the next packet is read */
    size_t captured, sent;
    int64_t when_ns; /* ns since the epoch */
    int link;        /* link type, a libpcap DLT_ number */
    int untimed;     /* the packet's time is invalid: `when_ns` is the previous packet's time */
};

/* Opens a capture file. Takes ownership of the input, also on failure. If the input is NULL, the path is opened. TLS
 * key logs inside the file are added to `keys`, which may be NULL and stays owned by the caller. The error is
 * QT_EFORMAT if the file is not a capture file. */
struct qt_capture_file *qt_capture_file_open(const char *path, struct qt_input *, struct qt_tls_log *keys,
                                             struct qt_error *);
/* Reads the next packet. Returns 1, or 0 at the end of the file. Returns -1 if the file is damaged (QT_EFORMAT) or
 * unreadable (QT_EIO). */
int qt_capture_file_next(struct qt_capture_file *, struct qt_packet *out, struct qt_error *);
/* Returns whether the capture is a pcapng file that cannot be opened twice, such as a pipe. Its key logs may follow the
 * packets that need them. */
int qt_capture_file_is_stream(const struct qt_capture_file *);
/* Reads only the key logs inside a pcapng file. A file that is unreadable or cannot be opened twice yields no keys.
 * Stops early when `*stopped` is set. */
void qt_capture_file_take_secrets(const char *path, struct qt_tls_log *keys, const _Atomic int32_t *stopped);
uint64_t qt_capture_file_stored_bytes(const struct qt_capture_file *);
void qt_capture_file_close(struct qt_capture_file *);

/* Parses the blocks of a pcapng file before libpcap gets the bytes. Extracts TLS key logs from the file's Decryption
 * Secrets Blocks (type 10, secrets of type TLS Key Log). The secrets are overwritten with zeros, so they do not reach
 * libpcap.
 *
 * libpcap rejects files whose interfaces differ in snapshot length or link type. All interfaces are therefore rewritten
 * to look alike. `ahead` stores the real link type of each packet, for as many packets as libpcap can read ahead. */
enum { QT_PCAPNG_INTERFACES = 256, QT_PCAPNG_AHEAD = 1 << 14 };

struct qt_pcapng {          /* must be zeroed before its first use, except `log` */
    struct qt_tls_log *log; /* NULL = the blocks are not parsed */
    struct qt_tls_lines lines;
    uint8_t head[20]; /* first bytes of the current block */
    size_t has;
    uint64_t left;                             /* bytes of the block that follow `head` */
    uint64_t secrets;                          /* remaining bytes of the block's key log, from the next byte on */
    uint16_t interfaces[QT_PCAPNG_INTERFACES]; /* link types of this section's interfaces */
    uint32_t n_interfaces;
    uint16_t ahead[QT_PCAPNG_AHEAD]; /* ring of the packets' link types */
    uint64_t n_packets, taken;       /* number of link types added to the ring and taken from the ring */
    int began, big;                  /* `began`: the first block has begun; `big`: the file is big-endian */
    int off;                         /* not a pcapng file, or a damaged file: libpcap reports the error */
};

/* Takes the next bytes of the file. Returns 0, or -1 when out of memory. */
int qt_pcapng_follow(struct qt_pcapng *, char *p, size_t n);
/* Returns the link type of libpcap's next packet, or `otherwise` if the link type is unknown. */
int qt_pcapng_take_link(struct qt_pcapng *, int otherwise);
void qt_pcapng_end(struct qt_pcapng *);

#endif
