-- Projects and their settings. Times are milliseconds since 1970; a mark is a fingerprint of
-- all that never changes in its row. Texts sort by their bytes, as they do in SQLite.
create table project (
  key bigint generated always as identity primary key,
  name text collate "C" not null unique,
  events bigint not null default 0 check (events >= 0),
  mark bytea not null
);

create table setting (
  project bigint not null references project (key),
  name text collate "C" not null,
  value text not null,
  changed_at bigint not null,
  mark bytea not null,
  primary key (project, name)
);
