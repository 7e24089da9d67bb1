-- Tasks. What a task asks for never changes, and whether it is done is not stored: that follows from its runs. The mark of
-- a task also covers when it was cancelled.
create table task (
  key bigint generated always as identity primary key,
  id text collate "C" not null unique,
  project bigint not null references project (key),
  title text not null,
  body text not null,
  created_at bigint not null,
  cancelled_at bigint,
  mark bytea not null
);

create index task_of_project on task (project, key);

-- A task needs another one to be done first. There are no cycles.
create table dependency (
  task bigint not null references task (key),
  needs bigint not null references task (key),
  mark bytea not null,
  primary key (task, needs),
  check (task <> needs)
);

create index dependency_of_needs on dependency (needs);

-- What was found out or decided about a run after it finished. Rows are only ever added.
create table annotation (
  run bigint not null references run (key),
  seq bigint not null check (seq >= 1),
  at bigint not null,
  kind text collate "C" not null,
  name text collate "C" not null,
  value text not null,
  mark bytea not null,
  primary key (run, seq)
);

-- The branch of a task as a git bundle, and the refs in it; a new one replaces the one before.
create table branch (
  task bigint primary key references task (key),
  at bigint not null,
  refs text not null,
  bundle bytea not null,
  mark bytea not null
);
-- Git has compressed it.
alter table branch alter column bundle set storage external;

-- The mark of a run covers its task where it has one.
alter table run add column task bigint references task (key);

create index run_of_task on run (task, key) where task is not null;
-- A task has at most one run that is not over.
create unique index run_open_of_task on run (task) where task is not null and state <> 'finished';
-- Runs are claimed within a project, which `run_of_state` finds.
drop index run_open;
