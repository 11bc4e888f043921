SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.creators (
    id integer NOT NULL,
    name text NOT NULL
);
CREATE TABLE public.plants (
    id bigint NOT NULL,
    name text NOT NULL,
    tag text,
    created_at bigint,
    creator integer
);
CREATE TABLE public.plantstore_schema (
    only_row boolean NOT NULL,
    version integer NOT NULL
);
CREATE TABLE public.tokens (
    hash text NOT NULL,
    name text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    predecessors_end_at bigint,
    last_used_at bigint,
    revision bigint DEFAULT 0 NOT NULL,
    creator integer
);
INSERT INTO public.creators VALUES (1, 'ci');
INSERT INTO public.creators VALUES (2, 'old');
INSERT INTO public.creators VALUES (3, 'worker');
INSERT INTO public.plants VALUES (-9223372036854775808, 'Ficus 🌿', NULL, 1795371021989, NULL);
INSERT INTO public.plants VALUES (0, 'Aloe', '', 1795371021989, NULL);
INSERT INTO public.plants VALUES (9007199254740993, 'Monstera deliciosa', 'tropical', 1795371021989, NULL);
INSERT INTO public.plantstore_schema VALUES (true, 4);
INSERT INTO public.tokens VALUES ('Frhlny6JQ3ElfYTr60MEJ6FJPAuhMaSth8Y9bz7dSU0', 'ci', 1795371020862, NULL, NULL, NULL, NULL, 1, 1);
INSERT INTO public.tokens VALUES ('RL_qspPqx2Rqk48NvLU5gKxZcRm2SXMrQk6Rf-Dx0G0', 'worker', 1795371021602, NULL, NULL, 1795975821602, NULL, 5, 3);
INSERT INTO public.tokens VALUES ('aZWffoaC__-PnXFsEZIWCqVQ3RZhClKR8xCmwNxugLk', 'old', 1795371020996, NULL, 1795371021243, NULL, NULL, 3, 2);
INSERT INTO public.tokens VALUES ('gIeBftszS51JSN_c5_tcX2Nc6niokPW_6HHtRnt4Gqs', 'worker', 1795371021360, NULL, NULL, NULL, NULL, 4, 3);
ALTER TABLE ONLY public.plantstore_schema ADD CONSTRAINT plantstore_schema_only_row_check CHECK (only_row);
ALTER TABLE ONLY public.plantstore_schema ADD CONSTRAINT plantstore_schema_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY public.plants ADD CONSTRAINT plants_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.tokens ADD CONSTRAINT tokens_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY public.creators ADD CONSTRAINT creators_name_key UNIQUE (name);
ALTER TABLE ONLY public.creators ADD CONSTRAINT creators_pkey PRIMARY KEY (id);
CREATE INDEX plants_by_creation ON public.plants USING btree (created_at) WHERE (created_at IS NOT NULL);
CREATE INDEX tokens_by_name ON public.tokens USING btree (name, revoked_at);
CREATE INDEX tokens_by_revision ON public.tokens USING btree (revision);
