/* SPDX-License-Identifier: Apache-2.0 */
/* Data flow of a live capture:
 *
 *   kernel's buffer --pcap_dispatch--> [ record | record | ... ] ring --> the parser
 *         capture thread: writes `head`            parser thread: writes `tail`
 *
 * A record is a header and the packet's bytes, without a break. A record that does not fit before the end of the ring
 * begins at the start of the ring. */
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

#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"

/* ---- the kernel's filter: the servers' TCP traffic in all encapsulations that frame.c and fragments.c read ----
 *
 *   ports or fragments or tunnels or (vlan and (ports or fragments or tunnels or (vlan and (... or vlan))))
 *
 * The filter may pass packets of other hosts, but it never drops packets of the servers. An unrelated packet costs a
 * few comparisons. All fragments pass, because a fragment has no ports.
 *
 * A tunnel passes by its ether type, IP protocol or UDP port. VXLAN headers have fixed sizes. The filter can therefore
 * drop VXLAN packets whose content is unrelated plain TCP or UDP in IPv4.
 *
 * pcap-filter(7): `vlan` moves the offsets of all terms after it, so `vlan` is the last term. `mpls` and `pppoes` would
 * also move the offsets, so the filter matches the ether types of MPLS and PPPoE. frame.c lists the same numbers. */

#define TUNNEL_PORTS(at) \
    at " 4789 or " at " 8472 or " at " 4790 or " at " 6081 or " at " 4754 or " at " 6635 or " at " 4500 or " at " 170" \
       "1"
/* Offsets of VXLAN in IPv4, counted from the UDP header: 16 = inner Ethernet, 30 = inner IPv4, 50 = inner ports. */
#define INNER_IS_PLAIN_IP4 "udp[28:2] = 0x800 and udp[30] = 0x45 and udp[36:2] & 0x3fff = 0"

static const char *const terms[] = {
    "ip[6:2] & 0x3fff != 0", /* more fragments follow, or the offset is not 0 */
    /* IPv6 fragments and other IPv6 extension headers. The filter does not parse the headers that follow them. */
    "ip6[6] = 44 or ip6[6] = 0 or ip6[6] = 43 or ip6[6] = 60 or ip6[6] = 51",
    "ip[9] = 47 or ip[9] = 4 or ip[9] = 41 or ip[9] = 97 or ip[9] = 137 or ip[9] = 50 or ip[9] = 115",
    "ip6[6] = 47 or ip6[6] = 4 or ip6[6] = 41 or ip6[6] = 97 or ip6[6] = 137 or ip6[6] = 50 or ip6[6] = 115",
    "udp dst port 4790 or udp dst port 6081 or udp dst port 4754 or udp dst port 6635",
    "udp dst port 4500 or udp dst port 1701",   /* IPsec and L2TP: counted but not parsed */
    "ether proto 0x8847 or ether proto 0x8848", /* MPLS */
    "ether proto 0x8864",                       /* PPPoE */
    "ether proto 0x8926 or ether proto 0x88e7 or ether proto 0x9200 or ether proto 0x880b or ether proto 0x6558",
    "ether proto 0x88e5", /* MACsec: counted but not parsed */
    "ether proto 0xaa",   /* SNAP */
};

static int compiles(pcap_t *pcap, const char *text)
{
    struct bpf_program program;
    if (pcap_compile(pcap, &program, text, 1, PCAP_NETMASK_UNKNOWN) != 0)
        return 0;
    pcap_freecode(&program);
    return 1;
}

static int add(struct qt_bytes *out, const char *text) { return qt_bytes_add(out, text, strlen(text)); }

/* Adds one term for each port, such as "tcp port 3306". `form` contains a %d. */
static int add_ports(struct qt_bytes *out, const char *form, const int32_t *ports, int32_t n_ports)
{
    char one[64];
    int failed = 0;
    for (int32_t i = 0; i < n_ports && !failed; i++) {
        int n = snprintf(one, sizeof one, form, (int)ports[i], (int)ports[i]);
        failed = (i > 0 && add(out, " or ") != 0) || qt_bytes_add(out, one, (size_t)n) != 0;
    }
    return failed;
}

