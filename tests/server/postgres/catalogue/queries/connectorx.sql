--- 1
select 1 as x
