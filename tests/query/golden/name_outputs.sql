-- A column's name, or what the expression is; numbered where taken.
SELECT city, COUNT(*), COUNT(x), SUM(x), AVG(x) FROM t;
SELECT city AS "city", COUNT(*) AS "count", COUNT(x) AS "count_2", SUM(x) AS "sum", AVG(x) AS "avg" FROM t;

SELECT SUM(x) / COUNT(*), 1 - AVG(x), -COUNT(*) FROM t;
SELECT SUM(x) / COUNT(*) AS "div", 1 - AVG(x) AS "sub", -COUNT(*) AS "neg" FROM t;

-- What people named comes first.
SELECT city, COUNT(*) AS city, SUM(x) AS count, COUNT(*) FROM t;
SELECT city AS "city_2", COUNT(*) AS "city", SUM(x) AS "count", COUNT(*) AS "count_2" FROM t;

SELECT COUNT(*) AS "od""d" FROM t;
SELECT COUNT(*) AS "od""d" FROM t;
