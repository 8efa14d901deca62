/* SPDX-License-Identifier: Apache-2.0 */
/* The versions of the libraries that this extension uses. A wheel contains its own libraries; other builds use the
 * system's. */
#include <lzma.h>
#include <mysql.h>
#include <openssl/crypto.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <zlib.h>
#include <zstd.h>

#include "querytape.h"

int qt_library_versions(char *out, size_t size)
{
    int n = snprintf(out, size,
                     "MariaDB Connector/C %s\n"
                     "%s\n" /* OpenSSL's version text already contains its name */
                     "%s\n" /* libpcap's version text already contains its name */
                     "zlib %s\n"
                     "Zstandard %s\n"
                     "liblzma %s\n",
                     mysql_get_client_info(), OpenSSL_version(OPENSSL_VERSION), pcap_lib_version(), zlibVersion(),
                     ZSTD_versionString(), lzma_version_string());
    return n < 0 || (size_t)n >= size ? QT_EINVALID : 0;
}
