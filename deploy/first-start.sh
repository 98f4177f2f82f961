#!/bin/sh
# Run once by the database's image, when its folder is empty: the role that owns the index, its database, the extension.
set -eu
psql --username postgres --set ON_ERROR_STOP=1 --set password="$OUTCROP_DB_PASSWORD" <<'SQL'
CREATE ROLE outcrop LOGIN PASSWORD :'password';
CREATE DATABASE outcrop OWNER outcrop;
\connect outcrop
CREATE EXTENSION vector;
SQL
