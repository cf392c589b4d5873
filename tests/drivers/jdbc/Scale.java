// How much there is in the tables.

/// Customers are those of a district, of which a warehouse has ten.
record Scale(int warehouses, int items, int customers) {
    static final int DISTRICTS = 10;
    static final int ORDER_LINES_MOST = 15;

    /// Orders before this one are delivered when the tables are loaded.
    int firstNewOrder() {
        return customers * 7 / 10 + 1;
    }
}
