-- Sealed prompts. A text is kept once, however many prompts carry it; the documents of a prompt are kept as what differs
-- from a text that resembles them. The first byte of `packed` says how it is packed.
create table body (
  key bigint generated always as identity primary key,
  fingerprint bytea not null unique,
  bytes bigint not null check (bytes >= 0),
  base bigint references body (key),
  packed bytea not null
);
-- What pays is compressed before it comes here.
alter table body alter column packed set storage external;

create index body_of_base on body (base) where base is not null;

create table prompt (
  key bigint generated always as identity primary key,
  id text collate "C" not null,
  project bigint not null references project (key),
  sealed_at bigint not null,
  recipe text collate "C" not null,
  engine text collate "C" not null,
  fingerprint bytea not null,
  bytes bigint not null,
  tokens bigint,
  seal bytea not null,
  unique (project, id),
  unique (project, seal)
);

create table document (
  prompt bigint not null references prompt (key),
  kind bigint not null check (kind between 0 and 3),
  base bigint not null references body (key),
  bytes bigint not null check (bytes >= 0),
  packed bytea not null,
  primary key (prompt, kind)
);
alter table document alter column packed set storage external;

create index document_of_base on document (base);

-- Which texts a prompt carries, and as what: 1 section, 2 input, 4 tool, 8 frame of a prompt without sections.
create table part (
  body bigint not null references body (key),
  prompt bigint not null references prompt (key),
  roles bigint not null check (roles between 1 and 15),
  primary key (body, prompt)
);

-- Where sections meet: what stands between two of them, which are next to each other in some prompt. Nothing on one side
-- means the beginning or the end. The text itself is only in the index.
create table edge (
  key bigint generated always as identity primary key,
  name bytea not null unique,
  left_body bigint references body (key),
  right_body bigint references body (key)
);

create index edge_of_left on edge (left_body) where left_body is not null;
create index edge_of_right on edge (right_body) where right_body is not null;

create table source (
  key bigint generated always as identity primary key,
  name text collate "C" not null unique
);

create table prompt_source (
  source bigint not null references source (key),
  prompt bigint not null references prompt (key),
  primary key (source, prompt)
);

-- The text that a new one of the same kind is compared with, and how little the smallest difference to it took.
create table slot (
  project bigint not null references project (key),
  name bytea not null,
  body bigint not null references body (key),
  least bigint,
  primary key (project, name)
);

create index slot_of_body on slot (body);
