-- Parentheses stand around nested operators, and nowhere else.
SELECT ((COUNT(*))) FROM t WHERE ((x > 1));
SELECT COUNT(*) FROM t WHERE x > 1;

SELECT SUM(x + y * 2) FROM t;
SELECT SUM(x + (y * 2)) FROM t;

SELECT SUM((x + y) * 2) FROM t;
SELECT SUM((x + y) * 2) FROM t;

SELECT COUNT(*) FROM t WHERE a = 1 AND b = 2 OR NOT c = 3;
SELECT COUNT(*) FROM t WHERE ((a = 1) AND (b = 2)) OR (NOT (c = 3));

SELECT COUNT(*) FROM t WHERE x IN ((1), 2, -3);
SELECT COUNT(*) FROM t WHERE x IN (1, 2, (-3));

-- BETWEEN is two comparisons.
SELECT COUNT(*) FROM t WHERE x BETWEEN 1 AND 2;
SELECT COUNT(*) FROM t WHERE (x >= 1) AND (x <= 2);

SELECT COUNT(*) FROM t WHERE x + 1 NOT BETWEEN y AND 2;
SELECT COUNT(*) FROM t WHERE NOT (((x + 1) >= y) AND ((x + 1) <= 2));

-- COUNT of something that is never null.
SELECT COUNT(1), COUNT('x'), COUNT(TRUE), COUNT(), COUNT(x) FROM t;
SELECT COUNT(*), COUNT(*), COUNT(*), COUNT(*), COUNT(x) FROM t;

-- Comments and spellings go.
SELECT /* a */ COUNT(*) AS n -- b
FROM t WHERE a != 1 AND b == 2 AND c IS NOT NULL;
SELECT COUNT(*) AS n FROM t WHERE ((a <> 1) AND (b = 2)) AND (NOT (c IS NULL));

SELECT COUNT(*) AS n FROM t ORDER BY n ASC, m;
SELECT COUNT(*) AS n FROM t ORDER BY n NULLS LAST, m NULLS LAST;

SELECT COUNT(*) AS n FROM t WHERE a NOT LIKE 'x%' OR NOT b NOT LIKE 'y';
SELECT COUNT(*) AS n FROM t WHERE (NOT (a LIKE 'x%')) OR (NOT (NOT (b LIKE 'y')));
