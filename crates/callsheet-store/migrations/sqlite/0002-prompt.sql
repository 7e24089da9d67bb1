-- Sealed prompts. A text is kept once, however many prompts carry it; the documents of a prompt are kept as what differs
-- from a text that resembles them. The first byte of `packed` says how it is packed.
create table body (
  key integer primary key,
  fingerprint blob not null unique,
  bytes integer not null check (bytes >= 0),
  base integer references body (key),
  packed blob not null
) strict;

create index body_of_base on body (base) where base is not null;

-- The prompts of one project and recipe, in the order in which they were sealed.
create table line (
  key integer primary key,
  project integer not null references project (key),
  recipe text not null,
  last integer not null,
  unique (project, recipe)
) strict;

-- A key is never used again: spans of keys outlive the prompts in them.
create table prompt (
  key integer primary key autoincrement,
  id text not null,
  project integer not null references project (key),
  line integer not null references line (key),
  sealed_at integer not null,
  recipe text not null,
  engine text not null,
  fingerprint blob not null,
  bytes integer not null,
  tokens integer,
  seal blob not null,
  mark blob not null,
  unique (project, id),
  unique (project, seal)
) strict;

create index prompt_of_line on prompt (line);

-- The documents of a prompt in one: manifest, source map, layout and inputs, with a byte between two that no text has.
create table document (
  key integer primary key references prompt (key),
  base integer not null references body (key),
  bytes integer not null check (bytes >= 0),
  packed blob not null
) strict;

create index document_of_base on document (base);

-- Which texts prompts carry, and as what: 1 section, 2 input, 4 tool, 8 frame of a prompt without sections,
-- 16 seam that reaches over a section. Every prompt of the line from the first to the last one does.
create table part (
  body integer not null references body (key),
  line integer not null references line (key),
  first integer not null,
  last integer not null check (first <= last),
  roles integer not null check (roles between 1 and 31),
  primary key (body, line, first)
) strict, without rowid;

create table source (
  key integer primary key,
  name text not null unique
) strict;

create table prompt_source (
  source integer not null references source (key),
  line integer not null references line (key),
  first integer not null,
  last integer not null check (first <= last),
  primary key (source, line, first)
) strict, without rowid;

-- The text that a new one of the same kind is compared with, and how little the smallest difference to it took.
create table slot (
  project integer not null references project (key),
  name blob not null,
  body integer not null references body (key),
  least integer,
  primary key (project, name)
) strict, without rowid;

create index slot_of_body on slot (body);
