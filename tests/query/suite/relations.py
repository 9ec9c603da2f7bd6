"""Several tables: joins, paths, public tables, sub-queries, CTEs, UNION ALL, people as rows, grouping sets."""

from __future__ import annotations

from suite.case import case

__all__ = ["RELATIONS"]

_KEYS = "('Bern', 'Graz', 'Linz', 'Wien')"
_CITY = f"[[ WHERE city IN {_KEYS}]]"
_C_CITY = f"[[ WHERE c.city IN {_KEYS}]]"
_LISTED_CITY = f"[[ HAVING (GROUPING(city) = 1 OR city IN {_KEYS})]]"
_LISTED = f"[[ HAVING (GROUPING(city) = 1 OR city IN {_KEYS}) AND (GROUPING(vip) = 1 OR vip IS NOT NULL)]]"
_ON = "orders o JOIN customers c ON o.customer_id = c.id"
_CHAIN = "items i JOIN orders o ON i.order_id = o.id"
_REGION = "[[ WHERE region IN ('east', 'south', 'west')]]"
_CATEGORY = "[[ WHERE category IN ('book', 'food', 'toy')]]"

_JOINS = (
    case(f"SELECT COUNT(*) FROM {_ON}", "joins"),
    case("SELECT COUNT(*) FROM orders INNER JOIN customers ON customers.id = orders.customer_id", "joins"),
    case(f"SELECT SUM(o.{{price}}), AVG(c.{{age}}) FROM {_ON}", "joins"),
    case(f"SELECT c.city, COUNT(*), SUM(o.{{price}}) FROM {_ON}{_C_CITY} GROUP BY c.city", "joins"),
    case(f"SELECT city, AVG({{price}}) FROM {_ON}{_CITY} GROUP BY city", "joins"),
    case(f"SELECT COUNT(*) FROM {_ON} WHERE c.age > 40 AND o.price > 50", "joins"),
    case(f"SELECT COUNT(*) FROM {_ON} WHERE o.placed > c.joined", "joins"),
    case(f"SELECT SUM(o.{{price}} * c.{{age}}) FROM {_ON}", "joins"),
    case(f"SELECT o.channel, COUNT(*) FROM {_ON} GROUP BY o.channel", "joins"),
    case(f"SELECT COUNT(*) FROM {_ON} AND c.age > 40", "joins"),
    case("SELECT COUNT(*) FROM customers c JOIN orders o ON c.id = o.customer_id WHERE o.id = o.id", "joins"),
    case("SELECT COUNT(*) FROM ORDERS AS O JOIN Customers AS C ON o.CUSTOMER_ID = c.ID", "joins"),
    case("SELECT COUNT(*), COUNT(o.id) FROM customers c LEFT JOIN orders o ON c.id = o.customer_id", "left joins"),
    case("SELECT SUM(o.{price}) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id", "left joins"),
    case(
        f"SELECT c.city, COUNT(o.price) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id{_C_CITY} "
        "GROUP BY c.city",
        "left joins",
    ),
    case(
        "SELECT COUNT(*) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.customer_id IS NULL",
        "left joins",
    ),
    case("SELECT COUNT(*) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.price > 100", "left joins"),
    case("SELECT COUNT(c.age) FROM orders o LEFT JOIN customers c ON o.customer_id = c.id", "left joins"),
    case("SELECT COUNT(*) FROM orders a JOIN orders b ON a.customer_id = b.customer_id", "self joins"),
    case(
        "SELECT COUNT(*) FROM orders a JOIN orders b USING (customer_id) WHERE a.price < b.price", "self joins", "using"
    ),
    case("SELECT COUNT(*) FROM orders a JOIN orders b USING (customer_id) WHERE a.id < b.id", "self joins", "using"),
    case(
        "SELECT SUM(a.{price} - b.{price}) FROM orders a JOIN orders b ON b.customer_id = a.customer_id", "self joins"
    ),
    case("SELECT COUNT(*) FROM customers a JOIN customers b USING (id)", "self joins", "using"),
)

