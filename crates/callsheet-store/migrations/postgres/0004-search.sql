-- What can be searched: pieces of texts that prompts carry, and of logs.
create extension if not exists pg_trgm;

create table chunk (
  key bigint generated always as identity primary key,
  body bigint references body (key),
  run bigint references run (key),
  start bigint not null check (start >= 0),
  grams text,
  words tsvector,
  check (body is null or run is null)
);

create unique index chunk_of_body on chunk (body, start) where body is not null;
create unique index chunk_of_run on chunk (run, start) where run is not null;
-- The extension is where its first user has put it, which need not be where this store is.
do $$
begin
  execute format(
    'create index chunk_grams on chunk using gin (grams %I.gin_trgm_ops)',
    (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm')
  );
end
$$;
create index chunk_words on chunk using gin (words);

-- How many log records of a run are in the index.
create table indexed (
  run bigint primary key references run (key),
  records bigint not null check (records >= 0)
);

-- Where sections meet: what stands between two texts that are next to each other in some prompt. Nothing on one side means
-- the beginning or the end. It is a piece of its own, and its text is only in the index.
create table edge (
  key bigint primary key references chunk (key),
  name bytea not null unique,
  left_body bigint,
  right_body bigint
);
