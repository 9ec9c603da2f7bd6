-- Names take the policy's spelling and lose their qualifiers; the table loses its alias.
SELECT AGE FROM clinic;
SELECT "age" FROM "Clinic";

SELECT c.Cost, C.city FROM CLINIC AS c WHERE c.AGE > 3;
SELECT "cost", "city" FROM "Clinic" WHERE "age" > 3;

SELECT SUM("ODD ""NAME""") FROM Clinic;
SELECT SUM("odd ""name""") FROM "Clinic";

-- An alias stays, unquoted, where SQL knows aliases: GROUP BY, HAVING, ORDER BY.
SELECT city AS town, COUNT(*) AS "N" FROM Clinic GROUP BY town HAVING n > 1 ORDER BY "N";
SELECT "city" AS town, COUNT(*) AS "N" FROM "Clinic" GROUP BY town HAVING n > 1 ORDER BY N NULLS LAST;

-- A column wins over an alias of its name, but where the alias is a whole item of ORDER BY.
SELECT AVG(cost) AS cost FROM Clinic WHERE cost > 1 ORDER BY cost, cost + 1;
SELECT AVG("cost") AS cost FROM "Clinic" WHERE "cost" > 1 ORDER BY cost NULLS LAST, "cost" + 1 NULLS LAST;

-- Strings are no names.
SELECT COUNT(*) FROM Clinic WHERE CITY = 'CITY';
SELECT COUNT(*) FROM "Clinic" WHERE "city" = 'CITY';
