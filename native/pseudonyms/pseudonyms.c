/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and frees the pseudonyms. The key is kept in the cipher. */
#include "pseudonyms/pseudonyms_state.h"

#include <stdlib.h>

#include "querytape.h"

struct qt_pseudonyms *qt_pseudonyms_new(const uint8_t *key)
{
    struct qt_pseudonyms *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    qt_keywords_init(&s->keywords);
    s->cipher = EVP_CIPHER_CTX_new();
    if (s->cipher == NULL || EVP_EncryptInit_ex(s->cipher, EVP_aes_128_ecb(), NULL, key, NULL) != 1) {
        qt_pseudonyms_free(s);
        return NULL;
    }
    EVP_CIPHER_CTX_set_padding(s->cipher, 0);
    return s;
}

void qt_pseudonyms_free(struct qt_pseudonyms *s)
{
    if (s == NULL)
        return;
    EVP_CIPHER_CTX_free(s->cipher);
    free(s->symbol);
    free(s->before);
    qt_ranges_free(&s->ranges);
    free(s);
}

int64_t qt_pseudonyms_ambiguous(const struct qt_pseudonyms *s) { return s->ambiguous; }