_PATHS = (
    case("SELECT COUNT(*) FROM items", "paths"),
    case("SELECT COUNT(quantity), SUM({quantity}), AVG({price}) FROM items", "paths"),
    case("SELECT SUM({quantity} * {price}) FROM items WHERE price < 40", "paths"),
    case(f"SELECT COUNT(*) FROM {_CHAIN}", "paths", "joins"),
    case(f"SELECT SUM(i.{{price}}), SUM(o.{{price}}) FROM {_CHAIN}", "paths", "joins"),
    case(f"SELECT o.channel, SUM(i.{{quantity}}) FROM {_CHAIN} GROUP BY o.channel", "paths", "joins"),
    case(f"SELECT COUNT(*) FROM {_CHAIN} JOIN customers c ON o.customer_id = c.id WHERE c.age < 50", "paths", "joins"),
    case(
        f"SELECT c.city, SUM(i.{{quantity}} * i.{{price}}) AS s FROM {_CHAIN} JOIN customers c "
        f"ON c.id = o.customer_id{_C_CITY} GROUP BY c.city",
        "paths",
        "joins",
    ),
    case("SELECT COUNT(*), COUNT(i.price) FROM orders o LEFT JOIN items i ON i.order_id = o.id", "paths", "left joins"),
)

_PUBLIC = (
    case(
        "SELECT p.category, COUNT(*) FROM items i JOIN products p ON i.product = p.id GROUP BY p.category",
        "paths",
        "public tables",
    ),
    case("SELECT SUM({quantity} * {list_price}) FROM items JOIN products ON product = id", "paths", "public tables"),
    case(
        "SELECT COUNT(*), COUNT(p.id) FROM items i LEFT JOIN products p ON i.product = p.id", "paths", "public tables"
    ),
    case(
        "SELECT category, SUM(i.{quantity}) AS q FROM items i JOIN orders o ON o.id = i.order_id JOIN products p "
        f"ON p.id = i.product{_CATEGORY} GROUP BY category",
        "paths",
        "public tables",
        "joins",
    ),
    case(
        f"SELECT region, COUNT(*) FROM customers JOIN regions USING (city){_REGION} GROUP BY region",
        "public tables",
        "using",
    ),
    case("SELECT COUNT(*) FROM customers c JOIN regions r ON c.city = r.city", "public tables"),
    case("SELECT COUNT(*), SUM(r.{weight}) FROM customers c JOIN regions r ON c.city = r.city", "public tables"),
    case("SELECT SUM({weight} * {age}) FROM customers c INNER JOIN regions r ON r.city = c.city", "public tables"),
    case("SELECT COUNT(*) FROM regions r JOIN customers c ON c.city = r.city WHERE r.region = 'east'", "public tables"),
    case("SELECT COUNT(*), COUNT(r.region) FROM customers c LEFT JOIN regions r ON c.city = r.city", "public tables"),
    case(
        f"SELECT r.region, COUNT(*), AVG(o.{{price}}) FROM {_ON} JOIN regions r ON r.city = c.city{_REGION} "
        "GROUP BY r.region",
        "joins",
        "public tables",
    ),
)

_JOINED = "customers c {} JOIN regions r ON c.city = r.city"
_PUBLIC_KEYS = (
    case(
        f"SELECT r.city, COUNT(*) FROM {_JOINED.format('')} GROUP BY r.city",
        "public tables",
        truth="SELECT r.city, (SELECT count(*) FROM customers c WHERE c.city = r.city) * count(*) FROM regions r "
        "GROUP BY r.city",
    ),
    case(
        f"SELECT r.city, COUNT(*), SUM(r.weight) FROM {_JOINED.format('LEFT')} GROUP BY r.city",
        "public tables",
        "left joins",
        truth="SELECT k.city, count(j.id), coalesce(sum(j.weight_), 0) "
        "FROM (SELECT DISTINCT city FROM regions UNION ALL SELECT NULL) k LEFT JOIN "
        f"(SELECT c.id, r.city, r.weight_ FROM {_JOINED.format('LEFT')}) j ON k.city IS NOT DISTINCT FROM j.city "
        "GROUP BY k.city",
    ),
    case(
        f"SELECT UPPER(r.city) AS u, weight > 1 AS heavy, COUNT(*) FROM {_JOINED.format('')} WHERE weight < 5 "
        "GROUP BY u, heavy",
        "public tables",
        truth="SELECT upper(r.city), weight > 1, sum((SELECT count(*) FROM customers c WHERE c.city = r.city)) "
        "FROM regions r WHERE weight < 5 GROUP BY ALL",
    ),
    case(
        "SELECT list_price >= 30 AS dear, id, SUM({quantity}) FROM items JOIN products ON product = id WHERE id < 4 "
        "GROUP BY ROLLUP (dear, id)",
        "paths",
        "public tables",
        "grouping sets",
    ),
)

