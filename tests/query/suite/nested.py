"""Sub-queries outside FROM: conditions, and values."""

from __future__ import annotations

from suite.case import Case, case

__all__ = ["NESTED"]

_LISTED = "[[ WHERE city IN ('Bern', 'Graz', 'Linz', 'Wien')]]"
_AND_LISTED = "[[ AND city IN ('Bern', 'Graz', 'Linz', 'Wien')]]"
_OWN = "o.customer_id = c.id"

_CONDITIONS = (
    case(
        f"SELECT city, COUNT(*) FROM customers c WHERE EXISTS (SELECT * FROM orders o WHERE {_OWN} AND price > 100)"
        f"{_AND_LISTED} GROUP BY city",
        "sub-query conditions",
    ),
    case(
        f"SELECT COUNT(*) FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE {_OWN})",
        "sub-query conditions",
    ),
    case(
        f"SELECT COUNT(*), SUM({{age}}) FROM customers c WHERE NOT (NOT EXISTS (SELECT 1 FROM orders o WHERE {_OWN} "
        "AND o.price > c.age)) AND c.vip",
        "sub-query conditions",
    ),
    case(
        f"SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT 1 FROM orders o, items i WHERE {_OWN} AND "
        "i.order_id = o.id AND i.quantity > 2)",
        "sub-query conditions",
        "paths",
    ),
    case(
        "SELECT COUNT(*) FROM orders o WHERE NOT EXISTS (SELECT * FROM items i WHERE i.order_id = o.id)",
        "sub-query conditions",
        "paths",
    ),
    case(
        "SELECT COUNT(*) FROM items a WHERE EXISTS (SELECT * FROM items b WHERE a.order_id = b.order_id AND "
        "a.product <> b.product AND b.price > a.price)",
        "sub-query conditions",
        "paths",
    ),
    case(
        "SELECT COUNT(*) FROM orders a WHERE NOT EXISTS (SELECT 1 FROM orders b WHERE a.customer_id = b.customer_id "
        "AND b.placed > a.placed) AND a.price > 20",
        "sub-query conditions",
    ),
    case("SELECT COUNT(*) FROM customers WHERE id IN (SELECT customer_id FROM orders)", "sub-query conditions"),
    case(
        f"SELECT COUNT(*) FROM customers c WHERE vip OR EXISTS (SELECT * FROM orders o WHERE {_OWN} AND price > 100)",
        "sub-query conditions",
    ),
    case(
        f"SELECT COUNT(*) FROM customers c WHERE age > 20 AND (NOT EXISTS (SELECT * FROM orders o WHERE {_OWN} AND "
        f"channel = 'web') OR EXISTS (SELECT * FROM orders o WHERE {_OWN} AND channel = 'shop'))",
        "sub-query conditions",
    ),
    case(
        "SELECT SUM(CASE WHEN EXISTS (SELECT 1 FROM orders o, items i WHERE o.customer_id = c.id AND "
        "i.order_id = o.id) AND age > 30 THEN {age} ELSE 0 END) FROM customers c",
        "sub-query conditions",
        "paths",
    ),
    case(
        "SELECT COUNT(*) FROM customers WHERE vip OR id IN (SELECT customer_id FROM orders WHERE channel = 'web')",
        "sub-query conditions",
    ),
    case(
        "SELECT COUNT(*) FROM items WHERE quantity > 3 OR (product IN (SELECT id FROM products WHERE list_price > 40) "
        "AND price > 10)",
        "sub-query conditions",
        "paths",
        "public tables",
    ),
    case(
        "SELECT SUM(CASE WHEN city IN (SELECT city FROM regions WHERE weight > 1) OR age IS NULL THEN 1 ELSE 0 END) "
        "FROM customers",
        "sub-query conditions",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM items WHERE price < (SELECT DISTINCT list_price FROM products WHERE category = 'toy' AND "
        "list_price < 20)",
        "sub-query values",
        "paths",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE channel = 'web') AND "
        "id NOT IN (SELECT customer_id FROM orders WHERE channel = 'shop')",
        "sub-query conditions",
    ),
    case(
        "SELECT COUNT(*) FROM customers WHERE id NOT IN (SELECT customer_id FROM orders WHERE discount IS NULL)",
        "sub-query conditions",
    ),
    case(
        "SELECT COUNT(*) FROM orders WHERE id IN (SELECT order_id FROM items WHERE quantity > 1)",
        "sub-query conditions",
        "paths",
    ),
    case(
        "SELECT COUNT(*) FROM orders WHERE id NOT IN (SELECT order_id FROM items WHERE quantity > 1)",
        "sub-query conditions",
        "paths",
    ),
    case(
        "SELECT COUNT(*) FROM orders WHERE id IN (SELECT order_id FROM items GROUP BY order_id HAVING "
        "SUM(quantity) > 3)",
        "sub-query conditions",
        "paths",
    ),
    case(
        "SELECT COUNT(*) FROM customers WHERE id IN (SELECT customer_id FROM orders GROUP BY customer_id HAVING "
        "COUNT(*) >= 2 AND MAX(price) > 60)",
        "sub-query conditions",
    ),
    case(
        "SELECT COUNT(*) FROM items WHERE product IN (SELECT id FROM products WHERE category = 'toy')",
        "sub-query conditions",
        "paths",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM items WHERE product NOT IN (SELECT id FROM products WHERE list_price < 50)",
        "sub-query conditions",
        "paths",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM customers WHERE city NOT IN (SELECT city FROM regions WHERE weight > 2)",
        "sub-query conditions",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM customers WHERE NOT city IN (SELECT CASE WHEN weight < 3 THEN city END FROM regions)",
        "sub-query conditions",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM customers c WHERE age NOT IN (SELECT 30 * weight FROM regions r WHERE r.city = c.city)",
        "sub-query conditions",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM customers c WHERE EXISTS (SELECT * FROM regions r WHERE r.weight * 20 > c.age)",
        "sub-query conditions",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM orders o WHERE price > ALL (SELECT list_price FROM products WHERE category = 'book')",
        "sub-query conditions",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM orders o WHERE 60 <= ANY (SELECT list_price FROM products WHERE category = 'book' AND "
        "list_price < o.price)",
        "sub-query conditions",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM orders o WHERE price >= ALL (SELECT price FROM orders p WHERE p.customer_id = "
        "o.customer_id)",
        "sub-query conditions",
    ),
    case(
        "SELECT COUNT(*) FROM orders o WHERE (customer_id, channel) IN (SELECT customer_id, channel FROM orders p "
        "WHERE p.price > 50)",
        "sub-query conditions",
    ),
    case(
        "SELECT COUNT(*) FROM customers c WHERE id IN (SELECT customer_id FROM orders o WHERE o.id IN (SELECT order_id "
        "FROM items WHERE product = 3))",
        "sub-query conditions",
        "paths",
    ),
    case(
        "WITH rich AS (SELECT customer_id FROM orders WHERE price > 150) SELECT COUNT(*) FROM customers WHERE id IN "
        "(SELECT * FROM rich)",
        "sub-query conditions",
        "ctes",
    ),
    case(
        "SELECT COUNT(*) FROM (SELECT * FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE "
        f"{_OWN})) t WHERE age > 40",
        "sub-query conditions",
        "sub-queries",
    ),
    case(
        "SELECT COUNT(*) FROM visits v WHERE seconds > ANY (SELECT list_price * 6 FROM products)",
        "sub-query conditions",
        "public tables",
    ),
)

_VALUES = (
    case(
        "SELECT COUNT(*) FROM orders WHERE price > (SELECT AVG({list_price}) FROM products)",
        "sub-query values",
        "public tables",
    ),
    case(
        "SELECT COUNT(*), SUM({price}) FROM orders WHERE price < (SELECT MAX(list_price) FROM products WHERE "
        "category = 'toy') AND price > (SELECT MIN(list_price) FROM products WHERE category = 'toy')",
        "sub-query values",
        "public tables",
    ),
    case(
        f"SELECT COUNT(*) FROM customers c WHERE (SELECT COUNT(*) FROM orders o WHERE {_OWN}) > 1",
        "sub-query values",
    ),
    case(
        f"SELECT COUNT(*) FROM customers c WHERE (SELECT COUNT(*) FROM orders o WHERE {_OWN}) = 0 AND age > 30",
        "sub-query values",
    ),
    case(
        f"SELECT COUNT(*) FROM customers c WHERE c.age < (SELECT SUM(price) FROM orders o WHERE {_OWN} "
        "AND channel = 'web')",
        "sub-query values",
    ),
    case(
        "SELECT COUNT(*) FROM orders a WHERE a.price > 1 + (SELECT AVG(b.{price}) FROM orders b WHERE b.customer_id = "
        "a.customer_id)",
        "sub-query values",
    ),
    case(
        "SELECT COUNT(*) FROM orders o WHERE o.price < 9 * (SELECT SUM(i.{quantity}) FROM items i WHERE "
        "i.order_id = o.id)",
        "sub-query values",
        "paths",
    ),
    case(
        "SELECT COUNT(*) FROM items i WHERE price * 2 > (SELECT list_price FROM products p WHERE p.id = i.product)",
        "sub-query values",
        "paths",
        "public tables",
    ),
    case(
        "SELECT (SELECT category FROM products p WHERE p.id = i.product) AS kind, COUNT(*) FROM items i[[ WHERE "
        "product BETWEEN 0 AND 8]] GROUP BY kind",
        "sub-query values",
        "paths",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM customers c WHERE 30 * (SELECT COUNT(*) FROM regions r WHERE r.city = c.city) > c.age",
        "sub-query values",
        "public tables",
    ),
    case(
        "SELECT (SELECT COUNT(*) FROM regions r WHERE r.city = c.city) AS k, COUNT(*) FROM customers c GROUP BY k",
        "sub-query values",
        "public tables",
    ),
    case(
        "SELECT r.region, COUNT(*) FROM customers c JOIN regions r ON c.city = r.city WHERE EXISTS (SELECT 1 FROM "
        "orders o WHERE o.customer_id = c.id) AND r.region NOT IN (SELECT region FROM regions WHERE weight > 9) "
        "GROUP BY r.region",
        "sub-query conditions",
        "public tables",
    ),
    case(
        "SELECT SUM(n) FROM (SELECT (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id AND price > 20) AS n "
        "FROM customers c) t",
        "sub-query values",
        "sub-queries",
    ),
    case(
        "SELECT SUM((SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.id)) FROM customers c WHERE vip",
        "sub-query values",
    ),
    case(
        "SELECT COUNT(*) FROM orders WHERE price > (SELECT list_price FROM products WHERE id = 3)",
        "sub-query values",
        "public tables",
    ),
)

_KEYS = (
    case(
        "SELECT AVG(n) FROM (SELECT order_id, SUM({quantity}) AS n FROM items GROUP BY order_id) t",
        "grouped things",
        "paths",
    ),
    case(
        "SELECT o.channel, SUM(n) FROM (SELECT order_id, COUNT(*) AS n FROM items GROUP BY order_id) t JOIN orders o "
        "ON o.id = t.order_id GROUP BY o.channel",
        "grouped things",
        "paths",
    ),
    case(
        "SELECT COUNT(*) FROM (SELECT DISTINCT order_id, product FROM items WHERE quantity > 1) t",
        "grouped things",
        "paths",
    ),
    case(
        "SELECT COUNT(*), SUM(p) FROM (SELECT id, MAX({price}) AS p FROM orders GROUP BY id) t",
        "grouped things",
    ),
)

NESTED: tuple[Case, ...] = (*_CONDITIONS, *_VALUES, *_KEYS)
