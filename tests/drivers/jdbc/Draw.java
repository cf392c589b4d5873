// TPC-C's ways to draw numbers and words (specification 5.11, clauses 2.1.6 and 4.3.2). One for each thread.

import java.math.BigDecimal;
import java.util.Random;

final class Draw {
    private static final String[] SYLLABLES = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"};
    private static final String LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    private static final int NAMES = 1000;

    private final Random random;

    Draw(long seed) {
        random = new Random(seed);
    }

    /// Both bounds are possible.
    int number(int low, int high) {
        return low + random.nextInt(high - low + 1);
    }

    boolean percent(int share) {
        return random.nextInt(100) < share;
    }

    /// Some numbers far more often than others.
    private int uneven(int mask, int constant, int low, int high) {
        return ((number(0, mask) | number(low, high)) + constant) % (high - low + 1) + low;
    }

    int customer(Scale scale) {
        return uneven(1023, 31, 1, scale.customers());
    }

    int item(Scale scale) {
        return uneven(8191, 4711, 1, scale.items());
    }

    /// Every name is there when there are as many customers; with fewer, as many names as customers.
    static String lastName(int number) {
        return SYLLABLES[number / 100 % 10] + SYLLABLES[number / 10 % 10] + SYLLABLES[number % 10];
    }

    String lastName(Scale scale) {
        return lastName(uneven(255, 77, 0, Math.min(NAMES, scale.customers()) - 1));
    }

    BigDecimal money(int lowCents, int highCents) {
        return BigDecimal.valueOf(number(lowCents, highCents), 2);
    }

    BigDecimal rate(int highTenthousandths) {
        return BigDecimal.valueOf(number(0, highTenthousandths), 4);
    }

    String letters(int low, int high) {
        StringBuilder text = new StringBuilder();
        for (int left = number(low, high); left > 0; left--) text.append(LETTERS.charAt(random.nextInt(LETTERS.length())));
        return text.toString();
    }

    String digits(int count) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) text.append((char) ('0' + random.nextInt(10)));
        return text.toString();
    }

    /// One in ten is an original.
    String data() {
        String text = letters(26, 42);
        return percent(10) ? text + "ORIGINAL" : text;
    }

    int[] permutation(int count) {
        int[] numbers = new int[count];
        for (int i = 0; i < count; i++) {
            int other = random.nextInt(i + 1);
            numbers[i] = numbers[other];
            numbers[other] = i + 1;
        }
        return numbers;
    }
}