_LISTS = (
    case("SELECT COUNT(*) FROM orders, customers WHERE customer_id = customers.id", "comma joins"),
    case(
        "SELECT c.city, COUNT(*), SUM(o.{price}) FROM customers c, orders o "
        f"WHERE c.age > 20 AND o.customer_id = c.id[[ AND c.city IN {_KEYS}]] GROUP BY c.city",
        "comma joins",
    ),
    case(
        "SELECT SUM(i.{price}), SUM(o.{price}) FROM items i, customers c, orders o "
        "WHERE c.age < 50 AND i.order_id = o.id AND o.placed > c.joined AND c.id = o.customer_id",
        "comma joins",
        "paths",
    ),
    case(
        "SELECT COUNT(*) FROM customers c, orders o, items i "
        "WHERE c.id = o.customer_id AND o.id = i.order_id AND i.quantity * 9 = o.discount",
        "comma joins",
        "paths",
    ),
    case(
        "SELECT p.category, COUNT(*) FROM products p, items i WHERE p.id = i.product GROUP BY p.category",
        "comma joins",
        "paths",
        "public tables",
    ),
    case(
        "SELECT SUM(i.{quantity} * p.{list_price}) FROM products p, orders o JOIN customers c ON c.id = o.customer_id "
        "AND c.age > 30, items i WHERE i.product = p.id AND i.order_id = o.id",
        "comma joins",
        "joins",
        "paths",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM customers c CROSS JOIN regions r WHERE r.city = c.city AND r.region = 'east'",
        "comma joins",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM customers c, regions r, regions s "
        "WHERE c.city = r.city AND s.city = c.city AND r.weight < s.weight",
        "comma joins",
        "public tables",
    ),
    case(
        "SELECT COUNT(*), SUM({quantity}) FROM items i, products p WHERE "
        "(p.id = i.product AND category = 'book' AND quantity > 1) OR (category = 'toy' AND i.product = p.id)",
        "comma joins",
        "paths",
        "public tables",
    ),
    case(
        "SELECT COUNT(*), COUNT(r.region) FROM orders o, customers c LEFT JOIN regions r "
        "ON r.city = c.city AND r.region = 'east' WHERE o.customer_id = c.id AND c.age > 30",
        "comma joins",
        "left joins",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM customers c JOIN orders o ON o.placed > c.joined WHERE o.customer_id = c.id",
        "comma joins",
    ),
    case(
        "SELECT COUNT(*) FROM customers c JOIN orders o USING (id) WHERE c.id = o.customer_id", "comma joins", "using"
    ),
    case(
        "SELECT COUNT(*) FROM orders a JOIN orders b ON a.status = b.status JOIN customers c ON c.id = b.customer_id "
        "WHERE a.customer_id = b.customer_id AND c.age > 30",
        "comma joins",
        "self joins",
    ),
    case("SELECT COUNT(*) FROM orders a, orders b WHERE a.customer_id = b.customer_id AND a.id < b.id", "comma joins"),
    case(
        "SELECT AVG(n) FROM (SELECT customer_id, COUNT(*) AS n FROM items, orders o WHERE order_id = o.id "
        "GROUP BY customer_id) t",
        "comma joins",
        "paths",
        "per person",
    ),
    case(
        "WITH big AS (SELECT id AS no, customer_id AS who FROM orders WHERE price > 90) "
        "SELECT SUM({quantity}) FROM big, items, customers WHERE order_id = no AND who = id AND age > 20",
        "comma joins",
        "paths",
        "ctes",
    ),
    case(
        f"SELECT region, COUNT(*) FROM customers NATURAL JOIN regions{_REGION} GROUP BY region",
        "natural joins",
        "public tables",
    ),
    case(
        "SELECT COUNT(*), COUNT(region) FROM customers NATURAL LEFT JOIN regions WHERE city <> 'Linz'",
        "natural joins",
        "left joins",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM orders o, customers c NATURAL JOIN regions WHERE o.customer_id = c.id AND city < 'L'",
        "natural joins",
        "comma joins",
        "public tables",
    ),
)

_HALVES = (
    case("SELECT COUNT(*) FROM customers c SEMI JOIN orders o ON c.id = o.customer_id AND o.price > 100", "semi joins"),
    case(
        f"SELECT c.city, COUNT(*), SUM({{age}}) FROM customers c ANTI JOIN orders o "
        f"ON c.id = o.customer_id AND o.channel = 'web'{_C_CITY} GROUP BY c.city",
        "semi joins",
    ),
    case(
        "SELECT COUNT(*), SUM({quantity}) FROM items SEMI JOIN products p ON product = p.id AND category = 'toy'",
        "semi joins",
        "paths",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM items ANTI JOIN products p ON product = p.id AND p.list_price > 30 WHERE quantity > 1",
        "semi joins",
        "paths",
        "public tables",
    ),
    case(
        "SELECT COUNT(*) FROM items i, orders o SEMI JOIN customers c ON c.id = o.customer_id AND c.age > 40 "
        "WHERE i.order_id = o.id",
        "semi joins",
        "comma joins",
        "paths",
    ),
    case(
        "SELECT COUNT(*) FROM orders a ANTI JOIN orders b ON a.customer_id = b.customer_id AND a.id = b.id + 1 "
        "AND b.price < 90 AND a.discount > 5",
        "semi joins",
        "self joins",
    ),
    case(
        "SELECT COUNT(*) FROM orders o SEMI JOIN (SELECT customer_id, o.id FROM items, orders o WHERE order_id = o.id "
        "AND quantity > 3) s ON o.customer_id = s.customer_id AND o.id = s.id",
        "semi joins",
        "comma joins",
        "paths",
    ),
)

