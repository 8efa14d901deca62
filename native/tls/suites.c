/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as IANA's registry "TLS Cipher Suites" has them. What the keys were agreed with (RSA, DHE, ECDHE) makes no
 * difference here: the key log has what came of it. */
#include "tls/suites.h"

#include <stddef.h>

static const struct qt_tls_suite suites[] = {
    {0x1301, QT_TLS_GCM, 1, 16, 0, 32},      /* TLS_AES_128_GCM_SHA256 */
    {0x1302, QT_TLS_GCM, 1, 32, 0, 48},      /* TLS_AES_256_GCM_SHA384 */
    {0x1303, QT_TLS_CHACHA20, 1, 32, 0, 32}, /* TLS_CHACHA20_POLY1305_SHA256 */
    {0x009C, QT_TLS_GCM, 0, 16, 0, 32},      /* RSA_WITH_AES_128_GCM_SHA256 */
    {0x009D, QT_TLS_GCM, 0, 32, 0, 48},      /* RSA_WITH_AES_256_GCM_SHA384 */
    {0x009E, QT_TLS_GCM, 0, 16, 0, 32},      /* DHE_RSA_WITH_AES_128_GCM_SHA256 */
    {0x009F, QT_TLS_GCM, 0, 32, 0, 48},      /* DHE_RSA_WITH_AES_256_GCM_SHA384 */
    {0x00A2, QT_TLS_GCM, 0, 16, 0, 32},      /* DHE_DSS_WITH_AES_128_GCM_SHA256 */
    {0x00A3, QT_TLS_GCM, 0, 32, 0, 48},      /* DHE_DSS_WITH_AES_256_GCM_SHA384 */
    {0xC02B, QT_TLS_GCM, 0, 16, 0, 32},      /* ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 */
    {0xC02C, QT_TLS_GCM, 0, 32, 0, 48},      /* ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 */
    {0xC02F, QT_TLS_GCM, 0, 16, 0, 32},      /* ECDHE_RSA_WITH_AES_128_GCM_SHA256 */
    {0xC030, QT_TLS_GCM, 0, 32, 0, 48},      /* ECDHE_RSA_WITH_AES_256_GCM_SHA384 */
    {0xCCA8, QT_TLS_CHACHA20, 0, 32, 0, 32}, /* ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 */
    {0xCCA9, QT_TLS_CHACHA20, 0, 32, 0, 32}, /* ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 */
    {0xCCAA, QT_TLS_CHACHA20, 0, 32, 0, 32}, /* DHE_RSA_WITH_CHACHA20_POLY1305_SHA256 */
    {0x002F, QT_TLS_CBC, 0, 16, 20, 32},     /* RSA_WITH_AES_128_CBC_SHA */
    {0x0035, QT_TLS_CBC, 0, 32, 20, 32},     /* RSA_WITH_AES_256_CBC_SHA */
    {0x0032, QT_TLS_CBC, 0, 16, 20, 32},     /* DHE_DSS_WITH_AES_128_CBC_SHA */
    {0x0038, QT_TLS_CBC, 0, 32, 20, 32},     /* DHE_DSS_WITH_AES_256_CBC_SHA */
    {0x0033, QT_TLS_CBC, 0, 16, 20, 32},     /* DHE_RSA_WITH_AES_128_CBC_SHA */
    {0x0039, QT_TLS_CBC, 0, 32, 20, 32},     /* DHE_RSA_WITH_AES_256_CBC_SHA */
    {0xC009, QT_TLS_CBC, 0, 16, 20, 32},     /* ECDHE_ECDSA_WITH_AES_128_CBC_SHA */
    {0xC00A, QT_TLS_CBC, 0, 32, 20, 32},     /* ECDHE_ECDSA_WITH_AES_256_CBC_SHA */
    {0xC013, QT_TLS_CBC, 0, 16, 20, 32},     /* ECDHE_RSA_WITH_AES_128_CBC_SHA */
    {0xC014, QT_TLS_CBC, 0, 32, 20, 32},     /* ECDHE_RSA_WITH_AES_256_CBC_SHA */
    {0x003C, QT_TLS_CBC, 0, 16, 32, 32},     /* RSA_WITH_AES_128_CBC_SHA256 */
    {0x003D, QT_TLS_CBC, 0, 32, 32, 32},     /* RSA_WITH_AES_256_CBC_SHA256 */
    {0x0040, QT_TLS_CBC, 0, 16, 32, 32},     /* DHE_DSS_WITH_AES_128_CBC_SHA256 */
    {0x006A, QT_TLS_CBC, 0, 32, 32, 32},     /* DHE_DSS_WITH_AES_256_CBC_SHA256 */
    {0x0067, QT_TLS_CBC, 0, 16, 32, 32},     /* DHE_RSA_WITH_AES_128_CBC_SHA256 */
    {0x006B, QT_TLS_CBC, 0, 32, 32, 32},     /* DHE_RSA_WITH_AES_256_CBC_SHA256 */
    {0xC023, QT_TLS_CBC, 0, 16, 32, 32},     /* ECDHE_ECDSA_WITH_AES_128_CBC_SHA256 */
    {0xC027, QT_TLS_CBC, 0, 16, 32, 32},     /* ECDHE_RSA_WITH_AES_128_CBC_SHA256 */
    {0xC024, QT_TLS_CBC, 0, 32, 48, 48},     /* ECDHE_ECDSA_WITH_AES_256_CBC_SHA384 */
    {0xC028, QT_TLS_CBC, 0, 32, 48, 48},     /* ECDHE_RSA_WITH_AES_256_CBC_SHA384 */
};

const struct qt_tls_suite *qt_tls_suite_find(uint16_t id)
{
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        if (suites[i].id == id)
            return &suites[i];
    return NULL;
}
