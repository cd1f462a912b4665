-- The rights of the database's user of `redrain migrate`, who makes and changes the tables. Servers do not use it: they
-- have the user of rights.sql. ALTER, INDEX, UPDATE and DELETE are for the migrations of coming versions.
--
-- For MySQL 8 and MariaDB, by an administrator, before the first migration. Put your names for the database redrain and
-- the user 'redrain_migrate'@'%'. Create the user first:
--
--   CREATE USER 'redrain_migrate'@'%' IDENTIFIED BY 'change-me';

GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP, CREATE VIEW ON redrain.* TO 'redrain_migrate'@'%';
