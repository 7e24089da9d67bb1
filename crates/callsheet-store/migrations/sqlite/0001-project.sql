-- Projects and their settings. Times are milliseconds since 1970; a mark is a fingerprint of
-- all that never changes in its row.
create table project (
  key integer primary key,
  name text not null unique,
  events integer not null default 0 check (events >= 0),
  mark blob not null
) strict;

create table setting (
  project integer not null references project (key),
  name text not null,
  value text not null,
  changed_at integer not null,
  mark blob not null,
  primary key (project, name)
) strict, without rowid;
