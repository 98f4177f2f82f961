-- Logins for an index: who writes, who reads everything, who reads one collection. Run by a superuser of the database, with
-- names of your own; again does no harm:
--   psql "$ADMIN_URL" -v owner=outcrop -v writer=ann -v reader=bob -v guest=eve -f deploy/roles.sql
-- Then give each a password (\password ann), and let the owner say who reads what:
--   outcrop grant bob
--   outcrop grant eve handbook
\set ON_ERROR_STOP on

SELECT format('CREATE ROLE %I LOGIN', name)
FROM unnest(ARRAY[:'writer', :'reader', :'guest']) AS name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

-- Whoever writes makes tables and indexes too, for instance when the model changes, and those must belong to one role. So a
-- writer has a name and a password of its own, and acts as the owner. The owner should be no superuser.
GRANT :"owner" TO :"writer";
ALTER ROLE :"writer" IN DATABASE :"DBNAME" SET role TO :"owner";
