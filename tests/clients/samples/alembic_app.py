"""Alembic: migrations up and down, and what it finds to be different between models and the database."""

import os

import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.operations import Operations

E = os.environ
URL = f"postgresql+psycopg://{E['PGUSER']}@{E['PGHOST']}:{E['PGPORT']}/{E['PGDATABASE']}"


def first(op):
    op.create_table(
        "account",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(50), nullable=False),
        sa.Column("made", sa.DateTime(timezone=True), server_default=sa.func.now()),
    )
    op.create_index("account_name", "account", ["name"], unique=True)
    op.bulk_insert(sa.table("account", sa.column("name", sa.String)), [{"name": "a"}, {"name": "b"}])


def second(op):
    op.add_column("account", sa.Column("balance", sa.Numeric(10, 2), nullable=False, server_default="0"))
    op.create_table(
        "entry",
        sa.Column("id", sa.BigInteger, primary_key=True),
        sa.Column("account_id", sa.Integer, sa.ForeignKey("account.id", name="entry_account"), nullable=False),
        sa.Column("amount", sa.Numeric(10, 2)),
    )
    op.create_check_constraint("account_balance", "account", sa.text("balance >= 0"))
    op.alter_column("account", "name", type_=sa.Text, existing_type=sa.String(50))
    op.alter_column("entry", "amount", nullable=False, server_default="1")
    op.execute("COMMENT ON TABLE account IS 'money'")


def third(op):
    op.drop_constraint("entry_account", "entry", type_="foreignkey")
    op.drop_column("entry", "account_id")
    op.rename_table("entry", "line")
    op.alter_column("line", "amount", new_column_name="sum")
    op.drop_constraint("account_balance", "account", type_="check")


def models():
    metadata = sa.MetaData()
    sa.Table(
        "account", metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("made", sa.DateTime(timezone=True), server_default=sa.func.now()),
        sa.Column("balance", sa.Numeric(10, 2), nullable=False, server_default="0"),
        sa.Column("extra", sa.Integer),
        comment="money",
    )
    return metadata


def shape(connection):
    look = sa.inspect(connection)
    for table in sorted(look.get_table_names()):
        print(" ", table, [(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in look.get_columns(table)])
        print("   ", sorted(found["name"] for found in look.get_indexes(table)), [f["name"] for f in look.get_foreign_keys(table)])


def main():
    engine = sa.create_engine(URL)
    for step in [first, second, third]:
        with engine.begin() as connection:
            step(Operations(MigrationContext.configure(connection)))
            print("after", step.__name__)
            shape(connection)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        for found in compare_metadata(context, models()):
            print("differs", found[0], found[1].name if hasattr(found[1], "name") else found[1:4])
    with engine.connect() as connection:
        transaction = connection.begin()
        Operations(MigrationContext.configure(connection)).drop_table("line")
        transaction.rollback()
        print("still there", sa.inspect(connection).has_table("line"))


main()
