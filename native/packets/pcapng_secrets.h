/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the blocks of a pcapng file on its way to libpcap, and takes key logs out of its Decryption Secrets Blocks
 * (type 10, secrets of type TLS Key Log). Their bytes are overwritten with zeros: they go nowhere else. */
#ifndef QT_PCAPNG_SECRETS_H
#define QT_PCAPNG_SECRETS_H

#include "tls/key_log.h"

struct qt_pcapng_secrets {  /* zeroed before its first use, but for `log` */
    struct qt_tls_log *log; /* NULL = nothing is followed */
    struct qt_tls_lines lines;
    uint8_t head[20]; /* the first bytes of a block */
    size_t has;
    uint64_t left;       /* bytes of the block behind `head` */
    uint64_t secrets;    /* bytes of them that are a key log, from the next byte on */
    int began, big, off; /* big-endian; no pcapng, or damaged: libpcap says so */
};

/* Takes the next bytes of the file. 0, or -1 when out of memory. */
int qt_pcapng_secrets_follow(struct qt_pcapng_secrets *, char *p, size_t n);
void qt_pcapng_secrets_end(struct qt_pcapng_secrets *);

#endif
