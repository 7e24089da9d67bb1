-- Everything that the schema of a server holds about tables: the table, what it is, and how it is defined.
with ours as (
  select c.oid, c.relname::text as name, c.relpersistence::text as persistence,
    c.relrowsecurity or c.relforcerowsecurity as guarded
  from pg_catalog.pg_class c
  where c.relnamespace = (select n.oid from pg_catalog.pg_namespace n where n.nspname = pg_catalog.current_schema())
    and c.relkind in ('r', 'p')
)
select o.name, 'table ' || o.name,
  case o.persistence when 'p' then 'logged' else 'not logged' end || case when o.guarded then ', row security' else '' end
from ours o
union all
select o.name, 'column ' || a.attname::text,
  pg_catalog.format_type(a.atttypid, a.atttypmod)
  || case when k.collname is null or k.collname = 'default' then '' else ' collate ' || k.collname::text end
  || case when a.attnotnull then ' not null' else '' end
  || case a.attidentity when '' then '' else ' identity ' || a.attidentity::text end
  || case a.attgenerated when '' then '' else ' generated ' || a.attgenerated::text end
  || coalesce(' default ' || pg_catalog.pg_get_expr(d.adbin, d.adrelid), '')
  || ' storage ' || a.attstorage::text
from ours o
join pg_catalog.pg_attribute a on a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped
left join pg_catalog.pg_attrdef d on d.adrelid = o.oid and d.adnum = a.attnum
left join pg_catalog.pg_collation k on k.oid = a.attcollation
union all
select o.name, 'constraint ' || c.conname::text, pg_catalog.pg_get_constraintdef(c.oid)
from ours o join pg_catalog.pg_constraint c on c.conrelid = o.oid and c.contype in ('p', 'u', 'f', 'c', 'x', 't')
union all
select o.name, 'index ' || i.relname::text,
  replace(pg_catalog.pg_get_indexdef(x.indexrelid), ' ON ' || pg_catalog.quote_ident(pg_catalog.current_schema()) || '.', ' ON ')
  || case when x.indisvalid and x.indisready then '' else ' not valid' end
from ours o join pg_catalog.pg_index x on x.indrelid = o.oid join pg_catalog.pg_class i on i.oid = x.indexrelid
union all
select o.name, 'trigger ' || t.tgname::text, case when t.tgisinternal then 'switched off' else pg_catalog.pg_get_triggerdef(t.oid) end
from ours o join pg_catalog.pg_trigger t on t.tgrelid = o.oid and (not t.tgisinternal or t.tgenabled <> 'O')
union all
select o.name, 'rule ' || r.rulename::text, pg_catalog.pg_get_ruledef(r.oid)
from ours o join pg_catalog.pg_rewrite r on r.ev_class = o.oid
union all
select o.name, 'policy ' || p.polname::text, coalesce(pg_catalog.pg_get_expr(p.polqual, p.polrelid), '')
from ours o join pg_catalog.pg_policy p on p.polrelid = o.oid
union all
select o.name, 'heir ' || h.inhrelid::pg_catalog.regclass::text, ''
from ours o join pg_catalog.pg_inherits h on h.inhparent = o.oid
order by 1, 2
