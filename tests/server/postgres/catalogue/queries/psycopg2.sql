--- 1
SELECT t.oid, typarray
FROM pg_type t JOIN pg_namespace ns
    ON typnamespace = ns.oid
WHERE typname = 'hstore'
--- 2
SELECT t.oid, typarray, attname, atttypid
FROM pg_type t
JOIN pg_namespace ns ON typnamespace = ns.oid
JOIN pg_attribute a ON attrelid = typrelid
WHERE typname = 'visits' AND nspname = 'public'
    AND attnum > 0 AND NOT attisdropped
ORDER BY attnum
