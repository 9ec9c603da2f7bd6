--- 1 ["int8"]
select oid, typname from pg_type where typname=$1
--- 2 ["public"]
select table_name from information_schema.tables where table_schema=$1 order by 1
