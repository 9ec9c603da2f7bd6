--- 1
SELECT relkind AS k, count(*) FROM pg_class WHERE oid<16384 GROUP BY k ORDER BY k
--- 2
SELECT c.relkind AS k, n.nspname, count(*) FROM pg_class c, pg_namespace n WHERE n.oid=c.relnamespace and c.oid<16384 GROUP BY k, n.nspname ORDER BY 1,2
--- 3
SELECT relname FROM pg_class WHERE relname LIKE 'pg\_am%' ORDER BY relname
--- 4
SELECT relname FROM pg_class WHERE relname ILIKE 'PG_AM%' ORDER BY relname DESC LIMIT 2 OFFSET 1
--- 5
SELECT DISTINCT ON (relkind) relkind, relname FROM pg_class WHERE oid<16384 ORDER BY relkind, relname
--- 6
SELECT * FROM (VALUES (1,'a'),(2,'b')) AS t(x,y) ORDER BY x
--- 7
SELECT x.relname, y.* FROM pg_class x JOIN LATERAL (SELECT attname FROM pg_attribute a WHERE a.attrelid=x.oid AND attnum=1) y ON true WHERE x.relname='pg_am'
--- 8
SELECT relname, row_number() OVER (PARTITION BY relkind ORDER BY relname) FROM pg_class WHERE relname LIKE 'pg_am%' ORDER BY 1
--- 9
SELECT nspname FROM pg_namespace WHERE oid IN (SELECT relnamespace FROM pg_class) AND nspname NOT IN ('discreet') ORDER BY 1
--- 10
SELECT (SELECT count(*) FROM pg_index WHERE indisprimary AND indexrelid < 16384), EXISTS(SELECT 1 FROM pg_enum), ARRAY(SELECT nspname FROM pg_namespace WHERE nspname ~ '^p' ORDER BY 1)
--- 11
SELECT CASE WHEN relkind='r' THEN 'table' ELSE relname::text END FROM pg_class WHERE relname='pg_am'
--- 12
SELECT coalesce(null, 'x'), nullif('a','a'), greatest(1,2), length('abc'), upper('a'), lower('B'), 'a'||'b', 7/2, 7%2, -3, 1+2*3, not true, 1=1
--- 13
SELECT 'pg_class'::regclass, 'pg_class'::regclass::oid, 1259::regclass, 'int4'::regtype, 'now'::regproc, 23::regtype::text
--- 14
SELECT typname, typinput, typelem::regtype FROM pg_type WHERE typname IN ('int4','_int4') ORDER BY 1
--- 15
SELECT a.attname, i.indkey, i.indkey[0], array_upper(i.indkey,1), array_length(i.indkey,1), i.indkey::text FROM pg_index i JOIN pg_attribute a ON a.attrelid=i.indrelid AND a.attnum=i.indkey[0] WHERE i.indexrelid='pg_am_oid_index'::regclass
--- 16
SELECT unnest(ARRAY[1,2,3]), generate_subscripts(ARRAY['a','b','c'],1)
--- 17
SELECT g FROM generate_series(1,3) AS g ORDER BY g DESC
--- 18
SELECT * FROM unnest(ARRAY['a','b']) WITH ORDINALITY AS t(v,n)
--- 19
WITH a AS (SELECT oid FROM pg_namespace WHERE nspname='public'), b AS (SELECT * FROM a) SELECT * FROM b UNION ALL SELECT 5 ORDER BY 1
--- 20
SELECT count(*) FILTER (WHERE relkind='i'), min(relname), max(oid) < 99999 FROM pg_class WHERE oid < 16384
--- 21
SELECT relname FROM pg_class c WHERE NOT EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid=c.oid) LIMIT 1
--- 22
SELECT 1 AS "A", 2 AS b, true, null, 'x'::text, 1.5
--- 23
SELECT string_agg(nspname, ',' ORDER BY nspname DESC) FROM pg_namespace
--- 24
SELECT array_agg(relname ORDER BY relname) FROM pg_class WHERE relname LIKE 'pg_am%'
--- 25
SELECT substring('abcdef' from 2 for 3), trim(both 'x' from 'xax'), position('b' in 'abc'), trim('  a ')
--- 26
SELECT 'a' LIKE 'A', 'a' ILIKE 'A', 'abc' ~ 'b', 'abc' !~* 'B', 'a_b' LIKE 'a\_b'
--- 27
SELECT current_schema, current_user, session_user, current_database(), current_schema(), current_catalog
--- 28
SELECT relacl FROM pg_class WHERE relname='pg_am'
--- 29
SELECT has_schema_privilege('public','USAGE'), has_table_privilege('pg_class','SELECT'), has_database_privilege('clinic','CONNECT'), pg_has_role('alice','USAGE'), has_table_privilege('alice','pg_authid','SELECT')
--- 30
SELECT format('%I.%s %L', 'a b', 'c', 'd''e'), quote_ident('select'), quote_literal('a''b'), array_to_string(ARRAY['a',NULL,'b'], ',', '*')
--- 31
SELECT relname AS r FROM pg_class WHERE relname='pg_am' GROUP BY relname HAVING count(*) > 0
--- 32
SELECT amname FROM pg_am JOIN pg_proc USING (oid)
--- 33
SELECT n.nspname, c.relname FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace=n.oid AND c.relname='pg_am' WHERE n.nspname <> 'discreet' ORDER BY c.relname NULLS FIRST, n.nspname
--- 34
SELECT pg_size_pretty(123456789::bigint), pg_encoding_to_char(6), format_type(1043,24), format_type(1700, 655366)
--- 35
SELECT ('{a,b,"c d"}'::text[])[3], '{1,2}'::int[], ARRAY['x']::text[], 2 = ANY('{1,2}'), 'b' = ANY(ARRAY['a','b']), 3 <> ALL('{1,2}')
--- 36
SELECT atttypid::regtype, attnum FROM pg_attribute WHERE attrelid='pg_am'::regclass AND attnum>0 ORDER BY attnum
--- 37
SELECT relname FROM pg_class WHERE relname IN ('pg_am') FETCH FIRST 1 ROWS ONLY
--- 38
SELECT CAST('t' AS boolean), 'true'::bool::text, 5::text, '7'::int + 1
--- 39
SELECT tableoid::regclass, oid FROM pg_am ORDER BY oid LIMIT 1
--- 40
SELECT json_build_object('a', 1, 'b', 'x', 'c', null, 'd', true)
--- 41
SELECT conname FROM pg_constraint WHERE conrelid = 'public.visits'::regclass AND contype IN ('f','p') ORDER BY 1
--- 42
SELECT count(*) c FROM (SELECT 1 UNION SELECT 1) q
--- 43
SELECT nspname, nspacl::text FROM pg_namespace WHERE nspname='public'
--- 44
SELECT array_position(ARRAY['a','b'],'b'), string_to_array('a,b',','), split_part('a.b','.',2), left('abc',2), concat('a',1,NULL,true), concat_ws('-','a',NULL,'b')
--- 45
SELECT format_type(1184, 2) a, format_type(1114, 0) b, format_type(1083, 6) c, format_type(1266, 3) d, format_type(1185, 2) e, format_type(1114, -1) f
--- 46
SELECT format_type(1560, 3) a, format_type(1562, 0) b, format_type(1043, 4) c, format_type(1043, 5) d, format_type(1042, 0) e, format_type(1042, -1) f, format_type(1015, 9) g
--- 47
SELECT format_type(1700, 3) a, format_type(1700, 196614) b, format_type(1700, 198654) c, format_type(1231, 655366) d, format_type(1700, 2147483647) e, format_type(23, 7) f
