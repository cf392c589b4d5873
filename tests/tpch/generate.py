"""Makes the rows of TPC-H, at any scale, the same ones each time.

Follows the rules of distribution that the standard publishes (clause 4.2): how many rows there are, which values refer to which, the
ranges of numbers and dates, the lists of words. Its own generator draws them, so that the rows are not those of the standard's
program. Dates of orders end 151 days before the end of 1998, as the standard has it.
"""

import datetime
import random

REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
NATIONS = [
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4), ("ETHIOPIA", 0), ("FRANCE", 3), ("GERMANY", 3),
    ("INDIA", 2), ("INDONESIA", 2), ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0), ("MOROCCO", 0),
    ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3),
    ("UNITED KINGDOM", 3), ("UNITED STATES", 1),
]
COLOURS = """almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse chiffon
chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted gainsboro ghost goldenrod
green grey honeydew hot indian ivory khaki lace lavender lawn lemon light lime linen magenta maroon medium metallic midnight mint
misty moccasin navajo navy olive orange orchid pale papaya peach peru pink plum powder puff purple red rose rosy royal saddle salmon
sandy seashell sienna sky slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow""".split()
TYPES = [
    ["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"],
    ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"],
    ["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"],
]
CONTAINERS = [["SM", "LG", "MED", "JUMBO", "WRAP"], ["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"]]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
INSTRUCTIONS = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"]
MODES = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]
WORDS = """furiously quickly slyly carefully blithely ideas theodolites pinto beans instructions dependencies excuses platelets asymptotes
accounts packages deposits requests foxes sleep wake haggle nag use boost affix detect integrate maintain against along among about above
final ironic regular express special pending bold even silent unusual daring close the of to across according""".split()

FIRST_DAY = datetime.date(1992, 1, 1)
LAST_ORDER = datetime.date(1998, 12, 31) - datetime.timedelta(days=151)
# What is said to be today.
TODAY = datetime.date(1995, 6, 17)


def cents(amount):
    sign = "-" if amount < 0 else ""
    return f"{sign}{abs(amount) // 100}.{abs(amount) % 100:02}"


