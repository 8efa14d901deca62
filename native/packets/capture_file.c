/* SPDX-License-Identifier: Apache-2.0 */
/* libpcap reads a FILE; ours is made of reader/input.h, which unpacks .gz, .zst and .xz and counts what it took. */
#include "packets/capture_file.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "packets/pcapng.h"
#include "reader/input.h"

#define BUFFER ((size_t)256 << 10) /* fits the second-level cache */

#define LATEST_S INT64_C(7258118400) /* 2200 */

struct qt_capture_file {
    struct qt_input *input;
    FILE *file; /* owned by pcap once that is open */
    pcap_t *pcap;
    int link;
    int64_t when_ns; /* of the last packet that had a time */
    char *path;
    struct qt_error fault; /* of reading, found inside libpcap */
    struct qt_pcapng secrets;
};

static ssize_t read_some(void *cookie, char *out, size_t size)
{
    struct qt_capture_file *f = cookie;
    size_t got = 0;
    if (qt_input_read(f->input, out, size, &got, &f->fault) == QT_OK) {
        if (qt_pcapng_follow(&f->secrets, out, got) == 0)
            return (ssize_t)got;
        qt_fail(&f->fault, QT_EIO, "%s: out of memory for its secrets", f->path);
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
            qt_fail(error, QT_EFORMAT, "%s: not a capture file that can be read: %s", path, said);
    }
    if (f->pcap == NULL) {
        qt_capture_file_close(f);
        return NULL;
    }
    f->link = pcap_datalink(f->pcap);
    return f;
}

/* A damaged record may have any number of seconds, 64 bits of them in pcapng. 0 = such a one. */
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
    case PCAP_ERROR_BREAK: /* the end of the file */
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
        pcap_close(f->pcap); /* closes the FILE */
    else if (f->file != NULL)
        fclose(f->file);
    qt_input_close(f->input);
    qt_pcapng_end(&f->secrets);
    free(f->path);
    free(f);
}
