-- What can be searched: pieces of texts that prompts carry, and of logs. The indexes keep no text of their own.
create table chunk (
  key integer primary key,
  body integer references body (key),
  run integer references run (key),
  start integer not null check (start >= 0),
  check (body is null or run is null)
) strict;

create unique index chunk_of_body on chunk (body, start) where body is not null;
create unique index chunk_of_run on chunk (run, start) where run is not null;

create virtual table chunk_words using fts5 (
  words, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0'
);
create virtual table chunk_grams using fts5 (
  text, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1'
);

-- How many log records of a run are in the index.
create table indexed (
  run integer primary key references run (key),
  records integer not null check (records >= 0)
) strict;

-- Where sections meet: what stands between two texts that are next to each other in some prompt. Nothing on one side means
-- the beginning or the end. It is a piece of its own, and its text is only in the index.
create table edge (
  key integer primary key references chunk (key),
  name blob not null unique,
  left_body integer,
  right_body integer
) strict;
