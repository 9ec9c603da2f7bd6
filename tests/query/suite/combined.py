"""SQL over releases: set operations, joins and aggregates of answers, and PIVOT."""

from __future__ import annotations

from suite.case import Case, case

__all__ = ["COMBINED", "PIVOTS"]

_LISTED = "[[ WHERE city IN ('Bern', 'Graz', 'Linz', 'Wien')]]"
_BY_CITY = f"SELECT city, COUNT(*) AS n FROM customers{_LISTED} GROUP BY city"
_BY_STATUS = (
    "SELECT status, COUNT(*) AS n, SUM({price}) AS total FROM orders[[ WHERE status IN ('open', 'paid', 'void')]] "
    "GROUP BY status HAVING COUNT(*) > 0"
)

_OVER: tuple[Case, ...] = (
    case("SELECT COUNT(*) FROM customers UNION ALL SELECT COUNT(*) FROM orders", "combined"),
    case(f"{_BY_CITY} UNION ALL SELECT 'all', COUNT(*) FROM customers", "combined"),
    case(
        f"{_BY_CITY} UNION ALL SELECT 'all', COUNT(*) FROM customers ORDER BY n DESC, 1 LIMIT 3",
        "combined",
        ordered=True,
    ),
    case(f"({_BY_CITY} ORDER BY n LIMIT 2) UNION ALL SELECT 'all', COUNT(*) FROM customers", "combined"),
    case("SELECT COUNT(*) FROM orders UNION SELECT COUNT(*) FROM orders", "combined"),
    case("SELECT COUNT(*) FROM orders EXCEPT SELECT 1", "combined"),
    case(f"SELECT city FROM ({_BY_CITY}) EXCEPT SELECT 'Graz'", "combined"),
    case(
        f"SELECT city FROM ({_BY_CITY}) INTERSECT (SELECT city FROM customers{_LISTED} GROUP BY "
        f"city HAVING AVG({{age}}) > 1)",
        "combined",
    ),
    case(
        "WITH big AS (SELECT * FROM orders WHERE price > 50) SELECT 'n' AS what, COUNT(*) AS v FROM big UNION ALL "
        "SELECT 'total', SUM({price}) FROM big",
        "combined",
    ),
    case(f"SELECT AVG(n) AS mean, MAX(n) AS most, COUNT(*) AS cities FROM ({_BY_CITY})", "combined"),
    case(f"SELECT STDDEV(n), MEDIAN(n), SUM(n) FILTER (WHERE city > 'C') FROM ({_BY_CITY}) AS g", "combined"),
    case(f"SELECT n > 50 AS large, COUNT(*) FROM ({_BY_CITY}) GROUP BY ALL", "combined"),
    case(f"WITH r AS ({_BY_CITY}) SELECT * FROM r WHERE n = (SELECT MAX(n) FROM r)", "combined"),
    case(
        f"WITH r(town, people) AS ({_BY_CITY}) SELECT town FROM r WHERE people >= ALL (SELECT people FROM r)",
        "combined",
    ),
    case(
        f"WITH a AS ({_BY_CITY}), b AS (SELECT city, AVG({{age}}) AS m FROM customers{_LISTED} GROUP BY city) "
        "SELECT a.city, a.n, b.m, a.n * b.m AS years FROM a JOIN b USING (city) ORDER BY city",
        "combined",
        ordered=True,
    ),
    case(
        f"SELECT a.city, a.n - b.n AS more FROM ({_BY_CITY}) a CROSS JOIN ({_BY_CITY}) b WHERE b.city = 'Graz'",
        "combined",
    ),
    case(
        f"SELECT * FROM ({_BY_CITY}) NATURAL JOIN (SELECT city, SUM({{age}}) AS s FROM "
        f"customers{_LISTED} GROUP BY city)",
        "combined",
    ),
    case(
        f"SELECT x.city, y.n FROM ({_BY_CITY}) x LEFT JOIN ({_BY_CITY}) y ON x.city = y.city AND y.city < 'K'",
        "combined",
    ),
    case(
        f"SELECT city, n, RANK() OVER (ORDER BY n DESC) AS place FROM ({_BY_CITY} UNION ALL SELECT 'none', 0)",
        "combined",
    ),
    case(
        f"SELECT city, n FROM ({_BY_CITY} UNION ALL SELECT 'none', 0) QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) <= 2",
        "combined",
    ),
    case("SELECT (SELECT COUNT(*) FROM customers) AS a, (SELECT SUM({price}) FROM orders) AS b", "combined"),
    case("SELECT (SELECT COUNT(*) FROM orders) / (SELECT COUNT(*) FROM customers) AS each", "combined"),
    case(
        f"SELECT UPPER(city) || '!' AS c, CASE WHEN n > 70 THEN 'many' ELSE 'few' END AS how FROM "
        f"({_BY_CITY} UNION ALL "
        "SELECT 'none', 0)",
        "combined",
    ),
    case(
        f"SELECT n // 0 AS a, n % 0 AS b, n / 0 AS c, TRY_CAST(city AS INT) AS d FROM ({_BY_CITY} "
        f"UNION ALL SELECT 'x', 1)",
        "combined",
        truth="SELECT NULL, NULL, NULL, NULL FROM range(5)",
    ),
    case(
        "SELECT (n + 9223372036854775807) / 2 AS a, (n + 9223372036854775807) / 3 AS b, (n + 9223372036854775807) // n "
        f"AS c FROM ({_BY_CITY} UNION ALL SELECT 'x', 1)",
        "combined",
        truth="SELECT NULL, NULL, NULL FROM range(5)",
    ),
    case(
        "SELECT CASE WHEN (SELECT COUNT(*) FROM customers) > 1 THEN (SELECT SUM({price}) FROM orders) ELSE 0 END AS v "
        "FROM products WHERE id = 1",
        "combined",
        "public tables",
    ),
    case(
        "SELECT category, n FROM (SELECT product, COUNT(*) AS n FROM items WHERE product IN (1, 2, "
        "4) GROUP BY product) r "
        "JOIN products ON products.id = r.product",
        "combined",
        "public tables",
    ),
    case(
        "SELECT id, category FROM products WHERE id NOT IN (SELECT product FROM items WHERE product BETWEEN 1 AND 4 "
        "GROUP BY product HAVING COUNT(*) > 0)",
        "combined",
        "public tables",
    ),
    case(
        "WITH r AS (SELECT product, SUM({quantity}) AS q FROM items WHERE product BETWEEN 0 AND 8 GROUP BY product) "
        "SELECT category, SUM(q) AS q FROM products, r WHERE id = product GROUP BY category",
        "combined",
        "public tables",
    ),
    case(
        f"SELECT city FROM ({_BY_CITY} LIMIT 4) WHERE EXISTS (SELECT 1 FROM ({_BY_STATUS}) WHERE n > 10000)"
        "[[ AND FALSE]] UNION ALL SELECT 'end'",
        "combined",
    ),
)

