-- What can be searched. A leaf is what a prompt brought that no prompt before it had: which texts, and which places where they
-- meet, with a sieve that tells which groups of three characters they have.
create table leaf (
  key bigint generated always as identity primary key,
  holders bytea not null,
  sieve bytea not null
);
-- It looks like chance, and is read as a whole.
alter table leaf alter column sieve set storage external;

-- Places where texts meet that are in some leaf, but for those that came with a new text and were in no other prompt since.
create table edge (
  name bytea primary key
);

-- Pieces of logs, from a record on, with sieves of their words.
create table log_leaf (
  run bigint not null references run (key),
  start bigint not null check (start > 0),
  sieve bytea not null,
  primary key (run, start)
);
alter table log_leaf alter column sieve set storage external;

-- How many log records of a run are in the index.
create table indexed (
  run bigint primary key references run (key),
  records bigint not null check (records >= 0)
);
