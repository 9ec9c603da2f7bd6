-- Ordinals.
SELECT city, plan, COUNT(*) FROM t GROUP BY 1, 2 ORDER BY 3;
SELECT city, plan, COUNT(*) FROM t GROUP BY city, plan ORDER BY COUNT(*) NULLS LAST;

-- Aliases, without regard to case.
SELECT city AS town, COUNT(*) AS n FROM t GROUP BY TOWN HAVING N > 5 AND n < 9 ORDER BY n DESC, town;
SELECT city AS town, COUNT(*) AS n FROM t GROUP BY city HAVING COUNT(*) > 5 AND COUNT(*) < 9 ORDER BY COUNT(*) DESC, city NULLS LAST;

SELECT SUM(x) AS s, COUNT(*) AS n FROM t ORDER BY s / n;
SELECT SUM(x) AS s, COUNT(*) AS n FROM t ORDER BY SUM(x) / COUNT(*) NULLS LAST;

-- What is quoted is a column by now, and what stands in WHERE is no alias.
SELECT COUNT(*) AS n FROM t WHERE n > 1 ORDER BY "n";
SELECT COUNT(*) AS n FROM t WHERE n > 1 ORDER BY "n" NULLS LAST;

-- An expansion is not expanded again.
SELECT a AS b, b AS a, COUNT(*) FROM t GROUP BY a, b;
SELECT a AS b, b AS a, COUNT(*) FROM t GROUP BY b, a;

SELECT COUNT(*) FROM t LIMIT 1;
SELECT COUNT(*) FROM t LIMIT 1;
