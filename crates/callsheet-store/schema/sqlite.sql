-- Everything that the schema of a file holds: the table, what it is, and how it is defined. What SQLite notes for its planner
-- comes and goes.
select m.tbl_name, m.type || ' ' || m.name, coalesce(m.sql, '')
from sqlite_schema m
where not (m.type = 'table' and m.name in ('sqlite_stat1', 'sqlite_stat4'))
union all
select m.name, 'column ' || x.name, x.type
from sqlite_schema m join pragma_table_xinfo(m.name) x
where m.type = 'table' and m.name not in ('sqlite_stat1', 'sqlite_stat4')
order by 1, 2
