--- 1
SELECT CURRENT_DATABASE()
--- 2
SELECT CURRENT_SCHEMA
--- 3
SELECT DISTINCT table_name FROM information_schema.tables WHERE TRUE AND table_schema = 'public' AND table_catalog = 'clinic' UNION ALL SELECT DISTINCT table_name FROM information_schema.tables WHERE table_type = 'LOCAL TEMPORARY'
--- 4
SELECT schema_name FROM information_schema.schemata
--- 5
SELECT datname FROM pg_catalog.pg_database WHERE NOT datistemplate
--- 6
SELECT DISTINCT table_name FROM information_schema.tables WHERE TRUE AND table_schema = 'public' UNION ALL SELECT DISTINCT table_name FROM information_schema.tables WHERE table_type = 'LOCAL TEMPORARY'
--- 7
SELECT DISTINCT table_name FROM information_schema.tables WHERE TRUE AND table_schema = 'discreet'
--- 8
SELECT nspname FROM pg_namespace WHERE oid = pg_my_temp_schema()
--- 9 ["{public}", "visits"]
SELECT
  a.attname AS column_name,
  CASE
    WHEN EXISTS(
      SELECT 1
      FROM pg_catalog.pg_type t
      INNER JOIN pg_catalog.pg_enum e
              ON e.enumtypid = t.oid
             AND t.typname = pg_catalog.format_type(a.atttypid, a.atttypmod)
    ) THEN 'enum'
    ELSE pg_catalog.format_type(a.atttypid, a.atttypmod)
  END AS data_type,
  NOT a.attnotnull AS nullable
FROM pg_catalog.pg_attribute a
INNER JOIN pg_catalog.pg_class c
   ON a.attrelid = c.oid
INNER JOIN pg_catalog.pg_namespace n
   ON c.relnamespace = n.oid
WHERE a.attnum > 0
  AND NOT a.attisdropped
  AND n.nspname = ANY($1)
  AND c.relname = $2
ORDER BY a.attnum ASC