_NESTED = (
    case("SELECT COUNT(*) FROM (SELECT * FROM orders WHERE price > 100) AS t", "sub-queries"),
    case("SELECT SUM(p) FROM (SELECT {price} AS p FROM orders) AS t", "sub-queries"),
    case(
        "SELECT SUM(d), AVG(d) FROM (SELECT {price} - {discount} AS d FROM orders) t WHERE d IS NOT NULL", "sub-queries"
    ),
    case(
        f"SELECT town, COUNT(*) FROM (SELECT city AS town, age FROM customers{_CITY}) t WHERE age > 30 GROUP BY town",
        "sub-queries",
    ),
    case(
        "SELECT COUNT(*) FROM (SELECT * FROM (SELECT * FROM orders WHERE price > 10) WHERE price < 90)", "sub-queries"
    ),
    case(
        "SELECT COUNT(*), SUM(o.{price}) FROM (SELECT id, age FROM customers WHERE age > 40) c JOIN orders o "
        "ON o.customer_id = c.id",
        "sub-queries",
        "joins",
    ),
    case("WITH t AS (SELECT * FROM orders WHERE price > 100) SELECT COUNT(*) FROM t", "ctes"),
    case("WITH a AS (SELECT * FROM orders), b AS (SELECT * FROM a WHERE price < 9) SELECT COUNT(*) FROM b", "ctes"),
    case(f"WITH c AS (SELECT city FROM customers) SELECT city, COUNT(*) FROM c{_CITY} GROUP BY city", "ctes"),
    case("WITH orders AS (SELECT * FROM orders WHERE price > 100) SELECT COUNT(*) FROM orders", "ctes"),
    case("WITH t(p) AS (SELECT {price} FROM orders) SELECT SUM(p) FROM t", "ctes"),
    case(
        "SELECT COUNT(*) FROM (SELECT price FROM orders WHERE price > 150 UNION ALL SELECT price FROM orders "
        "WHERE price < 50) t",
        "sub-queries",
        "union all",
    ),
    case(
        "SELECT COUNT(*), SUM(v) FROM (SELECT {price} AS v FROM orders UNION ALL SELECT {discount} FROM orders) t",
        "sub-queries",
        "union all",
    ),
    case(
        "WITH t AS (SELECT customer_id, price FROM orders UNION ALL SELECT id, age FROM customers) "
        "SELECT COUNT(*) FROM t WHERE price > 50",
        "ctes",
        "union all",
    ),
    case("SELECT DISTINCT channel FROM orders", "select distinct"),
    case("SELECT DISTINCT page, device FROM visits[[ WHERE device IN ('desk', 'phone')]]", "select distinct"),
    case("SELECT DISTINCT channel FROM orders WHERE price > 20 ORDER BY channel", "select distinct", ordered=True),
)

_PEOPLE = (
    case("SELECT COUNT(*) FROM (SELECT customer_id FROM orders GROUP BY customer_id) t", "per person"),
    case("SELECT AVG(n) FROM (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) t", "per person"),
    case(
        "SELECT AVG(t), COUNT(*) FROM (SELECT customer_id, SUM({price}) AS t FROM orders GROUP BY customer_id) x",
        "per person",
    ),
    case(
        "SELECT COUNT(*), COUNT(d) FROM (SELECT customer_id, SUM(discount) AS d FROM orders GROUP BY customer_id) x",
        "per person",
    ),
    case(
        "SELECT COUNT(*) FROM (SELECT customer_id FROM orders GROUP BY customer_id HAVING COUNT(*) > 1) t",
        "per person",
    ),
    case(
        "SELECT COUNT(*), SUM(s) FROM (SELECT customer_id, SUM({price}) AS s, COUNT(*) AS n FROM orders "
        "WHERE channel = 'web' GROUP BY customer_id HAVING SUM({price}) > 50) t WHERE n < 3",
        "per person",
    ),
    case("SELECT AVG(m) FROM (SELECT customer_id, AVG({price}) AS m FROM orders GROUP BY customer_id) t", "per person"),
    case("SELECT AVG(m) FROM (SELECT customer_id, MAX({price}) AS m FROM orders GROUP BY customer_id) t", "per person"),
    case(
        "WITH t AS (SELECT customer_id, COUNT(*) AS n FROM orders GROUP BY customer_id) SELECT n, COUNT(*) FROM t "
        "GROUP BY n HAVING COUNT(*) > 20",
        "per person",
        "ctes",
    ),
    case(
        "SELECT c.city, AVG(t.s) FROM (SELECT customer_id, SUM({price}) AS s FROM orders GROUP BY customer_id) t "
        f"JOIN customers c ON c.id = t.customer_id{_C_CITY} GROUP BY c.city",
        "per person",
        "joins",
    ),
)

