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

-- The prompts of one project and recipe, in the order in which they were sealed.
create table line (
  key bigint generated always as identity primary key,
  project bigint not null references project (key),
  recipe text collate "C" not null,
  last bigint not null,
  unique (project, recipe)
);

create table prompt (
  key bigint generated always as identity primary key,
  id text collate "C" not null,
  project bigint not null references project (key),
  line bigint not null references line (key),
  sealed_at bigint not null,
  recipe text collate "C" not null,
  engine text collate "C" not null,
  fingerprint bytea not null,
  bytes bigint not null,
  tokens bigint,
  seal bytea not null,
  mark bytea not null,
  unique (project, id),
  unique (project, seal)
);

create index prompt_of_line on prompt (line, key);

-- The documents of a prompt in one: manifest, source map, layout and inputs, with a byte between two that no text has.
create table document (
  key bigint primary key references prompt (key),
  base bigint not null references body (key),
  bytes bigint not null check (bytes >= 0),
  packed bytea not null
);
alter table document alter column packed set storage external;

create index document_of_base on document (base);

-- Which texts prompts carry, and as what: 1 section, 2 input, 4 tool, 8 frame of a prompt without sections,
-- 16 seam that reaches over a section. Every prompt of the line from the first to the last one does.
create table part (
  body bigint not null references body (key),
  line bigint not null references line (key),
  first bigint not null,
  last bigint not null check (first <= last),
  roles bigint not null check (roles between 1 and 31),
  primary key (body, line, first)
);

create table source (
  key bigint generated always as identity primary key,
  name text collate "C" not null unique
);

create table prompt_source (
  source bigint not null references source (key),
  line bigint not null references line (key),
  first bigint not null,
  last bigint not null check (first <= last),
  primary key (source, line, first)
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
