/* SPDX-License-Identifier: Apache-2.0 */
/* libpcap reads from a FILE. This file of querytape builds such a FILE on reader/input.h. That module unpacks .gz, .zst
 * and .xz, and counts the bytes read. */
#include "packets/capture_file.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "reader/input.h"

#define BUFFER ((size_t)256 << 10) /* fits the second-level cache */

#define LATEST_S INT64_C(7258118400) /* the year 2200 */

struct qt_capture_file {
    struct qt_input *input;
    FILE *file; /* owned by `pcap` once libpcap has opened it */
    pcap_t *pcap;
    int link;
    int64_t when_ns; /* time of the last packet with a valid time */
    char *path;
    struct qt_error fault; /* read error that occurred inside libpcap */
    struct qt_pcapng secrets;
};

static ssize_t read_some(void *cookie, char *out, size_t size)
{
    struct qt_capture_file *f = cookie;
    size_t got = 0;
    if (qt_input_read(f->input, out, size, &got, &f->fault) == QT_OK) {
        if (qt_pcapng_follow(&f->secrets, out, got) == 0)
            return (ssize_t)got;
        qt_fail(&f->fault, QT_EIO, "%s: out of memory for the TLS secrets", f->path);
    }
    errno = EIO;
    return -1;
}

struct qt_capture_file *qt_capture_file_open(const char *path, struct qt_input *input, struct qt_tls_log *keys,
                                             struct qt_error *error)
{
    char said[PCAP_ERRBUF_SIZE] = "";
    struct qt_capture_file *f = calloc(1, sizeof *f);
    if (f == NULL || (f->path = strdup(path)) == NULL) {
        free(f);
        qt_input_close(input);
        qt_fail(error, QT_ENOMEM, "%s: out of memory", path);
        return NULL;
    }
    f->secrets.log = keys;
    f->input = input != NULL ? input : qt_input_open(path, error);
    if (f->input != NULL) {
        f->file = fopencookie(f, "r", (cookie_io_functions_t){.read = read_some});
        if (f->file == NULL)
            qt_fail(error, QT_ENOMEM, "%s: out of memory", path);
    }
    if (f->file != NULL) {
        setvbuf(f->file, NULL, _IOFBF, BUFFER);
        f->pcap = pcap_fopen_offline_with_tstamp_precision(f->file, PCAP_TSTAMP_PRECISION_NANO, said);
        if (f->pcap == NULL && f->fault.code == QT_EIO)
            qt_fail(error, QT_EIO, "%s", f->fault.message);
        else if (f->pcap == NULL)
            qt_fail(error, QT_EFORMAT, "%s: cannot be read as a packet capture: %s", path, said);
    }
    if (f->pcap == NULL) {
        qt_capture_file_close(f);
        return NULL;
    }
    f->link = pcap_datalink(f->pcap);
    return f;
}

/* Stores the packet's time. Returns 0 if the time is invalid. A damaged record may contain any number of seconds. In
 * pcapng, this number has up to 64 bits. */
static int take_time(struct qt_capture_file *f, const struct pcap_pkthdr *header)
{
    int64_t seconds = (int64_t)header->ts.tv_sec, parts = (int64_t)header->ts.tv_usec;
    if (seconds < 0 || seconds >= LATEST_S || parts < 0 || parts >= INT64_C(1000000000))
        return 0;
    f->when_ns = seconds * INT64_C(1000000000) + parts;
    return 1;
}

int qt_capture_file_next(struct qt_capture_file *f, struct qt_packet *out, struct qt_error *error)
{
    struct pcap_pkthdr *header;
    const u_char *p;
    int timed;
    switch (pcap_next_ex(f->pcap, &header, &p)) {
    case 1:
        timed = take_time(f, header);
        *out = (struct qt_packet){
            p, header->caplen, header->len, f->when_ns, qt_pcapng_take_link(&f->secrets, f->link), !timed};
        return 1;
    case PCAP_ERROR_BREAK: /* end of the file */
        return 0;
    default:
        if (f->fault.code == QT_EIO)
            qt_fail(error, QT_EIO, "%s", f->fault.message);
        else
            qt_fail(error, QT_EFORMAT, "%s: %s", f->path, f->fault.code != 0 ? f->fault.message : pcap_geterr(f->pcap));
        return -1;
    }
}

