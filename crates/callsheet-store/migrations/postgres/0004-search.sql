-- What can be found. A passage is a section that prompts of a project show (`body`), or what stands around a boundary of
-- sections (`seam`, with the section before it and the one after it), or some records of a log (`run`, from `first` to `last`).
create table passage (
  key bigint generated always as identity primary key,
  project bigint not null references project (key),
  body bigint references body (key),
  next bigint references body (key),
  seam text,
  run bigint references run (key),
  first bigint,
  last bigint,
  check ((body is null) <> (run is null)),
  check (body is not null or next is null and seam is null),
  check (next is null or seam is not null),
  check ((run is null) = (first is null) and (run is null) = (last is null))
);

create index passage_of_body on passage (project, body, next) where body is not null;
create index passage_of_next on passage (next) where next is not null;
create unique index passage_of_run on passage (run, first) where run is not null;

-- How far the index of a project reaches: it has all passages up to `through`, and the logs of all runs up to `runs`.
create table search_index (
  project bigint primary key references project (key),
  version bigint not null,
  through bigint not null,
  runs bigint not null
);

-- The inverted index: which passage has which trigrams, each hashed together with its project and how often it is there.
create table trigram (
  passage bigint primary key references passage (key),
  hashes integer[] not null
);

-- Many passages come at once; one merge of all their postings is much faster than one for each.
create index trigram_hashes on trigram using gin (hashes) with (gin_pending_list_limit = 65536);