class Generator:
    def __init__(self, scale, seed=1):
        self.dice = random.Random(seed)
        self.suppliers = max(1, round(10_000 * scale))
        self.parts = max(1, round(200_000 * scale))
        self.customers = max(1, round(150_000 * scale))
        self.orders = max(1, round(1_500_000 * scale))

    def text(self, least, most):
        length = self.dice.randint(least, most)
        words = []
        while sum(map(len, words)) + len(words) < length:
            words.append(self.dice.choice(WORDS))
        return " ".join(words)[:length].strip()

    def address(self):
        letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,"
        return "".join(self.dice.choices(letters, k=self.dice.randint(10, 40))).strip(" ,") or "x"

    def phone(self, nation):
        part = lambda low, high: self.dice.randint(low, high)
        return f"{nation + 10}-{part(100, 999)}-{part(100, 999)}-{part(1000, 9999)}"

    def balance(self):
        return cents(self.dice.randint(-99_999, 999_999))

    def price(self, part):
        return 90_000 + (part // 10) % 20_001 + 100 * (part % 1_000)

    def supplier_of(self, part, number):
        """One of the four suppliers of a part."""
        count = self.suppliers
        return (part + number * (count // 4 + (part - 1) // count)) % count + 1

    def tables(self):
        """The tables in order, with their rows."""
        yield "region", ((n, name, self.text(31, 115)) for n, name in enumerate(REGIONS))
        yield "nation", ((n, name, region, self.text(31, 114)) for n, (name, region) in enumerate(NATIONS))
        yield "supplier", self.supplier_rows()
        yield "part", self.part_rows()
        yield "partsupp", self.partsupp_rows()
        yield "customer", self.customer_rows()
        orders, lines = self.order_rows()
        yield "orders", orders
        yield "lineitem", lines

    def supplier_rows(self):
        keys = list(range(1, self.suppliers + 1))
        # Five in ten thousand are complained about, as many recommended.
        marked = self.dice.sample(keys, min(len(keys), 2 * max(1, self.suppliers // 2_000)))
        words = dict(zip(marked, ["Customer Complaints", "Customer Recommends"] * len(marked)))
        for key in keys:
            nation = self.dice.randrange(25)
            comment = self.text(25, 60)
            if key in words:
                comment = f"{comment[:20]} {words[key]} {comment[20:]}"
            yield key, f"Supplier#{key:09}", self.address(), nation, self.phone(nation), self.balance(), comment[:100]

    def part_rows(self):
        for key in range(1, self.parts + 1):
            name = " ".join(self.dice.sample(COLOURS, 5))
            maker = self.dice.randint(1, 5)
            brand = f"Brand#{maker}{self.dice.randint(1, 5)}"
            kind = " ".join(self.dice.choice(part) for part in TYPES)
            container = " ".join(self.dice.choice(part) for part in CONTAINERS)
            price = cents(self.price(key))
            yield key, name, f"Manufacturer#{maker}", brand, kind, self.dice.randint(1, 50), container, price, self.text(5, 22)

    def partsupp_rows(self):
        for part in range(1, self.parts + 1):
            seen = set()
            for number in range(4):
                supplier = self.supplier_of(part, number)
                if supplier not in seen:
                    seen.add(supplier)
                    yield part, supplier, self.dice.randint(1, 9_999), cents(self.dice.randint(100, 100_000)), self.text(49, 120)

    def customer_rows(self):
        for key in range(1, self.customers + 1):
            nation = self.dice.randrange(25)
            segment = self.dice.choice(SEGMENTS)
            yield key, f"Customer#{key:09}", self.address(), nation, self.phone(nation), self.balance(), segment, self.text(29, 116)

    def order_rows(self):
        orders, lines = [], []
        days = (LAST_ORDER - FIRST_DAY).days
        # A third of the customers has no orders; of 32 keys eight are used.
        buyers = [key for key in range(1, self.customers + 1) if key % 3] or [1]
        for number in range(self.orders):
            key = number // 8 * 32 + number % 8 + 1
            day = FIRST_DAY + datetime.timedelta(days=self.dice.randint(0, days))
            own = [self.line(key, place, day) for place in range(1, self.dice.randint(1, 7) + 1)]
            total = sum(price * (100 + tax) * (100 - discount) // 10_000 for _, price, discount, tax in own)
            states = {row[9] for row, _, _, _ in own}
            state = states.pop() if len(states) == 1 else "P"
            clerk = f"Clerk#{self.dice.randint(1, max(1, self.suppliers // 10)):09}"
            priority = self.dice.choice(PRIORITIES)
            orders.append((key, self.dice.choice(buyers), state, cents(total), day, priority, clerk, 0, self.text(19, 78)))
            lines.extend(row for row, _, _, _ in own)
        return orders, lines

    def line(self, order, number, day):
        part = self.dice.randint(1, self.parts)
        supplier = self.supplier_of(part, self.dice.randrange(4))
        quantity, discount, tax = self.dice.randint(1, 50), self.dice.randint(0, 10), self.dice.randint(0, 8)
        price = quantity * self.price(part)
        later = lambda since, low, high: since + datetime.timedelta(days=self.dice.randint(low, high))
        shipped, promised = later(day, 1, 121), later(day, 30, 90)
        received = later(shipped, 1, 30)
        returned = self.dice.choice("RA") if received <= TODAY else "N"
        state = "O" if shipped > TODAY else "F"
        how = self.dice.choice(INSTRUCTIONS), self.dice.choice(MODES), self.text(10, 43)
        amounts = f"{quantity}.00", cents(price), cents(discount), cents(tax)
        row = (order, part, supplier, number, *amounts, returned, state, shipped, promised, received, *how)
        return row, price, discount, tax