static int add_vxlan(struct qt_bytes *out, const int32_t *ports, int32_t n_ports)
{
    return add(out, " or ((udp dst port 4789 or udp dst port 8472) and not (" INNER_IS_PLAIN_IP4
                    " and ((udp[39] = 6 and not (") != 0 ||
           add_ports(out, "udp[50:2] = %d or udp[52:2] = %d", ports, n_ports) != 0 ||
           add(out, ")) or (udp[39] = 17 and not (" TUNNEL_PORTS("udp[52:2] =") ")))))") != 0;
}

/* Adds the terms for all frames without a VLAN tag. */
static int add_untagged(pcap_t *pcap, const int32_t *ports, int32_t n_ports, struct qt_bytes *out)
{
    int failed = add_ports(out, "tcp port %d", ports, n_ports) || add_vxlan(out, ports, n_ports);
    for (size_t i = 0; i < sizeof terms / sizeof *terms && !failed; i++)
        if (compiles(pcap, terms[i]))
            failed = add(out, " or (") != 0 || add(out, terms[i]) != 0 || add(out, ")") != 0;
    return failed;
}

/* Adds the terms for frames with VLAN tags. The filter checks the contents of frames with up to two tags. All frames
 * with more tags pass.
 *
 * A cooked link delivers the first tag outside the frame's bytes, and libpcap cannot match that tag with `vlan`. On
 * such a link, all frames with a second tag pass. */
static int add_tagged(pcap_t *pcap, struct qt_bytes *out)
{
    static const char cooked[] = "ether proto 0x8100 or ether proto 0x88a8 or ether proto 0x9100";
    struct qt_bytes untagged = {NULL, 0, 0};
    int failed = qt_bytes_add(&untagged, out->p, out->len) != 0;
    for (int tag = 0; tag < 2 && !failed && compiles(pcap, "vlan"); tag++)
        failed = add(out, " or (vlan and (") != 0 || qt_bytes_add(out, untagged.p, untagged.len) != 0;
    if (!failed && out->len > untagged.len)
        failed = add(out, " or vlan))))") != 0;
    else if (!failed && compiles(pcap, cooked))
        failed = add(out, " or ") != 0 || add(out, cooked) != 0;
    qt_bytes_free(&untagged);
    return failed;
}

/* Adds the filter's text, terminated by a 0 byte, with all terms that this link layer supports. Sets `*ports_only` if
 * libpcap accepts only the port terms. Returns QT_EINVALID if libpcap rejects the port terms as well. */
static int make_filter(pcap_t *pcap, const int32_t *ports, int32_t n_ports, struct qt_bytes *out, int32_t *ports_only,
                       struct qt_error *error)
{
    size_t start = out->len;
    int failed = add_untagged(pcap, ports, n_ports, out) || add_tagged(pcap, out) || qt_bytes_add(out, "", 1) != 0;
    if (failed)
        return qt_fail(error, QT_ENOMEM, "out of memory for the packet filter");
    *ports_only = !compiles(pcap, out->p + start);
    if (!*ports_only)
        return QT_OK;
    out->len = start;
    if (add_ports(out, "tcp port %d", ports, n_ports) != 0 || qt_bytes_add(out, "", 1) != 0)
        return qt_fail(error, QT_ENOMEM, "out of memory for the packet filter");
    return compiles(pcap, out->p + start)
               ? QT_OK
               : qt_fail(error, QT_EINVALID, "cannot create a packet filter for this interface: %s", pcap_geterr(pcap));
}

static int set_filter(pcap_t *pcap, const int32_t *ports, int32_t n_ports, int32_t *ports_only, struct qt_error *error)
{
    struct bpf_program program;
    struct qt_bytes text = {NULL, 0, 0};
    int code = make_filter(pcap, ports, n_ports, &text, ports_only, error);
    if (code == QT_OK && pcap_compile(pcap, &program, text.p, 1, PCAP_NETMASK_UNKNOWN) != 0)
        code = qt_fail(error, QT_EINVALID, "cannot create the packet filter: %s", pcap_geterr(pcap));
    qt_bytes_free(&text);
    if (code != QT_OK)
        return code;
    int bad = pcap_setfilter(pcap, &program);
    pcap_freecode(&program);
    return bad ? qt_fail(error, QT_EIO, "cannot set the packet filter: %s", pcap_geterr(pcap)) : QT_OK;
}