static int is_regular(const char *path)
{
    struct stat what;
    return stat(path, &what) == 0 && S_ISREG(what.st_mode);
}

int qt_capture_file_is_stream(const struct qt_capture_file *f)
{
    return f->secrets.began && !f->secrets.off && !is_regular(f->path);
}

void qt_capture_file_take_secrets(const char *path, struct qt_tls_log *keys, const _Atomic int32_t *stopped)
{
    struct qt_pcapng secrets = {.log = keys};
    struct qt_input *input = is_regular(path) ? qt_input_open(path, NULL) : NULL;
    char *buffer = input != NULL ? malloc(BUFFER) : NULL;
    size_t got = 1;
    while (buffer != NULL && got > 0 && !secrets.off && !atomic_load_explicit(stopped, memory_order_relaxed)) {
        if (qt_input_read(input, buffer, BUFFER, &got, NULL) != QT_OK || qt_pcapng_follow(&secrets, buffer, got) != 0)
            break;
    }
    if (buffer != NULL)
        OPENSSL_cleanse(buffer, BUFFER);
    free(buffer);
    qt_input_close(input);
    qt_pcapng_end(&secrets);
}

uint64_t qt_capture_file_stored_bytes(const struct qt_capture_file *f) { return qt_input_stored_bytes(f->input); }

void qt_capture_file_close(struct qt_capture_file *f)
{
    if (f == NULL)
        return;
    if (f->pcap != NULL)
        pcap_close(f->pcap); /* also closes the FILE */
    else if (f->file != NULL)
        fclose(f->file);
    qt_input_close(f->input);
    qt_pcapng_end(&f->secrets);
    free(f->path);
    free(f);
}

/* The blocks of a pcapng file:
 *
 *   block            type, length | ... | length
 *   section header   0x0A0D0D0A, length, byte order 0x1A2B3C4D, ...
 *   interface        1, length, link type in 2 bytes, 2 zeros, snapshot length, ...
 *   packet           6 | 2, length, interface (2: in 2 bytes), ... | 3, length, ...: of the first interface
 *   secrets          10, length, type of secrets, their length, secrets, options
 */
enum { INTERFACE = 1, OLD_PACKET = 2, SIMPLE_PACKET = 3, PACKET = 6 };
enum { ETHERNET = 1, LINK_AT = 8, SNAPLEN_AT = 12, LARGEST_SNAPLEN = 1 << 24 };
enum { SECTION = 0x0A0D0D0A, SECRETS = 10, TLS_KEY_LOG = 0x544C534B, BYTE_ORDER_MAGIC = 0x1A2B3C4D, SMALLEST = 12 };

