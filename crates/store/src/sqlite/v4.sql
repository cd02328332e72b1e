-- Schema 4. What became of deliveries is looked at by task, by conversation and by state; the row itself says these.

ALTER TABLE outbox ADD COLUMN task TEXT AS (data ->> '$.task') VIRTUAL;
ALTER TABLE outbox ADD COLUMN conversation TEXT AS (data ->> '$.conversation') VIRTUAL;
ALTER TABLE outbox ADD COLUMN state TEXT AS (data ->> '$.state') VIRTUAL;
CREATE INDEX outbox_of_task ON outbox (task);
CREATE INDEX outbox_of_conversation ON outbox (conversation);
CREATE INDEX outbox_in_state ON outbox (state);
DROP INDEX outbox_newest;
