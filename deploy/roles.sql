-- Who may do what with an index: an owner, readers of everything, readers of some collections.
-- Run by the owner of the index, after something was added, with names of your own:
--   psql "$URL" -v schema=team -v everything=reader -v some=guest -v collection=handbook -f deploy/roles.sql
-- The two roles must exist; making them takes a superuser: CREATE ROLE reader LOGIN PASSWORD '...';
-- The owner is the role that ran the first `outcrop add`; it alone writes. It must not be a superuser: those see all rows.
\set ON_ERROR_STOP on
SET search_path TO :"schema", public;

-- Reading is a right on tables, tables that are made later included ...
GRANT USAGE ON SCHEMA :"schema" TO :"everything", :"some";
GRANT SELECT ON ALL TABLES IN SCHEMA :"schema" TO :"everything", :"some";
ALTER DEFAULT PRIVILEGES IN SCHEMA :"schema" GRANT SELECT ON TABLES TO :"everything", :"some";

-- ... and rows are shown by collection: without a line in `tenants` a role sees none. No collection means all of them.
DELETE FROM tenants WHERE role IN (:'everything', :'some');
INSERT INTO tenants (role, collection_id) VALUES (:'everything', NULL);
INSERT INTO tenants (role, collection_id) SELECT :'some', id FROM collections WHERE name = :'collection';
