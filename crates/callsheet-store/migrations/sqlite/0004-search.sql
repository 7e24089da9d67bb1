-- What can be found. A passage is a section that prompts of a project show (`body`), or what stands around a boundary of
-- sections (`seam`, with the section before it and the one after it), or some records of a log (`run`, from `first` to `last`).
create table passage (
  key integer primary key autoincrement,
  project integer not null references project (key),
  body integer references body (key),
  next integer references body (key),
  seam text,
  run integer references run (key),
  first integer,
  last integer,
  check ((body is null) <> (run is null)),
  check (body is not null or next is null and seam is null),
  check (next is null or seam is not null),
  check ((run is null) = (first is null) and (run is null) = (last is null))
) strict;

create index passage_of_body on passage (project, body, next) where body is not null;
create index passage_of_next on passage (next) where next is not null;
create unique index passage_of_run on passage (run, first) where run is not null;

-- How far the index of a project reaches: it has all passages up to `through`, and the logs of all runs up to `runs`.
create table search_index (
  project integer primary key references project (key),
  version integer not null,
  through integer not null,
  runs integer not null
) strict;

-- The inverted index: which passage has which trigrams, each hashed together with its project and how often it is there.
create virtual table trigram using fts5 (
  hashes, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii'
);

-- The same as rows, for whoever compares it with the texts.
create virtual table trigram_row using fts5vocab (trigram, instance);
