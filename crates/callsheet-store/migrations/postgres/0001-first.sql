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

-- Sealed prompts. A text is kept once, however many prompts carry it; the documents of a prompt are kept as a delta
-- against a text that resembles them. The first byte of `packed` says how it is packed.
create table body (
  key bigint generated always as identity primary key,
  fingerprint bytea not null unique,
  bytes bigint not null check (bytes >= 0),
  base bigint references body (key),
  packed bytea not null
);
-- What pays is compressed before it comes here.
alter table body alter column packed set storage external;

create index body_of_base on body (base) where base is not null;

-- The prompts of one project and recipe, in the order in which they were sealed.
create table series (
  key bigint generated always as identity primary key,
  project bigint not null references project (key),
  recipe text collate "C" not null,
  last bigint not null,
  unique (project, recipe)
);

create table prompt (
  key bigint generated always as identity primary key,
  id text collate "C" not null,
  project bigint not null references project (key),
  series bigint not null references series (key),
  sealed_at bigint not null,
  recipe text collate "C" not null,
  engine text collate "C" not null,
  fingerprint bytea not null,
  bytes bigint not null,
  tokens bigint,
  seal bytea not null,
  mark bytea not null,
  unique (project, id),
  unique (project, seal)
);

create index prompt_of_series on prompt (series, key);

-- The documents of a prompt in one: manifest, source map, layout and inputs, with a byte between two that no text has.
create table document (
  key bigint primary key references prompt (key),
  base bigint not null references body (key),
  bytes bigint not null check (bytes >= 0),
  packed bytea not null
);
alter table document alter column packed set storage external;

create index document_of_base on document (base);

-- Which texts prompts carry, and as what: 1 section, 2 input, 4 tool, 8 frame of a prompt without sections,
-- 16 around a boundary of sections. Every prompt of the series from the first to the last one does.
create table prompt_body (
  body bigint not null references body (key),
  series bigint not null references series (key),
  first bigint not null,
  last bigint not null check (first <= last),
  roles bigint not null check (roles between 1 and 31),
  primary key (body, series, first)
);

create table source (
  key bigint generated always as identity primary key,
  name text collate "C" not null unique
);

create table prompt_source (
  source bigint not null references source (key),
  series bigint not null references series (key),
  first bigint not null,
  last bigint not null check (first <= last),
  primary key (source, series, first)
);

-- The text that the next one of the same place in prompts is kept as a delta against, and the size of the smallest delta.
create table delta_base (
  project bigint not null references project (key),
  name bytea not null,
  body bigint not null references body (key),
  least bigint,
  primary key (project, name)
);

create index delta_base_of_body on delta_base (body);

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

-- Runs with their logs, and the events of a project, which may be about a run. A run is never removed, and one that has
-- finished never changes again. `request` is what was asked for when it was queued, as JSON; `task` and `batch` are what it
-- is done for, and `action` is the number of what it does in the batch. `stop_requested_at` is when somebody asked for it to
-- stop, and `imported_at` when it was imported, for a run that another store has made. `mark` covers request, task, batch and
-- action where there are any; `finish_mark` is a fingerprint of how the run ended and covers these two times.
create table run (
  key bigint generated always as identity primary key,
  id text collate "C" not null unique,
  project bigint not null references project (key),
  prompt bigint not null references prompt (key),
  parent bigint references run (key),
  task bigint references task (key),
  batch bigint references batch (key),
  action bigint,
  kind text collate "C" not null check (kind in ('first', 'retry', 'continue')),
  request text,
  queued_at bigint not null,
  state text collate "C" not null default 'queued' check (state in ('queued', 'running', 'finished')),
  worker text,
  attempt bigint not null default 0 check (attempt >= 0),
  lease_until bigint,
  started_at bigint,
  stop_requested_at bigint,
  finished_at bigint,
  imported_at bigint,
  outcome text,
  records bigint not null default 0 check (records >= 0),
  mark bytea not null,
  finish_mark bytea
);

create index run_of_project on run (project, key);
create index run_of_state on run (project, state, key);
create index run_of_prompt on run (prompt);
create index run_of_parent on run (parent) where parent is not null;
create index run_of_task on run (task, key) where task is not null;
-- A task has at most one run that is not over.
create unique index run_open_of_task on run (task) where task is not null and state <> 'finished';
create index run_of_batch on run (batch, action) where batch is not null;

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

-- The events of a project are a hash chain: the mark of an event covers the mark of the one before it.
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

-- What can be found. A passage is a text that prompts of a project show (`body`), or some records of a log (`run`, from `first`
-- to `last`). The text around a boundary of sections is not ranked: it is found exactly and in no other way.
create table passage (
  key bigint generated always as identity primary key,
  project bigint not null references project (key),
  body bigint references body (key),
  ranked bigint not null check (ranked in (0, 1)),
  run bigint references run (key),
  first bigint,
  last bigint,
  check ((body is null) <> (run is null)),
  check ((run is null) = (first is null) and (run is null) = (last is null))
);

create unique index passage_of_body on passage (project, body, ranked) where body is not null;
create unique index passage_of_run on passage (project, run, first) where run is not null;

-- How far the index of a project goes: it has all passages up to `through`, and the logs of all runs up to `runs`.
create table search_index (
  project bigint primary key references project (key),
  version bigint not null,
  through bigint not null,
  runs bigint not null
);

-- The inverted index: which passage has which terms. A term is a hash of an n-gram, a project and how well the passage would
-- score for it.
create table trigram (
  rowid bigint primary key references passage (key),
  terms integer[] not null
);

-- Many passages come at once; a merge of many of their postings is faster than one for each, and takes room once.
create index trigram_terms on trigram using gin (terms) with (gin_pending_list_limit = 16384);
