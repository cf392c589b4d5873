// pgjdbc against a running server: java -cp postgresql.jar PgJdbc.java HOST PORT
//
// Each check prints one line; the first that fails ends the program with code 1.

import java.math.BigDecimal;
import java.sql.*;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.Properties;
import org.postgresql.largeobject.LargeObject;
import org.postgresql.largeobject.LargeObjectManager;

public class PgJdbc {
    interface Check {
        void run(Connection connection) throws Exception;
    }

    static String url;

    public static void main(String[] arguments) throws Exception {
        url = "jdbc:postgresql://" + arguments[0] + ":" + arguments[1] + "/quintet?sslmode=disable";
        run("types_round_trip", PgJdbc::types);
        run("statements_become_prepared_after_five_uses", PgJdbc::prepared);
        run("batches", connection -> batch(connection));
        run("rewritten_batches", connection -> {
            try (Connection rewriting = connect("reWriteBatchedInserts", "true")) {
                batch(rewriting);
            }
        });
        run("fetch_size_uses_a_portal", PgJdbc::fetchSize);
        run("each_level", PgJdbc::levels);
        run("error_codes", PgJdbc::errors);
        run("savepoints", PgJdbc::savepoints);
        run("large_objects", PgJdbc::largeObjects);
        run("metadata_names_keys_and_indexes", PgJdbc::metadata);
        run("is_valid_sends_an_empty_query", connection -> equal(connection.isValid(5), true));
    }

