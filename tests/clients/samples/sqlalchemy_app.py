"""SQLAlchemy 2 on psycopg 3: tables, a session with relationships, queries, errors, reflection."""

from __future__ import annotations

import datetime
import decimal
import os

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import postgresql

E = os.environ
URL = f"postgresql+psycopg://{E['PGUSER']}@{E['PGHOST']}:{E['PGPORT']}/{E['PGDATABASE']}"


class Base(orm.DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customer"
    __table_args__ = {"comment": "who buys"}
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(30), index=True, comment="as on letters")
    mail: orm.Mapped[str | None] = orm.mapped_column(unique=True)
    since: orm.Mapped[datetime.date] = orm.mapped_column(server_default=sa.text("DATE '2020-01-01'"))
    orders: orm.Mapped[list[Order]] = orm.relationship(back_populates="customer", cascade="all, delete-orphan")


class Order(Base):
    __tablename__ = "orders"
    __table_args__ = (sa.CheckConstraint("total >= 0", name="total_is_positive"),)
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    customer_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("customer.id", ondelete="CASCADE"))
    total: orm.Mapped[decimal.Decimal] = orm.mapped_column(sa.Numeric(10, 2), server_default="0")
    paid: orm.Mapped[bool] = orm.mapped_column(default=False)
    notes: orm.Mapped[dict | None] = orm.mapped_column(postgresql.JSONB)
    tags: orm.Mapped[list[str] | None] = orm.mapped_column(sa.ARRAY(sa.Text))
    customer: orm.Mapped[Customer] = orm.relationship(back_populates="orders")


def work(engine):
    with orm.Session(engine) as session:
        ann = Customer(name="Ann", mail="ann@example.org")
        ann.orders = [Order(total=10, notes={"a": [1, 2]}, tags=["x", "y"]), Order(total="7.50", paid=True)]
        session.add_all([ann, Customer(name="Bob"), Customer(name="Cyd", mail="cyd@example.org", orders=[Order()])])
        session.commit()
        print("defaults", ann.since, [str(order.total) for order in ann.orders], ann.orders[0].notes, ann.orders[0].tags)

        for loading in [orm.selectinload, orm.joinedload, orm.subqueryload]:
            query = sa.select(Customer).options(loading(Customer.orders)).order_by(Customer.name)
            found = session.scalars(query.execution_options(populate_existing=True)).unique()
            print(loading.__name__, [(one.name, len(one.orders)) for one in found])

        summed = sa.func.coalesce(sa.func.sum(Order.total), 0).label("summed")
        query = sa.select(Customer.name, summed).outerjoin(Order).group_by(Customer.name).order_by(summed.desc(), Customer.name)
        print("sums", [(name, str(total)) for name, total in session.execute(query)])
        print("any", session.scalars(sa.select(Customer.name).where(Customer.orders.any(Order.paid))).all())
        latest = sa.select(sa.func.max(Order.id)).where(Order.customer_id == Customer.id).scalar_subquery()
        print("correlated", session.execute(sa.select(Customer.name, latest).order_by(Customer.name)).all())
        print("page", session.scalars(sa.select(Customer.name).order_by(Customer.name).limit(1).offset(1)).all())
        print("exists", session.scalar(sa.select(sa.exists().where(Customer.name == "Bob"))))

        changed = session.execute(sa.update(Order).where(Order.paid.is_(False)).values(total=Order.total + 1).returning(Order.id))
        print("updated", sorted(changed.scalars()))
        session.commit()
        session.delete(session.scalars(sa.select(Customer).where(Customer.name == "Ann")).one())
        session.commit()
        print("left", session.scalar(sa.select(sa.func.count()).select_from(Order)))

        session.add(Customer(name="Dan", mail="cyd@example.org"))
        try:
            session.commit()
        except sa.exc.IntegrityError as error:
            print("refused", error.orig.sqlstate, error.orig.diag.constraint_name)
            session.rollback()
        with session.begin_nested():
            session.add(Customer(name="Eve"))
        print("names", session.scalars(sa.select(Customer.name).order_by(Customer.name)).all())
        session.rollback()
        print("names", session.scalars(sa.select(Customer.name).order_by(Customer.name)).all())


def reflect(engine):
    look = sa.inspect(engine)
    print("tables", look.get_table_names(), "views", look.get_view_names(), "schemas", look.get_schema_names())
    print("sequences", look.get_sequence_names())
    for table in sorted(look.get_table_names()):
        print(table, look.get_table_comment(table))
        for column in look.get_columns(table):
            print("  column", {key: str(value) for key, value in column.items()})
        print("  key", look.get_pk_constraint(table))
        for what in [look.get_foreign_keys, look.get_indexes, look.get_unique_constraints, look.get_check_constraints]:
            print(" ", what.__name__, sorted(what(table), key=lambda found: found["name"]))
    print("view", look.get_view_definition("paying"), [column["name"] for column in look.get_columns("paying")])
    print("has", look.has_table("customer"), look.has_table("nothing"), look.has_table("paying"))
    again = sa.MetaData()
    again.reflect(engine)
    for table in again.sorted_tables:
        print("reflected", table.name, [(column.name, str(column.type)) for column in table.columns])


def main():
    engine = sa.create_engine(URL)
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    work(engine)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE VIEW paying AS SELECT name FROM customer WHERE mail IS NOT NULL"))
    reflect(engine)
    with engine.connect().execution_options(isolation_level="SERIALIZABLE") as connection:
        print("level", connection.execute(sa.text("SHOW transaction_isolation")).scalar())
    with engine.begin() as connection:
        connection.execute(sa.text("DROP VIEW paying"))
    Base.metadata.drop_all(engine)
    print("end", sa.inspect(engine).get_table_names())


main()
