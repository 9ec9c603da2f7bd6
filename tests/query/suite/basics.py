"""Counts, sums and averages of one table: NULL, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, and names."""

from __future__ import annotations

from suite.case import case

__all__ = ["BASICS"]

_CITY = "[[ WHERE city IN ('Bern', 'Graz', 'Linz', 'Wien')]]"
_AND_CITY = "[[ AND city IN ('Bern', 'Graz', 'Linz', 'Wien')]]"
_VIP = "[[ WHERE vip IS NOT NULL]]"
_DEVICE = "[[ WHERE device IN ('desk', 'phone')]]"

BASICS = (
    case(f"SELECT city, COUNT(*), AVG({{age}}) FROM customers {_CITY} GROUP BY ALL"),
    case(f"SELECT city, COUNT(*) AS n FROM customers {_CITY} GROUP BY ALL ORDER BY ALL DESC"),
    case("SELECT COUNT(*) AS n, SUM({price}) FROM orders GROUP BY ALL"),
    case(f"SELECT city, 'x' AS kind, DATE '2023-01-01' AS d, TRUE AS y, COUNT(*) FROM customers {_CITY} GROUP BY city"),
    case(f"SELECT city, COUNT(*) FROM customers {_CITY} GROUP BY city HAVING city LIKE '%n' OR city NOT ILIKE '_e%'"),
    case(f"SELECT city, COUNT(*) FROM customers {_CITY} GROUP BY city HAVING city LIKE 'Gr.z' OR city LIKE 'Li_z'"),
    case(f"SELECT city, COUNT(*) AS n FROM customers {_CITY} GROUP BY city ORDER BY city FETCH FIRST 2 ROWS ONLY"),
    case(f"SELECT city, SUM({{age}}) / NULLIF(COUNT(*) - COUNT(*), 0) FROM customers {_CITY} GROUP BY city"),
    case("SELECT SUM({price}) / NULLIF(COUNT(*), 0), CASE COUNT(*) - COUNT(*) WHEN 0 THEN 1 ELSE 2 END FROM orders"),
    case(
        "SELECT CASE city WHEN 'Bern' THEN DATE '2020-01-01' WHEN 'Graz' THEN NULL ELSE DATE '2021-01-01' END AS d, "
        f"COALESCE(CASE WHEN city LIKE '%n' THEN city END, 'other') AS c, COUNT(*) FROM customers {_CITY} GROUP BY city"
    ),
    case(
        "SELECT city, RANK() OVER (ORDER BY COUNT(*) DESC) AS r, LAG(city) OVER (ORDER BY city) AS b, "
        f"SUM(COUNT(*)) OVER (ORDER BY city) AS so_far, COUNT(*) / SUM(COUNT(*)) OVER () FROM customers {_CITY} "
        "GROUP BY city",
        "windows",
    ),
    case(
        f"SELECT city, COUNT(*) FROM customers {_CITY} GROUP BY city QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 2",
        "windows",
    ),
    case(
        "SELECT city, n - LAG(n) OVER (ORDER BY city) AS more FROM (SELECT city, COUNT(*) AS n FROM customers "
        f"{_CITY} GROUP BY city) QUALIFY ROW_NUMBER() OVER (ORDER BY city) > 1",
        "windows",
    ),
    case("SELECT SUM({age} // 10), SUM(-{age} // 7) FROM customers"),
    case("SELECT COUNT(*) FROM customers WHERE age // 10 = 3 OR -age // 25 < -1"),
    case("SELECT COUNT(*) FROM customers"),
    case("SELECT COUNT(*) AS n FROM orders"),
    case("SELECT COUNT(1), COUNT(*), COUNT() FROM visits"),
    case("SELECT COUNT(age), COUNT(score), COUNT(joined), COUNT(vip), COUNT(city) FROM customers"),
    case("SELECT COUNT(discount), COUNT(channel), COUNT(status) FROM orders"),
    case("SELECT SUM({age}) FROM customers"),
    case("SELECT SUM({price}), SUM({discount}) FROM orders"),
    case("SELECT AVG({age}), AVG({score}) FROM customers"),
    case("SELECT AVG({price}), AVG({discount}), SUM({discount}), COUNT(discount) FROM orders"),
    case("SELECT SUM({seconds}), AVG({seconds}), COUNT(seconds) FROM visits"),
    case("SELECT SUM(2 * {price} - {discount} + 1) FROM orders"),
    case("SELECT SUM({price} * {discount}), AVG({price} / 7) FROM orders"),
    case("SELECT AVG(-{age}), SUM(-({score} - 5)) FROM customers"),
    case("SELECT SUM({price} / ({discount} + 1)) FROM orders"),
    case("SELECT SUM({score} * {score}), AVG({age} * {age}) FROM customers"),
    case("SELECT SUM(1), AVG(2.5), SUM(0) FROM visits"),
    case("SELECT SUM({price}) / COUNT(*), SUM({price}) / COUNT(discount) FROM orders"),
    case("SELECT 100.0 * COUNT(discount) / COUNT(*) AS share FROM orders"),
    case("SELECT AVG({price}) - AVG({discount}), SUM({price}) - SUM({discount}), -COUNT(*) FROM orders"),
    case("SELECT 2 * (AVG({score}) + 1), AVG({score}) * COUNT(*) FROM customers"),
    case("SELECT COUNT(*) FROM customers WHERE age > 30"),
    case("SELECT COUNT(*) FROM customers WHERE age > 100 OR age < 0"),
    case("SELECT SUM({age}), COUNT(*) FROM customers WHERE age <> 40"),
    case("SELECT COUNT(*) FROM customers WHERE NOT age > 40"),
    case("SELECT COUNT(*) FROM customers WHERE NOT (age > 40 AND score < 5)"),
    case("SELECT COUNT(*) FROM customers WHERE age IS NULL"),
    case("SELECT COUNT(*) FROM customers WHERE score IS NULL"),
    case("SELECT COUNT(*) FROM customers WHERE score IS NOT NULL AND vip IS NULL"),
    case("SELECT COUNT(*) FROM customers WHERE score = score"),
    case("SELECT COUNT(*) FROM customers WHERE score > 11"),
    case("SELECT COUNT(*) FROM customers WHERE score <= 0 OR score >= 10"),
    case("SELECT COUNT(*) FROM customers WHERE vip"),
    case("SELECT COUNT(*) FROM customers WHERE NOT vip"),
    case("SELECT COUNT(*) FROM customers WHERE vip = TRUE OR age BETWEEN 20 AND 30"),
    case("SELECT COUNT(*) FROM customers WHERE age NOT BETWEEN 20 AND 80"),
    case("SELECT COUNT(*) FROM customers WHERE age IN (20, 30, 40, 130)"),
    case("SELECT COUNT(*) FROM customers WHERE age NOT IN (20, 30, 40)"),
    case("SELECT COUNT(*) FROM customers WHERE city = 'Paris'"),
    case("SELECT COUNT(*) FROM customers WHERE city <> 'Graz'"),
    case("SELECT COUNT(*) FROM customers WHERE city NOT IN ('Graz', 'Paris')"),
    case("SELECT COUNT(*) FROM customers WHERE city LIKE '%n%'"),
    case("SELECT COUNT(*) FROM customers WHERE city NOT LIKE 'G_az'"),
    case("SELECT COUNT(*) FROM customers WHERE city LIKE 'graz'"),
    case("SELECT COUNT(*) FROM customers WHERE city > 'Graz'"),
    case("SELECT COUNT(*) FROM customers WHERE city = ''"),
    case("SELECT COUNT(*) FROM customers WHERE joined >= '2022-03-01'"),
    case("SELECT COUNT(*) FROM customers WHERE joined BETWEEN DATE '2021-01-01' AND DATE '2021-12-31'"),
    case("SELECT COUNT(*) FROM orders WHERE placed < TIMESTAMP '2023-06-30 12:00:00'"),
    case("SELECT COUNT(*) FROM orders WHERE placed > '2023-06-30'"),
    case("SELECT COUNT(*) FROM visits WHERE seen_at > day"),
    case("SELECT COUNT(*) FROM orders WHERE price > 2 * discount"),
    case("SELECT COUNT(*) FROM orders WHERE price - discount > 100 OR discount IS NULL"),
    case("SELECT COUNT(*) FROM orders WHERE price = 0.5 * 2 * price"),
    case("SELECT COUNT(*) FROM orders WHERE price < 0"),
    case("SELECT COUNT(*), SUM({price}) FROM orders WHERE channel = 'O''Brien'"),
    case("SELECT COUNT(*) FROM orders WHERE TRUE"),
    case("SELECT COUNT(*), [[coalesce(]]SUM({price})[[, 0)]] FROM orders WHERE FALSE"),
    case("SELECT COUNT(*) FROM orders WHERE id < 9223372036854775807"),
    case(f"SELECT city, COUNT(*) AS n FROM customers{_CITY} GROUP BY city"),
    case(f"SELECT COUNT(*) AS n, city FROM customers{_CITY} GROUP BY city"),
    case(f"SELECT city, AVG({{age}}) AS a, SUM({{score}}) AS s FROM customers{_CITY} GROUP BY city"),
    case(f"SELECT city, vip, COUNT(*) FROM customers{_CITY}[[ AND vip IS NOT NULL]] GROUP BY city, vip"),
    case(f"SELECT vip, COUNT(age) FROM customers{_VIP} GROUP BY vip"),
    case(f"SELECT COUNT(*) FROM customers{_CITY} GROUP BY city"),
    case(
        "SELECT status, COUNT(*) AS n, SUM({price}) AS s FROM orders GROUP BY status",
        truth="SELECT s.status, count(o.id), coalesce(sum(price_), 0) FROM statuses s LEFT JOIN orders o "
        "ON o.status = s.status GROUP BY s.status",
    ),
    case(
        "SELECT status, COUNT(*) FROM orders WHERE price > 190 GROUP BY status ORDER BY status DESC",
        truth="SELECT s.status, count(o.id) FROM statuses s LEFT JOIN orders o ON o.status = s.status AND price > 190 "
        "GROUP BY s.status ORDER BY s.status DESC",
        ordered=True,
    ),
    case(
        "SELECT status, COUNT(*) FROM orders WHERE status = 'lost' GROUP BY status",
        truth="SELECT status, 0 FROM statuses WHERE status = 'lost'",
    ),
    case("SELECT status, COUNT(*) FROM orders WHERE status IN ('paid', 'void') AND price > 20 GROUP BY status"),
    case("SELECT channel, COUNT(*) FROM orders WHERE channel = 'shop' OR channel = 'web' GROUP BY channel"),
    case("SELECT age, COUNT(*), AVG({score}) FROM customers WHERE age BETWEEN 30 AND 32 GROUP BY age"),
    case(
        "SELECT YEAR(placed) AS y, COUNT(*) FROM orders WHERE placed >= '2023-03-01' AND YEAR(placed) < 2024 GROUP BY y"
    ),
    case("SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel"),
    case("SELECT channel, SUM({price}), AVG({price}) FROM orders WHERE price > 20 GROUP BY channel"),
    case("SELECT page, COUNT(*), SUM({seconds}) FROM visits GROUP BY page"),
    case(f"SELECT page, device, COUNT(*) FROM visits{_DEVICE} GROUP BY page, device"),
    case("SELECT page FROM visits GROUP BY page"),
    case(f"SELECT device AS d, COUNT(*) AS n FROM visits{_DEVICE} GROUP BY d"),
    case(f"SELECT device, COUNT(*) FROM visits{_DEVICE} GROUP BY 1"),
    case("SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel HAVING COUNT(*) > 100"),
    case("SELECT channel, COUNT(*) AS n FROM orders GROUP BY channel HAVING n > 100 AND channel <> 'web'"),
    case("SELECT channel FROM orders GROUP BY channel HAVING SUM({price}) > 10"),
    case("SELECT channel, COUNT(*) FROM orders GROUP BY channel HAVING channel IS NULL"),
    case(
        "SELECT channel, AVG({price}) AS p FROM orders GROUP BY channel HAVING AVG({price}) BETWEEN 0 AND 1000"
        " OR channel IN ('web', 'shop')"
    ),
    case(f"SELECT city, COUNT(*) AS n FROM customers{_CITY} GROUP BY city ORDER BY n DESC", ordered=True),
    case(f"SELECT city, COUNT(*) FROM customers{_CITY} GROUP BY city ORDER BY city LIMIT 2", ordered=True),
    case(f"SELECT city, COUNT(*) FROM customers{_CITY} GROUP BY city ORDER BY 2 DESC, 1 LIMIT 1", ordered=True),
    case(f"SELECT city, SUM({{age}}) AS s FROM customers{_CITY} GROUP BY city ORDER BY -s LIMIT 3", ordered=True),
    case(f"SELECT city, COUNT(*) FROM customers{_CITY} GROUP BY city ORDER BY COUNT(*) LIMIT 0", ordered=True),
    case("SELECT channel, COUNT(*) FROM orders GROUP BY channel ORDER BY channel NULLS FIRST LIMIT 3", ordered=True),
    case("SELECT COUNT(*) AS n FROM Orders AS o WHERE o.PRICE > 10 AND O.channel = 'web'"),
    case('SELECT COUNT("Full Name"), COUNT("full name") AS again FROM "CUSTOMERS"'),
    case("""SELECT COUNT(*) FROM customers WHERE "Full Name" = 'Čeněk' OR "FULL NAME" = ''"""),
    case('SELECT "Full Name", COUNT(*) FROM customers GROUP BY "full name"'),
    case(f'SELECT city AS "COUNT", COUNT(*) AS "a ""b" FROM customers{_CITY} GROUP BY city'),
    case("SELECT COUNT(*) /* how many */ FROM orders -- all of them"),
    case("select count(*) from orders;"),
    case("SELECT COUNT(*) FROM orders WHERE ((((price)) > ((10))))"),
    case(f"SELECT city, COUNT(*) * 2 + 1 FROM customers WHERE age > 50{_AND_CITY} GROUP BY city"),
    case("SELECT COUNT(*) FROM customers HAVING COUNT(*) > 1000000"),
    case("SELECT COUNT(*), COUNT(*) AS again FROM visits"),
)
