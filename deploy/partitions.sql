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
    own text := current_schema();
    whole text;
    wholes text[];
    part int;
    parts int := current_setting('outcrop.parts')::int;
    granted text;
    unsampled text;
    policies text[];
    policy text;
BEGIN
    SELECT array_agg(c.relname) INTO wholes FROM pg_class c
    WHERE c.relnamespace = own::regnamespace AND c.relkind = 'r' AND NOT c.relispartition
      AND (c.relname IN ('documents', 'tags', 'chunks', 'notes', 'rows', 'postings', 'declared')
           OR c.relname ~ '^(points|fresh)_[0-9]+$');
    IF wholes IS NULL THEN
        RETURN;
    END IF;

    -- Policies refer to tables, not to names, and those of other tables refer to these too (a role sees the vectors of its chunks). So
    -- every policy of the index is put aside as text, with every name in full, and made again for the tables in parts.
    PERFORM set_config('search_path', '', true);
    SELECT array_agg(format('CREATE POLICY %I ON %I.%I AS %s FOR %s TO %s%s%s', p.policyname, p.schemaname, p.tablename,
                            p.permissive, p.cmd, (SELECT string_agg(CASE r WHEN 'public' THEN r ELSE quote_ident(r) END, ', ')
                                                  FROM unnest(p.roles) AS r),
                            ' USING (' || p.qual || ')', ' WITH CHECK (' || p.with_check || ')'))
    INTO policies FROM pg_policies p WHERE p.schemaname = own;
    PERFORM set_config('search_path', format('%I, public', own), true);
    FOR policy IN SELECT format('DROP POLICY %I ON %I', policyname, tablename) FROM pg_policies WHERE schemaname = own LOOP
        EXECUTE policy;
    END LOOP;

    FOREACH whole IN ARRAY wholes LOOP
        SELECT string_agg(format('GRANT %s ON %I TO %s', privilege_type, whole,
                                 CASE grantee WHEN 'PUBLIC' THEN grantee ELSE quote_ident(grantee) END), '; ') INTO granted
        FROM information_schema.role_table_grants
        WHERE table_schema = own AND table_name = whole AND grantee <> current_user;
        SELECT string_agg(format('ALTER TABLE %I ALTER COLUMN %I SET STATISTICS 0', whole, attname), '; ') INTO unsampled
        FROM pg_attribute
        WHERE attrelid = whole::regclass AND attnum > 0 AND NOT attisdropped AND attstattarget = 0;

        -- The index of vectors is made after the copy: building is many times faster than inserting.
        EXECUTE format('DROP INDEX IF EXISTS %I', whole || '_hnsw');
        EXECUTE format('ALTER TABLE %I RENAME TO %I', whole, whole || '_whole');
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) PARTITION BY HASH (collection_id)', whole, whole || '_whole');
        FOR part IN 0 .. parts - 1 LOOP
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS %s, REMAINDER %s)',
                           whole || '_part_' || part, whole, parts, part);
            -- It has no policy, so nobody but the owner reads a part by its own name.
            EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', whole || '_part_' || part);
        END LOOP;
        -- LIKE leaves this out, and estimates made from samples of a text tell of it.
        IF unsampled IS NOT NULL THEN
            EXECUTE unsampled;
        END IF;
        EXECUTE format('INSERT INTO %I SELECT * FROM %I', whole, whole || '_whole');
        EXECUTE format('DROP TABLE %I', whole || '_whole');
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', whole);
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
    FOREACH policy IN ARRAY policies LOOP
        EXECUTE policy;
    END LOOP;
END
$$;
COMMIT;
