-- Schema 2. Which tasks a person addressed lately, in whatever conversation.

CREATE TABLE addressed (
    person BLOB NOT NULL,
    task BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (person, task)
) STRICT, WITHOUT ROWID;
CREATE INDEX addressed_lately ON addressed (person, at);
