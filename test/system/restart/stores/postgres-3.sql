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
CREATE TABLE public.plants (
    id bigint NOT NULL,
    name text NOT NULL,
    tag text
);
CREATE TABLE public.plantstore_schema (
    only_row boolean NOT NULL,
    version integer NOT NULL,
    CONSTRAINT plantstore_schema_only_row_check CHECK (only_row)
);
CREATE TABLE public.tokens (
    hash text NOT NULL,
    name text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    predecessors_end_at bigint,
    last_used_at bigint,
    revision bigint DEFAULT 0 NOT NULL
);
INSERT INTO public.plants VALUES (-9223372036854775808, 'Ficus 🌿', NULL);
INSERT INTO public.plants VALUES (0, 'Aloe', '');
INSERT INTO public.plants VALUES (9007199254740993, 'Monstera deliciosa', 'tropical');
INSERT INTO public.plantstore_schema VALUES (true, 3);
INSERT INTO public.tokens VALUES ('O2vy9KQQ_XF3mtLwgqWeaUTjEAJ1SndYfLjOV0payig', 'ci', 1795337511058, NULL, NULL, NULL, NULL, 1);
INSERT INTO public.tokens VALUES ('XjotQ-11jXAdmhS14S94pbrUW1m9P9riWQ8DrxyhEy0', 'old', 1795337511145, NULL, 1795337511265, NULL, NULL, 3);
INSERT INTO public.tokens VALUES ('h0Gsbd2VouF7k9IVNsdvkql0fAnvU_HcnMAjnk3v-Fo', 'worker', 1795337511320, NULL, NULL, NULL, NULL, 4);
INSERT INTO public.tokens VALUES ('MDNVc38YjZRk6DbDzUuze_0yh3lFYZYs2UzLfXPcA58', 'worker', 1795337511487, NULL, NULL, 1795942311487, NULL, 5);
ALTER TABLE ONLY public.plants
    ADD CONSTRAINT plants_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.plantstore_schema
    ADD CONSTRAINT plantstore_schema_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (hash);
CREATE INDEX tokens_by_name ON public.tokens USING btree (name, revoked_at);
CREATE INDEX tokens_by_revision ON public.tokens USING btree (revision);
