/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   ports or fragments or tunnels or (vlan and (ports or fragments or tunnels or (vlan and (... or vlan))))
 *
 * The filter passes more than the servers' packets and never less. It costs a few comparisons for a packet of others:
 * a fragment has no ports, so all fragments pass; a tunnel passes by its ether type, IP protocol or UDP port. VXLAN
 * has headers of fixed sizes: what it carries for others is dropped if the inner packet is plain TCP or UDP in IPv4.
 *
 * pcap-filter(7): `vlan` moves all offsets that come after it, so it is the last term. `mpls` and `pppoes` would also
 * move them, so the filter matches their ether types. The numbers are those of peel.c.
 */
#include "packets/live_filter.h"

#include <stdio.h>

#include "base/error.h"

#define TUNNEL_PORTS(at) \
    at " 4789 or " at " 8472 or " at " 4790 or " at " 6081 or " at " 4754 or " at " 6635 or " at " 4500 or " at " 170" \
       "1"
/* Of VXLAN in IPv4, counted from the UDP header: 16 = inner Ethernet, 30 = inner IPv4, 50 = its ports. */
#define INNER_IS_PLAIN_IP4 "udp[28:2] = 0x800 and udp[30] = 0x45 and udp[36:2] & 0x3fff = 0"

static const char *const terms[] = {
    "ip[6:2] & 0x3fff != 0", /* more fragments, or an offset */
    /* Fragments of IPv6, and other extensions: what comes after them is not looked for. */
    "ip6[6] = 44 or ip6[6] = 0 or ip6[6] = 43 or ip6[6] = 60 or ip6[6] = 51",
    "ip[9] = 47 or ip[9] = 4 or ip[9] = 41 or ip[9] = 97 or ip[9] = 137 or ip[9] = 50 or ip[9] = 115",
    "ip6[6] = 47 or ip6[6] = 4 or ip6[6] = 41 or ip6[6] = 97 or ip6[6] = 137 or ip6[6] = 50 or ip6[6] = 115",
    "udp dst port 4790 or udp dst port 6081 or udp dst port 4754 or udp dst port 6635",
    "udp dst port 4500 or udp dst port 1701",   /* IPsec and L2TP: not read, but counted by name */
    "ether proto 0x8847 or ether proto 0x8848", /* MPLS */
    "ether proto 0x8864",                       /* PPPoE */
    "ether proto 0x8926 or ether proto 0x88e7 or ether proto 0x9200 or ether proto 0x880b or ether proto 0x6558",
    "ether proto 0x88e5", /* MACsec: not read, but counted by name */
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

/* One term of each port, such as "tcp port 3306": `form` has a %d. */
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

/* All that passes without a VLAN tag. */
static int add_untagged(pcap_t *pcap, const int32_t *ports, int32_t n_ports, struct qt_bytes *out)
{
    int failed = add_ports(out, "tcp port %d", ports, n_ports) || add_vxlan(out, ports, n_ports);
    for (size_t i = 0; i < sizeof terms / sizeof *terms && !failed; i++)
        if (compiles(pcap, terms[i]))
            failed = add(out, " or (") != 0 || add(out, terms[i]) != 0 || add(out, ")") != 0;
    return failed;
}

/* The filter looks inside of up to two VLAN tags; frames with more tags pass. A cooked link gives the kernel's tag
 * apart from the bytes, and libpcap has no `vlan` for it: frames with a second tag pass. */
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

int qt_live_filter_text(pcap_t *pcap, const int32_t *ports, int32_t n_ports, struct qt_bytes *out,
                        struct qt_error *error)
{
    size_t start = out->len;
    int failed = add_untagged(pcap, ports, n_ports, out) || add_tagged(pcap, out) || qt_bytes_add(out, "", 1) != 0;
    if (failed)
        return qt_fail(error, QT_ENOMEM, "out of memory for the filter");
    if (compiles(pcap, out->p + start))
        return QT_OK;
    out->len = start;
    if (add_ports(out, "tcp port %d", ports, n_ports) != 0 || qt_bytes_add(out, "", 1) != 0)
        return qt_fail(error, QT_ENOMEM, "out of memory for the filter");
    return compiles(pcap, out->p + start)
               ? QT_OK
               : qt_fail(error, QT_EINVALID, "cannot make a filter for this interface: %s", pcap_geterr(pcap));
}

int qt_live_filter_set(pcap_t *pcap, const int32_t *ports, int32_t n_ports, struct qt_error *error)
{
    struct bpf_program program;
    struct qt_bytes text = {NULL, 0, 0};
    int code = qt_live_filter_text(pcap, ports, n_ports, &text, error);
    if (code == QT_OK && pcap_compile(pcap, &program, text.p, 1, PCAP_NETMASK_UNKNOWN) != 0)
        code = qt_fail(error, QT_EINVALID, "cannot make the filter: %s", pcap_geterr(pcap));
    qt_bytes_free(&text);
    if (code != QT_OK)
        return code;
    int bad = pcap_setfilter(pcap, &program);
    pcap_freecode(&program);
    return bad ? qt_fail(error, QT_EIO, "cannot set the filter: %s", pcap_geterr(pcap)) : QT_OK;
}

int qt_packets_filter(int32_t link, const int32_t *ports, int32_t n_ports, char *out, size_t size,
                      struct qt_error *error)
{
    struct qt_bytes text = {NULL, 0, 0};
    pcap_t *pcap = pcap_open_dead(link, 262144);
    if (pcap == NULL)
        return qt_fail(error, QT_ENOMEM, "out of memory for the filter");
    int code = qt_live_filter_text(pcap, ports, n_ports, &text, error);
    pcap_close(pcap);
    if (code == QT_OK && text.len > size)
        code = qt_fail(error, QT_EINVALID, "the filter has %zu bytes: expected at most %zu", text.len, size);
    if (code == QT_OK)
        memcpy(out, text.p, text.len);
    qt_bytes_free(&text);
    return code;
}
