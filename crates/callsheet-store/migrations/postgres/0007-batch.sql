-- Batches: one sprint run of a project each. The mark of a batch covers all of its columns but the key. A batch that is
-- running and has no lease was released: nobody holds it.
create table batch (
  key bigint generated always as identity primary key,
  id text collate "C" not null unique,
  project bigint not null references project (key),
  settings text not null,
  started_at bigint not null,
  state text collate "C" not null default 'running' check (state in ('running', 'ended')),
  status text collate "C" check (status in ('completed', 'all_done', 'stopped', 'error')),
  worker text not null,
  attempt bigint not null check (attempt >= 1),
  lease_until bigint,
  ended_at bigint,
  stop_requested_at bigint,
  stop_policy text,
  entries bigint not null default 0 check (entries >= 0),
  mark bytea not null
);

create index batch_of_project on batch (project, key);
-- A project has at most one batch that has not ended.
create unique index batch_open_of_project on batch (project) where state <> 'ended';

-- What happened in a batch, in order. Rows are only ever added.
create table journal (
  batch bigint not null references batch (key),
  seq bigint not null check (seq >= 1),
  at bigint not null,
  entry text not null,
  mark bytea not null,
  primary key (batch, seq)
);

-- The batch of a run, and the number of the action in it that the run does. The mark of a run covers both where it has
-- them.
alter table run add column batch bigint references batch (key);
alter table run add column action bigint;

create index run_of_batch on run (batch, action) where batch is not null;
