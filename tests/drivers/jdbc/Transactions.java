// TPC-C's five transactions (clauses 2.4 to 2.8) as plain statements on one connection, prepared once. What commits and what is undone is Terminal's.
//
// The rows that a transaction reads before it writes are locked with FOR UPDATE where a JDBC benchmark does so (district, stock), and where the level
// would let an update be lost otherwise. Items of an order are not sorted: two orders may wait for each other, and the server must end that.

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.sql.*;
import java.util.*;

final class Transactions {
    /// What one transaction did, for the count at the end.
    static final class Done {
        long lines, paidCents, delivered;
    }

    /// An order of an item that is not there: rolled back, on purpose.
    static final class NoSuchItem extends Exception {}

    /// At READ COMMITTED, another terminal delivered what this one was about to; to be begun anew.
    static final class Overtaken extends Exception {}

    private final Connection connection;
    private final Scale scale;
    private final Draw draw;
    private final String lockIfLoose;
    private final Map<String, PreparedStatement> prepared = new HashMap<>();

    Transactions(Connection connection, Scale scale, Draw draw) throws SQLException {
        this.connection = connection;
        this.scale = scale;
        this.draw = draw;
        lockIfLoose = connection.getTransactionIsolation() == Connection.TRANSACTION_READ_COMMITTED ? " FOR UPDATE" : "";
    }

    /// What is ordered, paid, ...; drawn once and kept when a transaction is run again.
    interface Work {
        Done run() throws SQLException, NoSuchItem, Overtaken;
    }

    Work newOrder(int w) {
        int d = draw.number(1, Scale.DISTRICTS), c = draw.customer(scale);
        Set<Integer> distinct = new LinkedHashSet<>();
        for (int left = draw.number(5, Scale.ORDER_LINES_MOST); distinct.size() < left; ) distinct.add(draw.item(scale));
        List<Line> lines = new ArrayList<>();
        for (int item : distinct) {
            int supplier = scale.warehouses() > 1 && draw.percent(1) ? otherWarehouse(w) : w;
            lines.add(new Line(item, supplier, draw.number(1, 10)));
        }
        if (draw.percent(1)) lines.set(lines.size() - 1, new Line(scale.items() + 1, w, 1));
        return () -> newOrder(w, d, c, lines);
    }

    private record Line(int item, int supplier, int quantity) {}

    private int otherWarehouse(int w) {
        int other = draw.number(1, scale.warehouses() - 1);
        return other < w ? other : other + 1;
    }

