-- Tasks. What a task asks for never changes, and whether it is done is not stored: that follows from its runs. The mark of
-- a task also covers when it was cancelled.
create table task (
  key integer primary key,
  id text not null unique,
  project integer not null references project (key),
  title text not null,
  body text not null,
  created_at integer not null,
  cancelled_at integer,
  mark blob not null
) strict;

create index task_of_project on task (project, key);

-- A task needs another one to be done first. There are no cycles.
create table dependency (
  task integer not null references task (key),
  needs integer not null references task (key),
  mark blob not null,
  primary key (task, needs),
  check (task <> needs)
) strict, without rowid;

create index dependency_of_needs on dependency (needs);

-- What was found out or decided about a run after it finished. Rows are only ever added.
create table annotation (
  run integer not null references run (key),
  seq integer not null check (seq >= 1),
  at integer not null,
  kind text not null,
  name text not null,
  value text not null,
  mark blob not null,
  primary key (run, seq)
) strict;

-- The branch of a task as a git bundle, and the refs in it; a new one replaces the one before.
create table branch (
  task integer primary key references task (key),
  at integer not null,
  refs text not null,
  bundle blob not null,
  mark blob not null
) strict;

-- The mark of a run covers its task where it has one.
alter table run add column task integer references task (key);

create index run_of_task on run (task, key) where task is not null;
-- A task has at most one run that is not over.
create unique index run_open_of_task on run (task) where task is not null and state <> 'finished';
-- Runs are claimed within a project, which `run_of_state` finds.
drop index run_open;
