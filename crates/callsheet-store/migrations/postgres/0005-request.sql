-- What was asked for when a run was queued, as JSON; when somebody asked for it to stop; and when it was imported, for
-- a run that another store has made. Runs that were queued before this step have none of these. The mark of a run
-- covers the request where there is one, and `finish_mark` the two times.
alter table run add column request text;
alter table run add column stop_requested_at bigint;
alter table run add column imported_at bigint;
