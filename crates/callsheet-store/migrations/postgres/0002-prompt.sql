-- Sealed prompts.
create table prompt (
  key bigint generated always as identity primary key,
  id text collate "C" not null unique,
  project bigint not null references project (key)
);