_BESIDE: tuple[Case, ...] = (
    case(
        f"SELECT city, COUNT(*) / (SELECT COUNT(*) FROM customers) AS share FROM customers{_LISTED} "
        f"GROUP BY city ORDER BY "
        "share DESC",
        "combined",
        ordered=True,
    ),
    case(
        "SELECT status, SUM({price}) AS s FROM orders[[ WHERE status IN ('open', 'paid', 'void')]] GROUP BY 1 HAVING "
        f"COUNT(*) > (SELECT AVG(n) FROM ({_BY_CITY}))",
        "combined",
    ),
    case(
        "SELECT AVG({age}) - (SELECT AVG({age}) FROM customers WHERE city = 'Graz'), COUNT(*) FROM customers",
        "combined",
    ),
    case(
        "SELECT COUNT(*) FILTER (WHERE city = 'Graz'), COUNT(*) FILTER (WHERE city = 'graz') - (SELECT "
        "0) FROM customers",
        "combined",
    ),
    case(
        "SELECT product, COUNT(*) AS n, (SELECT category FROM products WHERE id = product) AS category FROM items "
        "WHERE product BETWEEN 1 AND 4 GROUP BY product ORDER BY COUNT(*) + (SELECT 1)",
        "combined",
        "public tables",
    ),
    case(
        f"SELECT UPPER(city) AS c, RANK() OVER (ORDER BY COUNT(*)) + (SELECT COUNT(*) FROM orders) AS r "
        f"FROM customers{_LISTED} "
        "GROUP BY UPPER(city)",
        "combined",
    ),
)

