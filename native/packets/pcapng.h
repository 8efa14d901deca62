/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the blocks of a pcapng file on its way to libpcap, and takes key logs out of its Decryption Secrets Blocks
 * (type 10, secrets of type TLS Key Log). Their bytes are overwritten with zeros: they go nowhere else.
 *
 * libpcap refuses interfaces whose snapshot lengths or link types differ. So it is shown interfaces that are all
 * alike, and the link type of each packet is kept here, for as many packets as its buffer can be ahead. */
#ifndef QT_PCAPNG_H
#define QT_PCAPNG_H

#include "tls/key_log.h"

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
    int began, big, off;             /* big-endian; no pcapng, or damaged: libpcap says so */
};

/* Takes the next bytes of the file. 0, or -1 when out of memory. */
int qt_pcapng_follow(struct qt_pcapng *, char *p, size_t n);
/* The link type of the next packet that libpcap gives; `otherwise` where that is not known. */
int qt_pcapng_take_link(struct qt_pcapng *, int otherwise);
void qt_pcapng_end(struct qt_pcapng *);

#endif