_SETS = (
    case(
        f"SELECT COALESCE(city, 'all') AS place, COUNT(*) FROM customers GROUP BY ROLLUP (city){_LISTED_CITY}",
        "grouping sets",
    ),
    case(
        "SELECT CASE WHEN GROUPING(city) = 1 THEN 'all' WHEN city < 'C' THEN 'B' ELSE city END AS place, SUM({age}) "
        f"FROM customers GROUP BY ROLLUP (city){_LISTED_CITY}",
        "grouping sets",
    ),
    case(f"SELECT city, vip, COUNT(*) FROM customers GROUP BY ROLLUP (city, vip){_LISTED}", "grouping sets"),
    case(f"SELECT city, vip, COUNT(*) FROM customers GROUP BY GROUPING SETS ((city), (vip)){_LISTED}", "grouping sets"),
    case(f"SELECT city, SUM({{age}}) FROM customers GROUP BY ROLLUP (city){_LISTED_CITY}", "grouping sets"),
    case(
        f"SELECT city, SUM({{age}}) FROM customers GROUP BY GROUPING SETS ((city), ()){_LISTED_CITY}", "grouping sets"
    ),
    case(
        "SELECT city, vip, COUNT(*), AVG({age}), GROUPING(city, vip) FROM customers "
        f"GROUP BY CUBE (city, vip){_LISTED}",
        "grouping sets",
    ),
    case(
        f"SELECT c.city, o.channel, COUNT(*), GROUPING_ID(o.channel) AS g FROM orders o JOIN customers c "
        f"ON o.customer_id = c.id GROUP BY c.city, ROLLUP (o.channel)[[ HAVING c.city IN {_KEYS}]]",
        "grouping sets",
        "joins",
    ),
    case(
        "SELECT channel, status, COUNT(*) FROM orders GROUP BY CUBE (channel, status) "
        "HAVING [[(GROUPING(status) = 1 OR status IN ('open', 'paid', 'void')) AND ]]COUNT(*) > 20",
        "grouping sets",
    ),
    case(
        "SELECT channel, COUNT(*) AS n FROM orders GROUP BY ROLLUP (channel) HAVING GROUPING(channel) = 1 OR n > 90 "
        "ORDER BY GROUPING(channel) DESC, n DESC LIMIT 3",
        "grouping sets",
        ordered=True,
    ),
    case("SELECT 2 * GROUPING(channel) AS g, COUNT(*) FROM orders GROUP BY ROLLUP (channel)", "grouping sets"),
    case(
        "SELECT CASE WHEN GROUPING(page) = 1 THEN SUM({seconds}) / 4 ELSE SUM({seconds}) END AS s "
        "FROM visits GROUP BY ROLLUP (page)",
        "grouping sets",
        "case",
    ),
    case(
        "SELECT YEAR(placed) AS y, channel, COUNT(*) FROM orders GROUP BY GROUPING SETS ((1), (2), (1, 2), ())",
        "grouping sets",
        "group expressions",
    ),
    case(
        "SELECT YEAR(day) AS y, page, COUNT(*) FROM visits GROUP BY GROUPING SETS ((y, page), ROLLUP (y))",
        "grouping sets",
        "group expressions",
    ),
    case("SELECT page, COUNT(*), GROUPING(page) FROM visits GROUP BY page", "grouping sets"),
    case("SELECT COUNT(*), SUM({age}) FROM customers GROUP BY ()", "grouping sets"),
    case(
        "SELECT page, device, COUNT(*) FROM visits GROUP BY (page, device)[[ HAVING device IN ('desk', 'phone')]]",
        "grouping sets",
    ),
)

RELATIONS = (*_JOINS, *_PATHS, *_PUBLIC, *_PUBLIC_KEYS, *_LISTS, *_HALVES, *_NESTED, *_PEOPLE, *_SETS)