/* ---- the capture thread and its ring ---- */

enum { SNAPLEN = 262144, TIMEOUT_MS = 50, QUIET_MS = 5 };
#define KERNEL_BYTES (64 << 20)
#define ALIGN(n) (((n) + 15) & ~(size_t)15)
#define WRAP UINT32_MAX

struct record {
    int64_t when_ns;
    uint32_t captured, sent; /* `captured` is WRAP if the next record is at the ring's start */
};

struct qt_live {
    pcap_t *pcap;
    int link;
    int32_t filters_ports_only; /* the filter drops packets in tunnels and fragments */
    char *ring;
    size_t size;
    _Atomic uint64_t head, tail; /* total bytes added and removed */
    uint64_t taken;              /* end of the record that the parser is using, counted like `head` */
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
        pad = l->size - at; /* large enough for a record's header, because sizes are multiples of 16 */
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

/* Reads the packets that the kernel still holds when the capture stops. The kernel delivers a block when the block is
 * full or after TIMEOUT_MS. */
static void drain_kernel(struct qt_live *l)
{
    char said[PCAP_ERRBUF_SIZE];
    int64_t until = qt_now() + 3 * TIMEOUT_MS * INT64_C(1000000);
    if (pcap_setnonblock(l->pcap, 1, said) != 0)
        return;
    for (int is_last = 0; !is_last;) { /* one more read, in case the thread slept until the deadline */
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
    return set_filter(l->pcap, o->ports, o->n_ports, &l->filters_ports_only, error);
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
    int code = l->ring != NULL ? open_interface(l, o, error)
                               : qt_fail(error, QT_ENOMEM, "out of memory for the packet buffer");
    if (code == QT_OK)
        code = qt_privileges_drop(o->user, error);
    if (code == QT_OK && !(l->has_thread = pthread_create(&l->thread, NULL, run, l) == 0))
        code = qt_fail(error, QT_EIO, "cannot start the capture thread");
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
    qt_json_int(json, "filters_ports_only", l->filters_ports_only);
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

/* Changes the process from root to the account `uid` and `gid`. */
static int become(uid_t uid, gid_t gid, struct qt_error *error)
{
    if (setgroups(1, &gid) != 0 || setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
        return qt_fail(error, QT_EIO, "cannot drop root privileges: %s", strerror(errno));
    return QT_OK;
}

static int without_capabilities(struct qt_error *error)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};
    data[0].effective = data[0].permitted = 1u << CAP_DAC_OVERRIDE;
    if (syscall(SYS_capset, &header, data) != 0)
        return qt_fail(error, QT_EIO, "cannot drop capabilities: %s", strerror(errno));
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
            return qt_fail(error, QT_EINVALID, "--user %s: this machine has no such user", user);
        return become(found.pw_uid, found.pw_gid, error);
    }
    const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
    if (uid != NULL && gid != NULL && atoi(uid) > 0)
        return become((uid_t)atoi(uid), (gid_t)atoi(gid), error);
    return without_capabilities(error);
}

int qt_packets_filter(int32_t link, const int32_t *ports, int32_t n_ports, char *out, size_t size, int32_t *ports_only,
                      struct qt_error *error)
{
    struct qt_bytes text = {NULL, 0, 0};
    pcap_t *pcap = pcap_open_dead(link, 262144);
    if (pcap == NULL)
        return qt_fail(error, QT_ENOMEM, "out of memory for the packet filter");
    int code = make_filter(pcap, ports, n_ports, &text, ports_only, error);
    pcap_close(pcap);
    if (code == QT_OK && text.len > size)
        code = qt_fail(error, QT_EINVALID, "expected a packet filter of at most %zu bytes, found %zu", size, text.len);
    if (code == QT_OK)
        memcpy(out, text.p, text.len);
    qt_bytes_free(&text);
    return code;
}
