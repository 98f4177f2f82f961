-- A database of schema version 4 with a text that waits for a vector, and a source file. Never edit: it stands for the files people have.
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
    tail TEXT NOT NULL, language TEXT NOT NULL DEFAULT '', role TEXT NOT NULL DEFAULT '', path_id INTEGER,
    UNIQUE (collection, uri)
) STRICT;
CREATE TABLE tags (
    document_id INTEGER NOT NULL,
    tag TEXT NOT NULL,
    PRIMARY KEY (document_id, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_tag ON tags (tag);
CREATE TABLE removals (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk_id INTEGER NOT NULL
) STRICT;
CREATE INDEX documents_by_path
    ON documents (collection, path, kind, language, dated_at, mtime_ns, created_at);
CREATE TABLE waiting (
    document_id INTEGER PRIMARY KEY
) STRICT;
CREATE TABLE contents (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE
) STRICT;
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    vector BLOB NOT NULL
) STRICT;
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
    content_id INTEGER NOT NULL,
    summary_id INTEGER,
    UNIQUE (document_id, position)
) STRICT;
CREATE INDEX chunks_by_content ON chunks (content_id);
CREATE INDEX chunks_by_summary ON chunks (summary_id) WHERE summary_id IS NOT NULL;
CREATE TABLE blocks (
    first_chunk INTEGER PRIMARY KEY,
    packed BLOB NOT NULL
) STRICT;
CREATE INDEX documents_by_path_id ON documents (path_id) WHERE path_id IS NOT NULL;

INSERT INTO meta VALUES ('version', 2);
INSERT INTO meta VALUES ('active_model', 1);
INSERT INTO history VALUES (1, 4242);
INSERT INTO history VALUES (2, 4243);
INSERT INTO identity (value) VALUES (lower(hex(randomblob(16))));
INSERT INTO models VALUES (1, 'small', '1', 8);
INSERT INTO documents VALUES (1, 'main', '/home/me/notes/a.md', 'notes/a.md', 'file', '/home/me', 'markdown', 'A title', '{"author": "Zoë"}', '40f8e8935b2f25be224040a66e3bc760e30a28061e8ef67463e1a24574ea5141', 1700000000000000000, 23, NULL, 1700000000.5, 1700000000.5, 2, 23, '' || char(10) || '', '', '', 2);
INSERT INTO documents VALUES (2, 'main', '/home/me/src/pool.py', 'src/pool.py', 'file', '/home/me', 'code', 'A title', '{}', 'ebb28370cc1704a4911a8859175b03fbece775d9a7915456e1ba03dcadf87f1b', 1700000000000000000, 27, NULL, 1700000000.5, 1700000000.5, 2, 27, '', 'python', 'test', 1);
INSERT INTO tags VALUES (1, 'blue');
INSERT INTO tags VALUES (1, 'red');
INSERT INTO waiting VALUES (1);
INSERT INTO contents VALUES (1, x'205b15f4c717e4f9f932eaad5d051230');
INSERT INTO contents VALUES (2, x'3013d3887c12d1fd6b82cb28f03d863f');
INSERT INTO contents VALUES (3, x'6e1dc208a17f78b4df21f1bf9623bfa7');
INSERT INTO contents VALUES (4, x'793dc8556f2c6c2afbee96edd8122d7e');
INSERT INTO contents VALUES (5, x'cc5631dcaa26d6da7f3836d3a35ab708');
INSERT INTO contents VALUES (6, x'd2e11a59f1fe4bedbe18689b4dc5cec8');
INSERT INTO contents VALUES (7, x'de2abade832c8e350a1bdc98cfcdb1e2');
INSERT INTO vectors VALUES (1099511627777, x'fb19eb550bda06bff2');
INSERT INTO vectors VALUES (1099511627778, x'fa440d18e5ab1e499f');
INSERT INTO vectors VALUES (1099511627779, x'fa496fb81fa93321d9');
INSERT INTO vectors VALUES (1099511627780, x'fa43f960ac18f5fa76');
INSERT INTO vectors VALUES (1099511627782, x'fbb431e6fbec0818f0');
INSERT INTO vectors VALUES (1099511627783, x'fadde236bcec249dd8');
INSERT INTO chunks VALUES (1, 1, 0, 0, 10, 2, 1, 1, 1, 3, NULL);
INSERT INTO chunks VALUES (2, 1, 1, 12, 22, 2, NULL, 3, 3, 5, NULL);
INSERT INTO chunks VALUES (3, 2, 0, 0, 9, 2, 1, 1, 1, 7, NULL);
INSERT INTO chunks VALUES (4, 2, 1, 11, 27, 4, NULL, 3, 3, 6, 4);
INSERT INTO blocks VALUES (1, x'789c636260606004626620e6866210e065201e7071f9e7a52a241614e4a4ea8594e72b14a4261615ebb99766a6a4ca0724169528180200ccba0b58');
INSERT INTO blocks VALUES (3, x'789c5d4cb10ac230148c8a0e0507fd0143268522145dece8e2da3d6408e99306d3246dd2fff7252d083e38eedebbbbb72684ac101b4481389079f60b6f17de2d7cfce321f50add7b3746ea82323204da38676aea51be26ddc2a9916856e99afd5fe8fc94012ef507c007aa9cb5a0a2763670ce59f259c9721899953751725c5d005c7b889d6b51ccb1874093b3f40e6fda7630ea985b556a49354c7a4c9692267d0d60de579fab7721c417e8d840bb');
PRAGMA application_id = 1330992195;
PRAGMA user_version = 4;
