// TPC-C as plain statements through pgjdbc, in the manner of JDBC benchmarks.
//
//     java -cp postgresql.jar:CLASSES Tpcc load SCHEMA.sql HOST PORT DATABASE WAREHOUSES ITEMS CUSTOMERS SEED
//     java -cp postgresql.jar:CLASSES Tpcc run LEVEL TERMINALS AMOUNT HOST PORT DATABASE WAREHOUSES ITEMS CUSTOMERS SEED
//
// LEVEL is as SQL writes it, with an underscore. AMOUNT is so many transactions in all, or seconds if it ends with `s`. The last line of a run says as
// JSON what has committed; drivers/tpcc.py compares it with what is in the tables. The first error that is not to be run again ends the program with 1.
//
// Seconds begin after each terminal has been connected; compiling Java to machine code goes on for the first of them.

import java.nio.file.Path;
import java.sql.*;
import java.util.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

public final class Tpcc {
    private static final List<String> TABLES =
        List.of("customer", "district", "history", "item", "new_order", "order_line", "orders", "stock", "warehouse");

    public static void main(String[] arguments) throws Exception {
        Deque<String> words = new ArrayDeque<>(Arrays.asList(arguments));
        boolean loads = words.pop().equals("load");
        String schema = loads ? words.pop() : null;
        String level = loads ? null : words.pop();
        int terminals = loads ? 1 : Integer.parseInt(words.pop());
        String amount = loads ? null : words.pop();
        String url = "jdbc:postgresql://" + words.pop() + ":" + words.pop() + "/" + words.pop() + "?sslmode=disable&ApplicationName=tpcc"
            + "&reWriteBatchedInserts=true&user=quintet";
        Scale scale = new Scale(Integer.parseInt(words.pop()), Integer.parseInt(words.pop()), Integer.parseInt(words.pop()));
        long seed = Long.parseLong(words.pop());
        if (loads) {
            try (Connection connection = DriverManager.getConnection(url)) {
                Loader loader = new Loader(connection, scale, seed);
                loader.makeTables(Path.of(schema));
                loader.load();
            }
            return;
        }
        try (Connection connection = DriverManager.getConnection(url)) {
            look(connection);
        }
        run(url, scale, seed, level, terminals, amount);
    }

    /// What a benchmark asks about its tables before it starts.
    private static void look(Connection connection) throws SQLException {
        DatabaseMetaData data = connection.getMetaData();
        List<String> found = new ArrayList<>();
        try (ResultSet tables = data.getTables(null, "public", null, new String[] {"TABLE"})) {
            while (tables.next()) found.add(tables.getString("TABLE_NAME"));
        }
        require(found.containsAll(TABLES), "tables are " + found);
        Map<String, List<String>> columns = new TreeMap<>(), indexes = new TreeMap<>(), keys = new TreeMap<>();
        for (String table : TABLES) {
            columns.put(table, listed(data.getColumns(null, "public", table, null), "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE",
                "DECIMAL_DIGITS", "IS_NULLABLE", "ORDINAL_POSITION"));
            indexes.put(table, listed(data.getIndexInfo(null, "public", table, false, false), "INDEX_NAME", "NON_UNIQUE", "ORDINAL_POSITION",
                "COLUMN_NAME", "ASC_OR_DESC"));
            keys.put(table, listed(data.getImportedKeys(null, "public", table), "PKTABLE_NAME", "PKCOLUMN_NAME", "FKCOLUMN_NAME", "KEY_SEQ",
                "DELETE_RULE"));
        }
        equal(columns.get("new_order"), List.of("no_w_id 4 int4 10 0 NO 1", "no_d_id 4 int4 10 0 NO 2", "no_o_id 4 int4 10 0 NO 3"));
        equal(columns.get("orders").get(4), "o_carrier_id 4 int4 10 0 YES 5");
        equal(columns.get("customer").get(8), "c_balance 2 numeric 12 2 NO 9");
        equal(columns.values().stream().mapToInt(List::size).sum(), 9 + 5 + 17 + 11 + 21 + 8 + 8 + 3 + 10);
        equal(indexes.get("orders"), List.of("orders_of_customer f 1 o_w_id A", "orders_of_customer f 2 o_d_id A",
            "orders_of_customer f 3 o_c_id A", "orders_of_customer f 4 o_id A", "orders_pkey f 1 o_w_id A", "orders_pkey f 2 o_d_id A", "orders_pkey f 3 o_id A"));
        equal(indexes.get("customer").get(0), "customer_pkey f 1 c_w_id A");
        equal(indexes.get("customer").get(5), "customer_name t 3 c_last A");
        equal(indexes.get("history"), List.of());
        equal(keys.get("warehouse"), List.of());
        equal(keys.get("new_order"), List.of("orders o_w_id no_w_id 1 0", "orders o_d_id no_d_id 2 0", "orders o_id no_o_id 3 0"));
        equal(keys.get("history").size(), 5);
    }

