/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   kernel's buffer --pcap_dispatch--> [ record | record | ... ] ring --> the parser
 *        the capture's thread              one writes `head`, the other `tail`
 *
 * A record is a header and the packet's bytes, whole: what does not fit before the ring's end begins at its start.
 */
#include "packets/live.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pcap/pcap.h>
#include <pthread.h>
#include <pwd.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "packets/live_filter.h"

enum { SNAPLEN = 262144, TIMEOUT_MS = 50, QUIET_MS = 5 };
#define KERNEL_BYTES (64 << 20)
#define ALIGN(n) (((n) + 15) & ~(size_t)15)
#define WRAP UINT32_MAX

struct record {
    int64_t when_ns;
    uint32_t captured, sent; /* captured == WRAP: the next record is at the ring's start */
};

struct qt_live {
    pcap_t *pcap;
    int link;
    char *ring;
    size_t size;
    _Atomic uint64_t head, tail; /* bytes since the start */
    uint64_t taken;              /* where the record that the parser has ends */
    pthread_t thread;
    int has_thread;
    _Atomic int stopped, ended;
    _Atomic uint64_t ring_dropped, kernel_dropped, interface_dropped, received;
    int64_t part_ns, part_began_ns;
    char fault[PCAP_ERRBUF_SIZE];
    _Atomic int failed;
};

static void on_packet(u_char *self, const struct pcap_pkthdr *h, const u_char *bytes)
{
    struct qt_live *l = (struct qt_live *)(void *)self;
    uint64_t head = atomic_load_explicit(&l->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&l->tail, memory_order_acquire);
    size_t at = head % l->size, need = ALIGN(sizeof(struct record) + h->caplen), pad = 0;
    if (l->size - at < need)
        pad = l->size - at; /* always at least a record's header: all is aligned to 16 */
    if (head + pad + need - tail > l->size) {
        atomic_fetch_add_explicit(&l->ring_dropped, 1, memory_order_relaxed);
        return;
    }
    if (pad > 0) {
        *(struct record *)(void *)(l->ring + at) = (struct record){0, WRAP, 0};
        at = 0;
    }
    struct record *r = (struct record *)(void *)(l->ring + at);
    *r = (struct record){(int64_t)h->ts.tv_sec * INT64_C(1000000000) + h->ts.tv_usec, h->caplen, h->len};
    memcpy(r + 1, bytes, h->caplen);
    atomic_store_explicit(&l->head, head + pad + need, memory_order_release);
}

static void note_drops(struct qt_live *l)
{
    struct pcap_stat s;
    if (pcap_stats(l->pcap, &s) != 0)
        return;
    atomic_store(&l->received, s.ps_recv);
    atomic_store(&l->kernel_dropped, s.ps_drop);
    atomic_store(&l->interface_dropped, s.ps_ifdrop);
}

/* What the kernel has already when the capture is stopped: it hands a block over when that is full, or after
 * TIMEOUT_MS. */
static void drain_kernel(struct qt_live *l)
{
    char said[PCAP_ERRBUF_SIZE];
    int64_t until = qt_now() + 3 * TIMEOUT_MS * INT64_C(1000000);
    if (pcap_setnonblock(l->pcap, 1, said) != 0)
        return;
    for (int is_last = 0; !is_last;) { /* once more behind the time: this thread may have slept until then */
        is_last = qt_now() >= until;
        if (pcap_dispatch(l->pcap, -1, on_packet, (u_char *)(void *)l) <= 0 && !is_last)
            nanosleep(&(struct timespec){0, QUIET_MS * 1000000L}, NULL);
    }
}

static void *run(void *self)
{
    struct qt_live *l = self;
    int64_t looked = qt_now();
    while (!atomic_load_explicit(&l->stopped, memory_order_relaxed)) {
        if (pcap_dispatch(l->pcap, -1, on_packet, (u_char *)(void *)l) < 0 && !atomic_load(&l->stopped)) {
            snprintf(l->fault, sizeof l->fault, "%s", pcap_geterr(l->pcap));
            atomic_store(&l->failed, 1);
            break;
        }
        if (qt_now() - looked > INT64_C(1000000000)) {
            looked = qt_now();
            note_drops(l);
        }
    }
    drain_kernel(l);
    note_drops(l);
    atomic_store(&l->ended, 1);
    return NULL;
}

static int open_interface(struct qt_live *l, const struct qt_packets_options *o, struct qt_error *error)
{
    char said[PCAP_ERRBUF_SIZE] = "";
    l->pcap = pcap_create(o->interface, said);
    if (l->pcap == NULL)
        return qt_fail(error, QT_EIO, "%s: %s", o->interface, said);
    pcap_set_snaplen(l->pcap, SNAPLEN);
    pcap_set_timeout(l->pcap, TIMEOUT_MS);
    pcap_set_buffer_size(l->pcap, KERNEL_BYTES);
    pcap_set_tstamp_precision(l->pcap, PCAP_TSTAMP_PRECISION_NANO);
    int status = pcap_activate(l->pcap);
    if (status == PCAP_ERROR_PERM_DENIED)
        return qt_fail(error, QT_EACCES, "%s: no permission to capture", o->interface);
    if (status < 0)
        return qt_fail(error, QT_EIO, "%s: %s", o->interface, pcap_geterr(l->pcap));
    l->link = pcap_datalink(l->pcap);
    return qt_live_filter_set(l->pcap, o->ports, o->n_ports, error);
}

