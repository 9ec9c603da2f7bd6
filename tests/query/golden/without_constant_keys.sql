-- a constant makes no groups
SELECT 1, city, COUNT(*) FROM customers GROUP BY 1, city;
SELECT 1, city, COUNT(*) FROM customers GROUP BY city;

-- by constants alone, all rows are one group
SELECT 'x', COUNT(*) FROM customers GROUP BY 'x', NULL, (TRUE);
SELECT 'x', COUNT(*) FROM customers;

SELECT city, COUNT(*) FROM customers GROUP BY city;
SELECT city, COUNT(*) FROM customers GROUP BY city;
