"""Every statistic beside COUNT, SUM and AVG: FILTER, DISTINCT, moments, regressions, quantiles, functions of them."""

from __future__ import annotations

from suite.case import case

__all__ = ["STATISTICS"]

_CITIES = "('Bern', 'Graz', 'Linz', 'Wien')"
_CITY = f"[[ WHERE city IN {_CITIES}]]"
_VIP = "[[ WHERE vip IS NOT NULL]]"
_STATUS = "[[ WHERE status IN (SELECT status FROM statuses)]]"

STATISTICS = (
    case("SELECT COUNT(*) FILTER (WHERE price > 100) AS n, COUNT(*) FROM orders", "filter"),
    case(
        "SELECT SUM({price}) FILTER (WHERE channel = 'web'), AVG({price}) FILTER (WHERE price > 50) FROM orders",
        "filter",
    ),
    case("SELECT COUNT(discount) FILTER (WHERE discount > 10 AND NOT channel = 'web') FROM orders", "filter"),
    case(f"SELECT city, COUNT(*) FILTER (WHERE age > 50), COUNT(*) FROM customers{_CITY} GROUP BY city", "filter"),
    case("SELECT COUNT_IF(age > 50) FROM customers", "filter"),
    case("SELECT COUNT(*) FILTER (WHERE vip) / COUNT(*) AS share FROM customers", "filter"),
    case("SELECT COUNT(DISTINCT customer_id) FROM orders", "count distinct people"),
    case("SELECT channel, COUNT(DISTINCT customer_id) AS n FROM orders GROUP BY channel", "count distinct people"),
    case("SELECT COUNT(DISTINCT customer_id), COUNT(*) FROM orders WHERE price > 150", "count distinct people"),
    case("SELECT COUNT(*) / COUNT(DISTINCT customer_id) AS each FROM orders", "count distinct people"),
    case("SELECT COUNT(DISTINCT id) FROM customers", "count distinct people"),
    case("SELECT COUNT(DISTINCT channel) FROM orders", "count distinct"),
    case("SELECT COUNT(DISTINCT age), COUNT(DISTINCT city), COUNT(DISTINCT score) FROM customers", "count distinct"),
    case("SELECT COUNT(DISTINCT page), COUNT(DISTINCT day) FROM visits WHERE seconds > 100", "count distinct"),
    case(f"SELECT vip, COUNT(DISTINCT age), AVG({{age}}) FROM customers{_VIP} GROUP BY vip", "count distinct"),
    case("SELECT VARIANCE({age}), STDDEV({age}) FROM customers", "variance"),
    case(
        "SELECT VAR_SAMP({age}), VAR_POP({age}), STDDEV_SAMP({score}), STDDEV_POP({score}) FROM customers", "variance"
    ),
    case("SELECT AVG({price}), SUM({price}), COUNT(*), VAR_POP({price}), STDDEV({price}) FROM orders", "variance"),
    case(f"SELECT city, VAR_SAMP({{score}}) FROM customers{_CITY} GROUP BY city", "variance"),
    case("SELECT VAR_POP({price} - {discount}) FROM orders", "variance"),
    case("SELECT STDDEV_POP({seconds}) FROM visits WHERE seconds > 0", "variance"),
    case("SELECT VAR_POP({age}) FROM customers WHERE age = 40", "variance"),
    case("SELECT COVAR_POP({age}, {score}), COVAR_SAMP({age}, {score}) FROM customers", "covariance"),
    case("SELECT CORR({age}, {score}) FROM customers", "covariance"),
    case("SELECT CORR({price}, {price} + 1) FROM orders", "covariance", within=1e-2),
    case("SELECT REGR_SLOPE({price}, {discount}), REGR_INTERCEPT({price}, {discount}) FROM orders", "covariance"),
    case("SELECT REGR_COUNT({price}, {discount}), COUNT(*) FROM orders", "covariance"),
    case(f"SELECT vip, COVAR_POP({{age}}, {{score}}) FROM customers{_VIP} GROUP BY vip", "covariance"),
    case("SELECT MEDIAN({age}) FROM customers", "quantiles", within=1.0),
    case("SELECT MEDIAN({price}) FROM orders", "quantiles", within=1.0),
    case("SELECT QUANTILE_CONT({price}, 0.25), QUANTILE_CONT({price}, 0.9) FROM orders", "quantiles", within=1.0),
    case("SELECT APPROX_QUANTILE({price}, 0.5), COUNT(*) FROM orders", "quantiles", within=3.0),
    case("SELECT QUANTILE_DISC({age}, 0.75) FROM customers", "quantiles", within=1.0),
    case("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY {price}) FROM orders", "quantiles", within=1.0),
    case(f"SELECT city, MEDIAN({{age}}) FROM customers{_CITY} GROUP BY city", "quantiles", within=2.0),
    case("SELECT MIN({age}), MAX({age}) FROM customers", "quantiles", within=2.0),
    case(
        "SELECT MAX(GREATEST(LEAST(joined, DATE '2023-01-01'), DATE '2020-01-01')) - "
        "QUANTILE_DISC(GREATEST(LEAST(joined, DATE '2023-01-01'), DATE '2020-01-01'), 0.5) FROM customers",
        "quantiles",
        within=8.0,  # two ranks: a quantile is right in rank, and here one is some four days
    ),
    case(
        "SELECT CASE WHEN MEDIAN(GREATEST(LEAST(seen_at, TIMESTAMP '2024-01-01'), TIMESTAMP '2020-01-01')) > "
        "TIMESTAMP '2020-01-02 03:00:00' THEN 1 ELSE 0 END FROM visits",
        "quantiles",
    ),
    case("SELECT MEDIAN({seconds}), AVG({seconds}) FROM visits", "quantiles", within=4.0),
    case(f"SELECT MODE(city)[[ FILTER (WHERE city IN {_CITIES})]], MODE(vip), COUNT(*) FROM customers", "modes"),
    case("SELECT MODE({quantity}) AS q, MODE({quantity} > 1), AVG({price}) FROM items", "modes"),
    case("SELECT MODE() WITHIN GROUP (ORDER BY vip DESC) FROM customers WHERE age > 30", "modes"),
    case("SELECT MODE(status)[[ FILTER (WHERE status IN (SELECT status FROM statuses))]] AS m FROM orders", "modes"),
    case("SELECT MODE({quantity}) FILTER (WHERE price < 40) + 1, MODE({quantity}) FROM items", "modes", "filter"),
    case(
        "SELECT MODE(CASE WHEN price > 100 THEN 'dear' WHEN price > 20 THEN 'fair' END) AS m, "
        "MODE(DAYOFWEEK(placed) > 3) FROM orders",
        "modes",
        "case",
        "date functions",
    ),
    case(
        "SELECT channel, MODE({price} > 60) AS m, COUNT(*) AS n FROM orders GROUP BY channel HAVING NOT m = FALSE "
        "ORDER BY channel",
        "modes",
        "group expressions",
    ),
    case(
        f"SELECT vip, MODE(UPPER(city))[[ FILTER (WHERE city IN {_CITIES})]] AS m, MEDIAN({{age}}) "
        f"FROM customers{_VIP} GROUP BY vip",
        "modes",
        "quantiles",
        "string functions",
        within=2.0,
    ),
    case(
        "SELECT category, MODE({quantity}) AS q FROM items i JOIN products p ON p.id = i.product"
        "[[ WHERE category IN ('book', 'food', 'toy')]] GROUP BY category",
        "modes",
        "paths",
        "public tables",
        "joins",
    ),
    case(
        "SELECT CASE WHEN MODE(device)[[ FILTER (WHERE device IN ('desk', 'phone'))]] IN ('desk', 'phone') THEN 1 "
        "ELSE 0 END AS c, MODE(LEAST(GREATEST(seconds, 0), 600) // 100) AS m FROM visits",
        "modes",
        "output functions",
    ),
    case(
        "SELECT city FROM customers GROUP BY ROLLUP (city)",
        "listed keys",
        "grouping sets",
        truth="SELECT city FROM cities UNION ALL SELECT NULL",
    ),
    case("SELECT status FROM orders GROUP BY status", "listed keys", truth="SELECT status FROM statuses"),
    case(
        "SELECT DISTINCT city FROM customers WHERE city > 'C' ORDER BY city DESC LIMIT 2",
        "listed keys",
        "select distinct",
        truth="SELECT city FROM cities WHERE city > 'C' ORDER BY city DESC LIMIT 2",
        ordered=True,
    ),
    case(f"SELECT DISTINCT city, COUNT(*) AS n FROM customers{_CITY} GROUP BY city", "select distinct"),
    case("SELECT DISTINCT COUNT(*), SUM({price}) FROM orders", "select distinct"),
    case(
        f"SELECT status, COUNT(DISTINCT customer_id) AS n FROM orders{_STATUS} GROUP BY status ORDER BY n DESC LIMIT 1",
        "count distinct people",
        "top-k",
        ordered=True,
    ),
    case(
        "SELECT MONTH(placed) AS m, COUNT(DISTINCT customer_id) AS n, SUM({price}), AVG({discount}) FROM orders "
        "GROUP BY m ORDER BY 2 DESC, m LIMIT 2",
        "date functions",
        "count distinct people",
        "top-k",
        ordered=True,
    ),
    case(
        f"SELECT COUNT(DISTINCT customer_id) FROM orders{_STATUS} GROUP BY status, price > 100 "
        "ORDER BY COUNT(DISTINCT customer_id) DESC LIMIT 3",
        "group expressions",
        "count distinct people",
        "top-k",
        ordered=True,
    ),
    case(
        "SELECT category, COUNT(DISTINCT o.customer_id) FILTER (WHERE i.quantity > 1) AS n FROM items i JOIN orders o "
        "ON o.id = i.order_id JOIN products p ON p.id = i.product[[ WHERE category IN ('book', 'food', 'toy')]] "
        "GROUP BY category ORDER BY n DESC LIMIT 1",
        "paths",
        "public tables",
        "joins",
        "count distinct people",
        "top-k",
        ordered=True,
    ),
    case("SELECT ROUND(AVG({price}), 1) FROM orders", "output functions"),
    case("SELECT SQRT(COUNT(*)), ABS(SUM({price}) - 1000) FROM orders", "output functions"),
    case("SELECT COALESCE(AVG({age}), 0) FROM customers", "output functions"),
    case("SELECT GREATEST(COUNT(*), 10000), LEAST(COUNT(*), 3) FROM orders", "output functions"),
    case("SELECT CASE WHEN COUNT(*) > 10 THEN SUM({price}) / COUNT(*) ELSE 0 END FROM orders", "output functions"),
)
