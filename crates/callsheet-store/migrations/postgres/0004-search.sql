-- What can be searched. By words: pieces of sections and of logs.
create table chunk (
  key bigint generated always as identity primary key,
  body bigint references body (key),
  run bigint references run (key),
  start bigint not null check (start >= 0),
  words tsvector not null,
  check ((body is null) <> (run is null))
);

create unique index chunk_of_body on chunk (body, start) where body is not null;
create unique index chunk_of_run on chunk (run, start) where run is not null;
create index chunk_words on chunk using gin (words);

-- How many log records of a run are in the index.
create table indexed (
  run bigint primary key references run (key),
  records bigint not null check (records >= 0)
);

-- Exactly: what a prompt brought that no prompt before it had, which texts and which places where they meet, with a signature
-- that tells which groups of three characters they have.
create table leaf (
  key bigint generated always as identity primary key,
  holders bytea not null,
  signature bytea not null
);
-- It looks like chance, and is read as a whole.
alter table leaf alter column signature set storage external;

-- Places where texts meet that are in some leaf. One that has a text which no other prompt carries is not noted here.
create table edge (
  name bytea primary key,
  left_body bigint,
  right_body bigint
);
