-- What was asked for when a run was queued, as JSON, and when somebody asked for it to stop. Runs that were queued
-- before this step have neither; the mark of a run covers the request where there is one.
alter table run add column request text;
alter table run add column stop_requested_at integer;