    static Connection connect(String... more) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", "quintet");
        for (int i = 0; i < more.length; i += 2) properties.setProperty(more[i], more[i + 1]);
        return DriverManager.getConnection(url, properties);
    }

    static void run(String name, Check check) throws Exception {
        try (Connection connection = connect(); Statement statement = connection.createStatement()) {
            statement.execute("drop table if exists t");
            check.run(connection);
            System.out.println("ok " + name);
        } catch (Exception | AssertionError error) {
            System.out.println("FAILED " + name);
            error.printStackTrace(System.out);
            System.exit(1);
        }
    }

    static void equal(Object found, Object expected) {
        if (!expected.equals(found)) throw new AssertionError("found " + found + ", expected " + expected);
    }

    static String listed(ResultSet rows, String... columns) throws SQLException {
        StringBuilder text = new StringBuilder();
        while (rows.next()) {
            for (String column : columns) text.append(rows.getString(column)).append(' ');
            text.append("; ");
        }
        return text.toString();
    }

    // The manager calls functions by their numbers; Blob and Clob stand on it, as Hibernate's @Lob does.
    static void largeObjects(Connection connection) throws Exception {
        connection.setAutoCommit(false);
        LargeObjectManager manager = connection.unwrap(org.postgresql.PGConnection.class).getLargeObjectAPI();
        long id = manager.createLO();
        byte[] bytes = new byte[300_000];
        for (int i = 0; i < bytes.length; i++) bytes[i] = (byte) (i * 31 + i / 2048);
        try (LargeObject object = manager.open(id)) {
            object.write(bytes);
            equal(object.tell(), bytes.length);
            object.seek(100_000);
            object.write(new byte[] {1, 2, 3});
            object.seek64(-5, LargeObject.SEEK_END);
            equal(object.tell64(), 299_995L);
            equal(object.read(100).length, 5);
            object.truncate(200_000);
            equal(object.size(), 200_000);
        }
        System.arraycopy(new byte[] {1, 2, 3}, 0, bytes, 100_000, 3);
        connection.commit();
        try (LargeObject object = manager.open(id, LargeObjectManager.READ)) {
            equal(Arrays.equals(object.getInputStream().readAllBytes(), Arrays.copyOf(bytes, 200_000)), true);
        }
        manager.delete(id);
        connection.commit();
        try {
            manager.open(id);
            throw new AssertionError("it is still there");
        } catch (SQLException error) {
            equal(error.getSQLState(), "42704");
        }
        connection.rollback();
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table t (id int primary key, body oid, words oid)");
        }
        try (PreparedStatement insert = connection.prepareStatement("insert into t values (1, ?, ?)")) {
            insert.setBlob(1, new java.io.ByteArrayInputStream(bytes), bytes.length);
            insert.setClob(2, new javax.sql.rowset.serial.SerialClob("over words ".repeat(10_000).toCharArray()));
            insert.executeUpdate();
        }
        connection.commit();
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("select body, words from t")) {
            rows.next();
            Blob blob = rows.getBlob(1);
            equal(blob.length(), (long) bytes.length);
            equal(Arrays.equals(blob.getBytes(2049, 5000), Arrays.copyOfRange(bytes, 2048, 7048)), true);
            blob.setBytes(1, new byte[] {9, 9});
            blob.truncate(10);
            equal(blob.length(), 10L);
            Clob clob = rows.getClob(2);
            equal(clob.getSubString(1, 10), "over words");
        }
        connection.rollback();
        try (Statement statement = connection.createStatement();
             ResultSet rows = statement.executeQuery("select length(lo_get(body)), lo_unlink(body), lo_unlink(words) from t")) {
            rows.next();
            equal(rows.getInt(1), bytes.length);
        }
        connection.commit();
        connection.setAutoCommit(true);
        try {
            manager.createLO();
            throw new AssertionError("without a transaction");
        } catch (SQLException error) {
            equal(error.getMessage().contains("auto-commit"), true);
        }
    }

    static void metadata(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("drop table if exists kid; drop table if exists parent");
            statement.execute("create table parent (id serial primary key, name varchar(20) not null unique)");
            statement.execute("create table kid (a int, b int references parent (id) on delete cascade, primary key (a, b))");
            statement.execute("create index kid_b on kid (b desc, a); comment on table kid is 'small'");
        }
        DatabaseMetaData data = connection.getMetaData();
        equal(listed(data.getTables(null, "public", "kid", null), "TABLE_NAME", "TABLE_TYPE", "REMARKS"), "kid TABLE small ; ");
        equal(listed(data.getColumns(null, "public", "parent", "%"), "COLUMN_NAME", "TYPE_NAME", "COLUMN_SIZE", "COLUMN_DEF", "IS_NULLABLE"),
            "id serial 10 nextval('parent_id_seq'::regclass) NO ; name varchar 20 null NO ; ");
        equal(listed(data.getPrimaryKeys(null, "public", "kid"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME"), "a 1 kid_pkey ; b 2 kid_pkey ; ");
        equal(listed(data.getIndexInfo(null, "public", "kid", false, false), "INDEX_NAME", "NON_UNIQUE", "COLUMN_NAME", "ASC_OR_DESC"),
            "kid_pkey f a A ; kid_pkey f b A ; kid_b t b D ; kid_b t a A ; ");
        equal(listed(data.getImportedKeys(null, "public", "kid"), "PKTABLE_NAME", "FKCOLUMN_NAME", "DELETE_RULE"), "parent b 0 ; ");
        equal(listed(data.getBestRowIdentifier(null, "public", "kid", 0, false), "COLUMN_NAME"), "a ; b ; ");
        try (Statement statement = connection.createStatement()) {
            statement.execute("drop table kid; drop table parent");
        }
    }

    static void types(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table t (id int primary key, a bool, b smallint, c bigint, d double precision,"
                + " e numeric(20, 5), f text, g varchar(20), h bytea, i date, j timestamp, k char(5))");
        }
        byte[] bytes = {0, 1, -1};
        try (PreparedStatement insert = connection.prepareStatement("insert into t values (?,?,?,?,?,?,?,?,?,?,?,?)")) {
            for (int id = 0; id < 10; id++) {
                insert.setInt(1, id);
                insert.setBoolean(2, true);
                insert.setShort(3, (short) -7);
                insert.setLong(4, 1L << 50);
                insert.setDouble(5, 0.1);
                insert.setBigDecimal(6, new BigDecimal("123456789.12345"));
                insert.setString(7, "n\u00e4ive \u2603");
                insert.setNull(8, Types.VARCHAR);
                insert.setBytes(9, bytes);
                insert.setObject(10, LocalDate.of(2026, 2, 28));
                insert.setObject(11, LocalDateTime.of(2026, 2, 28, 23, 59, 59, 123456000));
                insert.setString(12, "ab");
                equal(insert.executeUpdate(), 1);
            }
        }
        // More than five uses: text results at first, binary ones later.
        try (PreparedStatement select = connection.prepareStatement("select * from t where id = ?")) {
            for (int id = 0; id < 10; id++) {
                select.setInt(1, id);
                try (ResultSet row = select.executeQuery()) {
                    equal(row.next(), true);
                    equal(row.getInt(1), id);
                    equal(row.getBoolean(2), true);
                    equal(row.getShort(3), (short) -7);
                    equal(row.getLong(4), 1L << 50);
                    equal(row.getDouble(5), 0.1);
                    equal(row.getBigDecimal(6), new BigDecimal("123456789.12345"));
                    equal(row.getString(7), "n\u00e4ive \u2603");
                    equal(row.getString(8) == null && row.wasNull(), true);
                    equal(Arrays.equals(row.getBytes(9), bytes), true);
                    equal(row.getObject(10, LocalDate.class), LocalDate.of(2026, 2, 28));
                    equal(row.getObject(11, LocalDateTime.class), LocalDateTime.of(2026, 2, 28, 23, 59, 59, 123456000));
                    equal(row.getString(12), "ab   ");
                    equal(row.next(), false);
                }
            }
        }
    }

    static void prepared(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table t (id int primary key, v int)");
        }
        connection.setAutoCommit(false);
        try (PreparedStatement insert = connection.prepareStatement("insert into t values (?, ?)");
             PreparedStatement update = connection.prepareStatement("update t set v = v + ? where id = ?");
             PreparedStatement select = connection.prepareStatement("select v from t where id = ?")) {
            for (int i = 0; i < 20; i++) {
                insert.setInt(1, i);
                insert.setInt(2, 0);
                insert.executeUpdate();
                update.setInt(1, i);
                update.setInt(2, i);
                equal(update.executeUpdate(), 1);
                select.setInt(1, i);
                try (ResultSet row = select.executeQuery()) {
                    equal(row.next(), true);
                    equal(row.getInt(1), i);
                }
                connection.commit();
            }
        }
    }

    static void batch(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute("drop table if exists t");
            statement.execute("create table t (id int primary key, v text)");
            connection.commit();
            try (PreparedStatement insert = connection.prepareStatement("insert into t (id, v) values (?, ?)")) {
                for (int i = 0; i < 1000; i++) {
                    insert.setInt(1, i);
                    insert.setString(2, "row " + i);
                    insert.addBatch();
                }
                equal(insert.executeBatch().length, 1000);
            }
            connection.commit();
            try (ResultSet row = statement.executeQuery("select count(*), max(id) from t")) {
                row.next();
                equal(row.getLong(1), 1000L);
                equal(row.getInt(2), 999);
            }
        }
        connection.commit();
    }

    static void fetchSize(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table t (id int primary key)");
            statement.execute("insert into t select * from generate_series(1, 1000)");
            statement.setFetchSize(33);
            try (ResultSet rows = statement.executeQuery("select id from t order by id")) {
                int expected = 0;
                while (rows.next()) equal(rows.getInt(1), ++expected);
                equal(expected, 1000);
            }
        }
        connection.commit();
    }

    static void levels(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table t (id int primary key, v int)");
            statement.execute("insert into t values (1, 0)");
        }
        int[] levels = {Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ,
            Connection.TRANSACTION_SERIALIZABLE};
        for (int level : levels) {
            try (Connection other = connect(); Statement mine = connection.createStatement();
                 Statement theirs = other.createStatement()) {
                connection.setAutoCommit(true);
                mine.execute("update t set v = 0");
                connection.setTransactionIsolation(level);
                equal(connection.getTransactionIsolation(), level);
                connection.setAutoCommit(false);
                mine.executeQuery("select v from t").close();
                theirs.execute("update t set v = 1");
                String state = "00000";
                try {
                    mine.execute("update t set v = v + 10");
                    connection.commit();
                } catch (SQLException error) {
                    state = error.getSQLState();
                    connection.rollback();
                }
                equal(state, level == Connection.TRANSACTION_READ_COMMITTED ? "00000" : "40001");
            }
        }
    }

    static void errors(Connection connection) throws SQLException {
        String[][] cases = {{"selec", "42601"}, {"select * from nothing", "42P01"}, {"insert into t values (1)", "23505"},
            {"insert into t values (null)", "23502"}, {"select 1 / 0", "22012"}};
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table t (id int primary key)");
            statement.execute("insert into t values (1)");
            for (String[] one : cases) {
                String state = "none";
                try {
                    statement.execute(one[0]);
                } catch (SQLException error) {
                    state = error.getSQLState();
                }
                equal(one[0] + " " + state, one[0] + " " + one[1]);
            }
        }
    }

    static void savepoints(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table t (id int primary key)");
            statement.execute("insert into t values (1)");
            Savepoint savepoint = connection.setSavepoint("here");
            statement.execute("insert into t values (2)");
            connection.rollback(savepoint);
            statement.execute("insert into t values (3)");
            connection.commit();
            try (ResultSet row = statement.executeQuery("select count(*), sum(id) from t")) {
                row.next();
                equal(row.getInt(1), 2);
                equal(row.getInt(2), 4);
            }
        }
        connection.commit();
    }
}
