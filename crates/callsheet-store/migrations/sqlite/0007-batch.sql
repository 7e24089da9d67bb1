-- Batches: one sprint run of a project each. The mark of a batch covers all of its columns but the key. A batch that is
-- running and has no lease was released: nobody holds it.
create table batch (
  key integer primary key,
  id text not null unique,
  project integer not null references project (key),
  settings text not null,
  started_at integer not null,
  state text not null default 'running' check (state in ('running', 'ended')),
  status text check (status in ('completed', 'all_done', 'stopped', 'error')),
  worker text not null,
  attempt integer not null check (attempt >= 1),
  lease_until integer,
  ended_at integer,
  stop_requested_at integer,
  stop_policy text,
  entries integer not null default 0 check (entries >= 0),
  mark blob not null
) strict;

create index batch_of_project on batch (project, key);
-- A project has at most one batch that has not ended.
create unique index batch_open_of_project on batch (project) where state <> 'ended';

-- What happened in a batch, in order. Rows are only ever added.
create table journal (
  batch integer not null references batch (key),
  seq integer not null check (seq >= 1),
  at integer not null,
  entry text not null,
  mark blob not null,
  primary key (batch, seq)
) strict;

-- The batch of a run, and the number of the action in it that the run does. The mark of a run covers both where it has
-- them.
alter table run add column batch integer references batch (key);
alter table run add column action integer;

create index run_of_batch on run (batch, action) where batch is not null;
