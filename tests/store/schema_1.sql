-- A database of schema version 1 with two documents. Never edit: it stands for the files people have.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT;

CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE history (
    version INTEGER PRIMARY KEY,
    mark INTEGER NOT NULL
) STRICT;

CREATE TABLE identity (
    value TEXT NOT NULL
) STRICT;

CREATE TABLE models (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    UNIQUE (name, version, dimensions)
) STRICT;

CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection TEXT NOT NULL,
    uri TEXT NOT NULL,
    path TEXT NOT NULL,
    origin TEXT NOT NULL,
    root TEXT,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    meta TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    mtime_ns INTEGER,
    size INTEGER,
    dated_at REAL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    chunk_count INTEGER NOT NULL,
    char_count INTEGER NOT NULL,
    path_key BLOB NOT NULL,
    tail TEXT NOT NULL,
    UNIQUE (collection, uri)
) STRICT;
CREATE INDEX documents_by_path
    ON documents (collection, path, kind, dated_at, mtime_ns, created_at);
CREATE INDEX documents_by_path_key ON documents (path_key);

CREATE TABLE tags (
    document_id INTEGER NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (document_id, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_tag ON tags (tag);

CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL,
    position INTEGER NOT NULL,
    start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    page INTEGER,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    heading_path TEXT,
    text_key BLOB NOT NULL,
    gap TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (document_id, position)
) STRICT;
CREATE INDEX chunks_by_text_key ON chunks (text_key);

CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    model_id INTEGER NOT NULL,
    key BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (key, model_id)
) STRICT;

CREATE TABLE removals (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk_id INTEGER NOT NULL
) STRICT;

CREATE VIRTUAL TABLE keywords USING fts5 (
    body,
    content = '',
    detail = full,
    tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
);

INSERT INTO meta (key, value) VALUES ('version', 1);
INSERT INTO history (version, mark) VALUES (2, 4242);
INSERT INTO identity (value) VALUES (lower(hex(randomblob(16))));
UPDATE meta SET value = 2 WHERE key = 'version';
INSERT INTO meta (key, value) VALUES ('active_model', 1);
INSERT INTO models VALUES (1, 'small', '1', 8);
INSERT INTO documents VALUES (1, 'main', '/home/me/notes/a.md', 'notes/a.md', 'file', '/home/me', 'markdown', 'A title', '{"author": "Zoë"}', '40f8e8935b2f25be224040a66e3bc760e30a28061e8ef67463e1a24574ea5141', 1700000000000000000, 23, NULL, 1700000000.5, 1700000000.5, 2, 23, x'3013d3887c12d1fd6b82cb28f03d863f', '' || char(10) || '');
INSERT INTO documents VALUES (2, 'main', 'id-1', 'z.txt', 'text', NULL, 'text', 'Z', '{}', '744f1f2e5ac15b90ff9ee2adf2275065cdcf53e34ed0f7f18932f493a700275f', NULL, 9, NULL, 1700000000.5, 1700000000.5, 0, 9, x'15b6ee21c5c86bf871b9596c73f4d88a', 'no chunks');
INSERT INTO tags VALUES (1, 'blue');
INSERT INTO tags VALUES (1, 'red');
INSERT INTO chunks VALUES (1, 1, 0, 0, 10, 2, 1, 1, 1, NULL, x'6e1dc208a17f78b4df21f1bf9623bfa7', '', 'One apple.');
INSERT INTO chunks VALUES (2, 1, 1, 12, 22, 2, NULL, 3, 3, 'Fruit' || char(31) || 'Pears', x'cc5631dcaa26d6da7f3836d3a35ab708', '' || char(10) || '' || char(10) || '', 'Two pears.');
INSERT INTO vectors VALUES (1, 1, x'3013d3887c12d1fd6b82cb28f03d863f', x'473c6a321b36d9b652bd7a378e3c09be');
INSERT INTO vectors VALUES (2, 1, x'6e1dc208a17f78b4df21f1bf9623bfa7', x'8e3cef3e83bccf3769bd523a1b38e6b8');
INSERT INTO vectors VALUES (3, 1, x'15b6ee21c5c86bf871b9596c73f4d88a', x'ce1d5ebbf0af02be7a3d663c733a3934');
INSERT INTO vectors VALUES (4, 1, x'cc5631dcaa26d6da7f3836d3a35ab708', x'b032a8bb5ebb4a3c342d8c33f43e93b4');
INSERT INTO keywords (rowid, body) VALUES (1, 'One apple.');
INSERT INTO keywords (rowid, body) VALUES (2, 'Two pears.');
PRAGMA application_id = 1330992195;
PRAGMA user_version = 1;
