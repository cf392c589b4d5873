// One terminal: a connection that runs transactions of the standard mix, each until it has committed.
//
// A transaction that is refused with 40001 is run again with the same inputs, and counted; so is a deadlock (40P01), counted by itself. Any other
// error ends the terminal, and the program.

import java.sql.*;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.BooleanSupplier;

final class Terminal implements Runnable {
    enum Kind { NEW_ORDER, PAYMENT, ORDER_STATUS, DELIVERY, STOCK_LEVEL }

    /// A transaction that loses so often will never get through: a livelock is an error.
    private static final int ATTEMPTS_MOST = 10_000;

    final Map<Kind, Long> committed = new EnumMap<>(Kind.class);
    final Map<Kind, Long> refused = new EnumMap<>(Kind.class);
    final Transactions.Done done = new Transactions.Done();
    long deadlocks, overtaken, rolledBack, attemptsMost;
    Throwable failure;

    private final Connection connection;
    private final Transactions transactions;
    private final Draw draw;
    private final int home;
    private final BooleanSupplier goesOn;

    Terminal(Connection connection, Scale scale, int number, long seed, BooleanSupplier goesOn) throws SQLException {
        this.connection = connection;
        this.home = number % scale.warehouses() + 1;
        this.draw = new Draw(seed * 1000 + number);
        this.transactions = new Transactions(connection, scale, draw);
        this.goesOn = goesOn;
        connection.setAutoCommit(false);
    }

    @Override
    public void run() {
        try {
            while (goesOn.getAsBoolean()) {
                Kind kind = next();
                until(kind, switch (kind) {
                    case NEW_ORDER -> transactions.newOrder(home);
                    case PAYMENT -> transactions.payment(home);
                    case ORDER_STATUS -> transactions.orderStatus(home);
                    case DELIVERY -> transactions.delivery(home);
                    case STOCK_LEVEL -> transactions.stockLevel(home);
                });
            }
            connection.close();
        } catch (Throwable error) {
            failure = error;
        }
    }

    private Kind next() {
        int share = draw.number(1, 100);
        if (share <= 45) return Kind.NEW_ORDER;
        if (share <= 88) return Kind.PAYMENT;
        if (share <= 92) return Kind.ORDER_STATUS;
        return share <= 96 ? Kind.DELIVERY : Kind.STOCK_LEVEL;
    }

    private void until(Kind kind, Transactions.Work work) throws SQLException {
        for (int attempt = 1; ; attempt++) {
            if (attempt > ATTEMPTS_MOST) throw new AssertionError(kind + " lost " + ATTEMPTS_MOST + " times");
            try {
                Transactions.Done one = work.run();
                connection.commit();
                committed.merge(kind, 1L, Long::sum);
                done.lines += one.lines;
                done.paidCents += one.paidCents;
                done.delivered += one.delivered;
                attemptsMost = Math.max(attemptsMost, attempt);
                return;
            } catch (Transactions.NoSuchItem expected) {
                connection.rollback();
                rolledBack++;
                return;
            } catch (Transactions.Overtaken again) {
                connection.rollback();
                overtaken++;
            } catch (SQLException error) {
                String state = error.getSQLState();
                if ("40001".equals(state)) refused.merge(kind, 1L, Long::sum);
                else if ("40P01".equals(state)) deadlocks++;
                else throw error;
                connection.rollback();
            }
        }
    }
}
