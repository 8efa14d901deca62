/* SPDX-License-Identifier: Apache-2.0 */
/* The filter of a live capture if libpcap refuses a part of the filter for a link layer. The omitted part is
 * reported. */
#include "check.h"
#include "failing.h"
#include "querytape.h"

static const int32_t PORTS[] = {3306, 33061};
static const int32_t LINKS[] = {0, 1, 9, 12, 50, 51, 104, 113, 228, 276};
static const char ONLY[] = "tcp port 3306 or tcp port 33061";

static int make(int32_t link, char *out, size_t size, int32_t *ports_only)
{
    struct qt_error error;
    *ports_only = -1;
    return qt_packets_filter(link, PORTS, 2, out, size, ports_only, &error);
}

static void complete_filter_is_used_if_libpcap_accepts_it(void)
{
    char text[8192];
    int32_t ports_only;
    for (size_t i = 0; i < sizeof LINKS / sizeof *LINKS; i++) {
        CHECK_INT(make(LINKS[i], text, sizeof text, &ports_only), QT_OK);
        CHECK_INT(ports_only, 0);
        CHECK(strncmp(text, ONLY, sizeof ONLY - 1) == 0 && strlen(text) > sizeof ONLY);
    }
}

/* libpcap accepts each term alone but refuses the complete filter. */
static void filter_of_ports_is_used_if_the_complete_filter_fails(void)
{
    char text[8192];
    int32_t ports_only;
    failing_filters(200);
    for (size_t i = 0; i < sizeof LINKS / sizeof *LINKS; i++) {
        CHECK_INT(make(LINKS[i], text, sizeof text, &ports_only), QT_OK);
        CHECK_INT(ports_only, 1);
        CHECK_TEXT(text, ONLY);
    }
    failing_filters(0);
}

static void filter_that_does_not_compile_is_an_error(void)
{
    char text[8192];
    int32_t ports_only;
    failing_filters(1);
    CHECK_INT(make(1, text, sizeof text, &ports_only), QT_EINVALID);
    failing_filters(0);
    CHECK_INT(make(1, text, sizeof ONLY, &ports_only), QT_EINVALID);
}

int main(void)
{
    RUN(complete_filter_is_used_if_libpcap_accepts_it);
    RUN(filter_of_ports_is_used_if_the_complete_filter_fails);
    RUN(filter_that_does_not_compile_is_an_error);
    return 0;
}
