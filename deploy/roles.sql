-- Who may do what with an index: its owner, people who write, people who read everything, people who read one collection.
-- Run by a superuser of the database, once the owner has added something, with names of your own; again does no harm:
--   psql "$ADMIN_URL" -v schema=team -v owner=outcrop -v writer=ann -v reader=bob -v guest=eve -v collection=handbook \
--        -f deploy/roles.sql
-- Then give each a password: \password ann
\set ON_ERROR_STOP on
SET search_path TO :"schema", public;

SELECT format('CREATE ROLE %I LOGIN', name)
FROM unnest(ARRAY[:'writer', :'reader', :'guest']) AS name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

-- Whoever writes makes tables and indexes too, for instance when the model changes, and those must belong to one role. So a
-- writer has a name and a password of its own and acts as the owner. (An owner that is a superuser would do no harm here, but
-- one that is not cannot do any elsewhere.)
GRANT :"owner" TO :"writer";
ALTER ROLE :"writer" IN DATABASE :"DBNAME" SET role TO :"owner";

-- Whoever reads may read the tables; `vectors` is for writers. Tables of models to come are granted to whoever reads `chunks`.
GRANT USAGE ON SCHEMA :"schema" TO :"reader", :"guest";
GRANT SELECT ON ALL TABLES IN SCHEMA :"schema" TO :"reader", :"guest";
REVOKE SELECT ON vectors FROM :"reader", :"guest";

-- Which rows it sees is said in `tenants`: without a line there, none; a line without a collection means all of them.
DELETE FROM tenants WHERE role IN (:'reader', :'guest');
INSERT INTO tenants (role, collection_id) VALUES (:'reader', NULL);
INSERT INTO tenants (role, collection_id) SELECT :'guest', id FROM collections WHERE name = :'collection';
