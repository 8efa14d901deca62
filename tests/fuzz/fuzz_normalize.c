/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: normalizes any bytes as a statement. The normalizer must stay in bounds and return the same result
 * twice. Redacted text must be accepted again. Statement properties must be valid in every reading. scripts/fuzz builds
 * and runs this target. */
#include <stdlib.h>
#include <string.h>

#include "querytape.h"

static struct qt_statement normalize(struct qt_normalizer *n, const char *sql, size_t len)
{
    struct qt_statement out;
    if (qt_normalize(n, NULL, sql, len, &out, NULL) != QT_OK || out.text_len > 65536 || out.redacted_len > 65536 ||
        out.klass < 0 || out.klass > QT_CLASS_ADMIN || out.danger < 0 || out.danger > QT_DANGER_LOCK_TABLES)
        abort();
    return out;
}

static void properties(const struct qt_normalizer *n, const char *sql, size_t len)
{
    for (uint8_t reading = 0; reading <= 3; reading++) {
        struct qt_session_mode mode = {.reading = reading, .known = 3};
        uint64_t found = qt_statement_properties(n, &mode, sql, len);
        if (found >> 1 >= QT_PROPERTY_SELECTS_ALL || found != qt_statement_properties(n, &mode, sql, len))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qt_normalizer *n = qt_normalizer_new();
    const char *sql = (const char *)data;
    struct qt_statement first = normalize(n, sql, size);
    struct qt_statement again = normalize(n, sql, size);
    if (first.digest != again.digest || first.flags != again.flags)
        abort();
    properties(n, sql, size);
    if (again.redacted != NULL) {
        size_t len = again.redacted_len;
        char *redacted = malloc(len ? len : 1);
        memcpy(redacted, again.redacted, len);
        normalize(n, redacted, len);
        free(redacted);
    }
    qt_normalizer_free(n);
    return 0;
}
