-- Schema 3. Names by which things are found.

CREATE TABLE names (
    name TEXT PRIMARY KEY,
    of TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What a channel told, as it told it.
ALTER TABLE inbox ADD COLUMN raw TEXT;