struct qt_live *qt_live_open(const struct qt_packets_options *o, struct qt_error *error)
{
    struct qt_live *l = calloc(1, sizeof *l);
    if (l == NULL) {
        qt_fail(error, QT_ENOMEM, "out of memory");
        return NULL;
    }
    l->size = ALIGN(o->ring_bytes > (1 << 20) ? (size_t)o->ring_bytes : (size_t)1 << 20);
    l->part_ns = o->part_ns > 0 ? o->part_ns : INT64_C(5000000000);
    l->part_began_ns = qt_now();
    l->ring = malloc(l->size);
    int code = l->ring != NULL ? open_interface(l, o, error) : qt_fail(error, QT_ENOMEM, "out of memory for the ring");
    if (code == QT_OK)
        code = qt_privileges_drop(o->user, error);
    if (code == QT_OK && !(l->has_thread = pthread_create(&l->thread, NULL, run, l) == 0))
        code = qt_fail(error, QT_EIO, "no thread for capturing");
    if (code == QT_OK)
        return l;
    qt_live_close(l);
    return NULL;
}

int qt_live_next(struct qt_live *l, struct qt_packet *out, struct qt_error *error)
{
    atomic_store_explicit(&l->tail, l->taken, memory_order_release);
    for (;;) {
        int ended = atomic_load(&l->ended);
        uint64_t head = atomic_load_explicit(&l->head, memory_order_acquire);
        if (head == l->taken) {
            if (ended && atomic_load(&l->failed))
                return qt_fail(error, QT_EIO, "the capture ended: %s", l->fault), -1;
            if (ended)
                return 0;
            nanosleep(&(struct timespec){0, QUIET_MS * 1000000L}, NULL);
            return QT_LIVE_QUIET;
        }
        size_t at = l->taken % l->size;
        const struct record *r = (const struct record *)(const void *)(l->ring + at);
        if (r->captured == WRAP) {
            l->taken += l->size - at;
            continue;
        }
        *out = (struct qt_packet){(const uint8_t *)(r + 1), r->captured, r->sent, r->when_ns, l->link, 0};
        l->taken += ALIGN(sizeof *r + r->captured);
        return 1;
    }
}

int qt_live_is_part_due(struct qt_live *l)
{
    int64_t now = qt_now();
    if (now - l->part_began_ns < l->part_ns)
        return 0;
    l->part_began_ns = now;
    return 1;
}

uint64_t qt_live_count_lost(struct qt_live *l, uint64_t *kernel, uint64_t *interface, uint64_t *ring)
{
    *kernel = atomic_load(&l->kernel_dropped);
    *interface = atomic_load(&l->interface_dropped);
    *ring = atomic_load(&l->ring_dropped);
    return *kernel + *interface + *ring;
}

void qt_live_describe(struct qt_live *l, struct qt_json *json)
{
    qt_json_int(json, "packets_received", (int64_t)atomic_load(&l->received));
    qt_json_int(json, "dropped_by_kernel", (int64_t)atomic_load(&l->kernel_dropped));
    qt_json_int(json, "dropped_by_interface", (int64_t)atomic_load(&l->interface_dropped));
    qt_json_int(json, "dropped_by_ring", (int64_t)atomic_load(&l->ring_dropped));
}

void qt_live_stop(struct qt_live *l)
{
    atomic_store(&l->stopped, 1);
    pcap_breakloop(l->pcap);
}

void qt_live_close(struct qt_live *l)
{
    if (l == NULL)
        return;
    if (l->has_thread) {
        qt_live_stop(l);
        pthread_join(l->thread, NULL);
    }
    if (l->pcap != NULL)
        pcap_close(l->pcap);
    free(l->ring);
    free(l);
}

/* Drops root: to another account where one is known, else to root without its capabilities. */
static int become(uid_t uid, gid_t gid, struct qt_error *error)
{
    if (setgroups(1, &gid) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
        return qt_fail(error, QT_EIO, "root's privileges can't be dropped: %s", strerror(errno));
    return QT_OK;
}

static int without_capabilities(struct qt_error *error)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};
    data[0].effective = data[0].permitted = 1u << CAP_DAC_OVERRIDE;
    if (syscall(SYS_capset, &header, data) != 0)
        return qt_fail(error, QT_EIO, "capabilities can't be dropped: %s", strerror(errno));
    return QT_OK;
}

int qt_privileges_drop(const char *user, struct qt_error *error)
{
    if (geteuid() != 0)
        return QT_OK;
    if (user != NULL) {
        char room[4096];
        struct passwd found, *is = NULL;
        if (getpwnam_r(user, &found, room, sizeof room, &is) != 0 || is == NULL)
            return qt_fail(error, QT_EINVALID, "--user %s: this machine knows no such user", user);
        return become(found.pw_uid, found.pw_gid, error);
    }
    const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
    if (uid != NULL && gid != NULL && atoi(uid) > 0)
        return become((uid_t)atoi(uid), (gid_t)atoi(gid), error);
    return without_capabilities(error);
}
