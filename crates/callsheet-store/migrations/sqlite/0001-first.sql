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

-- Sealed prompts. A text is kept once, however many prompts carry it; the documents of a prompt are kept as a delta
-- against a text that resembles them. The first byte of `packed` says how it is packed.
create table body (
  key integer primary key,
  fingerprint blob not null unique,
  bytes integer not null check (bytes >= 0),
  base integer references body (key),
  packed blob not null
) strict;

create index body_of_base on body (base) where base is not null;

-- The prompts of one project and recipe, in the order in which they were sealed.
create table series (
  key integer primary key,
  project integer not null references project (key),
  recipe text not null,
  last integer not null,
  unique (project, recipe)
) strict;

-- A key is never used again: spans of keys outlive the prompts in them.
create table prompt (
  key integer primary key autoincrement,
  id text not null,
  project integer not null references project (key),
  series integer not null references series (key),
  sealed_at integer not null,
  recipe text not null,
  engine text not null,
  fingerprint blob not null,
  bytes integer not null,
  tokens integer,
  seal blob not null,
  mark blob not null,
  unique (project, id),
  unique (project, seal)
) strict;

create index prompt_of_series on prompt (series);

-- The documents of a prompt in one: manifest, source map, layout and inputs, with a byte between two that no text has.
create table document (
  key integer primary key references prompt (key),
  base integer not null references body (key),
  bytes integer not null check (bytes >= 0),
  packed blob not null
) strict;

create index document_of_base on document (base);

-- Which texts prompts carry, and as what: 1 section, 2 input, 4 tool, 8 frame of a prompt without sections,
-- 16 around a boundary of sections. Every prompt of the series from the first to the last one does.
create table prompt_body (
  body integer not null references body (key),
  series integer not null references series (key),
  first integer not null,
  last integer not null check (first <= last),
  roles integer not null check (roles between 1 and 31),
  primary key (body, series, first)
) strict, without rowid;

create table source (
  key integer primary key,
  name text not null unique
) strict;

create table prompt_source (
  source integer not null references source (key),
  series integer not null references series (key),
  first integer not null,
  last integer not null check (first <= last),
  primary key (source, series, first)
) strict, without rowid;

-- The text that the next one of the same place in prompts is kept as a delta against, and the size of the smallest delta.
create table delta_base (
  project integer not null references project (key),
  name blob not null,
  body integer not null references body (key),
  least integer,
  primary key (project, name)
) strict, without rowid;

create index delta_base_of_body on delta_base (body);

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

-- The branch of a task as a git bundle, and the refs in it; a new one replaces the one before.
create table branch (
  task integer primary key references task (key),
  at integer not null,
  refs text not null,
  bundle blob not null,
  mark blob not null
) strict;

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

-- Runs with their logs, and the events of a project, which may be about a run. A run is never removed, and one that has
-- finished never changes again. `request` is what was asked for when it was queued, as JSON; `task` and `batch` are what it
-- is done for, and `action` is the number of what it does in the batch. `stop_requested_at` is when somebody asked for it to
-- stop, and `imported_at` when it was imported, for a run that another store has made. `mark` covers request, task, batch and
-- action where there are any; `finish_mark` is a fingerprint of how the run ended and covers these two times.
create table run (
  key integer primary key,
  id text not null unique,
  project integer not null references project (key),
  prompt integer not null references prompt (key),
  parent integer references run (key),
  task integer references task (key),
  batch integer references batch (key),
  action integer,
  kind text not null check (kind in ('first', 'retry', 'continue')),
  request text,
  queued_at integer not null,
  state text not null default 'queued' check (state in ('queued', 'running', 'finished')),
  worker text,
  attempt integer not null default 0 check (attempt >= 0),
  lease_until integer,
  started_at integer,
  stop_requested_at integer,
  finished_at integer,
  imported_at integer,
  outcome text,
  records integer not null default 0 check (records >= 0),
  mark blob not null,
  finish_mark blob
) strict;

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
  run integer not null references run (key),
  seq integer not null check (seq >= 1),
  at integer not null,
  kind text not null,
  name text not null,
  value text not null,
  mark blob not null,
  primary key (run, seq)
) strict;

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

-- The events of a project are a hash chain: the mark of an event covers the mark of the one before it.
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

-- What can be found. A passage is a text that prompts of a project show (`body`), or some records of a log (`run`, from `first`
-- to `last`). The text around a boundary of sections is not ranked: it is found exactly and in no other way.
create table passage (
  key integer primary key autoincrement,
  project integer not null references project (key),
  body integer references body (key),
  ranked integer not null check (ranked in (0, 1)),
  run integer references run (key),
  first integer,
  last integer,
  check ((body is null) <> (run is null)),
  check ((run is null) = (first is null) and (run is null) = (last is null))
) strict;

create unique index passage_of_body on passage (project, body, ranked) where body is not null;
create unique index passage_of_run on passage (project, run, first) where run is not null;

-- How far the index of a project goes: it has all passages up to `through`, and the logs of all runs up to `runs`.
create table search_index (
  project integer primary key references project (key),
  version integer not null,
  through integer not null,
  runs integer not null
) strict;

-- The inverted index: which passage has which terms. A term is a hash of an n-gram, a project and how well the passage would
-- score for it.
create virtual table trigram using fts5 (
  terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

-- Its terms as rows, for whoever compares it with the texts.
create virtual table trigram_row using fts5vocab (trigram, row);
