-- Sealed prompts.
create table prompt (
  key integer primary key,
  id text not null unique,
  project integer not null references project (key)
) strict;