static uint32_t number(const struct qt_pcapng *s, size_t at)
{
    const uint8_t *p = s->head + at;
    return s->big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
                  : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

/* Returns the number of leading bytes that are needed to interpret the block. */
static size_t wanted(const struct qt_pcapng *s)
{
    if (s->has < 8)
        return 8;
    uint32_t type = number(s, 0);
    switch (type) {
    case SECRETS:
    case INTERFACE:
        return 16;
    case SECTION:
    case PACKET:
    case OLD_PACKET:
        return 12;
    default:
        return 8;
    }
}

/* Reads a 2-byte number from the block's head. */
static uint16_t short_number(const struct qt_pcapng *s, size_t at)
{
    const uint8_t *p = s->head + at;
    return (uint16_t)(s->big ? p[0] << 8 | p[1] : p[1] << 8 | p[0]);
}

static void add_interface(struct qt_pcapng *s)
{
    uint16_t link = short_number(s, LINK_AT);
    if (s->n_interfaces < QT_PCAPNG_INTERFACES)
        s->interfaces[s->n_interfaces++] = link;
}

static void add_packet(struct qt_pcapng *s, uint32_t interface)
{
    uint16_t link = interface < s->n_interfaces ? s->interfaces[interface] : ETHERNET;
    s->ahead[s->n_packets++ % QT_PCAPNG_AHEAD] = link;
}

/* Replaces a byte of an interface block for libpcap, so that all interfaces look alike: Ethernet, with a large snapshot
 * length. Returns the new byte. */
static char level(const struct qt_pcapng *s, size_t at, char byte)
{
    if (at >= SNAPLEN_AT && at < SNAPLEN_AT + 4)
        return (char)(LARGEST_SNAPLEN >> 8 * (s->big ? SNAPLEN_AT + 3 - at : at - SNAPLEN_AT));
    if (at >= LINK_AT && at < LINK_AT + 2)
        return (char)(ETHERNET >> 8 * (s->big ? LINK_AT + 1 - at : at - LINK_AT));
    return byte;
}

/* Interprets a block whose head is complete. */
static void begin_block(struct qt_pcapng *s)
{
    uint32_t type = number(s, 0);
    s->off = s->off || (!s->began && type != SECTION);
    s->began = 1;
    if (type == SECTION) {
        s->big = 0;
        s->big = number(s, 8) != BYTE_ORDER_MAGIC;
        s->off = s->off || number(s, 8) != BYTE_ORDER_MAGIC;
        s->n_interfaces = 0;
    }
    if (type == INTERFACE)
        add_interface(s);
    else if (type == PACKET || type == OLD_PACKET || type == SIMPLE_PACKET)
        add_packet(s, type == PACKET ? number(s, 8) : type == OLD_PACKET ? short_number(s, 8) : 0);
    uint64_t length = ((uint64_t)number(s, 4) + 3) / 4 * 4;
    if (length < SMALLEST || length <= s->has) {
        s->off = 1;
        return;
    }
    s->left = length - s->has;
    s->secrets = type == SECRETS && number(s, 8) == TLS_KEY_LOG ? number(s, 12) : 0;
    s->off = s->off || s->secrets > s->left;
}

int qt_pcapng_follow(struct qt_pcapng *s, char *p, size_t n)
{
    int code = 0;
    while (n > 0 && code == 0 && !s->off && s->log != NULL) {
        if (s->left > 0) {
            uint64_t most = s->secrets > 0 ? s->secrets : s->left;
            size_t some = most < n ? (size_t)most : n;
            if (s->secrets > 0) {
                code = qt_tls_log_take(s->log, &s->lines, p, some);
                OPENSSL_cleanse(p, some);
                s->secrets -= some;
                if (s->secrets == 0) {
                    code |= qt_tls_log_take(s->log, &s->lines, "\n", 1);
                    qt_tls_lines_end(&s->lines);
                }
            }
            s->left -= some;
            s->has = s->left > 0 ? s->has : 0;
            p += some;
            n -= some;
            continue;
        }
        s->head[s->has] = (uint8_t)*p;
        if (s->has >= 8 && number(s, 0) == INTERFACE)
            *p = level(s, s->has, *p);
        s->has++;
        p++;
        n--;
        if (s->has == wanted(s))
            begin_block(s);
    }
    return code;
}

int qt_pcapng_take_link(struct qt_pcapng *s, int otherwise)
{
    if (s->log == NULL || !s->began || s->taken >= s->n_packets || s->n_packets - s->taken > QT_PCAPNG_AHEAD)
        return otherwise;
    return s->ahead[s->taken++ % QT_PCAPNG_AHEAD];
}

void qt_pcapng_end(struct qt_pcapng *s) { qt_tls_lines_end(&s->lines); }