_COMPUTED: tuple[Case, ...] = (
    case(f"SELECT LOWER(city) AS l, city, COUNT(*) AS n FROM customers{_LISTED} GROUP BY city", "combined"),
    case(
        f"SELECT SUBSTRING(city, 2, 2), AVG({{age}}) FROM customers{_LISTED} GROUP BY city ORDER BY "
        "SUBSTRING(city, 2, 2) DESC LIMIT 3",
        "combined",
        ordered=True,
    ),
    case(
        f"SELECT UPPER(city) AS city, COUNT(*) AS n FROM customers{_LISTED} GROUP BY city HAVING city LIKE '%n' "
        "ORDER BY LENGTH(city), n",
        "combined",
        ordered=True,
    ),
    case(
        "SELECT status || '/' || channel AS s, COUNT(*) + 1 AS n FROM orders WHERE channel IN ('web', 'shop') AND "
        "status IN ('open', 'paid') GROUP BY status, channel",
        "combined",
    ),
    case(
        "SELECT LOWER(city) AS vip, COUNT(*) + 1 AS n FROM customers WHERE vip IN (TRUE, FALSE) AND city IN ('Graz', "
        "'Wien') GROUP BY vip, city",
        "combined",
    ),
    case(f"SELECT DISTINCT LENGTH(city) > 4 FROM customers{_LISTED} GROUP BY city", "combined"),
    case(
        "SELECT COUNT(*) > 10 AS several, CAST(AVG({age}) AS INT) AS years, CASE WHEN COUNT(*) > 3 THEN 'many' "
        "ELSE 'few' END AS how FROM customers",
        "combined",
    ),
    case(
        "SELECT LOWER(category) AS c, SUM({quantity}) AS q FROM items JOIN products ON products.id = items.product "
        "GROUP BY category",
        "combined",
        "public tables",
    ),
    case("SELECT (SELECT COUNT(*) FROM customers) + (SELECT COUNT(*) FROM orders) AS rows", "combined"),
    case(
        f"SELECT city, n + (SELECT COUNT(*) FROM orders) AS m FROM ({_BY_CITY}) WHERE n - (SELECT AVG(n) FROM "
        f"({_BY_CITY})) < 5",
        "combined",
    ),
    case(
        "SELECT (SELECT COUNT(*) FROM customers) + 9223372036854775807 AS a, -5 // ((SELECT COUNT(*) FROM orders) * 0)",
        "combined",
        truth="SELECT NULL, NULL",
    ),
)

COMBINED = (*_OVER, *_BESIDE, *_COMPUTED)

PIVOTS: tuple[Case, ...] = (
    case(
        "PIVOT (SELECT vip, city FROM customers) ON city IN ('Graz', 'Wien') USING COUNT(*) GROUP BY vip",
        "pivot",
        truth="PIVOT (SELECT vip, city FROM customers WHERE vip IS NOT NULL) ON city IN ('Graz', 'Wien') "
        "USING COUNT(*) GROUP BY vip",
    ),
    case(
        "PIVOT (SELECT vip, city, age FROM customers WHERE vip) ON city USING SUM(age) AS total, COUNT(*) AS n",
        "pivot",
        truth="PIVOT (SELECT vip, city, age_ AS age FROM customers WHERE vip AND city IN (SELECT city "
        "FROM cities)) ON city "
        "USING SUM(age) AS total, COUNT(*) AS n GROUP BY vip",
    ),
    case(
        "SELECT * FROM (SELECT city, age FROM customers) PIVOT (SUM(age) FOR city IN ('Graz', 'Linz' AS l)) AS p",
        "pivot",
        truth="SELECT SUM(age_) FILTER (WHERE city = 'Graz'), SUM(age_) FILTER (WHERE city = 'Linz') FROM customers",
    ),
    case(
        "SELECT vip, Graz - Wien AS more FROM (SELECT vip, city FROM customers) PIVOT (COUNT(*) FOR city IN ('Graz', "
        "'Wien') GROUP BY vip) WHERE vip",
        "pivot",
        truth="SELECT TRUE, COUNT_IF(city = 'Graz') - COUNT_IF(city = 'Wien') FROM customers WHERE vip",
    ),
    case(
        "WITH c AS (SELECT status, price FROM orders) PIVOT c ON status IN ('open', 'paid') USING AVG(price)",
        "pivot",
        truth="SELECT AVG(price_) FILTER (WHERE status = 'open'), AVG(price_) FILTER (WHERE status = "
        "'paid') FROM orders",
    ),
    case(
        "PIVOT (SELECT status, channel FROM orders) ON status, channel IN ('web', 'shop') USING COUNT(*)",
        "pivot",
        truth="SELECT "
        + ", ".join(
            f"COUNT_IF(status = '{s}' AND channel = '{c}')"
            for s in ("lost", "open", "paid", "void")
            for c in ("web", "shop")
        )
        + " FROM orders",
    ),
    case(
        "PIVOT (SELECT city, vip, COUNT(*) AS n FROM customers GROUP BY ALL) ON city IN ('Graz') "
        "USING SUM(n) GROUP BY vip",
        "pivot",
        truth="SELECT vip, COUNT(*) FROM customers WHERE vip IS NOT NULL AND city = 'Graz' GROUP BY vip",
    ),
)
