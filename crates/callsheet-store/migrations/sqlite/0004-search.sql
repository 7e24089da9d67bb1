-- What can be searched. By words: pieces of sections and of logs. The index keeps no text of its own.
create table chunk (
  key integer primary key,
  body integer references body (key),
  run integer references run (key),
  start integer not null check (start >= 0),
  check ((body is null) <> (run is null))
) strict;

create unique index chunk_of_body on chunk (body, start) where body is not null;
create unique index chunk_of_run on chunk (run, start) where run is not null;

create virtual table chunk_words using fts5 (
  words, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 0'
);

-- How many log records of a run are in the index.
create table indexed (
  run integer primary key references run (key),
  records integer not null check (records >= 0)
) strict;

-- Exactly: what a prompt brought that no prompt before it had, which texts and which places where they meet, with a signature
-- that tells which groups of three characters they have.
create table leaf (
  key integer primary key,
  holders blob not null,
  signature blob not null
) strict;

-- Places where texts meet that are in some leaf. One that has a text which no other prompt carries is not noted here.
create table edge (
  name blob primary key,
  left_body integer,
  right_body integer
) strict, without rowid;
