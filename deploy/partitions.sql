-- Lays the tables of an index that grow out in parts by collection, so that a collection's rows lie together, each part's index of
-- vectors is built and cleaned by itself, and a search within one collection reads one part. Worth it from some ten million
-- chunks on in many collections. A collection lies in one part, so the largest collection is the measure.
--   psql "$URL" -v schema=team -v parts=16 -f deploy/partitions.sql
-- Run by the owner while nobody writes, on an index that holds something (the tables of its model must be there); it copies all rows, so
-- it is best done early. What is added later is spread by itself. A change of model (`outcrop reembed`) makes new tables for
-- vectors, which are whole: run it again afterwards, tables that are in parts already are left alone.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL search_path TO :"schema", public;
SET LOCAL maintenance_work_mem = '1GB';
LOCK TABLE state IN EXCLUSIVE MODE;
SELECT set_config('outcrop.parts', :'parts', true);

DO $$
DECLARE
    whole text;
    part int;
    parts int := current_setting('outcrop.parts')::int;
    granted text;
BEGIN
    FOR whole IN
        SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND NOT c.relispartition
          AND (c.relname IN ('documents', 'tags', 'chunks', 'notes', 'rows', 'postings', 'declared')
               OR c.relname ~ '^(points|fresh)_[0-9]+$')
    LOOP
        SELECT string_agg(format('GRANT %s ON %I TO %I', privilege_type, whole, grantee), '; ') INTO granted
        FROM information_schema.role_table_grants
        WHERE table_schema = current_schema() AND table_name = whole AND grantee <> current_user;

        -- The index of vectors is made after the copy: building is many times faster than inserting.
        EXECUTE format('DROP INDEX IF EXISTS %I', whole || '_hnsw');
        EXECUTE format('ALTER TABLE %I RENAME TO %I', whole, whole || '_whole');
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) PARTITION BY HASH (collection_id)', whole, whole || '_whole');
        FOR part IN 0 .. parts - 1 LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
                           whole || '_part_' || part, whole, parts, part);
        END LOOP;
        EXECUTE format('INSERT INTO %I SELECT * FROM %I', whole, whole || '_whole');
        EXECUTE format('DROP TABLE %I', whole || '_whole');
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', whole);
        EXECUTE format('CREATE POLICY by_collection ON %I'
                       ' USING (collection_id = ANY ((SELECT visible_collections())::int[]))', whole);
        IF granted IS NOT NULL THEN
            EXECUTE granted;
        END IF;
        -- Under the name by which Outcrop knows it; it would make one itself, but cannot on a table in parts.
        IF whole LIKE 'points%' THEN
            EXECUTE format('CREATE INDEX %I ON %I USING hnsw (embedding halfvec_cosine_ops)'
                           ' WITH (m = 16, ef_construction = 64)', whole || '_hnsw', whole);
        END IF;
        EXECUTE format('ANALYZE %I', whole);
    END LOOP;
END
$$;
COMMIT;
