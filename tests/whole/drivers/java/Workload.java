// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.nio.file.Files;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** The drivers' workload through JDBC: `java Workload.java mysql|mariadb`. */
public class Workload {
    static final String INSERT = "INSERT INTO items (name, qty, price, made, day, raw, note, big, ratio)"
            + " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)";

    static String env(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null ? otherwise : value;
    }

    static void fill(PreparedStatement statement, String name, int qty) throws SQLException {
        byte[] raw = new byte[256];
        for (int n = 0; n < 256; n++) {
            raw[n] = (byte) n;
        }
        statement.setString(1, name);
        statement.setInt(2, qty);
        statement.setBigDecimal(3, new java.math.BigDecimal("12345.67"));
        statement.setString(4, "2026-02-28 23:59:59.123456");
        statement.setDate(5, java.sql.Date.valueOf("1999-12-31"));
        statement.setBytes(6, raw);
        statement.setNull(7, java.sql.Types.VARCHAR);
        statement.setObject(8, new java.math.BigInteger("9223372036854775807"));
        statement.setDouble(9, 0.1);
    }

    static void text(Connection con) throws SQLException {
        try (Statement statement = con.createStatement()) {
            statement.executeUpdate("INSERT INTO steps (what) VALUES ('text')");
            statement.executeQuery("/* app:shop */ SELECT COUNT(*) FROM steps -- behind").close();
            try {
                statement.executeQuery("SELECT nothing FROM nowhere");
                throw new IllegalStateException("an error was expected");
            } catch (SQLException expected) {
                // as it should
            }
            statement.execute("INSERT INTO steps (what) VALUES ('one'); INSERT INTO steps (what) VALUES ('two')");
        }
    }

    static void prepared(Connection con, int large) throws SQLException {
        try (PreparedStatement statement = con.prepareStatement(INSERT, Statement.RETURN_GENERATED_KEYS)) {
            for (int n = 0; n < 5; n++) {
                fill(statement, "p" + n, n);
                statement.executeUpdate();
            }
            for (int n = 5; n < 25; n++) {
                fill(statement, "b" + n, n);
                statement.addBatch();
            }
            statement.executeBatch();
        }
        try (PreparedStatement statement = con.prepareStatement("SELECT id, name, made, raw FROM items WHERE qty = ?")) {
            for (int n = 0; n < 3; n++) {
                statement.setInt(1, n);
                statement.executeQuery().close();
            }
        }
        try (PreparedStatement statement = con.prepareStatement("REPLACE INTO large VALUES (1, ?)")) {
            statement.setString(1, "x'\n".repeat(large / 3));
            statement.executeUpdate();
        }
        try (CallableStatement statement = con.prepareCall("{CALL add_item(?)}")) {
            statement.setString(1, "from java");
            statement.execute();
        }
    }

    static void transactions(Connection con) throws SQLException {
        con.setAutoCommit(false);
        for (int n = 0; n < 3; n++) {
            try (PreparedStatement statement = con.prepareStatement("INSERT INTO steps (what) VALUES (?)")) {
                statement.setString(1, "transaction " + n);
                statement.executeUpdate();
            }
            if (n == 1) {
                con.rollback();
            } else {
                con.commit();
            }
        }
        con.setAutoCommit(true);
    }

    static void load(Connection con) throws Exception {
        File file = File.createTempFile("qt-", ".txt");
        StringBuilder lines = new StringBuilder();
        for (int n = 0; n < 500; n++) {
            lines.append(n).append("\tline ").append(n).append('\n');
        }
        Files.writeString(file.toPath(), lines);
        try (PreparedStatement statement = con.prepareStatement("LOAD DATA LOCAL INFILE '" + file + "' INTO TABLE loaded")) {
            statement.execute();
        } finally {
            file.delete();
        }
    }

    public static void main(String[] args) throws Exception {
        int large = Integer.parseInt(env("QT_LARGE", "200000"));
        String common = "allowMultiQueries=true&allowLocalInfile=true&allowLoadLocalInfile=true";
        List<String> variants = args[0].equals("mysql")
                ? List.of("&sslMode=DISABLED&useServerPrepStmts=true&cachePrepStmts=true",
                        "&sslMode=DISABLED&useServerPrepStmts=false&rewriteBatchedStatements=true")
                : List.of("&sslMode=disable&useServerPrepStmts=true&useBulkStmts=true", "&sslMode=disable");
        for (String variant : variants) {
            String url = String.format("jdbc:%s://%s:%s/%s?%s%s", args[0], env("QT_HOST", ""), env("QT_PORT", ""),
                    env("QT_DB", ""), common, variant);
            try (Connection con = DriverManager.getConnection(url, env("QT_USER", ""), env("QT_PASSWORD", ""))) {
                con.isValid(5);
                text(con);
                prepared(con, large);
                transactions(con);
                load(con);
            }
        }
    }
}