    private static List<String> listed(ResultSet rows, String... columns) throws SQLException {
        List<String> lines = new ArrayList<>();
        try (rows) {
            while (rows.next()) {
                StringJoiner line = new StringJoiner(" ");
                for (String column : columns) line.add(rows.getString(column));
                lines.add(line.toString());
            }
        }
        return lines;
    }

    private static void run(String url, Scale scale, long seed, String level, int count, String amount) throws Exception {
        BooleanSupplier goesOn;
        AtomicLong ends = new AtomicLong();
        if (amount.endsWith("s")) {
            goesOn = () -> System.nanoTime() < ends.get();
        } else {
            AtomicLong left = new AtomicLong(Long.parseLong(amount));
            goesOn = () -> left.getAndDecrement() > 0;
        }
        List<Terminal> terminals = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            Connection connection = DriverManager.getConnection(url);
            connection.setTransactionIsolation(switch (level) {
                case "serializable" -> Connection.TRANSACTION_SERIALIZABLE;
                case "repeatable_read" -> Connection.TRANSACTION_REPEATABLE_READ;
                case "read_committed" -> Connection.TRANSACTION_READ_COMMITTED;
                default -> throw new IllegalArgumentException(level);
            });
            terminals.add(new Terminal(connection, scale, number, seed, goesOn));
        }
        long began = System.nanoTime();
        if (amount.endsWith("s")) ends.set(began + Long.parseLong(amount.substring(0, amount.length() - 1)) * 1_000_000_000L);
        List<Thread> threads = terminals.stream().map(Thread::new).toList();
        threads.forEach(Thread::start);
        for (Thread thread : threads) thread.join();
        double seconds = (System.nanoTime() - began) / 1e9;
        for (Terminal terminal : terminals) {
            if (terminal.failure != null) {
                terminal.failure.printStackTrace(System.out);
                System.exit(1);
            }
        }
        System.out.println(report(terminals, seconds));
    }

    private static String report(List<Terminal> terminals, double seconds) {
        StringJoiner fields = new StringJoiner(", ", "{", "}");
        for (Terminal.Kind kind : Terminal.Kind.values()) {
            String name = kind.name().toLowerCase();
            long committed = 0, refused = 0;
            for (Terminal one : terminals) {
                committed += one.committed.getOrDefault(kind, 0L);
                refused += one.refused.getOrDefault(kind, 0L);
            }
            fields.add("\"" + name + "\": " + committed).add("\"" + name + "_refused\": " + refused);
        }
        long[] sums = new long[7];
        for (Terminal one : terminals) {
            long[] parts = {one.done.lines, one.done.paidCents, one.done.delivered, one.rolledBack, one.deadlocks, one.overtaken};
            for (int i = 0; i < parts.length; i++) sums[i] += parts[i];
            sums[6] = Math.max(sums[6], one.attemptsMost);
        }
        String[] names = {"lines", "paid_cents", "delivered", "rolled_back", "deadlocks", "overtaken", "attempts_most"};
        for (int i = 0; i < names.length; i++) fields.add("\"" + names[i] + "\": " + sums[i]);
        return fields.add("\"seconds\": " + String.format(Locale.ROOT, "%.3f", seconds)).toString();
    }

    private static void equal(Object found, Object expected) {
        require(expected.equals(found), "found " + found + ", expected " + expected);
    }

    private static void require(boolean condition, String what) {
        if (!condition) throw new AssertionError(what);
    }
}
