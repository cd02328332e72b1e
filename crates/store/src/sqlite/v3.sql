-- Schema 3. Names by which things are found.

CREATE TABLE names (
    name TEXT PRIMARY KEY,
    of TEXT NOT NULL
) STRICT, WITHOUT ROWID;
