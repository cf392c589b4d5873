// Makes the tables and loads TPC-C's rows (clause 4.3.3): prepared INSERTs in batches, which the driver makes into INSERTs of many rows.
//
// The quantity in stock at first follows from the row's key, so that the check can tell a lost update: tpcc.py knows the formula, too.

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.*;
import java.time.LocalDateTime;

final class Loader {
    private static final int BATCH_ROWS = 128;
    private static final BigDecimal PAID = new BigDecimal("10.00");
    private static final Timestamp LOADED_AT = Timestamp.valueOf(LocalDateTime.of(2026, 1, 1, 0, 0));

    private final Connection connection;
    private final Scale scale;
    private final Draw draw;

    Loader(Connection connection, Scale scale, long seed) {
        this.connection = connection;
        this.scale = scale;
        this.draw = new Draw(seed);
    }

    void makeTables(Path schema) throws SQLException, IOException {
        String text = Files.readString(schema).replaceAll("--[^\n]*", "");
        try (Statement statement = connection.createStatement()) {
            for (String one : text.split(";")) if (!one.isBlank()) statement.execute(one.strip());
        }
    }

    void load() throws SQLException {
        connection.setAutoCommit(false);
        try (Table table = new Table("warehouse", 9)) {
            for (int w = 1; w <= scale.warehouses(); w++) {
                BigDecimal paid = PAID.multiply(BigDecimal.valueOf((long) scale.customers() * Scale.DISTRICTS));
                table.row(w, paid, draw.rate(2000), draw.letters(6, 10), street(), street(), street(), draw.letters(2, 2), zip());
            }
        }
        try (Table table = new Table("item", 5)) {
            for (int i = 1; i <= scale.items(); i++) {
                table.row(i, draw.letters(14, 24), draw.money(100, 10000), draw.data(), draw.number(1, 10000));
            }
        }
        for (int w = 1; w <= scale.warehouses(); w++) {
            stock(w);
            try (Table table = new Table("district", 11)) {
                for (int d = 1; d <= Scale.DISTRICTS; d++) {
                    BigDecimal paid = PAID.multiply(BigDecimal.valueOf(scale.customers()));
                    table.row(w, d, paid, draw.rate(2000), scale.customers() + 1, draw.letters(6, 10), street(), street(), street(),
                        draw.letters(2, 2), zip());
                }
            }
            for (int d = 1; d <= Scale.DISTRICTS; d++) {
                customers(w, d);
                orders(w, d);
            }
        }
        connection.setAutoCommit(true);
    }

    private String street() {
        return draw.letters(10, 20);
    }

    private String zip() {
        return draw.digits(4) + "11111";
    }

    private void stock(int w) throws SQLException {
        try (Table table = new Table("stock", 17)) {
            for (int i = 1; i <= scale.items(); i++) {
                Object[] row = new Object[17];
                Object[] first = {w, i, 10 + (i * 7 + w) % 91, 0, 0, 0, draw.data()};
                System.arraycopy(first, 0, row, 0, first.length);
                for (int d = 0; d < Scale.DISTRICTS; d++) row[first.length + d] = draw.letters(24, 24);
                table.row(row);
            }
        }
    }

    private void customers(int w, int d) throws SQLException {
        try (Table table = new Table("customer", 21)) {
            for (int c = 1; c <= scale.customers(); c++) {
                String last = c <= 1000 ? Draw.lastName(c - 1) : draw.lastName(scale);
                table.row(w, d, c, draw.rate(5000), draw.percent(10) ? "BC" : "GC", last, draw.letters(8, 16), new BigDecimal("50000.00"),
                    PAID.negate(), PAID, 1, 0, street(), null, street(), draw.letters(2, 2), zip(), draw.digits(16), LOADED_AT, "OE",
                    draw.letters(300, 500));
            }
        }
        try (Table table = new Table("history", 8)) {
            for (int c = 1; c <= scale.customers(); c++) table.row(c, d, w, d, w, LOADED_AT, PAID, draw.letters(12, 24));
        }
    }

    private void orders(int w, int d) throws SQLException {
        int[] customers = draw.permutation(scale.customers());
        int[] lines = new int[customers.length];
        try (Table table = new Table("orders", 8)) {
            for (int o = 1; o <= customers.length; o++) {
                lines[o - 1] = draw.number(5, Scale.ORDER_LINES_MOST);
                Integer carrier = o < scale.firstNewOrder() ? draw.number(1, 10) : null;
                table.row(w, d, o, customers[o - 1], carrier, lines[o - 1], 1, LOADED_AT);
            }
        }
        try (Table table = new Table("new_order", 3)) {
            for (int o = scale.firstNewOrder(); o <= customers.length; o++) table.row(w, d, o);
        }
        try (Table table = new Table("order_line", 10)) {
            for (int o = 1; o <= customers.length; o++) {
                boolean delivered = o < scale.firstNewOrder();
                for (int line = 1; line <= lines[o - 1]; line++) {
                    table.row(w, d, o, line, draw.number(1, scale.items()), delivered ? LOADED_AT : null,
                        delivered ? new BigDecimal("0.00") : draw.money(1, 999999), w, 5, draw.letters(24, 24));
                }
            }
        }
    }

    /// An INSERT into all columns of a table; what is left of the last batch goes when it is closed.
    private final class Table implements AutoCloseable {
        private final PreparedStatement insert;
        private int waiting = 0;

        Table(String name, int columns) throws SQLException {
            insert = connection.prepareStatement("INSERT INTO " + name + " VALUES (?" + ", ?".repeat(columns - 1) + ")");
        }

        void row(Object... values) throws SQLException {
            for (int i = 0; i < values.length; i++) {
                if (values[i] == null) insert.setNull(i + 1, Types.NULL);
                else if (values[i] instanceof Integer number) insert.setInt(i + 1, number);
                else insert.setObject(i + 1, values[i]);
            }
            insert.addBatch();
            if (++waiting == BATCH_ROWS) send();
        }

        private void send() throws SQLException {
            insert.executeBatch();
            insert.clearBatch();
            connection.commit();
            waiting = 0;
        }

        @Override
        public void close() throws SQLException {
            if (waiting > 0) send();
            insert.close();
        }
    }
}
