-- A database of schema version 3 with a text that waits for a vector, and a source file. Never edit: it stands for the files people have.
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
    tail TEXT NOT NULL, language TEXT NOT NULL DEFAULT '', role TEXT NOT NULL DEFAULT '',
    UNIQUE (collection, uri)
) STRICT;
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
CREATE INDEX documents_by_path
    ON documents (collection, path, kind, language, dated_at, mtime_ns, created_at);
CREATE TABLE notes (
    chunk_id INTEGER PRIMARY KEY,
    symbol TEXT NOT NULL,
    kind TEXT NOT NULL,
    signature TEXT NOT NULL,
    summary TEXT NOT NULL,
    summary_key BLOB NOT NULL,
    names TEXT NOT NULL
) STRICT;
CREATE INDEX notes_by_summary_key ON notes (summary_key);
CREATE TABLE waiting (
    document_id INTEGER PRIMARY KEY
) STRICT;

INSERT INTO meta VALUES ('version', 2);
INSERT INTO meta VALUES ('active_model', 1);
INSERT INTO history VALUES (1, 4242);
INSERT INTO history VALUES (2, 4243);
INSERT INTO identity (value) VALUES (lower(hex(randomblob(16))));
INSERT INTO models VALUES (1, 'small', '1', 8);
INSERT INTO documents VALUES (1, 'main', '/home/me/notes/a.md', 'notes/a.md', 'file', '/home/me', 'markdown', 'A title', '{"author": "Zoë"}', '40f8e8935b2f25be224040a66e3bc760e30a28061e8ef67463e1a24574ea5141', 1700000000000000000, 23, NULL, 1700000000.5, 1700000000.5, 2, 23, x'3013d3887c12d1fd6b82cb28f03d863f', '' || char(10) || '', '', '');
INSERT INTO documents VALUES (2, 'main', '/home/me/src/pool.py', 'src/pool.py', 'file', '/home/me', 'code', 'A title', '{}', 'ebb28370cc1704a4911a8859175b03fbece775d9a7915456e1ba03dcadf87f1b', 1700000000000000000, 27, NULL, 1700000000.5, 1700000000.5, 2, 27, x'205b15f4c717e4f9f932eaad5d051230', '', 'python', 'test');
INSERT INTO tags VALUES (1, 'blue');
INSERT INTO tags VALUES (1, 'red');
INSERT INTO chunks VALUES (1, 1, 0, 0, 10, 2, 1, 1, 1, NULL, x'6e1dc208a17f78b4df21f1bf9623bfa7', '', 'One apple.');
INSERT INTO chunks VALUES (2, 1, 1, 12, 22, 2, NULL, 3, 3, 'Guide' || char(31) || 'Part 1', x'cc5631dcaa26d6da7f3836d3a35ab708', '' || char(10) || '' || char(10) || '', 'Two pears.');
INSERT INTO chunks VALUES (3, 2, 0, 0, 9, 2, 1, 1, 1, NULL, x'de2abade832c8e350a1bdc98cfcdb1e2', '', 'import os');
INSERT INTO chunks VALUES (4, 2, 1, 11, 27, 4, NULL, 3, 3, 'Guide' || char(31) || 'Part 1', x'd2e11a59f1fe4bedbe18689b4dc5cec8', '' || char(10) || '' || char(10) || '', 'class Pool: pass');
INSERT INTO notes VALUES (4, 'Pool', 'class', 'class Pool(Base):', 'keeps connections', x'793dc8556f2c6c2afbee96edd8122d7e', '[[["Pool","class","",3],["close","method","Pool",9]],[["Base","inherit","",1],["acquire","call","self.pool",4]]]');
INSERT INTO vectors VALUES (1, 1, x'de2abade832c8e350a1bdc98cfcdb1e2', x'61b866b7cf3a3dbcf5b47d3830bef8b8');
INSERT INTO vectors VALUES (2, 1, x'205b15f4c717e4f9f932eaad5d051230', x'4c3a39b95241bb35b4bc853111c020b7');
INSERT INTO vectors VALUES (4, 1, x'3013d3887c12d1fd6b82cb28f03d863f', x'473c6a321b36d9b652bd7a378e3c09be');
INSERT INTO vectors VALUES (5, 1, x'6e1dc208a17f78b4df21f1bf9623bfa7', x'8e3cef3e83bccf3769bd523a1b38e6b8');
INSERT INTO vectors VALUES (6, 1, x'd2e11a59f1fe4bedbe18689b4dc5cec8', x'c6c0193e99bac3b0e4b8bf33e23910b8');
INSERT INTO vectors VALUES (7, 1, x'793dc8556f2c6c2afbee96edd8122d7e', x'2a3c20af043e3bbd16367bb15aae5b3f');
INSERT INTO keywords (rowid, body) VALUES (1, 'One apple.');
INSERT INTO keywords (rowid, body) VALUES (2, 'Two pears.');
INSERT INTO keywords (rowid, body) VALUES (3, 'import os');
INSERT INTO keywords (rowid, body) VALUES (4, 'class Pool: pass');
INSERT INTO waiting VALUES (1);
PRAGMA application_id = 1330992195;
PRAGMA user_version = 3;