    private Done newOrder(int w, int d, int c, List<Line> lines) throws SQLException, NoSuchItem {
        one("SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", w, d, c);
        one("SELECT w_tax FROM warehouse WHERE w_id = ?", w);
        ResultSet district = one("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE", w, d);
        int o = district.getInt(1);
        district.getDouble(2);
        change("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?", w, d);
        boolean local = lines.stream().allMatch(line -> line.supplier == w);
        change("INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, ?, ?, ?)",
            o, d, w, c, now(), lines.size(), local ? 1 : 0);
        change("INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)", o, d, w);

        PreparedStatement insert = statement("INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, "
            + "ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
        PreparedStatement update = statement("UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, "
            + "s_remote_cnt = s_remote_cnt + ? WHERE s_i_id = ? AND s_w_id = ?");
        // A run that lost may have left some.
        insert.clearBatch();
        update.clearBatch();
        int number = 0;
        for (Line line : lines) {
            ResultSet item = rows("SELECT i_price, i_name, i_data FROM item WHERE i_id = ?", line.item);
            if (!item.next()) throw new NoSuchItem();
            BigDecimal amount = item.getBigDecimal(1).multiply(BigDecimal.valueOf(line.quantity));
            ResultSet stock = one("SELECT s_quantity, s_data, s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07, s_dist_08, "
                + "s_dist_09, s_dist_10 FROM stock WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE", line.item, line.supplier);
            int quantity = stock.getInt(1) - line.quantity;
            set(insert, o, d, w, ++number, line.item, line.supplier, line.quantity, amount, stock.getString(2 + d));
            insert.addBatch();
            set(update, quantity >= 10 ? quantity : quantity + 91, (double) line.quantity, line.supplier == w ? 0 : 1, line.item, line.supplier);
            update.addBatch();
        }
        all(insert.executeBatch(), lines.size());
        all(update.executeBatch(), lines.size());
        Done done = new Done();
        done.lines = lines.size();
        return done;
    }

    /// A customer, by number or by last name.
    private record Who(int w, int d, int number, String last) {}

    private Who who(int w, int d) {
        return draw.percent(60) ? new Who(w, d, 0, draw.lastName(scale)) : new Who(w, d, draw.customer(scale), null);
    }

    private static final String CUSTOMER = "c_id, c_first, c_middle, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, c_credit_lim, "
        + "c_discount, c_balance, c_ytd_payment, c_payment_cnt, c_since";

    /// The middle one of those of a name, rounded up.
    private ResultSet customer(Who who, String lock) throws SQLException {
        if (who.last == null) {
            return one("SELECT " + CUSTOMER + " FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?" + lock, who.w, who.d, who.number);
        }
        String sql = "SELECT " + CUSTOMER + " FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first";
        ResultSet rows = prepare(sql + lock, ResultSet.TYPE_SCROLL_INSENSITIVE, who.w, who.d, who.last).executeQuery();
        rows.last();
        int count = rows.getRow();
        require(count > 0, "nobody of the name " + who.last);
        rows.absolute((count + 1) / 2);
        return rows;
    }

    Work payment(int w) {
        int d = draw.number(1, Scale.DISTRICTS);
        boolean near = scale.warehouses() == 1 || draw.percent(85);
        Who who = near ? who(w, d) : who(otherWarehouse(w), draw.number(1, Scale.DISTRICTS));
        BigDecimal amount = draw.money(100, 500000);
        return () -> payment(w, d, who, amount);
    }

    private Done payment(int w, int d, Who who, BigDecimal amount) throws SQLException {
        change("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", amount, w);
        String warehouse = one("SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse WHERE w_id = ?", w).getString(6);
        change("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?", amount, w, d);
        ResultSet row = one("SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district WHERE d_w_id = ? AND d_id = ?", w, d);
        String district = row.getString(6);
        ResultSet customer = customer(who, lockIfLoose);
        int c = customer.getInt("c_id"), payments = customer.getInt("c_payment_cnt") + 1;
        BigDecimal balance = customer.getBigDecimal("c_balance").subtract(amount);
        BigDecimal paid = customer.getBigDecimal("c_ytd_payment").add(amount);
        if (customer.getString("c_credit").equals("BC")) {
            String data = one("SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", who.w, who.d, c).getString(1);
            data = String.join(" ", "" + c, "" + who.d, "" + who.w, "" + d, "" + w, amount + " |", data);
            change("UPDATE customer SET c_balance = ?, c_ytd_payment = ?, c_payment_cnt = ?, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                balance, paid, payments, data.substring(0, Math.min(500, data.length())), who.w, who.d, c);
        } else {
            change("UPDATE customer SET c_balance = ?, c_ytd_payment = ?, c_payment_cnt = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                balance, paid, payments, who.w, who.d, c);
        }
        change("INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            who.d, who.w, c, d, w, now(), amount.doubleValue(), warehouse + "    " + district);
        Done done = new Done();
        done.paidCents = amount.movePointRight(2).longValueExact();
        return done;
    }

    Work orderStatus(int w) {
        Who who = who(w, draw.number(1, Scale.DISTRICTS));
        return () -> {
            int c = customer(who, "").getInt("c_id");
            ResultSet order = one("SELECT o_id, o_carrier_id, o_entry_d FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? "
                + "ORDER BY o_id DESC LIMIT 1", who.w, who.d, c);
            int o = order.getInt(1);
            boolean delivered = order.getObject(2) != null;
            ResultSet lines = rows("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line "
                + "WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?", o, who.d, who.w);
            int count = 0;
            for (; lines.next(); count++) {
                require(!strict() || (lines.getTimestamp(5) != null) == delivered, "an order is delivered in part");
            }
            require(count >= 5 && count <= Scale.ORDER_LINES_MOST, "an order of " + count + " lines");
            return new Done();
        };
    }

    /// All statements of a transaction see one state.
    private boolean strict() {
        return lockIfLoose.isEmpty();
    }

    Work delivery(int w) {
        int carrier = draw.number(1, 10);
        return () -> delivery(w, carrier);
    }

    private Done delivery(int w, int carrier) throws SQLException, Overtaken {
        Done done = new Done();
        for (int d = 1; d <= Scale.DISTRICTS; d++) {
            ResultSet oldest = rows("SELECT no_o_id FROM new_order WHERE no_d_id = ? AND no_w_id = ? ORDER BY no_o_id ASC LIMIT 1", d, w);
            if (!oldest.next()) continue;
            int o = oldest.getInt(1);
            int deleted = count("DELETE FROM new_order WHERE no_o_id = ? AND no_d_id = ? AND no_w_id = ?", o, d, w);
            if (deleted == 0 && !strict()) throw new Overtaken();
            require(deleted == 1, "an order was there and is not");
            int c = one("SELECT o_c_id FROM orders WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?", o, d, w).getInt(1);
            change("UPDATE orders SET o_carrier_id = ? WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?", carrier, o, d, w);
            int lines = count("UPDATE order_line SET ol_delivery_d = ? WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?", now(), o, d, w);
            require(lines >= 5, "an order of " + lines + " lines");
            BigDecimal total = one("SELECT SUM(ol_amount) AS total FROM order_line WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?", o, d, w)
                .getBigDecimal("total");
            change("UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                total.setScale(2, RoundingMode.UNNECESSARY), w, d, c);
            done.delivered++;
        }
        return done;
    }

    Work stockLevel(int w) {
        int d = draw.number(1, Scale.DISTRICTS), threshold = draw.number(10, 20);
        return () -> {
            int next = one("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", w, d).getInt(1);
            one("SELECT COUNT(DISTINCT (s_i_id)) AS low FROM order_line, stock WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? "
                + "AND ol_o_id >= ? AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?", w, d, next, next - 20, w, threshold).getInt("low");
            return new Done();
        };
    }

    private static Timestamp now() {
        return new Timestamp(System.currentTimeMillis());
    }

    private PreparedStatement prepare(String sql, int kind, Object... values) throws SQLException {
        PreparedStatement statement = prepared.get(sql);
        if (statement == null) {
            statement = connection.prepareStatement(sql, kind, ResultSet.CONCUR_READ_ONLY);
            prepared.put(sql, statement);
        }
        set(statement, values);
        return statement;
    }

    private PreparedStatement statement(String sql, Object... values) throws SQLException {
        return prepare(sql, ResultSet.TYPE_FORWARD_ONLY, values);
    }

    private static void set(PreparedStatement statement, Object... values) throws SQLException {
        for (int i = 0; i < values.length; i++) {
            Object value = values[i];
            if (value instanceof Integer number) statement.setInt(i + 1, number);
            else if (value instanceof Double number) statement.setDouble(i + 1, number);
            else if (value instanceof BigDecimal number) statement.setBigDecimal(i + 1, number);
            else if (value instanceof Timestamp moment) statement.setTimestamp(i + 1, moment);
            else statement.setString(i + 1, (String) value);
        }
    }

    private ResultSet rows(String sql, Object... values) throws SQLException {
        return statement(sql, values).executeQuery();
    }

    private ResultSet one(String sql, Object... values) throws SQLException {
        ResultSet row = rows(sql, values);
        require(row.next(), "no row for " + sql + " of " + Arrays.toString(values));
        return row;
    }

    private int count(String sql, Object... values) throws SQLException {
        return statement(sql, values).executeUpdate();
    }

    private void change(String sql, Object... values) throws SQLException {
        int changed = count(sql, values);
        require(changed == 1, changed + " rows for " + sql + " of " + Arrays.toString(values));
    }

    private static void all(int[] counts, int expected) {
        int rows = 0;
        // A batch that the driver made into one statement does not tell the rows of each.
        for (int count : counts) rows += count == Statement.SUCCESS_NO_INFO ? 1 : count;
        require(rows == expected, "a batch of " + expected + " changed " + rows);
    }

    private static void require(boolean condition, String what) {
        if (!condition) throw new AssertionError(what);
    }
}
