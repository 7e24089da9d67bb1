-- Runs with their logs, and the events of a project, which may be about a run. A run is never removed, and one that has
-- finished never changes again; `finish_mark` is a fingerprint of how it ended.
create table run (
  key integer primary key,
  id text not null unique,
  project integer not null references project (key),
  prompt integer not null references prompt (key),
  parent integer references run (key),
  kind text not null check (kind in ('first', 'retry', 'continue')),
  queued_at integer not null,
  state text not null default 'queued' check (state in ('queued', 'running', 'finished')),
  worker text,
  attempt integer not null default 0 check (attempt >= 0),
  lease_until integer,
  started_at integer,
  finished_at integer,
  outcome text,
  records integer not null default 0 check (records >= 0),
  mark blob not null,
  finish_mark blob
) strict;

create index run_of_project on run (project, key);
create index run_of_state on run (project, state, key);
create index run_of_prompt on run (prompt);
create index run_of_parent on run (parent) where parent is not null;
-- Claims look at these few rows only, however many runs have finished.
create index run_open on run (key) where state <> 'finished';

create table log (
  key integer primary key,
  run integer not null references run (key),
  seq integer not null check (seq >= 1),
  at integer not null,
  stream text not null check (stream in ('meta', 'stdout', 'stderr')),
  bytes integer not null check (bytes >= 0),
  packed blob not null,
  mark blob not null,
  unique (run, seq)
) strict;

-- With rowids: without them, a payload beyond a quarter of a page would take pages of its own.
create table event (
  project integer not null references project (key),
  seq integer not null check (seq >= 1),
  at integer not null,
  kind text not null,
  payload text not null,
  run integer references run (key),
  mark blob not null,
  primary key (project, seq)
) strict;

create index event_of_run on event (run, seq) where run is not null;
