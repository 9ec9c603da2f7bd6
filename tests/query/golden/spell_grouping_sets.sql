-- One set alone is a plain GROUP BY, and the empty set is none.
SELECT a, COUNT(*) FROM t GROUP BY GROUPING SETS ((a, b, a));
SELECT a, COUNT(*) FROM t GROUP BY a, b;

SELECT COUNT(*) FROM t GROUP BY (), GROUPING SETS (());
SELECT COUNT(*) FROM t;

SELECT a, COUNT(*) FROM t GROUP BY (a, b), ();
SELECT a, COUNT(*) FROM t GROUP BY a, b;

-- Every other spelling is a list of sets.
SELECT a, COUNT(*) FROM t GROUP BY ROLLUP (a, (b, c));
SELECT a, COUNT(*) FROM t GROUP BY GROUPING SETS ((a, b, c), (a), ());

SELECT a, COUNT(*) FROM t GROUP BY CUBE (a, b);
SELECT a, COUNT(*) FROM t GROUP BY GROUPING SETS ((a, b), (a), (b), ());

SELECT a, COUNT(*) FROM t GROUP BY GROUPING SETS (a, ROLLUP (b, c), GROUPING SETS ((a, b)));
SELECT a, COUNT(*) FROM t GROUP BY GROUPING SETS ((a), (b, c), (b), (), (a, b));

-- Several elements are crossed.
SELECT a, COUNT(*) FROM t GROUP BY a, ROLLUP (b), GROUPING SETS (c, d);
SELECT a, COUNT(*) FROM t GROUP BY GROUPING SETS ((a, b, c), (a, b, d), (a, c), (a, d));

SELECT a, GROUPING_ID(a, b) FROM t GROUP BY GROUPING SETS (a, ());
SELECT a, GROUPING(a, b) FROM t GROUP BY GROUPING SETS ((a), ());
