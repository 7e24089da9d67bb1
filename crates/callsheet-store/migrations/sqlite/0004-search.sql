-- What can be searched. A leaf is what a prompt brought that no prompt before it had: which texts, and which places where they
-- meet, with a sieve that tells which groups of three characters they have.
create table leaf (
  key integer primary key,
  holders blob not null,
  sieve blob not null
) strict;

-- Places where texts meet that are in some leaf, but for those that came with a new text and were in no other prompt since.
create table edge (
  name blob primary key
) strict, without rowid;

-- Pieces of logs, from a record on, with sieves of their words.
create table log_leaf (
  run integer not null references run (key),
  start integer not null check (start > 0),
  sieve blob not null,
  primary key (run, start)
) strict;

-- How many log records of a run are in the index.
create table indexed (
  run integer primary key references run (key),
  records integer not null check (records >= 0)
) strict;
