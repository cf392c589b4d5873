"""Django 5: models, makemigrations, migrate, inspectdb, the ORM, and its test database's way of keeping rows apart."""

import io
import os
import pathlib
import sys
import types

import django
from django.conf import settings

E = os.environ
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": E["PGDATABASE"], "USER": E["PGUSER"], "HOST": E["PGHOST"], "PORT": E["PGPORT"],
        }
    },
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "shop"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
    TIME_ZONE="UTC",
)
# An application that exists while this program runs; its migrations are written beside it.
place = pathlib.Path.cwd() / "shop"
(place / "migrations").mkdir(parents=True)
(place / "migrations/__init__.py").touch()
(place / "__init__.py").touch()
(place / "models.py").write_text(
    '''
from django.db import models

class Author(models.Model):
    name = models.CharField(max_length=80, unique=True)
    born = models.DateField(null=True)

    class Meta:
        ordering = ["name"]
        db_table_comment = "who writes"

class Tag(models.Model):
    word = models.SlugField(unique=True)

class Book(models.Model):
    title = models.CharField(max_length=200, db_index=True)
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
    price = models.DecimalField(max_digits=8, decimal_places=2, default=0)
    pages = models.PositiveIntegerField(null=True)
    facts = models.JSONField(default=dict)
    tags = models.ManyToManyField(Tag)

    class Meta:
        unique_together = [("title", "author")]
        constraints = [models.CheckConstraint(condition=models.Q(price__gte=0), name="price_is_positive")]
'''
)
sys.path.insert(0, str(pathlib.Path.cwd()))
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connection, models, transaction  # noqa: E402
from django.db.models import Avg, Count, Exists, F, OuterRef, Q, Subquery, Sum  # noqa: E402
from shop.models import Author, Book, Tag  # noqa: E402


def said(*command, **options):
    out = io.StringIO()
    call_command(*command, stdout=out, stderr=out, no_color=True, **options)
    return out.getvalue()


def work():
    ann = Author.objects.create(name="Ann", born="1970-01-01")
    bob = Author.objects.create(name="Bob")
    Book.objects.bulk_create(
        [
            Book(title="A", author=ann, price=10, pages=100, facts={"kind": "novel", "year": 2001}),
            Book(title="B", author=ann, price="7.50", pages=300),
            Book(title="C", author=bob, price=20, facts={"kind": "poem"}),
        ]
    )
    red, blue = Tag.objects.create(word="red"), Tag.objects.create(word="blue")
    Book.objects.get(title="A").tags.set([red, blue])
    Book.objects.get(title="C").tags.add(red)
    print("joined", list(Book.objects.filter(author__name="Ann").order_by("title").values_list("title", "author__name")))
    print("many", list(Book.objects.filter(tags__word="red").order_by("title").values_list("title", flat=True)))
    print("counted", list(Author.objects.annotate(n=Count("books"), sum=Sum("books__price")).order_by("name").values_list("name", "n", "sum")))
    print("average", Book.objects.aggregate(Avg("price"), Count("pages")))
    print("fetched", [(a.name, sorted(b.title for b in a.books.all())) for a in Author.objects.prefetch_related("books")])
    print("document", list(Book.objects.filter(facts__kind="novel").values_list("title", "facts__year")))
    dear = Book.objects.filter(author=OuterRef("pk"), price__gt=15)
    print("exists", list(Author.objects.filter(Exists(dear)).values_list("name", flat=True)))
    best = Book.objects.filter(author=OuterRef("pk")).order_by("-price").values("title")[:1]
    print("subquery", list(Author.objects.annotate(best=Subquery(best)).values_list("name", "best")))
    print("either", list(Book.objects.filter(Q(price__lt=8) | Q(title__icontains="c")).order_by("pk").values_list("title", flat=True)))
    print("raised", Book.objects.filter(pages__isnull=False).update(price=F("price") + 1))
    print("both", list(Book.objects.filter(price__gt=8).union(Book.objects.filter(title="A")).values_list("title", flat=True).order_by("title")))
    print("got", Author.objects.get_or_create(name="Ann")[1], Author.objects.update_or_create(name="Cyd", defaults={"born": "1999-09-09"})[1])
    print("paged", list(Book.objects.order_by("-title")[1:3].values_list("title", flat=True)))
    with transaction.atomic():
        print("locked", Book.objects.select_for_update().get(title="A").price)
        try:
            with transaction.atomic():
                Author.objects.create(name="Bob")
        except IntegrityError as error:
            print("refused", error.__cause__.sqlstate)
        print("goes on", Author.objects.count())
    print("deleted", sorted(ann.delete()[1].items()))
    print("left", Book.objects.count(), Tag.objects.count())


def main():
    print(said("makemigrations", "shop", verbosity=1))
    print(said("migrate", verbosity=1))
    print(said("showmigrations"))
    print(said("makemigrations", "--check", "--dry-run"))
    work()
    with connection.cursor() as cursor:
        look = connection.introspection
        print("tables", sorted(look.table_names(cursor)))
        for table in ["shop_author", "shop_book"]:
            print(table, [(c.name, c.null_ok, c.default) for c in look.get_table_description(cursor, table)])
            print("  key", look.get_primary_key_columns(cursor, table), "refers", sorted(look.get_relations(cursor, table).items()))
            for name, found in sorted(look.get_constraints(cursor, table).items()):
                print(" ", name, {key: found[key] for key in ["columns", "primary_key", "unique", "foreign_key", "check", "index"]})
            print("  sequences", look.get_sequences(cursor, table))
    print(said("inspectdb", "shop_author", "shop_book", "shop_book_tags"))
    with connection.schema_editor() as editor:
        field = models.IntegerField(default=5)
        field.set_attributes_from_name("rank")
        editor.add_field(Author, field)
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, rank FROM shop_author ORDER BY name")
        print("added", cursor.fetchall())
    print(said("migrate", "shop", "zero", verbosity=1))
    print("end", sorted(connection.introspection.table_names()))


main()
