-- Runs with their logs, and the events of a project, which may be about a run. A run is never removed, and one that has
-- finished never changes again; `finish_mark` is a fingerprint of how it ended.
create table run (
  key bigint generated always as identity primary key,
  id text collate "C" not null unique,
  project bigint not null references project (key),
  prompt bigint not null references prompt (key),
  parent bigint references run (key),
  kind text collate "C" not null check (kind in ('first', 'retry', 'continue')),
  queued_at bigint not null,
  state text collate "C" not null default 'queued' check (state in ('queued', 'running', 'finished')),
  worker text,
  attempt bigint not null default 0 check (attempt >= 0),
  lease_until bigint,
  started_at bigint,
  finished_at bigint,
  outcome text,
  records bigint not null default 0 check (records >= 0),
  mark bytea not null,
  finish_mark bytea
);

create index run_of_project on run (project, key);
create index run_of_state on run (project, state, key);
create index run_of_prompt on run (prompt);
create index run_of_parent on run (parent) where parent is not null;
-- Claims look at these few rows only, however many runs have finished.
create index run_open on run (key) where state <> 'finished';

create table log (
  key bigint generated always as identity primary key,
  run bigint not null references run (key),
  seq bigint not null check (seq >= 1),
  at bigint not null,
  stream text collate "C" not null check (stream in ('meta', 'stdout', 'stderr')),
  bytes bigint not null check (bytes >= 0),
  packed bytea not null,
  mark bytea not null,
  unique (run, seq)
);
-- What pays is compressed before it comes here.
alter table log alter column packed set storage external;

create table event (
  project bigint not null references project (key),
  seq bigint not null check (seq >= 1),
  at bigint not null,
  kind text not null,
  payload text not null,
  run bigint references run (key),
  mark bytea not null,
  primary key (project, seq)
);

create index event_of_run on event (run, seq) where run is not null;
