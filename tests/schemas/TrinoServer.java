// SPDX-License-Identifier: Apache-2.0
// Runs one Trino server with the Hive connector on local files. Arguments: the folder of the table definitions.
// Prints the address of the server, and ends at the end of its input.

import io.trino.plugin.hive.HivePlugin;
import io.trino.server.testing.TestingTrinoServer;
import java.util.Map;

public class TrinoServer {
    public static void main(String[] arguments) throws Exception {
        try (TestingTrinoServer server = TestingTrinoServer.create()) {
            server.installPlugin(new HivePlugin());
            server.createCatalog(
                    "tapes",
                    "hive",
                    Map.of(
                            "hive.metastore", "file",
                            "hive.metastore.catalog.dir", "local://" + arguments[0],
                            "fs.local.enabled", "true",
                            "local.location", "/"));
            System.err.println("SERVER " + server.getBaseUrl());
            while (System.in.read() >= 0) {}
        }
        System.exit(0);
    }
}
